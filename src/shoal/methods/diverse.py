"""Boxes near sensitive places grow until other places are in them, too (after Tu et al. 2019)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from shoal.measures.near_places import Kinds
from shoal.methods.assembly import EquivalenceClass
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories


def join_near_places(
    classes: Iterable[EquivalenceClass], original: Trajectories, least: int
) -> Iterator[EquivalenceClass]:
    """Classes none of whose boxes has fewer kinds of places, by joining boxes with the next before or after.

    A class that stays near few kinds in one box is left out.
    """
    if least == 1:
        yield from classes
        return
    kinds = Kinds.around(original)
    for crowd in classes:
        boxes = crowd.boxes.sorted()
        few = kinds.too_few(boxes, least)
        while few.any() and len(boxes) > 1:
            boxes = _join_one(boxes, int(np.argmax(few)))
            few = kinds.too_few(boxes, least)
        if not few.any():
            yield crowd if len(boxes) == len(crowd.boxes) else replace(crowd, boxes=boxes)


def _join_one(boxes: Boxes, row: int) -> Boxes:
    """Join a box with the one before or after it, as makes the smaller box, in units of the mean extents."""
    starts = np.column_stack([boxes.t_start, boxes.x_min, boxes.y_min])
    ends = np.column_stack([boxes.t_end, boxes.x_max, boxes.y_max])
    scale = (ends - starts).mean(axis=0)
    scale[1:] = scale[1:].sum()

    def size(first: int) -> float:
        pair = slice(first, first + 2)
        return float(((ends[pair].max(axis=0) - starts[pair].min(axis=0)) / scale).sum())

    first = min((at for at in (row - 1, row) if 0 <= at < len(boxes) - 1), key=size)
    return boxes.hulls(np.delete(np.arange(len(boxes)), first + 1))
