"""The records of a release made in blocks: the crowds of all blocks together, without holding all boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from shoal.methods.glove.glove import Glove
from shoal.model.names import Pseudonyms
from shoal.model.omission import samples_by_reason
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Losses, Release
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.scale.anonymizing import BlockTask, crowds_of, name_of
from shoal.utility.accuracy import Accuracy, Extents

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
    """All crowds of all blocks.

    subjects: [r] crowd by crowd. sizes, starts, lengths: [c] members, first row and rows of the boxes.
    """

    subjects: Integers
    sizes: Integers
    starts: Integers
    lengths: Integers
    boxes: Path
    samples_suppressed: int
    accuracy: Accuracy


def crowds_of_blocks(people: StoredPeople, tasks: list[BlockTask], checkpoint: Checkpoint) -> Crowds:
    """Bring the finished blocks together, their boxes in one file."""
    small: dict[str, list[Integers]] = {name: [] for name in ("subjects", "sizes", "lengths", "suppressed")}
    nothing = np.empty(0, dtype=np.int64)
    raw = published = Extents.counted(nothing, nothing, nothing, people.grid)
    boxes = checkpoint.folder / "boxes.bin"
    with boxes.open("wb") as file:
        for task in tasks:
            block = checkpoint.kept(
                name_of(task.block), partial(crowds_of, task)
            )  # a damaged one is made again
            for name, values in small.items():
                values.append(block[name])
            raw, published = _joined(raw, block["raw"]), _joined(published, block["published"])
            file.write(np.ascontiguousarray(block["boxes"]).data)
    lengths, lost = np.concatenate(small["lengths"]), int(np.concatenate(small["suppressed"]).sum())
    return Crowds(
        subjects=np.concatenate(small["subjects"]),
        sizes=np.concatenate(small["sizes"]),
        starts=np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
        lengths=lengths,
        boxes=boxes,
        samples_suppressed=lost,
        accuracy=Accuracy(raw=raw, published=published, samples_suppressed=lost),
    )


def _joined(known: Extents, rows: Integers) -> Extents:
    """The extents with those of one more block, [d, 3]."""
    space, time, count = np.concatenate(
        [np.stack([known.space_cells, known.time_slots, known.count], axis=1), rows]
    ).T
    return Extents.counted(space, time, count, known.grid)


def header_of(people: StoredPeople, method: Glove, crowds: Crowds, rng: Randomness) -> ReleaseOnDisk:
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
            samples_suppressed=crowds.samples_suppressed,
            subjects_suppressed=people.n_subjects - n,
            samples_by_reason=samples_by_reason(
                crowds.samples_suppressed,
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


def records_in_parts(release: ReleaseOnDisk, crowds: Crowds, crowd_of: Integers) -> Iterator[Release]:
    """The records in their order, about a million boxes at once. crowd_of: [r] the crowd of each record."""
    starts, lengths = crowds.starts[crowd_of], crowds.lengths[crowd_of]
    for first, end in parts_of(lengths):
        yield records_at(
            release, release.trajectory_ids[first:end], crowds.boxes, starts[first:end], lengths[first:end]
        )


def records_at(
    header: Release, names: Sequence[str], boxes_file: Path, starts: Integers, lengths: Integers
) -> Release:
    """Records of these names whose boxes stand at these rows of a file."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    rows = np.empty((offsets[-1], len(BOX_COLUMNS)), dtype=np.int64)
    with boxes_file.open("rb", buffering=0) as file:
        for position, start in enumerate(starts.tolist()):
            file.seek(start * rows.shape[1] * rows.itemsize)
            file.readinto(rows[offsets[position] : offsets[position + 1]].data.cast("B"))
    settings = {field.name: getattr(header, field.name) for field in fields(Release)}
    settings |= {
        "trajectory_ids": tuple(names),
        "offsets": offsets,
        "payload": Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True))),
    }
    return Release(**settings)
