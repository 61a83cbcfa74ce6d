"""The core's commands on tables, from the command line; each document against its type."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

import plain_table as plain
from shoal.cli.documents import documents
from shoal.cli.main import main
from shoal_tables.commands.hidden_cells import check
from shoal_tables.commands.table import COMMANDS

ROWS = plain.people()
PLAN = plain.Plan(hours=((0, 720), (720, 1440)), sensitivity=60, sigma=60)
STRICT = plain.Plan(sensitivity=60, sigma=240)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> plain.Written:
    return plain.write(tmp_path_factory.mktemp("tables"), PLAN, ROWS)


def _run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def _document(name: str, out: str) -> Any:
    return TypeAdapter(documents()[name]).validate_python(json.loads(out))


def test_verify_takes_a_folder_of_tables(written: plain.Written, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("verify", written.raw, written.folder, "--secret", written.secret)
    code, out, _ = _run(capsys, *words)
    assert (code, out.split()[0]) == (0, "HOLDS:")
    assert "by chance 50 %" in out
    assert "a publisher who drew several tables" in out
    code, out, _ = _run(capsys, *words, "--json")
    assert _document("verify-tables", out)["outcome"] == "HOLDS"


def test_verify_of_a_table_takes_its_secret_and_no_linkage(
    written: plain.Written, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _run(capsys, "verify", written.raw, written.folder, "--linkage", written.secret)
    assert (code, out) == (2, "")
    assert "of a table, give the counts before noise with --secret" in err
    assert "--linkage" not in _run(capsys, "verify", written.raw, written.folder, "--help")[1]


def test_publish_writes_another_format_that_verify_takes(
    written: plain.Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = _run(
        capsys, "publish", written.folder, "--to", tmp_path / "a", "--format", "csv", "--json"
    )
    assert (code, _document("publish", out)["rows"]) == (0, len(plain.cells(PLAN)))
    assert _run(capsys, "verify", written.raw, tmp_path / "a")[0] == 0
    assert _run(capsys, "publish", written.folder, "--to", tmp_path / "b", "--format", "omx")[0] == 2


def test_a_false_table_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    false = plain.write(tmp_path, STRICT, ROWS, noise=plain.true_noise(replace(PLAN, sigma=6), 864))
    code, out, _ = _run(capsys, "verify", false.raw, false.folder)
    assert code == 1
    assert "noise-scale: the noise has 0." in out
    code, out, _ = _run(capsys, "attack", false.raw, false.folder, "--seed", 1, "--tries", 60)
    assert code == 1


def test_attack_and_measure_take_it_too(written: plain.Written, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _run(capsys, "attack", written.raw, written.folder, "--seed", 1, "--tries", 50, "--json")
    document = _document("attack-tables", out)
    assert (code, document["breaks_promise"]) == (0, False)
    assert document["told_by_threshold"] > 0.5
    assert 0 < document["paths"]["guessing"] < 1
    code, out, _ = _run(capsys, "measure", written.raw, written.folder, "--json")
    figures = {one["name"]: one["value"] for one in _document("measure-tables", out)["measurements"]}
    assert code == 0
    exact = plain.counts_before_noise(PLAN, ROWS, plain.unbounded) / PLAN.granularity
    table = pq.read_table(written.folder / "table.parquet")
    shown = np.where(table["shown"].is_valid(), table["estimate"], 0)
    expected = 2 * np.minimum(exact, shown).sum() / (exact.sum() + shown.sum())
    assert figures["common-part"] == pytest.approx(expected)
    assert 0 < figures["cut-by-bound"] < 1


def test_an_erasure_between_two_tables_is_attacked(
    written: plain.Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = plain.write(tmp_path, PLAN, ROWS, noise=plain.true_noise(PLAN, 72, 7))
    words = (
        "attack",
        written.raw,
        written.folder,
        "--earlier",
        first.folder,
        "--seed",
        1,
        "--tries",
        60,
        "--json",
    )
    code, out, _ = _run(capsys, *words)
    game = _document("attack-tables", out)["games"][-1]
    assert (code, game["name"]) == (0, "erasure")
    assert 0.5 < game["success"] < game["bound"]
    other = tmp_path / "other"
    other.mkdir()
    homes = plain.write(other, replace(PLAN, table="homes"), ROWS)
    code, _, err = _run(capsys, "attack", written.raw, written.folder, "--earlier", homes.folder)
    assert code == 2
    assert "has other cells than the later table (table)" in err


def test_settings_of_the_manifest_are_not_taken(
    written: plain.Written, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _run(capsys, "verify", written.raw, written.folder, "--cell", "1km")
    assert code == 2
    assert "leave out --cell" in err


def test_check_of_a_table_leads_to_the_hidden_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "flows.csv"
    table.write_text("origin,destination,count\na,b,*\nb,a,12\ntotal,total,15\n")
    words = ("check", table, "--kind", "flows", "--absent", "zero")
    code, out, _ = _run(capsys, *words)
    assert code == 1
    assert "origin a, destination b: 3" in out
    ranges = tmp_path / "ranges.csv"
    code, out, _ = _run(capsys, *words, "--json", "--output", ranges)
    assert _document("check-tables", out)["exact"] == 1
    assert ranges.read_text().splitlines()[1] == '"a","b",3,3,true'
    records = tmp_path / "calls.csv"
    records.write_text("uid,t,lat,lon\na,1714557600,48.85,2.35\nb,1714557600,48.85,2.35\n")
    code, _, err = _run(capsys, "check", table, "--raw", records)
    assert code == 2
    assert "is a table of counts, not of records" in err
    assert "--kind flows in place of --raw" in err
    code, _, err = _run(capsys, "check", table, "--kind", "trips")
    assert code == 2
    assert "choose from dwell, flows, homes, presence" in err


@pytest.mark.parametrize("command", [check, *COMMANDS.values()], ids=lambda command: command.name)
def test_examples_in_help_are_parsed(command: click.Command) -> None:
    for line, _ in command.examples:  # type: ignore[attr-defined]
        words = line.split()
        assert words[:2] == ["shoal", command.name]
        command.make_context(command.name, words[2:])
