"""The adversary who knows p samples inexactly.

Gaussian noise in space and time, and records ranked by likelihood.
"""

from typing import Final

import numpy as np

from shoal.attacks.rate import Rate
from shoal.attacks.target import Scene, draw_samples, expected_hits
from shoal.kernels.cover_index import Index, Noise, noisy_scores
from shoal.units import show_m, show_s

_MOST_DEVIATIONS: Final = 6.0
_FLOOR: Final = 1e-12


def attack_noisy(
    scene: Scene, p: int, noise_m: float, noise_s: float, rng: np.random.Generator
) -> list[Rate]:
    """Linkage by the likelihood of p noisy observations, each box taken as uniform inside, the likeliest box of a record for each.

    noise_m, noise_s: standard deviations on each axis in meters, and in seconds. Observations come from inside the true cell and slot.
    """
    offsets, known = draw_samples(scene.known, scene.victims, p, rng)
    slots, cells = noise_s / scene.target.grid.slot_s, noise_m / scene.target.grid.cell_m
    seen = known + rng.random(known.shape) + rng.normal(size=known.shape) * np.array([slots, cells, cells])
    index, noise = scene.target.by_time, Noise(slots, cells, _MOST_DEVIATIONS, _FLOOR)

    def wins(place: int) -> float:
        scores = np.zeros(scene.target.n_records)
        own = seen[offsets[place] : offsets[place + 1]]
        noisy_scores(own, noise, Index(index.class_offsets, index.boxes, index.record), scores)
        return expected_hits(scores, int(scene.own[place]))

    won = list(
        scene.run.map(wins, range(len(scene.victims)), label=f"weighing noisy samples ({scene.label})")
    )
    errors = f"{show_m(noise_m)} and {show_s(noise_s)}"
    return [
        Rate.of(
            won,
            name="noisy-linkage",
            knowledge=f"{p} point{'s' * (p > 1)} with noise of {errors}",
            attacker=(
                f"Someone who knows {p} random sample{'s' * (p > 1)} of a person with Gaussian errors of "
                f"{errors} "
                "(standard deviation on each axis) and names the record that makes them likeliest."
            ),
            target=scene.label,
            baseline=scene.guess,
        )
    ]
