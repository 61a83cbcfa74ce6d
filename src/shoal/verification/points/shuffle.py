"""Test whether a shuffle was fair: each place sends its point to every place equally often.

SwapLocations: from i to j with probability 1 / c. ReachLocations: the leader keeps or takes one with 1 / k.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.verification.points.correlation import Correlation, compare_draws
from shoal.verification.points.draws import Draws, read_draws
from shoal.verification.points.tails import chi_squared_tail

# of a verdict on one release, since a sound one must not be refused once in a thousand times
PROOF: Final = 1e-6
_HALF: Final = PROOF / 2  # for each of the two tests
_FEWEST_EXPECTED: Final = 5


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """A chi-squared test; stayed, expected: points on their trajectory, and by chance."""

    points: int
    stayed: int
    expected: float
    p_value: float

    @property
    def words(self) -> str:
        """The result in a sentence."""
        if not self.points:
            return "too few swap sets to test whether the shuffle was fair"
        text = f"of {self.points:,} points {self.stayed:,} kept their trajectory (fair: {self.expected:,.0f})"
        return (
            f"{text}; if the shuffle was fair, the points are spread at least as unevenly over the places of "
            f"their sets in {self.p_value:.2g} of all runs (chi-squared)"
        )


@dataclass(frozen=True, kw_only=True)
class Fairness:
    """Whether draws were spread evenly and independently."""

    shuffle: Shuffle
    correlation: Correlation

    @property
    def enough(self) -> bool:
        """Whether the swap sets suffice to tell no shuffle from a fair one."""
        return self.correlation.enough(_HALF)

    @property
    def notes(self) -> tuple[str, str]:
        """Both results in words."""
        return self.shuffle.words, self.correlation.before.in_words

    def findings(self) -> Iterator[Finding]:
        """What a fair shuffle causes once in a million releases."""
        seldom = f"a fair shuffle does this once in {1 / PROOF:,.0f} releases"
        if self.shuffle.p_value < _HALF:
            yield Finding("biased-shuffle", f"{self.shuffle.words}; {seldom}")
        worst = self.correlation.worst
        if worst.p_value < _HALF:
            yield Finding("correlated-shuffle", f"{worst.in_words}; {seldom}")


def judge_fairness(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace, *, times_stay: bool
) -> Fairness:
    """Both tests, of a sound trace. subject_of: int64 [records], -1 = unknown."""
    draws = read_draws(original, release, subject_of, trace, times_stay=times_stay)
    return Fairness(shuffle=judge_places(draws), correlation=compare_draws(draws))


def judge_places(runs: Sequence[Draws]) -> Shuffle:
    """The chi-squared test."""
    square, freedom, points, stayed, expected = 0.0, 0, 0, 0, 0.0
    for draws in runs:
        c, width = draws.c, draws.by_place.shape[1]
        cells = np.arange(width) * c + draws.by_place
        table = np.bincount(cells.ravel(), minlength=width * c).reshape(width, c)
        expected_count = table.sum() / table.size
        if expected_count >= _FEWEST_EXPECTED:
            # a set fills a whole permutation matrix, so cells are not independent
            permuted = (c - 1) / c if draws.permutes else 1.0
            square += permuted * float(((table - expected_count) ** 2 / expected_count).sum())
            freedom += (c - 1) ** 2 if draws.permutes else c - 1
            points += int(table.sum())
            stayed += int(np.trace(table))
            expected += float(table.sum()) / c
    return Shuffle(points=points, stayed=stayed, expected=expected, p_value=chi_squared_tail(square, freedom))
