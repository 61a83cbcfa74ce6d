"""Cells of a mobile network with footprints: records stand at the center, and the extent is told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest

from foreign_writers import NOON_S
from shoal.errors import InputError, MissingExtraError
from shoal.io import read
from shoal.io.columns.cell_positions import CENTERED, layout_of
from shoal.io.formats.input_table import Table

CALLS: Final = pa.table(
    {"id": ["ann", "ann", "bo"], "t": [NOON_S, NOON_S + 60, NOON_S], "cell": ["A", "B", "A"]}
)
AREAS: Final = {
    "A": [[2.34, 48.84], [2.36, 48.84], [2.36, 48.86], [2.34, 48.86], [2.34, 48.84]],
    "B": [[2.40, 48.90], [2.44, 48.90], [2.44, 48.92], [2.40, 48.90]],
}  # the second: a triangle, whose box is 2.9 by 2.2 km


def csv(head: str, *rows: str) -> Callable[[Path], Path]:
    def write(place: Path) -> Path:
        (place / "cells.csv").write_text("\n".join((head, *rows)) + "\n")
        return place / "cells.csv"

    return write


def wkt(name: str) -> str:
    return "POLYGON((" + ",".join(f"{x} {y}" for x, y in AREAS[name]) + "))"


def geojson(place: Path) -> Path:
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Polygon", "coordinates": [area]},
            "properties": {"cell_id": name},
        }
        for name, area in AREAS.items()
    ]
    (place / "cells.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return place / "cells.geojson"


def geopackage(place: Path) -> Path:
    """In a national system, as planners have them."""
    geopandas = pytest.importorskip("geopandas", reason="geopandas is not installed")
    shapely = pytest.importorskip("shapely", reason="shapely is not installed")
    frame = geopandas.GeoDataFrame(
        {"cell_id": list(AREAS)}, geometry=[shapely.from_wkt(wkt(name)) for name in AREAS], crs="EPSG:4326"
    )
    frame.to_crs("EPSG:2154").to_file(place / "cells.gpkg", driver="GPKG")
    return place / "cells.gpkg"


# A: 1.5 km wide and 2.2 km high; B: 2.9 km wide and 2.2 km high
KINDS: Final[dict[str, Callable[[Path], Path]]] = {
    "polygons as text": csv("cell_id;wkt", f"A;{wkt('A')}", f"B;{wkt('B')}"),
    "polygons of GeoJSON": geojson,
    "polygons of a GeoPackage": geopackage,
    "bounds": csv(
        "cell_id,lon_min,lat_min,lon_max,lat_max", "A,2.34,48.84,2.36,48.86", "B,2.40,48.90,2.44,48.92"
    ),
    "sides": csv("cell_id,lat,lon,width_m,height_m", "A,48.85,2.35,1463,2224", "B,48.91,2.42,2923,2224"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_records_stand_at_the_center_of_a_footprint_and_its_extent_is_told(kind: str, tmp_path: Path) -> None:
    if "polygons" in kind:
        pytest.importorskip("shapely", reason="shapely is not installed")
        pytest.importorskip("pyogrio", reason="pyogrio is not installed")
    got = read(CALLS, cells=str(KINDS[kind](tmp_path)), snap=False)
    assert got.lat is not None
    assert got.lon is not None
    assert got.lat.tolist() == pytest.approx([48.85, 48.91, 48.85], abs=1e-4)
    assert got.lon.tolist() == pytest.approx([2.35, 2.42, 2.35], abs=1e-4)
    (told,) = [note for note in got.intake.notes if "footprint" in note]
    assert told.startswith("records stand at the center of their cell's footprint")
    assert dict(got.intake.repaired) == {CENTERED: 3}
    assert "2.9 km wide or high (median; 2.9 km at most)" in told
    assert "up to 1.5 km beyond" in told


def test_a_radius_reaches_to_both_sides(tmp_path: Path) -> None:
    cells = csv("cell_id,lat,lon,range", "A,48.85,2.35,400", "B,48.91,2.42,-1")(tmp_path)
    intake = read(CALLS, cells=str(cells)).intake
    assert any("800 m wide or high (median; 800 m at most)" in note for note in intake.notes)
    assert dict(intake.repaired) == {CENTERED: 2}


def test_points_alone_tell_no_extent(tmp_path: Path) -> None:
    cells = csv("cell_id,lat,lon", "A,48.85,2.35", "B,48.91,2.42")(tmp_path)
    assert not [note for note in read(CALLS, cells=str(cells)).intake.notes if "footprint" in note]


def test_records_of_a_cell_without_a_sound_footprint_are_counted(tmp_path: Path) -> None:
    cells = csv(
        "cell_id,lon_min,lat_min,lon_max,lat_max", "A,2.34,48.84,2.36,48.86", "B,2.44,48.90,2.40,48.92"
    )
    got = read(CALLS, cells=str(cells(tmp_path)))
    assert dict(got.intake.dropped) == {"cell that is not in the table of cells": 1}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (
            csv("cell_id,lat,lon,range", "A,48.85,2.35,400", "A,48.85,2.35,500"),
            "1 cell of cells.csv stands at two",
        ),
        (
            csv("cell_id,wkt", "A,POINT EMPTY", "B,no shape"),
            "no row of the table of cells cells.csv tells where",
        ),
        (csv("cell_id,lat", "A,48.85"), "or footprints: polygons, or lon_min, lat_min"),
    ],
)
def test_a_table_of_cells_that_tells_no_place_is_refused(
    cells: Callable[[Path], Path], expected: str, tmp_path: Path
) -> None:
    pytest.importorskip("shapely", reason="shapely is not installed")
    with pytest.raises(InputError) as refused:
        read(CALLS, cells=str(cells(tmp_path)))
    assert expected in str(refused.value)


def test_polygons_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "shapely", None)
    with pytest.raises(MissingExtraError, match=r"polygons; to read them: pip install 'shoal\[geo\]'"):
        read(CALLS, cells=str(KINDS["polygons as text"](tmp_path)))


def test_degrees_beside_a_geometry_are_the_place() -> None:
    table = Table(name="a", columns=("cell_id", "lat", "lon"), batches=lambda _: iter(()))
    assert layout_of(table).wanted() == ["lon", "lat"]
