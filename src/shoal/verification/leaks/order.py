"""Check that the order of records follows neither input nor identifiers."""

from collections.abc import Iterator, Sequence
from itertools import count
from math import factorial
from typing import Final

import numpy as np

from shoal.model.names import Pseudonyms
from shoal.model.population import Population
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers

FEWEST_RECORDS: Final = 4  # from here on, methods avoid such an order
# pseudonyms are not redrawn: 10 are in one of two orders by chance once in 1.8 million releases
FEWEST_PSEUDONYMS: Final = 10
# two-sided 6.8 in a million for a random order; with few records, Spearman's rho has lighter tails
WIDEST_Z: Final = 4.5


def order_findings(
    original: Population, subject_of: Integers, trajectory_ids: Sequence[str]
) -> Iterator[Finding]:
    """Compare the order of records and pseudonyms with both."""
    linked = subject_of >= 0
    subjects = subject_of[linked]
    orders = {"raw identifiers": subjects}
    if original.input_rank is not None:
        orders["input"] = original.input_rank[subjects]
    names = Pseudonyms.of(trajectory_ids).take(np.flatnonzero(linked))
    by_name = np.argsort(np.array(list(names)) if names.irregular else names.numbers, kind="stable")
    compared = [("pseudonyms", by_name, FEWEST_PSEUDONYMS)]
    if (np.diff(by_name) != 1).any():  # else records stand by pseudonym, as in an export by day
        compared.insert(0, ("records", np.arange(len(subjects)), FEWEST_RECORDS))
    for what, order, fewest in compared:
        for source, place in orders.items():
            resemblance = _resemblance(place[order], original.n_subjects, fewest)
            if resemblance:
                yield Finding(
                    "record-order",
                    f"the order of the {what} {resemblance} the order of the {source}; expected a random one",
                )


def _resemblance(place: Integers, n_subjects: int, fewest: int) -> str | None:
    n = len(place)
    if n < FEWEST_RECORDS:
        return None
    steps = np.diff(place)
    if n >= fewest and (steps > 0).all():
        return "repeats"
    if n >= fewest and (steps < 0).all():
        return "reverses"
    z = spearman_z(place)
    if abs(z) > WIDEST_Z:
        return f"is correlated (z = {z:.1f}) with"
    equal_steps = int(np.bincount(steps % n_subjects).max())
    if equal_steps >= too_many_equal_steps(n):
        return f"takes {equal_steps:,} equal steps through"
    z = neighbors_z(place)
    return f"has correlated neighbors (z = {z:.1f}) in" if abs(z) > WIDEST_Z else None


def spearman_z(place: Integers) -> float:
    """Spearman's rho with 0..n-1, times sqrt(n - 1): mean 0 and variance 1 in random order."""
    n = len(place)
    distance = int(((_ranks(place) - np.arange(n)) ** 2).sum())
    return float((1.0 - 6.0 * distance / (n * (n * n - 1.0))) * np.sqrt(n - 1.0))


def neighbors_z(place: Integers) -> float:
    """Rank correlation of each with the next, around the end: mean 0 and variance 1 in random order, n > 3.

    Source: Wald and Wolfowitz, An exact test for randomness in the non-parametric case based on serial
    correlation, Annals of Mathematical Statistics 14, 1943.
    """
    n = len(place)
    rank = _ranks(place) - (n - 1) / 2
    squares, fourth = float((rank**2).sum()), float((rank**4).sum())
    variance = (
        (squares**2 - fourth) / (n - 1)
        + (squares**2 - 2 * fourth) / ((n - 1) * (n - 2))
        - (squares / (n - 1)) ** 2
    )
    return float((rank @ np.roll(rank, -1) + squares / (n - 1)) / np.sqrt(variance))


def too_many_equal_steps(n: int) -> int:
    """How many equal steps, modulo the number of people, one in a million random orders of n has at most.

    A step of a given length comes about once, so m times with a chance of about 1 / m!; there are n lengths.
    """
    return next(m for m in count() if factorial(m) >= 1e6 * n)


def _ranks(place: Integers) -> Integers:
    rank = np.empty(len(place), dtype=np.int64)
    rank[np.argsort(place, kind="stable")] = np.arange(len(place))
    return rank
