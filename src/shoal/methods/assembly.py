"""From crowds to a release: every member under a fresh pseudonym, in random order, with what was lost counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.kernels.covering import BoxColumns, Points, count_covered
from shoal.model.claims import BoxClaim
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness

_FEWEST_TO_TELL_AN_ORDER: Final = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowd:
    """People who share one record.

    members: positions of subjects, ascending; boxes: what is published for each of them.
    """

    members: Integers
    boxes: Boxes


def assemble(
    original: Trajectories,
    crowds: Sequence[Crowd],
    *,
    claim: BoxClaim,
    method: str,
    parameters: Mapping[str, Any],
    rng: Randomness,
) -> tuple[Release, Linkage]:
    """Publish every member of every crowd with the crowd's boxes; subjects in no crowd are suppressed.

    Raises NothingLeftError when nobody is left to publish.
    """
    if not crowds:
        raise NothingLeftError(
            "every subject would be suppressed, so there is nothing to publish; relax the suppression "
            "thresholds"
        )
    members = np.concatenate([crowd.members for crowd in crowds])
    crowd_of = np.repeat(np.arange(len(crowds)), [len(crowd.members) for crowd in crowds])
    order = unrelated_order(members, original.input_rank, rng)
    members, crowd_of = members[order], crowd_of[order]
    published = [crowd.boxes.sorted() for crowd in crowds]
    covered = sum(
        int(count_covered(Points(*original.samples_of(subject)), BoxColumns(*published[crowd].columns())))
        for subject, crowd in zip(members.tolist(), crowd_of.tolist(), strict=True)
    )
    trajectory_ids = rng.pseudonyms(len(members))
    release = Release(
        trajectory_ids=trajectory_ids,
        offsets=np.cumsum([0, *(len(published[crowd]) for crowd in crowd_of)], dtype=np.int64),
        boxes=Boxes.concatenate([published[crowd] for crowd in crowd_of]),
        claim=claim,
        method=method,
        parameters=parameters,
        losses=Losses(
            rows=dict(original.intake.dropped),
            samples_suppressed=original.n_samples - covered,
            subjects_suppressed=original.n_subjects - len(members),
        ),
        grid=original.snapped_grid(),
        crs=original.crs,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=original.intake.reading,
        rows_repaired=dict(original.intake.repaired),
    )
    linked = np.argsort(members)
    return release, Linkage(
        tuple(original.ids[members[i]] for i in linked), tuple(trajectory_ids[i] for i in linked)
    )


def unrelated_order(members: Integers, input_rank: Integers | None, rng: Randomness) -> Integers:
    """A random order of these subjects' records that is neither the input's order nor the ids', forwards or backwards.

    With few records chance alone would repeat such an order now and then, and a reader could not tell chance from a leak.
    """
    known = [np.argsort(members)]
    if input_rank is not None:
        known.append(np.argsort(input_rank[members]))
    while True:
        order = rng.permutation(len(members))
        repeats = any(np.array_equal(order, told) or np.array_equal(order, told[::-1]) for told in known)
        if len(members) < _FEWEST_TO_TELL_AN_ORDER or not repeats:
            return order
