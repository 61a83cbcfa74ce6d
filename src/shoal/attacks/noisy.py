"""The adversary who knows some samples with errors, and ranks the records by likelihood."""

from typing import Final

import numpy as np

from shoal.attacks.cylinders import PARTS, name_moved
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import rules_of, weigh_blurred
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.moved_inward import Errors
from shoal.kernels.noisy_likelihood import Noise
from shoal.model.trajectories import Grid
from shoal.units import show_m, show_s

_MOST_DEVIATIONS: Final = 6.0  # a box farther away on any axis counts as impossible
_FLOOR: Final = 1e-12  # the density of an observation that no box explains


def noise_of(noise_m: float, noise_s: float, grid: Grid) -> Noise:
    """Errors of these standard deviations, on each axis, in slots and cells."""
    return Noise(noise_s / grid.slot_s, noise_m / grid.cell_m, _MOST_DEVIATIONS, _FLOOR)


def attack_noisy(
    evaluation: Evaluation[BoxTarget], p: int, noise_m: float, noise_s: float, *, rng: np.random.Generator
) -> list[Rate]:
    """Linkage by the likelihood of p noisy observations.

    noise_m, noise_s: standard deviations on each axis. Observations come from inside the true cell and slot.
    """
    offsets, known = evaluation.draw_samples(p, rng)
    noise = noise_of(noise_m, noise_s, evaluation.target.grid)
    scales = np.array([noise.slots, noise.cells, noise.cells])
    seen = known + rng.random(known.shape) + rng.normal(size=known.shape) * scales
    found = weigh_blurred(evaluation, offsets, seen, noise)
    errors = f"{show_m(noise_m)} and {show_s(noise_s)}"
    knows = (
        f"knows {p} random sample{'s' * (p > 1)} of a person with Gaussian errors of {errors} (standard "
        "deviation on each axis)"
    )
    rules = rules_of(knows, "the records that could explain them", found.chances)
    moved = name_moved(evaluation, offsets, seen, Errors(noise_m, noise_s))
    if moved is not None:
        does = (
            f"{knows} and names the record that stands where they would be, moved straight into its cylinder"
        )
        rules.append(Rule(name="moved inward", does=does, chances=moved[0]))
    return [
        Rate.best_of(
            rules,
            name="noisy-linkage",
            knowledge=f"{p} point{'s' * (p > 1)} with noise of {errors}",
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
            most=evaluation.most,
            parts=2 if moved is None else PARTS,
        )
    ]
