"""How likely known samples are under each record that could contain them.

A box that is the hull of few samples touches them, so its sides are likelier than its middle; a person's
places are in boxes of their record at all times, in another record only now and then.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.ordering import first_above, first_not_below
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled, compiled_for_many

N_CUES: Final = 4
ALIKE: Final = 1e-9  # scores this close are equal except for rounding
NOWHERE: Final = 1e-9  # density of a cell outside all boxes of a record


class KnownSamples(NamedTuple):
    """Known samples of each victim, from offsets[v] on, and the correct record."""

    offsets: Integers
    samples: Integers  # int64 [m, 3], slots and cells
    own_class: Integers  # [v], the class of their record
    picks: Floats  # [v], position in a list of equally good classes, 0 to 1


class CoverIndex(NamedTuple):
    """Boxes [b, 6] in classes of lengths of at most 2**L slots, by start; 32-bit where values fit.

    So possible boxes start in a known range. The index holds rows of boxes, and no copy of them.
    """

    class_offsets: Integers  # int64; class L is places class_offsets[L] to class_offsets[L + 1]
    boxes: Integers  # in their own order
    rows: Integers  # [b], the box at each place: in a class by where they begin along the axis
    offsets: Integers  # int64; record i owns boxes offsets[i] to offsets[i + 1]


@compiled
def may_contain(index: CoverIndex, level: int, t: int) -> tuple[int, int]:
    """The first place of a class whose box may contain ``t``, and the first behind the last one."""
    return _first_from(index, level, t - (1 << level) + 1), _first_from(index, level, t + 1)


@compiled
def _first_from(index: CoverIndex, level: int, least: int) -> int:
    low, high = index.class_offsets[level], index.class_offsets[level + 1]
    while low < high:
        middle = (low + high) // 2
        if index.boxes[index.rows[middle], 0] < least:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def owner_of(index: CoverIndex, row: int) -> int:
    """The record that owns a box."""
    return first_above(index.offsets, 0, len(index.offsets), row) - 1


@compiled_for_many
def fill_levels(boxes: Integers, levels: Numbers) -> None:
    """Fill levels [b] with the least L for which a box lasts at most 2**L slots."""
    for b in range(len(boxes)):
        level = 0
        while boxes[b, 1] - boxes[b, 0] > 1 << level:
            level += 1
        levels[b] = level


@compiled
def fill_time_index(levels: Numbers, least: int, counts: Integers, filed: CoverIndex) -> None:
    """Fill the rows of an index over time; the sort is stable."""
    # counts: [p + 1] zeros, one entry for each level and each start from ``least`` on
    boxes, span = filed.boxes, (len(counts) - 1) // (len(filed.class_offsets) - 1)
    for b in range(len(boxes)):
        counts[np.int64(levels[b]) * span + boxes[b, 0] - least + 1] += 1
    for key in range(1, len(counts)):
        counts[key] += counts[key - 1]
    for b in range(len(boxes)):
        key = np.int64(levels[b]) * span + boxes[b, 0] - least
        filed.rows[counts[key]] = b
        counts[key] += 1


@compiled_for_many
def records_ascend(boxes: Integers, offsets: Integers) -> bool:
    """Whether the boxes [b, 6] of each record ascend; duplicates are allowed."""
    for record in range(len(offsets) - 1):
        for b in range(offsets[record] + 1, offsets[record + 1]):
            for column in range(boxes.shape[1]):
                if boxes[b - 1, column] < boxes[b, column]:
                    break
                if boxes[b - 1, column] > boxes[b, column]:
                    return False
    return True


class RecordClasses(NamedTuple):
    """Distinct records, in order and in an index over time."""

    offsets: Integers
    boxes: Integers  # [b, 6] as BOX_COLUMNS
    sizes: Integers  # [c], equal records in each class
    by_time: CoverIndex  # of the same boxes


class LinkResults(NamedTuple):
    """For each victim: records with all known samples, whether their own is, and the answers."""

    candidates: Integers
    own_fits: Integers
    chances: Floats  # [v, rules], to be right when naming one of the best-scoring records at random
    named: Integers  # [v, rules], class of one of them, -1 = no record contains a known sample


@compiled
def hull_density(low: int, high: int, at: int, n: int) -> float:
    """The density along one axis of the hull of n samples or a few more."""
    # one of n lies at either end with a chance of at least 1 / n; 1 / (n + 1) is used, for hulls of more
    length = high - low
    if length <= 2:
        return 1.0 / length
    if at == low or at == high - 1:
        return 1.0 / (n + 1)
    return (n - 1) / (n + 1) / (length - 2)


@compiled
def _record_density(boxes: Integers, x: int, y: int) -> float:
    total = 0.0
    for b in range(len(boxes)):
        if boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5]:
            total += 1.0 / ((boxes[b, 4] - boxes[b, 2]) * (boxes[b, 5] - boxes[b, 3]))
    return total / len(boxes)


class Workspace(NamedTuple):
    """Workspace of one victim, by class."""

    samples_held: Integers  # number of samples contained
    cues: Floats  # [c, 4] log densities: even boxes, hulls, whole record; log of boxes, per sample
    even: Floats  # density of the current sample in evenly filled boxes
    hull: Floats  # the same for hulls
    touched: Integers  # classes that contain any sample
    now: Integers  # classes that contain the current one


@compiled
def empty_workspace(n_records: int) -> Workspace:
    """An empty workspace."""
    return Workspace(
        np.zeros(n_records, dtype=np.int64),
        np.zeros((n_records, N_CUES)),
        np.zeros(n_records),
        np.zeros(n_records),
        np.empty(n_records, dtype=np.int64),
        np.empty(n_records, dtype=np.int64),
    )


@compiled
def _holders(record_classes: RecordClasses, t: int, x: int, y: int, work: Workspace) -> int:
    index, n_now = record_classes.by_time, 0
    boxes, rows, sizes = index.boxes, index.rows, record_classes.sizes
    even, hull = work.even, work.hull
    for level in range(len(index.class_offsets) - 1):
        first, end = may_contain(index, level, t)
        for place in range(first, end):
            row = rows[place]
            t0, t1, x0, x1 = boxes[row, 0], boxes[row, 1], boxes[row, 2], boxes[row, 4]
            y0, y1 = boxes[row, 3], boxes[row, 5]
            if t1 > t and x0 <= x < x1 and y0 <= y < y1:
                candidate = owner_of(index, row)
                if even[candidate] == 0.0:
                    work.now[n_now] = candidate
                    n_now += 1
                n = max(sizes[candidate], 2)
                even[candidate] += 1.0 / ((t1 - t0) * (x1 - x0) * (y1 - y0))
                hull[candidate] += (
                    hull_density(t0, t1, t, n) * hull_density(x0, x1, x, n) * hull_density(y0, y1, y, n)
                )
    return n_now


@compiled
def gather_cues(samples: Integers, record_classes: RecordClasses, work: Workspace) -> int:
    """Collect the cues of every class with any of these samples; return the number of classes."""
    n_touched = 0
    for row in range(len(samples)):
        for i in range(_holders(record_classes, samples[row, 0], samples[row, 1], samples[row, 2], work)):
            candidate = work.now[i]
            if work.samples_held[candidate] == 0:
                work.touched[n_touched] = candidate
                n_touched += 1
            work.samples_held[candidate] += 1
            work.cues[candidate, 0] += math.log(work.even[candidate])
            work.cues[candidate, 1] += math.log(work.hull[candidate])
            work.even[candidate] = 0.0
            work.hull[candidate] = 0.0
    return n_touched


@compiled
def add_record_cues(samples: Integers, record_classes: RecordClasses, record: int, work: Workspace) -> None:
    """Add the whole record's cues for these places."""
    boxes = record_classes.boxes[record_classes.offsets[record] : record_classes.offsets[record + 1]]
    for row in range(len(samples)):
        density = _record_density(boxes, samples[row, 1], samples[row, 2])
        work.cues[record, 2] += math.log(max(density, NOWHERE))
    work.cues[record, 3] = len(samples) * math.log(len(boxes))


@compiled
def _score_of(weights: Floats, cues: Floats, candidate: int) -> float:
    score = 0.0
    for cue in range(N_CUES):
        score += weights[cue] * cues[candidate, cue]
    return score


@compiled
def name_record(
    weights: Floats, least: int, n_touched: int, own_class: int, pick: float, work: Workspace, sizes: Integers
) -> tuple[int, float]:
    """The class that a rule names, and its chance to be correct."""
    # only classes with at least ``least`` samples; pick: position among the highest scores, 0 to 1
    touched, samples_held, cues = work.touched, work.samples_held, work.cues
    best, ties, classes, holds_own = -np.inf, 0, 0, False
    for i in range(n_touched):
        candidate = touched[i]
        if samples_held[candidate] >= least:
            best = max(best, _score_of(weights, cues, candidate))
    for i in range(n_touched):
        candidate = touched[i]
        if samples_held[candidate] >= least and _score_of(weights, cues, candidate) >= best - ALIKE:
            ties += sizes[candidate]
            classes += 1
            holds_own = holds_own or candidate == own_class
    if classes == 0:
        return -1, 1.0 / sizes.sum()
    remaining = int(pick * classes)
    for i in range(n_touched):
        candidate = touched[i]
        if samples_held[candidate] >= least and _score_of(weights, cues, candidate) >= best - ALIKE:
            if remaining == 0:
                return candidate, 1.0 / ties if holds_own else 0.0
            remaining -= 1
    return -1, 0.0  # not reached: the list has ``classes`` members


class Victim(NamedTuple):
    """A victim and its class, the place among ties that is named, and the samples of a class that fits."""

    number: int
    own_class: int
    pick: float
    needed: int


@compiled
def link_victims(
    victims: KnownSamples, record_classes: RecordClasses, rules: Floats, results: LinkResults
) -> None:
    """Fill ``results`` by rules [rules, 4]; classes with most of the samples are scored."""
    work = empty_workspace(len(record_classes.sizes))
    for victim in range(len(victims.own_class)):
        samples = victims.samples[victims.offsets[victim] : victims.offsets[victim + 1]]
        n_touched = gather_cues(samples, record_classes, work)
        most = 1
        for i in range(n_touched):
            most = max(most, work.samples_held[work.touched[i]])
        for i in range(n_touched):
            if work.samples_held[work.touched[i]] == most:
                add_record_cues(samples, record_classes, work.touched[i], work)
        asked = Victim(victim, victims.own_class[victim], victims.picks[victim], len(samples))
        answer_victim(asked, record_classes.sizes, rules, most, n_touched, work, results)


@compiled
def answer_victim(
    victim: Victim,
    sizes: Integers,
    rules: Floats,
    least: int,
    n_touched: int,
    work: Workspace,
    results: LinkResults,
) -> None:
    """Fill ``results`` for one victim, and empty the workspace."""
    # least: samples of a class that rules may name
    number, needed = victim.number, victim.needed
    results.own_fits[number] = 1 if work.samples_held[victim.own_class] == needed else 0
    results.candidates[number] = 0
    for rule in range(len(rules)):
        results.named[number, rule], results.chances[number, rule] = name_record(
            rules[rule], least, n_touched, victim.own_class, victim.pick, work, sizes
        )
    for i in range(n_touched):
        candidate = work.touched[i]
        if work.samples_held[candidate] == needed:
            results.candidates[number] += sizes[candidate]
        work.samples_held[candidate] = 0
        work.cues[candidate] = 0.0


@compiled
def count_holders(samples: Integers, record_classes: RecordClasses, counts: Integers) -> None:
    """Fill ``counts`` [q] with the records that contain each sample [q, 3]."""
    work = empty_workspace(len(record_classes.sizes))
    for row in range(len(samples)):
        counts[row] = 0
        for i in range(_holders(record_classes, samples[row, 0], samples[row, 1], samples[row, 2], work)):
            counts[row] += record_classes.sizes[work.now[i]]
            work.even[work.now[i]] = 0.0
            work.hull[work.now[i]] = 0.0


@compiled
def _box_holds(box: Integers, samples: Integers) -> bool:
    for row in range(first_not_below(samples[:, 0], 0, len(samples), box[0]), len(samples)):
        if samples[row, 0] >= box[1]:
            return False
        if box[2] <= samples[row, 1] < box[4] and box[3] <= samples[row, 2] < box[5]:
            return True
    return False


@compiled_for_many
def share_that_holds(boxes: Integers, known_samples: Integers, samples: Integers) -> float:
    """Of boxes without known samples, the share that contain one of ``samples``."""
    # of all boxes, if each contains a known one; both lists ascend in time
    new, hits, old_hits = 0, 0, 0
    for b in range(len(boxes)):
        holds = _box_holds(boxes[b], samples)
        if _box_holds(boxes[b], known_samples):
            old_hits += holds
        else:
            new += 1
            hits += holds
    return hits / new if new else old_hits / len(boxes)


@compiled
def strongest_evidence(
    offsets: Integers, samples: Integers, index: CoverIndex, n_records: int, widest: float, strengths: Floats
) -> None:
    """Fill strengths [v]: the greatest mean score of any record."""
    # samples: [m, 3] slots and cells. A covered sample scores 1 + log(widest / volume), with the volume in
    # slots and cells of the smallest covering box; an uncovered one scores 0.
    total, best = np.zeros(n_records), np.zeros(n_records)
    touched = np.empty(n_records, dtype=np.int64)
    for person in range(len(strengths)):
        total[:] = 0.0
        for row in range(offsets[person], offsets[person + 1]):
            t, x, y = samples[row]
            n_touched = 0
            for level in range(len(index.class_offsets) - 1):
                first, end = may_contain(index, level, t)
                for place in range(first, end):
                    box = index.boxes[index.rows[place]]
                    if box[1] > t and box[2] <= x < box[4] and box[3] <= y < box[5]:
                        record = owner_of(index, index.rows[place])
                        volume = float((box[1] - box[0]) * (box[4] - box[2]) * (box[5] - box[3]))
                        if best[record] == 0:
                            touched[n_touched] = record
                            n_touched += 1
                        best[record] = max(best[record], 1 + math.log(widest / volume))
            for record in touched[:n_touched]:
                total[record] += best[record]
                best[record] = 0.0
        strengths[person] = total.max() / max(offsets[person + 1] - offsets[person], 1)
