"""Records that fit all samples seen in one interval (Gramaglia et al. 2017, Sec. II-B).

Each box that lies wholly inside the interval must contain one of them: the attacker follows the person
without a gap.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.likelihood import (
    LinkResults,
    RecordClasses,
    Victim,
    add_record_cues,
    answer_victim,
    empty_workspace,
    gather_cues,
    may_contain,
    owner_of,
)
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class FollowedVictims(NamedTuple):
    """Samples of each victim in windows of time."""

    window_offsets: Integers  # victim v was followed in windows window_offsets[v] to window_offsets[v + 1]
    begins: Integers  # first slot of each window
    ends: Integers  # end of each window
    sample_offsets: Integers  # samples seen in each window
    samples: Integers  # int64 [m, 3] slots and cells
    asked: Integers  # int64 [v, 3] another sample of the victim
    own_class: Integers  # int64 [v] the class of their record


class SampleAnswers(NamedTuple):
    """Whether records contain the sample in question."""

    by_all: Integers  # [v], whether any records fit and all of them contain it
    by_named: Integers  # [v, rules], whether the record named by each rule does


@compiled
def _holds(boxes: Integers, b: int, t: int, x: int, y: int) -> bool:
    in_time = boxes[b, 0] <= t < boxes[b, 1]
    return bool(in_time and boxes[b, 2] <= x < boxes[b, 4] and boxes[b, 3] <= y < boxes[b, 5])


@compiled
def _fits(boxes: Integers, seen: Integers, start: int, end: int, samples_held: Integers) -> bool:
    samples_held[:] = 0
    for b in range(len(boxes)):
        if boxes[b, 0] >= end or boxes[b, 1] <= start:
            continue
        filled = False
        for i in range(len(seen)):
            if _holds(boxes, b, seen[i, 0], seen[i, 1], seen[i, 2]):
                samples_held[i] = 1
                filled = True
        if not filled and boxes[b, 0] >= start and boxes[b, 1] <= end:
            return False
    return bool(samples_held.all())


@compiled
def tau_candidates(records: RecordClasses, seen: Integers, start: int, end: int, candidates: Integers) -> int:
    """List the records that fit [start, end); return their number."""
    index, t, x, y = records.by_time, seen[0, 0], seen[0, 1], seen[0, 2]
    looked_at = np.zeros(len(records.sizes), dtype=np.bool_)
    samples_held = np.empty(len(seen), dtype=np.int64)
    count = 0
    for level in range(len(index.class_offsets) - 1):
        first, last = may_contain(index, level, t)
        for place in range(first, last):
            if not _holds(index.boxes, index.rows[place], t, x, y):
                continue
            record = owner_of(index, index.rows[place])
            if not looked_at[record]:
                looked_at[record] = True
                boxes = records.boxes[records.offsets[record] : records.offsets[record + 1]]
                if _fits(boxes, seen, start, end, samples_held):
                    candidates[count] = record
                    count += 1
    return count


@compiled
def record_holds(records: RecordClasses, record: int, sample: Integers) -> bool:
    """Whether a record contains a sample (slot and cell)."""
    for b in range(records.offsets[record], records.offsets[record + 1]):
        if _holds(records.boxes, b, sample[0], sample[1], sample[2]):
            return True
    return False


@compiled
def _fits_windows(
    record_classes: RecordClasses, candidate: int, followed: FollowedVictims, first: int, last: int
) -> bool:
    boxes = record_classes.boxes[record_classes.offsets[candidate] : record_classes.offsets[candidate + 1]]
    for window in range(first, last):
        seen = followed.samples[followed.sample_offsets[window] : followed.sample_offsets[window + 1]]
        samples_held = np.empty(len(seen), dtype=np.int64)
        if not _fits(boxes, seen, followed.begins[window], followed.ends[window], samples_held):
            return False
    return True


@compiled
def link_followed_victims(
    followed: FollowedVictims,
    record_classes: RecordClasses,
    rules: Floats,
    results: LinkResults,
    answers: SampleAnswers,
) -> None:
    """Fill ``results`` and ``answers``: which records fit, and which one rules name."""
    # rules: weights of the cues; if no record fits, those that contain most samples are scored
    work = empty_workspace(len(record_classes.sizes))
    for victim in range(len(followed.own_class)):
        asked = followed.asked[victim]
        first, last = followed.window_offsets[victim], followed.window_offsets[victim + 1]
        samples = followed.samples[followed.sample_offsets[first] : followed.sample_offsets[last]]
        n_touched = gather_cues(samples, record_classes, work)
        fitting, silent, most = 0, 0, 1
        for i in range(n_touched):
            candidate = work.touched[i]
            if work.samples_held[candidate] == len(samples) and _fits_windows(
                record_classes, candidate, followed, first, last
            ):
                # records that fit rank above those that only contain all samples
                work.samples_held[candidate] += 1
                fitting += record_classes.sizes[candidate]
                silent += 0 if record_holds(record_classes, candidate, asked) else 1
            most = max(most, work.samples_held[candidate])
        for i in range(n_touched):
            if work.samples_held[work.touched[i]] == most:
                add_record_cues(samples, record_classes, work.touched[i], work)
        about = Victim(victim, followed.own_class[victim], 0.0, len(samples) + 1)
        answer_victim(about, record_classes.sizes, rules, most, n_touched, work, results)
        answers.by_all[victim] = 1 if fitting > 0 and silent == 0 else 0
        for rule in range(len(rules)):
            named = results.named[victim, rule]
            answers.by_named[victim, rule] = (
                1 if named >= 0 and record_holds(record_classes, named, asked) else 0
            )
