"""Whether boxes are hulls of leaves of a public list of places; the list is cut into leaves again here.

A leaf is a group of cells with places. A group is cut, where both sides can be leaves, between two columns or
rows of cells: at the line that makes the sum over all cells of the width and height of their side least. Of
equal lines a column goes before a row, and then the lowest. A group without a line is a leaf.
"""

from collections.abc import Iterable, Iterator
from math import fsum
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims.hull import HullRule, parse_hull
from shoal.model.places import PublicPlaces
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.units import counted
from shoal.verification.boxes.records import Records

Cell = tuple[int, int]


def hulls_of_leaves(
    hull: str,
    original: Trajectories,
    records: Records,
    release: Release,
    subject_of: Integers | None = None,
    class_row: Integers | None = None,
) -> tuple[list[Finding], Integers]:
    """Findings on the list, and the hulls [rows, 6] of the leaves in each box with samples of its class.

    subject_of, class_row: as of ``match_records``; without them samples of all people count, for each record.
    """
    rule, places = parse_hull(hull), original.places
    hulls = records.empty_hulls(records.offsets[:-1] if class_row is None else class_row)
    if places is None:
        raise MisuseError("the claim is about leaves of a public list; read the raw data with its places")
    findings = list[Finding]()
    if places.sha256 != (release.reading.places_sha256 or ""):
        findings.append(Finding("other-places", "the release was made with another list of places"))
    busyness = _busyness_of_cells(places, original.snapped_grid().cell_m)
    if not _can_be_leaf(list(busyness.values()), rule):
        message = f"{counted(len(busyness), 'cell')} with places cannot make the leaves of the claim"
        return [*findings, Finding("no-leaves", message)], hulls
    leaves = list(cut_into_leaves(busyness, rule))
    leaf_of = _leaf_of_samples(original, leaves)
    off_list = int(np.count_nonzero(leaf_of < 0))
    if off_list:
        message = f"{counted(off_list, 'raw sample')} in no cell with a listed place"
        findings.append(Finding("off-list", message))
    offsets, t = original.offsets, original.t
    if subject_of is None or class_row is None:
        pairs = np.unique(np.column_stack([t, leaf_of]), axis=0)
        t, leaf_of = np.ascontiguousarray(pairs.T)
        offsets, subject_of = np.array([0, len(t)]), np.zeros(release.n_records, dtype=np.int64)
        class_row = records.offsets[:-1]
    bounds = np.array([[*np.min(leaf, axis=0), *(np.max(leaf, axis=0) + 1)] for leaf in leaves])
    _grow_by_leaves(
        # writable copies: read-only columns would compile the loop once more
        LeafSamples(offsets.copy(), t.copy(), leaf_of, bounds),
        records.boxes,
        records.offsets,
        subject_of,
        class_row,
        hulls,
    )
    return findings, hulls


def cut_into_leaves(busyness: dict[Cell, float], rule: HullRule) -> Iterator[list[Cell]]:
    """The cells of each leaf."""
    waiting = [list(busyness)]
    while waiting:
        group = waiting.pop()
        for _, axis, line in sorted(_lines(group)):
            sides = [[cell for cell in group if (cell[axis] < line) == lower] for lower in (True, False)]
            if all(_can_be_leaf([busyness[cell] for cell in side], rule) for side in sides):
                waiting += sides
                break
        else:
            yield group


def _lines(group: list[Cell]) -> Iterator[tuple[int, int, int]]:
    """The sum, the axis, and the first column or row of the upper side."""
    for axis in (0, 1):
        cells = sorted(group, key=itemgetter(axis))
        lower, upper = _extents_of_first(cells), _extents_of_first(reversed(cells))
        for n in range(1, len(cells)):
            if cells[n - 1][axis] < cells[n][axis]:
                rest = len(cells) - n
                yield n * lower[n - 1] + rest * upper[rest - 1], axis, cells[n][axis]


def _extents_of_first(cells: Iterable[Cell]) -> list[int]:
    """The width and height, in sum, of the first cell, the first two, and so on."""
    columns_and_rows = np.array(list(cells))
    extents = np.maximum.accumulate(columns_and_rows) - np.minimum.accumulate(columns_and_rows) + 1
    sums: list[int] = extents.sum(axis=1).tolist()
    return sums


def _can_be_leaf(busyness: list[float], rule: HullRule) -> bool:
    if len(busyness) < rule.leaf_places:
        return False
    return rule.busiest_share == 1 or 0 < max(busyness) <= rule.busiest_share * fsum(busyness)


def _busyness_of_cells(places: PublicPlaces, cell_m: float) -> dict[Cell, float]:
    """0 where the list does not say it."""
    busyness: dict[Cell, float] = {}
    use = np.zeros(len(places)) if places.busyness is None else places.busyness
    for x_m, y_m, often in zip(places.x.tolist(), places.y.tolist(), use.tolist(), strict=True):
        cell = int(x_m // cell_m), int(y_m // cell_m)
        busyness[cell] = busyness.get(cell, 0.0) + often
    return busyness


def _leaf_of_samples(original: Trajectories, leaves: list[list[Cell]]) -> Integers:
    """-1 where the cell is in none."""
    number_of = {cell: number for number, leaf in enumerate(leaves) for cell in leaf}
    cells, place = np.unique(np.column_stack([original.x, original.y]), axis=0, return_inverse=True)
    numbers = [number_of.get((x, y), -1) for x, y in cells.tolist()]
    return np.array(numbers, dtype=np.int64)[place.ravel()]


class LeafSamples(NamedTuple):
    """Samples by subject and time with the number of their leaf, and the bounds [l, 4] of all leaves."""

    offsets: Integers
    t: Integers
    leaf_of: Integers
    bounds: Integers


@compiled
def _grow_by_leaves(
    samples: LeafSamples,
    boxes: Integers,
    box_offsets: Integers,
    subject_of: Integers,
    class_row: Integers,
    hulls: Integers,
) -> None:
    """Grow hulls [m, 6] by the leaves wholly inside a box in which its subject has a sample at its time."""
    offsets, t, leaf_of, bounds = samples
    for record in range(len(subject_of)):
        if subject_of[record] < 0:
            continue
        first, end = offsets[subject_of[record]], offsets[subject_of[record] + 1]
        for b in range(box_offsets[record], box_offsets[record + 1]):
            row = class_row[record] + b - box_offsets[record]
            for i in range(first + np.searchsorted(t[first:end], boxes[b, 0]), end):
                if t[i] >= boxes[b, 1]:
                    break
                if leaf_of[i] < 0:
                    continue
                leaf = bounds[leaf_of[i]]
                inside = boxes[b, 2] <= leaf[0] and boxes[b, 3] <= leaf[1]
                if inside and leaf[2] <= boxes[b, 4] and leaf[3] <= boxes[b, 5]:
                    hulls[row, 0] = min(hulls[row, 0], t[i])
                    hulls[row, 1] = max(hulls[row, 1], t[i] + 1)
                    for side in range(2):
                        hulls[row, 2 + side] = min(hulls[row, 2 + side], leaf[side])
                        hulls[row, 4 + side] = max(hulls[row, 4 + side], leaf[2 + side])
