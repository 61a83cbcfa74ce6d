"""Records that contain places without times; a person's most visited cells."""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.kernels.likelihood import ALIKE, hull_density
from shoal.kernels.ordering import sort_in_place
from shoal.kernels.place_index import PlaceTiles
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

N_SCORES: Final = 4


class VisitedPlaces(NamedTuple):
    """Cells offsets[v] to offsets[v + 1] of each victim, and the correct record."""

    offsets: Integers
    cells: Integers  # int64 [m, 2], distinct
    visits: Floats  # [m], of each cell
    own_class: Integers  # [v], the class of their record


class IndexedRecords(NamedTuple):
    """Distinct records over places."""

    places: PlaceTiles
    lengths: Integers  # [c], boxes of each record, at least 1
    sizes: Integers  # [c], records equal to each


class Gains(NamedTuple):
    """A visit's value: log(1 + visits * visit), log(1 + share of visits * share)."""

    visit: float  # inverse of the expected visits at a place absent from the record
    share: float  # the same for shares of visits


class PlaceResults(NamedTuple):
    """For each victim: records with all its places, whether its own is, and chances."""

    candidates: Integers
    own_fits: Integers
    chances: Floats  # [v, 4], random among best: by visits and shares, boxes filled evenly; then for hulls


@compiled
def add_expected_visits(
    records: IndexedRecords, x: int, y: int, even: Floats, hull: Floats, now: Integers
) -> int:
    """Add the expected visits to a cell; write records with any to ``now`` and return their number."""
    tiles, n_now, sizes = records.places.tiles, 0, records.sizes
    rectangles, owners, often = records.places.rectangles, records.places.record, records.places.often
    at_x, at_y = x - tiles.west, y - tiles.south
    for level in range(len(tiles.shifts)):
        shift, reach = tiles.shifts[level], 1 << (tiles.smallest + level)
        column, row = max((at_x - reach + 1) >> shift, 0), max((at_y - reach + 1) >> shift, 0)
        end_column = min(at_x >> shift, tiles.columns[level] - 1) + 1
        end_row = min(at_y >> shift, tiles.across[level] - 1) + 1
        while column < end_column and row < end_row:
            first = tiles.firsts[level] + column * tiles.across[level]
            column += 1
            for place in range(tiles.offsets[first + row], tiles.offsets[first + end_row]):
                west, south = int(rectangles[place, 0]), int(rectangles[place, 1])
                east, north = int(rectangles[place, 2]), int(rectangles[place, 3])
                if not (west <= x < east and south <= y < north):
                    continue
                record, count = owners[place], often[place]
                if even[record] == 0.0:
                    now[n_now] = record
                    n_now += 1
                n = max(sizes[record], 2)
                even[record] += count / ((east - west) * (north - south))
                hull[record] += count * hull_density(west, east, x, n) * hull_density(south, north, y, n)
    return n_now


@compiled
def _count_best(scores: Floats, touched: Integers, sizes: Integers, own_class: int) -> tuple[int, bool]:
    # Untouched records score 0. Scores are sums of positive terms, as small as 1e-8 for wide hulls, so ties
    # are judged by relative difference.
    best, ties = 0.0, 0
    for record in touched:
        best = max(best, scores[record])
    least = best * (1 - ALIKE)
    for record in touched:
        if scores[record] >= least:
            ties += sizes[record]
    if best == 0.0:
        ties = sizes.sum()
    return ties, scores[own_class] >= least


@compiled
def link_places(victims: VisitedPlaces, records: IndexedRecords, gains: Gains, results: PlaceResults) -> None:
    """Fill ``results``: records with each victim's places, and chances."""
    n_records = len(records.sizes)
    even, hull = np.zeros(n_records), np.zeros(n_records)
    places_held, scores = np.zeros(n_records, dtype=np.int64), np.zeros((n_records, N_SCORES))
    touched, now = np.empty(n_records, dtype=np.int64), np.empty(n_records, dtype=np.int64)
    for victim in range(len(victims.own_class)):
        own_class, n_touched = victims.own_class[victim], 0
        first, last = victims.offsets[victim], victims.offsets[victim + 1]
        for row in range(first, last):
            for i in range(
                add_expected_visits(records, victims.cells[row, 0], victims.cells[row, 1], even, hull, now)
            ):
                candidate = now[i]
                if places_held[candidate] == 0:
                    touched[n_touched] = candidate
                    n_touched += 1
                places_held[candidate] += 1
                length, often = records.lengths[candidate], victims.visits[row]
                scores[candidate, 0] += often * math.log1p(gains.visit * even[candidate])
                scores[candidate, 1] += often * math.log1p(gains.share * even[candidate] / length)
                scores[candidate, 2] += often * math.log1p(gains.visit * hull[candidate])
                scores[candidate, 3] += often * math.log1p(gains.share * hull[candidate] / length)
                even[candidate], hull[candidate] = 0.0, 0.0
        results.candidates[victim] = 0
        for i in range(n_touched):
            if places_held[touched[i]] == last - first:
                results.candidates[victim] += records.sizes[touched[i]]
        results.own_fits[victim] = 1 if places_held[own_class] == last - first else 0
        for rule in range(N_SCORES):
            ties, holds_own = _count_best(scores[:, rule], touched[:n_touched], records.sizes, own_class)
            results.chances[victim, rule] = 1.0 / ties if holds_own else 0.0
        for i in range(n_touched):
            places_held[touched[i]] = 0
            scores[touched[i]] = 0.0


@compiled
def top_places(
    offsets: Integers, x: Integers, y: Integers, most: int, cells: Integers, counts: Integers
) -> None:
    """Fill cells [n, most, 2] with each person's most visited cells; ties by x and y."""
    for person in range(len(counts)):
        first, end = offsets[person], offsets[person + 1]
        counts[person] = 0
        if first == end:
            continue
        # in 64 bits even for 32-bit places
        west, south, north = np.int64(x[first]), np.int64(y[first]), np.int64(y[first])
        for row in range(first, end):
            west, south, north = min(west, x[row]), min(south, y[row]), max(north, y[row])
        width, codes = north - south + 1, np.empty(end - first, dtype=np.int64)
        for row in range(first, end):
            codes[row - first] = (x[row] - west) * width + y[row] - south
        sort_in_place(codes)
        visits = np.zeros(most, dtype=np.int64)
        count, row = 0, 0
        while row < end - first:
            begin = row
            while row < end - first and codes[row] == codes[begin]:
                row += 1
            place = count
            if count < most:
                count += 1
            else:  # replace the last of those with fewest visits
                place = 0
                for other in range(1, most):
                    if visits[other] <= visits[place]:
                        place = other
                if visits[place] >= row - begin:
                    continue
                for later in range(place, most - 1):
                    cells[person, later, 0] = cells[person, later + 1, 0]
                    cells[person, later, 1] = cells[person, later + 1, 1]
                    visits[later] = visits[later + 1]
                place = most - 1
            cells[person, place, 0] = codes[begin] // width + west
            cells[person, place, 1] = codes[begin] % width + south
            visits[place] = row - begin
        counts[person] = count
