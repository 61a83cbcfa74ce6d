"""A meter of a plane is a meter on the earth, or the plane is refused: by the reader and by the verifier."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.comparison.compare import compare
from shoal.comparison.study import Setting, Study
from shoal.errors import InputError
from shoal.model.intake import DEGREES_IGNORED, TOO_WIDE, Reading
from shoal.model.projection import (
    WGS84,
    PlaneLengths,
    equal_area_plane,
    error_in_words,
    is_far_from_center,
    is_geographic,
    is_plane_in_meters,
    transform,
)
from shoal.publishing.in_blocks import InBlocks
from shoal.runtime.arrays import Floats
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility.frontier import Budget

PARIS = (2.35, 48.86)
AROUND = "+proj=laea +lat_0=48.9 +lon_0=2.3 +datum=WGS84 +no_defs"
FALSE = {
    "kilometers": AROUND + " +units=km",
    "feet": AROUND + " +units=ft",
    "shrunk": "+proj=tmerc +lat_0=48.9 +lon_0=2.3 +k_0=0.001 +datum=WGS84 +units=m +no_defs",
    "a little shrunk": "+proj=tmerc +lat_0=48.9 +lon_0=2.3 +k_0=0.985 +datum=WGS84 +units=m +no_defs",
    "another meter": AROUND + " +to_meter=0.001",
    "mercator": "EPSG:3857",
    "around elsewhere": "+proj=laea +lat_0=0 +lon_0=100 +datum=WGS84 +units=m +no_defs",
    "plate carree": "+proj=eqc +lat_ts=0 +datum=WGS84 +units=m +no_defs",
}
TRUE = {
    "around": AROUND + " +units=m",
    "lambert": "EPSG:2154",
    "utm": "EPSG:32631",
    "europe": "EPSG:3035",
}


def lengths_at(crs: str, lon: Floats, lat: Floats) -> tuple[int, int, float, int]:
    lengths = PlaneLengths(crs)
    lengths.measure(*transform(WGS84, crs, lon, lat))
    return lengths.errors()


def city() -> tuple[Floats, Floats]:
    draw = np.random.default_rng(1)
    return PARIS[0] + draw.uniform(-0.2, 0.2, 60), PARIS[1] + draw.uniform(-0.2, 0.2, 60)


@pytest.mark.parametrize("name", TRUE)
def test_planes_that_count_in_meters_pass(name: str) -> None:
    assert lengths_at(TRUE[name], *city()) == (60, 0, 0.0, 0)


@pytest.mark.parametrize("name", FALSE)
def test_planes_that_do_not_are_found_wherever_they_are(name: str) -> None:
    places, wrong, worst, far = lengths_at(FALSE[name], *city())
    assert (wrong, far) == (places, 0)
    assert worst > 0.01


@pytest.mark.parametrize(
    ("code", "expected"),
    [(2154, True), (31468, True), (2048, False), (2065, False), (3413, False), (2263, False), (4326, False)],
    ids=str,
)
def test_a_plane_in_meters_counts_eastward_and_northward(code: int, expected: bool) -> None:
    """Not westward and southward, not from a pole, not in feet, not in degrees; in either order."""
    assert is_plane_in_meters(f"EPSG:{code}") is expected


def test_the_error_is_that_of_the_geodesic_distance() -> None:
    """A kilometer for a meter is a factor of 1,000; Mercator stretches by 1 / cos(latitude)."""
    _, _, worst, _ = lengths_at(FALSE["kilometers"], *city())
    assert worst == pytest.approx(999, rel=1e-3)
    _, _, worst, _ = lengths_at("EPSG:3857", np.array([2.35]), np.array([60.0]))
    assert worst == pytest.approx(1 / np.cos(np.radians(60)) - 1, rel=0.01)


def test_far_from_the_middle_an_equal_area_plane_is_as_good_as_any() -> None:
    """Nobody is refused for data on three continents; but no plane hides behind them."""
    lon = np.concatenate([np.full(50, 116.4), np.full(5, -122.4), np.full(5, 2.35)]) + np.arange(60) / 1000
    lat = np.concatenate([np.full(50, 39.9), np.full(5, 37.8), np.full(5, 48.86)])
    own = equal_area_plane(lon, lat)
    places, wrong, _, far = lengths_at(own, lon, lat)
    assert (places, wrong) == (60, 0)
    assert 10 <= far < 60
    assert lengths_at(own.replace("+units=m", "+units=km"), lon, lat)[1] == 60
    assert lengths_at(own.replace("+units=m", "+to_meter=0.5"), lon, lat)[1] == 60
    assert lengths_at("+proj=laea +lat_0=37.8 +lon_0=-122.4 +datum=WGS84 +units=m", lon, lat)[1] == 55


def test_a_country_wide_plane_is_noted_and_not_refused() -> None:
    lon, lat = np.linspace(-124, -67, 40), np.linspace(47, 26, 40)
    _, wrong, _, far = lengths_at(equal_area_plane(lon, lat), lon, lat)
    assert wrong == 0
    assert 0 < far < 20


def test_places_off_the_plane_are_wrong() -> None:
    lengths = PlaneLengths(AROUND)
    lengths.measure(np.array([0.0, 1e12, 9.0]), np.array([0.0, 0.0, 9.0]))
    assert lengths.errors() == (3, 1, np.inf, 0)


def test_half_of_the_places_must_be_right() -> None:
    lon, lat = np.array([2.35, 2.36, 116.4, 116.5]), np.array([48.86, 48.86, 39.9, 39.9])
    around_paris = AROUND + " +units=m"
    assert lengths_at(around_paris, lon, lat)[1:] == (0, 0.0, 2)
    assert lengths_at(around_paris, lon[1:], lat[1:])[1] == 2


def test_the_errors_in_words() -> None:
    assert error_in_words(0.0123) == "by 1.2 %"
    assert error_in_words(999.0) == "by a factor of 1e+03"
    assert error_in_words(np.inf) == "without bound"


@pytest.mark.parametrize(
    "text",
    [
        "+init=/etc/x:1",
        "+proj=longlat +nadgrids=@/etc/x",
        "+proj=x +geoid GRIDS = y",
        "+proj=pipeline +step +proj=tinshift",
        'PARAMETERFILE["x"]',
        '{"name": "Latitude difference file", "value": "/etc/x"}',
    ],
)
def test_a_system_that_names_a_file_is_refused_everywhere(text: str) -> None:
    for opens in (is_geographic, is_plane_in_meters, lambda crs: transform(WGS84, crs, *city())):
        with pytest.raises(InputError, match="names a file"):
            opens(text)


# --- reading ------------------------------------------------------------------------------------------------


def fixes(n: int = 60) -> pa.Table:
    lon, lat = city()
    return pa.table({"id": [f"u{k % 6}" for k in range(n)], "t": list(range(n)), "lon": lon, "lat": lat})


@pytest.mark.parametrize("name", sorted(set(FALSE) - {"around elsewhere"}))
def test_shoal_reads_into_no_such_plane(name: str) -> None:
    for snap in (True, False):
        with pytest.raises(InputError, match="differ from true ones"):
            shoal.read(fixes(), working_crs=FALSE[name], time_unit="s", snap=snap)


@pytest.mark.parametrize("name", TRUE)
def test_shoal_reads_into_true_planes(name: str) -> None:
    assert shoal.read(fixes(), working_crs=TRUE[name], time_unit="s").crs == TRUE[name]


def test_planar_points_that_would_stay_in_mercator_are_refused() -> None:
    x, y = transform(WGS84, "EPSG:3857", *city())
    planar = pa.table({"id": ["a", "b"] * 30, "t": list(range(60)), "x": x, "y": y})
    with pytest.raises(InputError, match="name another with working_crs"):
        shoal.read(planar, crs="EPSG:3857", snap=False, time_unit="s")
    kept = shoal.read(planar, crs="EPSG:3857", working_crs="EPSG:2154", snap=False, time_unit="s")
    assert kept.crs == "EPSG:2154"
    assert shoal.read(planar, crs="EPSG:3857", time_unit="s").crs is not None  # snapped: a plane of its own


@pytest.mark.parametrize(("x", "y"), [("lon", "lat"), ("LONGITUDE", "Latitude"), ("lng", "north")])
def test_degrees_read_as_local_meters_are_refused(x: str, y: str) -> None:
    table = fixes().rename_columns(["id", "t", x, y])
    with pytest.raises(InputError, match="are named as degrees are, and would be read as local meters"):
        shoal.read(table, x=x, y=y, crs="local", time_unit="s")


def test_local_meters_beside_degrees_are_noted() -> None:
    beside = (
        fixes().append_column("x", pa.array(np.arange(60.0))).append_column("y", pa.array(np.arange(60.0)))
    )
    people = shoal.read(beside, x="x", y="y", crs="local", time_unit="s")
    assert [note for note in people.intake.notes if note.startswith(DEGREES_IGNORED)]


def test_one_outlier_refuses_no_reading_but_its_release() -> None:
    lon, lat = city()
    x, y = transform(WGS84, "EPSG:2154", lon, lat)
    x[7] = 9e6
    planar = pa.table({"id": ["a", "b"] * 30, "t": list(range(60)), "x": x, "y": y})
    assert shoal.read(planar, crs="EPSG:2154", snap=False, time_unit="s").n_samples == 60
    lengths = PlaneLengths("EPSG:2154")
    lengths.measure(x, y)
    _, wrong, _, far = lengths.errors()
    assert wrong + far == 1


def tracks(middles: list[tuple[float, float]], name: Path, *, crs: str = WGS84) -> Path:
    """A person at each of these places (degrees), in a file of the system."""
    rows = []
    for person, (lon, lat) in enumerate(middles):
        x, y = transform(WGS84, crs, lon + np.arange(4) / 500, np.full(4, lat))
        rows += [f"p{person},{k * 3600},{float(x[k])!r},{float(y[k])!r}" for k in range(4)]
    columns = "lon,lat" if crs == WGS84 else "x,y"
    name.write_text("\n".join([f"id,time,{columns}", *rows]))
    return name


POLES = [(40.0 * k, 89.0 * (-1) ** k) for k in range(8)]
TWO_CITIES = [(2.35 + k / 10, 48.86) for k in range(6)] + [(151.2 + k / 10, -33.9) for k in range(2)]
GLOVE = (Setting(label="glove", name="glove", method=shoal.Glove(k=2)),)
WIDE = {"both poles": POLES, "two cities": TWO_CITIES}


@pytest.mark.parametrize("wide", sorted(WIDE))
def test_what_spans_the_earth_is_noted_and_released_in_no_way(wide: str, tmp_path: Path) -> None:
    """Before the method runs, which would refuse k = 100."""
    source = tracks(WIDE[wide], tmp_path / "people.csv")
    people = shoal.read(source, time_unit="s")
    (note,) = [note for note in people.intake.notes if note.startswith(TOO_WIDE)]
    assert note.startswith(f"{TOO_WIDE}: 100 % of the positions of people.csv lie so far from the middle")
    rng, there = Randomness.for_research(1), tmp_path / "release"
    refused = pytest.raises(InputError, match=r"for one plane.* publish each region on its own")
    with refused:
        shoal.publish(people, shoal.Glove(k=100), there, rng=rng)
    with refused:
        in_blocks = InBlocks(source=source, reading=Reading(time_unit="s"), size=1000, engine=Run())
        shoal.publish(in_blocks, shoal.Glove(k=100), there, rng=rng)
    with refused:
        compare(people, Study(settings=GLOVE, budget=Budget(), knowledge=("points:4",)), tmp_path / "study")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_planar_input_that_spans_the_earth_is_noted_too(tmp_path: Path) -> None:
    source = tracks([(-170 + 40 * k, 0.5) for k in range(9)], tmp_path / "people.csv", crs="EPSG:3857")
    assert any(
        note.startswith(TOO_WIDE) for note in shoal.read(source, crs="EPSG:3857", time_unit="s").intake.notes
    )


@pytest.mark.parametrize(
    "places",
    [
        [(-124 + 57 * k / 40, 47 - 21 * k / 40) for k in range(40)],
        [(2.35 + k / 10, 48.86) for k in range(40)] + [(-122.4, 37.8)],
        [(2.35, 48.86)],
    ],
    ids=["a continent", "a city and a traveler", "one place"],
)
def test_what_lies_around_its_middle_is_not(places: list[tuple[float, float]], tmp_path: Path) -> None:
    people = shoal.read(tracks(places, tmp_path / "people.csv"), time_unit="s")
    assert not [note for note in people.intake.notes if note.startswith(TOO_WIDE)]


def test_far_is_where_distances_are_measured_as_wrong() -> None:
    """The formula for a sphere against geodesic distances, along a meridian and the equator."""
    for turn in (0.0, 90.0):
        along = np.linspace(-40, 40, 81)
        lon, lat = (along, np.full(81, 0.0)) if turn else (np.full(81, 0.0), along)
        plane = PlaneLengths("+proj=laea +lat_0=0 +lon_0=0 +datum=WGS84 +units=m +no_defs")
        for k in range(81):
            plane.measure(*transform(WGS84, plane._crs, lon[k : k + 1], lat[k : k + 1]))
        error = np.concatenate(plane._parts)[:, 2]
        assert (is_far_from_center(0.0, 0.0, lon, lat) == (error > 0.01)).all()
