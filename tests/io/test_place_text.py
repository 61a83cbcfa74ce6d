"""Positions in one column of text: read, or refused with what to do; never dropped."""

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.io import read
from shoal.io.reading import read_with
from shoal.runtime.run import Run

LAT, LON = np.array([48.81, 48.82, 48.83, 48.84]), np.array([2.31, 2.32, 2.33, 2.34])


def table(column: str, write: Callable[[float, float], str]) -> pa.Table:
    places = [write(lat, lon) for lat, lon in zip(LAT.tolist(), LON.tolist(), strict=True)]
    return pa.table(
        {"uid": ["ann", "ann", "bob", "bob"], "t": [1714557600 + 60 * i for i in range(4)], column: places}
    )


def wkb(lon: float, lat: float, srid: int = 0, order: str = "<") -> str:
    kind = (
        struct.pack(f"{order}I", 0x20000001) + struct.pack(f"{order}I", srid)
        if srid
        else struct.pack(f"{order}I", 1)
    )
    return (bytes([order == "<"]) + kind + struct.pack(f"{order}dd", lon, lat)).hex()


READ: Final[dict[str, tuple[str, Callable[[float, float], str]]]] = {
    "WKT": ("geometry", lambda lat, lon: f"POINT ({lon} {lat})"),
    "WKT with a height": ("wkt", lambda lat, lon: f"Point Z({lon} {lat} 12.5)"),
    "EWKT": ("the_geom", lambda lat, lon: f"SRID=4326;POINT({lon} {lat})"),
    "hexadecimal WKB": ("wkb_geometry", lambda lat, lon: wkb(lon, lat).upper()),
    "hexadecimal EWKB": ("geom", lambda lat, lon: wkb(lon, lat, 4326)),
    "big-endian EWKB": ("geom", lambda lat, lon: wkb(lon, lat, 4326, ">")),
    "bytea of PostgreSQL": ("ST_AsEWKB", lambda lat, lon: "\\x" + wkb(lon, lat)),
    "GeoJSON": ("geojson", lambda lat, lon: json.dumps({"type": "Point", "coordinates": [lon, lat]})),
    "a list of JSON": ("loc.coordinates", lambda lat, lon: f"[{lon}, {lat}]"),
    "a pair": ("location", lambda lat, lon: f"{lat}, {lon}"),
    "decimal commas": ("location", lambda lat, lon: f"{lat}; {lon}".replace(".", ",")),
    "decimal commas, commas between": ("coords", lambda lat, lon: f"({lat}, {lon})".replace(".", ",")),
    "a pair in brackets": ("Location 1", lambda lat, lon: f"({lat}, {lon})"),
    "longitude first by name": ("lonlat", lambda lat, lon: f"{lon},{lat}"),
    "a geopoint of ODK": ("geopoint", lambda lat, lon: f"{lat} {lon} 0 4.5"),
    "a geo URI": ("position", lambda lat, lon: f"geo:{lat},{lon};u=35"),
    "hemispheres": ("gps", lambda lat, lon: f"{lat}° N, {lon}° E"),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
def test_positions_in_a_column_of_text_are_read(kind: str) -> None:
    column, write = READ[kind]
    got = read(table(column, write), snap=False)
    assert got.lat is not None
    assert got.lon is not None
    assert np.allclose(got.lat, LAT, atol=1e-12)
    assert np.allclose(got.lon, LON, atol=1e-12)
    again = read_with(table(column, write), got.intake.reading, Run())
    assert np.array_equal(again.x, got.x)


def test_signs_by_hemisphere_and_the_order_of_a_pair() -> None:
    south = read(table("gps", lambda lat, lon: f"{lat - 26}S {lon + 41}W"), snap=False)
    assert south.lat is not None
    assert np.allclose(south.lat, 26 - LAT)
    turned = table("coords", lambda lat, lon: f"{lon},{lat}")
    with pytest.raises(InputError, match="swapped"):
        read(turned)
    assert np.allclose(np.asarray(read(turned, lat="lon", lon="lat", snap=False).lat), LAT)


def test_geohashes_are_their_middles_with_a_note() -> None:
    got = read(table("geohash_6", lambda _lat, _lon: "u09tvw"), snap=False, lose_people=True)
    assert np.allclose(np.asarray(got.lat), 48.8562, atol=0.003)
    assert any(
        "middles of the geohashes in geohash_6, up to 0.0055 degrees" in note for note in got.intake.notes
    )


def test_planes_are_asked_for_and_never_mixed() -> None:
    planar = table("geom", lambda lat, lon: f"SRID=2154;POINT({652_000 + lon} {6_862_000 + lat})")
    with pytest.raises(InputError) as caught:
        read(planar)
    assert "the reference system 2154; give --crs EPSG:2154" in caught.value.cli_message
    assert read(planar, crs="EPSG:2154").n_subjects == 2
    mixed = table("geom", lambda lat, lon: wkb(lon, lat, 4326 if lat < 48.825 else 2154))
    with pytest.raises(InputError, match="several reference systems"):
        read(mixed, crs="EPSG:2154")


@pytest.mark.parametrize(
    "text",
    [
        "POLYGON ((2 48,3 48,3 49,2 48))",
        "LINESTRING (2 48,3 49)",
        "POINT EMPTY",
        "Paris",
        "48°51'24\"N 2°21'E",
    ],
)
def test_what_is_no_point_is_refused_with_its_shape(text: str) -> None:
    with pytest.raises(InputError, match="no positions that shoal reads: points as WKT") as caught:
        read(table("location", lambda _lat, _lon: text))
    assert "Paris" not in str(caught.value)


def test_some_that_are_no_points_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = [
        "uid,t,place,geometry",
        *(f"ann,{1714557600 + i},home,POINT (2.3 {48 + i / 100})" for i in range(5)),
    ]
    path.write_text("\n".join([*rows, "ann,1714557700,x,POINT EMPTY"]))
    assert dict(read(path).intake.dropped)["empty or unreadable coordinate"] == 1
