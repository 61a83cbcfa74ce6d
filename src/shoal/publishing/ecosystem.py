"""To frames of MovingPandas, trackintel and scikit-mobility."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError, requiring_extra
from shoal.measures.query import boxes_of
from shoal.model.frames import geopandas_library
from shoal.model.projection import WGS84, transform
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from movingpandas import TrajectoryCollection
    from pandas import DataFrame

BoxAs = Literal["center", "first-corner"]

_BOX_AS: Final = get_args(BoxAs)


def to_scikit_mobility(data: Release | Trajectories, *, box_as: BoxAs | None = None) -> "DataFrame":
    """Columns uid, datetime (UTC, without a zone as in that library), lat, lng. box_as: see ``points_of``."""
    import pandas as pd

    names, t_s, lon, lat = degrees_of(data, box_as)
    return pd.DataFrame({"uid": names, "datetime": pd.to_datetime(t_s, unit="s"), "lat": lat, "lng": lon})


def to_positionfixes(data: Release | Trajectories, *, box_as: BoxAs | None = None) -> "GeoDataFrame":
    """Positionfixes of trackintel: user_id, tracked_at (UTC), geom in WGS 84. box_as: see ``points_of``."""
    geopandas = geopandas_library()
    import pandas as pd

    names, t_s, lon, lat = degrees_of(data, box_as)
    columns = {"user_id": names, "tracked_at": pd.to_datetime(t_s, unit="s", utc=True)}
    frame = geopandas.GeoDataFrame(columns, geometry=geopandas.points_from_xy(lon, lat), crs=WGS84)
    return frame.rename_geometry("geom")


def to_movingpandas(data: Release | Trajectories, *, box_as: BoxAs | None = None) -> "TrajectoryCollection":
    """A collection of MovingPandas, a trajectory for each person or record.

    Times are UTC without a zone, points WGS 84. It keeps one point a moment and no trajectory of one
    moment; a warning counts the others. box_as: see ``points_of``.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries that it would like to have
        with requiring_extra("this needs MovingPandas", "geo"):
            from movingpandas import TrajectoryCollection
    fixes = to_positionfixes(data, box_as=box_as).rename(
        columns={"user_id": "trajectory_id", "tracked_at": "t"}
    )
    unique = fixes.drop_duplicates(["trajectory_id", "t"])
    unique = unique[unique.groupby("trajectory_id")["t"].transform("size") > 1]
    if len(unique) < len(fixes):
        warnings.warn(
            f"MovingPandas holds {len(unique)} of {len(fixes)} points: only the first of one moment, and no "
            "trajectory of a single moment",
            stacklevel=2,
        )
    return TrajectoryCollection(unique.assign(t=unique["t"].dt.tz_localize(None)), "trajectory_id", t="t")


def points_of(
    data: Release | Trajectories, box_as: BoxAs | None
) -> tuple["np.ndarray[Any, Any]", Floats, Floats, Floats]:
    """(name, seconds, x and y in meters) of every sample.

    Raw samples stand at the center of their cell, at the start of their slot. box_as: "center" or
    "first-corner" (lower left, beginning); boxes need it, since points look exact where a box was honest.
    """
    if isinstance(data, Trajectories) and data.grid is None:
        return _repeat_names(data.ids, data.offsets), data.t, data.x, data.y
    if isinstance(data, Release) and data.payload.kind == "points":
        if box_as is not None:
            raise MisuseError("this release holds points and no boxes; leave out --box-as")
        points = data.points
        return _repeat_names(data.trajectory_ids, data.offsets), points.t, points.x, points.y
    if isinstance(data, Release) and box_as not in _BOX_AS:
        raise MisuseError(
            "this release holds areas and intervals, and points would look exact where it is not; say how "
            f"with --box-as {' or '.join(_BOX_AS)}; release.parquet keeps the boxes, and so does to_geopandas"
        )
    names = data.trajectory_ids if isinstance(data, Release) else data.ids
    boxes, offsets, grid = boxes_of(data)

    def at(low: Integers, high: Integers, step: float) -> Floats:
        return np.asarray((low if box_as == "first-corner" else (low + high) / 2) * step, dtype=np.float64)

    t_s = at(boxes.t_start, boxes.t_end if isinstance(data, Release) else boxes.t_start, grid.slot_s)
    x_m, y_m = at(boxes.x_min, boxes.x_max, grid.cell_m), at(boxes.y_min, boxes.y_max, grid.cell_m)
    return _repeat_names(names, offsets), t_s, x_m, y_m


def _repeat_names(names: Sequence[str], offsets: Integers) -> "np.ndarray[Any, Any]":
    return np.repeat(np.array(names, dtype=object), np.diff(offsets))


def degrees_of(
    data: Release | Trajectories, box_as: BoxAs | None
) -> tuple["np.ndarray[Any, Any]", Floats, Floats, Floats]:
    """(name, seconds, longitude, latitude) of every sample, as ``points_of``; published degrees stay."""
    names, t_s, x_m, y_m = points_of(data, box_as)
    if isinstance(data, Release) and data.payload.kind == "points" and data.points.lat is not None:
        return names, t_s, np.asarray(data.points.lon), np.asarray(data.points.lat)
    if data.crs is None:
        raise MisuseError(
            "these data are in local meters without a reference system, so they have no latitude and "
            "longitude; read with --crs"
        )
    lon, lat = transform(data.crs, WGS84, x_m, y_m)
    return names, t_s, lon, lat
