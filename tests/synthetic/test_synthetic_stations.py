"""Station files: recognized columns, dropped rows counted by reason, and clear errors."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError, MisuseError
from shoal.synthetic import Stations, read_stations, synthesize


def lattice(n: int = 10) -> tuple[list[float], list[float]]:
    """n x n stations a kilometer or so apart."""
    return [31 + 0.01 * (i // n) for i in range(n * n)], [121 + 0.01 * (i % n) for i in range(n * n)]


@pytest.mark.parametrize(
    "names", [("lat", "lon"), ("LATITUDE", "Longitude"), ("Lat", "lng"), (" lat ", "long")]
)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_are_recognized(tmp_path: Path, names: tuple[str, str], kind: str) -> None:
    lat, lon = lattice()
    path = tmp_path / f"stations.{kind}"
    if kind == "csv":
        rows = (f"{i},{a},{b}" for i, (a, b) in enumerate(zip(lat, lon, strict=True)))
        path.write_text("\n".join([f"id,{names[0]},{names[1]}", *rows]))
    else:
        pq.write_table(pa.table({"id": list(range(len(lat))), names[0]: lat, names[1]: lon}), path)
    stations = read_stations(path)
    assert (stations.lat.tolist(), stations.lon.tolist()) == (lat, lon)
    assert set(stations.population) == {1 / len(lat)}
    assert stations.dropped == {}


def test_every_dropped_row_is_counted(tmp_path: Path) -> None:
    lat, lon = lattice()
    bad = [
        (47.3, 131.8),
        (22.5, 103.1),
        (lat[5], lon[5]),
        (lat[5], lon[5]),
        (0, 0),
        (91, 121),
        (31, -181),
        ("", 121.0),
        (31.0, "nan"),
    ]
    path = tmp_path / "stations.csv"
    path.write_text("\n".join(["lat,lon", *(f"{a},{b}" for a, b in [*zip(lat, lon, strict=True), *bad])]))
    stations = read_stations(path)
    assert stations.lat.tolist() == pytest.approx(sorted(lat))
    assert stations.dropped == {
        "empty, (0, 0) or outside the earth's degrees": 5,
        "repeated position": 2,
        "far away from the others": 2,
    }


def test_people_live_at_the_given_stations(tmp_path: Path) -> None:
    lat, lon = lattice()
    path = tmp_path / "stations.csv"
    path.write_text("\n".join(["lat,lng", *(f"{a},{b}" for a, b in zip(lat, lon, strict=True))]))
    stations = read_stations(path)
    table = synthesize(200, 7, 1, stations=stations)
    seen = set(zip(table["lat"].to_pylist(), table["lon"].to_pylist(), strict=True))
    assert seen <= set(zip(stations.lat.tolist(), stations.lon.tolist(), strict=True))
    assert len(seen) > 90
    assert table.equals(synthesize(200, 7, 1, stations=read_stations(path)))


@pytest.mark.parametrize("n", [2, 3])
def test_a_handful_of_stations_is_enough(n: int) -> None:
    stations = Stations(lat=np.linspace(7, 7.1, n), lon=np.full(n, -5.0), population=np.full(n, 1 / n))
    assert len(set(synthesize(50, 7, 1, stations=stations)["lat"].to_pylist())) == n


def test_stations_across_the_date_line_are_neighbors() -> None:
    lat, lon = (np.array(axis) for axis in lattice())
    lon = lon - 121 + 179.95
    stations = Stations(lat=lat, lon=np.where(lon > 180, lon - 360, lon), population=np.full(100, 0.01))
    x, y = stations.on_plane()
    assert np.ptp(x) < 20_000
    assert np.ptp(y) < 20_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"id,longitude\n1,121\n",
            r"no latitude column in the station file .* \(found: id, longitude\); name exactly one of them "
            "lat",
        ),
        (
            b"lat,x\n1,121\n",
            r"no longitude column in the station file .* \(found: lat, x\); name exactly one of them lon",
        ),
        (b"lat,lon,lng\n1,121,121\n", r"2 longitude columns in the station file"),
        (b"lat,lon\nnorth,121\n", r"the latitude column of the station file .* is not all numbers"),
        (b"lat,lon\n1,2\n1\n", r"neither a readable CSV nor Parquet"),
        (b"lat,lon\n", r"holds 0 usable station positions; give at least 2 rows"),
        (b"lat,lon\n7,8\n7,8\n", r"holds 1 usable station positions; give at least 2 rows"),
        (b"", r"neither a readable CSV nor Parquet"),
        (b"PAR1 and then nothing", r"cannot be read|neither a readable"),
        (b"\xff\xfe\x00\x01 \x80\n", r"no latitude column|neither a readable"),
    ],
)
def test_unusable_files_are_said_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "stations.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_stations(path)
    assert "\n" not in str(caught.value)


def test_a_truncated_parquet_and_a_missing_file_are_said(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.parquet", tmp_path / "cut.parquet"
    pq.write_table(pa.table(dict(zip(("lat", "lon"), lattice(), strict=True))), whole)
    cut.write_bytes(whole.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"give a CSV or Parquet file|neither a readable"):
        read_stations(cut)
    with pytest.raises(InputError, match="cannot be read: No such file or directory"):
        read_stations(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        read_stations(tmp_path)


def test_a_compressed_csv_is_read(tmp_path: Path) -> None:
    path = tmp_path / "stations.csv.gz"
    path.write_bytes(gzip.compress(b"lat,lon\n7,8\n7.1,8\n"))
    assert len(read_stations(path)) == 2


@pytest.mark.parametrize(
    ("lat", "lon", "population"),
    [([7.0], [8.0], [1.0]), ([7.0, 7.0], [8.0, 8.0], [0.5, 0.5]), ([7.0, 7.1], [8.0], [0.5, 0.5]),
     ([7.0, 97.0], [8.0, 8.0], [0.5, 0.5]),
     ([7.0, 7.1], [8.0, 8.0], [0.5, 0.6]), ([7.0, 7.1], [8.0, 8.0], [0.0, 1.0])],
)  # fmt: skip
def test_contradicting_stations_are_refused(
    lat: list[float], lon: list[float], population: list[float]
) -> None:
    with pytest.raises(MisuseError):
        Stations(lat=np.array(lat), lon=np.array(lon), population=np.array(population))


def test_the_real_stations_lose_their_outliers_and_no_more(shared_data: Path) -> None:
    path = shared_data / "shanghai_base_stations.parquet"
    stations = read_stations(path)
    assert set(stations.dropped) == {"far away from the others"}
    assert len(stations) + sum(stations.dropped.values()) == pq.read_metadata(path).num_rows
    assert sum(stations.dropped.values()) < 0.02 * len(stations)
    assert 29.5 < stations.lat.min() < stations.lat.max() < 32.5
    assert 120 < stations.lon.min() < stations.lon.max() < 123
