"""Knows some samples of a person, finds the record, and names in its boxes where else the person was."""

from typing import Final

import numpy as np

from shoal.attacks.downcoding import (
    PUBLIC_LIST,
    WAYS_IN_WORDS,
    PeopleByClass,
    Reading,
    rates_of_reading,
    read_all,
)
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import weigh_exact
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget

_NOBODY: Final = np.empty(0, dtype=np.int64)
_BLIND: Final = 3  # the way that names one place of hers in all boxes
_WAYS: Final = (
    *WAYS_IN_WORDS[:_BLIND],
    ("one known place", "by the most usual of the known places, in all boxes"),
    ("known places", "by the most usual of the known places in the box, else by the surest place"),
)


def attack_her_place(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Link with p samples; then name a place of the person in each box that holds none of them."""
    offsets, samples = evaluation.draw_samples(p, rng)
    target, n = evaluation.target, len(evaluation.victims)
    named = weigh_exact(evaluation, offsets, samples, rng.random(n)).named[:, 0]
    _, first = np.unique(target.class_of, return_index=True)
    records = np.where(named < 0, rng.integers(0, target.n_records, n), first[named])
    readings = []
    for place, (victim, record) in enumerate(zip(evaluation.victims.tolist(), records.tolist(), strict=True)):
        known, boxes = samples[offsets[place] : offsets[place + 1]], target.record(record)
        others = np.ones(len(boxes), dtype=np.bool_)
        for t, x, y in known.tolist():
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
                own_places=known[:, 1:],
            )
        )
    points = f"{p} exact point{'s' * (p > 1)}"
    listed = "" if evaluation.context.places is None else f" {PUBLIC_LIST}"
    return rates_of_reading(
        evaluation,
        read_all(evaluation, PeopleByClass.of(evaluation), readings),
        {"her-place": (1, "in which cell the person was")},
        has=f"knows {points} of a person{listed}, takes the record whose boxes there are the likeliest,",
        knowledge=points,
        ways=_WAYS,
        blind=slice(_BLIND, _BLIND + 1),
    )
