"""Stretch effort (Gramaglia, Fiore 2015, Sec. 4), in exact integers where caps are multiples of the grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.kernels.stretch import Samples, Scale, box_effort
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Numbers

SPACE_CAP_M: Final = 20_000.0
TIME_CAP_S: Final = 8 * 3600.0

_LARGEST_HALF: Final = 1 << 32


@typed
@dataclass(frozen=True, kw_only=True)
class Caps:
    """The stretches beyond which a sample is worth nothing; space and time weigh one half each.

    Parameters
    ----------
    space_cap_m, time_cap_s : float
        The caps phi_max of Eq. 2 and 3, in meters and seconds.

    Raises
    ------
    MisuseError
        When either is not finite or not greater than 0.

    References
    ----------
    Gramaglia and Fiore 2015, Sec. 4.1, Eq. 2 and 3.

    Examples
    --------
    >>> import shoal
    >>> shoal.Caps(space_cap_m=10_000)
    Caps(space_cap_m=10000, time_cap_s=28800.0)
    """

    space_cap_m: float = SPACE_CAP_M
    time_cap_s: float = TIME_CAP_S

    def __post_init__(self) -> None:
        for name, value in (("space_cap_m", self.space_cap_m), ("time_cap_s", self.time_cap_s)):
            if not (np.isfinite(value) and value > 0):
                raise MisuseError(f"{name} = {value} must be finite and greater than 0")

    def scale_on(self, grid: Grid) -> Scale:
        """Integer costs of a cell and a slot; MisuseError if no unit fits both."""
        cell, slot = (
            Fraction(repr(float(step))) / Fraction(repr(float(cap)))
            for step, cap in ((grid.cell_m, self.space_cap_m), (grid.slot_s, self.time_cap_s))
        )
        half = lcm(cell.denominator, slot.denominator)
        if half > _LARGEST_HALF:
            raise MisuseError(
                f"cell {grid.cell_m} m and slot {grid.slot_s} s are no simple fractions of the caps "
                f"{self.space_cap_m} m and {self.time_cap_s} s; choose rounder numbers"
            )
        return Scale(int(cell * half), int(slot * half), half)


@typed
def fingerprint_stretch(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    n_a: int = 1,
    n_b: int = 1,
    caps: Caps | None = None,
    grid: Grid | None = None,
) -> float:
    """Stretch effort in [0, 1] of merging two fingerprints; of equal lengths the larger direction counts.

    Parameters
    ----------
    a, b : array-like [m, 3] or [m, 6]
        Rows, in any order: (t, x, y) in seconds and meters, which cover one slot and cell of ``grid``, or
        boxes (t_start, t_end, x_min, y_min, x_max, y_max).
    n_a, n_b : int
        People represented by each.
    caps : Caps or None
        The stretches that count as total loss; None = 20 km and 8 h.
    grid : Grid or None
        Extent of a point; None = 60 s and 100 m.

    Returns
    -------
    float
        0 = equal, 1 = every sample beyond both caps.

    Raises
    ------
    MisuseError
        On other shapes, values that are not finite, an empty fingerprint, and numbers of people below 1.

    References
    ----------
    Gramaglia and Fiore 2015, Sec. 4.1 and 4.2, Eq. 1-10.

    Examples
    --------
    >>> import shoal
    >>> shoal.fingerprint_stretch([(0, 0, 0), (7200, 500, 0)], [(0, 0, 0)])
    0.06875
    """
    if n_a < 1 or n_b < 1:
        raise MisuseError(f"n_a = {n_a} and n_b = {n_b} must each be at least 1")
    caps, grid = caps or Caps(), grid or Grid()
    scale = Scale(0.5 / caps.space_cap_m, 0.5 / caps.time_cap_s, 0.5)
    return box_effort(_as_samples(a, grid), n_a, _as_samples(b, grid), n_b, scale, np.inf)


def samples_of_boxes(boxes: Boxes) -> Samples:
    """Samples for kernels, in canonical order."""
    ordered = boxes.sorted()
    return Samples(*ordered.columns(), latest_end=np.maximum.accumulate(ordered.t_end))


def trajectories_of_arrays(fingerprints: Sequence[npt.ArrayLike]) -> Trajectories:
    """Trajectories of arrays [m, 3] of (t, x, y) in seconds and meters, on the usual grid."""
    grid = Grid()
    arrays = [_checked(fingerprint, (3,)) for fingerprint in fingerprints]
    if not arrays:
        raise MisuseError("there is no fingerprint; give at least one array of (t, x, y) rows")
    digits = len(str(len(arrays)))
    ids = [f"{position:0{digits}d}" for position, array in enumerate(arrays) for _ in range(len(array))]
    rows = np.concatenate(arrays)
    cells = np.floor(rows / [grid.slot_s, grid.cell_m, grid.cell_m]).astype(np.int64)
    return Trajectories.from_rows(ids, *cells.T, grid=grid)


def _as_samples(fingerprint: npt.ArrayLike, grid: Grid) -> Samples:
    rows = _checked(fingerprint, (3, 6))
    if rows.shape[1] == 3:
        t, x, y = rows.T
        rows = np.stack([t, t + grid.slot_s, x, y, x + grid.cell_m, y + grid.cell_m], axis=1)
    rows = rows[np.lexsort(rows.T[::-1])]
    t_start, t_end, x_min, y_min, x_max, y_max = (np.ascontiguousarray(column) for column in rows.T)
    return Samples(t_start, t_end, x_min, y_min, x_max, y_max, np.maximum.accumulate(t_end))


def _checked(fingerprint: npt.ArrayLike, widths: tuple[int, ...]) -> Numbers:
    rows = np.asarray(fingerprint, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] not in widths or not len(rows):
        shapes = " or ".join(f"[m, {width}]" for width in widths)
        raise MisuseError(f"a fingerprint of shape {list(rows.shape)} is not {shapes} with at least one row")
    if not np.isfinite(rows).all():
        raise MisuseError("a fingerprint holds a value that is not finite")
    return rows
