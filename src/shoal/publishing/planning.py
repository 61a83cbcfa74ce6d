"""What a long command will take, before it begins: figured from counts of the input and the rows of COSTS."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import MisuseError
from shoal.io.reading import take_in
from shoal.io.snapping import Rows
from shoal.methods import Method
from shoal.methods.method import NeedsWholeSteps
from shoal.model.intake import Reading
from shoal.model.trajectories import Grid, require_people, require_snapped
from shoal.publishing.block_gaps import people_drawn
from shoal.publishing.block_sample import SAMPLE_PEOPLE
from shoal.publishing.costs import COSTS, MACHINE, Growth
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.scale.blocks import number_of_blocks
from shoal.scale.memory import bytes_around, bytes_of_worker, most_samples

BLOCKS: Final = "glove in blocks"
AROUND: Final = "around the blocks"
GAPS: Final = "k-gaps of drawn people"
WORKER: Final = "start of a worker"
RECORD_TRIES: Final = 200  # that the rows of COSTS for the record are for, as their names say


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How much there is to work on: rows that were read, rows that can be used, and the people in them.

    each: [people] usable rows of everybody. notes: on where they are.
    """

    rows: int
    samples: int
    people: int
    each: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), compare=False, repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, kw_only=True)
class Task:
    """A piece of work: a row of COSTS, the size of crowds, and how often it is done (1.5: half again).

    people, samples: how much it looks at together, and in all; None: everybody.
    """

    name: str
    k: int = 2
    times: float = 1.0
    people: int | None = None
    samples: int | None = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one task of a plan takes."""

    task: str
    cpu_s: float
    memory_mb: float
    disk_mb: float


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks of people and who works on them.

    Parameters
    ----------
    number
        Of blocks.
    people
        The most in one.
    workers
        Beside each other; None where a cluster decides.
    at_once
        How many of them the cores of this machine carry; None where a cluster decides.
    worker_memory_mb, memory_around_mb
        Peaks of a worker, and of the process that hands out the tasks.
    """

    number: int
    people: int
    workers: int | None
    at_once: int | None
    worker_memory_mb: float
    memory_around_mb: float

    @property
    def memory_mb(self) -> float:
        """Of all processes on this machine together, as if all had their peaks at the same time."""
        return self.memory_around_mb + (self.workers or 0) * self.worker_memory_mb


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
    blocks
        Those that it works in; None where it works on everything at once.
    """

    counts: Counts
    steps: tuple[Step, ...]
    free_disk_mb: float | None
    machine_memory_mb: float | None
    blocks: Blocks | None = None

    @property
    def cpu_s(self) -> float:
        """Seconds of one thread."""
        return sum(step.cpu_s for step in self.steps)

    @property
    def memory_mb(self) -> float:
        """The largest of the tasks, which come one after the other; in blocks that of all processes."""
        if self.blocks is not None:
            return self.blocks.memory_mb
        return max((step.memory_mb for step in self.steps), default=0.0)

    @property
    def seconds_at_least(self) -> float | None:
        """By the clock, if nothing waited for anything; None without blocks, or where a cluster decides."""
        at_once = None if self.blocks is None else self.blocks.at_once
        return None if at_once is None else self.cpu_s / at_once

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
            "seconds_at_least": None if self.seconds_at_least is None else round(self.seconds_at_least, 1),
            "blocks": None if self.blocks is None else _blocks_to_json(self.blocks),
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
    of_code = np.zeros(0, dtype=np.int64)

    def keep(rows: Rows, _: Sequence[str]) -> None:
        nonlocal of_code
        highest = int(rows.code.max(initial=-1)) + 1
        if highest > len(of_code):
            more = max(highest, 2 * len(of_code)) - len(of_code)
            of_code = np.concatenate([of_code, np.zeros(more, dtype=np.int64)])
        np.add.at(of_code, rows.code, 1)

    taken = take_in(source, reading, run, keep)
    each = of_code[of_code > 0]
    return Counts(
        rows=taken.rows_read,
        samples=int(each.sum()),
        people=len(each),
        each=each,
        notes=tuple(taken.positions.notes),
    )


def require_possible(method: Method, people: int, reading: Reading) -> None:
    """Raise MisuseError where the method would refuse these parameters for so many people, read like this."""
    grid = require_snapping(reading) if method.about.publishes == "boxes" else None
    require_people(people, method.claim().k)
    if grid is not None and isinstance(method, NeedsWholeSteps):
        method.require_steps(grid)


def require_snapping(reading: Reading) -> Grid:
    """The grid that is snapped to; raises MisuseError where points are kept as given."""
    return require_snapped(Grid(cell_m=reading.cell_m, slot_s=reading.slot_s) if reading.snap else None)


def plan(
    counts: Counts, tasks: Sequence[Task], target: Path | None = None, blocks: Blocks | None = None
) -> Plan:
    """What these tasks take on so many samples; target: where they write; blocks: which they work in.

    Raises MisuseError for a task that was not measured.
    """
    steps = []
    for task in tasks:
        row = _row(task.name)
        people = counts.people if task.people is None else task.people
        samples = counts.samples if task.samples is None else task.samples
        memory_mb = row.memory_mb(samples)
        if blocks is not None:
            memory_mb = {BLOCKS: blocks.worker_memory_mb, AROUND: blocks.memory_around_mb}.get(task.name, 0.0)
        steps.append(
            Step(
                task=task.name,
                cpu_s=task.times * row.cpu_s(people, samples, task.k),
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
    """Blocks of at most so many of these people.

    workers, cores: None where a cluster decides. only_blocks: the workers have no other tasks.

    Raises
    ------
    MisuseError
        When blocks of that size could not hold k people each.
    """
    number = number_of_blocks(counts.people, size, k)
    largest, people = most_samples(counts.each), -(-counts.people // number)
    return Blocks(
        number=number,
        people=people,
        workers=workers,
        at_once=None if workers is None or cores is None else min(workers, cores),
        worker_memory_mb=bytes_of_worker(largest, people, only_blocks=only_blocks) / 1e6,
        memory_around_mb=bytes_around(largest, SAMPLE_PEOPLE) / 1e6,
    )


def tasks_in_blocks(counts: Counts, k: int, blocks: Blocks, tries: int, starts: int) -> list[Task]:
    """The work of a publication in these blocks.

    tries: victims of each attack in its record. starts: how many processes are started for its tasks.
    """
    drawn = len(people_drawn(counts.people, k, blocks.people))
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


def _blocks_to_json(blocks: Blocks) -> dict[str, Any]:
    return {
        "number": blocks.number,
        "people": blocks.people,
        "workers": blocks.workers,
        "worker_memory_mb": round(blocks.worker_memory_mb),
        "memory_around_mb": round(blocks.memory_around_mb),
    }


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
