"""Bars of progress: one for each piece of work, gone when all have ended."""

import pytest

import shoal


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
