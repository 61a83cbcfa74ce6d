"""The compiled question how far all candidates of an interval go on together, before it and after it.

Source: Gramaglia et al. 2017, Sec. II-C; what neighbors explain is ours.

Who holds which samples of a subject is asked of the index once, and each record is then gone through once,
for all intervals. Nothing is left out by that:

- A record holds all samples of an interval when it holds the first of them and its run from there, the
  samples that it holds one after the other, reaches the last. Candidates can be followed as far as that run.
- A box that lies wholly inside an interval holds a sample of the interval exactly when it holds any sample of
  the subject, since every sample in its time is in the interval. So that is asked once a subject.
- Counts of records add up over records, and so do the least and the largest ends of their runs. So records
  may be taken in groups, when a subject's pairs of sample and record do not fit into memory at once.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.verification.boxes.box_index import boxes_with
from shoal.verification.boxes.kte_loops import Published, Raw

PAIRS_AT_ONCE: Final = 1 << 21


class Asked(NamedTuple):
    """The intervals of one subject: [samples, 2], those that begin with the sample, and that end with it.

    low, high: the first sample inside, and the first behind. start: the interval's first slot. beyond: the
    subject's first sample more than epsilon after, or before, the interval, -1 = none. sound: whether no
    sample inside is suppressed. place: [samples + 1, 2] the first interval whose ``low`` is at least so much.
    """

    low: Integers
    high: Integers
    start: Integers
    beyond: Integers
    sound: Flags
    place: Integers


class Tally(NamedTuple):
    """What was found of the intervals, [samples, 2].

    fitting: candidates. nearby: other records that hold the first sample inside. holding: those of them that
    hold the sample ``beyond``. reach: the last sample, on or back, up to which all candidates hold each.
    """

    fitting: Integers
    nearby: Integers
    holding: Integers
    reach: Integers


class Pairs(NamedTuple):
    """Which records hold which of one subject's samples.

    sample: [room] a sample's place among the subject's. before: [room] the pair of the same record with the
    sample before, -1 = none. latest: [n] each record's last pair, -1 = none. met: [n] records with pairs.
    filled: [m] whether a box holds a sample of the subject. found: [m] scratch.
    """

    sample: Integers
    before: Integers
    latest: Integers
    met: Integers
    filled: Flags
    found: Integers


class Runs(NamedTuple):
    """What one record holds of one subject's samples: [samples of whoever has most].

    held: their places, the last one first. begins, ends: of the run that a sample is in. Whatever is not held
    has the end -1.
    """

    held: Integers
    begins: Integers
    ends: Integers


@compiled
def leakage(
    raw: Raw,
    published: Published,
    subjects: Integers,
    tau: int,
    epsilon: int,
    room: int,
    leaked: Integers,
    chance: Numbers,
) -> None:
    """How far all candidates go on holding the subject's samples, in slots, -1 where nothing is asked.

    leaked: int64 [samples of these subjects, 2]. First column: on from the end of the interval that begins
    with the sample; second: back from the start of the interval that ends with it. Intervals with suppressed
    samples, or without candidates, are left out. chance: float64 [the same]. Draw as many records as there
    are candidates besides the subject's own, from those that hold the interval's first sample and are no
    candidates: how probably all of them hold the subject's first sample more than ``epsilon`` slots beyond
    the interval. room: pairs of sample and record that are kept at once, or those of one record where these
    are more.
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
        asked = _intervals(raw, subject, tau, epsilon)
        n = len(asked.low)
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
                _count(published, pairs, runs, pairs.met[place], tau, asked, tally)
            first += at_once
        _tell(raw.t[raw.offsets[subject] : raw.offsets[subject + 1]], tau, asked, tally, row, leaked, chance)
        row += n


@compiled
def _intervals(raw: Raw, subject: int, tau: int, epsilon: int) -> Asked:
    """Every interval of a subject that begins or ends with one of its samples."""
    first, end = raw.offsets[subject], raw.offsets[subject + 1]
    t = raw.t[first:end]
    n = len(t)
    gone = np.zeros(n + 1, dtype=np.int64)
    gone[1:] = np.cumsum(~raw.covered[first:end])
    asked = Asked(
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
            asked.start[i, back], asked.low[i, back], asked.high[i, back] = a, low, high
            asked.sound[i, back] = gone[low] == gone[high]
            if back:
                asked.beyond[i, back] = np.searchsorted(t, a - epsilon) - 1
            else:
                later = np.searchsorted(t, a + tau + epsilon)
                asked.beyond[i, back] = later if later < n else -1
            while following <= low:
                asked.place[following, back] = i
                following += 1
        asked.place[following:, back] = n
    return asked


@compiled
def _pair(raw: Raw, published: Published, subject: int, first: int, end: int, pairs: Pairs) -> int:
    """Pair a subject's samples with the records from ``first`` to before ``end`` that hold them.

    Returns how many records were met, or -1, with nothing kept, when there is no room for the pairs of more
    than one.
    """
    n_pairs = n_met = 0
    start = raw.offsets[subject]
    for i in range(start, raw.offsets[subject + 1]):
        n_found = boxes_with(published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], pairs.found)
        for place in range(n_found):
            box = pairs.found[place]
            pairs.filled[box] = True
            record = published.owner[box]
            if not first <= record < end:
                continue
            last = pairs.latest[record]
            if last >= 0 and pairs.sample[last] == i - start:
                continue  # by another box of the same record
            if n_pairs == len(pairs.sample):
                pairs.latest[pairs.met[:n_met]] = -1
                return -1
            if last < 0:
                pairs.met[n_met] = record
                n_met += 1
            pairs.sample[n_pairs], pairs.before[n_pairs] = i - start, last
            pairs.latest[record] = n_pairs
            n_pairs += 1
    return n_met


@compiled
def _count(
    published: Published, pairs: Pairs, runs: Runs, record: int, tau: int, asked: Asked, tally: Tally
) -> None:
    """Count one record for all intervals whose first sample it holds, and forget its pairs."""
    held, begins, ends = runs
    n_held = 0
    pair = pairs.latest[record]
    pairs.latest[record] = -1
    while pair >= 0:
        i = pairs.sample[pair]
        ends[i] = ends[i + 1] if n_held and held[n_held - 1] == i + 1 else i
        held[n_held] = i
        n_held += 1
        pair = pairs.before[pair]
    for place in range(n_held - 1, -1, -1):
        i = held[place]
        begins[i] = begins[i - 1] if place + 1 < n_held and held[place + 1] == i - 1 else i
        for back in range(2):
            for interval in range(asked.place[i, back], asked.place[i + 1, back]):
                if not asked.sound[interval, back]:
                    continue
                if ends[i] >= asked.high[interval, back] - 1 and not _was_elsewhere(
                    published, pairs.filled, record, asked.start[interval, back], tau
                ):
                    tally.fitting[interval, back] += 1
                    if back:
                        tally.reach[interval, 1] = max(tally.reach[interval, 1], begins[i])
                    else:
                        tally.reach[interval, 0] = min(tally.reach[interval, 0], ends[i])
                else:
                    tally.nearby[interval, back] += 1
                    beyond = asked.beyond[interval, back]
                    tally.holding[interval, back] += beyond >= 0 and ends[beyond] >= 0
    ends[held[:n_held]] = -1


@compiled
def _was_elsewhere(published: Published, filled: Flags, record: int, a: int, tau: int) -> bool:
    """Whether a box of the record lies wholly in the interval at ``a`` and holds no sample of the subject."""
    first, end = published.offsets[record], published.offsets[record + 1]
    for b in range(first + np.searchsorted(published.boxes[first:end, 0], a), end):
        if published.boxes[b, 0] >= a + tau:
            break
        if published.boxes[b, 1] <= a + tau and not filled[b]:
            return True
    return False


@compiled
def _tell(
    t: Integers, tau: int, asked: Asked, tally: Tally, row: int, leaked: Integers, chance: Numbers
) -> None:
    """Write what was found of one subject's intervals from ``row`` on."""
    for i in range(len(t)):
        for back in range(2):
            leaked[row + i, back] = -1
            chance[row + i, back] = 0.0
            if not tally.fitting[i, back]:
                continue
            a, reach = asked.start[i, back], tally.reach[i, back]
            if back:
                leaked[row + i, 1] = a - t[reach] if reach < asked.low[i, 1] else 0
            else:
                leaked[row + i, 0] = t[reach] + 1 - (a + tau) if reach >= asked.high[i, 0] else 0
            if asked.beyond[i, back] >= 0:
                chance[row + i, back] = _all_hold(
                    tally.nearby[i, back], tally.holding[i, back], tally.fitting[i, back] - 1
                )


@compiled
def _all_hold(records: int, holding: int, drawn: int) -> float:
    """How probably all of so many different records, drawn from these, are of those that hold.

    0 with too few.
    """
    probability = 1.0 if drawn <= records else 0.0
    for turn in range(min(drawn, records)):
        probability *= max(holding - turn, 0) / (records - turn)
    return probability
