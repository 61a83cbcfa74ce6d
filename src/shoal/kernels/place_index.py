"""Whose boxes hold a place: rectangles in tiles of the plane, by their size.

Level L holds the rectangles whose sides are at most 2**L cells. It is cut into square tiles, a few of which
hold all that can reach a cell; a rectangle stands in the tile of its lower corner.
"""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled

_FEW_TILES = 1 << 12


class Tiles(NamedTuple):
    """Rectangles of records, in tiles of their level.

    west, south: the least corner of all. shifts: [l] a side of the tiles of level l has 2**shifts[l] cells.
    columns, across: [l] how many tiles stand along x and y. firsts: [l] the number of the first one; a tile
    has the number firsts[l] + column * across[l] + row. offsets: [tiles + 1], where the rectangles of each
    begin. rectangles: [b, 4] of x_min, y_min, x_max, y_max; record: [b] whose it is, count: [b] how often.
    """

    west: int
    south: int
    shifts: Integers
    columns: Integers
    across: Integers
    firsts: Integers
    offsets: Integers
    rectangles: Integers
    record: Integers
    count: Integers


@compiled
def _level_of(boxes: Integers, b: int) -> int:
    """The least L for which both sides of a box are at most 2**L."""
    side, level = max(boxes[b, 4] - boxes[b, 2], boxes[b, 5] - boxes[b, 3]), 0
    while side > 1 << level:
        level += 1
    return level


@compiled
def room_of_tiles(
    boxes: Integers,
) -> tuple[int, int, Integers, Integers, Integers, Integers, Integers]:
    """The first seven columns of ``Tiles`` for boxes [b, 6], offsets 0.

    There are not many more tiles at a level than boxes.
    """
    west, south, east, north, levels = 0, 0, 0, 0, 1
    if len(boxes):
        west, south = boxes[:, 2].min(), boxes[:, 3].min()
        east, north = boxes[:, 2].max(), boxes[:, 3].max()
    for b in range(len(boxes)):
        levels = max(levels, _level_of(boxes, b) + 1)
    least = 0
    while (((east - west) >> least) + 1) * (((north - south) >> least) + 1) > max(len(boxes), _FEW_TILES):
        least += 1
    shifts = np.maximum(np.arange(levels) - 1, least)
    columns, across = ((east - west) >> shifts) + 1, ((north - south) >> shifts) + 1
    ends = np.cumsum(columns * across)
    return (
        west,
        south,
        shifts,
        columns,
        across,
        ends - columns * across,
        np.zeros(ends[-1] + 1, dtype=np.int64),
    )


@compiled
def _tile_of(tiles: Tiles, boxes: Integers, b: int) -> int:
    """The number of the tile in which a box stands."""
    level = _level_of(boxes, b)
    shift = tiles.shifts[level]
    column, row = (boxes[b, 2] - tiles.west) >> shift, (boxes[b, 3] - tiles.south) >> shift
    return int(tiles.firsts[level] + column * tiles.across[level] + row)


@compiled
def file_places(boxes: Integers, record: Integers, tiles: Tiles) -> int:
    """Fill the tiles with the boxes [b, 6] of records, ascending; how many different rectangles there are.

    Rectangles of a record that follow each other in a tile and are equal become one, which counts for all.
    """
    order, offsets = np.empty(len(boxes), dtype=np.int64), tiles.offsets
    for b in range(len(boxes)):
        offsets[_tile_of(tiles, boxes, b) + 1] += 1
    for tile in range(1, len(offsets)):
        offsets[tile] += offsets[tile - 1]
    ends = offsets[:-1].copy()
    for b in range(len(boxes)):
        tile = _tile_of(tiles, boxes, b)
        order[ends[tile]] = b
        ends[tile] += 1
    n = 0
    for tile in range(len(offsets) - 1):
        begin, first = offsets[tile], n
        offsets[tile] = n
        for place in range(begin, ends[tile]):
            b, last = order[place], n - 1
            if (
                n > first
                and tiles.record[last] == record[b]
                and tiles.rectangles[last, 0] == boxes[b, 2]
                and tiles.rectangles[last, 1] == boxes[b, 3]
                and tiles.rectangles[last, 2] == boxes[b, 4]
                and tiles.rectangles[last, 3] == boxes[b, 5]
            ):
                tiles.count[last] += 1
                continue
            tiles.rectangles[n] = boxes[b, 2:6]
            tiles.record[n], tiles.count[n] = record[b], 1
            n += 1
    offsets[-1] = n
    return n
