"""Frames of other libraries, as their users have them: None, extension types, geometry and lazy parts."""

from datetime import datetime
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from foreign_writers import NOON_S
from shoal.io import read
from shoal.model.trajectories import Trajectories

pd = pytest.importorskip("pandas", reason="pandas is not installed")
MOMENTS: Final = [
    "2024-05-01T12:00:00Z",
    "2024-05-01T12:05:00Z",
    "2024-05-01T12:00:00Z",
    "2024-05-01T12:05:00Z",
]
LON, LAT = [2.35, 2.36, 2.35, 2.36], [48.85, 48.86, 48.95, 48.96]
IDS: Final = ["ann", "ann", "bob", "bob"]


def columns() -> dict[str, Any]:
    return {"uid": IDS, "t": pd.to_datetime(MOMENTS), "lat": LAT, "lon": LON}


def geometry(crs: str = "EPSG:4326", **held: Any) -> Any:
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    frame = geopandas.GeoDataFrame(
        held or {"uid": IDS, "t": pd.to_datetime(MOMENTS)},
        geometry=geopandas.points_from_xy(LON, LAT), crs="EPSG:4326",
    )  # fmt: skip
    return frame.to_crs(crs)


def require_both(got: Trajectories, ids: tuple[str, ...] = ("ann", "bob")) -> None:
    """Two people with two samples each, at the right minutes."""
    assert got.ids == ids
    assert (got.t * 60).tolist() == [NOON_S, NOON_S + 300] * 2
    assert got.intake.rows_read == 4


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:2154"])
def test_a_frame_of_geopandas_is_read_as_it_is(crs: str) -> None:
    require_both(read(geometry(crs)))
    frame = geometry(crs).set_index("t")
    require_both(read(frame))
    require_both(read(frame.rename_axis(None)))  # times without a name


def test_missing_points_of_geopandas_are_counted() -> None:
    frame = geometry()
    frame.loc[1, "geometry"] = None
    assert dict(read(frame).intake.dropped) == {"empty or unreadable coordinate": 1}


@pytest.mark.filterwarnings(
    "ignore:Time zone information dropped", "ignore:The inplace keyword in GeoDataFrame"
)
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
@pytest.mark.parametrize("own", [None, "who"])
def test_a_collection_of_movingpandas_is_its_moving_objects(zone: str | None, own: str | None) -> None:
    movingpandas = pytest.importorskip("movingpandas", reason="movingpandas is not installed")
    times = pd.to_datetime(MOMENTS)
    frame = geometry(
        trip=["1", "1", "2", "2"], who=IDS, t=times.tz_convert(zone) if zone else times.tz_localize(None)
    )
    collection = movingpandas.TrajectoryCollection(frame, traj_id_col="trip", obj_id_col=own, t="t")
    require_both(read(collection), ("ann", "bob") if own else ("1", "2"))
    assert read(collection.trajectories[0]).n_samples == 2


def test_positionfixes_of_trackintel() -> None:
    trackintel = pytest.importorskip("trackintel", reason="trackintel is not installed")
    frame = geometry(user_id=IDS, tracked_at=pd.to_datetime(MOMENTS))
    require_both(read(trackintel.Positionfixes(frame)))


def test_a_frame_of_scikit_mobility() -> None:
    skmob = pytest.importorskip(
        "skmob", reason="scikit-mobility is not installed, or does not import here", exc_type=ImportError
    )
    frame = pd.DataFrame(
        {"uid": IDS, "datetime": pd.to_datetime(MOMENTS).tz_localize(None), "lat": LAT, "lng": LON}
    )
    require_both(read(skmob.TrajDataFrame(frame)))


def test_the_columns_of_trackintel_and_scikit_mobility() -> None:
    require_both(read(geometry(user_id=IDS, tracked_at=pd.to_datetime(MOMENTS)).set_index("user_id")))
    naive = pd.to_datetime(MOMENTS).tz_localize(None)
    require_both(read(pd.DataFrame({"uid": IDS, "datetime": naive, "lat": LAT, "lng": LON})))


def test_a_frame_of_dask() -> None:
    dask = pytest.importorskip("dask.dataframe", reason="dask with data frames is not installed")
    require_both(read(dask.from_pandas(pd.DataFrame(columns()), npartitions=2)))


def test_a_frame_of_spark(spark: str) -> None:
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master(spark).getOrCreate()  # the one that runs
    moments = [datetime.fromisoformat(moment) for moment in MOMENTS]
    rows = list(zip(IDS, moments, LAT, LON, strict=True))
    require_both(read(session.createDataFrame(rows, ["uid", "t", "lat", "lon"])))


def test_a_lazy_frame_of_polars() -> None:
    require_both(read(pl.DataFrame({**columns(), "t": pl.Series(MOMENTS).str.to_datetime()}).lazy()))


EXTENSIONS: Final = {
    "text of Arrow": {"uid": "string[pyarrow]"},
    "text that may be missing": {"uid": "string"},
    "categories": {"uid": "category"},
    "numbers that may be missing": {"lat": "Float64", "lon": "Float64"},
    "columns of Arrow": {
        "lat": "double[pyarrow]",
        "lon": "double[pyarrow]",
        "t": "timestamp[us, tz=UTC][pyarrow]",
    },
    "objects": {"uid": "object", "lat": "object", "lon": "object"},
}


@pytest.mark.parametrize("kind", EXTENSIONS)
def test_extension_types_of_pandas_and_what_is_missing_in_them(kind: str) -> None:
    frame = pd.DataFrame(columns()).astype(EXTENSIONS[kind])
    require_both(read(frame))
    more = pd.concat([frame, frame.iloc[[0, 0]]], ignore_index=True)
    more.loc[4, "uid"] = None
    more.loc[5, "lat"] = None
    got = read(more)
    assert (got.n_samples, dict(got.intake.dropped)) == (
        4, {"empty id": 1, "empty or unreadable coordinate": 1}
    )  # fmt: skip


def test_whole_numbers_that_may_be_missing_are_ids_and_times() -> None:
    frame = pd.DataFrame({
        "uid": pd.array([1, 1, 2, None], dtype="Int64"),
        "t": pd.array([NOON_S, None, NOON_S, NOON_S], dtype="Int64"),
        "lat": np.full(4, 48.85), "lon": np.full(4, 2.35),
    })  # fmt: skip
    got = read(frame)
    assert got.ids == ("1", "2")
    assert dict(got.intake.dropped) == {"empty or unreadable time": 1, "empty id": 1}


def test_decimals_and_views_of_arrow() -> None:
    from decimal import Decimal

    table = pa.table({
        "uid": pa.array(IDS).cast(pa.string_view()), "t": pa.array([NOON_S, NOON_S + 300] * 2, pa.uint32()),
        "lat": pa.array([Decimal(str(one)) for one in LAT]), "lon": pa.array(LON, pa.float64()),
    })  # fmt: skip
    require_both(read(table))
