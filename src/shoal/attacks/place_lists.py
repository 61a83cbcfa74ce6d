"""The list of places that a reader of boxes has: public, or learned from the sides of the boxes."""

import math
from itertools import product
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from shoal.attacks.evaluation import Context, Evaluation
from shoal.attacks.target import BoxTarget, narrowest
from shoal.kernels.followed_sides import follow_sides
from shoal.kernels.joint_reading import TWO_SLOTS, PlaceList, expect_visits, places_in_boxes
from shoal.measures.leaves import part_places
from shoal.measures.query import batches_of_records
from shoal.model.claims import Claim
from shoal.model.claims.hull import TIGHT, parse_hull
from shoal.model.grid import Grid
from shoal.model.places import PublicPlaces
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, distinct

_ANYWHERE: Final = 1 << 40  # cells: a side says nothing
_ROUNDS: Final = 2
_ROUNDS_OF_ONE: Final = 3  # of many records none must be explained to the end
_MOST_RECORDS: Final = 500  # that a list is learned from
_PART: Final = 50
_WHOLE_MAP: Final = 0.95  # of the samples are on streets; with fewer, corners count as well
_OFF_STREETS: Final = 0.1  # how usual a corner beside streets is, next to a street
_LENGTHS: Final = (0.1, 3.0)  # of streets in a cell, at least and at most, in sides of the cell
_UNUSED: Final = 1e-3  # visits to a place that explains nothing; a learned list drops it
_NO_MOTION: Final[Floats] = np.ones((1, 1))
_FARTHEST: Final = 32  # cells that a side moves from one slot to the next; farther counts as that
_FEWEST_STEPS: Final = 300  # that tell how bodies move
_STEPPING: Final = 0.1  # of the boxes, at least; call records have a few steps, too
_LEARNED: Final[WeakKeyDictionary[BoxTarget, PlaceList]] = WeakKeyDictionary()
_ON_STREETS: Final[WeakKeyDictionary[Trajectories, dict[StreetGraph, float]]] = WeakKeyDictionary()
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


def on_streets(original: Trajectories, streets: StreetGraph) -> float:
    """The share of the samples that are in cells with a street; kept for streets on the plane of the data."""
    streets, shares = streets.on_plane(original.crs), _ON_STREETS.setdefault(original, {})
    if streets not in shares:
        snapped = original if original.grid is not None else original.snapped_to(Grid())
        cells, _ = streets.cells(snapped.snapped_grid().cell_m)
        shares[streets] = float(np.isin(snapped.x + 1j * snapped.y, cells @ [1, 1j]).mean())
    return shares[streets]


PUBLIC_LIST: Final = "and a public list of places with how busy each is"
STREETS: Final = "and a map of the streets"


def known_list(context: Context) -> str:
    """What readers know of the places, in words; empty without a list."""
    if context.streets is not None:
        return STREETS
    return "" if context.places is None else PUBLIC_LIST


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
    """The public list, as busy as it says or the raw data is; without one, streets or corners that repeat."""
    context, cell_m = evaluation.context, evaluation.target.grid.cell_m
    if context.places is not None and context.inside is not None:
        return _public_list(context.places, context.inside.people, _hull_of(context.claim), cell_m)
    unknown = context.streets is None and reach_of(evaluation) > 1
    if unknown or evaluation.label == "raw":  # boxes of raw data are the places themselves
        return _as_list(np.empty((0, 2), dtype=np.int64), np.empty(0), public=False)
    if evaluation.target not in _LEARNED:
        _LEARNED[evaluation.target] = _learn_list(evaluation)
    return _LEARNED[evaluation.target]


def _as_list(cells: Integers, busyness: Floats, *, public: bool) -> PlaceList:
    x, y = (np.ascontiguousarray(column) for column in cells.T)
    return PlaceList(x, y, np.hstack([cells, cells + 1]), busyness, public, _NO_MOTION, _NO_MOTION)


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
    """Streets, or corners of several records, all with motion; busy is what explains many sides."""
    records, streets = evaluation.target.classes.records, evaluation.context.streets
    reach = reach_of(evaluation)
    motion, along = motion_of(records) if reach == 1 else (_NO_MOTION, _NO_MOTION)
    if streets is None:
        cells, use = _corners(records, fewest=1 if len(motion) > 1 else 2)
    else:
        cells, use = _cells_with_streets(evaluation, streets)
    places = _as_list(cells, use, public=streets is not None)
    chosen = np.unique(np.linspace(0, records.n_records - 1, _MOST_RECORDS).astype(np.int64))
    sizes = np.maximum(evaluation.target.classes.sizes, 2)

    def visits_in(begin: int) -> Floats:
        visits = np.zeros(len(places.x))
        for one in chosen[begin : begin + _PART].tolist():
            boxes, people = records.record(one), int(sizes[one])
            if places.public and len(along) > 1:
                contents = places_in_boxes(boxes, places, reach)
                expected = follow_sides(boxes, contents, np.zeros(len(boxes), dtype=np.int64), people, places)
            else:
                contents, habit, rates = expect_visits(boxes, people, places, reach, _ROUNDS_OF_ONE)
                box = np.repeat(np.arange(len(boxes)), np.diff(contents.offsets))
                expected = habit[contents.places] * (contents.weights * rates)[box, contents.sides]
            at_side = contents.sides > 0
            visits += np.bincount(contents.places[at_side], expected[at_side], len(visits))
        return visits

    for _ in range(_ROUNDS):
        if places.public:
            places = places._replace(along=along)
        parts = evaluation.run.map(visits_in, range(0, len(chosen), _PART), label="learning places")
        visits = np.sum(list(parts), axis=0)
        kept = (visits == 0) | (visits > _UNUSED) | places.public
        cells = cells[kept]
        # a map counts as much as sides do
        unused = visits.mean() * use / use.mean() if places.public else _UNUSED
        places = _as_list(cells, visits[kept] + unused, public=places.public)
    return places._replace(motion=motion, along=along)


def _cells_with_streets(evaluation: Evaluation[BoxTarget], streets: StreetGraph) -> tuple[Integers, Floats]:
    """Cells of streets, and corners beside them where people are elsewhere, too; how usual each is."""
    target, inside = evaluation.target, evaluation.context.inside
    of_streets, lengths = streets.cells(target.grid.cell_m)
    mapped = inside is None or on_streets(inside.people, streets) > _WHOLE_MAP
    if reach_of(evaluation) > 1 or mapped:
        return of_streets, lengths.clip(*_LENGTHS)
    corners, _ = _corners(target.classes.records, fewest=1)
    cells, row = np.unique(np.concatenate([of_streets, corners]), axis=0, return_inverse=True)
    use = np.full(len(cells), _OFF_STREETS)
    use[row.ravel()[: len(of_streets)]] = lengths.clip(*_LENGTHS)
    return cells, use


def motion_of(records: BoxTarget) -> tuple[Floats, Floats]:
    """``motion`` and ``along`` of a list: [m, m], or one 1 where boxes show no motion.

    Sides tell how far bodies go, alike in all directions. Half of the time, others are at the sides next.
    """
    boxes, record = records.boxes, records.record_of_box
    start, end = (boxes[:, side].astype(np.int64) for side in (0, 1))
    follows = np.flatnonzero((end[1:] - start[:-1] == TWO_SLOTS) & (record[1:] == record[:-1]))
    if len(follows) < max(_FEWEST_STEPS, _STEPPING * len(boxes)):
        return _NO_MOTION, _NO_MOTION
    before, after = (boxes[rows, 2:].astype(np.int64) for rows in (follows, follows + 1))
    steps = np.minimum(np.abs(after - before), _FARTHEST)
    counts = np.bincount(steps.ravel(), minlength=_FARTHEST + 1) + 1.0
    of_side: Floats = counts / counts.sum()
    motion = (1.0 + _moves_of_bodies(of_side, whole=True) / np.outer(of_side, of_side)) / 2.0
    ways_along = np.where(np.arange(len(of_side)), 2, 1)
    return motion, _moves_of_bodies(of_side, whole=False) / of_side[:, None] / ways_along


def _moves_of_bodies(of_side: Floats, *, whole: bool) -> Floats:
    """How often a body moves so far east or west and north or south; whole: as far as whole cells."""
    east, north = np.mgrid[: _FARTHEST + 1, : _FARTHEST + 1]
    distance = np.hypot(east, north)
    if whole:
        distance = np.rint(distance)
    distance = distance.clip(1, _FARTHEST)
    of_body = np.interp(distance, np.arange(len(of_side)), of_side) / distance
    of_body *= np.where(east, 2, 1) * np.where(north, 2, 1)
    of_body[0, 0] = 0.0
    of_body /= of_body.sum()
    stays = max(of_side[0] - of_body[0].sum(), 0.0) / (1.0 - of_body[0].sum())  # as sides stay
    of_body *= 1.0 - stays
    of_body[0, 0] = stays
    return np.asarray(of_body)


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
