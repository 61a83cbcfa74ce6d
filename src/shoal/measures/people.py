"""What the search for near pairs knows about everybody, made of trajectories on all threads."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.people import Hours, People, Places
from shoal.kernels.places import gap_costs, look_up_cells, mark_cells, own_places
from shoal.kernels.stretch import CHUNK, Hulls, Raw, Scale
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.run import Run

_MOST_PLACES: Final = 4096
_MOST_CELLS_OF_A_MAP: Final = 1 << 26
_BINS_BITS: Final = 12
_BIN_S: Final = 1800
# Up to here costs and slots are kept in few bits, which fit the caches; beyond, both are wide.
_MOST_HALF_IN_16_BITS: Final = (1 << 14) - 1
_LAST_SLOT_IN_32_BITS: Final = (1 << 31) - (1 << 15)

# As Places and Hours have them: where each subject's begin, the values, and how many samples have each.
Lists = tuple[Integers, Numbers, Numbers]


class _Share(NamedTuple):
    """People side by side: where the samples of each begin, counted from the first, and their rows."""

    offsets: Integers
    rows: slice


class _Cells(NamedTuple):
    """The number of each sample's cell among all distinct ones, in their order, and where those are."""

    number: Numbers
    x: Integers
    y: Integers


def people_of(original: Trajectories, scale: Scale, run: Run) -> People:
    """Everybody's samples, places and hours."""
    offsets, x, y = original.offsets, original.x, original.y
    first_t, last_t = int(original.t[offsets[:-1]].min()), int(original.t[offsets[1:] - 1].max())
    narrow = bool(scale.half <= _MOST_HALF_IN_16_BITS and last_t - first_t < _LAST_SLOT_IN_32_BITS)
    shares = _shares(offsets, run.threads)
    cells = _numbered(x, y, run)
    found = list(run.map(lambda own: own_places(own.offsets, cells.number[own.rows], len(cells.x)), shares))
    place_offsets, own, _ = _side_by_side([each[1:] for each in found])
    place_x, place_y = cells.x[own], cells.y[own]
    chunks, place_chunks = run.map(
        lambda rows: _hulls(*rows), [(offsets, x, y), (place_offsets, place_x, place_y)]
    )
    raw = Raw(
        offsets=offsets,
        t=original.t,
        x=x,
        y=y,
        place=np.concatenate([each[0] for each in found]),
        place_offsets=place_offsets,
        place_x=place_x,
        place_y=place_y,
        bounds=_bounds(chunks.bounds.T, chunks.offsets[:-1]),
        chunks=chunks,
        place_chunks=place_chunks,
    )
    places = _places(cells, shares, scale, narrow, run)
    return People(raw, places, _hours(original, shares, first_t, last_t, narrow, run))


def _shares(offsets: Integers, threads: int) -> list[_Share]:
    """Everybody in as many shares as threads, of about as many samples each."""
    ends = np.searchsorted(offsets, np.linspace(0, offsets[-1], threads + 1)[1:])
    starts = np.concatenate([[0], ends[:-1]])
    return [
        _Share(offsets[first : last + 1] - offsets[first], slice(int(offsets[first]), int(offsets[last])))
        for first, last in zip(starts, ends, strict=True)
        if first < last
    ]


def _side_by_side(shares: list[Lists]) -> Lists:
    """The lists of all shares as those of everybody."""
    counts, own, weights = ([each[i] for each in shares] for i in range(3))
    begins = np.concatenate([[0], *(np.diff(each) for each in counts)]).cumsum()
    return begins, np.concatenate(own), np.concatenate(weights)


def _bounds(columns: Sequence[Integers] | Integers, starts: Integers) -> Integers:
    """[s, 4] least and greatest x, least and greatest y of the rows from each start to the next.

    columns: those that these are taken of, in this order.
    """
    kinds = (np.minimum, np.maximum, np.minimum, np.maximum)
    return np.stack(
        [bound.reduceat(column, starts) for bound, column in zip(kinds, columns, strict=True)], axis=1
    )


def _hulls(offsets: Integers, x: Integers, y: Integers) -> Hulls:
    """The rectangles around every so many rows of each subject; the last one's may have fewer."""
    counts = -(-np.diff(offsets) // CHUNK)
    own = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    within = np.arange(own[-1]) - np.repeat(own[:-1], counts)
    return Hulls(own, _bounds((x, x, y, y), np.repeat(offsets[:-1], counts) + within * CHUNK))


def _places(cells: _Cells, shares: list[_Share], scale: Scale, narrow: bool, run: Run) -> Places:
    """Cells as places where they are few, as with base stations; else squares, doubled until they are."""
    side, squares = 1, _Cells(np.arange(len(cells.x)), cells.x, cells.y)
    while len(squares.x) > _MOST_PLACES:
        side *= 2
        squares = _numbered(cells.x // side, cells.y // side, run)
    count = len(squares.x)
    costs = np.empty((count, count), dtype=np.int16 if narrow else np.int64)
    gap_costs(squares.x, squares.y, side, int(scale.per_cell), int(scale.half), costs)
    square_of = squares.number.astype(np.int32)
    of_sample = np.empty(len(cells.number), dtype=np.uint16 if narrow else np.int64)

    def own_squares(share: _Share) -> Lists:
        number = square_of[cells.number[share.rows]]
        of_sample[share.rows] = number
        _, offsets, own, weights = own_places(share.offsets, number, count)
        subject = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        first = np.lexsort((-weights, subject))  # what weighs most decides soonest
        return offsets, own[first], weights[first]

    lists = _side_by_side(list(run.map(own_squares, shares)))
    return Places(costs, squares.x * side, squares.y * side, side, of_sample, *lists)


def _hours(
    original: Trajectories, shares: list[_Share], first_t: int, last_t: int, narrow: bool, run: Run
) -> Hours:
    """Bins of about half an hour, longer where the data spans so long that there would be too many."""
    slots = round(_BIN_S / original.snapped_grid().slot_s)
    shift = max(slots.bit_length() - 1, (last_t - first_t).bit_length() - _BINS_BITS, 0)
    count = ((last_t - first_t) >> shift) + 1
    slot: Numbers = np.empty(original.n_samples, dtype=np.int32 if narrow else np.int64)

    def own_bins(share: _Share) -> Lists:
        slot[share.rows] = original.t[share.rows] - first_t
        number = (slot[share.rows] >> shift).astype(np.int32, copy=False)
        return own_places(share.offsets, number, count)[1:]

    offsets, own, weights = _side_by_side(list(run.map(own_bins, shares)))
    kind = np.int16 if max(count, int(weights.max())) < 1 << 15 else np.int32
    return Hours(first_t, shift, count, slot, offsets, own.astype(kind), weights.astype(kind))


def _numbered(x: Integers, y: Integers, run: Run) -> _Cells:
    """The cells of these samples, row by row."""
    first_x, first_y = int(x.min()), int(y.min())
    rows, columns = int(x.max()) - first_x + 1, int(y.max()) - first_y + 1
    if rows * columns > _MOST_CELLS_OF_A_MAP:
        (own_x, x_of), (own_y, y_of) = (np.unique(column, return_inverse=True) for column in (x, y))
        distinct, number = np.unique(x_of * len(own_y) + y_of, return_inverse=True)
        return _Cells(number.astype(np.int32), own_x[distinct // len(own_y)], own_y[distinct % len(own_y)])
    seen, number = np.zeros((rows, columns), dtype=np.int32), np.empty(len(x), dtype=np.int32)
    ends = np.linspace(0, len(x), run.threads + 1).astype(np.int64).tolist()
    shares = [slice(*own) for own in pairwise(ends)]
    for _ in run.map(lambda own: mark_cells(x[own], y[own], first_x, first_y, seen), shares):
        pass
    row, column = np.nonzero(seen)
    seen[row, column] = np.arange(len(row))
    for _ in run.map(lambda own: look_up_cells(x[own], y[own], first_x, first_y, seen, number[own]), shares):
        pass
    return _Cells(number, row + first_x, column + first_y)
