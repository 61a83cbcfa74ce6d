"""Runs of fair draws, for the false alarms of the verifier's tests of a shuffle."""

import numpy as np

from shoal.runtime.arrays import Floats
from shoal.verification.points.correlation import compare_draws
from shoal.verification.points.draws import Draws


def fair_draws(rng: np.random.Generator, c: int, lengths: list[int], *, permutes: bool = True) -> Draws:
    """Independent draws of size c, of groups with so many each."""
    n, group = sum(lengths), np.repeat(np.arange(len(lengths)), lengths)
    places = np.argsort(rng.random((n, c)), axis=1) if permutes else rng.integers(0, c, (n, 1))
    return Draws(c=c, by_place=places, by_person=places, group=group, t_s=np.arange(n, dtype=np.float64))


def fair_runs(
    runs: int, *, seed: int, sizes: list[tuple[int, list[int]]], permutes: bool = True
) -> tuple[Floats, Floats]:
    """(z, p), of each run: that of the comparison with the exchange before, and the smallest bound of all."""
    rng = np.random.default_rng(seed)
    z, worst = np.empty(runs), np.empty(runs)
    for run in range(runs):
        found = compare_draws([fair_draws(rng, c, lengths, permutes=permutes) for c, lengths in sizes])
        z[run], worst[run] = found.before.z, found.worst.p_value
    return z, worst
