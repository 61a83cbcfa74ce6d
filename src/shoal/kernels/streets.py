"""Street graphs as arrays: the nearest place on an edge for a point, and bounded shortest paths (Dijkstra with a binary heap)."""

import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class Roads(NamedTuple):
    """A street graph for searching. u, v: [e] the ends of an edge. length: [e] meters along it.

    beside_offsets: [n + 1]; node i has the edges beside[beside_offsets[i]] to beside[beside_offsets[i + 1]],
    leading to the nodes across.
    """

    u: Integers
    v: Integers
    length: Floats
    beside_offsets: Integers
    beside: Integers
    across: Integers


class Heap(NamedTuple):
    """A binary heap of (distance, name), the least on top, in arrays that never fill up."""

    distance: Floats
    name: Integers


@compiled
def push(heap: Heap, size: int, distance: float, name: int) -> int:
    """Put one in; the new size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if heap.distance[above] <= distance:
            break
        heap.distance[at], heap.name[at] = heap.distance[above], heap.name[above]
        at = above
    heap.distance[at], heap.name[at] = distance, name
    return size + 1


@compiled
def drop_top(heap: Heap, size: int) -> int:
    """Take the top away; the new size."""
    size -= 1
    distance, name = heap.distance[size], heap.name[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap.distance[below + 1] < heap.distance[below]:
            below += 1
        if heap.distance[below] >= distance:
            break
        heap.distance[at], heap.name[at] = heap.distance[below], heap.name[below]
        at = below
    heap.distance[at], heap.name[at] = distance, name
    return size


@compiled
def node_distances(roads: Roads, source: int, bound_m: float, heap: Heap, found: Floats) -> None:
    """Set found [n]: path lengths from a node to all nodes, inf beyond the bound.

    heap: room for two entries an edge and one more.
    """
    found[:] = np.inf
    found[source] = 0.0
    size = push(heap, 0, 0.0, source)
    while size > 0:
        distance, node = heap.distance[0], heap.name[0]
        size = drop_top(heap, size)
        if distance == found[node]:
            for i in range(roads.beside_offsets[node], roads.beside_offsets[node + 1]):
                reached = distance + roads.length[roads.beside[i]]
                if reached <= bound_m and reached < found[roads.across[i]]:
                    found[roads.across[i]] = reached
                    size = push(heap, size, reached, roads.across[i])


class Pieces(NamedTuple):
    """The straight pieces of all edges.

    from_share, to_share: [p] how far along their edge they begin and end, 0 to 1.
    """

    edge: Integers
    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    from_share: Floats
    to_share: Floats


@compiled
def list_pieces(
    pieces: Pieces,
    x_min: float,
    y_min: float,
    cell_m: float,
    across: int,
    offsets: Integers,
    listed: Integers,
) -> None:
    """Which pieces each cell of a grid may hold.

    First call, with an empty ``listed``: set offsets [cells + 1]; second call: set listed.
    """
    counting = len(listed) == 0
    for piece in range(len(pieces.edge)):
        left, right = min(pieces.x0[piece], pieces.x1[piece]), max(pieces.x0[piece], pieces.x1[piece])
        low, high = min(pieces.y0[piece], pieces.y1[piece]), max(pieces.y0[piece], pieces.y1[piece])
        for row in range(int((low - y_min) // cell_m), int((high - y_min) // cell_m) + 1):
            for column in range(int((left - x_min) // cell_m), int((right - x_min) // cell_m) + 1):
                cell = row * across + column
                if counting:
                    offsets[cell + 1] += 1
                else:
                    listed[offsets[cell]] = piece
                    offsets[cell] += 1
    if counting:
        for cell in range(len(offsets) - 1):
            offsets[cell + 1] += offsets[cell]
    else:
        for cell in range(len(offsets) - 1, 0, -1):
            offsets[cell] = offsets[cell - 1]
        offsets[0] = 0


@compiled
def nearest_places(
    x: Floats,
    y: Floats,
    most_m: float,
    pieces: Pieces,
    x_min: float,
    y_min: float,
    cell_m: float,
    across: int,
    offsets: Integers,
    listed: Integers,
    edge: Integers,
    share: Floats,
    distance: Floats,
) -> None:
    """Set edge, share, distance [m]: each point's nearest edge, how far along it (0 to 1), and how far away.

    -1, inf beyond ``most_m``.

    Cells are searched in rings around the point's own; all beyond ring r are farther than r cells less one
    from it.
    """
    down = (len(offsets) - 1) // across
    for i in range(len(x)):
        own_row, own_column = int((y[i] - y_min) // cell_m), int((x[i] - x_min) // cell_m)
        away = max(-own_row, own_row - down + 1, -own_column, own_column - across + 1, 0)
        last = away + max(down, across)
        best, edge[i], ring = most_m, -1, away
        while ring <= last and (ring - 1) * cell_m <= best:
            for row in range(max(own_row - ring, 0), min(own_row + ring, down - 1) + 1):
                rim = abs(row - own_row) == ring
                step = 1 if rim else max(2 * ring, 1)
                for column in range(own_column - ring, own_column + ring + 1, step):
                    if 0 <= column < across:
                        for place in range(
                            offsets[row * across + column], offsets[row * across + column + 1]
                        ):
                            p = listed[place]
                            dx, dy = pieces.x1[p] - pieces.x0[p], pieces.y1[p] - pieces.y0[p]
                            square = dx * dx + dy * dy
                            along = 0.0
                            if square > 0:
                                along = ((x[i] - pieces.x0[p]) * dx + (y[i] - pieces.y0[p]) * dy) / square
                                along = min(max(along, 0.0), 1.0)
                            off = math.hypot(
                                pieces.x0[p] + along * dx - x[i], pieces.y0[p] + along * dy - y[i]
                            )
                            if off < best or (off == best and (edge[i] < 0 or pieces.edge[p] < edge[i])):
                                best, edge[i] = off, pieces.edge[p]
                                share[i] = pieces.from_share[p] + along * (
                                    pieces.to_share[p] - pieces.from_share[p]
                                )
            ring += 1
        distance[i] = best if edge[i] >= 0 else np.inf
