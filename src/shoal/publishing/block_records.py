"""The records of a release made in blocks: the crowds of all blocks together, without holding all boxes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np

from shoal.errors import InputError
from shoal.methods.glove.glove import Glove
from shoal.model.names import Pseudonyms
from shoal.model.omission import samples_by_reason
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Losses, Release
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run, run_tasks, split_evenly
from shoal.scale.anonymizing import name_of
from shoal.utility.accuracy import Accuracy, Extents

_LABEL: Final = "counting extents"
_SUBJECTS: Final = "subjects.npy"
_OF_CROWDS: Final = ("blocks", "sizes", "starts", "lengths")
_BOXES_AT_ONCE: Final = 1 << 20  # boxes that are in memory at once when records are written


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseOnDisk(Release):
    """Everything of a release but its boxes, which lie in its file: so many of them, offsets all 0."""

    n_boxes: int

    @property
    def n_samples(self) -> int:
        """How many boxes there are, of all records together."""
        return self.n_boxes


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowds:
    """All crowds of all blocks, or some of them.

    job: the folder that holds the blocks. subjects: [r] crowd by crowd. blocks, sizes, starts, lengths: [c]
    the block of each, its members, and the first of its boxes in that block and how many there are.
    """

    job: Path
    subjects: Integers
    blocks: Integers
    sizes: Integers
    starts: Integers
    lengths: Integers

    def save(self, folder: Path) -> None:
        """Write all columns into a folder."""
        np.save(folder / _SUBJECTS, self.subjects)
        for name in _OF_CROWDS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def saved(cls, job: Path, folder: Path, first: int, end: int) -> Self:
        """The crowds from first to before end of those that are in a folder."""
        columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _OF_CROWDS}
        before, up_to = (int(columns["sizes"][:crowd].sum()) for crowd in (first, end))
        own = {name: np.array(column[first:end]) for name, column in columns.items()}
        subjects = np.load(folder / _SUBJECTS, mmap_mode="r")[before:up_to]
        return cls(job=job, subjects=np.array(subjects), **own)


@dataclass(frozen=True, kw_only=True)
class ExtentsTask:
    """Finished blocks of a job, from first to before end, whose extents are to be counted together."""

    job: Path
    first: int
    end: int
    grid: Grid


def crowds_of_blocks(
    people: StoredPeople, n_blocks: int, checkpoint: Checkpoint, engine: Engine, run: Run
) -> tuple[Crowds, Accuracy]:
    """All crowds of the finished blocks, whose boxes stay where they are, and what remains of samples."""
    job, names = checkpoint.folder, ("subjects", "sizes", "lengths", "suppressed")
    each = [checkpoint.load(name_of(block), names) for block in range(n_blocks)]
    subjects, sizes, lengths, suppressed = (np.concatenate([own[name] for own in each]) for name in names)
    parts = [
        ExtentsTask(job=job, first=first, end=end, grid=people.grid)
        for first, end in split_evenly(n_blocks, math.isqrt(n_blocks))
    ]
    raw, published = reduce(_joined, run_tasks(extents_of_blocks, parts, engine, run, _LABEL))
    crowds = Crowds(
        job=job,
        subjects=subjects,
        blocks=np.repeat(np.arange(n_blocks), [len(own["sizes"]) for own in each]),
        sizes=sizes,
        starts=np.concatenate([np.cumsum(own["lengths"]) - own["lengths"] for own in each]),
        lengths=lengths,
    )
    return crowds, Accuracy(raw=raw, published=published, samples_suppressed=int(suppressed.sum()))


def extents_of_blocks(task: ExtentsTask) -> tuple[Extents, Extents]:
    """Those of raw samples, and those of published ones."""
    kept = Checkpoint(task.job)
    return reduce(_joined, (_extents(kept, block, task.grid) for block in range(task.first, task.end)))


def _extents(kept: Checkpoint, block: int, grid: Grid) -> tuple[Extents, Extents]:
    """Those of raw and of published samples of one block."""
    rows = kept.load(name_of(block), ("raw", "published"))
    raw, published = (
        Extents(space_cells=each[:, 0], time_slots=each[:, 1], count=each[:, 2], grid=grid)
        for each in (rows["raw"], rows["published"])
    )
    return raw, published


def _joined(some: tuple[Extents, Extents], others: tuple[Extents, Extents]) -> tuple[Extents, Extents]:
    """Those of raw samples together, and those of published ones."""
    raw, published = (
        Extents.counted(
            np.concatenate([one.space_cells, other.space_cells]),
            np.concatenate([one.time_slots, other.time_slots]),
            np.concatenate([one.count, other.count]),
            one.grid,
        )
        for one, other in zip(some, others, strict=True)
    )
    return raw, published


def header_of(
    people: StoredPeople, method: Glove, crowds: Crowds, samples_suppressed: int, rng: Randomness
) -> ReleaseOnDisk:
    """The whole release but its boxes, every record under a fresh pseudonym."""
    n = len(crowds.subjects)
    return ReleaseOnDisk(
        trajectory_ids=Pseudonyms(rng.pseudonym_numbers(n)),
        offsets=np.zeros(n + 1, dtype=np.int64),
        payload=Boxes.concatenate([]),
        n_boxes=int((crowds.sizes * crowds.lengths).sum()),
        claim=method.claim(),
        method="glove",
        parameters=method.parameters(),
        losses=Losses(
            rows=dict(people.intake.dropped),
            samples_suppressed=samples_suppressed,
            subjects_suppressed=people.n_subjects - n,
            samples_by_reason=samples_by_reason(
                samples_suppressed,
                people.n_samples - int(people.lengths[crowds.subjects].sum()),
            ),
        ),
        grid=people.grid,
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=people.intake.reading,
        rows_repaired=dict(people.intake.repaired),
    )


def parts_of(lengths: Integers) -> list[tuple[int, int]]:
    """(first record, behind the last) of parts of a million boxes. lengths: [r] boxes of each record."""
    ends = np.cumsum(lengths)
    steps = np.arange(_BOXES_AT_ONCE, int(ends[-1]) + _BOXES_AT_ONCE, _BOXES_AT_ONCE)
    return list(pairwise(np.unique([0, *np.searchsorted(ends, steps, side="right"), len(ends)]).tolist()))


def records_in_parts(release: Release, crowds: Crowds, crowd_of: Integers) -> Iterator[Release]:
    """The records in their order, about a million boxes at once. crowd_of: [r] the crowd of each record."""
    blocks, starts, lengths = (each[crowd_of] for each in (crowds.blocks, crowds.starts, crowds.lengths))
    for first, end in parts_of(lengths):
        own, names = slice(first, end), release.trajectory_ids[first:end]
        yield records_at(release, names, crowds.job, blocks[own], starts[own], lengths[own])


def records_at(
    header: Release, names: Sequence[str], job: Path, blocks: Integers, starts: Integers, lengths: Integers
) -> Release:
    """Records of these names whose boxes stand in these blocks of a job, from these rows on."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.empty((offsets[-1], len(BOX_COLUMNS)), dtype=np.int64)
    kept = Checkpoint(job)
    for block in np.unique(blocks).tolist():
        with kept.rows_path(name_of(block)).open("rb", buffering=0) as file:
            for record in np.flatnonzero(blocks == block).tolist():
                file.seek(starts[record] * rows.shape[1] * rows.itemsize)
                own = rows[offsets[record] : offsets[record + 1]]
                if file.readinto(own.data.cast("B")) != own.nbytes:
                    raise InputError(f"{file.name} is cut short; run the same command again")
    settings = {field.name: getattr(header, field.name) for field in fields(Release)}
    settings |= {
        "trajectory_ids": tuple(names),
        "offsets": offsets,
        "payload": Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True))),
    }
    return Release(**settings)


def without_records(release: Release) -> Release:
    """What a task needs to know of a release whose records it makes."""
    settings = {field.name: getattr(release, field.name) for field in fields(Release)}
    return Release(**{**settings, "trajectory_ids": (), "offsets": np.zeros(1, dtype=np.int64)})
