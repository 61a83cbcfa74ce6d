"""Every entry of a table's manifest is changed, one at a time; one list says what is accepted, and why."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

import plain_table as plain
from manifest_changes import changes, entries_of
from shoal.errors import ShoalError
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal_tables.definition.manifest import TableManifest, read_table_manifest
from shoal_tables.verification import checking
from shoal_tables.verification import contributions as recounting
from shoal_tables.verification.statements import statement_findings
from table_cases import AREA, city, make, polygons_of, rules_of

SAME_COUNTS: Final = "another value that counts the same, as the verdict says"
ACCEPTED: Final = {
    "longest_gap_s": SAME_COUNTS,
    "trips.radius_m": SAME_COUNTS,
    "trips.least_s": SAME_COUNTS,
    "zones.source": "the name of a file, as the verdict says; its digest and its shapes are stated",
    "zones.nested.source": "the name of a file, as zones.source; the outer zones are in zones.parquet",
    "zones.source_sha256": "the digest of a file that the verifier does not have, as the verdict says",
    "reading.not_after_s": "the day of the reading; a later day drops no further row",
    "reading.columns": "read again as the manifest says, it gives the same rows",
    "reading.table": "as columns",
    "reading.ids_as_they_are": "an answer to a question that the reader asks again",
    "reading.lose_people": "as ids_as_they_are",
}
"""What a changed manifest may say, and why no check can tell."""


def flows(folder: Path) -> tuple[Any, Path, dict[str, Path]]:
    """Trips between stays with totals and a ledger, of a dozen people in local meters."""
    plan = replace(
        plain.Plan(), n_days=3, table="flows", trips="stays", hours=((0, 900),), most=300, totals_sigma=300
    )
    entry = {"people": "a" * 64, "entry": f"{0:032x}"}
    written = plain.write(folder, plan, plain.people(12), ledger=entry)
    ledger = plain.write_ledger(folder / "ledger.sqlite", plan, written, budget=50)
    return written.raw, written.folder, {"secret": written.secret, "ledger": ledger}


def presence(folder: Path) -> tuple[Any, Path, dict[str, Path]]:
    """Presence in polygons of a file, in two outer zones, with a record to sign, not for publication."""
    nested = folder / "nested.csv"
    nested.write_text("zone,parent\nside 0,south\nside 1,south\nside 2,north\nside 3,north\n")
    made = make(folder, rules_of("presence", zones=polygons_of(folder, AREA).nested_by(nested)))
    return city(), made.folder, {"secret": folder / "counts.parquet"}


def nearby(manifest: dict[str, Any], path: tuple[Any, ...], value: Any) -> Iterator[dict[str, Any]]:
    """The manifest with a slightly smaller or larger number, or with another digest."""
    match value:
        case bool():
            others: tuple[Any, ...] = ()
        case int():
            others = (value - 1,)
        case float():
            others = (value * 0.999, value * 1.001)
        case str():
            others = (value[::-1],)
        case _:
            others = ()
    for other in others:
        copied = at = copy.deepcopy(manifest)
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = other
        yield copied


@pytest.mark.parametrize(
    ("make_case", "parts"),
    [
        (flows, {"reading"}),
        (flows, set(TableManifest.model_fields) - {"reading", "zones"}),
        (presence, {"zones", "plane", "hours", "files", "publishable"}),
    ],
)
def test_no_entry_of_a_manifest_can_be_changed_but_those_of_one_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_case: Callable[[Path], Any], parts: set[str]
) -> None:
    raw, folder, further = make_case(tmp_path)
    path = folder / "manifest.json"
    manifest, stated = json.loads(path.read_text()), read_table_manifest(folder)
    by_reading: dict[str, StoredPeople] = {}

    def read_once(source: Any, reading: Reading, _folder: Path, run: Any) -> StoredPeople:
        key = json.dumps(asdict(reading), default=str)
        if key not in by_reading:
            by_reading[key] = store_people(source, reading, Path(scratch) / str(len(by_reading)), run)
        return by_reading[key]

    def accepts(entries: dict[str, Any]) -> bool:
        path.write_text(json.dumps(entries, ensure_ascii=False))
        try:
            changed = read_table_manifest(folder)
            if changed == stated or any(statement_findings(changed)):  # a null may be left out
                return False
            return checking.verify_table(raw, folder, **further).verdict.holds
        except ShoalError:
            return False

    monkeypatch.setattr(recounting, "store_people", read_once)
    monkeypatch.setattr(checking, "noise_findings", lambda *_: [])  # slow, and would find more
    with TemporaryDirectory() as scratch:
        assert checking.verify_table(raw, folder, **further).verdict.holds
        accepted = {
            ".".join(map(str, entry))
            for entry, value in entries_of(manifest)
            if entry[0] in parts
            for one in (*changes(manifest, entry, value), *nearby(manifest, entry, value))
            if accepts(one)
        }
    assert accepted == {one for one in ACCEPTED if one.split(".")[0] in parts}
