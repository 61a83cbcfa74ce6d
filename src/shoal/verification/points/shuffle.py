"""Test whether a shuffle was fair: each place sends its point to every place equally often.

SwapLocations: from i to j with probability 1 / c. ReachLocations: the leader keeps or takes one with 1 / k.
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
from shoal.verification.points.correlation import Correlation, compare_draws
from shoal.verification.points.draws import read_choices, read_permutations
from shoal.verification.points.tails import chi_squared_tail

LEVEL: Final = 0.001  # of the test over many runs
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
    def fair(self) -> bool:
        """At level 0.001: one fair release in a thousand fails."""
        return self.p_value >= LEVEL

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
        return self.shuffle.words, self.correlation.words

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
    draws = (
        read_choices(original, trace)
        if times_stay
        else read_permutations(original, release, subject_of, trace)
    )
    return Fairness(
        shuffle=judge_shuffle(original, release, subject_of, trace, times_stay=times_stay),
        correlation=compare_draws(draws),
    )


def judge_shuffle(
    original: Trajectories, release: Release, subject_of: Integers, trace: Trace, *, times_stay: bool
) -> Shuffle:
    """The chi-squared test, of a sound trace."""
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    place_in_set = np.arange(len(trace.set_rows)) - np.repeat(
        trace.set_offsets[:-1], np.diff(trace.set_offsets)
    )
    sizes = np.diff(trace.set_offsets)
    set_of_row = np.repeat(np.arange(trace.n_sets), sizes)
    if times_stay:
        leads = trace.time_from == trace.leaders[trace.swap_set]
        places = _positions_in_sets(
            trace.swap_set[leads], trace.place_from[leads], set_of_row, trace.set_rows, original.n_samples
        )
        tables = {
            int(c): np.bincount(place_in_set[places][sizes[trace.swap_set[leads]] == c], minlength=c)[None, :]
            for c in np.unique(sizes)
        }
    else:
        holder = subject_of[np.repeat(np.arange(release.n_records), np.diff(release.offsets))]
        linked = holder >= 0
        came = _positions_in_sets(
            trace.swap_set[linked], trace.place_from[linked], set_of_row, trace.set_rows, original.n_samples
        )
        went = _positions_in_sets(
            trace.swap_set[linked], holder[linked], set_of_row, owner[trace.set_rows], original.n_subjects
        )
        size = sizes[trace.swap_set[linked]]
        tables = {}
        for c in np.unique(sizes).tolist():
            cells = place_in_set[came][size == c] * c + place_in_set[went][size == c]
            tables[c] = np.bincount(cells, minlength=c * c).reshape(c, c)
    square, freedom, points, stayed, expected = 0.0, 0, 0, 0, 0.0
    for c, table in tables.items():
        expected_count = table.sum() / table.size
        if expected_count >= _FEWEST_EXPECTED:
            # a set fills a whole permutation matrix, so cells are not independent
            permuted = (c - 1) / c if len(table) > 1 else 1.0
            square += permuted * float(((table - expected_count) ** 2 / expected_count).sum())
            freedom += (c - 1) ** 2 if len(table) > 1 else c - 1
            points += int(table.sum())
            stayed += int(np.trace(table))
            expected += float(table.sum()) / c
    return Shuffle(points=points, stayed=stayed, expected=expected, p_value=chi_squared_tail(square, freedom))


def _positions_in_sets(
    sets: Integers, values: Integers, set_of_row: Integers, row_values: Integers, limit: int
) -> Integers:
    keys = set_of_row * limit + row_values
    order = np.argsort(keys, kind="stable")
    return order[np.searchsorted(keys[order], sets * limit + values)]
