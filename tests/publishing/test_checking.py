"""Files as other tools publish them: what ``shoal check`` says of each."""

import base64
import csv
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from command_line import Shoal
from shoal.errors import InputError, MisuseError
from shoal.publishing.foreign_links import match_people

NOON_S = 1_714_564_800
RAW = ("uid", "t", "lat", "lon")


def people(n: int = 24, samples: int = 6, seed: int = 3) -> list[tuple[str, int, float, float]]:
    """Rows of people who stay near a home each, with names that stand nowhere by chance."""
    rng = np.random.default_rng(seed)
    homes = np.column_stack([48.80 + 0.2 * rng.random(n), 2.25 + 0.2 * rng.random(n)])
    return [
        (
            f"person-{one:04d}",
            NOON_S + int(rng.integers(0, 86_400)),
            round(float(homes[one, 0] + rng.normal(0, 0.003)), 6),
            round(float(homes[one, 1] + rng.normal(0, 0.003)), 6),
        )
        for one in range(n)
        for _ in range(samples)
    ]


def write(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write(tmp_path / "raw.csv", RAW, people())


def pseudonym(uid: str) -> str:
    """A keyed hash: nobody can list these without the key."""
    return hashlib.blake2b(uid.encode(), key=b"not in any file", digest_size=8).hexdigest()


def test_rounded_coordinates_under_pseudonyms_leave_everybody_alone(tmp_path: Path, raw: Path) -> None:
    rows = [(pseudonym(u), t // 60 * 60, round(lat, 3), round(lon, 3)) for u, t, lat, lon in people()]
    made = write(tmp_path / "made.csv", ("user", "t", "lat", "lon"), rows)
    linkage = write(
        tmp_path / "links.csv",
        ("uid", "trajectory_id"),
        sorted({(row[0], pseudonym(row[0])) for row in people()}),
    )
    found = shoal.check(made, raw, claim="k-anonymity:2", linkage=linkage, tries=24)
    assert (found.k, found.records, found.records_below) == (1, 24, 24)
    assert found.verdict.word == "DOES NOT HOLD"
    assert found.verdict.kinds == {"class-below-k"}
    assert found.true_share == 1
    assert found.covered_share == 1
    assert any("0.001 degrees" in note and "around it" in note for note in found.notes)
    assert any("1 min" in note and "begins at it" in note for note in found.notes)
    rates = {(rate.name, rate.knowledge, rate.target): rate.rate for rate in found.rates}
    assert rates["linkage", "4 exact points", "release"] > 0.9
    assert "person-" not in json.dumps(found.to_json())


def test_the_same_people_are_found_without_a_linkage(tmp_path: Path, raw: Path) -> None:
    rows = [(pseudonym(u), t // 60 * 60, round(lat, 3), round(lon, 3)) for u, t, lat, lon in people()]
    made = write(tmp_path / "made.csv", ("user", "t", "lat", "lon"), rows)
    found = shoal.check(made, raw, claim="k-anonymity:2", tries=24)
    assert found.verdict.word == "DOES NOT HOLD"  # classes of one are below 2, whoever is behind them
    assert found.covered_share is None
    assert any("found by content: 100 %" in note for note in found.notes)
    assert any(
        rate.name == "linkage" and rate.target == "release" and rate.rate > 0.9 for rate in found.rates
    )


def arx(rows: Sequence[tuple[str, int, float, float]], k: int) -> list[tuple[str, str, str]]:
    """A table anonymizer without ids: each k rows in a row of the order of time share ranges, [a, b[."""
    order = sorted(range(len(rows)), key=lambda place: rows[place][1])
    made: list[tuple[str, str, str]] = [("", "", "")] * len(rows)
    for first in range(0, len(order), k):
        own = order[first : first + k]
        times = [rows[place][1] for place in own]
        places = [[rows[place][column] for place in own] for column in (2, 3)]
        cells = [f"[{min(times)}, {max(times) + 1}["]
        cells += [f"[{min(each)}, {float(max(each)) + 1e-6:.6f}[" for each in places]
        for place in own:
            made[place] = (cells[0], cells[1], cells[2])
    return made


def test_intervals_of_a_table_anonymizer_hold_row_by_row(tmp_path: Path) -> None:
    rows = people(n=40, samples=1)
    raw = write(tmp_path / "raw.csv", RAW, rows)
    made = write(tmp_path / "made.csv", ("time", "lat", "lon"), arx(rows, 5))
    found = shoal.check(
        made, raw, claim="k-anonymity:5,truthful", layout=shoal.FileLayout(row_order=True), tries=40
    )
    assert found.verdict.word == "HOLDS"
    assert (found.k, found.true_share, found.covered_share) == (5, 1, 1)
    rates = {(rate.name, rate.target): rate.rate for rate in found.rates}
    assert rates["unicity", "raw"] == 1
    assert rates["unicity", "release"] == 0
    assert rates["linkage", "release"] <= 1 / 5
    unknown = shoal.check(made, raw, claim="k-anonymity:5,truthful", tries=0)
    assert unknown.verdict.word == "NOT CHECKED"
    assert unknown.verdict.findings == ()


def test_five_rows_of_one_person_are_no_five_people(tmp_path: Path) -> None:
    rows = [(f"person-{row // 5:04d}", NOON_S + row // 5 * 3600 + row % 5, 48.85, 2.35) for row in range(20)]
    raw = write(tmp_path / "raw.csv", RAW, rows)
    made = write(tmp_path / "made.csv", ("hour", "lat", "lon"), [
        (f"2024-05-01 {12 + row // 5}", "[48.8, 48.9[", "[2.3, 2.4[") for row in range(20)
    ])  # fmt: skip
    told = shoal.check(made, raw, claim="k-anonymity:5", layout=shoal.FileLayout(row_order=True), tries=0)
    assert told.verdict.kinds == {"class-below-k"}
    assert told.k == 1
    looked_for = shoal.check(made, raw, claim="k-anonymity:5", tries=0)
    assert looked_for.verdict.kinds == {"class-without-subjects"}


def test_moved_points_are_not_true_and_are_still_linked(tmp_path: Path, raw: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [
        (pseudonym(u), t, lat + rng.normal(0, 0.002), lon + rng.normal(0, 0.003))
        for u, t, lat, lon in people()
    ]
    made = write(tmp_path / "made.csv", ("id", "t", "lat", "lon"), rows)
    found = shoal.check(made, raw, claim="k-anonymity:2,truthful", tries=24)
    assert {"class-below-k", "sample-without-own-point"} <= found.verdict.kinds
    assert found.true_share == 0
    assert any("within" in note and "found by content" in note for note in found.notes)
    rates = {(rate.name, rate.knowledge, rate.target): rate.rate for rate in found.rates}
    assert rates["nearest-linkage", "4 true points", "release"] > 0.9


@pytest.mark.parametrize("name", ["raw ids", "plain hashes"])
def test_names_that_tell_who_it_is_are_found(name: str, tmp_path: Path, raw: Path) -> None:
    def told(uid: str) -> str:
        return uid if name == "raw ids" else hashlib.md5(uid.encode()).hexdigest()

    rows = [(told(u), "*", f"{lat:.1f}", f"{lon:.1f}") for u, t, lat, lon in people()]
    made = write(tmp_path / "made.csv", ("id", "t", "lat", "lon"), rows)
    found = shoal.check(made, raw, tries=0)
    assert found.verdict.kinds == {"raw-identifier"}
    shown = json.dumps(found.to_json())
    assert "person-" not in shown
    assert told("person-0001") not in shown


IN_ANOTHER_COLUMN: dict[str, tuple[Callable[[str, int, float, float], Any], set[str], int]] = {
    "seconds": (lambda u, t, lat, lon: t, {"raw-value"}, 0),
    "nanoseconds": (lambda u, t, lat, lon: t * 10**9, {"raw-value"}, 0),
    "dates in text": (lambda u, t, lat, lon: f"at {np.datetime64(t, 's')}", {"raw-value"}, 0),
    "places in text": (lambda u, t, lat, lon: f"seen at {lat}, {lon}", {"raw-value"}, 0),
    "degrees as whole numbers": (lambda u, t, lat, lon: round(lat * 1e7), {"raw-value"}, 0),
    "a name in text": (lambda u, t, lat, lon: f"call of {u}", {"raw-identifier"}, 0),
    "a name encoded": (lambda u, t, lat, lon: base64.b64encode(u.encode()).decode(), {"raw-identifier"}, 0),
    "a hash": (lambda u, t, lat, lon: hashlib.sha1(u.encode()).hexdigest(), {"raw-identifier"}, 0),
    "hours": (lambda u, t, lat, lon: t // 3600 * 3600, set(), 0),
    "places moved by as much": (lambda u, t, lat, lon: round(lat + 0.01, 6), set(), 1),
    "a row packed": (lambda u, t, lat, lon: zlib.compress(f"{u} {t}".encode()), set(), 1),
    "a row encoded": (lambda u, t, lat, lon: base64.b85encode(f"{t} {lat}".encode()).decode(), set(), 1),
    "numbers of the people": (lambda u, t, lat, lon: zlib.crc32(u.encode()), set(), 1),
    "ages": (lambda u, t, lat, lon: 18 + t % 60, set(), 0),
    "lists": (lambda u, t, lat, lon: [t], set(), 1),
}


@pytest.mark.parametrize("what", IN_ANOTHER_COLUMN)
def test_what_is_raw_is_found_in_columns_that_are_not_used(what: str, raw: Path) -> None:
    value, kinds, unchecked = IN_ANOTHER_COLUMN[what]
    rows = people()
    made = pa.table(
        {
            "lat": ["[48, 50["] * len(rows),
            "lon": ["*"] * len(rows),
            "hour": [str(np.datetime64(t, "s"))[:13].replace("T", " ") for _, t, _, _ in rows],
            "more": [value(*row) for row in rows],
        }
    )
    found = shoal.check(made, raw, layout=shoal.FileLayout(row_order=True), tries=0)
    assert found.verdict.kinds == kinds
    assert len(found.verdict.unchecked) == unchecked
    assert not any(uid in str(found.to_json()) for uid, *_ in rows)


def test_a_table_of_counts_is_no_table_of_records(raw: Path) -> None:
    made = pa.table({"cell": ["u09", "u0d"], "hour": ["2024-05-01 10"] * 2, "n_people": [12, 40]})
    with pytest.raises(InputError, match=r"is a table of counts, not of records.*kind flows"):
        shoal.check(made, raw, tries=0)


def test_geohashes_with_hours(tmp_path: Path) -> None:
    rows = [(f"person-{one:04d}", NOON_S + 60 * one, 42.60 + one * 1e-4, -5.60) for one in range(6)]
    raw = write(tmp_path / "raw.csv", RAW, rows)
    made = write(tmp_path / "made.csv", ("geohash", "hour"), [("ezs42", "2024-05-01 12")] * 6)
    found = shoal.check(
        made, raw, claim="k-anonymity:6,truthful", layout=shoal.FileLayout(row_order=True), tries=0
    )
    assert found.verdict.holds
    assert found.columns == {"time": "hour", "cell": "geohash"}


def test_hours_beside_dates_and_numbers_of_32_bits(tmp_path: Path) -> None:
    rows = people(n=12, samples=1)
    raw = write(tmp_path / "raw.csv", RAW, rows)
    moments = [np.datetime64(t, "s") for _, t, _, _ in rows]
    made = pa.table({
        "date": [str(moment.astype("datetime64[D]")) for moment in moments],
        "hour": [int(str(moment)[11:13]) for moment in moments],
        "lat": pa.array([row[2] for row in rows], pa.float32()),
        "lon": pa.array([row[3] for row in rows], pa.float32()),
    })  # fmt: skip
    found = shoal.check(
        made, raw, claim="k-anonymity:2,truthful", layout=shoal.FileLayout(row_order=True), tries=0
    )
    assert found.true_share == 1
    assert found.verdict.kinds == {"class-below-k"}


def test_h3_cells_with_days(tmp_path: Path) -> None:
    h3 = pytest.importorskip("h3")
    rows = people(n=40, samples=2)
    raw = write(tmp_path / "raw.csv", RAW, rows)
    made = write(tmp_path / "made.csv", ("pseudonym", "date", "h3"), [
        (pseudonym(u), "2024-05", h3.latlng_to_cell(lat, lon, 7)) for u, t, lat, lon in rows
    ])  # fmt: skip
    linkage = write(
        tmp_path / "links.csv", ("uid", "pseudonym"), sorted({(r[0], pseudonym(r[0])) for r in rows})
    )
    found = shoal.check(made, raw, claim="k-anonymity:2,truthful", linkage=linkage, tries=20)
    assert found.true_share == 1
    assert found.covered_share == 1
    assert found.verdict.kinds == {"class-below-k"}
    assert found.rates


def test_a_release_of_shoal_is_judged_as_its_own_verifier_does(tmp_path: Path) -> None:
    city = shoal.read(shoal.synthesize(n_subjects=30, days=2, seed=1))
    published = shoal.publish(
        city, shoal.Glove(k=3), tmp_path / "release", rng=shoal.Randomness.from_system(), tries=0,
        linkage_file=tmp_path / "linkage.parquet",
    )  # fmt: skip
    assert city.crs is not None
    found = shoal.check(
        published.folder / "release.parquet",
        shoal.synthesize(n_subjects=30, days=2, seed=1),
        claim="k-anonymity:3,truthful",
        linkage=tmp_path / "linkage.parquet",
        layout=shoal.FileLayout(crs=city.crs),
        working_crs=city.crs,
        tries=0,
    )
    assert found.verdict.holds
    assert found.covered_share is not None
    assert found.covered_share == 1 - published.release.losses.samples_suppressed / city.n_samples


def test_the_command_says_it_and_exits_by_it(
    tmp_path: Path, raw: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    made = write(tmp_path / "made.csv", ("where", "t"), [("*", "*")] * len(people()))
    words = ("check", made, "--raw", raw, "--as", "lat=where", "--as", "lon=where")
    assert command(*words).code == 2  # one column cannot be both
    whole = write(tmp_path / "whole.csv", ("lat", "lon", "t"), [("*", "*", "*")] * len(people()))
    told = command(
        "check", whole, "--raw", raw, "--row-by-row", "--claim", "k-anonymity:5", "--tries", "10", "--json"
    )
    assert told.code == 0
    assert json.loads(told.out)["k"] == 24
    assert command("check", whole, "--raw", raw, "--claim", "k-anonymity:5", "--tries", "0").code == 3
    fails = command("check", whole, "--raw", raw, "--row-by-row", "--claim", "k-anonymity:25", "--tries", "0")
    assert fails.code == 1
    assert "DOES NOT HOLD: k-anonymity:25" in fails.out
    assert command("check", whole, "--raw", raw, "--claim", "kte-anonymity:2,tau=1h").code == 2


BAD: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]], str]] = {
    "no column": (("who", "what"), [("a", "b")], "no column of places or times"),
    "no rows": (("id", "t", "lat", "lon"), [], "no rows"),
    "unknown cells": (("cell", "t"), [("site 14", 5), ("site 15", 6)], "neither geohashes nor cells of H3"),
    "planar beside degrees": (("id", "t", "x", "y"), [("a", 5, 1, 2)], "say with crs which plane"),
    "nothing readable": (("id", "t", "lat", "lon"), [("a", "then", "north", "east")], "can be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_checked_is_refused_in_words(name: str, tmp_path: Path, raw: Path) -> None:
    names, rows, message = BAD[name]
    made = write(tmp_path / "made.csv", names, rows)
    with pytest.raises(InputError, match=message):
        shoal.check(made, raw, tries=0)


def test_settings_that_cannot_work_are_refused(tmp_path: Path, raw: Path) -> None:
    made = write(tmp_path / "made.csv", RAW, people())
    with pytest.raises(MisuseError, match="no part of a published file"):
        shoal.check(made, raw, layout=shoal.FileLayout(columns={"age": "age"}))
    with pytest.raises(MisuseError, match="not both"):
        shoal.check(made, raw, linkage=tmp_path / "links.csv", layout=shoal.FileLayout(row_order=True))
    with pytest.raises(InputError, match="as many"):
        shoal.check(
            write(tmp_path / "fewer.csv", RAW, people()[:-1]), raw, layout=shoal.FileLayout(row_order=True)
        )


def test_rows_that_cannot_be_read_are_never_left_out_in_silence(tmp_path: Path, raw: Path) -> None:
    rows = [("*", "*", "*")] * 5 + [("then", "*", "*")]
    made = write(tmp_path / "made.csv", ("t", "lat", "lon"), rows)
    found = shoal.check(made, raw, tries=0)
    assert found.verdict.word == "NOT CHECKED"
    assert "1 rows" in found.verdict.why_not


def test_as_many_records_as_possible_get_a_person() -> None:
    # the first record takes person 0 unless it makes room for the second, which fits nobody else
    named = np.array([[0, 1, -1], [0, -1, -1], [1, 2, -1]])
    assert match_people(named, 3).tolist() == [1, 0, 2]
    assert match_people(np.array([[0], [0]]), 1).tolist().count(-1) == 1
