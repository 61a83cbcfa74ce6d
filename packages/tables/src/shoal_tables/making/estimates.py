"""Estimates from noisy counts: flows there and back brought together, and the total before the bound."""

from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal_tables.definition.manifest import Promise
from shoal_tables.making.rules import Rules

SIGMAS_OF_A_TOTAL: Final = 10
"""A total below so many standard deviations of its noise says nothing about the bound."""
SIGMAS_OF_A_FLOW: Final = 4
"""From so many standard deviations on, flows there and back together say how they differ."""


def scale_of(promise: Promise) -> float:
    """How many times larger all contributions are before the bound than after it, by their noisy totals."""
    totals = promise.totals
    if totals is None or totals.after < SIGMAS_OF_A_TOTAL * totals.sigma:
        return 1.0
    return max(totals.before / totals.after, 1.0)


def estimate(rules: Rules, noisy: Integers, promise: Promise) -> tuple[Floats, Floats]:
    """The best number for each cell, and the standard deviation of its noise in multiples of sigma.

    Parameters
    ----------
    rules : Rules
        The cells.
    noisy : int64 [cells]
        Counts with noise, in parts of one.
    promise : Promise
        With the scale of the noise, and the totals.

    Returns
    -------
    numbers : float64 [cells]
        In parts of one.
    spread : float64 [cells]
        1 for noise of the counts themselves.
    """
    scale = scale_of(promise)
    if rules.table != "flows":
        return np.asarray(noisy * scale, dtype=np.float64), np.full(len(noisy), scale, dtype=np.float64)
    zones = rules.shape[0]
    origin, destination = np.divmod(np.arange(zones * (zones - 1)), zones - 1)
    destination += destination >= origin
    counts = noisy.reshape(len(origin), -1)
    square = np.zeros((zones, zones, counts.shape[1]), dtype=np.int64)
    square[origin, destination] = counts
    back = square[destination, origin]
    weight = _weights(np.maximum(counts + back, 0.0), (counts - back).astype(np.float64), promise.sigma)
    numbers: Floats = (counts + back + weight * (counts - back)) / 2
    spread: Floats = np.sqrt((1 + weight) / 2)
    return np.asarray(scale * numbers.ravel()), np.asarray(scale * spread.ravel())


def _weights(both: Floats, difference: Floats, sigma: int) -> Floats:
    """How much of the differences there and back is no noise, if they are a typical share of the flows."""
    large = both >= SIGMAS_OF_A_FLOW * sigma
    squares = np.where(large, both**2, 0).sum(axis=0)
    beyond = np.where(large, difference**2 - 2.0 * sigma**2, 0).sum(axis=0)
    true = np.maximum(beyond, 0) / np.maximum(squares, 1) * both**2
    return np.where(squares > 0, true / (true + 2.0 * sigma**2), 1.0)
