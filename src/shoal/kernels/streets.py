"""Street graphs as arrays: nearest places on edges, and bounded paths."""

import heapq
import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled


class Roads(NamedTuple):
    """Node i has edges adjacent[adjacent_offsets[i] : adjacent_offsets[i + 1]]."""

    u: Integers  # [e], with v the ends of an edge
    v: Integers
    length: Floats  # [e], meters
    adjacent_offsets: Integers
    adjacent: Integers
    across: Integers  # the node to which each adjacent edge leads


@compiled
def node_distances(roads: Roads, source: int, bound_m: float, distances: Floats) -> None:
    """Fill distances [n] with path lengths from a node, inf beyond the bound (Dijkstra)."""
    distances[:] = np.inf
    distances[source] = 0.0
    waiting = [(0.0, source)]
    while len(waiting) > 0:
        distance, node = heapq.heappop(waiting)
        if distance == distances[node]:
            for i in range(roads.adjacent_offsets[node], roads.adjacent_offsets[node + 1]):
                onward = distance + roads.length[roads.adjacent[i]]
                if onward <= bound_m and onward < distances[roads.across[i]]:
                    distances[roads.across[i]] = onward
                    heapq.heappush(waiting, (onward, roads.across[i]))


class Pieces(NamedTuple):
    """Straight pieces of edges. from_share, to_share: [p] 0 to 1 of the edge."""

    edge: Integers
    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    from_share: Floats
    to_share: Floats


class Raster(NamedTuple):
    """Cells row by row; cell c lists listed[offsets[c] : offsets[c + 1]]."""

    x_min: float  # with y_min the lower corner
    y_min: float
    cell_m: float
    across: int  # cells in a row
    offsets: Integers
    listed: Integers


class NearestPlaces(NamedTuple):
    """Of each point: edge, -1 = none; share along it; distance in meters."""

    edge: Integers
    share: Floats
    distance: Floats


@compiled
def list_pieces(pieces: Pieces, raster: Raster) -> None:
    """Set raster.offsets if ``listed`` is empty; else set raster.listed."""
    x_min, y_min, cell_m, across, offsets, listed = raster
    counting = len(listed) == 0
    for piece in range(len(pieces.edge)):
        west, east = min(pieces.x0[piece], pieces.x1[piece]), max(pieces.x0[piece], pieces.x1[piece])
        south, north = min(pieces.y0[piece], pieces.y1[piece]), max(pieces.y0[piece], pieces.y1[piece])
        for row in range(int((south - y_min) // cell_m), int((north - y_min) // cell_m) + 1):
            for column in range(int((west - x_min) // cell_m), int((east - x_min) // cell_m) + 1):
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
    x: Floats, y: Floats, most_m: float, pieces: Pieces, raster: Raster, nearest: NearestPlaces
) -> None:
    """Nearest places on edges; edge -1, distance inf beyond ``most_m``."""
    # in rings of cells: all beyond ring r is more than r - 1 cells away; the first of equal edges
    x_min, y_min, cell_m, across, offsets, listed = raster
    edge, share, distance = nearest
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
