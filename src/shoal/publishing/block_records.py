"""The records of a release made in blocks: crowds, header, and parts of a million boxes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from shoal.errors import InputError
from shoal.io.screening import days_between
from shoal.measures.k_gap import KGap
from shoal.methods import Method
from shoal.model.grid import Grid
from shoal.model.names import Pseudonyms
from shoal.model.omission import samples_by_reason
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Losses, Release
from shoal.release_folder.tables import Bounds, join_boxes, write_some_boxes
from shoal.report.facts.curves import gap_facts, quantile_of_people
from shoal.report.facts.ground import Window, density_in, expected_density, some_boxes, window_around
from shoal.report.facts.release import BoxFacts, ReleaseFacts, span_of
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.checkpoint import Checkpoint
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run, run_tasks, split_evenly
from shoal.runtime.staging import explain_write_errors, partial_name
from shoal.scale.blocks import name_of
from shoal.utility.accuracy import Accuracy, Extents

_SUBJECTS: Final = "subjects.npy"
_OF_CROWDS: Final = ("blocks", "sizes", "starts", "lengths")
_BOXES_AT_ONCE: Final = 1 << 20  # in memory while records are written

Span = tuple[int, int]
"""From the first of a part to before its end."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseOnDisk(Release):
    """A release whose boxes are only in its file; its offsets are all 0."""

    n_boxes: int

    @property
    def n_samples(self) -> int:
        """The number of boxes."""
        return self.n_boxes


@dataclass(frozen=True, eq=False, kw_only=True)
class Crowds:
    """Crowds of finished blocks, whose boxes stay in files."""

    job: Path  # the folder of the blocks
    subjects: Integers  # [r] crowd by crowd
    blocks: Integers  # [c], of each crowd
    sizes: Integers  # [c], members
    starts: Integers  # [c], first row of the boxes in that block
    lengths: Integers  # [c], number of boxes

    def save(self, folder: Path) -> None:
        """Write all columns into a folder."""
        np.save(folder / _SUBJECTS, self.subjects)
        for name in _OF_CROWDS:
            np.save(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def saved(cls, job: Path, folder: Path, first: int, end: int) -> Self:
        """Load the crowds from first to before end."""
        columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _OF_CROWDS}
        before, up_to = (int(columns["sizes"][:crowd].sum()) for crowd in (first, end))
        parts = {name: np.array(column[first:end]) for name, column in columns.items()}
        subjects = np.load(folder / _SUBJECTS, mmap_mode="r")[before:up_to]
        return cls(job=job, subjects=np.array(subjects), **parts)


def crowds_of_blocks(
    people: StoredPeople, n_blocks: int, checkpoint: Checkpoint, engine: Engine, run: Run
) -> tuple[Crowds, Accuracy]:
    """All crowds of the finished blocks, and the precision of their boxes."""
    job, names = checkpoint.folder, ("subjects", "sizes", "lengths", "suppressed")
    arrays = [checkpoint.load(name_of(block), names) for block in range(n_blocks)]
    subjects, sizes, lengths, suppressed = (
        np.concatenate([block_arrays[name] for block_arrays in arrays]) for name in names
    )
    spans, count = split_evenly(n_blocks, math.isqrt(n_blocks)), partial(extents_of_blocks, job, people.grid)
    raw, published = reduce(_add_extents, run_tasks(count, spans, engine, run, "counting extents"))
    crowds = Crowds(
        job=job,
        subjects=subjects,
        blocks=np.repeat(np.arange(n_blocks), [len(block_arrays["sizes"]) for block_arrays in arrays]),
        sizes=sizes,
        starts=np.concatenate(
            [np.cumsum(block_arrays["lengths"]) - block_arrays["lengths"] for block_arrays in arrays]
        ),
        lengths=lengths,
    )
    return crowds, Accuracy(raw=raw, published=published, samples_suppressed=int(suppressed.sum()))


def extents_of_blocks(job: Path, grid: Grid, blocks: Span) -> tuple[Extents, Extents]:
    """Extents of raw samples, and of published ones."""
    checkpoint = Checkpoint(job)
    return reduce(_add_extents, (_extents_of_block(checkpoint, block, grid) for block in range(*blocks)))


def _extents_of_block(checkpoint: Checkpoint, block: int, grid: Grid) -> tuple[Extents, Extents]:
    rows = checkpoint.load(name_of(block), ("raw", "published"))
    raw, published = (
        Extents(space_cells=row[:, 0], time_slots=row[:, 1], count=row[:, 2], grid=grid)
        for row in (rows["raw"], rows["published"])
    )
    return raw, published


def _add_extents(some: tuple[Extents, Extents], others: tuple[Extents, Extents]) -> tuple[Extents, Extents]:
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
    people: StoredPeople, method: Method, crowds: Crowds, samples_suppressed: int, rng: Randomness
) -> ReleaseOnDisk:
    """The release without its boxes, with fresh pseudonyms."""
    n = len(crowds.subjects)
    return ReleaseOnDisk(
        trajectory_ids=Pseudonyms(rng.pseudonym_numbers(n)),
        offsets=np.zeros(n + 1, dtype=np.int64),
        payload=Boxes.concatenate([]),
        n_boxes=int((crowds.sizes * crowds.lengths).sum()),
        claim=method.claim(),
        method=method.about.name,
        parameters=method.parameters(),
        losses=Losses(
            rows=dict(people.intake.dropped),
            samples_suppressed=samples_suppressed,
            subjects_suppressed=people.n_subjects - n,
            samples_by_reason=samples_by_reason(
                samples_suppressed, people.n_samples - int(people.lengths[crowds.subjects].sum())
            ),
        ),
        grid=people.grid,
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=people.intake.reading,
        rows_repaired=dict(people.intake.repaired),
    )


def parts_of(lengths: Integers) -> list[Span]:
    """(first record, end) of parts of about a million boxes; lengths: [r]."""
    ends = np.cumsum(lengths)
    steps = np.arange(_BOXES_AT_ONCE, int(ends[-1]) + _BOXES_AT_ONCE, _BOXES_AT_ONCE)
    return list(pairwise(np.unique([0, *np.searchsorted(ends, steps, side="right"), len(ends)]).tolist()))


def records_in_parts(release: Release, crowds: Crowds, crowd_of: Integers) -> Iterator[Release]:
    """The records in order, in parts; crowd_of: [r]."""
    blocks, starts, lengths = (column[crowd_of] for column in (crowds.blocks, crowds.starts, crowds.lengths))
    for first, end in parts_of(lengths):
        part, names = slice(first, end), release.trajectory_ids[first:end]
        yield records_at(release, names, crowds.job, blocks[part], starts[part], lengths[part])


def records_at(
    header: Release, names: Sequence[str], job: Path, blocks: Integers, starts: Integers, lengths: Integers
) -> Release:
    """Read records by the blocks and first rows of their boxes."""
    offsets = offsets_of(lengths)
    rows = np.empty((offsets[-1], len(BOX_COLUMNS)), dtype=np.int64)
    checkpoint = Checkpoint(job)
    for block in np.unique(blocks).tolist():
        with checkpoint.rows_path(name_of(block)).open("rb", buffering=0) as file:
            for record in np.flatnonzero(blocks == block).tolist():
                file.seek(starts[record] * rows.shape[1] * rows.itemsize)
                target = rows[offsets[record] : offsets[record + 1]]
                if file.readinto(target.data.cast("B")) != target.nbytes:
                    raise InputError(f"{file.name} is cut short; run the same command again")
    payload = Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True)))
    return release_with(header, trajectory_ids=tuple(names), offsets=offsets, payload=payload)


def release_with(header: Release, **changed: Any) -> Release:
    """A plain release with the entries of a header, but for some."""
    return Release(**{field.name: getattr(header, field.name) for field in fields(Release)} | changed)


def without_records(release: Release) -> Release:
    """The release without its records, for tasks."""
    return release_with(release, trajectory_ids=(), offsets=np.zeros(1, dtype=np.int64))


_NAMES, _BLOCKS, _STARTS, _LENGTHS = "names.npy", "blocks.npy", "starts.npy", "lengths.npy"


@dataclass(frozen=True, eq=False, kw_only=True)
class PartFacts:
    """A part's bounds, slots from first to end, boxes, and expected density."""

    bounds: Bounds
    first: int
    end: int
    n_boxes: int
    window: Window
    expected: Floats


def write_part(folder: Path, job: Path, header: Release, window: Window | None, rows: Span) -> PartFacts:
    """Write a part, complete or not at all; it may run twice. window: of the map, if it is chosen."""
    records, file = _records_of_part(folder, job, header, rows), _file_of_part(folder, rows)
    boxes = records.boxes
    unfinished = partial_name(file)
    with explain_write_errors(file):
        bounds = write_some_boxes(records, unfinished)
        unfinished.rename(file)
    window = window or window_around(boxes)
    return PartFacts(
        bounds=bounds,
        first=int(boxes.t_start.min()),
        end=int(boxes.t_end.max()),
        n_boxes=len(boxes),
        window=window,
        expected=expected_density(boxes, window),
    )


def _file_of_part(folder: Path, rows: Span) -> Path:
    return folder / f"{rows[0]}.parquet"


def _records_of_part(folder: Path, job: Path, header: Release, rows: Span) -> Release:
    names, blocks, starts, lengths = (
        np.load(folder / name, mmap_mode="r")[slice(*rows)] for name in (_NAMES, _BLOCKS, _STARTS, _LENGTHS)
    )
    return records_at(header, list(Pseudonyms(names)), job, blocks, starts, lengths)


@dataclass(frozen=True, eq=False, kw_only=True)
class TableFacts:
    """The report's facts of all boxes; examples: of the first part, a random sample."""

    parts: Sequence[PartFacts]
    examples: Boxes

    def facts(
        self, people: StoredPeople, crowds: Crowds, accuracy: Accuracy, gaps: Sequence[KGap]
    ) -> ReleaseFacts:
        """The report's numbers."""
        first, end = min(part.first for part in self.parts), max(part.end for part in self.parts)
        n_boxes, window = sum(part.n_boxes for part in self.parts), self.parts[0].window
        expected = np.zeros((window.rows, window.columns))
        for part in self.parts:
            expected += part.expected
        sizes, numbers = np.unique(crowds.sizes, return_counts=True)
        slot_s = people.grid.slot_s
        return ReleaseFacts(
            subjects=people.n_subjects,
            samples=people.n_samples,
            rows_read=people.intake.rows_read,
            people_read=people.intake.people_read,
            people_lost=people.intake.people_lost,
            grid=people.grid,
            span=span_of(np.array([first]), np.array([end]), slot_s),
            density=density_in(window, expected, n_boxes),
            example_boxes=self.examples,
            gaps=tuple(gap_facts(people.n_subjects, gap) for gap in gaps),
            boxes=BoxFacts(
                median_samples=quantile_of_people(people.lengths.astype(np.float64), 0.5),
                samples_per_day=people.n_samples / people.n_subjects / days_between(first, end - 1, slot_s),
                accuracy=accuracy,
                crowds=dict(zip(sizes.tolist(), numbers.tolist(), strict=True)),
            ),
        )


def write_table_in_parts(
    release: ReleaseOnDisk,
    crowds: Crowds,
    crowd_of: Integers,
    path: Path,
    scratch: Path,
    engine: Engine,
    run: Run,
) -> TableFacts:
    """Write all records in order; crowd_of: [r]; scratch: an empty folder."""
    lengths = crowds.lengths[crowd_of]
    np.save(scratch / _NAMES, Pseudonyms.of(release.trajectory_ids).numbers)
    np.save(scratch / _BLOCKS, crowds.blocks[crowd_of])
    np.save(scratch / _STARTS, crowds.starts[crowd_of])
    np.save(scratch / _LENGTHS, lengths)
    first, *others = parts = parts_of(lengths)
    lists = scratch, crowds.job, without_records(release)
    seen = [write_part(*lists, None, first)]  # chooses the map's window
    write = partial(write_part, *lists, seen[0].window)
    seen += run_tasks(write, others, engine, run, "writing the release")
    files = [_file_of_part(scratch, rows) for rows in parts]
    join_boxes(files, [bounds for measured in seen for bounds in measured.bounds], path)
    return TableFacts(parts=seen, examples=some_boxes(_records_of_part(*lists, first).boxes))
