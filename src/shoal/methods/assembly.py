"""From a method's result to a release: fresh pseudonyms, random order, losses counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.kernels import box_measures
from shoal.methods.method import Method
from shoal.model.omission import samples_by_reason
from shoal.model.release import Boxes, Linkage, Losses, Payload, Points, Release, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, offsets_of
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.randomness import Randomness

_FEWEST_TO_TELL_AN_ORDER: Final = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class EquivalenceClass:
    """People who share a record, or one alone."""

    members: Integers  # positions of subjects, ascending
    boxes: Boxes  # published for each of them


def assemble(
    original: Trajectories, classes: Sequence[EquivalenceClass], method: Method, rng: Randomness
) -> Released:
    """Publish every member with their class's boxes; suppress others."""
    if not classes:
        raise NothingLeftError(
            "every subject would be suppressed, so there is nothing to publish; relax the suppression "
            "thresholds"
        )
    published = [crowd.boxes.sorted() for crowd in classes]
    ends = np.cumsum([len(boxes) for boxes in published], dtype=np.int64)
    class_of = np.repeat(np.arange(len(classes)), [len(crowd.members) for crowd in classes])
    members = np.concatenate([crowd.members for crowd in classes])
    covered = 0
    for subject, number in zip(members.tolist(), class_of.tolist(), strict=True):
        boxes = box_measures.BoxColumns(*published[number].columns())
        covered += int(box_measures.count_covered(box_measures.Points(*original.samples_of(subject)), boxes))
    together = Boxes.concatenate(published)
    del classes, published, boxes  # the rows of all records need the memory
    release_idle_memory()
    rows = _RecordRows(
        payload=together,
        members=members,
        begin=np.concatenate([[0], ends[:-1]])[class_of],
        end=ends[class_of],
        samples_kept=covered,
    )
    release, linkage, _ = _release(original, rows, method, rng)
    return release, linkage


@dataclass(frozen=True, eq=False, kw_only=True)
class PointRecords:
    """Records before shuffling; record r has points offsets[r] to offsets[r + 1]."""

    members: Integers  # [r], the subject of each record, all different
    offsets: Integers
    points: Points  # in any order in a record
    stands_for: Integers  # [p], each point's raw sample, all different, -1 = created; others are suppressed


def assemble_points(
    original: Trajectories, records: PointRecords, method: Method, rng: Randomness
) -> tuple[Release, Linkage, Integers]:
    """A release of points, its linkage, and each published point's row in ``records.points``."""
    # NothingLeftError without a record, or for a record without a point
    offsets, points = records.offsets, records.points
    if not len(records.members) or (np.diff(offsets) < 1).any():
        raise NothingLeftError(
            "every point would be left out, so there is nothing to publish; relax the thresholds, or add "
            "people"
        )
    later = np.diff(points.t) > 0
    later[offsets[1:-1] - 1] = True  # from one record to the next
    in_order = None
    if not later.all():
        record = np.repeat(np.arange(len(records.members)), np.diff(offsets))
        in_order = np.lexsort((points.y, points.x, points.t, record))
    rows = _RecordRows(
        payload=points,
        members=records.members,
        begin=offsets[:-1],
        end=offsets[1:],
        samples_kept=int(np.count_nonzero(records.stands_for >= 0)),
        sorted_rows=in_order,
        stands_for=records.stands_for,
    )
    return _release(original, rows, method, rng)


@dataclass(frozen=True, eq=False, kw_only=True)
class _RecordRows:
    """Rows begin[r] to end[r] of sorted_rows; records may share rows."""

    payload: Payload
    members: Integers  # [r], the subject of each record
    begin: Integers
    end: Integers
    samples_kept: int
    sorted_rows: Integers | None = None  # the payload's rows in published order, None = as they are
    stands_for: Integers | None = None


def _release(
    original: Trajectories, records: _RecordRows, method: Method, rng: Randomness
) -> tuple[Release, Linkage, Integers]:
    members, begin, stands_for = records.members, records.begin, records.stands_for
    order = unrelated_order(members, begin, original.input_rank, rng)
    lengths = (records.end - begin)[order]
    offsets = offsets_of(lengths)
    rows = np.arange(offsets[-1]) + np.repeat(begin[order] - offsets[:-1], lengths)
    if records.sorted_rows is not None:
        rows = records.sorted_rows[rows]
    trajectory_ids = rng.pseudonyms(len(members))
    suppressed = original.n_samples - records.samples_kept
    of_people_left_out = original.n_samples - int(original.lengths[members].sum())
    reasons = samples_by_reason(suppressed, of_people_left_out) if stands_for is None else {}
    release = Release(
        trajectory_ids=trajectory_ids,
        offsets=offsets,
        payload=records.payload.take(rows),
        claim=method.claim(),
        method=method.about.name,
        parameters=method.parameters(),
        losses=Losses(
            rows=dict(original.intake.dropped),
            samples_suppressed=suppressed,
            subjects_suppressed=original.n_subjects - len(members),
            samples_created=0 if stands_for is None else len(stands_for) - records.samples_kept,
            samples_by_reason=reasons,
        ),
        grid=original.snapped_grid() if records.payload.on_grid else None,
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=original.intake.reading,
        rows_repaired=dict(original.intake.repaired),
    )
    subjects = members[order]
    linked = np.argsort(subjects)
    linkage = Linkage(
        tuple(original.ids[subjects[i]] for i in linked),
        tuple(trajectory_ids[i] for i in linked),
        stands_for=None if stands_for is None else stands_for[rows],
    )
    return release, linkage, rows


def unrelated_order(
    members: Integers, class_of: Integers, input_rank: Integers | None, rng: Randomness
) -> Integers:
    """A random order that neither repeats nor reverses that of the input or the ids."""
    # With few records chance alone would sometimes repeat it, and a reader could not tell chance from a leak.
    # Compared are the classes (``class_of``), so that members of a class stay equally likely to have each of
    # its records; where all but one record belong to one class, the records themselves.
    largest = np.unique(class_of, return_counts=True)[1].max()
    class_numbers = class_of if largest < len(members) - 1 else np.arange(len(members))
    places = [members, *([] if input_rank is None else [input_rank[members]])]
    while True:
        order = rng.permutation(len(members))
        if len(members) < _FEWEST_TO_TELL_AN_ORDER or not any(
            _follows_order(class_numbers[order], class_numbers, place) for place in places
        ):
            return order


def _follows_order(published: Integers, class_numbers: Integers, place: Integers) -> bool:
    first, last = class_numbers[place.argmin()], class_numbers[place.argmax()]
    if (published[0], published[-1]) not in {(first, last), (last, first)}:
        return False
    expected = class_numbers[np.argsort(place)]
    return np.array_equal(published, expected) or np.array_equal(published, expected[::-1])
