"""Whether boxes near sensitive places hold other places, too; neighborhoods are measured again here.

A neighborhood reaches each cell of which a part is within the place's radius. What a box holds are the
cells with a place of the public list that the raw data was read with, or without such a list all its cells.
"""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import KAnonymity
from shoal.model.places import PublicPlaces
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.verification.boxes.records import Records, findings_per_record


def boxes_near_few_kinds(
    claim: KAnonymity, original: Trajectories, records: Records, release: Release
) -> Iterator[Finding]:
    """Findings of boxes near sensitive places with fewer kinds than claimed, or without an ordinary place.

    Nothing is found in data that was read without a list of these; then the part is not checked.
    """
    sensitive, public, cell_m = original.sensitive, original.places, original.snapped_grid().cell_m
    if claim.diverse_places == 1 or sensitive is None:
        return
    if sensitive.sha256 != (release.reading.sensitive_sha256 or ""):
        yield Finding("other-places", "the release was made with another list of sensitive places")
    boxes, number = np.unique(records.boxes[:, 2:], axis=0, return_inverse=True)
    if public is None:
        kinds, ordinary = _of_all_cells(boxes, sensitive, cell_m)
    else:
        kinds, ordinary = _of_listed_cells(boxes, sensitive, public, cell_m)
    bad = kinds.any(axis=1) & ~(ordinary & (kinds.sum(axis=1) + 1 >= claim.diverse_places))
    fault = (
        f"is near sensitive places, and does not hold places of {claim.diverse_places} kinds, one of them "
        "ordinary"
    )
    yield from findings_per_record(bad[number.ravel()], "too-few-kinds", fault, records, release)


def _of_all_cells(boxes: Integers, sensitive: PublicPlaces, cell_m: float) -> tuple[Flags, Flags]:
    kinds = _kinds_reaching(boxes, sensitive, cell_m)
    corners, number = np.unique(boxes[:, :2], axis=0, return_inverse=True)
    of_corner = _kinds_reaching(np.hstack([corners, corners + 1]), sensitive, cell_m)
    ordinary = ~np.asarray(of_corner.any(axis=1))[number.ravel()]
    for row in np.flatnonzero(kinds.any(axis=1) & ~ordinary):
        ordinary[row] = _has_cell_out_of_reach(boxes[row], sensitive, cell_m)
    return kinds, ordinary


def _has_cell_out_of_reach(box: Integers, sensitive: PublicPlaces, cell_m: float) -> bool:
    near = np.flatnonzero(_reach(box[None], sensitive.x, sensitive.y, sensitive.radii_m, cell_m))
    y = np.arange(box[1], box[3])
    for x in range(box[0], box[2]):
        column = np.column_stack([np.full(len(y), x), y, np.full(len(y), x + 1), y + 1])
        reached = np.zeros(len(y), dtype=np.bool_)
        for place in near:
            reached |= _reach(
                column, sensitive.x[place], sensitive.y[place], sensitive.radii_m[place], cell_m
            )
        if not reached.all():
            return True
    return False


def _of_listed_cells(
    boxes: Integers, sensitive: PublicPlaces, public: PublicPlaces, cell_m: float
) -> tuple[Flags, Flags]:
    cells = np.unique(np.floor(np.column_stack([public.x, public.y]) / cell_m).astype(np.int64), axis=0)
    of_cell = _kinds_reaching(np.hstack([cells, cells + 1]), sensitive, cell_m)
    is_near = of_cell.any(axis=1)
    kinds = np.zeros((len(boxes), of_cell.shape[1]), dtype=np.bool_)
    for cell in np.flatnonzero(is_near):
        kinds[_hold(boxes, cells[cell])] |= of_cell[cell]
    waiting = np.flatnonzero(kinds.any(axis=1))
    ordinary = np.ones(len(boxes), dtype=np.bool_)
    ordinary[waiting] = False
    for x_y in cells[~is_near]:
        holds = _hold(boxes[waiting], x_y)
        ordinary[waiting[holds]] = True
        waiting = waiting[~holds]
    return kinds, ordinary


def _hold(boxes: Integers, cell: Integers) -> Flags:
    return np.asarray(((boxes[:, :2] <= cell) & (cell < boxes[:, 2:])).all(axis=1))


def _kinds_reaching(areas: Integers, sensitive: PublicPlaces, cell_m: float) -> Flags:
    """Which kinds of places reach each area, bool [areas, kinds]."""
    names = sensitive.kinds or ("",) * len(sensitive)
    number_of = {kind: number for number, kind in enumerate(dict.fromkeys(names))}
    kinds = np.zeros((len(areas), len(number_of)), dtype=np.bool_)
    rows = zip(names, sensitive.x, sensitive.y, sensitive.radii_m, strict=True)
    for kind, x_m, y_m, radius_m in rows:
        kinds[:, number_of[kind]] |= _reach(areas, x_m, y_m, radius_m, cell_m)
    return kinds


def _reach(areas: Integers, x_m: Floats, y_m: Floats, radius_m: Floats, cell_m: float) -> Flags:
    """Whether areas of cells [a, 4], or one and many places, are within reach of each other."""
    west, south, east, north = areas.T * cell_m
    east_m = np.maximum(0.0, np.maximum(west - x_m, x_m - east))
    north_m = np.maximum(0.0, np.maximum(south - y_m, y_m - north))
    return np.asarray(east_m**2 + north_m**2 <= radius_m**2)
