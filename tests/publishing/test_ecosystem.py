"""PLT and GPX files, and the frames of GeoPandas, trackintel and scikit-mobility.

There and back, and no box becomes a point unasked.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shoal
from command_line import Shoal
from shoal.errors import InputError, MisuseError, OutputError
from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.ecosystem import to_positionfixes, to_scikit_mobility
from shoal.publishing.point_files import PointFormat, write_points
from shoal.release_folder.folder import read_release
from shoal.runtime.randomness import Randomness
from small_releases import random_people

geopandas = pytest.importorskip("geopandas", reason="GeoPandas is not installed (the extra geo)")

NOON = 1_224_730_384  # 2008-10-23T02:53:04Z
LAEA = "+proj=laea +lat_0=39.9 +lon_0=116.3 +datum=WGS84 +units=m +no_defs"
PREAMBLE = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255,My Track,0,0,2,8421376\n0\n"
FIX = "39.984702,116.318417,0,492,39744.1201851852,2008-10-23,02:53:04\n"
GPX = """<?xml version="1.0"?><gpx xmlns="http://www.topografix.com/GPX/1/1"><wpt lat="1" lon="2"/>
<trk><trkseg>
<trkpt lat="39.984702" lon="116.318417"><ele>3</ele><time>2008-10-23T02:53:04Z</time></trkpt>
<trkpt lat="39.984" lon="116.31"><time>2008-10-23T02:55:04Z</time></trkpt>
<trkpt lat="39.9" lon="116.3"/></trkseg></trk></gpx>"""


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_geolife_folder_is_its_people(tmp_path: Path) -> None:
    for person, name in (("010", "a"), ("010", "b"), ("011", "c")):
        put(
            tmp_path / "Data" / person / "Trajectory" / f"{name}.plt",
            PREAMBLE + FIX + FIX.replace("53:04", f"5{ord(name) - 90}:04"[-5:]) + "1,2,3\n",
        )
    people = read(tmp_path)
    assert people.ids == ("010", "011")
    assert people.intake.dropped["line with the wrong number of fields"] == 3
    assert people.intake.rows_read == 9
    assert people.t.min() == NOON // 60
    assert read(tmp_path, person="file").ids == ("a", "b", "c")


def test_gpx_files_are_people_and_points_without_time_are_counted(tmp_path: Path) -> None:
    put(tmp_path / "ann" / "walk.gpx", GPX)
    put(tmp_path / "ann" / "run.gpx", GPX)
    people = read(tmp_path, snap=False)
    assert people.ids == ("run", "walk")
    assert people.lengths.tolist() == [2, 2]
    assert people.t[0] == NOON
    assert sum(people.intake.dropped.values()) == 2
    assert any("plans, not movement" in note for note in people.intake.notes)
    assert read(tmp_path, person="folder").ids == ("ann",)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.plt", "", "is empty"),
        ("a.plt", "uid,t\n", "does not begin like a PLT"),
        ("a.plt", PREAMBLE, "no rows"),
        ("a.gpx", "", "is empty"),
        ("a.gpx", GPX[:200], "may be cut off"),
        ("a.gpx", "<kml></kml>", "no GPX"),
        ("a.gpx", '<!DOCTYPE x [<!ENTITY a "b">]><gpx></gpx>', "entities"),
        ("a.gpx", "<gpx></gpx>", "no rows"),
    ],
)
def test_damaged_files_are_one_clear_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(put(tmp_path / name, text))


@pytest.fixture(scope="module")
def released() -> tuple[Trajectories, Release, Linkage]:
    people = random_people(12, 8, crs=LAEA)
    return (people, *Glove(k=3).anonymize(people, Randomness.from_system()))


def assert_same(back: Trajectories, people: Trajectories) -> None:
    assert back.ids == people.ids
    for column in ("offsets", "t", "x", "y"):
        assert np.array_equal(getattr(back, column), getattr(people, column))


def test_raw_data_there_and_back(released: tuple[Trajectories, Release, Linkage]) -> None:
    people = released[0]
    columns = to_scikit_mobility(people)
    assert list(columns) == ["uid", "datetime", "lat", "lng"]
    assert_same(read(columns, working_crs=LAEA), people)
    fixes = to_positionfixes(people)
    assert list(fixes) == ["user_id", "tracked_at", "geom"]
    assert_same(read(fixes, working_crs=LAEA), people)
    indexed = fixes.set_index("tracked_at").rename_axis("t")  # as MovingPandas keeps its times
    assert_same(read(indexed, working_crs=LAEA), people)
    assert_same(read(fixes.to_crs("EPSG:32650"), working_crs=LAEA), people)


def test_boxes_stay_boxes(released: tuple[Trajectories, Release, Linkage]) -> None:
    release, frame = released[1], released[1].to_geopandas()
    assert len(frame) == release.n_samples
    cells = (release.boxes.x_max - release.boxes.x_min) * (release.boxes.y_max - release.boxes.y_min)
    assert frame.area.to_numpy() == pytest.approx(cells * release.snapped_grid().cell_m ** 2)
    assert (frame["t_end"] > frame["t_start"]).all()
    assert frame["t_start"].iloc[0] == pd.Timestamp(int(release.boxes.t_start[0]) * 60, unit="s", tz="UTC")
    assert set(frame["trajectory_id"]) == set(release.trajectory_ids)


def test_a_box_becomes_a_point_only_when_told_how(released: tuple[Trajectories, Release, Linkage]) -> None:
    from shoal.publishing.ecosystem import points_of

    release = released[1]
    for convert in (to_scikit_mobility, to_positionfixes):
        with pytest.raises(MisuseError, match="say how with box_as center or first-corner;"):
            convert(release)
        assert len(convert(release, box_as="center")) == release.n_samples
    _, t_s, x_m, _ = points_of(release, "center")
    assert x_m == pytest.approx((release.boxes.x_min + release.boxes.x_max) * 50)
    assert t_s == pytest.approx((release.boxes.t_start + release.boxes.t_end) * 30)
    _, t_s, x_m, _ = points_of(release, "first-corner")
    assert x_m == pytest.approx(release.boxes.x_min * 100)
    with pytest.raises(MisuseError, match="local meters"):
        to_scikit_mobility(random_people(3, 3))


@pytest.mark.parametrize("how", ["gpx", "plt"])
def test_point_files_there_and_back(
    how: PointFormat, released: tuple[Trajectories, Release, Linkage], tmp_path: Path
) -> None:
    people, release, _ = released
    assert write_points(people, tmp_path / "raw", how) == people.n_subjects
    assert_same(read(tmp_path / "raw", working_crs=LAEA), people)
    with pytest.raises(MisuseError, match="say how with box_as"):
        write_points(release, tmp_path / "out", how)
    assert not (tmp_path / "out").exists()
    assert write_points(release, tmp_path / "out", how, box_as="first-corner") == release.n_records
    back = read(
        tmp_path / "out", working_crs=LAEA, cell_m=10
    )  # a corner lies on the edge of its cell: smaller ones tell it
    assert set(back.ids) == set(release.trajectory_ids)
    assert back.n_samples == release.n_samples
    for i, uid in enumerate(back.ids):
        boxes = release.record(release.trajectory_ids.index(uid))
        t, x, y = back.samples_of(i)
        assert t.tolist() == boxes.t_start.tolist()
        assert np.abs(x - boxes.x_min * 10).max() <= 1
        assert np.abs(y - boxes.y_min * 10).max() <= 1
    with pytest.raises(OutputError, match="exists"):
        write_points(people, tmp_path / "raw", how)
    with pytest.raises(MisuseError, match="local meters"):
        write_points(random_people(3, 3), tmp_path / "local", how)


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    ids = ["..", "../up", "a/b", "<&>", "plain.name"]
    people = Trajectories.from_rows(ids, [NOON // 60] * 5, range(5), range(5), grid=Grid(), crs=LAEA)
    write_points(people, tmp_path / "out", "gpx")
    files = {"%2E%2E.gpx", "%3C%26%3E.gpx", "%2E%2E%2Fup.gpx", "a%2Fb.gpx", "plain.name.gpx"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    assert read(tmp_path / "out", working_crs=LAEA).n_samples == 5


@pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # MovingPandas is behind pandas
def test_movingpandas_holds_the_same_points(released: tuple[Trajectories, Release, Linkage]) -> None:
    pytest.importorskip("movingpandas", reason="MovingPandas is not installed (the extra geo)")
    from shoal.publishing.ecosystem import to_movingpandas

    people, release, _ = released
    collection = to_movingpandas(people)
    assert len(collection.trajectories) == people.n_subjects
    back = collection.to_point_gdf()
    assert_same(read(back.rename_axis("t"), working_crs=LAEA, id="trajectory_id"), people)
    with pytest.raises(MisuseError, match="say how"):
        to_movingpandas(release)
    several = [
        np.unique(release.record(r).t_start + release.record(r).t_end) for r in range(release.n_records)
    ]
    with pytest.warns(UserWarning, match=f"of {release.n_samples} points"):
        held = to_movingpandas(release, box_as="center").to_point_gdf()
    assert len(held) == sum(len(moments) for moments in several if len(moments) > 1) < release.n_samples
    two_at_once = Trajectories.from_rows(
        ["a", "a", "a", "b"], [NOON // 60, NOON // 60, NOON, 1], [0, 1, 2, 3], [0] * 4, grid=Grid(), crs=LAEA
    )
    with pytest.warns(UserWarning, match="holds 2 of 4 points"):
        to_movingpandas(two_at_once)


def test_points_of_a_release_become_files_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = Shoal(capsys)
    assert call("synthesize", tmp_path / "c.parquet", "--subjects", 120, "--days", 1).code == 0
    swapped = ("--method", "swap-locations", "--no-snap", "--k", 2, "--risk-tries", 0)
    assert call("anonymize", tmp_path / "c.parquet", *swapped, "--output", tmp_path / "r").code == 0
    refused = call("convert", tmp_path / "r", tmp_path / "points", "--box-as", "center")
    assert (refused.code, "leave out --box-as" in refused.err) == (2, True)
    assert not (tmp_path / "points").exists()
    assert call("convert", tmp_path / "r", tmp_path / "points").code == 0
    release = read_release(tmp_path / "r")
    again = read(tmp_path / "points", snap=False)
    assert set(again.ids) == set(release.trajectory_ids)
    for name in release.trajectory_ids:
        text = (tmp_path / "points" / f"{name}.gpx").read_text()
        own = slice(*release.offsets[release.trajectory_ids.index(name) :][:2])
        points = release.points.columns()
        expected = [
            f'lat="{lat:.7f}" lon="{lon:.7f}"'
            for lat, lon in zip(points["lat"][own], points["lon"][own], strict=True)
        ]
        assert re.findall(r'lat="\S+" lon="\S+"', text) == expected
        assert "nobody's true movement" in text
    assert len(to_positionfixes(release)) == len(release.to_geopandas()) == release.n_samples
    with pytest.raises(MisuseError, match="leave out box_as"):
        to_scikit_mobility(release, box_as="center")


def test_importing_shoal_loads_none_of_it() -> None:
    import subprocess
    import sys

    code = (
        "import sys, shoal, shoal.io.reading; sys.exit('geopandas' in sys.modules or 'shapely' in "
        "sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert shoal.read is not None
