"""Boxes larger than hulls: no corner shows a place to the cell, and none is near sensitive places alone.

Leaves are groups of places of a public list; positions are put on them before crowds are chosen. Within a
leaf, nothing of a release in space depends on which of its places was used.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.box_measures import grow_to_leaves
from shoal.measures.leaves import Leaves, part_places
from shoal.measures.near_places import Kinds
from shoal.messages import say
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.method import Method
from shoal.methods.parameters import parameter, whole_multiple
from shoal.model.claims.hull import GRID_AUTO, HULL_FORMS, TIGHT, HullRule, parse_hull
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, distinct_rows, rows_of
from shoal.runtime.randomness import Randomness
from shoal.units import show_m


def hull_parameter() -> str:
    """Declare how far boxes may extend beyond their samples."""
    return parameter(
        default=TIGHT,
        written=HULL_FORMS.replace("grid:LENGTH", f"grid:LENGTH|{GRID_AUTO}"),
        help=say("parameter.hull", "How far boxes reach beyond their samples in space."),
        meaning="how far in space a box may reach beyond the samples it stands for",
    )


def round_outward(
    classes: Iterable[EquivalenceClass],
    hull: str,
    original: Trajectories,
    rng: Randomness,
    *,
    own: bool = True,
) -> Iterator[EquivalenceClass]:
    """Classes enlarged by a rule of ``parse_hull``; members share draws.

    own: boxes are hulls of members' samples alone.
    """
    rule, grid = parse_hull(hull), original.snapped_grid()
    if rule.is_tight:
        yield from classes
        return
    leaves = leaves_for(original, hull)
    if leaves is not None:
        yield from cover_leaves(classes, original, leaves, own=own)
        return
    for equivalence_class in classes:
        yield replace(equivalence_class, boxes=_round_boxes(equivalence_class.boxes, rule, grid, rng))


def finish_boxes(
    method: Method, original: Trajectories, classes: Iterable[EquivalenceClass], hull: str, rng: Randomness
) -> Iterator[EquivalenceClass]:
    """The classes as they are published: enlarged by the rule, and no box near sensitive places alone."""
    grown = round_outward(classes, hull, original, rng, own=method.about.claim.in_classes)
    return join_near_places(grown, original, method.claim().diverse_places)


def publish_classes(
    method: Method, original: Trajectories, classes: Iterable[EquivalenceClass], hull: str, rng: Randomness
) -> Released:
    """The release of these classes, enlarged by the rule, and its linkage."""
    finished = finish_boxes(method, original, classes, hull, rng)
    del classes  # goes with what it is finished to
    return assemble(original, list(finished), method, rng)


def _round_boxes(boxes: Boxes, rule: HullRule, grid: Grid, rng: Randomness) -> Boxes:
    sides = {name: getattr(boxes, name) for name in ("x_min", "y_min", "x_max", "y_max")}
    if rule.grid_m is None:
        outward = list(rng.below(rule.outward_cells + 1, 4 * len(boxes)).reshape(4, -1))
    else:
        cells = whole_multiple(rule.grid_m, grid.cell_m, "the grid of the hull", "cell", show_m)
        outward = [side % cells if name.endswith("_min") else -side % cells for name, side in sides.items()]
    moved = {
        name: side - far if name.endswith("_min") else side + far
        for (name, side), far in zip(sides.items(), outward, strict=True)
    }
    return replace(boxes, **moved)


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
