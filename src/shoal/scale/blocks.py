"""Which people form a block: near each other, almost equally many, and few enough for a bound of memory.

All people stand at the medians of their slots, x and y. The population is cut along its widest axis,
counted in caps (20 km, 8 h), and each side again: sizes differ by one at most, none is below half of the
wanted size. Ties go by the other axes, then by ids. `lab/measure_memory.py` measures what work takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import ClaimError, MisuseError, NothingLeftError
from shoal.io.disk.spilling import BUCKETS
from shoal.io.disk.storing import TASK_ROWS
from shoal.kernels.people import median_samples
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.glove.crowds_of_series import classes_in_series
from shoal.methods.glove.glove import Glove
from shoal.methods.hulls import finish_boxes, leaves_for, put_on_leaves
from shoal.model.argument_checks import require_people
from shoal.model.claims.hull import parse_hull
from shoal.model.neighborhoods import bisect_rows
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.checkpoint import Arrays, Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.timings import ProgressFile
from shoal.units import MIB, show_bytes
from shoal.utility.accuracy import Extents, measure_accuracy
from shoal.verification import verify

_AT_ONCE: Final = 4096  # people whose samples are in memory
_EDGES: Final = (0.05, 0.95)  # quantiles of the spread, which outliers do not change


def number_of_blocks(n: int, size: int, k: int) -> int:
    """Blocks of at most ``size`` for n people."""
    if size < 2 * k:
        raise MisuseError(
            f"blocks of {size} people are too small for k = {k}; make them of {2 * k} people at least, "
            "better of some thousands"
        )
    require_people(n, k)
    return -(-n // size)


def split_into_blocks(
    middles: Integers, caps: tuple[float, float, float], size: int, k: int
) -> list[Integers]:
    """Ascending positions by block, from middles [n, 3]; caps: what counts as equally far."""
    n = len(middles)
    parts = number_of_blocks(n, size, k)
    places: Floats = middles / np.array(caps)

    def by_widest(members: Integers, cut: int) -> Integers:
        place_of = places[members]
        low, high = np.quantile(place_of, _EDGES, axis=0)
        first, second, third = np.argsort(low - high, kind="stable")
        place = place_of[:, first]
        middle = np.partition(place, cut)[cut]
        at = np.flatnonzero(place == middle)
        at = at[np.lexsort((members[at], place_of[at, third], place_of[at, second]))]
        return np.concatenate([members[place < middle], members[at], members[place > middle]])

    return list(bisect_rows(np.arange(n), by_widest, parts=parts))


def middles_of(people: StoredPeople, hull: str) -> Integers:
    """The median slot and cell of each person, int64 [n, 3]; of middles of leaves where the rule has them."""
    if not parse_hull(hull).leaf_places:
        return people.middles
    parts = [np.empty((0, 3), dtype=np.int64)]
    for first in range(0, people.n_subjects, _AT_ONCE):
        some = people.load(np.arange(first, min(first + _AT_ONCE, people.n_subjects)))
        coarse = put_on_leaves(some, leaves_for(some, hull))
        parts.append(median_samples(coarse.offsets, coarse.t, coarse.x, coarse.y))
    return np.concatenate(parts)


def keep_crowds_whole(
    middles: Integers, crowd_of: Integers, caps: tuple[float, float, float], size: int, k: int
) -> list[Integers]:
    """Blocks as of ``split_into_blocks``, none of which cuts a crowd; crowd_of: [n], below 0 without one."""
    members = np.flatnonzero(crowd_of >= 0)
    _, first, crowd, sizes = np.unique(
        crowd_of[members], return_index=True, return_inverse=True, return_counts=True
    )
    together = middles.copy()
    if len(members):
        sums = np.zeros((len(first), 3), dtype=np.int64)
        np.add.at(sums, crowd, middles[members])
        together[members] = (sums // sizes[:, None])[crowd]
    block_of = np.empty(len(middles), dtype=np.int64)
    most = max(2 * k, size - 2 * int(sizes.max(initial=0)))  # crowds at a cut come to the block before it
    for number, block in enumerate(split_into_blocks(together, caps, most, k)):
        block_of[block] = number
    block_of[members] = block_of[members[first]][crowd]
    return [np.flatnonzero(block_of == number) for number in np.unique(block_of).tolist()]


PEOPLE: Final = "people"
BLOCKS: Final = "blocks"
PROGRESS: Final = ".progress"  # the ending of the file that says how far a block is


@dataclass(frozen=True, kw_only=True)
class BlockTask:
    """One block. stream: a research seed; None = the system's."""

    folder: str  # of the job, under a path that every worker reaches
    block: int
    method: Glove  # of the whole release
    spare: int | None = None  # in a series, whose crowds stand with the blocks
    stream: int | None = field(default=None, repr=False)


def name_of(block: int) -> str:
    """A finished block's name."""
    return f"block-{block:06d}"


def store_block(task: BlockTask) -> None:
    """Write a finished block, unless it is there and undamaged; and how far it is, meanwhile."""
    progress = Path(task.folder) / f"{name_of(task.block)}{PROGRESS}"
    run = Run(threads=1, progress=ProgressFile(progress))
    try:
        Checkpoint(Path(task.folder)).load_or_make(
            name_of(task.block), lambda: anonymize_block(task, run), apart="boxes"
        )
    finally:
        progress.unlink(missing_ok=True)


def anonymize_block(task: BlockTask, run: Run) -> Arrays:
    """A block's crowds as arrays.

    subjects: [r] positions in the population, crowd by crowd; sizes: [c]; lengths: [c] boxes of a record;
    boxes: [b, 6] of each crowd once; suppressed: [1] raw samples that no record covers; raw, published: [d,
    3] extents in space and time, with counts.
    """
    folder = Path(task.folder)
    people = StoredPeople.open(folder / PEOPLE)
    stored = Checkpoint(folder).load(BLOCKS)
    part = slice(*stored["offsets"][task.block : task.block + 2])
    subjects = stored["subjects"][part]
    original = people.load(subjects)
    if task.spare is None:
        classes = task.method.classes(original, run)
    else:
        classes = classes_in_series(task.method, original, stored["crowds"][part], task.spare, run)
    rng = Randomness.from_system() if task.stream is None else Randomness.for_research(task.stream)
    crowds = list(finish_boxes(task.method, original, classes, task.method.hull, rng))
    boxes = [crowd.boxes.sorted() for crowd in crowds]
    members = [crowd.members for crowd in crowds]
    return {
        "subjects": subjects[np.concatenate([np.empty(0, dtype=np.int64), *members])],
        "sizes": np.array([len(group) for group in members], dtype=np.int64),
        "lengths": np.array([len(group) for group in boxes], dtype=np.int64),
        "boxes": np.stack(Boxes.concatenate(boxes).columns(), axis=1),
        **_verify_and_measure_block(original, task, crowds),
    }


def _verify_and_measure_block(
    original: Trajectories, task: BlockTask, crowds: list[EquivalenceClass]
) -> Arrays:
    try:
        # names and order are dropped: the whole release draws them for all blocks together
        release, linkage = assemble(original, crowds, task.method, Randomness.from_system())
    except NothingLeftError:
        nothing = np.empty((0, 3), dtype=np.int64)
        return {"suppressed": np.array([original.n_samples]), "raw": nothing, "published": nothing}
    verdict = verify(original, release, linkage)
    if not verdict.holds:
        why = ", ".join(sorted(verdict.kinds)) or verdict.why_not
        raise ClaimError(f"block {task.block + 1} does not keep its promise, so nothing was written: {why}")
    accuracy = measure_accuracy(original, release, linkage)
    return {
        "suppressed": np.array([accuracy.samples_suppressed]),
        "raw": _as_rows(accuracy.raw),
        "published": _as_rows(accuracy.published),
    }


def _as_rows(extents: Extents) -> Integers:
    return np.stack([extents.space_cells, extents.time_slots, extents.count], axis=1)


ALL_AT_ONCE: Final = "all at once"
A_BLOCK: Final = "a block"
OTHER_TASKS: Final = "any other task"
AROUND_BLOCKS: Final = "around the blocks"


@dataclass(frozen=True, kw_only=True)
class Peak:
    """A fixed part, and a part for each person and sample."""

    always_bytes: int
    person_bytes: int
    sample_bytes: int
    samples_at_once: int | None = None  # the most samples in memory together; None: all

    def of(self, people: int, samples: int) -> int:
        """Bytes for people and samples."""
        together = samples if self.samples_at_once is None else min(samples, self.samples_at_once)
        return self.always_bytes + self.person_bytes * people + self.sample_bytes * together


PEAKS: Final[Mapping[str, Peak]] = {
    ALL_AT_ONCE: Peak(always_bytes=480 * MIB, person_bytes=1000, sample_bytes=140),
    A_BLOCK: Peak(always_bytes=290 * MIB, person_bytes=2500, sample_bytes=140),
    OTHER_TASKS: Peak(always_bytes=330 * MIB, person_bytes=0, sample_bytes=160),
    AROUND_BLOCKS: Peak(always_bytes=360 * MIB, person_bytes=400, sample_bytes=440, samples_at_once=1 << 20),
}


def most_samples(samples: Integers) -> Integers:
    """[n] samples of the one, two, three ... people with the most."""
    return np.cumsum(np.sort(samples)[::-1])


def bytes_around(largest: Integers, measured_people: int) -> int:
    """Memory of the process that hands out blocks; ``measured_people``: the report's sample."""
    n = len(largest)
    measured = int(largest[min(measured_people, n) - 1])
    return max(  # one after the other
        PEAKS[AROUND_BLOCKS].of(n, int(largest[-1])),
        PEAKS[AROUND_BLOCKS].of(n, 0) + PEAKS[ALL_AT_ONCE].sample_bytes * measured,
    )


def bytes_of_worker(largest: Integers, size: int, *, only_blocks: bool) -> int:
    """A worker's memory, for all tasks; ``only_blocks``: for the worst block."""
    if only_blocks:
        return PEAKS[A_BLOCK].of(size, int(largest[min(size, len(largest)) - 1]))
    whole = int(largest[-1])
    block = PEAKS[A_BLOCK].of(size, whole * size // len(largest))
    return max(block, PEAKS[OTHER_TASKS].of(0, min(whole, max(TASK_ROWS, whole // BUCKETS))))


@dataclass(frozen=True, kw_only=True)
class MemoryBound:
    """The memory of all processes together."""

    total_bytes: int
    workers: int
    measured_people: int  # people in the report's sample for attacks and uses, in memory together

    def people_in_a_block(self, samples: Integers, k: int) -> int:
        """The most people that any block may have. samples: [n], of each person."""
        n, least = len(samples), min(2 * k, len(samples))
        largest = most_samples(samples)
        whole, around = int(largest[-1]), bytes_around(largest, self.measured_people)
        need, at_once = PEAKS[A_BLOCK].of(least, int(largest[least - 1])), PEAKS[ALL_AT_ONCE].of(n, whole)
        if around + self.workers * need > self.total_bytes:
            enough = min(around + self.workers * need, at_once)
            fewer = around + need < enough
            raise MisuseError(
                f"{n:,} people with {whole:,} samples need --memory {show_bytes(enough)} at least with "
                f"{self.workers} worker{'s' if self.workers > 1 else ''}"
                f"{f' (with --engine local:1, {show_bytes(around + need)})' if fewer else ''}; "
                f"{show_bytes(self.total_bytes)} is too little"
            )
        bytes_per_worker = (self.total_bytes - around) // self.workers
        size = np.arange(1, n + 1)
        costs = (
            PEAKS[A_BLOCK].always_bytes
            + PEAKS[A_BLOCK].person_bytes * size
            + PEAKS[A_BLOCK].sample_bytes * largest
        )
        return max(int(np.searchsorted(costs, bytes_per_worker, side="right")), 2 * k)
