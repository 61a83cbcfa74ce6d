"""Which kinds of sensitive places a box is near."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.box_measures import join_masks
from shoal.model.places import PublicPlaces
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers

_ORDINARY: Final = 1 << 62  # of a mask: a place where somebody can be that is near no listed one


def require_sensitive(people: Trajectories) -> PublicPlaces:
    """The sensitive places of the data."""
    if people.sensitive is None:
        raise MisuseError(
            "no list says which places are sensitive; read the data with --sensitive FILE (kind, lat, lon)"
        )
    return people.sensitive


def cells_near(places: PublicPlaces, cell_m: float) -> tuple[Integers, Integers, Integers]:
    """Pairs of a cell (x, y) and the row of a place whose neighborhood reaches it, int64 [p] each."""
    pairs = [np.empty((0, 3), dtype=np.int64)]
    for row, (x_m, y_m, radius_m) in enumerate(zip(places.x, places.y, places.radii_m, strict=True)):
        x, y = (
            np.arange((at - radius_m) // cell_m - 1, (at + radius_m) // cell_m + 2, dtype=np.int64)
            for at in (x_m, y_m)
        )
        away_x, away_y = (
            np.maximum(0.0, np.maximum(cell * cell_m - at, at - (cell + 1) * cell_m))
            for cell, at in ((x, x_m), (y, y_m))
        )
        reached = np.argwhere(away_x[:, None] ** 2 + away_y**2 <= radius_m**2)
        pairs.append(np.column_stack([x[reached[:, 0]], y[reached[:, 1]], np.full(len(reached), row)]))
    x, y, row = np.ascontiguousarray(np.concatenate(pairs).T)
    return x, y, row


@dataclass(frozen=True, eq=False, kw_only=True)
class Kinds:
    """The kinds of places at cells, int64 [c] by x, as masks; every_cell: other cells are ordinary places."""

    x: Integers
    y: Integers
    mask: Integers
    every_cell: bool

    @classmethod
    def around(cls, people: Trajectories) -> "Kinds":
        """Of the cells with public places where the data has a list of them, else of all cells."""
        sensitive, cell_m = require_sensitive(people), people.snapped_grid().cell_m
        near_x, near_y, row = cells_near(sensitive, cell_m)
        _, kind = np.unique(sensitive.kinds or [""] * len(sensitive), return_inverse=True)
        cells, cell_of = np.unique(near_x + 1j * near_y, return_inverse=True)
        mask = np.zeros(len(cells), dtype=np.int64)
        np.bitwise_or.at(mask, cell_of, np.left_shift(1, kind[row]))
        if people.places is not None:
            listed_x, listed_y, _ = people.places.cells(cell_m)
            listed = listed_x + 1j * listed_y
            at = np.minimum(np.searchsorted(cells, listed), len(cells) - 1)
            cells, mask = listed, np.where(cells[at] == listed, mask[at], _ORDINARY)
        return cls(
            x=cells.real.astype(np.int64),
            y=cells.imag.astype(np.int64),
            mask=mask,
            every_cell=people.places is None,
        )

    def too_few(self, boxes: Boxes, least: int) -> Flags:
        """Which boxes are near sensitive places, and have fewer kinds than that or no ordinary place."""
        rows = np.stack(boxes.columns(), axis=1)
        counts, joined = join_masks(rows, self.x, self.y, self.mask)
        ordinary = (joined & _ORDINARY) > 0
        if self.every_cell:
            ordinary |= counts < (rows[:, 4] - rows[:, 2]) * (rows[:, 5] - rows[:, 3])
        kinds = np.bitwise_count(joined & ~_ORDINARY)
        return np.asarray((kinds > 0) & ~(ordinary & (kinds + 1 >= least)))
