"""Exact nearest others without a distance matrix."""

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.bounds import LANES, RankedPeople, empty_passed_pairs, reorder_lists
from shoal.kernels.near_pairs import SLACK, PairSearch, Workspace, compare_block, offer_neighbors
from shoal.kernels.nearest_lists import Nearest, merge_parts
from shoal.kernels.people import (
    Hours,
    People,
    Places,
    distinct_within_subjects,
    gap_costs,
    least_costs_to_people,
    look_up_cells,
    mark_cells,
)
from shoal.kernels.stretch import CHUNK, Hulls, Raw, Scale
from shoal.measures.few_people import all_efforts, nearest_by_efforts
from shoal.measures.stretch import Caps
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers, offsets_of
from shoal.runtime.compiled import are_few
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.run import Run

_MOST_PLACES: Final = 4096
_MOST_CELLS_OF_A_MAP: Final = 1 << 26
_BINS_BITS: Final = 12
_BIN_S: Final = 1800
_SHARE: Final = 1 << 18  # samples that are looked at together, at least
# Up to these limits costs and slots use few bits and fit the caches.
_MOST_HALF_IN_16_BITS: Final = (1 << 14) - 1
_LAST_SLOT_IN_32_BITS: Final = (1 << 31) - (1 << 15)

# Offsets of each subject, its distinct values, and samples with each, as in Places and Hours.
Lists = tuple[Integers, Numbers, Numbers]


class _Share(NamedTuple):
    # consecutive people: offsets of their samples, counted from the first

    offsets: Integers
    rows: slice


class _Cells(NamedTuple):
    number: Numbers
    x: Integers
    y: Integers


def prepare_people(original: Trajectories, scale: Scale, run: Run) -> People:
    """Samples, places and hours of all people."""
    offsets, x, y = original.offsets, original.x, original.y
    first_t, last_t = int(original.t[offsets[:-1]].min()), int(original.t[offsets[1:] - 1].max())
    narrow = bool(scale.half <= _MOST_HALF_IN_16_BITS and last_t - first_t < _LAST_SLOT_IN_32_BITS)
    shares = _shares(offsets, max(run.threads, int(offsets[-1]) // _SHARE))
    cells = _numbered(x, y, run)
    lists_of_shares = list(
        run.map(
            lambda share: distinct_within_subjects(share.offsets, cells.number[share.rows], len(cells.x)),
            shares,
        )
    )
    place_offsets, share, _ = _side_by_side([lists[1:] for lists in lists_of_shares])
    place_x, place_y = cells.x[share], cells.y[share]
    chunks, place_chunks = run.map(
        lambda rows: _hulls(*rows), [(offsets, x, y), (place_offsets, place_x, place_y)]
    )
    raw = Raw(
        offsets=offsets,
        t=original.t,
        x=x,
        y=y,
        place=np.concatenate([lists[0] for lists in lists_of_shares]),
        place_offsets=place_offsets,
        place_x=place_x,
        place_y=place_y,
        bounds=_bounds(chunks.bounds.T, chunks.offsets[:-1]),
        chunks=chunks,
        place_chunks=place_chunks,
    )
    del lists_of_shares  # as large as the data
    places = _places(cells, shares, scale, narrow, run)
    release_idle_memory()
    return People(raw, places, _hours(original, shares, first_t, last_t, narrow, run))


def _shares(offsets: Integers, count: int) -> list[_Share]:
    ends = np.searchsorted(offsets, np.linspace(0, offsets[-1], count + 1)[1:])
    starts = np.concatenate([[0], ends[:-1]])
    return [
        _Share(offsets[first : last + 1] - offsets[first], slice(int(offsets[first]), int(offsets[last])))
        for first, last in zip(starts, ends, strict=True)
        if first < last
    ]


def _side_by_side(shares: list[Lists]) -> Lists:
    counts, distinct, weights = ([lists[i] for lists in shares] for i in range(3))
    begins = np.concatenate([[0], *(np.diff(lists) for lists in counts)]).cumsum()
    return begins, np.concatenate(distinct), np.concatenate(weights)


def _bounds(columns: Sequence[Integers] | Integers, starts: Integers) -> Integers:
    """[s, 4], in ``columns``, of the rows from each start on."""
    kinds = (np.minimum, np.maximum, np.minimum, np.maximum)
    return np.stack(
        [bound.reduceat(column, starts) for bound, column in zip(kinds, columns, strict=True)], axis=1
    )


def _hulls(offsets: Integers, x: Integers, y: Integers) -> Hulls:
    counts = -(-np.diff(offsets) // CHUNK)
    chunk_offsets = offsets_of(counts)
    within = np.arange(chunk_offsets[-1]) - np.repeat(chunk_offsets[:-1], counts)
    return Hulls(chunk_offsets, _bounds((x, x, y, y), np.repeat(offsets[:-1], counts) + within * CHUNK))


def _places(cells: _Cells, shares: list[_Share], scale: Scale, narrow: bool, run: Run) -> Places:
    # cells if few, as with base stations; else squares, doubled in size until few
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
        _, offsets, distinct, weights = distinct_within_subjects(share.offsets, number, count)
        subject = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        first = np.lexsort((-weights, subject))  # the heaviest place decides soonest
        return offsets, distinct[first], weights[first]

    lists = _side_by_side(list(run.map(own_squares, shares)))
    return Places(costs, squares.x * side, squares.y * side, side, of_sample, *lists)


def _hours(
    original: Trajectories, shares: list[_Share], first_t: int, last_t: int, narrow: bool, run: Run
) -> Hours:
    # about half an hour, longer where the data spans too long
    slots = round(_BIN_S / original.snapped_grid().slot_s)
    shift = max(slots.bit_length() - 1, (last_t - first_t).bit_length() - _BINS_BITS, 0)
    count = ((last_t - first_t) >> shift) + 1
    slot: Numbers = np.empty(original.n_samples, dtype=np.int32 if narrow else np.int64)

    def own_bins(share: _Share) -> Lists:
        slot[share.rows] = original.t[share.rows] - first_t
        number = (slot[share.rows] >> shift).astype(np.int32, copy=False)
        return distinct_within_subjects(share.offsets, number, count)[1:]

    offsets, distinct, weights = _side_by_side(list(run.map(own_bins, shares)))
    kind = np.int16 if max(count, int(weights.max())) < 1 << 15 else np.int32
    return Hours(first_t, shift, count, slot, offsets, distinct.astype(kind), weights.astype(kind))


def _numbered(x: Integers, y: Integers, run: Run) -> _Cells:
    first_x, first_y = int(x.min()), int(y.min())
    rows, columns = int(x.max()) - first_x + 1, int(y.max()) - first_y + 1
    if rows * columns > _MOST_CELLS_OF_A_MAP:
        (distinct_x, x_of), (distinct_y, y_of) = (np.unique(column, return_inverse=True) for column in (x, y))
        distinct, number = np.unique(x_of * len(distinct_y) + y_of, return_inverse=True)
        return _Cells(
            number.astype(np.int32),
            distinct_x[distinct // len(distinct_y)],
            distinct_y[distinct % len(distinct_y)],
        )
    seen, number = np.zeros((rows, columns), dtype=np.int32), np.empty(len(x), dtype=np.int32)
    ends = np.linspace(0, len(x), run.threads + 1).astype(np.int64).tolist()
    shares = [slice(*rows_of_share) for rows_of_share in pairwise(ends)]
    for _ in run.map(
        lambda rows_of_share: mark_cells(x[rows_of_share], y[rows_of_share], first_x, first_y, seen), shares
    ):
        pass
    row, column = np.nonzero(seen)
    seen[row, column] = np.arange(len(row))
    for _ in run.map(
        lambda rows_of_share: look_up_cells(
            x[rows_of_share], y[rows_of_share], first_x, first_y, seen, number[rows_of_share]
        ),
        shares,
    ):
        pass
    return _Cells(number, row + first_x, column + first_y)


_INDEX_BITS: Final = 15
_STRATA: Final = 8
_PIVOTS: Final = 16
_WEIGHT_OF_PLACE: Final = 0.5  # of a person's main place relative to costs from other places
_TOGETHER: Final = 64  # neighbors by their main places
_LABEL: Final = "looking for the closest"
# Up to this length rows use few bits and fit the caches.
_LONGEST_IN_16_BITS: Final = (1 << 16) - 2


class NearPairs:
    """Searches nearest pairs among people."""

    def __init__(self, original: Trajectories, caps: Caps, run: Run) -> None:
        self.scale = caps.scale_on(original.snapped_grid())
        self.run = run
        self.lengths = original.lengths
        self.tally = np.zeros(2, dtype=np.int64)
        self.original = original

    @cached_property
    def people(self) -> People:
        """Samples, places and hours of all people."""
        return prepare_people(self.original, self.scale, self.run)

    @cached_property
    def _efforts(self) -> Floats | None:
        few = are_few(self.original.n_samples, self.original.n_subjects)
        return all_efforts(self.original, self.scale) if few else None

    def nearest(
        self, subjects: Integers, count: int, below: float | Floats, requested: Numbers | None = None
    ) -> Nearest:
        """Each subject's nearest among ``subjects`` below ``below``, ties by number."""
        # below: in units of 1 / (2 * half); requested: [n] whose lists to fill, None = all
        requested = np.ones(len(self.lengths), dtype=np.bool_) if requested is None else requested
        if self._efforts is not None:
            lists = nearest_by_efforts(self._efforts, subjects, count, below, requested)
            self.tally += lists.tally
            return lists
        return self._all_blocks(self.build_search(subjects, below, requested), count, requested)

    def nearest_others(self, count: int, requested: Numbers, below: float | Floats = np.inf) -> Nearest:
        """The nearest of requested subjects [n] among all; ties by number."""
        if self._efforts is not None:
            return nearest_by_efforts(self._efforts, np.arange(len(self.lengths)), count, below, requested)
        # Neighbors by main place bound the efforts of the nearest. So these are compared first, and then all
        # people, with a limit for each person. below: as in ``nearest``.
        search = self.build_search(np.arange(len(self.lengths)), below, requested)
        neighbors = self._neighborhoods(search.order, max(_TOGETHER, 2 * count))

        def part(some: list[Numbers]) -> Nearest:
            lists, workspace = self._empty(count, requested), self.workspace(search.order)
            for ranks in some:
                offer_neighbors(search, ranks, lists, workspace)
            return lists

        threads = self.run.threads
        parts = list(self.run.map(part, [neighbors[first::threads] for first in range(threads)]))
        first_lists = merge_parts(parts, search.order)
        if len(neighbors) == 1 and requested.all():
            return first_lists  # all have been compared
        # an effort of inf means that the list is not full
        below = np.minimum(below, np.nextafter(first_lists.effort[:, -1], np.inf))
        search = self.build_search(np.arange(len(self.lengths)), below, requested)
        return self._all_blocks(search, count, requested)

    def build_search(
        self, subjects: Integers, below: float | Floats, requested: Numbers | None = None
    ) -> PairSearch:
        """The search among ``subjects``, for pairs with a requested list."""
        requested = np.ones(len(self.lengths), dtype=np.bool_) if requested is None else requested
        order, stratum = self._ranking(subjects, requested)
        places, bins = self.run.map(
            lambda lists: reorder_lists(*lists, order),
            [(of.offsets, of.distinct, of.weights) for of in (self.people.places, self.people.hours)],
        )
        mains = self.people.places.offsets[order]
        ranked = RankedPeople(
            stratum,
            self.lengths[order],
            self.people.places.distinct[mains],
            self.people.places.weights[mains],
            *places,
            *bins,
        )
        below = np.where(requested, below, 0.0)
        shift, limits = self._limits(ranked.lengths, below[order])
        return PairSearch(self.people, ranked, order, below, limits, shift, self.scale)

    def _all_blocks(self, search: PairSearch, count: int, requested: Numbers) -> Nearest:
        order, threads = search.order, self.run.threads
        possible = len(order) * (len(order) - 1) // 2

        def part(first: int) -> Nearest:
            lists, workspace = self._empty(count, requested), self.workspace(order)
            passed = empty_passed_pairs(order)
            for begin in range(first * LANES, len(order), threads * LANES):
                compare_block(search, begin, lists, workspace, passed)
                if first == 0:  # one thread reports for all; they advance equally
                    remaining = len(order) - begin
                    self.run.progress(_LABEL, possible - remaining * (remaining - 1) // 2, possible)
            return lists

        self.run.progress(_LABEL, 0, possible)
        parts = list(self.run.map(part, range(threads)))
        self.run.progress(_LABEL, possible, possible)
        self.tally += np.sum([lists.tally for lists in parts], axis=0)
        return merge_parts(parts, order)

    def _empty(self, count: int, requested: Numbers) -> Nearest:
        n = len(self.lengths)
        return Nearest(
            partner=np.empty((n, count), dtype=np.int32),
            effort=np.empty((n, count)),
            length=np.zeros(n, dtype=np.int32),
            requested=requested,
            tally=np.zeros(2, dtype=np.int64),
        )

    def _neighborhoods(self, order: Integers, size: int) -> list[Numbers]:
        places = self.people.places
        main = places.distinct[places.offsets[order]]
        strips = math.ceil(math.sqrt(len(order) / size))
        strip = np.empty(len(order), dtype=np.int64)
        strip[np.argsort(places.x[main], kind="stable")] = np.arange(len(order)) * strips // len(order)
        near = np.lexsort((places.y[main], strip))
        groups = np.array_split(near, max(len(near) // size, 1))
        return [ranks[np.lexsort((ranks, self.lengths[order[ranks]]))].astype(np.int32) for ranks in groups]

    def _ranking(self, subjects: Integers, requested: Numbers) -> tuple[Integers, int]:
        # In each stratum of ascending length requested subjects come first; both kinds in blocks by place.
        order = subjects[np.argsort(self.lengths[subjects], kind="stable")]
        stratum = max(-(-len(order) // (_STRATA * LANES)), 1) * LANES
        for first in range(0, len(order), stratum):
            stratum_subjects = order[first : first + stratum]
            asked = requested[stratum_subjects]
            order[first : first + stratum] = np.concatenate(
                [self._tiled(stratum_subjects[asked]), self._tiled(stratum_subjects[~asked])]
            )
        return order, stratum

    def _tiled(self, subjects: Integers) -> Integers:
        if len(subjects) <= LANES:
            return subjects
        profiles = self._profiles[subjects]
        widest = np.argmax(profiles.max(axis=0) - profiles.min(axis=0))
        half = -(-len(subjects) // (2 * LANES)) * LANES
        subjects = subjects[np.argsort(profiles[:, widest], kind="stable")]
        return np.concatenate([self._tiled(subjects[:half]), self._tiled(subjects[half:])])

    @cached_property
    def _profiles(self) -> Numbers:
        # where all of these places are too far away, only the main place differs
        places, n = self.people.places, len(self.lengths)
        groups = self._neighborhoods(np.arange(n), max(n // _PIVOTS, 1))[:_PIVOTS]
        pivots = places.distinct[places.offsets[[group[len(group) // 2] for group in groups]]]
        least = np.empty((n, len(pivots)), dtype=places.costs.dtype)
        least_costs_to_people(
            places.offsets, places.distinct, np.ascontiguousarray(places.costs[:, pivots]), least
        )
        main = places.distinct[places.offsets[:-1]]
        where = np.stack([places.x[main], places.y[main]], axis=1)
        return np.concatenate(
            [least, where * (self.scale.per_cell * _WEIGHT_OF_PLACE)], axis=1, dtype=np.float32
        )

    def _limits(self, lengths: Integers, below: Floats) -> tuple[int, Numbers]:
        # by rank: int32 limits of sums, 0 excludes subjects without a requested list
        shift, half, longest = 0, int(self.scale.half), int(lengths.max(initial=1))
        while half >> shift >= 1 << 15 or (half >> shift) * 2 * longest >= 1 << 31:
            shift += 1
        limits = np.minimum(below * lengths / (1 << shift) * SLACK + 1, (1 << 31) - 1)
        return shift, np.where(below > 0, limits, 0).astype(np.int32)

    def workspace(self, order: Integers) -> Workspace:
        """Workspace for these subjects; each thread needs its own."""
        raw, places, hours = self.people
        n_places, kind = len(places.costs), places.costs.dtype
        longest = int(self.lengths[order].max(initial=1))
        most_places = int(np.diff(places.offsets)[order].max(initial=1))
        last_slot = int(hours.slot.max())
        shift = max(last_slot.bit_length() - _INDEX_BITS, 0)
        return Workspace(
            table=np.empty((longest + 2) * (n_places + 1), dtype=kind),
            column=np.empty(n_places, dtype=places.of_sample.dtype),
            place=np.empty(n_places + 1, dtype=np.int64),
            rows=np.empty(most_places * (n_places + 1), dtype=kind),
            position=np.empty(n_places, dtype=np.int64),
            events=np.empty(longest + 2, dtype=hours.slot.dtype),
            row_at=np.empty(
                (last_slot >> shift) + 1, dtype=np.uint16 if longest < _LONGEST_IN_16_BITS else np.int32
            ),
            last_slot=last_slot,
            shift=shift,
            longest=longest,
            least_spaces=np.empty(np.diff(raw.place_offsets)[order].max(initial=1), dtype=np.int64),
            width=np.ones(1, dtype=np.int64),
            half=int(self.scale.half),
        )
