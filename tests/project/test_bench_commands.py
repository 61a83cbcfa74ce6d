"""The benchmark of whole commands: its rows exist, and a run is measured."""

from pathlib import Path
from subprocess import CalledProcessError

import pytest

import bench_commands
from shoal.cli.main import shoal


def test_every_row_is_a_command_with_known_options() -> None:
    asked = {row.name: row.words.split() for row in bench_commands.ROWS}
    unknown = [
        (name, word)
        for name, words in asked.items()
        if words[0] in shoal.commands
        for word in words[1:]
        if word.startswith("--") and not any(word in one.opts for one in shoal.commands[words[0]].params)
    ]
    assert unknown == []
    assert [name for name, words in asked.items() if words[0] not in shoal.commands] == ["help"]


def test_a_run_is_measured_and_stands_in_the_table(tmp_path: Path) -> None:
    row = next(row for row in bench_commands.ROWS if row.name == "help")
    taken = bench_commands.run_once(row.words.split(), bench_commands.ROOT, tmp_path / "told")
    assert taken.cpu_s > 0
    assert taken.seconds > 0
    assert "anonymize" in (tmp_path / "told").read_text()
    header, line, missing = bench_commands.summary(
        [row, bench_commands.ROWS[0]],
        {row.name: bench_commands.Found(now=[taken]), bench_commands.ROWS[0].name: bench_commands.Found()},
    )
    assert "goal" in header
    assert f"{taken.seconds:.2f}" in line
    assert "not run" in missing


def test_a_command_that_fails_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(CalledProcessError):
        bench_commands.run_once(["no-such-command"], bench_commands.ROOT, tmp_path / "told")
