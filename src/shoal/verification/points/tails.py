"""Probabilities of agreeing points if draws are independent."""

import math
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers

_STEEPEST: Final = 8.0  # e^8 = 3,000 times the expected count is the largest that matters
_MANY: Final = 1000  # degrees of freedom from which the cube root is practically normal
_AT_ONCE: Final = 1 << 20  # numbers in one batch of bounds


def agreement_moments(c: int, *, permutes: bool) -> tuple[float, float, float, float]:
    """Mean, variance and third moment in two draws; mean product among three."""
    if permutes:  # fixed points of a permutation: their first c factorial moments are 1, the others 0
        return 1.0, 1.0, float(c > 2), 1.0 / (c - 1)
    p = 1.0 / c
    return p, p * (1 - p), p * (1 - p) * (1 - 2 * p), (c - 1) / c**3


def log_mgf(c: int, theta: Floats, *, permutes: bool) -> Floats:
    """Logarithm of the mean of exp(theta * agreeing points) of two draws."""
    away = np.expm1(theta)
    if not permutes:
        return np.asarray(np.log1p(away / c))
    total, term = np.ones_like(away), np.ones_like(away)
    for j in range(1, c + 1):
        term = term * away / j
        total = total + term
    return np.asarray(np.log(total))


def bound_tails(same: Integers, of_size: Iterable[tuple[Integers, Callable[[Floats], Floats]]]) -> Floats:
    """[m]: Chernoff bound for counts [m] this far out; of_size: by size of draws."""
    theta = np.concatenate([np.linspace(-_STEEPEST, 0, 400), np.linspace(0, _STEEPEST, 400)[1:]])
    sizes = [(pairs, mgf(theta)) for pairs, mgf in of_size]
    bound: Floats = np.empty(len(same))
    for start in range(0, len(same), _AT_ONCE // len(theta) + 1):
        part = slice(start, start + _AT_ONCE // len(theta) + 1)
        exponent = -np.multiply.outer(same[part].astype(np.float64), theta)
        for pairs, mgf in sizes:
            exponent += np.multiply.outer(pairs[part].astype(np.float64), mgf)
        bound[part] = exponent.min(axis=1)
    return np.asarray(np.minimum(1.0, 2 * np.exp(np.minimum(bound, 0.0))))


def both_tails(z: float, skew: float) -> float:
    """As far out as z in either direction (skew >= 0): gamma law above the mean, normal below."""
    if skew <= 0 or z <= 0:
        return math.erfc(abs(z) / math.sqrt(2))
    freedom = 8 / skew**2  # of the chi-squared law with this skewness
    if freedom > _MANY:
        root = (1 + z * math.sqrt(2 / freedom)) ** (1 / 3)
        return math.erfc(abs(root - (1 - 2 / (9 * freedom))) / math.sqrt(4 / (9 * freedom)))
    whole = max(1, math.floor(freedom))  # fewer degrees of freedom have the longer tail
    return min(1.0, 2 * chi_squared_tail(whole + z * math.sqrt(2 * whole), whole))


def chi_squared_tail(square: float, freedom: int) -> float:
    """Probability of at least this chi-squared value, by recurrence."""
    if freedom == 0 or square <= 0:
        return 1.0
    half, odd = square / 2, freedom % 2
    tail = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    for degrees in range(1 if odd else 2, freedom, 2):
        tail += math.exp(degrees / 2 * math.log(half) - half - math.lgamma(degrees / 2 + 1))
    return min(tail, 1.0)
