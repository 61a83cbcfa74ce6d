"""Measure how long all candidates of an interval can be followed together.

Source: Gramaglia et al. 2017, Sec. II-C; the comparison with nearby records is shoal's. Each record is
processed once for all intervals. This is exact:

- A record holds all samples of an interval when its run of consecutive samples reaches from the first to the
  last. A candidate can be followed as far as that run.
- A box wholly inside an interval holds a sample of it exactly when it holds any sample of the subject.
- Counts add up over records, and run ends combine by minimum and maximum. So records may be processed in
  groups.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import find_boxes
from shoal.verification.boxes.kte_loops import PublishedRecords, RawSamples

PAIRS_AT_ONCE: Final = 1 << 21


class Intervals(NamedTuple):
    """Of one subject, [samples, 2]: those that begin, and that end, with each sample."""

    low: Integers  # low, high: first sample inside, first after
    high: Integers
    start: Integers  # first slot
    beyond: Integers  # first sample more than epsilon after (or before) the interval, -1 = none
    sound: Flags  # no sample is suppressed
    place: Integers  # [samples + 1, 2], first interval with ``low`` of at least the row number


class Tally(NamedTuple):
    """Counts for each interval, [samples, 2]."""

    fitting: Integers  # candidates
    nearby: Integers  # other records with the first sample
    holding: Integers  # those also with the sample ``beyond``
    reach: Integers  # the farthest sample that all candidates hold without a gap


class Pairs(NamedTuple):
    """Which records hold which samples of one subject."""

    sample: Integers  # [room]
    before: Integers  # [room] previous pair of the same record, -1 = none
    latest: Integers  # [n] last pair of each record, -1 = none
    records: Integers  # [n] records with pairs
    filled: Flags  # [m] the box holds a sample of the subject
    hits: Integers  # [m] scratch


class Runs(NamedTuple):
    """One record's samples of a subject, [most samples], last first, and limits of runs."""

    samples: Integers
    begins: Integers  # begins, ends: first and last sample of the run around each; end -1 = not held
    ends: Integers


@compiled
def measure_leakage(
    raw: RawSamples,
    published: PublishedRecords,
    subjects: Integers,
    tau: int,
    epsilon: int,
    room: int,
    leaked: Integers,
    chance: Numbers,
) -> None:
    """Measure for how many slots all candidates go on to hold the subject's samples.

    leaked: int64 [samples, 2], forward from the interval that begins with the sample, and back; -1 =
    suppressed samples or no candidates. chance: that as many non-candidates, drawn from those that hold the
    first sample, all hold it more than ``epsilon`` slots beyond. room: pairs in memory.
    """
    n_records = len(published.offsets) - 1
    most = 0
    for subject in subjects:
        most = max(most, raw.offsets[subject + 1] - raw.offsets[subject])
    pairs = Pairs(
        np.empty(max(room, most), dtype=np.int64),
        np.empty(max(room, most), dtype=np.int64),
        np.full(n_records, -1, dtype=np.int64),
        np.empty(n_records, dtype=np.int64),
        np.empty(len(published.boxes), dtype=np.bool_),
        np.empty(len(published.boxes), dtype=np.int64),
    )
    runs = Runs(
        np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.full(most, -1, dtype=np.int64)
    )
    row = 0
    for subject in subjects:
        intervals = _intervals(raw, subject, tau, epsilon)
        n = len(intervals.low)
        tally = Tally(
            np.zeros((n, 2), dtype=np.int64),
            np.zeros((n, 2), dtype=np.int64),
            np.zeros((n, 2), dtype=np.int64),
            np.empty((n, 2), dtype=np.int64),
        )
        tally.reach[:, 0], tally.reach[:, 1] = n, -1
        pairs.filled[:] = False
        first, at_once = 0, n_records
        while first < n_records:
            n_met = _pair(raw, published, subject, first, first + at_once, pairs)
            if n_met < 0:
                at_once //= 2
                continue
            for place in range(n_met):
                _count(published, pairs, runs, pairs.records[place], tau, intervals, tally)
            first += at_once
        _write_leakage(
            raw.t[raw.offsets[subject] : raw.offsets[subject + 1]], tau, intervals, tally, row, leaked, chance
        )
        row += n


@compiled
def _intervals(raw: RawSamples, subject: int, tau: int, epsilon: int) -> Intervals:
    first, end = raw.offsets[subject], raw.offsets[subject + 1]
    t = raw.t[first:end]
    n = len(t)
    gone = np.zeros(n + 1, dtype=np.int64)
    gone[1:] = np.cumsum(~raw.covered[first:end])
    intervals = Intervals(
        np.empty((n, 2), dtype=np.int64),
        np.empty((n, 2), dtype=np.int64),
        np.empty((n, 2), dtype=np.int64),
        np.empty((n, 2), dtype=np.int64),
        np.empty((n, 2), dtype=np.bool_),
        np.empty((n + 1, 2), dtype=np.int64),
    )
    for back in range(2):
        following = 0
        for i in range(n):
            a = t[i] + 1 - tau if back else t[i]
            low, high = np.searchsorted(t, a), np.searchsorted(t, a + tau)
            intervals.start[i, back], intervals.low[i, back], intervals.high[i, back] = a, low, high
            intervals.sound[i, back] = gone[low] == gone[high]
            if back:
                intervals.beyond[i, back] = np.searchsorted(t, a - epsilon) - 1
            else:
                later = np.searchsorted(t, a + tau + epsilon)
                intervals.beyond[i, back] = later if later < n else -1
            while following <= low:
                intervals.place[following, back] = i
                following += 1
        intervals.place[following:, back] = n
    return intervals


@compiled
def _pair(
    raw: RawSamples, published: PublishedRecords, subject: int, first: int, end: int, pairs: Pairs
) -> int:
    """With records first, ..., end - 1; -1 (and nothing kept) when the pairs do not fit."""
    n_pairs = n_met = 0
    start = raw.offsets[subject]
    for i in range(start, raw.offsets[subject + 1]):
        n_found = find_boxes(published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], pairs.hits)
        for place in range(n_found):
            box = pairs.hits[place]
            pairs.filled[box] = True
            record = published.owner[box]
            if not first <= record < end:
                continue
            last = pairs.latest[record]
            if last >= 0 and pairs.sample[last] == i - start:
                continue  # paired by another box of the record
            if n_pairs == len(pairs.sample):
                pairs.latest[pairs.records[:n_met]] = -1
                return -1
            if last < 0:
                pairs.records[n_met] = record
                n_met += 1
            pairs.sample[n_pairs], pairs.before[n_pairs] = i - start, last
            pairs.latest[record] = n_pairs
            n_pairs += 1
    return n_met


@compiled
def _count(
    published: PublishedRecords,
    pairs: Pairs,
    runs: Runs,
    record: int,
    tau: int,
    intervals: Intervals,
    tally: Tally,
) -> None:
    samples, begins, ends = runs
    n_samples = 0
    pair = pairs.latest[record]
    pairs.latest[record] = -1
    while pair >= 0:
        i = pairs.sample[pair]
        ends[i] = ends[i + 1] if n_samples and samples[n_samples - 1] == i + 1 else i
        samples[n_samples] = i
        n_samples += 1
        pair = pairs.before[pair]
    for place in range(n_samples - 1, -1, -1):
        i = samples[place]
        begins[i] = begins[i - 1] if place + 1 < n_samples and samples[place + 1] == i - 1 else i
        for back in range(2):
            for interval in range(intervals.place[i, back], intervals.place[i + 1, back]):
                if not intervals.sound[interval, back]:
                    continue
                if ends[i] >= intervals.high[interval, back] - 1 and not _was_elsewhere(
                    published, pairs.filled, record, intervals.start[interval, back], tau
                ):
                    tally.fitting[interval, back] += 1
                    if back:
                        tally.reach[interval, 1] = max(tally.reach[interval, 1], begins[i])
                    else:
                        tally.reach[interval, 0] = min(tally.reach[interval, 0], ends[i])
                else:
                    tally.nearby[interval, back] += 1
                    beyond = intervals.beyond[interval, back]
                    tally.holding[interval, back] += beyond >= 0 and ends[beyond] >= 0
    ends[samples[:n_samples]] = -1


@compiled
def _was_elsewhere(published: PublishedRecords, filled: Flags, record: int, a: int, tau: int) -> bool:
    first, end = published.offsets[record], published.offsets[record + 1]
    for b in range(first + np.searchsorted(published.boxes[first:end, 0], a), end):
        if published.boxes[b, 0] >= a + tau:
            break
        if published.boxes[b, 1] <= a + tau and not filled[b]:
            return True
    return False


@compiled
def _write_leakage(
    t: Integers, tau: int, intervals: Intervals, tally: Tally, row: int, leaked: Integers, chance: Numbers
) -> None:
    """Write a subject's rows of ``leaked`` and ``chance``, from ``row`` on."""
    for i in range(len(t)):
        for back in range(2):
            leaked[row + i, back] = -1
            chance[row + i, back] = 0.0
            if not tally.fitting[i, back]:
                continue
            a, reach = intervals.start[i, back], tally.reach[i, back]
            if back:
                leaked[row + i, 1] = a - t[reach] if reach < intervals.low[i, 1] else 0
            else:
                leaked[row + i, 0] = t[reach] + 1 - (a + tau) if reach >= intervals.high[i, 0] else 0
            if intervals.beyond[i, back] >= 0:
                chance[row + i, back] = _chance_that_all_hold(
                    tally.nearby[i, back], tally.holding[i, back], tally.fitting[i, back] - 1
                )


@compiled
def _chance_that_all_hold(records: int, holding: int, drawn: int) -> float:
    probability = 1.0 if drawn <= records else 0.0
    for turn in range(min(drawn, records)):
        probability *= max(holding - turn, 0) / (records - turn)
    return probability
