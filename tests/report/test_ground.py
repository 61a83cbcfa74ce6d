"""The user's own tiles and streets behind maps: where they lie, how much of a page they take, why not."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import InputError
from shoal.model.projection import WGS84, transform
from shoal.model.streets import StreetGraph
from shoal.report.facts.ground import MOST_TILE_BYTES, MapGround, Placed, streets_in, tiles_in
from shoal.report.tile_files import TileFile, read_tiles
from tile_maker import png, square_at, write_mbtiles

PLANE = "+proj=laea +lat_0=48.8 +lon_0=2.3 +datum=WGS84 +units=m +no_defs"
BOUNDS = (-8_000.0, -6_000.0, 8_000.0, 6_000.0)
AREA = (2.1, 48.7, 2.5, 48.9)


def tiles_of(path: Path, *zooms: int, noise: bytes = b"") -> TileFile:
    return read_tiles(write_mbtiles(path / "t.mbtiles", AREA, zooms, lambda *_: png(noise=noise)))


def zoom_of(placed: Placed) -> int:
    """The zoom by how wide its tiles are."""
    around_m = 40_075_017 * math.cos(math.radians(48.8))
    (zoom,) = {round(math.log2(around_m / math.hypot(*tile.along_north))) for tile in placed.tiles}
    return zoom


def test_a_tile_lies_over_what_it_shows(tmp_path: Path) -> None:
    placed = tiles_in(tiles_of(tmp_path, 12), BOUNDS, PLANE)
    lon, lat = 2.33, 48.82
    x, y = (float(each[0]) for each in transform(WGS84, PLANE, np.array([lon]), np.array([lat])))
    column, _ = square_at(lon, lat, 12)
    held = []
    for tile in placed.tiles:
        sides = np.array([tile.along_north, tile.along_west]).T
        across, down = np.linalg.solve(sides, np.array([x, y]) - tile.corner)
        if 0 <= across < 1 and 0 <= down < 1:
            held.append((across, down))
    assert len(held) == 1
    exact = (lon + 180) / 360 * 2**12 - column
    assert held[0][0] == pytest.approx(exact, abs=0.002)
    assert placed.note == "maps by A & B"


def test_the_zoom_is_that_which_fits(tmp_path: Path) -> None:
    placed = tiles_in(tiles_of(tmp_path, *range(6, 16)), BOUNDS, PLANE)
    assert zoom_of(placed) == 12
    assert 2 < len(placed.tiles) <= 25


def test_heavy_tiles_give_way_to_those_of_a_lower_zoom_and_then_to_a_sentence(tmp_path: Path) -> None:
    heavy = tiles_in(tiles_of(tmp_path, *range(8, 16), noise=bytes(60_000)), BOUNDS, PLANE)
    assert zoom_of(heavy) < 12
    assert sum(len(tile.address) for tile in heavy.tiles) <= MOST_TILE_BYTES + 1_000
    (tmp_path / "t.mbtiles").unlink()
    whole = tiles_in(tiles_of(tmp_path, *range(8, 16), noise=bytes(400_000)), BOUNDS, PLANE)
    assert (whole.tiles, whole.heavy) == ((), True)
    assert whole.note == "the file of tiles is left out: its tiles would make the page larger than 1 MB"
    MapGround(tiles=read_tiles(tmp_path / "t.mbtiles")).require_over(BOUNDS, PLANE)  # that is no error


@pytest.mark.parametrize(
    ("zooms", "bounds_m", "crs", "said"),
    [
        ((12,), BOUNDS, None, "nobody knows where local meters lie"),
        ((12,), (300_000.0, 0.0, 310_000.0, 9_000.0), PLANE, "has no tile where the data is"),
        ((1, 2, 3), BOUNDS, PLANE, "its zooms are 1 to 3, and 12 would fit"),
        ((15,), (-80_000.0, -60_000.0, 80_000.0, 60_000.0), PLANE, "its zooms are 15 to 15, and 9 would fit"),
        ((2,), (-4e6, -3e6, 4e6, 3e6), PLANE, "tiles cannot be laid flat over so wide a map"),
    ],
)
def test_where_nothing_can_be_drawn_a_sentence_says_why(
    tmp_path: Path, zooms: tuple[int, ...], bounds_m: tuple[float, ...], crs: str | None, said: str
) -> None:
    file = tiles_of(tmp_path, *zooms)
    assert len(bounds_m) == 4
    west, south, east, north = bounds_m
    placed = tiles_in(file, (west, south, east, north), crs)
    assert not placed.tiles
    assert said in placed.note
    assert file.path.name not in placed.note  # it stands on a page for everybody
    with pytest.raises(InputError, match=re.escape(said)):
        MapGround(tiles=file).require_over((west, south, east, north), crs)


def test_streets_elsewhere_are_refused_before_any_work() -> None:
    street = StreetGraph.straight(np.array([0.0, 900]), np.array([0.0, 5]), np.array([0]), np.array([1]))
    assert streets_in(street, BOUNDS, None).shape == (1, 4)
    with pytest.raises(InputError, match="no street of the graph lies where the data is"):
        MapGround(streets=street).require_over((5e4, 5e4, 6e4, 6e4), None)


def test_a_report_with_tiles_and_streets_stays_small_and_passes_its_check(tmp_path: Path) -> None:
    calls = shoal.read(shoal.synthesize(n_subjects=12, days=1, seed=1))
    area = shoal.describe(calls).to_json()["area"]
    sides = area["west"], area["south"], area["east"], area["north"]
    tiles = read_tiles(
        write_mbtiles(tmp_path / "t.mbtiles", sides, range(6, 13), lambda *_: png(noise=bytes(60_000)))
    )
    streets = StreetGraph.straight(
        np.array([area["west"], area["east"]]),
        np.array([area["south"], area["north"]]),
        np.array([0]),
        np.array([1]),
        crs=WGS84,
    )
    published = shoal.publish(
        calls,
        shoal.Glove(k=2),
        tmp_path / "release",
        rng=shoal.Randomness.from_system(),
        tries=0,
        options=shoal.PublishOptions(ground=MapGround(streets=streets, tiles=tiles)),
    )
    page = (published.folder / "report.html").read_text()
    assert 300_000 < len(page) < 1_000_000
    assert page.count('<g class="tiles">') == page.count('class="street"') == 1
    assert "maps by A &amp; B" in page
    assert "t.mbtiles" not in page
    assert "t.mbtiles" not in (published.folder / "manifest.json").read_text()
    far = read_tiles(write_mbtiles(tmp_path / "far.mbtiles", (100, 10, 100.1, 10.1), (11,)))
    with pytest.raises(InputError, match="has no tile where the data is"):
        shoal.publish(
            calls,
            shoal.Glove(k=2),
            tmp_path / "none",
            rng=shoal.Randomness.from_system(),
            options=shoal.PublishOptions(ground=MapGround(tiles=far)),
        )
    assert not (tmp_path / "none").exists()
