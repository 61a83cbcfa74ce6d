"""Knows some samples of a person, finds the record, and names in its boxes where the person was."""

from typing import Final

import numpy as np

from shoal.attacks.downcoding import WAYS_IN_WORDS, PeopleByClass, Reading, rates_of_reading, read_all
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import weigh_blurred, weigh_exact
from shoal.attacks.noisy_reading import read_noisy
from shoal.attacks.place_lists import known_list
from shoal.attacks.points import NEAR_S, noise_of, points_with_noise
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget

_NOBODY: Final = np.empty(0, dtype=np.int64)
_BLIND: Final = 3  # the way that names one place of hers in all boxes
_WAYS: Final = (
    *WAYS_IN_WORDS[:_BLIND],
    ("one known place", "by the most usual of the known places, in all boxes"),
    ("known places", "by the most usual of the known places in the box, else by the surest place"),
    (
        "own habits",
        "by habits of the person and of the others that the known places and all boxes make likely",
    ),
)


def attack_her_place(
    evaluation: Evaluation[BoxTarget],
    p: int,
    noise_m: float | None = None,
    noise_s: float = NEAR_S,
    *,
    rng: np.random.Generator,
) -> list[Rate]:
    """Link with p samples; then name a place of the person in each box that holds none of them.

    With errors (standard deviations on each axis), also the place of each sample that is known.
    """
    target, n = evaluation.target, len(evaluation.victims)
    points = f"{p} exact point{'s' * (p > 1)}"
    if noise_m is None:
        offsets, samples = evaluation.draw_samples(p, rng)
        named = weigh_exact(evaluation, offsets, samples, rng.random(n)).named[:, 0]
        cells = blind = samples[:, 1:]
    else:
        noise = noise_of(noise_m, noise_s, target.grid)
        offsets, samples, seen = evaluation.draw_noisy_samples(p, noise, rng)
        named = np.unique(weigh_blurred(evaluation, offsets, seen, noise).named)
        possible = named[named >= 0] if evaluation.label == "raw" else np.arange(len(target.classes.sizes))
        named, cells, blind = read_noisy(evaluation, offsets, seen, noise, possible)
        points = points_with_noise(p, noise_m, noise_s)
    _, first = np.unique(target.class_of, return_index=True)
    records = np.where(named < 0, rng.integers(0, target.n_records, n), first[named])
    readings = []
    for place, (victim, record) in enumerate(zip(evaluation.victims.tolist(), records.tolist(), strict=True)):
        mine, boxes = slice(*offsets[place : place + 2].tolist()), target.record(record)
        others = np.ones(len(boxes), dtype=np.bool_)
        for t, x, y in samples[mine].tolist():
            others &= ~(
                (boxes[:, 0] <= t)
                & (t < boxes[:, 1])
                & (boxes[:, 2] <= x)
                & (x < boxes[:, 4])
                & (boxes[:, 3] <= y)
                & (y < boxes[:, 5])
            )
        readings.append(
            Reading(
                record=record,
                true=np.column_stack(evaluation.people.samples_of(victim)),
                known=_NOBODY,
                rows=np.flatnonzero(others) if others.any() else None,
                own_places=cells[mine],
                blind_places=blind[mine],
            )
        )
    has = f"knows {points} of a person {known_list(evaluation.context)}".rstrip()
    rates = rates_of_reading(
        evaluation,
        read_all(evaluation, PeopleByClass.of(evaluation), readings),
        {"her-place": (1, "in which cell the person was")},
        has=f"{has}, takes the record whose boxes there are the likeliest,",
        knowledge=points,
        ways=_WAYS,
        blind=slice(_BLIND, _BLIND + 1),
    )
    if noise_m is None:
        return rates
    right, guessed = (
        np.add.reduceat((said == samples[:, 1:]).all(axis=1), offsets[:-1], dtype=np.float64)
        / np.diff(offsets)
        for said in (cells, blind)
    )
    does = f"{has}, takes the likeliest record, and says by all its boxes in which cell the person then was"
    rule = Rule(name="all boxes", does=does, chances=right)
    baseline = float(guessed.mean())
    return [*rates, evaluation.best_rate([rule], name="noisy-place", knowledge=points, baseline=baseline)]
