"""Progress: bars, the file that another process reads, and how long the rest takes."""

import sys
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.cli import terminal
from shoal.runtime import timings as progress_module
from shoal.runtime.timings import Pace, ProgressFile, read_progress


def test_a_run_shows_each_piece_of_work_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.progress import Progress

    told: list[tuple[str, int | None]] = []
    add, stop = Progress.add_task, Progress.stop
    monkeypatch.setattr(
        Progress,
        "add_task",
        lambda bars, label, total: told.append((label, total)) or add(bars, label, total=total),  # type: ignore[func-returns-value]
    )
    monkeypatch.setattr(Progress, "stop", lambda bars: told.append(("stop", None)) or stop(bars))  # type: ignore[func-returns-value]
    run = shoal.Run.with_bars()
    assert list(run.map(abs, [-1, 2], label="counting")) == [1, 2]
    assert list(run.map(abs, [-3], label="again")) == [3]
    assert told == [("counting", 2), ("stop", None), ("again", 1), ("stop", None)]


def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands where a test sets it."""
    now = [0.0]
    for module in (terminal, progress_module):
        monkeypatch.setattr(f"{module.__name__}.time.monotonic", lambda: now[0])
    return now


def test_work_that_begins_again_under_its_name_is_reckoned_anew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A comparison does the same work for each release; what was before says nothing of what is left."""
    now = clock(monkeypatch)
    with terminal.Bars(quiet=False) as bars:
        bars("attacking", 0, 4)
        bars("attacking", 4, 4)
        now[0] = 1000.0
        bars("attacking", 0, 4)
        now[0] = 1011.0
        bars("attacking", 1, 4)
    assert capsys.readouterr().err == "attacking: 25 %, about 33 s left\n"


def test_a_part_is_told_with_the_whole_from_ten_seconds_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = clock(monkeypatch)
    with terminal.Bars(quiet=False, whole="trials") as bars:
        bars("trials", 0, 8)
        now[0] = 6.0
        bars("trials", 1, 8)
        bars("merging", 0, 4)
        now[0] = 10.0
        bars("merging", 1, 4)
        now[0] = 15.0
        bars("trials", 2, 8)
        now[0] = 20.0
        bars("trials", 4, 8)
    assert capsys.readouterr().err.splitlines() == [
        "trials: 12 %, about 70 s left; merging: 25 %, about 12 s left",
        "trials: 50 %, about 20 s left",
    ]


def test_the_file_of_progress_reckons_anew_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = clock(monkeypatch)
    tell = ProgressFile(tmp_path / "progress.json")
    tell("attacking", 0, 4)
    tell("attacking", 4, 4)
    now[0] = 1000.0
    tell("attacking", 0, 4)
    now[0] = 1011.0
    tell("attacking", 1, 4)
    seen = read_progress(tmp_path / "progress.json")
    assert seen is not None
    assert seen.left_s == 33.0


def test_work_goes_on_where_nobody_reads_its_progress(tmp_path: Path) -> None:
    tell = ProgressFile(tmp_path / "gone" / "progress.json")
    tell("attacking", 0, 4)
    tell("attacking", 4, 4)
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("in_a_terminal", [True, False])
def test_a_bar_begins_again_under_its_name(monkeypatch: pytest.MonkeyPatch, in_a_terminal: bool) -> None:
    from rich.progress import Progress

    reset: list[int] = []
    again = Progress.reset

    def told(bars: Progress, task: Any, **of: Any) -> None:
        reset.append(of["completed"])
        again(bars, task, **of)

    monkeypatch.setattr(Progress, "reset", told)
    monkeypatch.setattr(terminal, "_PATIENCE_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if in_a_terminal:
        with terminal.Bars(quiet=False) as bars:
            for done in (0, 2, 4, 0, 1):
                bars("attacking", done, 4)
    else:
        tell = shoal.Run.with_bars().progress
        tell("releases", 0, 2)
        for done in (0, 2, 4, 0, 1, 4):
            tell("attacking", done, 4)
        tell("releases", 2, 2)
    assert reset == [0]


@pytest.mark.parametrize(
    ("done", "now_s", "left_s"),
    [
        (25, 11.0, 30.0),  # a quarter in ten seconds
        (1, 11.0, None),  # the first hundredth says little: "28 h left" at 0 % of ten minutes
        (25, 1.5, None),
        (0, 100.0, None),
        (100, 11.0, 0.0),
    ],
)
def test_the_rest_goes_as_what_is_done_went(done: int, now_s: float, left_s: float | None) -> None:
    pace = Pace(0, 1.0)
    assert not pace.update(done, now_s)
    assert pace.remaining_s(100, now_s) == left_s


def test_what_a_resumed_job_finds_says_nothing_of_its_pace() -> None:
    pace = Pace(60, 0.0)
    pace.update(80, 10.0)
    assert pace.remaining_s(100, 10.0) == 10.0


def test_work_that_begins_anew_has_a_new_pace() -> None:
    pace = Pace(0, 0.0)
    pace.update(100, 1000.0)
    assert pace.update(0, 1001.0)
    pace.update(50, 1003.0)
    assert pace.remaining_s(100, 1003.0) == 2.0
