"""Readings of the paper's reshaping: what becomes of boxes of one record that overlap in time.

Gramaglia and Fiore 2015, Sec. 6.2.
"""

from typing import Final, Literal, get_args

import numpy as np

from shoal.model.hulls import hulls_of
from shoal.model.release import Boxes

Generalize = Literal["k-merge", "reshape-final", "reshape-each", "overlap-split", "none"]
GENERALIZE: Final[tuple[Generalize, ...]] = get_args(Generalize)


def unite_overlaps(boxes: Boxes) -> Boxes:
    """Boxes that overlap in time, transitively, replaced by their hull; touching is not overlapping."""
    ordered = boxes.sorted()
    if not len(ordered):
        return ordered
    first = np.flatnonzero(np.r_[True, ordered.t_start[1:] >= np.maximum.accumulate(ordered.t_end)[:-1]])
    return hulls_of(ordered, first)


def split_at_overlaps(boxes: Boxes) -> Boxes:
    """Time cut wherever a box begins or ends; each piece covers the area of all boxes that span it.

    A piece may hold no raw sample of a member, so this reading is not truthful. Neighboring pieces with the
    same area become one.
    """
    ordered = boxes.sorted()
    cuts = np.unique(np.concatenate([ordered.t_start, ordered.t_end]))
    pieces: list[tuple[int, int, int, int, int, int]] = []
    active = 0
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        active = int(np.searchsorted(ordered.t_start, start, side="right"))
        spans = np.flatnonzero(ordered.t_end[:active] > start)
        if not spans.size:
            continue
        area = (
            int(ordered.x_min[spans].min()),
            int(ordered.y_min[spans].min()),
            int(ordered.x_max[spans].max()),
            int(ordered.y_max[spans].max()),
        )
        if pieces and pieces[-1][1] == start and pieces[-1][2:] == area:
            pieces[-1] = (pieces[-1][0], end, *area)
        else:
            pieces.append((start, end, *area))
    columns = np.array(pieces, dtype=np.int64).reshape(-1, 6).T.copy()
    return Boxes(**dict(zip(("t_start", "t_end", "x_min", "y_min", "x_max", "y_max"), columns, strict=True)))
