"""Points on a street graph: the nearest place on an edge for each, and the graph as kernels search it."""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.streets import NearestPlaces, Pieces, Raster, Roads, list_pieces, nearest_places
from shoal.model.streets import StreetGraph
from shoal.runtime.arrays import Floats, Integers

_PIECES_PER_CELL = 2.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Placed:
    """Where points lie on the graph.

    edge: int64 [m], -1 = farther from every edge than allowed; along: [m], meters along it from its end u;
    away: [m], meters off it.
    """

    edge: Integers
    along: Floats
    away: Floats


def place_points(streets: StreetGraph, x: Floats, y: Floats, most_m: float) -> Placed:
    """The nearest point on an edge, not only the nearest node, for each of [m] points.

    streets: on the plane of the points.
    """
    inner = np.ones(len(streets.shape_x) - 1, dtype=np.bool_)
    inner[streets.shape_offsets[1:-1] - 1] = False
    at = np.flatnonzero(inner)
    edge = np.searchsorted(streets.shape_offsets, at, side="right") - 1
    x0, y0, x1, y1 = (
        streets.shape_x[at],
        streets.shape_y[at],
        streets.shape_x[at + 1],
        streets.shape_y[at + 1],
    )
    steps = np.hypot(x1 - x0, y1 - y0)
    ends = np.cumsum(steps)
    drawn = np.bincount(edge, weights=steps, minlength=streets.n_edges)
    before = np.concatenate([[0.0], np.cumsum(drawn)])[edge]
    whole = np.where(drawn[edge] > 0, drawn[edge], 1.0)
    pieces = Pieces(
        edge,
        x0,
        y0,
        x1,
        y1,
        np.clip((ends - steps - before) / whole, 0, 1),
        np.clip((ends - before) / whole, 0, 1),
    )
    x_min, y_min = min(x0.min(), x1.min()), min(y0.min(), y1.min())
    wide, tall = max(x0.max(), x1.max()) - x_min, max(y0.max(), y1.max()) - y_min
    cell_m = max(np.sqrt(max(wide * tall, 1.0) * _PIECES_PER_CELL / len(at)), max(wide, tall) / 2000, 1e-6)
    across, down = int(wide // cell_m) + 1, int(tall // cell_m) + 1
    offsets = np.zeros(across * down + 1, dtype=np.int64)
    raster = Raster(x_min, y_min, cell_m, across, offsets, listed=np.empty(0, dtype=np.int64))
    list_pieces(pieces, raster)
    raster = raster._replace(listed=np.empty(int(offsets[-1]), dtype=np.int64))
    list_pieces(pieces, raster)
    found = NearestPlaces(np.full(len(x), -1, dtype=np.int64), np.zeros(len(x)), np.full(len(x), np.inf))
    nearest_places(x, y, most_m, pieces, raster, found)
    return Placed(edge=found.edge, along=found.share * streets.length_m[found.edge], away=found.distance)


def roads_of(streets: StreetGraph) -> Roads:
    """The graph as rows of neighbors; an edge from a node to itself leads nowhere new."""
    ends = np.concatenate([streets.u, streets.v])
    order = np.argsort(ends, kind="stable")
    edges = np.tile(np.arange(streets.n_edges), 2)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=streets.n_nodes))]).astype(np.int64)
    return Roads(
        np.ascontiguousarray(streets.u),
        np.ascontiguousarray(streets.v),
        streets.length_m,
        offsets,
        edges[order],
        np.concatenate([streets.v, streets.u])[order],
    )
