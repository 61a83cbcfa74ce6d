"""Search for subjects whom the same records hide for longer than epsilon (Gramaglia et al. 2017, Sec. III-E).

A record hides a subject in one window of tau + epsilon at most. Intervals of length tau that begin epsilon or
more apart lie in different windows, so each of them needs k - 1 records of its own.
"""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.kte_loops import (
    PublishedRecords,
    RawSamples,
    Search,
    find_records,
    first_at_or_after,
    fits_at,
    holds_all,
    new_search,
    split_samples,
)


class Lengths(NamedTuple):
    """In slots: an interval, a window of tau + epsilon, epsilon."""

    tau: int
    window: int
    epsilon: int


@compiled
def find_lasting_hiders(
    raw: RawSamples,
    published: PublishedRecords,
    subjects: Integers,
    record_of: Integers,
    lengths: Lengths,
    k: int,
    outcome: Integers,
) -> None:
    """Assign to each interval k - 1 records that hide the subject there and in no other interval.

    record_of: int64 [subjects of the data]. outcome: int64 [subjects, 3]: intervals that begin epsilon or
    more apart; those without records of their own, although k records fit; start of the first such.
    """
    search = new_search(published)
    # the interval that each record is assigned to
    taken = np.full(len(published.offsets) - 1, -1, dtype=np.int64)
    outcome[:] = 0
    for row in range(len(subjects)):
        samples, suppressed = split_samples(raw, subjects[row])
        starts = _interval_starts(raw, samples, raw.t[raw.offsets[subjects[row] + 1] - 1], lengths)
        outcome[row, 0] = len(starts)
        if len(starts) < 2:
            continue
        enough = len(starts) * (k - 1)  # an interval with so many records never lacks one
        records = np.empty(enough, dtype=np.int64)  # of interval v: from bounds[v] to bounds[v + 1]
        bounds = np.zeros(len(starts) + 1, dtype=np.int64)
        for v in range(len(starts)):
            interval = starts[v], lengths.tau
            own = record_of[subjects[row]]
            count = _find_candidates(raw, published, samples, suppressed, interval, own, enough, search)
            if bounds[v] + count > len(records):
                records = np.append(records, np.empty(len(records) + count, dtype=np.int64))
            records[bounds[v] : bounds[v] + count] = search.records[:count]
            bounds[v + 1] = bounds[v] + count
            wanted = min(k - 1, count)
            if _assign_records(records, bounds, taken, v, wanted) < wanted:
                if outcome[row, 1] == 0:
                    outcome[row, 2] = starts[v]
                outcome[row, 1] += 1
        taken[records[: bounds[-1]]] = -1


@compiled
def _interval_starts(raw: RawSamples, samples: Integers, last: int, lengths: Lengths) -> Integers:
    # windows end with the data, which go on at least to the subject's last sample
    starts = np.empty(len(samples), dtype=np.int64)
    n = 0
    for i in samples:
        if n == 0 or (raw.t[i] >= starts[n - 1] + lengths.epsilon and starts[n - 1] + lengths.window <= last):
            starts[n] = raw.t[i]
            n += 1
    return starts[:n]


@compiled
def _find_candidates(
    raw: RawSamples,
    published: PublishedRecords,
    samples: Integers,
    suppressed: Integers,
    interval: tuple[int, int],
    own: int,
    most: int,
    search: Search,
) -> int:
    """List ``most`` others that fit, or hold the rest around suppressed samples; return how many."""
    a, tau = interval
    low, high = first_at_or_after(raw, samples, a), first_at_or_after(raw, samples, a + tau)
    silent = first_at_or_after(raw, suppressed, a)
    is_whole = silent == len(suppressed) or raw.t[suppressed[silent]] >= a + tau
    count = 0
    for position in range(find_records(raw, published, samples[low], search)):
        record = search.records[position]
        if record != own and (
            fits_at(raw, published, record, samples, low, a, tau)
            if is_whole
            else holds_all(raw, published, record, samples, low, high)
        ):
            search.records[count] = record
            count += 1
            if count == most:
                break
    return count


@compiled
def _assign_records(records: Integers, bounds: Integers, taken: Integers, v: int, wanted: int) -> int:
    """Assign ``wanted`` records to interval v along augmenting paths; return how many it has."""
    entry = np.empty(len(bounds), dtype=np.int64)  # of each interval reached, its place in ``records``
    came_from = np.empty(len(bounds), dtype=np.int64)  # the interval that reached it
    waiting = np.empty(len(bounds), dtype=np.int64)
    for turn in range(wanted):
        came_from[:] = -1
        waiting[0], came_from[v] = v, v
        first, n_waiting, end = 0, 1, -1
        while first < n_waiting and end < 0:
            u = waiting[first]
            first += 1
            for position in range(bounds[u], bounds[u + 1]):
                other = taken[records[position]]
                if other < 0:
                    end = position
                    break
                if came_from[other] < 0:
                    came_from[other], entry[other] = u, position
                    waiting[n_waiting] = other
                    n_waiting += 1
        if end < 0:
            return turn
        while True:
            taken[records[end]] = u
            if u == v:
                break
            end, u = entry[u], came_from[u]
    return wanted
