"""Estimates from noisy counts: flows there and back brought together, the total before the bound, errors."""

from dataclasses import dataclass
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


SIZES: Final = (50, 100, 300)
EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
_MEDIAN: Final = 0.67449
"""Half of all normal errors are smaller than so many standard deviations."""


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of noise: of 95 % of the cells, and as shares of half of the cells of each of ``SIZES``."""

    epsilon: float
    delta: float
    half_width: float
    least_shown: float
    by_size: tuple[float, ...]


def expected_error(promise: Promise) -> ExpectedError:
    """The error that follows from a promise.

    Parameters
    ----------
    promise : Promise
        Of a table, or of one that is planned.

    Returns
    -------
    ExpectedError
        In people or trips, and as shares.
    """
    one = promise.granularity / scale_of(promise)
    half, typical = promise.half_width / one, _MEDIAN * promise.sigma / one
    return ExpectedError(
        epsilon=promise.epsilon,
        delta=promise.delta,
        half_width=half,
        least_shown=promise.least_shown / one,
        by_size=tuple(typical / size for size in SIZES),
    )


def error_in_words(error: ExpectedError) -> str:
    """One line on an expected error.

    Examples
    --------
    >>> error_in_words(ExpectedError(epsilon=1.0, delta=1e-8, half_width=10.57, least_shown=21.13,
    ...                              by_size=(0.073, 0.036, 0.012)))[:60]
    'epsilon 1: 95 % of cells are off by at most 10.6; half of th'
    """
    sizes = ", ".join(
        f"of {size} by {100 * share:.2g} %" for size, share in zip(SIZES, error.by_size, strict=True)
    )
    return (
        f"epsilon {error.epsilon:.3g}: 95 % of cells are off by at most {error.half_width:.3g}; half of "
        f"the cells {sizes}; shown from {error.least_shown:.3g} on"
    )
