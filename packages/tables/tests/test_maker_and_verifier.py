"""What the maker writes, the verifier accepts: two programs that share a text and no code."""

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from pyarrow import parquet

import shoal
from shoal.model.intake import Reading
from shoal.runtime.files import sha256_of
from shoal.units import percent
from shoal_tables import (
    Ledger,
    Privacy,
    Rules,
    cell_zones,
    days_of,
    h3_zones,
    hours_of,
)
from shoal_tables.definition.manifest import Kind, Trips, read_table_manifest
from shoal_tables.verification.checking import verify_table
from shoal_tables.verification.files import _shows, record_findings
from table_cases import AREA, FIRST, LAST, city, make, polygons_of, rules_of, weighted

_STAYS = Trips(definition="stays", radius_m=300, least_s=900)


RULES: dict[str, Callable[[Path], Rules]] = {
    "presence": lambda _: rules_of("presence"),
    "presence by person and day": lambda _: rules_of("presence", unit="person-day"),
    "presence in Kolkata": lambda _: rules_of("presence", time_zone="Asia/Kolkata"),
    "flows": lambda _: rules_of("flows", side_m=3000),
    "flows between stays": lambda _: rules_of("flows", trips=_STAYS, longest_gap_s=6 * 3600),
    "flows of each day": lambda _: rules_of("flows", day_of=days_of("each", FIRST, LAST), unit="person-day"),
    "flows by hours": lambda _: rules_of("flows", hours=hours_of("4h")),
    "flows of workdays": lambda _: rules_of("flows", day_of=days_of("workday", FIRST, date(2024, 1, 8))),
    "dwell": lambda _: rules_of("dwell", side_m=2000),
    "homes": lambda _: rules_of("homes", side_m=2000),
    "H3": lambda _: rules_of("presence", zones=h3_zones(6, AREA)),
    "polygons": lambda folder: rules_of("presence", zones=polygons_of(folder, AREA)),
    "weighted flows": lambda folder: rules_of("flows", zones=weighted(folder, 10_000)),
    "weighted homes": lambda folder: rules_of("homes", zones=weighted(folder, 2000)),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_the_verifier_accepts_what_the_maker_writes(tmp_path: Path, name: str) -> None:
    made = make(tmp_path, RULES[name](tmp_path))
    found = verify_table(city(), made.folder, secret=tmp_path / "counts.parquet")
    assert found.verdict.holds, found.verdict.findings
    assert found.units > 0


def test_a_false_record_and_names_of_people_are_found(tmp_path: Path) -> None:
    folder = make(tmp_path, rules_of("homes", side_m=10_000)).folder
    report, manifest = folder / "report.html", folder / "manifest.json"
    page, stated = report.read_text(), json.loads(manifest.read_text())
    person = city()["uid"][0].as_py()

    def found(text: str, **promise: str) -> set[str]:
        report.write_text(text)
        files = {**stated["files"], "report.html": sha256_of(report)}
        manifest.write_text(
            json.dumps({**stated, "files": files, "promise": {**stated["promise"], **promise}})
        )
        return set(verify_table(city(), folder).verdict.kinds)

    assert found(page) == set()
    for false in (
        page.replace("at most 73.1 %", "at most 50.1 %"),
        page.replace("One unit is each distinct value", "One unit is each household, by the value"),
        page.replace("Not for publication", "For publication"),
        page.replace("</body>", "<script>1</script></body>"),
    ):
        assert found(false) == {"record-differs"}
    assert found(page, bound_source=f"the trips of {person}") == {"bound-differs", "raw-identifiers"}
    assert found(page.replace("</body>", f"<p>{person}</p></body>")) == {"raw-identifiers"}


@pytest.mark.parametrize("table", ["flows", "homes"])
def test_every_number_of_a_record_is_compared(tmp_path: Path, table: Kind) -> None:
    folder = make(tmp_path, rules_of(table, side_m=10_000)).folder
    manifest, cells = read_table_manifest(folder), parquet.read_table(folder / "table.parquet")
    report = folder / "report.html"
    page = report.read_text()
    assert not list(record_findings(folder, manifest, cells))
    facts = list(re.finditer(r'<data id="fact-([\w-]+)" value="([^"]*)">([^<]*)</data>', page))
    assert len(facts) == 17
    for fact in facts:
        for group, other in ((1, "other"), (2, "0.7"), (3, "0.7"), (3, "many"), (3, "7 %")):
            report.write_text(page[: fact.start(group)] + other + page[fact.end(group) :])
            kinds = {finding.kind for finding in record_findings(folder, manifest, cells)}
            assert kinds == {"record-differs"}, fact[0]


@pytest.mark.parametrize(
    ("text", "number", "agrees"),
    [
        ("< 0.1 %", 0.00044, True),
        ("< 0.1 %", 0.02, False),
        ("> 99.9 %", 0.9997, True),
        ("> 99.9 %", 0.97, False),
        ("12.3 %", 0.1234, True),
        ("12.3 %", 0.14, False),
        ("0 %", 0.0, True),
        ("1,234", 1234.0, True),
        ("many", 3.0, False),
        ("3", float("nan"), False),
    ],
)
def test_a_number_is_compared_as_a_page_shows_it(text: str, number: float, agrees: bool) -> None:
    assert _shows(text, number) == agrees
    assert not agrees or text[0] not in "<>" or _shows(percent(number), number)


def test_a_record_of_tiny_errors_is_accepted(tmp_path: Path) -> None:
    rules = rules_of("flows", day_of=days_of("typical", FIRST, date(2024, 3, 31)), unit="person-day")
    made = make(tmp_path, rules, privacy=Privacy(epsilon=8.0, rng=shoal.Randomness.for_research(1)))
    assert "&lt; 0.1 %" in (made.folder / "report.html").read_text()
    found = verify_table(city(), made.folder, secret=tmp_path / "counts.parquet")
    assert found.verdict.holds, found.verdict.findings


def test_the_ledger_knows_it(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    ledger = Ledger(tmp_path / "ledger.sqlite", people="everybody of the city", budget=2.0)
    made = make(tmp_path, rules_of("homes", 20_000), privacy=Privacy(epsilon=1.0, ledger=ledger))
    found = verify_table(city(), made.folder, ledger=tmp_path / "ledger.sqlite")
    assert found.verdict.holds, found.verdict.findings


def test_noise_for_publication_is_accepted(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    made = make(tmp_path, rules_of("presence", side_m=2000), seed=None)
    found = verify_table(city(), made.folder, secret=tmp_path / "counts.parquet")
    assert found.verdict.holds, found.verdict.findings


def test_records_of_cells(tmp_path: Path) -> None:
    places = tmp_path / "cells.csv"
    places.write_text(
        "cell,lat,lon\n" + "".join(f"c{one},{6.9 + one / 50},{-5.1 + one / 60}\n" for one in range(9))
    )
    records = tmp_path / "calls.csv"
    rows = [
        f"p{p},{1704100000 + 3600 * step},c{(p * 5 + step * step) % 9}"
        for p in range(60)
        for step in range(30)
    ]
    records.write_text("uid,t,cell\n" + "\n".join(rows) + "\n")
    made = make(
        tmp_path,
        rules_of("flows", zones=cell_zones(places)),
        source=records,
        reading=Reading(cells=str(places), cell_id="cell"),
    )
    found = verify_table(records, made.folder, secret=tmp_path / "counts.parquet", cells=str(places))
    assert found.verdict.holds, found.verdict.findings
