"""Trajectories and releases as data frames.

pandas is loaded only here, and only when a frame is asked for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from shoal.errors import MissingExtraError
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Numbers

if TYPE_CHECKING:
    from pandas import DataFrame

    from shoal.model.release import Boxes, Points, Release
    from shoal.model.trajectories import Grid, Trajectories

_CLOCK_UNITS: Final = (None, "s", "ms", "us", "ns", "serial-days")
_FIRST_CLOCK_S: Final = 1e8  # March 1973: readers take numbers below it for steps, not for a clock's seconds
_MICROS: Final = 1_000_000


def frame_of_trajectories(data: "Trajectories") -> "DataFrame":
    """One row per sample; see ``Trajectories.to_dataframe``."""
    t_s, x_m, y_m = seconds_and_meters(data)
    degrees = _degrees(x_m, y_m, data.crs)
    if data.lat is not None and data.lon is not None:
        degrees = {"lat": data.lat, "lon": data.lon}
    return _frame(
        {
            "uid": _repeated(data.ids, data.offsets),
            **_times({"t": t_s}, data.intake.reading),
            "x": x_m,
            "y": y_m,
            **degrees,
        }
    )


def frame_of_release(release: "Release") -> "DataFrame":
    """One row per box or point; see ``Release.to_dataframe``."""
    columns = (
        _box_columns(release.boxes, release.snapped_grid(), release.reading)
        if release.payload.on_grid
        else _point_columns(release.points, release.crs, release.reading)
    )
    return _frame({"trajectory_id": _repeated(release.trajectory_ids, release.offsets), **columns})


def seconds_and_meters(data: "Trajectories") -> tuple[Numbers, Numbers, Numbers]:
    """Every sample in seconds and meters: as given, or the start of its slot and the center of its cell."""
    if data.grid is None:
        return data.t, data.x, data.y
    cell_m = data.grid.cell_m
    return _seconds(data.t, data.grid), (data.x + 0.5) * cell_m, (data.y + 0.5) * cell_m


def counts_steps(t_s: Numbers, reading: Reading) -> bool:
    """Whether the input counted steps instead of telling the time."""
    return reading.time_unit not in _CLOCK_UNITS or bool(len(t_s) and np.median(np.abs(t_s)) < _FIRST_CLOCK_S)


def _box_columns(boxes: "Boxes", grid: "Grid", reading: Reading) -> dict[str, Numbers]:
    times = {"t_start": _seconds(boxes.t_start, grid), "t_end": _seconds(boxes.t_end, grid)}
    places = {name: getattr(boxes, name) * grid.cell_m for name in ("x_min", "y_min", "x_max", "y_max")}
    return {**_times(times, reading), **places}


def _point_columns(points: "Points", crs: str | None, reading: Reading) -> dict[str, Numbers]:
    columns = points.columns()
    degrees = {} if points.lat is not None else _degrees(points.x, points.y, crs)
    return {**columns, **_times({"t": points.t}, reading), **degrees}


def _seconds(slots: Numbers, grid: "Grid") -> Numbers:
    """The start of each slot in seconds, whole where slots are."""
    return slots * int(grid.slot_s) if float(grid.slot_s).is_integer() else slots * grid.slot_s


def _times(columns_s: dict[str, Numbers], reading: Reading) -> dict[str, Numbers]:
    """Columns of seconds as moments; as they are where the input counted steps."""
    if counts_steps(next(iter(columns_s.values())), reading):
        return columns_s
    return {name: np.rint(t_s * _MICROS).astype("datetime64[us]") for name, t_s in columns_s.items()}


def _degrees(x_m: Numbers, y_m: Numbers, crs: str | None) -> dict[str, Numbers]:
    """Latitude and longitude of places on a plane; nothing where there is no plane."""
    if crs is None:
        return {}
    lon, lat = transform(crs, WGS84, x_m, y_m)
    return {"lat": lat, "lon": lon}


def _repeated(names: Sequence[str], offsets: Numbers) -> Numbers:
    """The name that each row belongs to."""
    return np.repeat(np.array(names, dtype=object), np.diff(offsets))


def _frame(columns: dict[str, Numbers]) -> "DataFrame":
    """A data frame; moments in UTC."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("a data frame needs pandas; install it with: pip install pandas") from error
    return pd.DataFrame(
        {
            name: pd.DatetimeIndex(values).tz_localize("UTC") if values.dtype.kind == "M" else values
            for name, values in columns.items()
        }
    )
