"""The help of every command has examples of real use, and each of them works as it stands there."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.cli import main as cli
from shoal.cli.sections import ExampleCommand
from shoal.comparison import advice
from shoal.synthetic import write_synthetic

PARSED_ALONE = {
    "shoal demo": "test_cli.py runs it",
    "shoal reproduce": "takes minutes; tests/reproduction",
    "shoal desk": "serves until it is ended",
    "shoal series": "needs a series; tests/publishing/test_in_series.py and test_tutorial.py",
    "shoal collect server": "serves until it is ended",
    "shoal collect witness": "serves until it is ended, beside a collector",
    "shoal collect authority": "serves until it is ended, or answers of a database that it has served",
    "shoal collect registrar --database sqlite:///registrar.sqlite --collector-key": "serves",
    "shoal collect app": "serves until it is ended, for a round",
    "shoal collect join": "needs a round",
    "shoal collect export": "needs what a round has stored",
    "shoal collect mine": "needs a device that was in a round",
    "shoal collect doctor": "needs servers",
}
ENDS_WITH_1 = {"shoal check published.csv --raw calls.csv --row-by-row --claim k-anonymity:5"}  # it is not
STUDY = 'tries = 20\n[[runs]]\nmethod = "glove"\nk = [5]\n'


def walk(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    for word, command in group.commands.items():
        yield f"{path} {word}", command
        if isinstance(command, click.Group):
            yield from walk(command, f"{path} {word}")


COMMANDS = dict(walk(cli.shoal, "shoal"))
LINES = [
    line
    for command in COMMANDS.values()
    if isinstance(command, ExampleCommand)
    for line, _ in command.examples
]


def parse(line: str) -> click.Context:
    """What the command makes of its words, without running it; a UsageError for what it does not take."""
    words = shlex.split(line.partition(" > ")[0])[1:]
    command: click.Command = cli.shoal
    above = click.Context(command, info_name="shoal")
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    return command.make_context(command.name, words, parent=above)


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_one_to_three_examples_of_itself(path: str) -> None:
    command = COMMANDS[path]
    assert isinstance(command, ExampleCommand)
    assert 1 <= len(command.examples) <= 3
    assert [line for line, _ in command.examples if not f"{line} ".startswith(f"{path} ")] == []


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("path", ["shoal", *COMMANDS])
def test_help_is_as_wide_as_the_terminal_and_its_examples_can_be_copied(
    path: str, columns: int, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = shoal(*path.split()[1:], "--help").out
    assert [line for line in shown.splitlines() if len(line) > columns] == []
    assert "\x1b" not in shown
    whole = re.sub(r" \\\n +", " ", shown)  # as a shell takes it
    for line, does in getattr(COMMANDS.get(path), "examples", ()):
        assert f"\n  # {does}\n  {line}\n" in whole


@pytest.mark.parametrize("line", LINES)
def test_an_example_is_parsed(line: str) -> None:
    assert parse(line).params


@pytest.mark.parametrize("more", ["--no-such-option", "--port many", "--quiet=maybe"])
def test_what_a_command_does_not_take_is_not_parsed(more: str) -> None:
    with pytest.raises(click.UsageError):
        parse(f"shoal collect registrar --database sqlite:///registrar.sqlite {more}")


def lay_out(folder: Path) -> None:
    """The files that examples name: calls, what another tool made of them, a study, a ride."""
    write_synthetic(folder / "calls.parquet", 60, 2, 5)
    calls = pq.read_table(folder / "calls.parquet")
    pyarrow.csv.write_csv(calls, folder / "calls.csv")
    coarse = {name: pc.round(calls[name], 2) for name in ("lat", "lon")}
    names = pc.index_in(calls["uid"], pc.unique(calls["uid"]))
    pyarrow.csv.write_csv(pa.table({"uid": names, "t": calls["t"], **coarse}), folder / "published.csv")
    (folder / "study.toml").write_text(STUDY)
    points = "".join(
        f'<trkpt lat="{48.8566 + step / 2000}" lon="2.3522"><time>2026-03-02T08:{step // 2:02}:'
        f"{step % 2 * 30:02}Z</time></trkpt>"
        for step in range(100)
    )
    (folder / "ride.gpx").write_text(
        '<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1">'
        f"<trk><trkseg>{points}</trkseg></trk></gpx>"
    )


def test_examples_run_one_after_the_other(
    tmp_path: Path, shoal: Shoal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases and tables first, as others are of them; in a folder where nothing else lies."""
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(advice, "TRIALS", [advice.TRIALS[0], advice.TRIALS[-1]])  # all of them take long
    run = [line for line in dict.fromkeys(LINES) if not line.startswith(tuple(PARSED_ALONE))]
    run.sort(key=lambda line: not line.startswith(("shoal anonymize ", "shoal tabulate ")))
    assert len(run) > 30
    for line in run:
        typed, _, into = line.partition(" > ")
        outcome = shoal(*shlex.split(typed)[1:])
        assert outcome.code == int(line in ENDS_WITH_1), f"{line}: {outcome.err}"
        if into:
            Path(into).write_text(outcome.out)
    made = ("exposure.html", "release", "followed", "release-csv", "by-day", "tracks", "record.html", "study")
    assert [name for name in made if not Path(name).exists()] == []
    assert not Path("large").exists()  # it was to be planned alone
