"""The records of a release made in blocks: the crowds of all blocks together, without holding all boxes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from shoal.measures.k_gap import KGap
from shoal.methods.glove.glove import Glove
from shoal.model.omission import samples_by_reason
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Losses, Release
from shoal.report.facts.curves import quantile_of_people
from shoal.report.facts.density import Window, density_in, expected_density, some_boxes, window_around
from shoal.report.facts.gaps import gap_facts
from shoal.report.facts.release import BoxFacts, ReleaseFacts, days_between, span_of
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
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
        trajectory_ids=rng.pseudonyms(n),
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


def records_in_parts(
    release: ReleaseOnDisk, crowds: Crowds, crowd_of: Integers, run: Run
) -> Iterator[Release]:
    """The records in their order, about a million boxes at once. crowd_of: [r] the crowd of each record."""
    ends = np.cumsum(crowds.lengths[crowd_of])
    steps = np.arange(_BOXES_AT_ONCE, int(ends[-1]) + _BOXES_AT_ONCE, _BOXES_AT_ONCE)
    cuts = np.unique([0, *np.searchsorted(ends, steps, side="right").tolist(), len(ends)])
    width = len(BOX_COLUMNS)
    with crowds.boxes.open("rb", buffering=0) as file:
        for first, end in pairwise(cuts.tolist()):
            own = crowd_of[first:end]
            offsets = np.concatenate([[0], np.cumsum(crowds.lengths[own])]).astype(np.int64)
            rows = np.empty((offsets[-1], width), dtype=np.int64)
            for position, start in enumerate(crowds.starts[own].tolist()):
                file.seek(start * width * rows.itemsize)
                file.readinto(rows[offsets[position] : offsets[position + 1]].data.cast("B"))
            boxes = Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True)))
            settings = {field.name: getattr(release, field.name) for field in fields(Release)}
            yield Release(
                **{
                    **settings,
                    "trajectory_ids": release.trajectory_ids[first:end],
                    "offsets": offsets,
                    "payload": boxes,
                }
            )
            run.progress("writing the release", end, len(ends))


class Seen:
    """What the record needs of the boxes, gathered while they are written.

    The first part is a random sample, for what needs one.
    """

    def __init__(self) -> None:
        self._window: Window | None = None
        self._expected = np.zeros(0)
        self._examples = Boxes.concatenate([])
        self._first = np.iinfo(np.int64).max
        self._end = 0
        self._n = 0

    def each(self, parts: Iterable[Release]) -> Iterator[Release]:
        """Hand on every part, having looked at it."""
        for part in parts:
            boxes = part.boxes
            if self._window is None:
                self._window, self._examples = window_around(boxes), some_boxes(boxes)
                self._expected = np.zeros((self._window.rows, self._window.columns))
            self._expected += expected_density(boxes, self._window)
            self._first, self._end = (
                min(self._first, int(boxes.t_start.min())),
                max(self._end, int(boxes.t_end.max())),
            )
            self._n += len(boxes)
            yield part

    def facts(self, people: StoredPeople, crowds: Crowds, gaps: Sequence[KGap]) -> ReleaseFacts:
        """The numbers of the record."""
        assert self._window is not None  # noqa: S101  (a release has records)
        sizes, numbers = np.unique(crowds.sizes, return_counts=True)
        slot_s = people.grid.slot_s
        days = days_between(self._first, self._end - 1, slot_s)
        return ReleaseFacts(
            subjects=people.n_subjects,
            samples=people.n_samples,
            rows_read=people.intake.rows_read,
            grid=people.grid,
            span=span_of(np.array([self._first]), np.array([self._end]), slot_s),
            density=density_in(self._window, self._expected, self._n),
            example_boxes=self._examples,
            gaps=tuple(gap_facts(people.n_subjects, gap) for gap in gaps),
            boxes=BoxFacts(
                median_samples=quantile_of_people(people.lengths.astype(np.float64), 0.5),
                samples_per_day=people.n_samples / people.n_subjects / days,
                accuracy=crowds.accuracy,
                crowds=dict(zip(sizes.tolist(), numbers.tolist(), strict=True)),
            ),
        )
