"""Columns for pandas data frames; pandas is imported only then."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.errors import MissingExtraError
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Numbers

if TYPE_CHECKING:
    from pandas import DataFrame

_MICROS: Final = 1_000_000


def data_frame(columns: Mapping[str, Numbers]) -> "DataFrame":
    """A data frame of these columns; moments become UTC times."""
    pd = _pandas()
    return pd.DataFrame(
        {
            name: pd.DatetimeIndex(values).tz_localize("UTC") if values.dtype.kind == "M" else values
            for name, values in columns.items()
        }
    )


def frame_of_rows(rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """A data frame with a row for each mapping of columns to values."""
    return _pandas().DataFrame(list(rows))


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("a data frame needs pandas; install it with: pip install pandas") from error
    return pandas


def moments(columns_s: dict[str, Numbers], reading: Reading) -> dict[str, Numbers]:
    """Seconds as moments; unchanged where the input counted steps."""
    if reading.counts_steps(next(iter(columns_s.values()))):
        return columns_s
    return {name: np.rint(t_s * _MICROS).astype("datetime64[us]") for name, t_s in columns_s.items()}


def degrees(x_m: Numbers, y_m: Numbers, crs: str | None) -> dict[str, Numbers]:
    """Columns ``lat`` and ``lon`` of places on a plane; none for local meters."""
    if crs is None:
        return {}
    lon, lat = transform(crs, WGS84, x_m, y_m)
    return {"lat": lat, "lon": lon}


def names_of(rows: Numbers, names: Sequence[str], offsets: Numbers) -> Numbers:
    """The name that each of these rows belongs to."""
    return np.array(names, dtype=object)[np.searchsorted(offsets, rows, side="right") - 1]
