"""Stations that serve points, neighbors, and destinations of jumps."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.runtime.arrays import Floats, Integers
from shoal.synthetic.stations import Stations

_N_NEIGHBORS: Final = 8
_RASTER: Final = 512  # cells along the longer side
_TILE: Final = 32  # cells along one side of the squares in which the raster is filled
_OUTSIDE: Final = 2.0  # a point farther from its station than this many spacings lies outside the area


@dataclass(frozen=True, kw_only=True)
class JumpLaw:
    """Lengths r with density ~ (r + offset_m)^-alpha (Gonzalez et al. 2008)."""

    alpha: float
    offset_m: float
    min_m: float
    max_m: float

    def lengths_m(self, uniform: Floats) -> Floats:
        """The length of each uniform draw in [0, 1)."""
        power = 1 - self.alpha
        top = max(self.max_m, self.min_m + 1.0)
        at_min, at_max = (self.min_m + self.offset_m) ** power, (top + self.offset_m) ** power
        lengths: Floats = (at_min + uniform * (at_max - at_min)) ** (1 / power) - self.offset_m
        return lengths


@dataclass(frozen=True, eq=False, kw_only=True)
class Coverage:
    """Stations with neighbors and raster."""

    x_m: Floats
    y_m: Floats
    neighbors: Integers  # [n, up to 8], the nearest others, nearest first
    neighbor_m: Floats
    spacing_m: Floats  # [n], mean distance to them
    density: Floats  # [n], people per area, any unit
    raster: npt.NDArray[np.int32]  # [rows, columns], nearest station to each square, from (west_m, south_m)
    cell_m: float  # side of a square
    west_m: float
    south_m: float
    radius_m: float  # from the median position, within which 9 of 10 stations lie

    @classmethod
    def of(cls, stations: Stations) -> "Coverage":
        """The coverage of these stations."""
        x, y = stations.on_plane()
        neighbors, neighbor_m = _nearest_others(x, y)
        spacing = neighbor_m.mean(axis=1)
        cell = max(float(np.ptp(x)), float(np.ptp(y))) / (_RASTER - 1)
        return cls(
            x_m=x,
            y_m=y,
            neighbors=neighbors,
            neighbor_m=neighbor_m,
            spacing_m=spacing,
            density=stations.population / spacing**2,
            raster=_nearest_raster(x, y, cell),
            cell_m=cell,
            west_m=float(x.min()) - cell / 2,
            south_m=float(y.min()) - cell / 2,
            radius_m=float(np.quantile(np.hypot(x, y), 0.9)),
        )

    def serving(self, x: Floats, y: Floats) -> tuple[Integers, Floats]:
        """The nearest station (in very uneven layouts perhaps the second), and its distance."""
        rows, columns = self.raster.shape
        row = np.clip((y - self.south_m) / self.cell_m, 0, rows - 1).astype(np.int64)
        column = np.clip((x - self.west_m) / self.cell_m, 0, columns - 1).astype(np.int64)
        station = self.raster[row, column].astype(np.int64)
        for _ in range(2):
            candidates = np.concatenate([station[..., None], self.neighbors[station]], axis=-1)
            squared = (self.x_m[candidates] - x[..., None]) ** 2 + (self.y_m[candidates] - y[..., None]) ** 2
            best = np.argmin(squared, axis=-1)[..., None]
            station = np.take_along_axis(candidates, best, axis=-1)[..., 0]
        return station, np.sqrt(np.take_along_axis(squared, best, axis=-1)[..., 0])

    def jump(self, origin: Integers, law: JumpLaw, rng: np.random.Generator, n_directions: int) -> Integers:
        """The station at which each jump ends."""
        # Its length follows the law, its direction the density of people. origin: int64 [n] stations. One of
        # n_directions random directions is chosen in proportion to the density at its end; a person who would
        # leave the area in all of them stays.
        length = law.lengths_m(rng.random(origin.size))[:, None]
        angle = rng.random((origin.size, n_directions)) * (2 * np.pi)
        ends, away = self.serving(
            self.x_m[origin][:, None] + length * np.cos(angle),
            self.y_m[origin][:, None] + length * np.sin(angle),
        )
        pull = np.cumsum(np.where(away <= _OUTSIDE * self.spacing_m[ends], self.density[ends], 0.0), axis=1)
        choice = (pull <= (rng.random(origin.size) * pull[:, -1])[:, None]).sum(axis=1)
        chosen = ends[np.arange(origin.size), np.minimum(choice, n_directions - 1)]
        return np.where(pull[:, -1] > 0, chosen, origin)


def _nearest_others(x: Floats, y: Floats) -> tuple[Integers, Floats]:
    n = x.size
    k = min(_N_NEIGHBORS, n - 1)
    neighbors, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for start in range(0, n, 256):
        rows = np.arange(start, min(start + 256, n))
        squared = (x[rows, None] - x) ** 2 + (y[rows, None] - y) ** 2
        squared[np.arange(rows.size), rows] = np.inf
        nearest = np.argpartition(squared, k - 1, axis=1)[:, :k]
        meters = np.sqrt(np.take_along_axis(squared, nearest, axis=1))
        order = np.argsort(meters, axis=1, kind="stable")
        neighbors[rows] = np.take_along_axis(nearest, order, axis=1)
        distances[rows] = np.take_along_axis(meters, order, axis=1)
    return neighbors, distances


def _nearest_raster(x: Floats, y: Floats, cell: float) -> npt.NDArray[np.int32]:
    columns, rows = (int(np.ceil(np.ptp(axis) / cell)) + 1 for axis in (x, y))
    raster = np.empty((rows, columns), dtype=np.int32)
    for first_row in range(0, rows, _TILE):
        for first_column in range(0, columns, _TILE):
            tile_y = y.min() + cell * np.arange(first_row, min(first_row + _TILE, rows))
            tile_x = x.min() + cell * np.arange(first_column, min(first_column + _TILE, columns))
            from_middle = np.hypot(x - tile_x.mean(), y - tile_y.mean())
            diagonal = np.hypot(np.ptp(tile_x), np.ptp(tile_y))
            near = np.flatnonzero(from_middle <= from_middle.min() + diagonal + cell)
            squared = (tile_x[None, :, None] - x[near]) ** 2 + (tile_y[:, None, None] - y[near]) ** 2
            raster[first_row : first_row + tile_y.size, first_column : first_column + tile_x.size] = near[
                np.argmin(squared, axis=2)
            ]
    return raster
