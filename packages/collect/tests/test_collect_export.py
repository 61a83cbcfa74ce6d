"""What a collector holds comes out as tables that inspect, attack, measure and maps read."""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from command_line import Shoal
from judge_collection import judge
from shoal.errors import InputError, OutputError
from shoal.measures.query import Zones, people_in_zones
from shoal_collect.collected.folder import export, outlines
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import MICRO, Blur, Cylinder, Point, cylinder_for, distance_m
from shoal_collect.matching.records import Release
from shoal_collect.storage.days import ReleaseRow, StoredReleases
from shoal_collect.storage.phi import PhiStore

DAY = 18_000
START_MIN = (DAY - 1) * 1440
N_PEOPLE = 12


def trip_of(number: int) -> list[Point]:
    """Four points in Lyon, an hour apart."""
    return [
        Point(45.75 + 0.003 * number + 0.01 * step, 4.85 + 0.002 * step, START_MIN + 60.0 * step)
        for step in range(4)
    ]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collector's database, the raw data of its people, and who owns what."""
    folder = tmp_path_factory.mktemp("lab")
    chance = Chance(bytes(32))
    owners = ["uid,identifier"]
    rows: list[tuple[str, float, float, int]] = []
    with PhiStore(folder / "collect.sqlite", chance.take) as store:
        store.database.change("UPDATE answers SET n = 61, withheld = 2")
        for number in range(N_PEOPLE):
            trip, key = trip_of(number), chance.seed()
            points = tuple(sorted(cylinder_for(one, Blur(radius_m=500, gap_min=30), key, 0) for one in trip))
            release = Release(chance.take(16), chance.take(16), chance.seed(), points)
            day = DAY if number < N_PEOPLE - 2 else DAY + 1
            owners.append(f"person {number},{store.add(release, day)}")
            rows += [(f"person {number}", one.lat_deg, one.lon_deg, round(one.t_min * 60)) for one in trip]
    (folder / "owners.csv").write_text("\n".join(owners) + "\n")
    uid, lat, lon, t = zip(*rows, strict=True)
    raw = {"uid": uid, "lat": lat, "lon": lon, "t": pa.array(t, pa.timestamp("s", tz="UTC"))}
    pq.write_table(pa.table(raw), folder / "raw.parquet")
    return folder


def exported(shoal: Shoal, lab: Path, output: Path, *more: str) -> dict[str, object]:
    """Run the command and read what it says."""
    done = shoal(
        "collect", "export", "--database", f"sqlite:///{lab / 'collect.sqlite'}", "--output", str(output),
        *more, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    told: dict[str, object] = json.loads(done.out)
    return told


def test_an_export_is_inspected_attacked_measured_and_drawn(shoal: Shoal, lab: Path, tmp_path: Path) -> None:
    folder, linkage, raw = tmp_path / "out", tmp_path / "linkage.parquet", str(lab / "raw.parquet")
    told = exported(shoal, lab, folder)
    assert (told["releases"], told["circles"]) == (N_PEOPLE, 4 * N_PEOPLE)
    assert (told["questions"], told["questions_not_answered"]) == (61, 2)
    assert json.loads((folder / "terms.json").read_text())["questions_not_answered"] == 2
    assert told["verdict"] == "NOT CHECKED"
    seen = shoal("inspect", str(folder / "circles.parquet"), "--time", "t_start", "--json")
    assert (seen.code, json.loads(seen.out)["subjects"]) == (0, N_PEOPLE), seen.err
    url, joined = f"sqlite:///{lab / 'collect.sqlite'}", tmp_path / "joined"
    assert judge(raw, url, lab / "owners.csv", joined, linkage).word == "HOLDS"
    boxes = str(joined / "boxes")
    claim = ("--claim", "blurred-at-source:width=1km,duration=30min")
    checked = shoal("verify", raw, boxes, "--linkage", str(linkage), *claim, "--json")
    assert checked.code == 0, checked.out
    attacked = shoal(
        "attack", raw, boxes, "--linkage", str(linkage), "--knowledge", "points:2", "--seed", "1", "--json"
    )
    rates = {(one["name"], one["target"]): one["rate"] for one in json.loads(attacked.out)["attacks"]}
    # nobody is hidden by blur alone, and the export does not say so
    assert rates["linkage", "release"] > 2 / N_PEOPLE
    measured = shoal("measure", raw, boxes, "--linkage", str(linkage), "--json")
    assert measured.code == 0, measured.err
    drawn = pytest.importorskip("geopandas").read_parquet(folder / "circles.parquet")
    assert drawn.geometry.is_valid.all()
    assert len(drawn) == 4 * (N_PEOPLE)


def test_bounds_from_the_boxes_hold_the_truth(lab: Path, tmp_path: Path) -> None:
    with PhiStore(lab / "collect.sqlite") as store:
        stored = StoredReleases(store.database).all()
    names = iter("abcdefghijkl")
    export(stored, [], (0, 0), tmp_path / "out", lambda: next(names))
    release = shoal.read_release(tmp_path / "out" / "boxes")
    people = shoal.read(lab / "raw.parquet", working_crs=release.crs)
    zones = Zones.over(people, 3000)
    bounds, truth = people_in_zones(release, zones), people_in_zones(people, zones).expected
    assert (bounds.minimum <= truth).all()
    assert (truth <= bounds.maximum).all()
    assert bounds.minimum.sum() > 0


def test_an_export_holds_no_identifier_tag_or_key(shoal: Shoal, lab: Path, tmp_path: Path) -> None:
    exported(shoal, lab, tmp_path / "out")
    everything = b"".join(
        file.read_bytes() for file in sorted((tmp_path / "out").rglob("*")) if file.is_file()
    )
    everything += b"".join(
        str(pq.read_table(file).to_pylist()).encode() for file in (tmp_path / "out").rglob("*.parquet")
    )
    secrets: list[bytes] = []
    with sqlite3.connect(lab / "collect.sqlite") as database:
        for row in database.execute(
            "SELECT identifier, claim_key, name, tag FROM record LEFT JOIN contributor USING (who)"
        ):
            secrets += [one.encode() if isinstance(one, str) else one for one in row if one is not None]
    assert len(secrets) == 4 * N_PEOPLE
    assert [one for one in secrets if one in everything or one.hex().encode() in everything] == []


def test_an_export_of_a_day_or_of_identifiers(shoal: Shoal, lab: Path, tmp_path: Path) -> None:
    day = str(np.datetime64(DAY + 1, "D"))
    assert exported(shoal, lab, tmp_path / "day", "--day", day)["releases"] == 2
    wanted = tmp_path / "wanted.txt"
    wanted.write_text((lab / "owners.csv").read_text().splitlines()[1].split(",")[1] + "\nnobody\n")
    assert exported(shoal, lab, tmp_path / "one", "--identifiers", str(wanted))["releases"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--database", "sqlite:///nowhere.sqlite"), "does not exist"),
        (("--day", "1999-01-01"), "nothing to export"),
        (("--identifiers", "nowhere.txt"), "cannot be read"),
    ],
)
def test_what_cannot_be_exported_is_told(
    shoal: Shoal, lab: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    given = ("--database", f"sqlite:///{lab / 'collect.sqlite'}", "--output", str(tmp_path / "out"), *options)
    done = shoal("collect", "export", *given)
    assert (done.code, said in done.err) == (2, True), done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("lat", "lon", "radius_m"),
    [
        (48.85, 2.35, 500),
        (0.0, 179.999, 1000),
        (-16.5, -179.99, 60_000),
        (89.9, 30.0, 40_000),
        (-90.0, 0, 9000),
    ],
)
def test_outlines_hold_their_circle_within_the_map(lat: float, lon: float, radius_m: int) -> None:
    shapely = pytest.importorskip("shapely")
    parts = outlines(lat, lon, radius_m)
    drawn = shapely.unary_union([shapely.Polygon(part) for part in parts])
    assert drawn.is_valid
    assert all((np.abs(part) <= [180.0, 90.0]).all() for part in parts)
    chance = Chance(bytes(32))
    inside = [
        (there_lat, (there_lon + 180) % 360 - 180)
        for there_lat, there_lon in (
            (lat + (chance.unit() - 0.5) * 1.2, lon + (chance.unit() - 0.5) * 1.2) for _ in range(2000)
        )
        if abs(there_lat) <= 90 and distance_m(lat, lon, there_lat, there_lon) <= radius_m
    ]
    if not inside:
        inside = [(lat, lon)]
    assert [
        place for place in inside if not drawn.buffer(1e-9).covers(shapely.Point(place[1], place[0]))
    ] == []


def test_an_export_that_exists_is_left_alone(lab: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with PhiStore(lab / "collect.sqlite") as store:
        stored = StoredReleases(store.database).all()
    with pytest.raises(OutputError, match="exists"):
        export(stored, [], (0, 0), tmp_path / "out", iter("abcdefghijklmnopq").__next__)
    with pytest.raises(InputError, match="nothing to export"):
        export([], [], (0, 0), tmp_path / "other", iter("abcdefghijklmnopq").__next__)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out"]


def test_every_record_gets_a_name_that_says_nothing_of_its_order(lab: Path, tmp_path: Path) -> None:
    points = (Cylinder(1000, 30, 45 * MICRO, 4 * MICRO, 500),)
    names = iter(["c", "a", "b"])
    stored = [ReleaseRow(f"{number:032x}", DAY, points) for number in range(3)]
    export(stored, [], (0, 0), tmp_path / "out", lambda: next(names))
    for table in ("circles", "boxes/release"):
        assert pq.read_table(tmp_path / "out" / f"{table}.parquet")["trajectory_id"].to_pylist() == [
            "a",
            "b",
            "c",
        ]
