"""The compiled questions of k^(tau,epsilon)-anonymity: who is a candidate, and where there are too few.

An interval [a, a + tau) begins at slot a and has as many slots as one of length tau can touch. One that
begins between slots, or is shorter, holds some of the samples of these slots; whoever fits all of them fits
those, and every box inside it lies inside these slots, too, and holds one of its samples.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import BoxIndex, boxes_with, holds

FOREVER: Final = 1 << 60
PATIENCE: Final = 10


class Published(NamedTuple):
    """Published records.

    boxes: int64 [m, 6] by record and time. offsets: [n + 1]. owner: [m], each box's record. longest: [n],
    each record's longest box in slots.
    """

    boxes: Integers
    offsets: Integers
    owner: Integers
    longest: Integers
    index_: BoxIndex


class Raw(NamedTuple):
    """Raw samples, each subject's ascending by t.

    covered: whether a box of the own record holds the sample; otherwise it is suppressed.
    """

    t: Integers
    x: Integers
    y: Integers
    offsets: Integers
    covered: Flags


class Search(NamedTuple):
    """Scratch of one thread.

    found: [m] boxes of the last search. seen: [n] the number of the last search that met a record. state:
    that number, how many boxes were found, and how many by all searches.
    """

    found: Integers
    seen: Integers
    state: Integers


@compiled
def holds_sample(raw: Raw, published: Published, record: int, i: int) -> bool:
    """Whether any box of a record holds sample i."""
    first, end = published.offsets[record], published.offsets[record + 1]
    t = raw.t[i]
    b = first + np.searchsorted(published.boxes[first:end, 0], t - published.longest[record] + 1)
    while b < end and published.boxes[b, 0] <= t:
        if holds(published.boxes, b, t, raw.x[i], raw.y[i]):
            return True
        b += 1
    return False


@compiled
def fits_until(raw: Raw, published: Published, record: int, own: Integers, low: int, a: int, tau: int) -> int:
    """The first interval start, from ``a`` on, at which a record is no candidate; ``a`` if it never was.

    own: positions of the subject's samples that count (those not suppressed), ascending; own[low] is the
    first from ``a`` on. A candidate holds all of them in the interval, and each of its boxes that lies wholly
    inside the interval holds one of them.
    """
    # most records do not fit at ``a``, so no more is asked of them
    if not fits_at(raw, published, record, own, low, a, tau):
        return a
    # FOREVER, but not as a constant, for which the loop would be compiled once more
    return _fits_before(raw, published, record, own, low, a, tau, max(a, FOREVER))


@compiled
def fits_at(raw: Raw, published: Published, record: int, own: Integers, low: int, a: int, tau: int) -> bool:
    """Whether a record is a candidate at ``a``; the rest as for ``fits_until``."""
    return _fits_before(raw, published, record, own, low, a, tau, a + 1) > a


@compiled
def _fits_before(
    raw: Raw, published: Published, record: int, own: Integers, low: int, a: int, tau: int, until: int
) -> int:
    """The first interval start from ``a`` on at which a record is no candidate; at most ``until``."""
    for place in range(low, len(own)):
        if raw.t[own[place]] - tau + 1 >= until:
            break
        if not holds_sample(raw, published, record, own[place]):
            until = max(a, raw.t[own[place]] - tau + 1)
            break
    first, end = published.offsets[record], published.offsets[record + 1]
    place = low
    for b in range(first + np.searchsorted(published.boxes[first:end, 0], a), end):
        start, stop = published.boxes[b, 0], published.boxes[b, 1]
        if max(a, start + 1 - tau) >= until:
            break
        if stop - start > tau or max(a, stop - tau) >= until:
            continue
        while place < len(own) and raw.t[own[place]] < start:
            place += 1
        filled = False
        for other in range(place, len(own)):
            if raw.t[own[other]] >= stop:
                break
            if holds(published.boxes, b, raw.t[own[other]], raw.x[own[other]], raw.y[own[other]]):
                filled = True
                break
        if not filled:
            until = max(a, stop - tau)
    return until


@compiled
def holds_all(raw: Raw, published: Published, record: int, own: Integers, low: int, high: int) -> bool:
    """Whether a record holds all of the samples own[low] to own[high - 1]."""
    for place in range(low, high):  # noqa: SIM110  (the compiler has no generators)
        if not holds_sample(raw, published, record, own[place]):
            return False
    return True


@compiled
def kept_samples(raw: Raw, subject: int) -> tuple[Integers, Integers]:
    """Positions of a subject's samples that are published, and of those that are suppressed."""
    kept = np.empty(raw.offsets[subject + 1] - raw.offsets[subject], dtype=np.int64)
    gone = np.empty(len(kept), dtype=np.int64)
    n_kept = n_gone = 0
    for i in range(raw.offsets[subject], raw.offsets[subject + 1]):
        if raw.covered[i]:
            kept[n_kept] = i
            n_kept += 1
        else:
            gone[n_gone] = i
            n_gone += 1
    return kept[:n_kept], gone[:n_gone]


@compiled
def first_from(raw: Raw, own: Integers, t: int) -> int:
    """The first place in ``own`` with a time of at least t."""
    low, high = 0, len(own)
    while low < high:
        middle = (low + high) // 2
        if raw.t[own[middle]] < t:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def short_intervals(
    raw: Raw, published: Published, subjects: Integers, tau: int, k: int, looks: int, outcome: Integers
) -> None:
    """Ask for every interval of these subjects whether it has k candidates.

    looks: boxes that may be found around samples before the search ends if somebody was short already;
    ``PATIENCE`` times as many if nobody was. Whoever is not finished then is undecided. outcome: int64
    [subjects, 7], filled with: distinct sample sets with fewer than k candidates; the start of the first such
    interval; candidates there; sample sets with suppressed samples and fewer than k records that hold the
    rest; the start of the first such interval; sample sets with suppressed samples and fewer than k
    candidates in the strict sense. Intervals are passed over only while k records found before go on being
    candidates, so none is left out.
    """
    search = Search(
        np.empty(len(published.boxes), dtype=np.int64),
        np.full(len(published.offsets) - 1, -1, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )
    outcome[:] = 0
    fit, until = np.empty(k, dtype=np.int64), np.empty(k, dtype=np.int64)
    for row in range(len(subjects)):
        own, gone = kept_samples(raw, subjects[row])
        a = raw.t[own[0]] - tau + 1 if len(own) else 0
        count = 0
        low = 0
        while True:
            if search.state[2] > looks and (
                search.state[2] > PATIENCE * looks or (outcome[:, 0] + outcome[:, 3]).any()
            ):
                outcome[row:, 6] = 1
                return
            low = first_from(raw, own, a)
            if low == len(own):
                break
            if raw.t[own[low]] >= a + tau:
                a = raw.t[own[low]] - tau + 1
                continue
            count = _fill(raw, published, search, own, low, a, tau, fit, until, count)
            if count == k:
                a = until.min()
                continue
            silent = first_from(raw, gone, a)
            high = first_from(raw, own, a + tau)
            if silent < len(gone) and raw.t[gone[silent]] < a + tau:
                outcome[row, 5] += 1
                if _count_holding(raw, published, search, own, low, high, k) < k:
                    if outcome[row, 3] == 0:
                        outcome[row, 4] = a
                    outcome[row, 3] += 1
            else:
                if outcome[row, 0] == 0:
                    outcome[row, 1], outcome[row, 2] = a, count
                outcome[row, 0] += 1
            a = min(_next_set(raw, own, a, tau), _next_set(raw, gone, a, tau))


@compiled
def _fill(
    raw: Raw,
    published: Published,
    search: Search,
    own: Integers,
    low: int,
    a: int,
    tau: int,
    fit: Integers,
    until: Integers,
    count: int,
) -> int:
    """Drop those that are no candidates at ``a``, and look for others up to len(fit); returns how many."""
    left = 0
    for c in range(count):
        if until[c] > a:
            fit[left], until[left] = fit[c], until[c]
            left += 1
    count = left
    if count == len(fit):
        return count
    search.state[0] += 1
    for c in range(count):
        search.seen[fit[c]] = search.state[0]
    i = own[low]
    search.state[1] = boxes_with(
        published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], search.found
    )
    search.state[2] += search.state[1]
    for place in range(search.state[1]):
        record = published.owner[search.found[place]]
        if search.seen[record] != search.state[0]:
            search.seen[record] = search.state[0]
            last = fits_until(raw, published, record, own, low, a, tau)
            if last > a:
                fit[count], until[count] = record, last
                count += 1
                if count == len(fit):
                    break
    return count


@compiled
def _count_holding(
    raw: Raw, published: Published, search: Search, own: Integers, low: int, high: int, k: int
) -> int:
    """How many records of the last search, up to k, hold all of the samples own[low] to own[high - 1]."""
    search.state[0] += 1
    holding = 0
    for place in range(search.state[1]):
        record = published.owner[search.found[place]]
        if holding < k and search.seen[record] != search.state[0]:
            search.seen[record] = search.state[0]
            holding += holds_all(raw, published, record, own, low, high)
    return holding


@compiled
def _next_set(raw: Raw, own: Integers, a: int, tau: int) -> int:
    """The first start after ``a`` at which the interval holds another set of these samples."""
    low, high = first_from(raw, own, a), first_from(raw, own, a + tau)
    following = raw.t[own[low]] + 1 if low < high else FOREVER
    return min(following, raw.t[own[high]] - tau + 1) if high < len(own) else following
