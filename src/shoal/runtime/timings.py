"""Progress and costs: pace, the file ``SHOAL_PROGRESS_FILE``; seconds, CPU seconds, peak memory of stages."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Result = TypeVar("Result")

REST: Final = "everything else"
_CLEAR_REFS: Final = Path("/proc/self/clear_refs")
_STATUS: Final = Path("/proc/self/status")
_RESET_THE_PEAK: Final = "5"  # proc(5): resets the peak of the resident memory


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of one stage, or of several of one name; nested stages apart."""

    stage: str
    seconds: float  # elapsed, without work alongside another stage
    cpu_s: float  # of all threads, and of child processes that ended meanwhile
    peak_bytes: int | None  # largest resident memory of this process during the stage; None = unknown

    def to_json(self) -> dict[str, Any]:
        """As in ``shoal anonymize --timings --json``."""
        return {**asdict(self), "seconds": round(self.seconds, 3), "cpu_s": round(self.cpu_s, 3)}


class _SideTask:
    # created by the thread that does it

    def __init__(self, name: str) -> None:
        self.name, self.ended = name, False
        ident, is_linux = threading.get_ident(), sys.platform == "linux"
        self._clock = time.pthread_getcpuclockid(ident) if is_linux else None
        self._counted_s = _thread_cpu_s(self._clock)

    def passed_s(self) -> float:
        before, self._counted_s = self._counted_s, _thread_cpu_s(self._clock)
        return self._counted_s - before


class Timings:
    """Measures each stage from its creation on; stages begin and end on one thread.

    On Linux it resets the process's peak memory at each change of stage, so tools that read the peak from
    outside (``/usr/bin/time``) see only the last stage.

    >>> from shoal.runtime.timings import Timings
    >>> timings = Timings()
    >>> with timings.stage("outer"):
    ...     with timings.stage("inner"):
    ...         pass
    >>> [cost.stage for cost in timings.costs()]
    ['outer', 'inner', 'everything else']
    """

    def __init__(self) -> None:
        self._open = [REST]
        self._spent: dict[str, list[float]] = {}
        self._peaks: dict[str, int | None] = {}
        self._side_tasks: list[_SideTask] = []
        self._unended = threading.Lock()
        self._since = (0.0, 0.0)
        self._restart_counters()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the block under this name, and not under the enclosing stage."""
        self._close_stage()
        self._open.append(name)
        self._spent.setdefault(name, [0.0, 0.0])
        self._restart_counters()
        try:
            yield
        finally:
            self._close_stage()
            self._open.pop()
            self._restart_counters()

    def alongside(self, name: str, piece: Callable[[], Result]) -> Result:
        """Run work on this thread, alongside another's stages."""
        # Its CPU time counts under ``name`` and not under the stages open meanwhile, whose peaks become its
        # own. Only Linux reports the time of another thread; elsewhere those stages count it.
        task = _SideTask(name)
        with self._unended:
            self._side_tasks.append(task)
        try:
            return piece()
        finally:
            with self._unended:
                self._count_side_task(task)
                task.ended = True

    def costs(self) -> list[Cost]:
        """Each stage's cost, in order; time outside stages is last."""
        self._close_stage()
        self._restart_counters()
        names = [*(name for name in self._spent if name != REST), REST]
        return [
            Cost(stage=name, seconds=spent[0], cpu_s=spent[1], peak_bytes=self._peaks[name])
            for name in names
            for spent in [self._spent[name]]
        ]

    def _restart_counters(self) -> None:
        reset_peak()
        self._since = (time.perf_counter(), _cpu_s())

    def _close_stage(self) -> None:
        name = self._open[-1]
        spent = self._spent.setdefault(name, [0.0, 0.0])
        with self._unended:
            for task in self._side_tasks:
                self._count_side_task(task)
            names = {name, *(task.name for task in self._side_tasks)}
            self._side_tasks = [task for task in self._side_tasks if not task.ended]
            spent[0] += time.perf_counter() - self._since[0]
            spent[1] += _cpu_s() - self._since[1]
        peak = peak_bytes()
        for stage in names:
            before = self._peaks.get(stage)
            self._peaks[stage] = peak if before is None or peak is None else max(before, peak)

    def _count_side_task(self, task: _SideTask) -> None:
        if task.ended:
            return
        passed_s = task.passed_s()
        self._spent.setdefault(task.name, [0.0, 0.0])[1] += passed_s
        self._spent.setdefault(self._open[-1], [0.0, 0.0])[1] -= passed_s


def format_costs(costs: list[Cost]) -> list[str]:
    """A table: a line for each stage, and the total."""
    rows = [
        (cost, "" if cost.peak_bytes is None else f"{cost.peak_bytes / 2**20:>9,.0f} MiB")
        for cost in (*costs, total_cost(costs))
    ]
    return [
        f"{'stage':28} {'seconds':>9} {'CPU s':>9} {'peak memory':>13}",
        *(f"{cost.stage:28} {cost.seconds:>9.2f} {cost.cpu_s:>9.2f} {peak:>13}" for cost, peak in rows),
    ]


def total_cost(costs: list[Cost]) -> Cost:
    """All stages; the peak is the largest."""
    peaks = [cost.peak_bytes for cost in costs if cost.peak_bytes is not None]
    return Cost(
        stage="all",
        seconds=sum(cost.seconds for cost in costs),
        cpu_s=sum(cost.cpu_s for cost in costs),
        peak_bytes=max(peaks, default=None),
    )


def reset_peak() -> None:
    """Restart the peak of resident memory, where possible."""
    try:
        _CLEAR_REFS.write_text(_RESET_THE_PEAK)
    except OSError:
        return  # the peaks that follow are of the whole process so far


def peak_bytes() -> int | None:
    """The largest resident memory since the last reset; None if unknown."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    peak_lines = [line for line in lines if line.startswith("VmHWM:")]
    return int(peak_lines[0].split()[1]) * 1024 if peak_lines else None


def _cpu_s() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _thread_cpu_s(clock: int | None) -> float:
    return 0.0 if clock is None else time.clock_gettime(clock)


ENVIRONMENT: Final = "SHOAL_PROGRESS_FILE"
_EVERY_S: Final = 0.25
_ENOUGH_S: Final = 1.0  # of work before its rest is estimated
_ENOUGH: Final = 50  # and 1 / 50 of the parts: the first few say little


class Pace:
    """How much was done at a moment, in seconds."""

    def __init__(self, done: int, now_s: float) -> None:
        self._first, self.done, self.total = done, done, 0
        self.began_s = now_s

    def update(self, done: int, now_s: float, total: int = 0) -> bool:
        """Note how much is done; whether the work restarted."""
        restarted = done < self.done
        if restarted:
            self._first, self.began_s = done, now_s
        self.done, self.total = done, total
        return restarted

    def remaining_s(self, total: int, now_s: float) -> float | None:
        """Seconds for the rest; None while too little is done."""
        spent_s, parts = now_s - self.began_s, self.done - self._first
        if spent_s < _ENOUGH_S or parts <= 0 or parts * _ENOUGH < total - self._first:
            return None
        return spent_s * (total - self.done) / parts


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
            from rich.console import Console
            from rich.progress import Progress

            self._shown = Progress(transient=True, console=Console(stderr=True))
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
