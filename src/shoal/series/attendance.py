"""Who may appear in the next release, so that all releases of a series keep their promise together.

**Promise.** C_i(p) is the crowd of person p in release i: all whose records in it equal hers. For each p and
any set of releases in which p appears, the intersection of the C_i(p) has at least k people.

**Rule.** A person stays in one crowd c(p). M(p) are the releases in which p appears so far. The companions of
p are I(p) = {q: c(q) = c(p), M(q) contains M(p)}. Of each crowd, a release shows a set S of people who are
present such that each p in S has at least k companions in S (p counts). A newcomer has an empty M: all of S
accompany her.

The largest such set: all who are present, without people who have fewer than k companions among those who
remain, until none is left (proof: ``docs/series.md``).
"""

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Flags, Integers

Attended = npt.NDArray[np.uint64]
_WORD = 64


def may_appear(crowd: Integers, attended: Attended, k: int) -> Flags:
    """[n] the largest set of present people that a release may show.

    crowd: [n] of each present person; attended: [n, words] one bit for each release.
    """
    appears = np.zeros(len(crowd), dtype=np.bool_)
    order = np.argsort(crowd, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(crowd[order])) + 1):
        if len(members) >= k:
            appears[members] = _with_companions(attended[members], k)
    return appears


def count_companions(crowd: Integers, attended: Attended) -> Integers:
    """[n] the people, p among them, who were in all releases in which p appears; all: present or not."""
    counts = np.zeros(len(crowd), dtype=np.int64)
    order = np.argsort(crowd, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(crowd[order])) + 1):
        counts[members] = _accompany(attended[members]).sum(axis=1)
    return counts


def with_release(attended: Attended, appears: Flags, number: int) -> Attended:
    """Attendance after release ``number``, from 0."""
    words = number // _WORD + 1
    wide = np.zeros((len(attended), max(words, attended.shape[1])), dtype=np.uint64)
    wide[:, : attended.shape[1]] = attended
    wide[appears, words - 1] |= np.uint64(1 << number % _WORD)
    return wide


def has_later(attended: Attended, number: int) -> bool:
    """Whether somebody was in release ``number``, from 0, or in a later one."""
    later = attended[:, number // _WORD :].copy()
    later[:, :1] >>= np.uint64(number % _WORD)
    return bool(later.any())


def _accompany(attended: Attended) -> npt.NDArray[np.bool_]:
    # [n, n] whether the second was in all releases of the first
    absences = attended[:, None] & ~attended[None]
    together: npt.NDArray[np.bool_] = np.all(absences == 0, axis=2)
    return together


def _with_companions(attended: Attended, k: int) -> Flags:
    appears = np.ones(len(attended), dtype=np.bool_)
    accompany = _accompany(attended)
    while True:
        enough = appears & (accompany[:, appears].sum(axis=1) >= k)
        if enough.sum() == appears.sum():
            return appears
        appears = enough
