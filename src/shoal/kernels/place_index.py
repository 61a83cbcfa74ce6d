"""Find the boxes that contain a place: levels of similar rectangles, in tiles.

A rectangle belongs to the tile of its lower corner; a few tiles hold all that can reach a cell.
"""

from typing import NamedTuple

import numpy as np

from shoal.kernels.ordering import first_not_below
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled, compiled_for_many

_FEW_TILES = 1 << 12


class Tiles(NamedTuple):
    """Square tiles at each level, finer for smaller rectangles."""

    west: int  # the least corner of all
    south: int
    smallest: int  # sides at level l are at most 2**(smallest + l) cells and more than half
    shifts: Integers  # [l] tile sides are 2**shifts[l] cells
    columns: Integers  # [l] tiles along x
    across: Integers  # [l] tiles along y
    firsts: Integers  # [l] first tile; others are firsts[l] + column * across[l] + row
    offsets: Integers  # [tiles + 1] first rectangle of each tile


class PlaceTiles(NamedTuple):
    """Rectangles [b, 4] in tiles; [b] record and repeats."""

    tiles: Tiles
    rectangles: Integers
    record: Integers
    often: Integers


class BoxTiles(NamedTuple):
    """Boxes [b, 6] in tiles, by start within each, and [b] records."""

    tiles: Tiles
    boxes: Integers
    record: Integers  # [b]
    latest: Integers  # [b], greatest end of the boxes of the tile so far


@compiled
def _level_of(boxes: Integers, b: int, smallest: int) -> int:
    side, level = max(boxes[b, 4] - boxes[b, 2], boxes[b, 5] - boxes[b, 3]), 0
    while side > 1 << (smallest + level):
        level += 1
    return level


def empty_tiles(boxes: Integers, smallest: int, most: int) -> Tiles:
    """Empty tiles for boxes [b, 6]; about ``most`` at a level."""
    west, south, east, north, levels = 0, 0, 0, 0, 1
    if len(boxes):
        (west, south), (east, north) = boxes[:, 2:4].min(axis=0).tolist(), boxes[:, 2:4].max(axis=0).tolist()
        widest = int(np.subtract(boxes[:, 4:], boxes[:, 2:4], dtype=np.int64).max())
        levels += max((widest - 1).bit_length() - smallest, 0)
    least = smallest
    while (((east - west) >> least) + 1) * (((north - south) >> least) + 1) > max(most, _FEW_TILES):
        least += 1
    shifts = np.maximum(smallest + np.arange(levels) - 1, least)
    columns, across = ((east - west) >> shifts) + 1, ((north - south) >> shifts) + 1
    ends = np.cumsum(columns * across)
    offsets = np.zeros(ends[-1] + 1, dtype=np.int64)
    return Tiles(west, south, smallest, shifts, columns, across, ends - columns * across, offsets)


@compiled
def _tile_of(tiles: Tiles, boxes: Integers, b: int) -> int:
    level = _level_of(boxes, b, tiles.smallest)
    shift = tiles.shifts[level]
    column, row = (boxes[b, 2] - tiles.west) >> shift, (boxes[b, 3] - tiles.south) >> shift
    return int(tiles.firsts[level] + column * tiles.across[level] + row)


@compiled
def _order_in(tiles: Tiles, boxes: Integers) -> Integers:
    order, offsets = np.empty(len(boxes), dtype=boxes.dtype), tiles.offsets
    for b in range(len(boxes)):
        offsets[_tile_of(tiles, boxes, b) + 1] += 1
    for tile in range(1, len(offsets)):
        offsets[tile] += offsets[tile - 1]
    ends = offsets[:-1].copy()
    for b in range(len(boxes)):
        tile = _tile_of(tiles, boxes, b)
        order[ends[tile]] = b
        ends[tile] += 1
    return order


@compiled_for_many
def fill_place_tiles(boxes: Integers, record: Integers, places: PlaceTiles) -> int:
    """File boxes [b, 6] by tile, equal neighbors of a record once with a count."""
    order, offsets = _order_in(places.tiles, boxes), places.tiles.offsets
    n, begin = 0, 0
    for tile in range(len(offsets) - 1):
        first, end = n, offsets[tile + 1]
        for place in range(begin, end):
            b, last = order[place], n - 1
            if (
                n > first
                and places.record[last] == record[b]
                and places.rectangles[last, 0] == boxes[b, 2]
                and places.rectangles[last, 1] == boxes[b, 3]
                and places.rectangles[last, 2] == boxes[b, 4]
                and places.rectangles[last, 3] == boxes[b, 5]
            ):
                places.often[last] += 1
                continue
            for side in range(4):  # a whole row would be an array with reference counting
                places.rectangles[n, side] = boxes[b, 2 + side]
            places.record[n], places.often[n] = record[b], 1
            n += 1
        begin, offsets[tile + 1] = end, n
    return n


@compiled
def fill_box_tiles(boxes: Integers, record: Integers, areas: BoxTiles) -> None:
    """Fill the tiles with boxes [b, 6] by start."""
    order, offsets = _order_in(areas.tiles, boxes), areas.tiles.offsets
    for tile in range(len(offsets) - 1):
        for place in range(offsets[tile], offsets[tile + 1]):
            b = order[place]
            for side in range(6):
                areas.boxes[place, side] = boxes[b, side]
            areas.record[place] = record[b]
            areas.latest[place] = boxes[b, 1]
            if place > offsets[tile]:
                areas.latest[place] = max(boxes[b, 1], areas.latest[place - 1])


@compiled
def rows_during(areas: BoxTiles, tile: int, first: int, last: int) -> tuple[int, int]:
    """The rows of a tile that may overlap the slots from first to last."""
    begin, end = areas.tiles.offsets[tile], areas.tiles.offsets[tile + 1]
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if areas.boxes[middle, 0] <= last:
            low = middle + 1
        else:
            high = middle
    return first_not_below(areas.latest, begin, low, first), low
