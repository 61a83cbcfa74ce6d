"""Whether a shuffle was fair: each place in a swap set sends its point to every place equally often.

SwapLocations: in sets of c, a point of place i ends at place j with probability 1 / c; place 0 leads, the
others stand in the order in which they were collected. ReachLocations: the leading point keeps its place, or
takes that of the i-th nearest, each with probability 1 / k. Whether the draws of different sets are
independent is another question: see ``correlation``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.verification.points.correlation import Correlation, correlation_of
from shoal.verification.points.draws import choices_of, permutations_of
from shoal.verification.points.tails import chi_squared_tail

LEVEL: Final = 0.001  # of the test over many runs
# of a verdict on one release: a sound one must not be refused once in a thousand times
PROOF: Final = 1e-6
_HALF: Final = PROOF / 2  # of either question: places, and independence
_FEWEST_EXPECTED: Final = 5


@dataclass(frozen=True, kw_only=True)
class Shuffle:
    """A chi-squared test of one release.

    points: how many could be tried. stayed, expected: how many kept their trajectory, and would have by
    chance.
    """

    points: int
    stayed: int
    expected: float
    p_value: float

    @property
    def fair(self) -> bool:
        """Whether the test at level 0.001 does not reject: one fair release in a thousand fails it."""
        return self.p_value >= LEVEL

    @property
    def words(self) -> str:
        """The result in one sentence."""
        if not self.points:
            return "too few swap sets to test whether the shuffle was fair"
        kept = f"of {self.points:,} points {self.stayed:,} kept their trajectory (fair: {self.expected:,.0f})"
        return (
            f"{kept}; if the shuffle was fair, the points are spread at least as unevenly over the places of "
            f"their sets in {self.p_value:.2g} of all runs (chi-squared)"
        )


@dataclass(frozen=True, kw_only=True)
class Fairness:
    """Whether the draws of a release were fair: spread evenly over places, and independent of each other."""

    shuffle: Shuffle
    correlation: Correlation

    @property
    def enough(self) -> bool:
        """Whether there are so many swap sets that no shuffle at all would be told from a fair one."""
        return self.correlation.enough(_HALF)

    @property
    def notes(self) -> tuple[str, str]:
        """Both results in words."""
        return self.shuffle.words, self.correlation.words

    def findings(self) -> Iterator[Finding]:
        """What a fair shuffle does once in a million releases."""
        seldom = f"a fair shuffle does this once in {1 / PROOF:,.0f} releases"
        if self.shuffle.p_value < _HALF:
            yield Finding("biased-shuffle", f"{self.shuffle.words}; {seldom}")
        worst = self.correlation.worst
        if worst.p_value < _HALF:
            yield Finding("correlated-shuffle", f"{worst.in_words}; {seldom}")


def fairness_of(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace, *, times_stay: bool
) -> Fairness:
    """Both tests of a release whose trace was found sound. subject_of: int64 [records], -1 = unknown."""
    draws = (
        choices_of(original, trace) if times_stay else permutations_of(original, release, subject_of, trace)
    )
    return Fairness(
        shuffle=shuffle_of(original, release, subject_of, trace, times_stay=times_stay),
        correlation=correlation_of(draws),
    )


def shuffle_of(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace, *, times_stay: bool
) -> Shuffle:
    """The test of a release whose trace was found sound. subject_of: int64 [records], -1 = unknown."""
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    place_in_set = np.arange(len(trace.set_rows)) - np.repeat(
        trace.set_offsets[:-1], np.diff(trace.set_offsets)
    )
    sizes = np.diff(trace.set_offsets)
    set_of_row = np.repeat(np.arange(trace.n_sets), sizes)
    if times_stay:
        leads = trace.time_from == trace.leaders[trace.swap_set]
        taken = _position(
            trace.swap_set[leads], trace.place_from[leads], set_of_row, trace.set_rows, original.n_samples
        )
        tables = {
            int(c): np.bincount(place_in_set[taken][sizes[trace.swap_set[leads]] == c], minlength=c)[None, :]
            for c in np.unique(sizes)
        }
    else:
        holder = subject_of[np.repeat(np.arange(release.n_records), np.diff(release.offsets))]
        known = holder >= 0
        came = _position(
            trace.swap_set[known], trace.place_from[known], set_of_row, trace.set_rows, original.n_samples
        )
        went = _position(
            trace.swap_set[known], holder[known], set_of_row, owner[trace.set_rows], original.n_subjects
        )
        size = sizes[trace.swap_set[known]]
        tables = {}
        for c in np.unique(sizes).tolist():
            cells = place_in_set[came][size == c] * c + place_in_set[went][size == c]
            tables[c] = np.bincount(cells, minlength=c * c).reshape(c, c)
    square, freedom, points, stayed, expected = 0.0, 0, 0, 0, 0.0
    for c, table in tables.items():
        each = table.sum() / table.size
        if each >= _FEWEST_EXPECTED:
            # a set fills a whole permutation matrix, so cells are not independent
            permuted = (c - 1) / c if len(table) > 1 else 1.0
            square += permuted * float(((table - each) ** 2 / each).sum())
            freedom += (c - 1) ** 2 if len(table) > 1 else c - 1
            points += int(table.sum())
            stayed += int(np.trace(table))
            expected += float(table.sum()) / c
    return Shuffle(points=points, stayed=stayed, expected=expected, p_value=chi_squared_tail(square, freedom))


def _position(
    sets: Integers, values: Integers, set_of_row: Integers, row_values: Integers, limit: int
) -> Integers:
    """For each (set, value): the position among all rows of sets where that value stands in that set."""
    keys = set_of_row * limit + row_values
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], sets * limit + values)]
