"""The list of places that a reader of boxes has: public, or learned from the sides of the boxes."""

import math
from itertools import product
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget, narrowest
from shoal.kernels.joint_reading import TWO_SLOTS, PlaceList, expect_visits
from shoal.measures.leaves import part_places
from shoal.measures.query import batches_of_records
from shoal.model.claims import Claim
from shoal.model.claims.hull import TIGHT, parse_hull
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, distinct

_ANYWHERE: Final = 1 << 40  # cells: a side says nothing
_ROUNDS: Final = 2
_ROUNDS_OF_ONE: Final = 3  # of many records none must be explained to the end
_MOST_RECORDS: Final = 500  # that a list is learned from
_PART: Final = 50
_UNUSED: Final = 1e-3  # visits to a place that explains nothing; a learned list drops it
_FARTHEST: Final = 32  # cells that a side moves from one slot to the next; farther counts as that
_FEWEST_STEPS: Final = 1000  # that tell how bodies move
_STEPPING: Final = 0.1  # of the boxes, at least; call records have a few steps, too
_LEARNED: Final[WeakKeyDictionary[BoxTarget, PlaceList]] = WeakKeyDictionary()
_SHARED: Final = 3  # people at a position that repeats
_SAMPLES_AT_ONCE: Final = 1 << 18


def positions_repeat(original: Trajectories) -> bool:
    """Whether most samples are in cells that three people share, without a sample in a neighboring cell."""
    west, south, width = original.x.min(), original.y.min(), int(np.ptp(original.y)) + 2
    cells_of, people_of, samples_of = list[Integers](), list[Integers](), list[Integers]()
    for some in batches_of_records(original.offsets, _SAMPLES_AT_ONCE):
        rows, n = slice(*original.offsets[[some.start, some.stop]]), some.stop - some.start
        keys = ((original.x[rows] - west) * width + original.y[rows] - south) * n
        keys += np.repeat(np.arange(n), original.lengths[some])
        pairs, samples = np.unique(keys.astype(narrowest(keys)), return_counts=True)
        cells, first, people = np.unique(pairs.astype(np.int64) // n, return_index=True, return_counts=True)
        cells_of.append(cells)
        people_of.append(people)
        samples_of.append(np.add.reduceat(samples, first))
    cells, number = np.unique(np.concatenate(cells_of), return_inverse=True)
    shared = np.bincount(number, np.concatenate(people_of)) >= _SHARED
    for step in (1, width - 1, width, width + 1):
        shared &= ~(np.isin(cells + step, cells) | np.isin(cells - step, cells))
    return bool(np.bincount(number, np.concatenate(samples_of))[shared].sum() > original.n_samples / 2)


def reach_of(evaluation: Evaluation[BoxTarget]) -> int:
    """How many cells at a side can hold the sample that it is drawn around."""
    claim = evaluation.context.claim
    rule = parse_hull(_hull_of(claim))
    if claim is not None and not claim.truthful:
        return _ANYWHERE
    if rule.grid_m is not None:
        return max(round(rule.grid_m / evaluation.target.grid.cell_m), 1)
    return 1 + rule.outward_cells


def _hull_of(claim: Claim | None) -> str:
    return TIGHT if claim is None or claim.hull is None else claim.hull


def list_of(evaluation: Evaluation[BoxTarget]) -> PlaceList:
    """The public list, as busy as it says or the raw data is; without one, corners that repeat."""
    context, cell_m = evaluation.context, evaluation.target.grid.cell_m
    if context.places is not None and context.inside is not None:
        return _public_list(context.places, context.inside.people, _hull_of(context.claim), cell_m)
    if reach_of(evaluation) > 1 or evaluation.label == "raw":  # boxes of raw data are the places themselves
        return _as_list(np.empty((0, 2), dtype=np.int64), np.empty(0), public=False)
    if evaluation.target not in _LEARNED:
        _LEARNED[evaluation.target] = _learn_list(evaluation)
    return _LEARNED[evaluation.target]


def _as_list(cells: Integers, busyness: Floats, *, public: bool) -> PlaceList:
    x, y = (np.ascontiguousarray(column) for column in cells.T)
    return PlaceList(x, y, np.hstack([cells, cells + 1]), busyness, public, np.ones((1, 1)))


def _public_list(listed: PublicPlaces, people: Trajectories, hull: str, cell_m: float) -> PlaceList:
    x, y, use = listed.cells(cell_m)
    if use is None or not use.any():
        cells = np.concatenate([np.column_stack([x, y]), np.column_stack([people.x, people.y])])
        _, number = np.unique(cells, axis=0, return_inverse=True)
        counts = np.bincount(number.ravel()[len(x) :], minlength=int(number.max()) + 1)
        use = counts[number.ravel()[: len(x)]].astype(np.float64)
    places = _as_list(np.column_stack([x, y]), use + _UNUSED, public=True)
    rule = parse_hull(hull)
    if not rule.leaf_places:
        return places
    leaves = part_places(listed, cell_m, rule)
    return places._replace(bounds=leaves.bounds[leaves.leaf_of])


def _learn_list(evaluation: Evaluation[BoxTarget]) -> PlaceList:
    """Corners of several records, all where boxes show motion; busy is what explains many sides."""
    records = evaluation.target.classes.records
    motion = motion_of(records)
    cells, use = _corners(records, fewest=1 if len(motion) > 1 else 2)
    places = _as_list(cells, use, public=False)
    chosen = np.unique(np.linspace(0, records.n_records - 1, _MOST_RECORDS).astype(np.int64))
    sizes = np.maximum(evaluation.target.classes.sizes, 2)

    def visits_in(begin: int) -> Floats:
        visits = np.zeros(len(places.x))
        for one in chosen[begin : begin + _PART].tolist():
            contents, expected = expect_visits(
                records.record(one), int(sizes[one]), places, 1, _ROUNDS_OF_ONE
            )
            at_side = contents.sides > 0
            visits += np.bincount(contents.places[at_side], expected[at_side], len(visits))
        return visits

    for _ in range(_ROUNDS):
        parts = evaluation.run.map(visits_in, range(0, len(chosen), _PART), label="learning places")
        visits = np.sum(list(parts), axis=0)
        kept = (visits == 0) | (visits > _UNUSED)
        cells = cells[kept]
        places = _as_list(cells, visits[kept] + _UNUSED, public=False)
    return places._replace(motion=motion)


def motion_of(records: BoxTarget) -> Floats:
    """How much likelier two sides move so many cells in a slot if one body is at both: [m, m], or one 1.

    Sides tell how far bodies go, alike in all directions. Half of the time, others are at the sides next.
    """
    boxes, record = records.boxes.astype(np.int64), records.record_of_box
    follows = (boxes[1:, 1] - boxes[:-1, 0] == TWO_SLOTS) & (record[1:] == record[:-1])
    steps = np.minimum(np.abs(boxes[1:, 2:] - boxes[:-1, 2:])[follows], _FARTHEST)
    if len(steps) < max(_FEWEST_STEPS, _STEPPING * len(boxes)):
        return np.ones((1, 1))
    of_side = np.bincount(steps.ravel(), minlength=_FARTHEST + 1) + 1.0
    of_side /= of_side.sum()
    east, north = np.mgrid[: _FARTHEST + 1, : _FARTHEST + 1]
    distance = np.rint(np.hypot(east, north)).astype(np.int64).clip(1, _FARTHEST)
    of_body = of_side[distance] / distance * np.where(east, 2, 1) * np.where(north, 2, 1)
    of_body[0, 0] = 0.0
    of_body /= of_body.sum()
    stays = max(of_side[0] - of_body[0].sum(), 0.0) / (1.0 - of_body[0].sum())  # as sides stay
    of_body *= 1.0 - stays
    of_body[0, 0] = stays
    return np.asarray((1.0 + of_body / np.outer(of_side, of_side)) / 2.0)


def _corners(records: BoxTarget, *, fewest: int) -> tuple[Integers, Floats]:
    """Cells [p, 2] at corners of so many records at least, and how usual each is."""
    west, south, east, north = records.boxes[:, 2:].T
    owner = records.record_of_box
    least = np.array([west.min(), south.min()], dtype=np.int64)
    shape = (int(east.max()) - int(least[0]), int(north.max()) - int(least[1]), records.n_records)
    kind = np.int32 if math.prod(shape) <= np.iinfo(np.int32).max else np.int64
    corners = np.empty((4, len(owner)), dtype=kind)
    for row, (x, y) in zip(corners, product((west, east - 1), (south, north - 1)), strict=True):
        row[:] = np.ravel_multi_index((x - least[0], y - least[1], owner), shape)
    corner = distinct(corners).astype(np.int64) // records.n_records
    first = np.flatnonzero(np.diff(corner, prepend=-1))
    counts = np.diff(first, append=len(corner))
    cells = np.column_stack(np.unravel_index(corner[first[counts >= fewest]], shape[:2])) + least
    return cells, counts[counts >= fewest].astype(np.float64) ** 2
