"""Public lists of places: positions from any table, and what is refused."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.errors import InputError
from shoal.io.columns.public_places import read_public_places
from shoal.model.places import PublicPlaces


def _written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_degrees_with_busyness_and_kinds(tmp_path: Path) -> None:
    file = _written(
        tmp_path, "a.csv", "cell_id,lat,lon,busyness,kind\n1,48.1,2.1,5,hospital\n2,48.2,2.2,3,\n"
    )
    places = read_public_places(file)
    assert (places.x.tolist(), places.y.tolist(), places.crs) == ([2.1, 2.2], [48.1, 48.2], "EPSG:4326")
    assert places.busyness is not None
    assert places.busyness.tolist() == [5, 3]
    assert places.kinds == ("hospital", "")
    assert places.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_meters_are_on_the_plane_of_the_data(tmp_path: Path) -> None:
    places = read_public_places(_written(tmp_path, "a.csv", "name,Y,X\na,100,0\nb,300,200\n"))
    assert (places.x.tolist(), places.y.tolist(), places.crs) == ([0, 200], [100, 300], None)
    assert places.on_plane("EPSG:2154") is places


def test_other_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"lat": [1.0, 2.0], "lon": [3.0, 4.0]}), tmp_path / "a.parquet")
    points = [
        {
            "type": "Feature",
            "properties": {"kind": "stop"},
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }
        for lon, lat in ((3.0, 1.0), (4.0, 2.0))
    ]
    feature_collection = json.dumps({"type": "FeatureCollection", "features": points})
    footprints = "cell,lon_min,lat_min,lon_max,lat_max\n1,2,0,4,2\n2,3,1,5,3\n"
    for file in (
        tmp_path / "a.parquet",
        _written(tmp_path, "a.geojson", feature_collection),
        _written(tmp_path, "cells.csv", footprints),
    ):
        places = read_public_places(file)
        assert (places.x.tolist(), places.y.tolist(), places.crs) == ([3, 4], [1, 2], "EPSG:4326")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n", "no places"),
        ("lat,lon\n1,2\n,2\n", "no position that can be read, the first in row 2"),
        ("x,y,visits\n0,1,-1\n", "a busyness that is no number of at least 0"),
        ("a,b\n1,2\n", "needs one column of latitudes"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_public_places(_written(tmp_path, "a.csv", text))


def test_a_missing_list_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no list of places"):
        read_public_places(tmp_path / "a.csv")


def test_degrees_need_a_plane_of_the_data() -> None:
    places = PublicPlaces(x=np.array([2.1]), y=np.array([48.1]), crs="EPSG:4326")
    with pytest.raises(InputError, match="say the data's system with crs"):
        places.on_plane(None)
    assert places.on_plane("EPSG:2154").x[0] == pytest.approx(633_000, abs=5_000)
