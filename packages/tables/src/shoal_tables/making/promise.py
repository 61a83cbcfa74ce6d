"""From epsilon to the noise: zero-concentrated differential privacy, intervals, and the promise in words.

From noisy counts to estimates: flows there and back brought together, the total before the bound, errors.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from scipy import optimize, sparse, special

from shoal.errors import MisuseError
from shoal.io.columns.owners import UNITS
from shoal.runtime.arrays import Floats, Integers
from shoal_tables.definition.manifest import COVERAGE, MOST_DELTA, Kind, Promise, Unit
from shoal_tables.making.rules import Level, Rules
from shoal_tables.making.zones import OUTSIDE

MOST_EPSILON: Final = 10.0
DELTA: Final = 1e-8
LEAST_GRANULARITY: Final = 1000
SPURIOUS: Final = 0.05  # the chance that any empty cell of a table is shown
_CLOSE: Final = 1e-9
_MOST_SIGMA: Final = 1 << 54  # beyond what a manifest can state
_SUMMED: Final = 100_000  # standard deviations up to which the distribution is summed term by term


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon that rho gives at delta (Canonne, Kamath and Steinke 2020, proposition 7)."""

    def at(log_step: float) -> float:
        step = float(np.exp(log_step))  # the order less 1
        order = 1 + step
        return float(order * rho + (-np.log(delta) - log_step - order * np.log1p(1 / step)) / step)

    middle = 0.5 * np.log(-np.log(delta) / rho)
    minimum = optimize.minimize_scalar(
        at, bounds=(middle - 5, middle + 5), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, float(minimum.fun))


def rho_of(sigma: int, sensitivity: int) -> float:
    """Zero-concentrated differential privacy of discrete Gaussian noise."""
    return sensitivity**2 / (2 * sigma**2)


def epsilon_of_each(budget: float, releases: int, delta: float) -> float:
    """Epsilon of each of n tables of equal cost that together spend a budget of a ledger."""
    require_promise(budget, delta)
    low, high = 0.0, 1.0
    while epsilon_of(high, DELTA) < budget:
        low, high = high, 2 * high
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if epsilon_of(middle, DELTA) > budget else (middle, high)
    return epsilon_of(low / releases, delta)


def sigma_for(epsilon: float, delta: float, sensitivity: int, share: float = 1.0) -> int:
    """The least whole deviation that spends a share of rho, where all of it keeps epsilon at delta."""
    require_promise(epsilon, delta)

    def is_enough(sigma: int) -> bool:
        return epsilon_of(rho_of(sigma, sensitivity) / share, delta) <= epsilon

    return bisect_left(range(_MOST_SIGMA), True, lo=1, key=is_enough)


def require_promise(epsilon: float, delta: float) -> None:
    """Raise MisuseError for an epsilon or a delta that promises nothing."""
    if not 0 < epsilon <= MOST_EPSILON:
        raise MisuseError(
            f"--epsilon {epsilon:g} must be greater than 0 and at most {MOST_EPSILON:g}: with more, a guess "
            "about a person is almost always right; 1 is usual"
        )
    if not 0 < delta <= MOST_DELTA:
        raise MisuseError(
            f"--delta {delta:g} must be greater than 0 and at most {MOST_DELTA:g}: it is a chance that the "
            "promise fails altogether"
        )


def half_width(sigma: int) -> int:
    """The least h with P(|noise| <= h) >= 0.95."""
    if sigma > _SUMMED:  # a step between two whole numbers is then far below the precision of the sum
        return int(np.ceil(sigma * np.sqrt(2) * special.erfinv(COVERAGE) - 0.5))
    n = np.arange(12 * sigma + 40)
    mass = np.exp(-0.5 * (n / sigma) ** 2)
    mass[1:] *= 2
    return int(np.searchsorted(np.cumsum(mass), COVERAGE * mass.sum()))


def least_shown(sigma: int, n_cells: int) -> int:
    """The least h, at least twice the half width, with P(noise >= h) * n_cells <= 0.05."""
    return max(2 * half_width(sigma), int(np.ceil(-special.ndtri(SPURIOUS / n_cells) * sigma + 0.5)))


def granularity_for(common_days: int) -> int:
    """The least multiple of the common number of days that is at least a thousand."""
    if common_days > 10**9:
        raise MisuseError(
            "the numbers of dates of the days have a common multiple above 1e9; choose another --period "
            "or calendar"
        )
    return -(-LEAST_GRANULARITY // common_days) * common_days


def guess_of(epsilon: float, delta: float) -> float:
    """How often, at most, a guess whether a person is in the data is right; by chance it is 0.5."""
    odds = np.exp(epsilon)
    return float((odds + delta) / (1 + odds))


def promise_in_words(epsilon: float, delta: float, unit: Unit, unit_of_protection: str) -> str:
    """The promise in sentences for readers who do not know epsilon."""
    who = "one unit" if unit == "person" else "one local day of one unit"
    return (
        f"With everything known about all other units, at most {100 * guess_of(epsilon, delta):.1f} % of "
        f"guesses whether {who} is in the data are right; by chance 50 % are. "
        f"{unit_in_words(unit_of_protection)}"
    )


def unit_in_words(unit_of_protection: str) -> str:
    """Who is protected, and who is not where the unit is no id of a person."""
    sentence = f"One unit is {unit_of_protection}."
    what = next((what for what, text in UNITS.items() if text == unit_of_protection), None)
    return sentence if what is None else f"{sentence} A person with several {what}s is not protected as one."


def period_of(unit: Unit) -> str:
    """The part of one unit's data that is protected."""
    return "one unit over the whole period" if unit == "person" else "one local day of one unit"


SIGMAS_OF_A_TOTAL: Final = 10  # a total below so many deviations of its noise says nothing about the bound
SIGMAS_OF_A_FLOW: Final = 4  # from so many on, flows there and back together say how they differ


def scale_of(promise: Promise) -> float:
    """How many times larger all contributions are before the bound than after it, by their noisy totals."""
    totals = promise.totals
    if totals is None or totals.after < SIGMAS_OF_A_TOTAL * totals.sigma:
        return 1.0
    return max(totals.before / totals.after, 1.0)


Parts = list[tuple[Floats, Floats]]  # of independent errors: numbers, and variances in squares of sigma


def estimate(rules: Rules, noisy: Integers, promise: Promise) -> tuple[Floats, Floats]:
    """The best number for each cell in parts of one, and its deviation in sigmas; noisy: int64 [cells].

    Cells of outer zones stand behind those of the zones.
    """
    levels = [_parts(level, noisy[level.cells], level.noise * promise.sigma) for level in rules.levels]
    parts, scale = levels[0], scale_of(promise) * rules.weights
    if rules.outer is not None:
        parts = [consistent(rules.outer_cell, rules.weights, *both) for both in zip(*levels, strict=True)]
        scale = np.append(scale, np.full(rules.outer.n_cells, scale_of(promise)))
    numbers, variances = (sum(column[1:], column[0]) for column in zip(*parts, strict=True))
    return scale * numbers, scale * np.sqrt(variances)


def _parts(level: Level, noisy: Integers, sigma: int) -> Parts:
    """Counts as they are; flows as half of there and back together, and half of their likely difference."""
    if level.rules.table != "flows":
        return [(noisy.astype(np.float64), np.full(len(noisy), level.noise**2.0))]
    zones = level.rules.shape[0]
    origin, destination = np.divmod(np.arange(zones * (zones - 1)), zones - 1)
    destination += destination >= origin
    counts = noisy.reshape(len(origin), -1)
    back = counts[destination * (zones - 1) + origin - (origin > destination)]
    both, difference = np.maximum(counts + back, 0.0), (counts - back).astype(np.float64)
    large = both >= SIGMAS_OF_A_FLOW * sigma
    squares = np.where(large, both**2, 0).sum(axis=0)
    beyond = np.where(large, difference**2 - 2.0 * sigma**2, 0).sum(axis=0)
    true = np.maximum(beyond, 0) / np.maximum(squares, 1) * both**2  # of a difference, what is no noise
    weight = np.where(squares > 0, true / (true + 2.0 * sigma**2), 1.0)
    halves = (counts + back) / 2, weight * difference / 2
    variances = np.full_like(weight, level.noise**2 / 2), level.noise**2 * weight / 2
    return [(part.ravel(), variance.ravel()) for part, variance in zip(halves, variances, strict=True)]


def consistent(
    outer_cell: Integers, weights: Floats, inner: tuple[Floats, Floats], outer: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Numbers of zones that add up to those of outer zones, then their sums: generalized least squares.

    This is the closed form for a tree of two levels in which all errors are independent.
    """
    (numbers, variances), (measured, further) = inner, outer
    inside, shape = np.flatnonzero(outer_cell != OUTSIDE), (len(measured), len(numbers))
    sums = sparse.csr_array((np.ones(len(inside)), (outer_cell[inside], inside)), shape=shape)
    both = sums @ variances + further
    gain = np.divide(1, both, out=np.zeros_like(both), where=both > 0)  # 0: both are certain, and agree
    fitted = numbers + variances * (sums.T @ (gain * (measured - sums @ numbers)))
    left = variances - variances**2 * (sums.T @ gain)
    errors = sums @ (weights**2 * variances) - (sums @ (weights * variances)) ** 2 * gain
    return np.append(fitted, sums @ (weights * fitted)), np.append(left, np.maximum(errors, 0))


SIZES: Final = (50, 100, 300)
EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
_MEDIAN: Final = 0.67449  # half of all normal errors are smaller than so many standard deviations


@dataclass(frozen=True, kw_only=True)
class ExpectedError:
    """The error of noise: of 95 % of the cells, and as shares of half of the cells of each of ``SIZES``."""

    epsilon: float
    delta: float
    half_width: float
    least_shown: float
    by_size: tuple[float, ...]


def expected_error(promise: Promise) -> ExpectedError:
    """The error that follows from a promise, in people or trips, and as shares."""
    one = promise.granularity / scale_of(promise)
    half, typical = promise.half_width / one, _MEDIAN * promise.sigma / one
    return ExpectedError(
        epsilon=promise.epsilon,
        delta=promise.delta,
        half_width=half,
        least_shown=promise.least_shown / one,
        by_size=tuple(typical / size for size in SIZES),
    )


def ways_out(table: Kind) -> str:
    """What makes noise smaller next to the counts."""
    slots = ", longer --hours" if table in {"presence", "flows"} else ""
    days = "" if table == "homes" else ", fewer kinds of days (--days typical)"
    return f"larger zones{slots}{days} or a larger --epsilon"


def drowned(promise: Promise, table: Kind) -> tuple[str, ...]:
    """A caution where noise drowns even the largest of ``SIZES``; it follows from the plan alone."""
    least = expected_error(promise).least_shown
    if least <= SIZES[-1]:
        return ()
    return (
        f"noise drowns the counts: a cell is shown from {least:,.0f} on, and one of {SIZES[-1]} is not; "
        f"choose {ways_out(table)}",
    )


def needs_in_words(promise: Promise, n_cells: int, table: Kind) -> str:
    """What must be counted for a tenth of the cells to be shown; it follows from the plan alone."""
    cells = max(n_cells // 10, 1)
    what = "trips" if table == "flows" else "people"
    return (
        f"for a tenth of the cells ({cells:,}) to be shown, at least "
        f"{cells * expected_error(promise).least_shown:,.0f} {what} must be counted in them; with fewer, "
        f"choose {ways_out(table)}"
    )


def error_in_words(error: ExpectedError, table: Kind) -> str:
    """One line on an expected error; flows there and back share their noise as far as they are alike."""
    sizes = ", ".join(
        f"of {size} by {100 * share:.2g} %" for size, share in zip(SIZES, error.by_size, strict=True)
    )
    shared = f", or {error.least_shown / sqrt(2):.3g} where as many return" if table == "flows" else ""
    return (
        f"epsilon {error.epsilon:.3g}: 95 % of cells are off by at most {error.half_width:.3g}; half of "
        f"the cells {sizes}; shown from an estimate of {error.least_shown:.3g} on{shared}"
    )
