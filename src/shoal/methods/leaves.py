"""Leaves: groups of places of a public list; positions are put on them before crowds are chosen.

Within a leaf, nothing of a release in space depends on which of its places was used.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.leaves import grow_to_leaves
from shoal.measures.leaves import Leaves, part_places
from shoal.methods.assembly import EquivalenceClass
from shoal.model.claims.hull import parse_hull
from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, distinct_rows, rows_of


def leaves_for(original: Trajectories, hull: str) -> Leaves | None:
    """The leaves of the data's public list; None where the rule names none."""
    rule = parse_hull(hull)
    if not rule.leaf_places:
        return None
    if original.places is None:
        raise MisuseError(
            f"hull = {hull} makes leaves of a public list of places; read the data with --places FILE"
        )
    return part_places(original.places, original.snapped_grid().cell_m, rule)


def put_on_leaves(original: Trajectories, leaves: Leaves | None) -> Trajectories:
    """The same people, each sample in the middle cell of its leaf, without repeats."""
    if leaves is None:
        return original
    x, y = leaves.middles[leaves.at(original.x, original.y)].T
    record = np.repeat(np.arange(original.n_subjects), original.lengths)
    rows = distinct_rows(record, original.t, x, y)
    return replace(
        original,
        offsets=np.searchsorted(record[rows], np.arange(original.n_subjects + 1)).astype(np.int64),
        t=original.t[rows],
        x=np.ascontiguousarray(x[rows]),
        y=np.ascontiguousarray(y[rows]),
    )


def cover_leaves(
    classes: Iterable[EquivalenceClass], original: Trajectories, leaves: Leaves, *, own: bool
) -> Iterator[EquivalenceClass]:
    """Classes whose boxes are the rectangles around the leaves whose samples they hold.

    Boxes come as hulls of middle cells. own: samples of the class's members count, else everybody's.
    """
    leaf = leaves.at(original.x, original.y)
    everybody = np.arange(original.n_samples)
    of_all = None if own else _by_time(original, leaf, everybody)
    for crowd in classes:
        samples = of_all or _by_time(original, leaf, rows_of(original.offsets, crowd.members))
        boxes = np.stack(crowd.boxes.columns(), axis=1)
        grow_to_leaves(boxes, *samples, leaves.middles, leaves.bounds)
        yield replace(
            crowd, boxes=Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(boxes.T), strict=True)))
        )


def _by_time(original: Trajectories, leaf: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """The different pairs of slot and leaf in these rows, by slot."""
    pairs = np.unique(np.column_stack([original.t[rows], leaf[rows]]), axis=0)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
