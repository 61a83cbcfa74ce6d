"""Every document of ``--json`` has a type and a published schema; ``command_line`` holds each to its type."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import TypeAdapter, ValidationError

from command_line import Shoal
from shoal.cli.documents import MANIFEST, PLAN, documents, schema_of
from shoal.cli.main import shoal

PUBLISHED = Path(__file__).parents[2] / "docs" / "schemas"


def test_every_command_with_json_has_a_document() -> None:
    with_json = set(_with_json(shoal))
    assert len(with_json) > 20
    of_folders = {f"{command}-tables" for command in ("check", "verify", "attack", "measure")}
    assert with_json == set(documents()) - {PLAN, MANIFEST} - of_folders


def _with_json(group: click.Group) -> Iterator[str]:
    """The commands with --json, each by its words joined by hyphens."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from (f"{name}-{inside}" for inside in _with_json(command))
        elif any("--json" in option.opts for option in command.params):
            yield name


@pytest.mark.parametrize("name", documents())
def test_the_published_schema_is_the_one_of_the_types(name: str) -> None:
    assert json.loads((PUBLISHED / f"{name}.json").read_text()) == schema_of(name)


def test_nothing_else_is_published() -> None:
    assert sorted(path.stem for path in PUBLISHED.glob("*.json")) == sorted(documents())


def test_a_document_with_another_entry_or_type_is_refused() -> None:
    sound = {"output": "x", "files": 1, "to": "gpx", "box_as": None}
    reader = TypeAdapter(documents()["convert"])
    assert reader.validate_python(sound) == sound
    for wrong in ({**sound, "more": 1}, {**sound, "files": "1"}, {"output": "x"}):
        with pytest.raises(ValidationError):
            reader.validate_python(wrong)


def test_the_command_prints_a_schema_and_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    assert command("schema").out.split() == list(documents())
    assert json.loads(command("schema", "verify").out)["$id"] == "urn:shoal:verify:1"
    assert command("schema", "nothing").code == 2


def test_documents_of_a_first_job_are_of_their_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The helper validates each; other tests of commands add the rest."""
    command = Shoal(capsys)
    raw, release, links = tmp_path / "raw.parquet", tmp_path / "release", tmp_path / "links.parquet"
    jobs = [
        ("synthesize", raw, "--subjects", 12, "--days", 1, "--json"),
        ("inspect", raw, "--json"),
        ("assess", raw, "--k", 2, "--json"),
        ("anonymize", raw, "--method", "glove", "--k", 2, "--output", release, "--linkage", links,
         "--risk-tries", 0, "--timings", "--json"),
        ("verify", raw, release, "--linkage", links, "--json"),
        ("attack", raw, release, "--linkage", links, "--knowledge", "points:2", "--json"),
        ("measure", raw, release, "--linkage", links, "--json"),
        ("granularity", raw, "--tau", "30min", "--json"),
    ]  # fmt: skip
    assert [command(*words, "--quiet").code for words in jobs] == [0] * len(jobs)


def test_quiet_prints_nothing_where_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    raw, release, links = tmp_path / "raw.parquet", tmp_path / "release", tmp_path / "links.parquet"
    jobs = [
        ("synthesize", raw, "--subjects", 12, "--days", 1),
        ("inspect", raw),
        ("assess", raw, "--k", 2),
        ("anonymize", raw, "--k", 2, "--output", release, "--linkage", links, "--risk-tries", 0),
        ("verify", raw, release, "--linkage", links),
        ("attack", raw, release, "--linkage", links, "--knowledge", "points:2"),
        ("measure", raw, release, "--linkage", links),
        ("convert", release, tmp_path / "points", "--box-as", "center"),
        ("publish", release, "--to", tmp_path / "csv", "--format", "csv"),
        ("find", release, "--at", "2024-01-01T08:00,7.0,-4.9"),
    ]
    told = [(words[0], command(*words, "--quiet")) for words in jobs]
    printed = {name: (each.code, each.out, each.err) for name, each in told}
    code, result, cautions = printed.pop("anonymize")
    assert (code, result) == (0, "")
    assert "Sets of two. " in cautions.splitlines()[-1]
    assert set(printed.values()) == {(0, "", "")}
    failed = command("verify", raw, release, "--quiet")
    assert (failed.code, failed.out.startswith("NOT CHECKED")) == (3, True)


def test_every_command_leaves_its_result_to_what_knows_quiet() -> None:
    """Others than those above are held to it by their source: they print through print_result."""
    rooms = Path(shoal.callback.__code__.co_filename).parent  # type: ignore[union-attr]
    others = {  # what is no result: servers that say where they listen, their keys, questions, errors
        "app.py", "plan.py", "registrar.py", "desk.py", "join.py", "keys.py", "listening.py", "main.py",
        "authority.py", "collector.py", "witness.py", "publish.py", "terminal.py",
    }  # fmt: skip
    echoing = {path.name for path in rooms.glob("*.py") if "click.echo(" in path.read_text("utf-8")}
    assert echoing <= others
    quiet = {option.name for each in shoal.commands.values() for option in each.params}
    assert {"quiet", "as_json"} <= quiet
    for name, each in shoal.commands.items():
        known = {option.name for option in each.params}
        assert "quiet" in known or "as_json" not in known, name


def test_messages_and_errors_are_json_lines_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Shoal(capsys)
    raw = tmp_path / "raw.parquet"
    assert command("synthesize", raw, "--subjects", 12, "--days", 1, "--quiet").code == 0
    told = command("assess", raw, "--k", 2, "--log", "json", "--json")
    entries = [json.loads(line) for line in told.err.splitlines()]
    assert [entry["level"] for entry in entries][:1] == ["info"]
    assert all(set(entry) >= {"time", "level", "message"} for entry in entries)
    assert json.loads(told.out)["subjects"] == 12
    failed = command("assess", tmp_path / "none.csv", "--log=json")
    (line,) = failed.err.splitlines()
    assert failed.code == json.loads(line)["exit_code"] == 2
    assert json.loads(line)["level"] == "error"
    assert command("assess", raw, "--k", 2, "--log", "json", "--quiet").err == ""
