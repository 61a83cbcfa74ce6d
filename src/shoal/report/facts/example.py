"""One crowd before and after, for the holder of the raw data alone: never part of a published page."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.model.release import Boxes
from shoal.report.facts.release import crowds_of
from shoal.runtime.arrays import Integers
from shoal.utility import Facts

_MOST_BOXES: Final = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """One crowd: (t, x, y) in slots and cells of each member, who have no names, and the boxes they share."""

    members: tuple[tuple[Integers, Integers, Integers], ...]
    boxes: Boxes


def typical_crowd(facts: Facts) -> Example | None:
    """Of the crowds of the commonest size the one with the middle number of boxes, up to sixty.

    None when nobody can be linked.
    """
    original, release, records = facts.original, facts.release, facts.records
    linked = np.flatnonzero(records >= 0)
    if not len(linked):
        return None
    crowd = crowds_of(release)[records[linked]]
    size = np.bincount(crowd)
    candidates = np.flatnonzero(size == np.bincount(size[size > 0]).argmax())
    boxes_of = np.zeros(len(size), dtype=np.int64)
    boxes_of[crowd] = np.diff(release.offsets)[records[linked]]
    wanted = min(_MOST_BOXES, float(np.median(boxes_of[candidates])))
    chosen = candidates[np.argmin(np.abs(boxes_of[candidates] - wanted))]
    members = linked[crowd == chosen]
    return Example(
        members=tuple(original.samples_of(member) for member in members.tolist()),
        boxes=release.record(int(records[members[0]])),
    )
