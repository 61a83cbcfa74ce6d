"""A street graph: nodes, and undirected edges with lengths and shapes."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.projection import transform
from shoal.runtime.arrays import Floats, Integers, components

_POINTS_IN_CELL: Final = 8


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StreetGraph:
    """A street graph of n nodes and e edges, such as ``read_streets`` reads.

    Parameters
    ----------
    x, y
        float64 [n]. The nodes, in meters of a plane, or longitude and latitude where ``crs`` is geographic.
    u, v
        int64 [e]. The two nodes of each edge.
    length_m
        float64 [e]. The lengths of edges; nan for the length of the shape.
    shape_offsets
        int64 [e + 1]. Edge i owns the corners shape_offsets[i] to shape_offsets[i + 1].
    shape_x, shape_y
        float64. The corners of each edge from u to v, both ends included.
    crs
        The system of x and y; None for the plane of the data.

    Raises
    ------
    InputError
        When nodes or edges are missing, a coordinate or length is no number that it can be, or a shape has
        fewer than two corners.
    """

    x: Floats
    y: Floats
    u: Integers
    v: Integers
    length_m: Floats
    shape_offsets: Integers
    shape_x: Floats
    shape_y: Floats
    crs: str | None = None

    def __post_init__(self) -> None:
        if not len(self.x) or not len(self.u):
            raise InputError(
                f"the street graph has {len(self.x)} nodes and {len(self.u)} edges; it needs at least one "
                "of each"
            )
        if not (
            np.isfinite(self.x).all()
            and np.isfinite(self.y).all()
            and np.isfinite(self.shape_x).all()
            and np.isfinite(self.shape_y).all()
        ):
            raise InputError("a coordinate of the street graph is empty or no finite number")
        bad = (self.length_m < 0) | np.isinf(self.length_m)
        if bad.any():
            raise InputError(
                f"{np.count_nonzero(bad)} streets have a negative or endless length, edge "
                f"{int(np.argmax(bad)) + 1} of the graph the first"
            )
        if (np.diff(self.shape_offsets) < 2).any() or self.shape_offsets[-1] != len(self.shape_x):
            raise InputError("every edge of the street graph needs a shape of at least two corners")

    @classmethod
    def straight(
        cls,
        x: Floats,
        y: Floats,
        u: Integers,
        v: Integers,
        length_m: Floats | None = None,
        crs: str | None = None,
    ) -> "StreetGraph":
        """A graph with straight edges."""
        ends = np.column_stack([u, v]).ravel()
        return cls(
            x=np.asarray(x, dtype=np.float64),
            y=np.asarray(y, dtype=np.float64),
            u=np.asarray(u, dtype=np.int64),
            v=np.asarray(v, dtype=np.int64),
            length_m=np.full(len(u), np.nan) if length_m is None else np.asarray(length_m, dtype=np.float64),
            shape_offsets=2 * np.arange(len(u) + 1, dtype=np.int64),
            shape_x=np.asarray(x, dtype=np.float64)[ends],
            shape_y=np.asarray(y, dtype=np.float64)[ends],
            crs=crs,
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.x)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.u)

    def on_plane(self, crs: str | None) -> "StreetGraph":
        """The graph in meters of this plane, with all lengths; itself if it is that."""
        if self.crs == crs and not np.isnan(self.length_m).any():
            return self
        if self.crs is not None and crs is None:
            raise InputError(
                f"the streets are in {self.crs} and the trajectories in local meters; say the trajectories' "
                "system with --crs"
            )
        x, y, shape_x, shape_y = self.x, self.y, self.shape_x, self.shape_y
        if self.crs is not None and crs is not None and self.crs != crs:
            x, y = transform(self.crs, crs, x, y)
            shape_x, shape_y = transform(self.crs, crs, shape_x, shape_y)
        steps = np.zeros(len(shape_x))
        steps[self.pieces + 1] = np.hypot(np.diff(shape_x), np.diff(shape_y))[self.pieces]
        steps = np.cumsum(steps)
        drawn = steps[self.shape_offsets[1:] - 1] - steps[self.shape_offsets[:-1]]
        lengths = np.where(np.isnan(self.length_m), drawn, self.length_m)
        return replace(self, x=x, y=y, length_m=lengths, shape_x=shape_x, shape_y=shape_y, crs=crs)

    @property
    def pieces(self) -> Integers:
        """The corners at which straight pieces of edges begin, int64 [p]; each ends at the next corner."""
        return np.setdiff1d(np.arange(len(self.shape_x) - 1), self.shape_offsets[1:-1] - 1)

    def cells(self, cell_m: float) -> tuple[Integers, Floats]:
        """The cells, int64 [c, 2], ascending, in which edges run an eighth of a side; how many sides each."""
        ends = np.column_stack([self.shape_x, self.shape_y]) / cell_m
        first, way = ends[self.pieces], (ends[1:] - ends[:-1])[self.pieces]
        long = np.hypot(*way.T)
        n = np.ceil(long * _POINTS_IN_CELL).astype(np.int64) + 1
        piece = np.repeat(np.arange(len(n)), n)
        share = (np.arange(len(piece)) - np.repeat(np.cumsum(n) - n, n)) / np.maximum(n - 1, 1)[piece]
        points = np.floor(first[piece] + share[:, None] * way[piece]).astype(np.int64)
        cells, cell = np.unique(points, axis=0, return_inverse=True)
        return cells, np.bincount(cell.ravel(), (long / n)[piece]).astype(np.float64)

    def summary(self) -> dict[str, Any]:
        """Sizes for a manifest."""
        parts = np.unique(components(self.n_nodes, self.u, self.v))
        return {"nodes": self.n_nodes, "edges": self.n_edges, "components": len(parts)}

    def __repr__(self) -> str:
        return f"StreetGraph({self.n_nodes} nodes, {self.n_edges} edges)"
