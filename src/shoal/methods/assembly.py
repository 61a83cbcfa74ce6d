"""From what a method chose to a release: fresh pseudonyms, records in random order, every loss counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.kernels import box_measures
from shoal.model.claims import Claim
from shoal.model.omission import samples_by_reason
from shoal.model.release import Boxes, Linkage, Losses, Payload, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness

_FEWEST_TO_TELL_AN_ORDER: Final = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class EquivalenceClass:
    """People who share one record; a method that shares none puts everybody in a class of one.

    members: positions of subjects, ascending; boxes: what is published for each of them.
    """

    members: Integers
    boxes: Boxes


def assemble(
    original: Trajectories,
    classes: Sequence[EquivalenceClass],
    *,
    claim: Claim,
    method: str,
    parameters: Mapping[str, Any],
    rng: Randomness,
) -> tuple[Release, Linkage]:
    """Publish every member of every class with the boxes of the class; subjects in no class are suppressed.

    Raises NothingLeftError when nobody is left to publish.
    """
    if not classes:
        raise NothingLeftError(
            "every subject would be suppressed, so there is nothing to publish; relax the suppression "
            "thresholds"
        )
    published = [each.boxes.sorted() for each in classes]
    ends = np.cumsum([len(boxes) for boxes in published], dtype=np.int64)
    class_of = np.repeat(np.arange(len(classes)), [len(each.members) for each in classes])
    members = np.concatenate([each.members for each in classes])
    covered = sum(
        int(
            box_measures.count_covered(
                box_measures.Points(*original.samples_of(subject)),
                box_measures.BoxColumns(*published[own].columns()),
            )
        )
        for subject, own in zip(members.tolist(), class_of.tolist(), strict=True)
    )
    together = Boxes.concatenate(published)
    del published
    release, linkage, _ = _release(
        original,
        together,
        members=members,
        begin=np.concatenate([[0], ends[:-1]])[class_of],
        end=ends[class_of],
        samples_kept=covered,
        claim=claim,
        method=method,
        parameters=parameters,
        rng=rng,
    )
    return release, linkage


def assemble_points(
    original: Trajectories,
    members: Integers,
    offsets: Integers,
    points: Points,
    *,
    claim: Claim,
    method: str,
    parameters: Mapping[str, Any],
    stands_for: Integers,
    rng: Randomness,
) -> tuple[Release, Linkage, Integers]:
    """The release, who became which record, and for each published point its row in ``points``.

    members: int64 [r], the subject whose place each record takes, all different. Record r owns points
    offsets[r] to offsets[r + 1], in any order. stands_for: int64 [p], the raw sample of each point, all
    different, -1 = created; samples without a point are suppressed. Raises NothingLeftError without a record,
    or with a record that has no point.
    """
    if not len(members) or (np.diff(offsets) < 1).any():
        raise NothingLeftError(
            "every point would be left out, so there is nothing to publish; relax the thresholds, or add "
            "people"
        )
    later = np.diff(points.t) > 0
    later[offsets[1:-1] - 1] = True  # from one record to the next
    in_order = None
    if not later.all():
        record = np.repeat(np.arange(len(members)), np.diff(offsets))
        in_order = np.lexsort((points.y, points.x, points.t, record))
    return _release(
        original,
        points,
        members=members,
        begin=offsets[:-1],
        end=offsets[1:],
        sorted_rows=in_order,
        samples_kept=int(np.count_nonzero(stands_for >= 0)),
        stands_for=stands_for,
        claim=claim,
        method=method,
        parameters=parameters,
        rng=rng,
    )


def _release(
    original: Trajectories,
    payload: Payload,
    *,
    members: Integers,
    begin: Integers,
    end: Integers,
    samples_kept: int,
    claim: Claim,
    method: str,
    parameters: Mapping[str, Any],
    rng: Randomness,
    sorted_rows: Integers | None = None,
    stands_for: Integers | None = None,
) -> tuple[Release, Linkage, Integers]:
    """The release, who became which record, and for each published row its row in ``payload``.

    members: int64 [r], the subject of each record. Record r owns rows begin[r] to end[r], which records may
    share, of the payload or of ``sorted_rows``: the payload's rows in their published order, None = as they
    stand.
    """
    order = unrelated_order(members, begin, original.input_rank, rng)
    lengths = (end - begin)[order]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.arange(offsets[-1]) + np.repeat(begin[order] - offsets[:-1], lengths)
    if sorted_rows is not None:
        rows = sorted_rows[rows]
    trajectory_ids = rng.pseudonyms(len(members))
    release = Release(
        trajectory_ids=trajectory_ids,
        offsets=offsets,
        payload=payload.take(rows),
        claim=claim,
        method=method,
        parameters=parameters,
        losses=Losses(
            rows=dict(original.intake.dropped),
            samples_suppressed=original.n_samples - samples_kept,
            subjects_suppressed=original.n_subjects - len(members),
            samples_created=0 if stands_for is None else len(stands_for) - samples_kept,
            samples_by_reason={}
            if stands_for is not None
            else samples_by_reason(
                original.n_samples - samples_kept, original.n_samples - int(original.lengths[members].sum())
            ),
        ),
        grid=original.snapped_grid() if payload.on_grid else None,
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=original.intake.reading,
        rows_repaired=dict(original.intake.repaired),
    )
    subjects = members[order]
    linked = np.argsort(subjects)
    return (
        release,
        Linkage(
            tuple(original.ids[subjects[i]] for i in linked),
            tuple(trajectory_ids[i] for i in linked),
            stands_for=None if stands_for is None else stands_for[rows],
        ),
        rows,
    )


def unrelated_order(
    members: Integers, class_of: Integers, input_rank: Integers | None, rng: Randomness
) -> Integers:
    """A random order of these subjects' records, unlike the input's and the ids' in either direction.

    With few records chance alone would repeat such an order now and then, and a reader could not tell chance
    from a leak. What is refused is an order of classes, as numbers in class_of tell them apart, so that the
    members of a class stay equally likely to have each of its records. Where all but one are of one class,
    it is the order of records.
    """
    largest = np.unique(class_of, return_counts=True)[1].max()
    seen = class_of if largest < len(members) - 1 else np.arange(len(members))
    known = [members, *([] if input_rank is None else [input_rank[members]])]
    while True:
        order = rng.permutation(len(members))
        if len(members) < _FEWEST_TO_TELL_AN_ORDER or not any(
            _repeats(seen[order], seen, own) for own in known
        ):
            return order


def _repeats(shown: Integers, seen: Integers, place: Integers) -> bool:
    """Whether what is shown is what is seen in the order of these places, or in the reverse of it."""
    first, last = seen[place.argmin()], seen[place.argmax()]
    if (shown[0], shown[-1]) not in {(first, last), (last, first)}:
        return False
    told = seen[np.argsort(place)]
    return np.array_equal(shown, told) or np.array_equal(shown, told[::-1])
