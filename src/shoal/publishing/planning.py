"""What a long command will take, before it begins: figured from counts of the input and the rows of COSTS."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import MisuseError
from shoal.io.reading import take_in
from shoal.io.snapping import Rows
from shoal.model.intake import Reading
from shoal.publishing.costs import COSTS, MACHINE, Growth
from shoal.runtime.run import Run


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How much there is to work on: rows that were read, rows that can be used, and the people in them."""

    rows: int
    samples: int
    people: int


@dataclass(frozen=True, kw_only=True)
class Task:
    """A piece of work: a row of COSTS, the size of crowds, and how often it is done (1.5: half again)."""

    name: str
    k: int = 2
    times: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one task of a plan takes."""

    task: str
    cpu_s: float
    memory_mb: float
    disk_mb: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a command will take.

    Parameters
    ----------
    counts
        Of its input.
    steps
        One for each task, in their order.
    free_disk_mb
        What is free where it will write; None for what writes nothing.
    machine_memory_mb
        The memory of this machine; None where the system does not tell.
    """

    counts: Counts
    steps: tuple[Step, ...]
    free_disk_mb: float | None
    machine_memory_mb: float | None

    @property
    def cpu_s(self) -> float:
        """Seconds of one thread."""
        return sum(step.cpu_s for step in self.steps)

    @property
    def memory_mb(self) -> float:
        """The largest of the tasks; they come one after the other."""
        return max(step.memory_mb for step in self.steps)

    @property
    def disk_mb(self) -> float:
        """What all tasks write."""
        return sum(step.disk_mb for step in self.steps)

    @property
    def too_large(self) -> tuple[str, ...]:
        """What this machine lacks, in words."""
        lacking = []
        if self.machine_memory_mb is not None and self.memory_mb > self.machine_memory_mb:
            lacking.append(f"more memory than this machine has ({self.machine_memory_mb:,.0f} MB)")
        if self.free_disk_mb is not None and self.disk_mb > self.free_disk_mb:
            lacking.append(f"more disk than is free there ({self.free_disk_mb:,.0f} MB)")
        return tuple(lacking)

    def to_json(self) -> dict[str, Any]:
        """As ``--plan --json`` prints it."""
        return {
            "rows": self.counts.rows,
            "samples": self.counts.samples,
            "people": self.counts.people,
            "cpu_s": round(self.cpu_s, 1),
            "memory_mb": round(self.memory_mb),
            "disk_mb": round(self.disk_mb, 1),
            "steps": [
                {
                    "task": step.task,
                    "cpu_s": round(step.cpu_s, 1),
                    "memory_mb": round(step.memory_mb),
                    "disk_mb": round(step.disk_mb, 1),
                }
                for step in self.steps
            ],
            "machine_memory_mb": None if self.machine_memory_mb is None else round(self.machine_memory_mb),
            "free_disk_mb": None if self.free_disk_mb is None else round(self.free_disk_mb),
            "too_large": list(self.too_large),
            "measured_on": MACHINE,
        }


def count(source: object, reading: Reading, run: Run) -> Counts:
    """Read everything once in little memory, and count it.

    Samples are rows that can be used: those of the same person, cell and slot still count each.

    Raises
    ------
    InputError, MisuseError
        As reading does.
    """
    samples = 0
    seen = np.zeros(0, dtype=bool)

    def keep(rows: Rows, _: Sequence[str]) -> None:
        nonlocal samples, seen
        samples += len(rows.code)
        highest = int(rows.code.max(initial=-1)) + 1
        if highest > len(seen):
            seen = np.concatenate([seen, np.zeros(max(highest, 2 * len(seen)) - len(seen), dtype=bool)])
        seen[rows.code] = True

    taken = take_in(source, reading, run, keep)
    return Counts(rows=taken.rows_read, samples=samples, people=int(seen.sum()))


def plan(counts: Counts, tasks: Sequence[Task], target: Path | None = None) -> Plan:
    """What these tasks take on so many samples; target: where they write.

    Raises MisuseError for a task that was not measured.
    """
    steps = []
    for task in tasks:
        row = _row(task.name)
        steps.append(
            Step(
                task=task.name,
                cpu_s=task.times * row.cpu_s(counts.people, counts.samples, task.k),
                memory_mb=row.memory_mb(counts.samples),
                disk_mb=row.written_mb(counts.samples),
            )
        )
    return Plan(
        counts=counts,
        steps=tuple(steps),
        free_disk_mb=None if target is None else _free_mb(target),
        machine_memory_mb=_memory_mb(),
    )


def _row(name: str) -> Growth:
    if name not in COSTS:
        raise MisuseError(
            f"nobody has measured what {name} takes, so --plan cannot say; try it on a few people, with "
            "--timings where there is one"
        )
    return COSTS[name]


def _free_mb(target: Path) -> float | None:
    """Free space in the file system that will hold the target."""
    there = next((each for each in (target, *target.absolute().parents) if each.exists()), None)
    return None if there is None else shutil.disk_usage(there).free / 1e6


def _memory_mb() -> float | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    except (AttributeError, ValueError, OSError):
        return None
