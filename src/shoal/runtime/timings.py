"""What the stages of a piece of work cost: seconds, CPU seconds and peak memory."""

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
    """What one stage took, or several of the same name together; stages inside it are counted apart.

    Parameters
    ----------
    stage
        Its name.
    seconds
        By the clock, without what was done beside another stage.
    cpu_s
        Of all threads, and of child processes that ended meanwhile.
    peak_bytes
        The most resident memory of this process during the stage; None where the system does not tell.
    """

    stage: str
    seconds: float
    cpu_s: float
    peak_bytes: int | None

    def to_json(self) -> dict[str, Any]:
        """As ``shoal anonymize --timings --json`` prints it."""
        return {
            "stage": self.stage,
            "seconds": round(self.seconds, 3),
            "cpu_s": round(self.cpu_s, 3),
            "peak_bytes": self.peak_bytes,
        }


class _Aside:
    """A piece of work beside the stages of another thread; made by the thread that does it."""

    def __init__(self, name: str) -> None:
        self.name, self.ended = name, False
        self._clock = _thread_clock()
        self._counted_s = _thread_cpu_s(self._clock)

    def passed_s(self) -> float:
        """The CPU seconds since this was asked last."""
        before, self._counted_s = self._counted_s, _thread_cpu_s(self._clock)
        return self._counted_s - before


class Timings:
    """Keeps what each stage costs, from its creation on; stages begin and end on one thread.

    On Linux it resets the peak of the process's resident memory at each change of stage, so what reads that
    peak from outside (``/usr/bin/time``) sees the last stage alone.

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
        self._asides: list[_Aside] = []
        self._unended = threading.Lock()
        self._since = (0.0, 0.0)
        self._turn()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what the block takes under this name, and not under that of the stage around it."""
        self._close()
        self._open.append(name)
        self._spent.setdefault(name, [0.0, 0.0])
        self._turn()
        try:
            yield
        finally:
            self._close()
            self._open.pop()
            self._turn()

    def beside(self, name: str, piece: Callable[[], Result]) -> Result:
        """What a piece of work gives that this thread does beside the stages of another one.

        Its CPU time is counted under ``name``, and not under the stages that are open meanwhile, whose peaks
        are taken for its own. Only Linux tells the time of another thread; elsewhere those stages count it.
        """
        aside = _Aside(name)
        with self._unended:
            self._asides.append(aside)
        try:
            return piece()
        finally:
            with self._unended:
                self._count(aside)
                aside.ended = True

    def costs(self) -> list[Cost]:
        """What each stage took so far, in the order of their beginnings; what lies in none comes last."""
        self._close()
        self._turn()
        names = [*(name for name in self._spent if name != REST), REST]
        return [
            Cost(stage=name, seconds=spent[0], cpu_s=spent[1], peak_bytes=self._peaks[name])
            for name in names
            for spent in [self._spent[name]]
        ]

    def _turn(self) -> None:
        """Begin to count for the stage that is open now."""
        reset_peak()
        self._since = (_clock_s(), _cpu_s())

    def _close(self) -> None:
        """Write down what the open stage took since the last turn."""
        name = self._open[-1]
        spent = self._spent.setdefault(name, [0.0, 0.0])
        with self._unended:
            for aside in self._asides:
                self._count(aside)
            names = {name, *(aside.name for aside in self._asides)}
            self._asides = [aside for aside in self._asides if not aside.ended]
            spent[0] += _clock_s() - self._since[0]
            spent[1] += _cpu_s() - self._since[1]
        peak = peak_bytes()
        for one in names:
            before = self._peaks.get(one)
            self._peaks[one] = peak if before is None or peak is None else max(before, peak)

    def _count(self, aside: _Aside) -> None:
        """Write down what a piece of work beside the open stage took since it was counted last."""
        if aside.ended:
            return
        passed_s = aside.passed_s()
        self._spent.setdefault(aside.name, [0.0, 0.0])[1] += passed_s
        self._spent.setdefault(self._open[-1], [0.0, 0.0])[1] -= passed_s


def lines_of(costs: list[Cost]) -> list[str]:
    """A table for people: one line for each stage, and one for all of them."""
    rows = [
        (cost, "" if cost.peak_bytes is None else f"{cost.peak_bytes / 2**20:>9,.0f} MiB") for cost in costs
    ]
    whole = all_of(costs)
    rows.append((whole, "" if whole.peak_bytes is None else f"{whole.peak_bytes / 2**20:>9,.0f} MiB"))
    return [
        f"{'stage':28} {'seconds':>9} {'CPU s':>9} {'peak memory':>13}",
        *(f"{cost.stage:28} {cost.seconds:>9.2f} {cost.cpu_s:>9.2f} {peak:>13}" for cost, peak in rows),
    ]


def all_of(costs: list[Cost]) -> Cost:
    """The stages together; the peak is the largest of theirs."""
    known = [cost.peak_bytes for cost in costs if cost.peak_bytes is not None]
    return Cost(
        stage="all",
        seconds=sum(cost.seconds for cost in costs),
        cpu_s=sum(cost.cpu_s for cost in costs),
        peak_bytes=max(known, default=None),
    )


def reset_peak() -> None:
    """Let the peak of the resident memory begin anew, where the system allows it."""
    try:
        _CLEAR_REFS.write_text(_RESET_THE_PEAK)
    except OSError:
        return  # the peaks that follow are of the whole process so far


def peak_bytes() -> int | None:
    """The most resident memory since the last reset, since the start where it cannot be reset, or None."""
    try:
        lines = _STATUS.read_text().splitlines()
    except OSError:
        return None
    told = [line for line in lines if line.startswith("VmHWM:")]
    return int(told[0].split()[1]) * 1024 if told else None


def _clock_s() -> float:
    return time.perf_counter()


def _cpu_s() -> float:
    """User and system time of this process and of its children that have ended."""
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


def _thread_clock() -> int | None:
    """The clock of this thread's CPU time, for other threads to read."""
    return time.pthread_getcpuclockid(threading.get_ident()) if sys.platform == "linux" else None


def _thread_cpu_s(clock: int | None) -> float:
    return 0.0 if clock is None else time.clock_gettime(clock)
