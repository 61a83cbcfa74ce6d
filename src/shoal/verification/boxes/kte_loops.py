"""Search for intervals with too few candidates under k^(tau,epsilon)-anonymity.

An interval has as many slots as one of length tau can touch: one that begins between slots holds fewer
samples.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import BoxIndex, find_boxes, holds

FOREVER: Final = 1 << 60
PATIENCE: Final = 10


class PublishedRecords(NamedTuple):
    """Published boxes, int64 [m, 6], by record and time."""

    boxes: Integers
    offsets: Integers  # [n + 1]
    owner: Integers  # [m], record of each box
    longest: Integers  # [n], slots of each record's longest box
    index_: BoxIndex


class RawSamples(NamedTuple):
    """Raw samples, ascending. covered: a box of the subject's record holds the sample."""

    t: Integers
    x: Integers
    y: Integers
    offsets: Integers
    covered: Flags


class Search(NamedTuple):
    """Scratch space of one thread."""

    hits: Integers  # [m] boxes of the last search
    seen: Integers  # [n] number of the last search that met each record
    records: Integers  # [n] records of the last search, each once
    counts: Integers  # number of searches, records of the last one, boxes of all


@compiled
def new_search(published: PublishedRecords) -> Search:
    """Space to search these records."""
    n_boxes, n_records = len(published.boxes), len(published.offsets) - 1
    return Search(
        np.empty(n_boxes, dtype=np.int64),
        np.full(n_records, -1, dtype=np.int64),
        np.empty(n_records, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )


@compiled
def find_records(raw: RawSamples, published: PublishedRecords, i: int, search: Search) -> int:
    """List in ``search.records`` those that hold sample i; return their number."""
    search.counts[0] += 1
    n_hits = find_boxes(published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], search.hits)
    n_records = 0
    for position in range(n_hits):
        record = published.owner[search.hits[position]]
        if search.seen[record] != search.counts[0]:
            search.seen[record] = search.counts[0]
            search.records[n_records] = record
            n_records += 1
    search.counts[1] = n_records
    search.counts[2] += n_hits
    return n_records


@compiled
def holds_sample(raw: RawSamples, published: PublishedRecords, record: int, i: int) -> bool:
    """Whether a record holds sample i."""
    first, end = published.offsets[record], published.offsets[record + 1]
    t = raw.t[i]
    b = first + np.searchsorted(published.boxes[first:end, 0], t - published.longest[record] + 1)
    while b < end and published.boxes[b, 0] <= t:
        if holds(published.boxes, b, t, raw.x[i], raw.y[i]):
            return True
        b += 1
    return False


@compiled
def fits_at(
    raw: RawSamples, published: PublishedRecords, record: int, samples: Integers, low: int, a: int, tau: int
) -> bool:
    """Whether a record is a candidate at ``a``; samples[low]: first one."""
    return _fits_before(raw, published, record, samples, low, a, tau, a + 1) > a


@compiled
def _fits_before(
    raw: RawSamples,
    published: PublishedRecords,
    record: int,
    samples: Integers,
    low: int,
    a: int,
    tau: int,
    until: int,
) -> int:
    """The first interval start, from ``a`` to ``until``, where a record is no candidate."""
    for place in range(low, len(samples)):
        if raw.t[samples[place]] - tau + 1 >= until:
            break
        if not holds_sample(raw, published, record, samples[place]):
            until = max(a, raw.t[samples[place]] - tau + 1)
            break
    first, end = published.offsets[record], published.offsets[record + 1]
    place = low
    for b in range(first + np.searchsorted(published.boxes[first:end, 0], a), end):
        start, stop = published.boxes[b, 0], published.boxes[b, 1]
        if max(a, start + 1 - tau) >= until:
            break
        if stop - start > tau or max(a, stop - tau) >= until:
            continue
        while place < len(samples) and raw.t[samples[place]] < start:
            place += 1
        filled = False
        for other in range(place, len(samples)):
            if raw.t[samples[other]] >= stop:
                break
            if holds(published.boxes, b, raw.t[samples[other]], raw.x[samples[other]], raw.y[samples[other]]):
                filled = True
                break
        if not filled:
            until = max(a, stop - tau)
    return until


@compiled
def holds_all(
    raw: RawSamples, published: PublishedRecords, record: int, samples: Integers, low: int, high: int
) -> bool:
    """Whether a record holds samples[low] to samples[high - 1]."""
    for position in range(low, high):  # noqa: SIM110  (the compiler has no generators)
        if not holds_sample(raw, published, record, samples[position]):
            return False
    return True


@compiled
def split_samples(raw: RawSamples, subject: int) -> tuple[Integers, Integers]:
    """Positions of a subject's published samples, and of the suppressed ones."""
    published = np.empty(raw.offsets[subject + 1] - raw.offsets[subject], dtype=np.int64)
    suppressed = np.empty(len(published), dtype=np.int64)
    n_published = n_suppressed = 0
    for i in range(raw.offsets[subject], raw.offsets[subject + 1]):
        if raw.covered[i]:
            published[n_published] = i
            n_published += 1
        else:
            suppressed[n_suppressed] = i
            n_suppressed += 1
    return published[:n_published], suppressed[:n_suppressed]


@compiled
def first_at_or_after(raw: RawSamples, samples: Integers, t: int) -> int:
    """The first place in ``samples`` not before t."""
    low, high = 0, len(samples)
    while low < high:
        middle = (low + high) // 2
        if raw.t[samples[middle]] < t:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_short_intervals(
    raw: RawSamples,
    published: PublishedRecords,
    subjects: Integers,
    tau: int,
    k: int,
    looks: int,
    outcome: Integers,
) -> None:
    """Find the intervals of these subjects with fewer than k candidates.

    looks: hits after which the search ends if some subject was short; ``PATIENCE`` times as many if none
    was. outcome: int64 [subjects, 7]: sample sets with fewer than k candidates; start of the first such
    interval; candidates there; sets with suppressed samples where fewer than k records hold the rest; start
    of the first; sets with suppressed samples and strictly fewer than k candidates; 1 = undecided.
    Intervals are skipped only while the same k records stay candidates.
    """
    search = new_search(published)
    fit = np.empty((2, k), dtype=np.int64)
    outcome[:] = 0
    for row in range(len(subjects)):
        samples, suppressed = split_samples(raw, subjects[row])
        a = raw.t[samples[0]] - tau + 1 if len(samples) else 0
        count = 0
        low = 0
        while True:
            if search.counts[2] > looks and (
                search.counts[2] > PATIENCE * looks or (outcome[:, 0] + outcome[:, 3]).any()
            ):
                outcome[row:, 6] = 1
                return
            low = first_at_or_after(raw, samples, a)
            if low == len(samples):
                break
            if raw.t[samples[low]] >= a + tau:
                a = raw.t[samples[low]] - tau + 1
                continue
            count = _refill_candidates(raw, published, search, samples, low, (a, tau), fit, count)
            if count == k:
                a = fit[1].min()
                continue
            silent = first_at_or_after(raw, suppressed, a)
            high = first_at_or_after(raw, samples, a + tau)
            if silent < len(suppressed) and raw.t[suppressed[silent]] < a + tau:
                outcome[row, 5] += 1
                if _count_holding(raw, published, search, samples, low, high, k) < k:
                    if outcome[row, 3] == 0:
                        outcome[row, 4] = a
                    outcome[row, 3] += 1
            else:
                if outcome[row, 0] == 0:
                    outcome[row, 1], outcome[row, 2] = a, count
                outcome[row, 0] += 1
            a = min(_next_change(raw, samples, a, tau), _next_change(raw, suppressed, a, tau))


@compiled
def _refill_candidates(
    raw: RawSamples,
    published: PublishedRecords,
    search: Search,
    samples: Integers,
    low: int,
    interval: tuple[int, int],
    fit: Integers,
    count: int,
) -> int:
    """Update fit [2, k]: ``count`` candidates, and the first start at which each is none."""
    a, tau = interval
    candidates, until = fit[0], fit[1]
    n_left = 0
    for c in range(count):
        if until[c] > a:
            candidates[n_left], until[n_left] = candidates[c], until[c]
            n_left += 1
    count = n_left
    if count == len(until):
        return count
    n_found = find_records(raw, published, samples[low], search)
    for c in range(count):
        search.seen[candidates[c]] = -1
    for position in range(n_found):
        record = search.records[position]
        if search.seen[record] >= 0 and fits_at(raw, published, record, samples, low, a, tau):
            # FOREVER as a variable: a constant would compile the loop once more
            last = _fits_before(raw, published, record, samples, low, a, tau, max(a, FOREVER))
            candidates[count], until[count] = record, last
            count += 1
            if count == len(until):
                break
    return count


@compiled
def _count_holding(
    raw: RawSamples,
    published: PublishedRecords,
    search: Search,
    samples: Integers,
    low: int,
    high: int,
    k: int,
) -> int:
    holding = 0
    for record in search.records[: search.counts[1]]:
        if holding < k:
            holding += holds_all(raw, published, record, samples, low, high)
    return holding


@compiled
def _next_change(raw: RawSamples, samples: Integers, a: int, tau: int) -> int:
    low, high = first_at_or_after(raw, samples, a), first_at_or_after(raw, samples, a + tau)
    following = raw.t[samples[low]] + 1 if low < high else FOREVER
    return min(following, raw.t[samples[high]] - tau + 1) if high < len(samples) else following
