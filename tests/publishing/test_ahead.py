"""What a first publication lets other processes compile: begun when it compiles, ended with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.publishing import ahead
from shoal.publishing.ahead import SWITCH, compile_ahead
from shoal.runtime.compiling import COMPILING

WAITS = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch(); sys.stdin.read()"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a file for each process that was begun, named by its steps; three cores."""
    folder = tmp_path / "begun"
    folder.mkdir()

    def words(_method: str, *steps: str) -> list[str]:
        return [sys.executable, "-c", WAITS, str(folder / "-".join(steps))]

    monkeypatch.setattr(ahead, "_ahead_command", words)
    monkeypatch.setattr(ahead, "available_cores", lambda: 3)
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setattr(COMPILING, "kernels", 0)
    return folder


def _compile(kernels: int) -> None:
    for _ in range(kernels):
        COMPILING.begin()
        COMPILING.end()


def test_processes_share_the_steps_and_end_with_the_publication(begun: Path) -> None:
    with compile_ahead("glove"):
        _compile(3)
        assert not list(begun.iterdir())  # three kernels are sooner compiled
        _compile(5)
    # they have ended, all of them: leaving waits for that
    assert sorted(path.name for path in begun.iterdir()) == ["attacks-facts", "utility"]
    _compile(5)
    assert len(list(begun.iterdir())) == 2
    assert not COMPILING.listeners


def test_one_core_and_a_switch_begin_nothing(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as alone:
        alone.setattr(ahead, "available_cores", lambda: 1)
        with compile_ahead("glove"):
            _compile(9)
    monkeypatch.setenv(SWITCH, "0")
    with compile_ahead("glove"):
        _compile(9)
    assert not list(begun.iterdir())


def test_a_process_that_cannot_begin_is_done_without(begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "_ahead_command", lambda *_: [str(begun / "absent")])
    with compile_ahead("glove"):
        _compile(9)


def test_every_step_runs_on_a_toy_release(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        ahead._ahead_command("glove", *ahead._STEPS), stdin=subprocess.PIPE, env=environment
    ) as process:
        assert process.wait(300) == 0
    assert not list(tmp_path.iterdir())
