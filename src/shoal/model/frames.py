"""Data frames of pandas and GeoPandas, and maps of Folium (the extra ``geo``), imported on first use."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shoal.errors import MissingExtraError, MisuseError, requiring_extra
from shoal.model.intake import Reading
from shoal.model.plotting import COLOR
from shoal.model.projection import WGS84, transform
from shoal.runtime.arrays import Numbers

if TYPE_CHECKING:
    from folium import Map
    from geopandas import GeoDataFrame
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


def frame_of_rows(rows: Sequence[Mapping[str, Any]], without_rows: Sequence[str]) -> "DataFrame":
    """A data frame with a row for each mapping of columns to values; without_rows: the columns of none."""
    return _pandas().DataFrame(rows, columns=None if rows else without_rows)


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


_STYLE: Final = {"color": COLOR, "weight": 1, "fillOpacity": 0.04}


def geopandas_library() -> Any:
    """GeoPandas; raises MissingExtraError without it."""
    with requiring_extra("this needs GeoPandas", "geo"):
        import geopandas
    return geopandas


def frame_of_points(columns: "DataFrame", x_m: Numbers, y_m: Numbers, crs: str | None) -> "GeoDataFrame":
    """The columns with a point each."""
    geopandas = geopandas_library()
    return geopandas.GeoDataFrame(columns, geometry=geopandas.points_from_xy(x_m, y_m), crs=crs)


def frame_of_boxes(columns: "DataFrame", edges: "DataFrame", crs: str | None) -> "GeoDataFrame":
    """The columns with a rectangle each. edges: columns x_min, y_min, x_max, y_max in meters."""
    geopandas = geopandas_library()
    import shapely

    outlines = shapely.box(*(edges[side].to_numpy() for side in ("x_min", "y_min", "x_max", "y_max")))
    return geopandas.GeoDataFrame(columns, geometry=outlines, crs=crs)


def draw_map(frame: "GeoDataFrame", note: str, tiles: str | None) -> "Map":
    """A map with a tooltip for each row. note: what of the data is drawn; tiles: the background."""
    if frame.crs is None:
        raise MisuseError(
            "these data are in local meters, which lie nowhere on a map; read them with --crs, or draw them "
            "with plot()"
        )
    with requiring_extra("a map needs Folium", "geo"):
        import folium
    shapes = frame.to_crs(WGS84)
    times = [name for name in shapes.columns if str(shapes[name].dtype).startswith("datetime")]
    for name in times:
        shapes[name] = shapes[name].dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    drawn = folium.Map(tiles=tiles, prefer_canvas=True)
    if len(shapes):
        fields = [name for name in shapes.columns if name != shapes.geometry.name]
        folium.GeoJson(
            shapes.to_json(),
            style_function=lambda _: _STYLE,
            marker=folium.CircleMarker(radius=2, color=COLOR),
            tooltip=folium.GeoJsonTooltip(fields),
        ).add_to(drawn)
        west, south, east, north = np.asarray(shapes.total_bounds).tolist()
        drawn.fit_bounds([(south, west), (north, east)])
    if note:
        drawn.get_root().html.add_child(folium.Element(f"<p>{note}</p>"))
    return drawn
