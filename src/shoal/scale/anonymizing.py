"""The task of one block: load its people, make crowds of them, check these, and leave them finished on disk.

A task names the folder of the job and the block, never data; the outcome lies in the folder, complete or not
at all, so that doing a task twice does no harm.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import ClaimError, NothingLeftError
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.glove.glove import Glove
from shoal.methods.hulls import round_outward
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Arrays, Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility.accuracy import Extents, measure_accuracy
from shoal.verification import verify

PEOPLE: Final = "people"
BLOCKS: Final = "blocks"


@dataclass(frozen=True, kw_only=True)
class BlockTask:
    """One block of a job.

    folder: of the job, under a path that every worker reaches; method: of the whole release. stream: where
    the block's own draws come from in research, whose release is the same again; None = the system.
    """

    folder: str
    block: int
    method: Glove
    stream: int | None = field(default=None, repr=False)


def name_of(block: int) -> str:
    """The part of the job that holds a finished block."""
    return f"block-{block:06d}"


def anonymize_block(task: BlockTask) -> None:
    """Leave a finished block in the folder of its job, unless it is there and not damaged.

    Raises ClaimError when its crowds do not hold.
    """
    Checkpoint(Path(task.folder)).load_or_make(name_of(task.block), lambda: crowds_of(task), apart="boxes")


def crowds_of(task: BlockTask) -> Arrays:
    """The crowds of a block as arrays.

    subjects: [r] positions in the whole population, crowd by crowd; sizes: [c] members; lengths: [c] boxes of
    one record; boxes: [b, 6] of each crowd once; suppressed: [1] raw samples that no record covers; raw,
    published: [d, 3] extents in space and time, and how often.
    """
    folder = Path(task.folder)
    people = StoredPeople.open(folder / PEOPLE)
    stored = Checkpoint(folder).load(BLOCKS)
    subjects = stored["subjects"][stored["offsets"][task.block] : stored["offsets"][task.block + 1]]
    original = people.load(subjects)
    classes = task.method.classes(original, Run(threads=1))
    grid = original.snapped_grid()
    rng = Randomness.from_system() if task.stream is None else Randomness.for_research(task.stream)
    crowds = list(round_outward(classes, task.method.hull, grid, rng))
    boxes = [crowd.boxes.sorted() for crowd in crowds]
    members = [crowd.members for crowd in crowds]
    return {
        "subjects": subjects[np.concatenate([np.empty(0, dtype=np.int64), *members])],
        "sizes": np.array([len(own) for own in members], dtype=np.int64),
        "lengths": np.array([len(own) for own in boxes], dtype=np.int64),
        "boxes": np.stack(Boxes.concatenate(boxes).columns(), axis=1),
        **_checked(original, task, crowds),
    }


def _checked(original: Trajectories, task: BlockTask, crowds: list[EquivalenceClass]) -> Arrays:
    """What is lost and what remains in this block.

    Raises ClaimError unless a release of it alone would keep the claim.
    """
    method = task.method
    try:
        release, linkage = assemble(
            original,
            crowds,
            claim=method.claim(),
            method=method.about.name,
            parameters=method.parameters(),
            rng=Randomness.from_system(),
        )  # its names and order are thrown away: those of the whole release are drawn for all blocks together
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
