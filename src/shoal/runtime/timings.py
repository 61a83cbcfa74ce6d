"""Costs of stages: seconds, CPU seconds, peak memory."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

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
        return {
            "stage": self.stage,
            "seconds": round(self.seconds, 3),
            "cpu_s": round(self.cpu_s, 3),
            "peak_bytes": self.peak_bytes,
        }


class _SideTask:
    # created by the thread that does it

    def __init__(self, name: str) -> None:
        self.name, self.ended = name, False
        self._clock = _thread_clock()
        self._counted_s = _thread_cpu_s(self._clock)

    def passed_s(self) -> float:
        before, self._counted_s = self._counted_s, _thread_cpu_s(self._clock)
        return self._counted_s - before


class Timings:
    """Measures each stage from its creation on; stages begin and end on one thread.

    On Linux it resets the process's peak memory at each change of stage, so tools that read the peak from
    outside (``/usr/bin/time``) see only the last stage.

    Examples
    --------
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
        self._since = (_clock_s(), _cpu_s())

    def _close_stage(self) -> None:
        name = self._open[-1]
        spent = self._spent.setdefault(name, [0.0, 0.0])
        with self._unended:
            for task in self._side_tasks:
                self._count_side_task(task)
            names = {name, *(task.name for task in self._side_tasks)}
            self._side_tasks = [task for task in self._side_tasks if not task.ended]
            spent[0] += _clock_s() - self._since[0]
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
        (cost, "" if cost.peak_bytes is None else f"{cost.peak_bytes / 2**20:>9,.0f} MiB") for cost in costs
    ]
    whole = total_cost(costs)
    rows.append((whole, "" if whole.peak_bytes is None else f"{whole.peak_bytes / 2**20:>9,.0f} MiB"))
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


def _clock_s() -> float:
    return time.perf_counter()


def _cpu_s() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _thread_clock() -> int | None:
    return time.pthread_getcpuclockid(threading.get_ident()) if sys.platform == "linux" else None


def _thread_cpu_s(clock: int | None) -> float:
    return 0.0 if clock is None else time.clock_gettime(clock)
