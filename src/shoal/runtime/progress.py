"""Progress: pace, bars, and the file ``SHOAL_PROGRESS_FILE``."""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

ENVIRONMENT: Final = "SHOAL_PROGRESS_FILE"
_EVERY_S: Final = 0.25
_ENOUGH_S: Final = 1.0  # of work before its rest is estimated
_ENOUGH: Final = 50  # and 1 / 50 of the parts: the first few say little


class Pace:
    """How much was done at a moment, in seconds."""

    def __init__(self, done: int, now_s: float) -> None:
        self._first, self._done = done, done
        self.began_s = now_s

    def update(self, done: int, now_s: float) -> bool:
        """Note how much is done; whether the work restarted."""
        restarted = done < self._done
        if restarted:
            self._first, self.began_s = done, now_s
        self._done = done
        return restarted

    def remaining_s(self, total: int, now_s: float) -> float | None:
        """Seconds for the rest; None while too little is done."""
        spent_s, parts = now_s - self.began_s, self._done - self._first
        if spent_s < _ENOUGH_S or parts <= 0 or parts * _ENOUGH < total - self._first:
            return None
        return spent_s * (total - self._done) / parts


@dataclass(frozen=True, kw_only=True)
class ProgressReport:
    """Parts done of a total; seconds left, None if unknown."""

    label: str
    done: int
    total: int
    left_s: float | None


class ProgressFile:
    """Writes progress a few times a second; work continues where writing fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        self._label, self._pace, self._last = "", Pace(0, 0.0), 0.0

    def __call__(self, label: str, done: int, total: int) -> None:
        """Write the progress, unless it is recent."""
        now = time.monotonic()
        if label != self._label:
            self._label, self._pace = label, Pace(done, now)
        elif not self._pace.update(done, now) and now - self._last < _EVERY_S and done < total:
            return
        self._last = now
        report = ProgressReport(
            label=label, done=done, total=total, left_s=self._pace.remaining_s(total, now)
        )
        with suppress(OSError):  # the disk is full, or the reader is gone
            self._partial.write_text(json.dumps(asdict(report)), encoding="utf-8")
            self._partial.replace(self._path)


def requested_progress_file() -> ProgressFile | None:
    """The file in the environment, if any."""
    named = os.environ.get(ENVIRONMENT)
    return ProgressFile(Path(named)) if named else None


def read_progress(path: Path) -> ProgressReport | None:
    """The content of a progress file; None before it exists."""
    try:
        return ProgressReport(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None


class ProgressBars:
    """A bar for each piece of work, with the time left."""

    def __init__(self) -> None:
        self._shown: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._done: dict[str, int] = {}

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show the progress."""
        if self._shown is None:
            from rich.progress import Progress

            self._shown = Progress(transient=True)
            self._shown.start()
        if label not in self._tasks:
            self._tasks[label] = self._shown.add_task(label, total=max(total, 1))
        elif done < self._done[label]:  # the same work for something else
            self._shown.reset(self._tasks[label], completed=done, total=max(total, 1))
        self._done[label] = done
        self._shown.update(self._tasks[label], completed=done if total else 1, total=max(total, 1))
        if self._shown.finished:
            self._shown.stop()
            self._shown = None
            self._tasks.clear()
