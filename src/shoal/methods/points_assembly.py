"""From published points to a release of points.

Fresh pseudonyms, records in random order, what was lost counted.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.errors import NothingLeftError
from shoal.methods.assembly import unrelated_order
from shoal.model.claims import PointClaim
from shoal.model.release import Linkage, Losses, PointRelease, Points
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness


def assemble_points(
    original: Trajectories,
    members: Integers,
    offsets: Integers,
    points: Points,
    *,
    claim: PointClaim,
    method: str,
    parameters: Mapping[str, Any],
    stands_for: Integers,
    rng: Randomness,
) -> tuple[PointRelease, Linkage, Integers]:
    """The release, who became which record, and for each published point its row in ``points``.

    members: int64 [r], the subject whose place each record takes, all different. Record r owns points
    offsets[r] to offsets[r + 1], in any order. stands_for: int64 [p], the raw sample of each point, all
    different, -1 = created; samples without a point are suppressed. Raises NothingLeftError without a record,
    or with one that has no point.
    """
    if not len(members) or (np.diff(offsets) < 1).any():
        raise NothingLeftError(
            "every point would be left out, so there is nothing to publish; relax the thresholds, or add "
            "people"
        )
    order = unrelated_order(members, original.input_rank, rng)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    record = place[np.repeat(np.arange(len(members)), np.diff(offsets))]
    rows = np.lexsort((points.y, points.x, points.t, record))
    trajectory_ids = rng.pseudonyms(len(members))
    created = int(np.count_nonzero(stands_for < 0))
    release = PointRelease(
        trajectory_ids=trajectory_ids,
        offsets=np.cumsum([0, *np.diff(offsets)[order]], dtype=np.int64),
        points=points.take(rows),
        claim=claim,
        method=method,
        parameters=parameters,
        losses=Losses(
            rows=dict(original.intake.dropped),
            samples_suppressed=original.n_samples - (len(stands_for) - created),
            subjects_suppressed=original.n_subjects - len(members),
            samples_created=created,
        ),
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=original.intake.reading,
        rows_repaired=dict(original.intake.repaired),
    )
    by_subject = np.argsort(members)
    uids, names = (
        tuple(original.ids[members[i]] for i in by_subject),
        tuple(trajectory_ids[place[i]] for i in by_subject),
    )
    return release, Linkage(uids, names, stands_for=stands_for[rows]), rows
