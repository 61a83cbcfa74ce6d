"""The arithmetic of the promise, by other formulas than the maker's."""

from functools import lru_cache
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Final

import numpy as np
from scipy import optimize, special

from shoal.runtime.arrays import Floats

_NEAR: Final = 1e-3  # far more than a sum over whole numbers and its integral differ by


def rho_of(sensitivity: int, sigma: int) -> float:
    """The cost in zero-concentrated differential privacy (Bun and Steinke 2016; Canonne et al. 2020)."""
    return sensitivity**2 / (2 * sigma**2)


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon that rho gives at delta (Canonne, Kamath and Steinke 2020, proposition 7).

    Every order above 1 gives a true epsilon, so a search that misses the best order errs upward.

    Examples
    --------
    >>> from shoal_tables.verification.promise import epsilon_of
    >>> round(epsilon_of(0.5, 1e-6), 2)
    5.22
    """

    def epsilon(log_above: float) -> float:
        above = exp(log_above)  # the order less 1
        order = 1 + above
        return order * rho + (order * log1p(-1 / order) - log(above) - log(delta)) / above

    best = min(
        (
            optimize.minimize_scalar(
                epsilon, bounds=(low, low + 4), method="bounded", options={"xatol": 1e-10}
            )
            for low in np.arange(-20.0, 20.0, 2.0).tolist()
        ),
        key=lambda minimum: minimum.fun,
    )
    return max(float(best.fun), 0.0)


def delta_of_gaussian(epsilon: float, ratio: float) -> float:
    """The least delta of Gaussian noise whose sensitivity is ``ratio`` times sigma (Balle and Wang 2018).

    Examples
    --------
    >>> from shoal_tables.verification.promise import delta_of_gaussian
    >>> round(delta_of_gaussian(1.0, 1.0), 4)
    0.1269
    """
    if ratio == 0:
        return 0.0
    if ratio == inf:
        return 1.0
    first = special.ndtr(ratio / 2 - epsilon / ratio)
    second = exp(epsilon + float(special.log_ndtr(-ratio / 2 - epsilon / ratio)))
    return float(first - second)


@lru_cache(maxsize=2)
def tails(sigma: int) -> tuple[Floats, Floats]:
    """P(N = n) and P(N >= n) of the discrete Gaussian for n = 0, 1, ... as far as doubles reach."""
    n = np.arange(min(39 * sigma + 2, 20_000_000), dtype=np.float64)
    mass = np.exp(-((n / sigma) ** 2) / 2)
    total = mass[0] + 2 * mass[1:].sum()
    mass /= total
    return mass, np.cumsum(mass[::-1])[::-1]


def least_half_width(sigma: int, coverage: float) -> tuple[int, int]:
    """The least h with P(|N| <= h) >= coverage, from below and from above by what rounding may change."""
    if sigma > 100_000:
        width = float(special.ndtri((1 + coverage) / 2)) * sigma - 0.5
        return ceil(width - _NEAR), ceil(width + _NEAR)
    mass, _ = tails(sigma)
    inside = mass[0] + 2 * np.concatenate([[0], np.cumsum(mass[1:])])
    return int(np.argmax(inside >= coverage - 1e-12)), int(np.argmax(inside >= coverage + 1e-12))


def guessing_share(epsilon: float, delta: float) -> float:
    """The largest share of right guesses about a coin's toss of membership (Kairouz et al. 2015)."""
    return min((exp(epsilon) + delta) / (1 + exp(epsilon)), 1.0)


def standard_error(m: int) -> float:
    """The relative error, one in ten thousand beyond it, to which m cells show sigma."""
    return 3.89 / sqrt(2 * m)
