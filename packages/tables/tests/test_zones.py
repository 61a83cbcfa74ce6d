"""Zones of files, H3 and cells of a network: who lies where, and which files are refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import shapely

from shoal.errors import InputError, MisuseError
from shoal.model.intake import Reading
from shoal.model.projection import WGS84, transform
from shoal_tables import cell_zones, grid_zones, h3_zones, polygon_zones
from table_cases import AREA, make, rules_of

WEST, SOUTH, EAST, NORTH = AREA
MIDDLE = (WEST + EAST) / 2
RAISED = (SOUTH + NORTH) / 2


def box(west: float, south: float, east: float, north: float) -> Any:
    return shapely.box(west, south, east, north)


HALVES = {"west": box(WEST, SOUTH, MIDDLE, NORTH), "east": box(MIDDLE, SOUTH, EAST, NORTH)}


def geojson(path: Path, shapes: dict[str, Any], crs: str | None = None) -> Path:
    features = [
        {"type": "Feature", "properties": {"zone": name}, "geometry": json.loads(shapely.to_geojson(shape))}
        for name, shape in shapes.items()
    ]
    more = {} if crs is None else {"crs": {"type": "name", "properties": {"name": crs}}}
    path.write_text(json.dumps({"type": "FeatureCollection", **more, "features": features}))
    return path


def test_a_point_is_in_the_polygon_that_holds_it(tmp_path: Path) -> None:
    zones = polygon_zones(geojson(tmp_path / "z.geojson", HALVES))
    assert zones.names == ("west", "east")
    rng = np.random.default_rng(1)
    lon, lat = rng.uniform(WEST - 0.05, EAST + 0.05, 500), rng.uniform(SOUTH - 0.05, NORTH + 0.05, 500)
    x, y = (np.floor(column).astype(np.int64) for column in transform(WGS84, zones.plane or "", lon, lat))
    inside = (lon > WEST) & (lon < EAST) & (lat > SOUTH) & (lat < NORTH)
    expected = np.where(inside, (lon > MIDDLE).astype(int), -1)
    clear = np.min(np.abs([lon - WEST, lon - MIDDLE, lon - EAST, lat - SOUTH, lat - NORTH]), axis=0) > 1e-4
    assert (zones.locate(x, y)[clear] == expected[clear]).all()


def test_zones_in_another_system_are_the_same_zones(tmp_path: Path) -> None:
    plain = polygon_zones(geojson(tmp_path / "a.geojson", HALVES))
    mercator = {
        name: shapely.transform(
            shape, lambda at: np.column_stack(transform(WGS84, "EPSG:3857", at[:, 0], at[:, 1]))
        )
        for name, shape in HALVES.items()
    }
    other = polygon_zones(geojson(tmp_path / "b.geojson", mercator, "urn:ogc:def:crs:EPSG::3857"))
    assert other.statement.crs == "EPSG:3857"
    assert other.plane == plain.plane
    x, y = np.random.default_rng(2).integers(-12_000, 12_000, (2, 400))
    assert (plain.locate(x, y) == other.locate(x, y)).mean() > 0.99


@pytest.mark.parametrize(
    ("shapes", "why"),
    [
        ({"a": box(0, 0, 2, 1), "b": box(1, 0, 3, 1)}, "'a' and 'b' of .* overlap"),
        ({"a": shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1)])}, "zone 1 of .* is no valid polygon"),
        ({"a": shapely.Point(0, 0)}, "zone 1 of .* is no valid polygon"),
        ({"": box(0, 0, 1, 1)}, "repeats names or leaves them empty"),
        ({}, "is not a geojson file|has 0 zones"),
    ],
)
def test_files_that_are_no_zones_are_refused(tmp_path: Path, shapes: dict[str, Any], why: str) -> None:
    with pytest.raises((InputError, MisuseError), match=why):
        polygon_zones(geojson(tmp_path / "z.geojson", shapes))


def test_a_text_a_column_and_an_unknown_system_are_refused(tmp_path: Path) -> None:
    (tmp_path / "z.geojson").write_text("no zones")
    with pytest.raises(InputError, match="is not a geojson file"):
        polygon_zones(tmp_path / "z.geojson")
    with pytest.raises(InputError, match="no column 'kreis'"):
        polygon_zones(geojson(tmp_path / "y.geojson", HALVES), "kreis")
    with pytest.raises(InputError, match="coordinate reference system"):
        grid_zones(1000, AREA, "EPSG:999999")
    with pytest.raises(MisuseError, match="counts no meters eastward"):
        grid_zones(1000, AREA, "EPSG:4326")


def test_gaps_between_zones_are_stated(tmp_path: Path) -> None:
    ring = shapely.difference(box(0, 0, 3, 3), box(1, 1, 2, 2))
    (note,) = polygon_zones(geojson(tmp_path / "z.geojson", {"ring": ring})).notes
    assert "leave 1 gaps" in note


@pytest.mark.parametrize("area", [(1, 0, 0, 1), (0, 0, 181, 1), (0, 0, 1, float("nan"))])
def test_areas_that_are_none_are_refused(area: tuple[float, float, float, float]) -> None:
    with pytest.raises(MisuseError, match="is no area"):
        grid_zones(1000, area)


def test_too_many_zones_are_refused_before_they_are_made() -> None:
    with pytest.raises(MisuseError, match="choose larger zones"):
        grid_zones(1, AREA)
    with pytest.raises(MisuseError, match="choose larger zones"):
        h3_zones(15, AREA)


def test_h3_cells_hold_their_centers() -> None:
    h3 = pytest.importorskip("h3")
    zones = h3_zones(6, AREA)
    lat, lon = np.array([h3.cell_to_latlng(name) for name in zones.names]).T
    x, y = (np.floor(column).astype(np.int64) for column in transform(WGS84, zones.plane or "", lon, lat))
    assert zones.locate(x, y).tolist() == list(range(len(zones.names)))
    assert zones.locate(x + 100_000, y).tolist() == [-1] * len(zones.names)


def test_records_that_name_a_cell_count_in_it(tmp_path: Path) -> None:
    cells = pa.table({"cell_id": ["n", "s", "n2"], "lat": [7.05, 6.95, 7.05], "lon": [-5.0, -5.0, -5.0]})
    pyarrow.csv.write_csv(cells, tmp_path / "cells.csv")
    calls = pa.table(
        {
            "uid": ["a", "a", "a", "b", "b"],
            "t": [1704096000 + 600 * step for step in (0, 1, 2, 0, 1)],
            "cell_id": ["n", "s", "n2", "n", "n2"],
        }
    )
    zones = cell_zones(tmp_path / "cells.csv")
    assert zones.names == ("n", "s")
    assert "1 cells stand where another one stands" in zones.notes[0]
    make(tmp_path, rules_of(zones=zones), source=calls, reading=Reading(cells=str(tmp_path / "cells.csv")))
    secret = pq.read_table(tmp_path / "counts.parquet").to_pylist()
    assert {(row["origin"], row["destination"]) for row in secret if row["count"]} == {("n", "s"), ("s", "n")}
