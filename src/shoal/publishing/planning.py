"""Estimate the cost of a long command, from counts and COSTS."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.io.reading import read_rows
from shoal.io.snapping import Rows
from shoal.methods import Method
from shoal.methods.method import NeedsWholeSteps
from shoal.model.argument_checks import require_people
from shoal.model.grid import Grid, require_snapped
from shoal.model.intake import Reading
from shoal.publishing.block_facts import SAMPLE_PEOPLE, people_for_k_gaps
from shoal.publishing.costs import COSTS, MACHINE
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.scale.blocks import (
    ALL_AT_ONCE,
    PEAKS,
    MemoryBound,
    bytes_around,
    bytes_of_worker,
    most_samples,
    number_of_blocks,
)
from shoal.units import show_bytes

BLOCKS: Final = "glove in blocks"
AROUND: Final = "around the blocks"
GAPS: Final = "k-gaps of drawn people"
WORKER: Final = "start of a worker"
RECORD_TRIES: Final = 200  # of the rows of COSTS for the record, as their names say


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Rows read, usable rows (samples), and people. samples_per_person: [people]."""

    rows: int
    samples: int
    people: int
    samples_per_person: Integers = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False, repr=False
    )
    notes: tuple[str, ...] = field(default=(), compare=False)  # on their positions


@dataclass(frozen=True, kw_only=True)
class Task:
    """A row of COSTS, the size of crowds, and a factor."""

    name: str
    k: int = 2
    times: float = 1.0
    people: int | None = None  # people, samples: how many it works on together, and in all; None: everyone
    samples: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """The cost of one task."""

    task: str
    cpu_s: float
    memory_mb: float
    disk_mb: float


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks of people, and workers."""

    number: int  # the number of blocks
    people: int  # the most people in one
    workers: int | None  # processes on this machine; None on a cluster
    at_once: int | None  # the workers that this machine's cores run at the same time; None on a cluster
    worker_memory_mb: float
    memory_around_mb: float

    @property
    def memory_mb(self) -> float:
        """All processes together, as if their peaks coincided."""
        return self.memory_around_mb + (self.workers or 0) * self.worker_memory_mb


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cost of a command."""

    counts: Counts  # of its input
    steps: tuple[Step, ...]  # one for each task, in order
    free_disk_mb: float | None  # free space where it will write; None for commands that write nothing
    machine_memory_mb: float | None  # the memory of this machine; None where it is unknown
    blocks: Blocks | None = None  # None where everyone is worked on at once

    @property
    def cpu_s(self) -> float:
        """Seconds of one thread."""
        return sum(step.cpu_s for step in self.steps)

    @property
    def memory_mb(self) -> float:
        """The largest task's, as tasks follow each other; in blocks, all processes."""
        if self.blocks is not None:
            return self.blocks.memory_mb
        return max((step.memory_mb for step in self.steps), default=0.0)

    @property
    def seconds_at_least(self) -> float | None:
        """Elapsed seconds without waiting; None without blocks, or on a cluster."""
        at_once = None if self.blocks is None else self.blocks.at_once
        return None if at_once is None else self.cpu_s / at_once

    @property
    def disk_mb(self) -> float:
        """Written by all tasks."""
        return sum(step.disk_mb for step in self.steps)

    @property
    def too_large(self) -> tuple[str, ...]:
        """What this machine lacks."""
        lacking = []
        if self.machine_memory_mb is not None and self.memory_mb > self.machine_memory_mb:
            lacking.append(f"more memory than this machine has ({self.machine_memory_mb:,.0f} MB)")
        if self.free_disk_mb is not None and self.disk_mb > self.free_disk_mb:
            lacking.append(f"more disk than is free there ({self.free_disk_mb:,.0f} MB)")
        return tuple(lacking)

    def to_json(self) -> dict[str, Any]:
        """The document of ``--plan --json``."""
        return {
            "rows": self.counts.rows,
            "samples": self.counts.samples,
            "people": self.counts.people,
            "cpu_s": round(self.cpu_s, 1),
            "memory_mb": round(self.memory_mb),
            "disk_mb": round(self.disk_mb, 1),
            "seconds_at_least": None if self.seconds_at_least is None else round(self.seconds_at_least, 1),
            "blocks": None
            if self.blocks is None
            else {
                "number": self.blocks.number,
                "people": self.blocks.people,
                "workers": self.blocks.workers,
                "worker_memory_mb": round(self.blocks.worker_memory_mb),
                "memory_around_mb": round(self.blocks.memory_around_mb),
            },
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
    """Count an input with little memory: every usable row is a sample."""
    of_code = np.zeros(0, dtype=np.int64)

    def keep(rows: Rows, _: Sequence[str]) -> None:
        nonlocal of_code
        highest = int(rows.code.max(initial=-1)) + 1
        if highest > len(of_code):
            more = max(highest, 2 * len(of_code)) - len(of_code)
            of_code = np.concatenate([of_code, np.zeros(more, dtype=np.int64)])
        np.add.at(of_code, rows.code, 1)

    intake = read_rows(source, reading, run, keep)
    samples_of = of_code[of_code > 0]
    return Counts(
        rows=intake.rows_read,
        samples=int(samples_of.sum()),
        people=len(samples_of),
        samples_per_person=samples_of,
        notes=tuple(intake.positions.notes),
    )


def require_possible(method: Method, people: int, reading: Reading) -> None:
    """Raise MisuseError where the method would refuse these people, or this reading."""
    grid = require_snapping(reading) if method.about.publishes == "boxes" else None
    require_people(people, method.claim().k)
    if grid is not None and isinstance(method, NeedsWholeSteps):
        method.require_steps(grid)


def require_snapping(reading: Reading) -> Grid:
    """The grid; raises MisuseError where points are kept as given."""
    return require_snapped(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s) if reading.snap else None)


def memory_bound_for(counts: Counts, bound: MemoryBound, needs_everyone: str | None) -> MemoryBound | None:
    """The bound for blocks; None if all fit at once. MisuseError if an option needs everyone."""
    people, samples = counts.people, counts.samples
    needed = PEAKS[ALL_AT_ONCE].of(people, samples)
    if needed <= bound.total_bytes:
        return None
    if needs_everyone is not None:
        raise MisuseError(
            f"{needs_everyone} needs everything at once, and {people:,} people with {samples:,} samples "
            f"need --memory {show_bytes(needed)} for that; leave it out to work in blocks"
        )
    return bound


def plan(
    counts: Counts, tasks: Sequence[Task], target: Path | None = None, blocks: Blocks | None = None
) -> Plan:
    """The cost of tasks; target: where they write."""
    steps = []
    for task in tasks:
        if task.name not in COSTS:
            raise MisuseError(
                f"nobody has measured what {task.name} takes, so --plan cannot say; try it on a few people, "
                "with --timings where there is one"
            )
        row = COSTS[task.name]
        people = counts.people if task.people is None else task.people
        samples = counts.samples if task.samples is None else task.samples
        memory_mb = row.memory_mb(samples)
        if blocks is not None:
            memory_mb = {BLOCKS: blocks.worker_memory_mb, AROUND: blocks.memory_around_mb}.get(task.name, 0.0)
        steps.append(
            Step(
                task=task.name,
                cpu_s=task.times * row.cpu_s(people, samples, task.k, counts.samples / counts.people),
                memory_mb=memory_mb,
                disk_mb=row.written_mb(samples),
            )
        )
    return Plan(
        counts=counts,
        steps=tuple(steps),
        free_disk_mb=None if target is None else _free_mb(target),
        machine_memory_mb=_memory_mb(),
        blocks=blocks,
    )


def blocks_of(
    counts: Counts, k: int, size: int, *, workers: int | None, cores: int | None, only_blocks: bool
) -> Blocks:
    """Blocks of at most ``size``; raises MisuseError when one could not hold k people."""
    number = number_of_blocks(counts.people, size, k)
    largest, people = most_samples(counts.samples_per_person), -(-counts.people // number)
    return Blocks(
        number=number,
        people=people,
        workers=workers,
        at_once=None if workers is None or cores is None else min(workers, cores),
        worker_memory_mb=bytes_of_worker(largest, people, only_blocks=only_blocks) / 1e6,
        memory_around_mb=bytes_around(largest, SAMPLE_PEOPLE) / 1e6,
    )


def tasks_in_blocks(counts: Counts, k: int, blocks: Blocks, tries: int, starts: int) -> list[Task]:
    """The tasks of a publication; ``tries``: victims of each attack, ``starts``: workers."""
    drawn = len(people_for_k_gaps(counts.people, k, blocks.people))
    sample = min(SAMPLE_PEOPLE, counts.people)
    times = min(tries, sample) / RECORD_TRIES
    played = Task(
        name="200 tries for the record of boxes",
        times=times,
        people=sample,
        samples=round(counts.samples * sample / counts.people),
    )
    return [
        Task(name=BLOCKS, k=k, people=blocks.people),
        Task(name=AROUND, k=k),
        Task(name=GAPS, k=k, people=drawn),
        *([played] if times else []),
        *([Task(name=WORKER, times=starts, samples=0)] if starts else []),
    ]


def _free_mb(target: Path) -> float | None:
    existing = next((folder for folder in (target, *target.absolute().parents) if folder.exists()), None)
    return None if existing is None else shutil.disk_usage(existing).free / 1e6


def _memory_mb() -> float | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    except (AttributeError, ValueError, OSError):
        return None
