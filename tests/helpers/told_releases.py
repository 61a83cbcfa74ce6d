"""Small releases written out box by box, with the linkage and honest losses."""

from collections.abc import Mapping, Sequence

import numpy as np

from naive_release import Sample, boxes_from, samples_of
from shoal.model.claims import Claim
from shoal.model.grid import Grid
from shoal.model.intake import Intake
from shoal.model.omission import samples_by_reason
from shoal.model.release import Linkage, Losses, Release
from shoal.model.trajectories import Trajectories

Box = tuple[int, ...]


def people(
    samples: Mapping[str, Sequence[Sample]], *, grid: Grid | None = None, intake: Intake | None = None
) -> Trajectories:
    """Raw data on a grid: the samples (t, x, y) of each person."""
    rows = [(uid, *sample) for uid, own in samples.items() for sample in own]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=grid or Grid(), intake=intake)


def inside(sample: Sample, box: Box) -> bool:
    """Whether a box holds a sample."""
    t, x, y = sample
    return box[0] <= t < box[1] and box[2] <= x < box[4] and box[3] <= y < box[5]


def told(
    original: Trajectories, records: Sequence[tuple[str, Sequence[Box]]], claim: Claim
) -> tuple[Release, Linkage]:
    """Records r0, r1, ... of these people with these boxes, as they stand."""
    held = sum(
        any(inside(sample, box) for box in boxes)
        for uid, boxes in records
        for sample in samples_of(original, original.ids.index(uid))
    )
    published = {uid for uid, _ in records}
    without = [i for i, uid in enumerate(original.ids) if uid not in published]
    names = tuple(f"r{number}" for number in range(len(records)))
    missing = original.n_samples - held
    release = Release(
        trajectory_ids=names,
        offsets=np.cumsum([0, *(len(boxes) for _, boxes in records)], dtype=np.int64),
        payload=boxes_from([box for _, boxes in records for box in boxes]),
        claim=claim,
        grid=original.grid,
        method="told",
        parameters={},
        losses=Losses(
            rows=dict(original.intake.dropped),
            samples_suppressed=missing,
            subjects_suppressed=len(without),
            samples_by_reason=samples_by_reason(missing, int(original.lengths[without].sum())),
        ),
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=False,
    )
    return release, Linkage(tuple(uid for uid, _ in records), names)
