"""The table of methods against adversaries: made on little data, and the same in the docs as in its file."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import table_of_attacks as table
import table_pages as pages
from shoal.attacks.table import ATTACKS
from shoal.methods import METHODS
from shoal.model.claims import KDeltaAnonymity
from table_data import DATA, prepared

ROWS = pages.read_rows(table.CSV_FILE)


def test_every_method_stands_in_the_table() -> None:
    assert {cell.method for cell in table.CELLS} == set(METHODS)
    keys = [(cell.method, cell.k, cell.hardening) for cell in table.CELLS]
    assert len(set(keys)) == len(keys)
    plain = {(cell.method, cell.k) for cell in table.CELLS if not cell.hardening}
    assert {(cell.method, cell.k) for cell in table.CELLS} == plain


def test_who_is_moved_into_cylinders_is_cautioned_at_every_k_at_which_records_are_named() -> None:
    """By how often four true points name a record in the table, and not by k."""
    rows = [
        row for row in ROWS if row["claim"] == KDeltaAnonymity.type and row["attack"] == "nearest-linkage"
    ]
    named = {k: [float(row["low"]) > 1 / k for row in rows if int(row["k"]) == k] for k in (2, 5)}
    assert min(map(len, named.values())) >= 5
    for k, above in named.items():
        told = " ".join(KDeltaAnonymity(k=k, delta_m=2000).cautions)
        assert np.mean(above) > 0.5
        assert "can often tell which record was moved from them" in told
        assert "Neither a large k" in told


def test_a_cell_has_every_adversary_that_suits_it() -> None:
    number, cell = next((n, c) for n, c in enumerate(table.CELLS) if (c.method, c.k) == ("glove", 2))
    rows = table.rows_of("quick", cell, prepared(DATA["quick"], None, []), 40)
    assert number >= 0
    assert {row["adversary"] for row in rows} == {
        name for name, row in ATTACKS.items() if row.takes_boxes and name != "tau" and not row.sensitive
    }
    assert {row["holds"] for row in rows} == {"True"}
    assert all(0 <= float(row["low"]) <= float(row["rate"]) <= float(row["high"]) <= 1 for row in rows)
    named = [row for row in rows if pages.names_a_record(row)]
    assert len(named) >= 4
    assert all(float(row["low"]) <= float(row["may_name"]) == 0.5 for row in named)


def test_some_attacks_alone_find_what_they_find_among_all_and_take_the_place_of_older_rows() -> None:
    cell = next(c for c in table.CELLS if (c.method, c.k) == ("static", 2))
    data = prepared(DATA["quick"], None, [])
    whole = table.rows_of("quick", cell, data, 20)
    some = table.rows_of("quick", cell, data, 20, ["points", "her-place"])
    assert {row["adversary"] for row in some} == {"points", "her-place"}
    joined, found_again, compared = table.join(whole, some)
    assert found_again == compared == len(some)
    assert sorted(map(str, joined)) == sorted(map(str, whole))
    other = [{**row, "rate": "0.125"} for row in some]
    joined, found_again, _ = table.join([*whole, {**whole[0], "k": "5"}], other)
    assert found_again == 0
    assert {row["adversary"] for row in joined if row["rate"] == "0.125"} >= {"points", "her-place"}
    assert len(joined) == len(whole) + 1
    assert [row["k"] for row in joined] == ["2"] * len(whole) + ["5"]


def test_what_is_measured_stays_and_only_the_rest_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def pretended(name: str, number: int, _asked: object) -> list[pages.Row]:
        made.append(number)
        cell = table.CELLS[number]
        head = {"data": name, "method": cell.method, "k": str(cell.k), "hardening": cell.hardening}
        return [{**head, "note": "no release: a test"}]

    monkeypatch.setattr(table, "in_process", pretended)
    file = tmp_path / "table.csv"
    monkeypatch.setattr(sys, "argv", ["table", "measure", "--data", "quick", "--csv", str(file)])
    table.main()
    assert sorted(made) == list(range(len(table.CELLS)))
    hardened = [bool(table.CELLS[number].hardening) for number in made]
    assert hardened == sorted(hardened)
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-2]) + "\n")
    table.main()
    assert made[len(table.CELLS) :] == made[len(table.CELLS) - 2 : len(table.CELLS)]
    assert file.read_text().splitlines() == lines


def test_a_cell_that_fails_or_takes_too_long_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        returncode, stdout = 1, ""

    monkeypatch.setattr(subprocess, "run", lambda *_, **__: Ended())
    asked = argparse.Namespace(attacks=list(ATTACKS), input=[], streets=[], victims=5, cpu_minutes=1.0)
    (row,) = table.in_process("quick", 0, asked)
    assert row["note"] == "failed with exit code 1"
    Ended.returncode = -9
    (row,) = table.in_process("quick", 0, asked)
    assert row["note"] == table.UNFINISHED
    Ended.returncode, Ended.stdout = 0, json.dumps([{"data": "quick"}])
    assert table.in_process("quick", 0, asked) == [{"data": "quick"}]


def test_a_cell_whose_time_is_spent_keeps_what_it_found_and_says_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = table.wins

    def until_noisy(drawn: Any, text: str) -> Any:
        if text.startswith("noisy"):
            table.out_of_time()
        return played(drawn, text)

    monkeypatch.setattr(table, "wins", until_noisy)
    data = prepared(DATA["quick"], None, [])
    glove, static = (
        next(one for one in table.CELLS if (one.method, one.k) == (name, 2)) for name in ("glove", "static")
    )
    rows = table.rows_of("quick", glove, data, 20)
    assert {row["adversary"] for row in rows} == {"points", "top"}
    note = rows[0]["note"]
    assert note.startswith(f"{table.UNFINISHED}: noisy:4:500m:30min, period, ")
    lacking = {text.partition(":")[0] for text in note.partition(": ")[2].split(", ")}
    suited = {
        name for name, row in ATTACKS.items() if row.takes_boxes and name != "tau" and not row.sensitive
    }
    assert lacking == suited - {"points", "top"}
    assert "(not tried in time: noisy:4:500m:30min, period, " in pages.tables(rows)
    monkeypatch.setattr(type(static.make(DATA["quick"], data, 2)), "anonymize", table.out_of_time)
    (row,) = table.rows_of("quick", static, data, 20)
    assert row["note"] == f"{table.UNFINISHED}: the release"
    assert f"{table.UNFINISHED}: the release |" in pages.tables([{**row, "adversary": ""}])


def test_the_page_holds_the_tables_of_the_file() -> None:
    assert len(ROWS) > 50
    page = table.PAGE.read_text(encoding="utf-8")
    shown = page.partition(pages.BEGIN)[2].partition(pages.END)[0].strip()
    assert shown == pages.page_text(ROWS)


def test_no_release_of_the_table_names_records_more_often_than_its_claim_allows() -> None:
    """By the lower end of the interval, since a rate at the bound lies above it every other time."""
    bounded = [row for row in ROWS if row["adversary"] and row["may_name"] and pages.names_a_record(row)]
    above = [row for row in bounded if float(row["low"]) > float(row["may_name"])]
    assert len(bounded) > 10
    assert [(row["data"], row["method"], row["attack"], row["rate"]) for row in above] == []


def test_every_release_of_the_table_holds() -> None:
    assert {row["holds"] for row in ROWS if row["adversary"]} == {"True"}


def test_the_page_names_the_strongest_attack_on_each_method() -> None:
    lines = pages.summary(ROWS).partition("|---|\n")[2].splitlines()
    shown = {(method.strip(), int(k)): cells for method, k, *cells in (x.split("|")[1:-1] for x in lines)}
    assert {method for method, _ in shown} == set(METHODS)
    for (method, k), cells in shown.items():
        for cell, by_members in zip(cells, (False, True), strict=True):
            strongest = pages.strongest_by_k(ROWS, method, by_members=by_members).get(k)
            assert (strongest is None) == (cell.strip() == "not tried")
            if strongest is not None:
                assert f"`{strongest['attack']}`" in cell
                assert (strongest["adversary"] in {"insider", "partner"}) == by_members
