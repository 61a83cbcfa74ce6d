"""Who one unit is: a table of trips that name nobody says so everywhere, and its bound follows from that."""

import csv
import json
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from command_line import Outcome, Shoal
from shoal import Randomness
from shoal.runtime.files import sha256_of
from shoal_tables import Ledger, Privacy, days_of
from shoal_tables.definition.manifest import CHOSEN, EACH_TRIP, MEASURED, OF_ONE_TRIP, OF_TWO_ENDS, Kind
from shoal_tables.making.calibration import cost_of, promise_of
from shoal_tables.making.ledger import registry_rows
from shoal_tables.making.rules import DaysKind
from shoal_tables.verification.checking import verify_table
from table_cases import AREA, FIRST, LAST, make, nested, rules_of

COLUMNS = ("ride_id", "started_at", "ended_at", "start_lat", "start_lng", "end_lat", "end_lng")


@pytest.fixture
def rides(tmp_path: Path) -> Path:
    """A file of bike-share trips of three days, in the layout that has no column of riders."""
    rng = np.random.default_rng(4)
    stations = np.stack([rng.uniform(*AREA[1::2], 9), rng.uniform(*AREA[::2], 9)], axis=1)
    path = tmp_path / "rides.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        for ride in range(900):
            start = datetime(2024, 1, 1) + timedelta(seconds=int(rng.integers(0, 3 * 86400)))
            ends = stations[rng.choice(9, 2, replace=False)].ravel().tolist()
            rows.writerow([f"ride {ride}", start, start + timedelta(minutes=20), *ends])
    return path


@pytest.mark.parametrize(
    ("table", "days", "chosen", "bound", "source"),
    [
        ("flows", "typical", None, 1 / 3, OF_ONE_TRIP),
        ("flows", "each", None, 1.0, OF_ONE_TRIP),
        ("flows", "typical", 0.25, 0.25, CHOSEN),
        ("presence", "typical", None, 2**0.5 / 3, OF_TWO_ENDS),
        ("presence", "each", None, 2**0.5, OF_TWO_ENDS),
        ("dwell", "typical", None, 2**0.5 / 3, OF_TWO_ENDS),
        ("dwell", "each", 0.5, 0.5, CHOSEN),
        ("homes", "typical", None, 1.0, MEASURED),
    ],
)
def test_a_table_of_trips_holds_and_states_its_unit_and_bound(
    tmp_path: Path,
    rides: Path,
    table: Kind,
    days: DaysKind,
    chosen: float | None,
    bound: float,
    source: str,
) -> None:
    privacy = Privacy(epsilon=1.0, bound=chosen, rng=Randomness.for_research(1))
    rules = rules_of(table, day_of=days_of(days, FIRST, LAST))
    made = make(tmp_path, rules, source=str(rides), privacy=privacy)
    stated = made.manifest
    assert (stated.unit_of_protection, stated.promise.bound_source) == (EACH_TRIP, source)
    assert stated.promise.bound == pytest.approx(bound, abs=1e-3)
    found = verify_table(str(rides), made.folder, secret=tmp_path / "counts.parquet")
    assert found.verdict.holds, found.verdict.findings
    assert (found.units_over == 0) == (source != CHOSEN)


@pytest.mark.parametrize(("table", "bound"), [("flows", 1.25**0.5 / 3), ("presence", 3**0.5 / 3)])
def test_a_bound_of_trips_holds_for_outer_zones_as_well(
    tmp_path: Path, rides: Path, table: Kind, bound: float
) -> None:
    """Both ends of a trip may lie in one outer zone, whose counts are half as long."""
    rules = rules_of(table, day_of=days_of("typical", FIRST, LAST), zones=nested(tmp_path, 4000))
    made = make(tmp_path, rules, source=str(rides))
    assert made.manifest.promise.bound == pytest.approx(bound, abs=1e-3)
    found = verify_table(str(rides), made.folder, secret=tmp_path / "counts.parquet")
    assert (found.verdict.findings, found.units_over) == ((), 0)


def test_a_trip_of_a_day_and_more_is_within_the_bound_of_its_two_ends(tmp_path: Path) -> None:
    """Its ends are in two zones, or at one place at one hour of two dates, which the bound shortens."""
    west, south, east, north = AREA
    ends = {
        "far": (south + 0.01, west + 0.01, north - 0.01, east - 0.01),
        "round": (south, west, south, west),
    }
    for name, place in ends.items():
        folder = tmp_path / name
        folder.mkdir()
        source = folder / "rides.csv"
        start = datetime(2024, 1, 1, 7, 30)
        rows = ([f"ride {ride}", start, start + timedelta(days=1), *place] for ride in range(300))
        with source.open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        made = make(folder, rules_of("presence", day_of=days_of("typical", FIRST, LAST)), source=str(source))
        found = verify_table(str(source), made.folder, secret=folder / "counts.parquet")
        assert found.verdict.holds, found.verdict.findings
        assert (found.units, found.units_over) == (300, 0 if name == "far" else 300)


def test_page_and_terminal_name_the_trip_as_the_unit(shoal: Shoal, tmp_path: Path, rides: Path) -> None:
    area = ",".join(map(str, AREA))
    words = ("--kind", "homes", "--grid", "20km", f"--area={area}", "--period", "2024-01-01,2024-01-03")
    targets = ("--output", tmp_path / "t", "--secret", tmp_path / "t.parquet", "--research-seed", "1")
    made = shoal("tabulate", rides, *words, "--epsilon", "1", *targets)
    page = (tmp_path / "t" / "report.html").read_text()
    unit = f"One unit is {EACH_TRIP}. A person with several trips is not protected as one."
    assert (made.code, unit in made.out, unit in page) == (0, True, True), made.err
    assert "Trips by the zone where they are on most nights." in page
    assert "for a person" not in page
    verified = shoal("verify", rides, tmp_path / "t", "--secret", tmp_path / "t.parquet")
    assert (verified.code, unit in verified.out) == (0, True), verified.out


def test_trips_cannot_be_passed_off_as_people(tmp_path: Path, rides: Path) -> None:
    folder = make(tmp_path, source=str(rides)).folder
    report, manifest = folder / "report.html", folder / "manifest.json"
    people = "each distinct value of column 'rider'"
    page, stated = report.read_text().replace(EACH_TRIP, people.replace("'", "&#39;")), manifest.read_text()
    report.write_text(page)
    entries = json.loads(stated) | {"unit_of_protection": people}
    entries["promise"]["bound_source"] = MEASURED
    entries["files"]["report.html"] = sha256_of(report)
    manifest.write_text(json.dumps(entries))
    assert verify_table(str(rides), folder).verdict.kinds == {"unit-differs"}


def test_a_plan_says_what_the_bound_of_trips_is(shoal: Shoal) -> None:
    area = ",".join(map(str, AREA))
    words = ("--kind", "flows", "--grid", "10km", f"--area={area}", "--period", "2024-01-01,2024-01-07")
    planned = shoal("tabulate", "absent.csv", *words, "--plan").out
    assert "each counts as one person: the bound is 0.143 instead, and the errors are 16.8" in planned
    assert (
        "counts as one person" not in shoal("tabulate", "absent.csv", *words, "--plan", "--id", "rider").out
    )
    chosen = shoal("tabulate", "absent.csv", *words, "--plan", "--bound", "0.142858").out
    assert "as of 0.143 of a count in one cell" in chosen
    assert "counts as one person" not in chosen


def test_a_ledger_names_the_unit_of_each_table_and_an_older_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    rules = rules_of("flows")
    cost = cost_of(rules, promise_of(rules, Privacy(epsilon=1.0)), EACH_TRIP)
    Ledger(path, "trips", 5.0).spend(cost)
    with closing(sqlite3.connect(path)) as connection:  # as ledgers were before tables stated their unit
        connection.execute("ALTER TABLE tables DROP COLUMN unit_of_protection")
    older = [row["privacy_unit"] for row in registry_rows(path)]
    assert older == ["one unit over the whole period; one unit is what the table's manifest says"]
    Ledger(path, "trips").spend(cost)
    units = [row["privacy_unit"] for row in registry_rows(path)]
    assert sorted(units) == sorted([*older, f"one unit over the whole period; one unit is {EACH_TRIP}"])


def test_a_ledger_takes_tables_of_one_unit_and_refuses_trips_beside_riders(
    shoal: Shoal, tmp_path: Path, rides: Path
) -> None:
    """Before any noise: nothing is spent, and no file stays."""
    pytest.importorskip("opendp")
    area, ledger = ",".join(map(str, AREA)), tmp_path / "l.sqlite"
    words = ("--kind", "homes", "--grid", "40km", f"--area={area}", "--period", "2024-01-01,2024-01-03")
    spend = ("--epsilon", "4", "--ledger", ledger, "--people", "riders")

    def tabulate(name: str, *more: str) -> Outcome:
        targets = ("--output", tmp_path / name, "--secret", tmp_path / f"{name}.parquet")
        return shoal("tabulate", rides, *words, *spend, *targets, *more)

    first = tabulate("trips", "--budget", "9")
    assert first.code == 0, first.err
    refused = tabulate("riders", "--id", "ride_id")
    assert refused.code == 2
    assert f"is {EACH_TRIP}; of this table it is each distinct value of column 'ride_id'" in refused.err
    assert Ledger(ledger, "riders").balance().tables == 1
    assert not list(tmp_path.glob("*riders*"))
    with closing(sqlite3.connect(ledger)) as connection, connection:  # as older versions allowed it
        connection.execute(
            "INSERT INTO tables SELECT 'other', spent_at, kind, unit, 0.001, epsilon, delta, sigma, 1, "
            "granularity, counts_sha256, 'each rider' FROM tables"
        )
    assert "tables in" in tabulate("again").err
    assert Ledger(ledger, "riders").balance().tables == 2
    found = verify_table(str(rides), tmp_path / "trips", ledger=ledger).verdict
    assert found.kinds == {"unit-differs"}


def test_an_area_with_latitude_first_is_told(shoal: Shoal, tmp_path: Path, rides: Path) -> None:
    west, south, east, north = AREA
    words = ("--kind", "flows", "--grid", "10km", f"--area={south},{west},{north},{east}")
    targets = ("--output", tmp_path / "t", "--secret", tmp_path / "t.parquet", "--research-seed", "1")
    period = ("--period", "2024-01-01,2024-01-03", "--epsilon", "1")
    refused = shoal("tabulate", rides, *words, *period, *targets)
    assert (refused.code, "--area is west,south,east,north in degrees" in refused.err) == (2, True), (
        refused.err
    )
    assert "working_crs" not in refused.err
