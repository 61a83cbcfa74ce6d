"""The grid of snapped data: square cells and slots of time."""

from dataclasses import dataclass

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Floats, Integers, Numbers, distinct_rows
from shoal.units import show_m, show_s


@typed
@dataclass(frozen=True, kw_only=True)
class Grid:
    """The precision of snapped data: square cells and slots of time.

    Parameters
    ----------
    cell_m : float
        Side of a cell in meters.
    slot_s : float
        Length of a slot in seconds.

    Raises
    ------
    MisuseError
        When either is not finite or not greater than 0.

    Examples
    --------
    >>> import shoal
    >>> shoal.Grid(cell_m=500)
    Grid(cell_m=500, slot_s=60.0)
    """

    cell_m: float = 100.0
    slot_s: float = 60.0

    def __post_init__(self) -> None:
        for name, value, example in (("cell_m", self.cell_m, "100"), ("slot_s", self.slot_s, "60")):
            if not (np.isfinite(value) and value > 0):
                raise MisuseError(
                    f"{name} = {value} must be finite and greater than 0, for example {example}"
                )

    def seconds(self, slots: Numbers) -> Numbers:
        """The start of each slot in seconds, whole numbers where slots are."""
        return slots * int(self.slot_s) if float(self.slot_s).is_integer() else slots * self.slot_s


def slots_and_cells(t_s: Floats, x_m: Floats, y_m: Floats, grid: Grid) -> tuple[Integers, ...]:
    """The slot, and the column and row of the cell of each point."""
    steps = ((t_s, grid.slot_s), (x_m, grid.cell_m), (y_m, grid.cell_m))
    return tuple(np.floor(column / step).astype(np.int64) for column, step in steps)


def snap_points(
    offsets: Integers, t_s: Floats, x_m: Floats, y_m: Floats, grid: Grid
) -> tuple[Integers, Integers, Integers, Integers]:
    """(offsets, slots, columns and rows of cells), int64, without repeats."""
    t, x, y = slots_and_cells(t_s, x_m, y_m, grid)
    record = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows = distinct_rows(record, t, x, y)
    if (np.diff(rows) != 1).any() or len(rows) < len(record):
        record, t, x, y = (column[rows] for column in (record, t, x, y))
    return np.searchsorted(record, np.arange(len(offsets))).astype(np.int64), t, x, y


def require_snapped(grid: Grid | None) -> Grid:
    """The grid; raises MisuseError without one."""
    if grid is None:
        raise MisuseError(
            "these points are as given; read them with a cell and a slot (without --no-snap) for this"
        )
    return grid


def grid_in_words(grid: Grid | None) -> str:
    """Such as ``cells of 100 m, slots of 1 min``."""
    if grid is None:
        return "points as given"
    return f"cells of {show_m(grid.cell_m)}, slots of {show_s(grid.slot_s)}"
