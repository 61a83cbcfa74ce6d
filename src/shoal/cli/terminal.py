"""Output on a terminal: results to standard output, messages and bars to standard error."""

import json
import math
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.messages import write_requested_messages
from shoal.runtime.compiling import COMPILING
from shoal.runtime.staging import LISTENERS, is_in_use
from shoal.runtime.timings import Pace, requested_progress_file
from shoal.units import counted, measured_s

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from shoal.model.intake import Reading
    from shoal.runtime.run import Run

QUIET: Final = "shoal.quiet"  # of a click context: whether what goes well is not told
LOG: Final = "shoal.log"  # of a click context: how messages are written
_PATIENCE_S: Final = 2.0
_PLAIN_LINE_EVERY_S: Final = 10.0
_COMPILING: Final = (
    "compiling for this processor: the first use of each command takes about a minute more, once"
)


class Bars:
    """Bars on a terminal, lines elsewhere, nothing when quiet or quick.

    whole: the label of the work that others are parts of; lines say both.
    """

    def __init__(self, *, quiet: bool, whole: str = "") -> None:
        self._quiet, self._whole = quiet, whole
        self._paces: dict[str, Pace] = {}  # by label
        self._last_line = -math.inf
        self._tasks: dict[str, TaskID] = {}
        self._bars: Progress | None = None
        context = click.get_current_context(silent=True)
        self._as_json = context is not None and context.meta.get(LOG) == "json"
        self._file = requested_progress_file()
        self._parts: set[Path] = set()  # that were named

    def __enter__(self) -> "Bars":
        COMPILING.listeners.append(self._tell_of_compiling)
        LISTENERS.append(self._name_parts)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tell_of_compiling in COMPILING.listeners:
            COMPILING.listeners.remove(self._tell_of_compiling)
        LISTENERS.remove(self._name_parts)
        if self._bars is not None:
            self._bars.stop()

    def say(self, message: str) -> None:
        """Print a message; nothing when quiet."""
        if not self._quiet:
            self.tell(message)

    def tell(self, message: str) -> None:
        """Print a message, also when quiet."""
        message = steady(message)
        if self._as_json:
            log_line("info", message)
        elif self._bars is not None:
            self._bars.console.print(message, markup=False, highlight=False)
        else:
            print(message, file=sys.stderr, flush=True)  # noqa: T201  (the place that prints messages)

    @property
    def can_ask(self) -> bool:
        """Whether someone sits at a terminal."""
        return sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> bool:
        """Ask a question on a terminal; no by default."""
        if self._bars is not None:
            self._bars.stop()
        return click.confirm(question, err=True)

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show the progress."""
        if self._file is not None:
            self._file(label, done, total)
        now = time.monotonic() - COMPILING.seconds  # what is done once says nothing of the rest
        pace = self._paces.setdefault(label, Pace(done, now))
        restarted, began = pace.update(done, now, total), pace.began_s
        if self._quiet or (now - began < _PATIENCE_S and label not in self._tasks):
            return
        if self._as_json:
            if now - max(self._last_line, began) >= _PLAIN_LINE_EVERY_S:
                self._last_line = now
                log_line("progress", label, done=done, total=total)
        elif sys.stderr.isatty():
            self._show_bar(label, done, total, restarted=restarted)
        elif now - max(self._last_line, self._paces.get(self._whole, pace).began_s) >= _PLAIN_LINE_EVERY_S:
            self._last_line = now
            labels = dict.fromkeys(name for name in (self._whole, label) if name in self._paces)
            line = "; ".join(_pace_in_words(name, self._paces[name], now) for name in labels)
            print(line, file=sys.stderr, flush=True)  # noqa: T201  (of progress)

    def _tell_of_compiling(self) -> None:
        if COMPILING.seconds > _PATIENCE_S:
            COMPILING.listeners.remove(self._tell_of_compiling)
            self.say(_COMPILING)

    def _name_parts(self, parts: Sequence[Path]) -> None:
        if new := [path for path in parts if path not in self._parts]:
            self._parts.update(new)
            if in_use := [path for path in new if is_in_use(path)]:
                self.say(f"note: another command is writing here: {', '.join(map(str, in_use))}")
            if stopped := [path for path in new if path not in in_use]:
                self.say(f"note: parts (secret) lie here of a run that was stopped: {rm_command(*stopped)}")

    def _show_bar(self, label: str, done: int, total: int, *, restarted: bool) -> None:
        from rich.console import Console
        from rich.progress import Progress

        if self._bars is None:
            self._bars = Progress(console=Console(stderr=True))
            self._bars.start()
        if label not in self._tasks:
            self._tasks[label] = self._bars.add_task(label, total=total)
        elif restarted:
            self._bars.reset(self._tasks[label], completed=done, total=total)
        self._bars.update(self._tasks[label], completed=done, total=total)


def _pace_in_words(label: str, pace: Pace, now: float) -> str:
    left_s = pace.remaining_s(pace.total, now)
    rest = "" if left_s is None else f", about {measured_s(left_s)} left"
    return f"{label}: {100 * pace.done // max(pace.total, 1)} %{rest}"


def log_line(level: str, message: str, **more: Any) -> None:
    """A JSON object on standard error: time (UTC), level and message."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    entry = {"time": moment, "level": level, "message": message, **more}
    print(json.dumps(entry, ensure_ascii=False), file=sys.stderr, flush=True)  # noqa: T201  (prints messages)


def rm_command(*paths: Path) -> str:
    """The command that removes these files and folders."""
    return shlex.join(["rm", "-r", *map(str, paths)])


def read_and_report(source: str, reading: "Reading", bars: Bars, run: "Run") -> Any:
    """Read the input; report dropped, repaired and assumed rows, and people who are too rarely in it."""
    from shoal.io import read_with
    from shoal.measures.description import note_attendance

    with run.stage("reading"):
        original = read_with(source, reading, run)
    report_reading(original, bars)
    for note in note_attendance(original):
        bars.say(f"note: {note}")
    return original


def report_reading(original: Any, bars: Bars) -> None:
    """Report dropped, repaired and assumed rows."""
    intake = original.intake
    people = counted(original.n_subjects, "subject")
    if intake.people_lost:
        remaining = intake.people_read - intake.people_lost
        people = f"{remaining:,} of {counted(intake.people_read, 'person', 'people')}"
    bars.say(
        f"read {counted(original.n_samples, 'sample')} of {people} "
        f"from {counted(intake.rows_read, 'row')}; "
        f"dropped: {listed(intake.dropped)}; repaired: {listed(intake.repaired)}"
    )
    for note in intake.notes:
        bars.say(f"note: {note}")


def print_result(
    as_json: bool,
    facts: Mapping[str, Any],
    lines: Sequence[str],
    *,
    well: bool = True,
    cautions: Sequence[str] = (),
) -> None:
    """Print one JSON document, or lines; with --quiet, on success only the cautions, to standard error."""
    context = click.get_current_context(silent=True)
    if as_json:
        write_requested_messages(facts)
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False))
    elif not (well and context is not None and context.meta.get(QUIET)):
        click.echo("\n".join(steady(part) for line in lines for part in line.split("\n")))
    else:
        for caution in cautions:
            Bars(quiet=True).tell(caution)


def listed(rows: Mapping[str, int]) -> str:
    """Rows by reason in one line."""
    return ", ".join(f"{count:,} {reason}" for reason, count in rows.items()) or "none"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, with columns as wide as their widest text."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def steady(line: str) -> str:
    """A line without control characters."""
    return "".join(char if char.isprintable() else " " for char in line)
