"""The adversary who knows some samples with errors, and ranks the records by likelihood."""

from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation, expected_hits
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.kernels.cover_index import Index, Noise, noisy_scores
from shoal.units import show_m, show_s

_MOST_DEVIATIONS: Final = 6.0  # a box farther away on any axis counts as impossible
_FLOOR: Final = 1e-12  # the density of an observation that no box explains


def attack_noisy(
    evaluation: Evaluation[BoxTarget], p: int, noise_m: float, noise_s: float, *, rng: np.random.Generator
) -> list[Rate]:
    """Linkage by the likelihood of p noisy observations: for each the record's likeliest box counts.

    A person is anywhere in a box with equal chance. noise_m, noise_s: standard deviations on each axis.
    Observations come from inside the true cell and slot.
    """
    target = evaluation.target
    offsets, known = evaluation.draw_samples(p, rng)
    slots, cells = noise_s / target.grid.slot_s, noise_m / target.grid.cell_m
    seen = known + rng.random(known.shape) + rng.normal(size=known.shape) * np.array([slots, cells, cells])
    index, noise = target.by_time, Noise(slots, cells, _MOST_DEVIATIONS, _FLOOR)

    def wins(place: int) -> float:
        scores = np.zeros(target.n_records)
        own = seen[offsets[place] : offsets[place + 1]]
        noisy_scores(own, noise, Index(index.class_offsets, index.boxes, index.record), scores)
        return expected_hits(scores, int(evaluation.own[place]))

    won = list(
        evaluation.run.map(
            wins, range(len(evaluation.victims)), label=f"weighing noisy samples ({evaluation.label})"
        )
    )
    errors = f"{show_m(noise_m)} and {show_s(noise_s)}"
    return [
        Rate.of(
            won,
            name="noisy-linkage",
            knowledge=f"{p} point{'s' * (p > 1)} with noise of {errors}",
            attacker=(
                f"Someone who knows {p} random sample{'s' * (p > 1)} of a person with Gaussian errors of "
                f"{errors} (standard deviation on each axis) and names the record that makes them likeliest."
            ),
            target=evaluation.label,
            baseline=evaluation.guess,
        )
    ]
