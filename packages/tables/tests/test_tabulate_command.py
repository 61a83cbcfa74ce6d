"""The command: a first table, its document, the plan, and what it refuses with exit 2."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.cli.terminal import Bars
from shoal_tables.making.calibration import add_noise
from table_cases import AREA, city

AREA_WORDS = ",".join(map(str, AREA))
FIRST = ("--kind", "flows", "--grid", "10km", f"--area={AREA_WORDS}", "--period", "2024-01-01,2024-01-03")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    pq.write_table(city(), tmp_path / "calls.parquet")
    return tmp_path / "calls.parquet"


def test_a_table_is_made_with_a_ledger_and_the_next_is_refused(
    shoal: Shoal, tmp_path: Path, calls: Path
) -> None:
    pytest.importorskip("opendp")
    homes = ("--kind", "homes", "--grid", "20km", *FIRST[4:])
    ledger = ("--ledger", tmp_path / "l.sqlite", "--people", "city")
    words = ("tabulate", calls, *homes, "--epsilon", "1", *ledger)
    (tmp_path / ".a.parquet.partial-0123").touch()  # as a stopped run leaves the counts before noise
    made = shoal(*words, "--budget", "1.2", "--output", tmp_path / "a", "--secret", tmp_path / "a.parquet")
    assert made.code == 0
    told = [line for line in made.err.splitlines() if ".partial-" in line]
    assert [line.rpartition(": ")[2] for line in told] == [f"rm -r {tmp_path}/.a.parquet.partial-0123"]
    assert "at most 73.1 % of guesses" in made.out
    assert "epsilon 1 of 1.2 is spent" in made.out
    again = shoal(*words, "--output", tmp_path / "b", "--secret", tmp_path / "b.parquet")
    assert (again.code, "their budget is 1.2" in again.err) == (2, True)
    assert not (tmp_path / "b").exists()
    assert "epsilon 1 of 1.2 is spent" in shoal("ledger", tmp_path / "l.sqlite").out
    rows = json.loads(shoal("ledger", tmp_path / "l.sqlite", "--json").out)["deployments"]
    assert [row["name"][:14] for row in rows] == ["table of homes"]
    assert shoal("ledger", tmp_path / "absent.sqlite").code == 2


def test_a_command_that_another_overtook_leaves_no_secret(
    shoal: Shoal, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(*arguments: Any) -> Any:
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "a" / "manifest.json").touch()
        return add_noise(*arguments)

    monkeypatch.setattr("shoal_tables.making.tabulate.add_noise", overtaken)
    words = ("--epsilon", "1", "--research-seed", "3", "--output", tmp_path / "a")
    late = shoal("tabulate", calls, *FIRST, *words, "--secret", tmp_path / "a.parquet")
    assert (late.code, "cannot write" in late.err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "calls.parquet"]


def test_the_document_and_the_plan_name_the_error(shoal: Shoal, tmp_path: Path, calls: Path) -> None:
    made = shoal(
        "tabulate", calls, *FIRST, "--epsilon", "1", "--research-seed", "3", "--json",
        "--output", tmp_path / "a", "--secret", tmp_path / "a.parquet",
    )  # fmt: skip
    planned = shoal("tabulate", tmp_path / "absent.csv", *FIRST, "--plan", "--json")
    document, plan = json.loads(made.out), json.loads(planned.out)
    assert (made.code, planned.code, document["publishable"], plan["folder"]) == (0, 0, False, None)
    assert [round(promise["epsilon"], 1) for promise in plan["promises"]] == [0.5, 1.0, 2.0, 4.0]
    assert plan["promises"][1] == document["promises"][0]
    assert "half of the cells of 50 by" in shoal("tabulate", "absent.csv", *FIRST, "--plan").out


def test_a_plan_says_what_must_be_counted_and_whom_the_bound_is_of(shoal: Shoal) -> None:
    words = ("tabulate", "absent.csv", *FIRST, "--plan", "--epsilon", "1", "--id", "uid")
    planned = shoal(*words).out
    assert "for a tenth of the cells (" in planned
    assert "must be counted in them; with fewer, choose larger zones" in planned
    assert "this bound was measured on people with phones; vehicles make more trips a day" in planned
    assert "measured on people" not in shoal(*words, "--bound", "9").out
    assert "of GPS, each zone on the way would end a trip: take --trips stays" in planned
    assert "of GPS" not in shoal(*words, "--trips", "stays").out
    document = json.loads(shoal(*words, "--bound", "60", "--json").out)
    assert [caution[:28] for caution in document["cautions"]] == ["noise drowns the counts: a c"]
    assert "noise drowns" in shoal(*words, "--bound", "60", "--quiet").err


def test_a_table_that_shows_little_says_so_and_one_that_shows_much_does_not(
    shoal: Shoal, tmp_path: Path, calls: Path
) -> None:
    homes = (
        "--kind",
        "homes",
        "--grid",
        "20km",
        *FIRST[4:],
        "--epsilon",
        "8",
        "--research-seed",
        "3",
        "--json",
    )
    targets = ("--output", tmp_path / "a", "--secret", tmp_path / "a.parquet")
    assert json.loads(shoal("tabulate", calls, *homes, *targets).out)["cautions"] == []
    assert 'class="banner">Of no use' not in (page := (tmp_path / "a" / "report.html").read_text())
    assert "Mostly noise" not in page
    targets = ("--output", tmp_path / "b", "--secret", tmp_path / "b.parquet")
    made = json.loads(shoal("tabulate", calls, *FIRST, "--epsilon", "1", *homes[-3:], *targets).out)
    assert [caution[:20] for caution in made["cautions"]] == ["OF NO USE: none of 1"]
    page = (tmp_path / "b" / "report.html").read_text()  # is signed: it says so before it promises
    assert 0 < page.index("Of no use: no cell") < page.index("73.1 % of guesses")


@pytest.mark.parametrize("answer", ["n", "y"])
def test_a_person_is_asked_before_a_ledger_pays(
    shoal: Shoal, tmp_path: Path, calls: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    pytest.importorskip("opendp")
    asked: list[str] = []

    def ask(_bars: Bars, question: str) -> bool:
        asked.append(question)
        return answer == "y"

    monkeypatch.setattr(Bars, "can_ask", True)
    monkeypatch.setattr(Bars, "ask", ask)
    made = shoal(
        "tabulate", calls, "--kind", "homes", "--grid", "20km", *FIRST[4:], "--epsilon", "1", "--budget", "2",
        "--ledger", tmp_path / "l.sqlite", "--people", "city",
        "--output", tmp_path / "a", "--secret", tmp_path / "a.parquet",
    )  # fmt: skip
    assert (asked, "must be counted in them" in made.err) == (["spend epsilon 1 on this table?"], True)
    names = ["calls.parquet"] if answer == "n" else ["a", "a.parquet", "calls.parquet", "l.sqlite"]
    assert (made.code == 0, sorted(path.name for path in tmp_path.iterdir())) == (answer == "y", names)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("--epsilon 0", "--epsilon 0 must be greater than 0"),
        ("--epsilon 100", "--epsilon 100 must be"),
        ("--epsilon 1 --delta 0.5", "--delta 0.5 must be"),
        ("--epsilon 1 --bound -1", "--bound -1 must be"),
        ("--epsilon 1 --period 2024-01-01", "the first and the last day"),
        ("--epsilon 1 --period 2024-01-03,2024-01-01", "--period 2024-01-03,2024-01-01 has -1 days"),
        ("--epsilon 1 --area 1,2", "write for example 2.2,48.8,2.5,49"),
        ("--epsilon 1 --area 5,5,4,4", "--area 5,5,4,4 is no area"),
        ("--epsilon 1 --plane EPSG:4326", "--plane EPSG:4326"),
        ("--epsilon 1 --plane nowhere", "coordinate reference system"),
        ("--epsilon 1 --h3 7", "--grid and --h3 both make zones"),
        ("--epsilon 1 --slot 7h", "--slot of 25200 s does not divide a day"),
        ("--epsilon 1 --hours 6-10,9-12", "--hours 6-10,9-12 must ascend"),
        ("--epsilon 1 --hours noon", "--hours noon is not understood"),
        ("--epsilon 1 --hours 25h", "--hours of 90000 s does not divide a day"),
        ("--epsilon 1 --hours 6-10 --slot 1h", "--slot and --hours"),
        ("--epsilon 1 --calendar absent.csv", "--calendar says kinds of days"),
        ("--epsilon 1 --days kinds --calendar absent.csv", "no file absent.csv"),
        ("--epsilon 1 --budget 3", "--budget is the budget of a --ledger"),
        ("--releases 3", "--releases spends equal parts of --budget"),
        ("--releases 3 --budget 2 --epsilon 1", "--releases spends equal parts of --budget"),
        ("--releases 3 --budget 2", "--budget is the budget of a --ledger"),
        ("--epsilon 1 --ledger l.sqlite", "--ledger and --people belong together"),
        (
            "--epsilon 1 --trips stays --stay-radius 0.5m",
            "--stay-radius 0.5 must be a whole number of meters",
        ),
        ("--epsilon 1 --trips stays --least-stay 1.5s", "--least-stay 1.5 must be a whole number of seconds"),
        ("--epsilon 1 --stay-radius 100m", "--stay-radius has no effect without --kind flows --trips stays"),
        ("--epsilon 1 --zone-name zone", "--zone-name has no effect without --zones"),
        ("--epsilon 1 --per-day", "--unit person-day"),
        ("--epsilon 1 --min-active-days 2", "decide by the data who counts"),
        ("--epsilon 1 --time-zone Mars/Olympus", "is not known"),
        ("", "--epsilon is needed"),
    ],
)
def test_bad_input_is_refused_with_the_option(
    shoal: Shoal, tmp_path: Path, calls: Path, change: str, why: str
) -> None:
    targets = ("--output", tmp_path / "t", "--secret", tmp_path / "t.parquet", "--research-seed", "1")
    refused = shoal("tabulate", calls, *FIRST, *targets, *change.split())
    assert (refused.code, refused.out) == (2, "")
    assert why in refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.parquet"]


def test_what_no_manifest_can_state_spends_nothing(shoal: Shoal, tmp_path: Path, calls: Path) -> None:
    pytest.importorskip("opendp")
    calendar, ledger = tmp_path / "c.csv", tmp_path / "l.sqlite"
    calendar.write_text(f"date,kind\n2024-01-01,{'x' * 41}\n")
    words = (
        "tabulate", calls, "--kind", "dwell", "--grid", "30km", *FIRST[4:], "--epsilon", "9", "--bound", "9",
        "--days", "kinds", "--people", "city", "--budget", "10", "--output", tmp_path / "t",
    )  # fmt: skip
    for change, why in (
        (("--calendar", calendar, "--ledger", ledger, "--secret", tmp_path / "s"), "cannot state its day_of"),
        (("--ledger", tmp_path / "s", "--secret", tmp_path / "s"), "give each a file"),
    ):
        refused = shoal(*words, *change)
        assert (refused.code, why in refused.err) == (2, True), refused.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.csv", "calls.parquet"]


def test_zones_need_an_area_or_a_file(shoal: Shoal, tmp_path: Path, calls: Path) -> None:
    words = ("--kind", "flows", "--period", "2024-01-01,2024-01-03", "--plan")
    assert "zones are public" in shoal("tabulate", calls, *words, "--grid", "2km").err
    assert "say which zones" in shoal("tabulate", calls, *words).err


def test_calendars_that_cannot_be_used_name_the_line(shoal: Shoal, tmp_path: Path, calls: Path) -> None:
    calendar = tmp_path / "c.csv"
    for text, why in (
        ("date,kind\n2024-13-01,holiday\n", "row 1 of"),
        ("day,kind\n2024-01-01,holiday\n", "has no column 'date'; write date,kind"),
        ("date,kind\n2024-01-01,a\n2024-01-01,b\n", "names 2024-01-01 twice"),
        ("date,date,kind\n2024-01-01,2024-01-01,a\n", "two columns 'date'"),
    ):
        calendar.write_text(text)
        refused = shoal("tabulate", calls, *FIRST, "--plan", "--days", "kinds", "--calendar", calendar)
        assert (refused.code, why in refused.err) == (2, True)
