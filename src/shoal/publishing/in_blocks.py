"""The main job in blocks: anonymize each block on its own, shuffle the records of all, verify the files, and write the folder.

Everything finished is kept in a folder beside the release until it is done. Killed at any point, the same command continues there.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import ClaimError, InputError, MisuseError, NothingLeftError, OutputError
from shoal.io.sources import files
from shoal.io.storing import store_people
from shoal.methods.assembly import unrelated_order
from shoal.methods.glove.glove import Glove
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Losses, Release
from shoal.model.verdicts import Verdict
from shoal.publishing.publish import insist
from shoal.release_folder.box_table import insist_on_outlines, write_boxes_in_parts
from shoal.release_folder.folder import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    check_linkage_path,
    manifest_of,
    staged_linkage,
    write_manifest,
)
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report import release_page
from shoal.report.facts.curves import quantile_of_people
from shoal.report.facts.density import (
    Density,
    Window,
    density_in,
    expected_density,
    some_boxes,
    window_around,
)
from shoal.report.facts.release import ReleaseFacts, days_between, span_of
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint, parts_folder
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import explained_write, staged_folder
from shoal.scale.anonymizing import BLOCKS, PEOPLE, BlockTask, anonymize_block, crowds_of, name_of
from shoal.scale.blocks import split_into_blocks
from shoal.scale.engines import Engine
from shoal.utility.accuracy import Accuracy, Extents
from shoal.verification.files.streamed import verify_streamed_folder

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
class BlockPublication:
    """What was written, and what is known of it without its boxes. blocks: the number of people in each."""

    folder: Path
    manifest: Manifest
    release: ReleaseOnDisk
    accuracy: Accuracy
    blocks: tuple[int, ...]


def publish_in_blocks(
    source: str | Path,
    reading: Reading,
    method: Glove,
    output: Path,
    *,
    rng: Randomness,
    size: int,
    engine: Engine,
    run: Run | None = None,
    linkage_file: Path | None = None,
    statement: Statement = NOTHING_STATED,
) -> BlockPublication:
    """Write a verified release folder of people in blocks of at most ``size``, complete or not at all.

    Finished parts are kept in a folder beside ``output`` and used when the same call is made again; it is
    removed at the end. Raises ClaimError when a block or the release does not keep its promise, OutputError
    when a target exists or cannot be written, MisuseError for blocks too small for k, InputError when the
    folder beside holds parts of another job.
    """
    run = run or Run()
    if output.exists() or output.is_symlink():
        raise OutputError(f"{output} exists; choose another --output or remove it first")
    if linkage_file is not None:
        check_linkage_path(linkage_file, output)
    folder = parts_folder(output).resolve()
    with explained_write(folder):
        checkpoint = Checkpoint.open(folder, _job(source, reading, method, size))
        for left_over in (
            *folder.glob(".*.partial-*"),
            *folder.parent.glob(f".{output.name}.partial-*"),
        ):  # of a run that was killed
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        try:
            people = store_people(source, reading, folder / PEOPLE, run)
            blocks = _blocks(people, method, size, checkpoint)
        except (InputError, MisuseError):
            shutil.rmtree(
                folder
            )  # nothing here is worth continuing, and the next attempt will have other settings
            raise
        tasks = [BlockTask(folder=str(folder), block=block, method=method) for block in range(len(blocks))]
        _finish(tasks, folder, engine, run)
        published = _publish(people, tasks, checkpoint, output, rng, run, linkage_file, blocks, statement)
    shutil.rmtree(folder, ignore_errors=True)
    return published


def _job(source: str | Path, reading: Reading, method: Glove, size: int) -> dict[str, Any]:
    """What decides the outcome. Files count as the same while name, size and time of change are."""
    states = [(path.name, path.stat()) for path in files(source)]
    return {
        "files": [(name, state.st_size, state.st_mtime_ns) for name, state in states],
        "reading": asdict(reading),
        "method": type(method).__name__,
        "parameters": method.parameters(),
        "size": size,
    }


def _blocks(people: StoredPeople, method: Glove, size: int, checkpoint: Checkpoint) -> tuple[int, ...]:
    """Decide who goes into which block, once; the number of people in each."""
    grid = people.grid
    caps = (
        method.time_cap_s / grid.slot_s,
        method.space_cap_m / grid.cell_m,
        method.space_cap_m / grid.cell_m,
    )

    def make() -> dict[str, Integers]:
        blocks = split_into_blocks(people.middles, caps, size, method.k)
        offsets = np.cumsum([0, *(len(block) for block in blocks)], dtype=np.int64)
        return {"subjects": np.concatenate(blocks), "offsets": offsets}

    return tuple(np.diff(checkpoint.kept(BLOCKS, make)["offsets"]).tolist())


def _finish(tasks: list[BlockTask], folder: Path, engine: Engine, run: Run) -> None:
    """Have all blocks finished that are not."""
    label = "anonymizing blocks"
    waiting = [task for task in tasks if not (folder / f"{name_of(task.block)}.npz").exists()]
    run.progress(label, len(tasks) - len(waiting), len(tasks))
    for done, _ in enumerate(
        engine.map(anonymize_block, waiting) if waiting else (), start=len(tasks) - len(waiting) + 1
    ):
        run.progress(label, done, len(tasks))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Crowds:
    """All crowds of all blocks.

    subjects: [r] crowd by crowd; sizes, starts, lengths: [c] members, first row and rows of the boxes.
    """

    subjects: Integers
    sizes: Integers
    starts: Integers
    lengths: Integers
    boxes: Path
    samples_suppressed: int
    accuracy: Accuracy


def _crowds(people: StoredPeople, tasks: list[BlockTask], checkpoint: Checkpoint) -> _Crowds:
    """Bring the finished blocks together, their boxes in one file."""
    small: dict[str, list[Integers]] = {name: [] for name in ("subjects", "sizes", "lengths", "suppressed")}
    nothing = np.empty(0, dtype=np.int64)
    raw = published = Extents.counted(nothing, nothing, nothing, people.grid)
    boxes = checkpoint.folder / "boxes.bin"
    with boxes.open("wb") as file:
        for task in tasks:
            # a damaged one is made again
            block = checkpoint.kept(name_of(task.block), lambda task=task: crowds_of(task))  # type: ignore[misc]
            for name, values in small.items():
                values.append(block[name])
            raw, published = _joined(raw, block["raw"]), _joined(published, block["published"])
            file.write(np.ascontiguousarray(block["boxes"]).data)
    lengths, lost = np.concatenate(small["lengths"]), int(np.concatenate(small["suppressed"]).sum())
    return _Crowds(
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


def _publish(
    people: StoredPeople,
    tasks: list[BlockTask],
    checkpoint: Checkpoint,
    output: Path,
    rng: Randomness,
    run: Run,
    linkage_file: Path | None,
    blocks: tuple[int, ...],
    statement: Statement,
) -> BlockPublication:
    """Shuffle the records of all blocks into one release, write it, verify what was written, and give it its name."""
    crowds = _crowds(people, tasks, checkpoint)
    if not len(crowds.subjects):
        raise NothingLeftError(
            "every subject would be suppressed, so there is nothing to publish; relax the suppression "
            "thresholds"
        )
    order = unrelated_order(crowds.subjects, people.input_rank, rng)
    crowd_of = np.repeat(np.arange(len(crowds.sizes)), crowds.sizes)[order]
    release = _header(people, tasks[0].method, crowds, rng)
    names = people.names.take(np.sort(crowds.subjects)).to_pylist()
    by_subject = np.argsort(crowds.subjects[order])
    linkage = Linkage(
        tuple(names), tuple(release.trajectory_ids[position] for position in by_subject.tolist())
    )
    seen = _Seen()
    stated = Verdict.of(
        (), checked=release.n_records
    )  # what the check of the finished folder must come to, word for word
    with staged_folder(output) as staging:
        write_boxes_in_parts(seen.each(_in_parts(release, crowds, crowd_of, run)), staging / RELEASE_FILE)
        insist_on_outlines(staging / RELEASE_FILE)
        manifest = manifest_of(release, stated, staging / RELEASE_FILE, statement)
        write_manifest(manifest, staging / MANIFEST_FILE)
        (staging / REPORT_FILE).write_text(
            release_page(release, stated, seen.facts(people, crowds), statement=statement), encoding="utf-8"
        )
        scratch = checkpoint.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        verdict = verify_streamed_folder(people, staging, linkage, scratch, run)
        insist(verdict)
        if verdict != stated:
            raise ClaimError(
                "the release keeps its promise with notes that its manifest lacks; this is a fault of "
                "shoal, please report it"
            )
        if linkage_file is not None:
            with staged_linkage(linkage, linkage_file, output):
                pass
    return BlockPublication(
        folder=output, manifest=manifest, release=release, accuracy=crowds.accuracy, blocks=blocks
    )


def _header(people: StoredPeople, method: Glove, crowds: _Crowds, rng: Randomness) -> ReleaseOnDisk:
    """The whole release but its boxes, every record under a fresh pseudonym."""
    n = len(crowds.subjects)
    return ReleaseOnDisk(
        trajectory_ids=rng.pseudonyms(n),
        offsets=np.zeros(n + 1, dtype=np.int64),
        boxes=Boxes.concatenate([]),
        n_boxes=int((crowds.sizes * crowds.lengths).sum()),
        claim=method.claim(),
        method="glove",
        parameters=method.parameters(),
        losses=Losses(
            rows=dict(people.intake.dropped),
            samples_suppressed=crowds.samples_suppressed,
            subjects_suppressed=people.n_subjects - n,
        ),
        grid=people.grid,
        crs=people.crs,
        unit_of_protection=people.intake.unit_of_protection,
        publishable=rng.publishable,
        reading=people.intake.reading,
        rows_repaired=dict(people.intake.repaired),
    )


def _in_parts(release: ReleaseOnDisk, crowds: _Crowds, crowd_of: Integers, run: Run) -> Iterator[Release]:
    """The records in their order, as many at once as hold about a million boxes.

    crowd_of: [r] of each record.
    """
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
                    "boxes": boxes,
                }
            )
            run.progress("writing the release", end, len(ends))


class _Seen:
    """What the report needs of the boxes, gathered while they are written.

    The first part is a random sample, for what needs one.
    """

    def __init__(self) -> None:
        self._window: Window | None = None
        self._expected = np.zeros(0)
        self._outlines = Boxes.concatenate([])
        self._first = np.iinfo(np.int64).max
        self._end = 0
        self._n = 0

    def each(self, parts: Iterable[Release]) -> Iterator[Release]:
        """Hand on every part, having looked at it."""
        for part in parts:
            boxes = part.boxes
            if self._window is None:
                self._window, self._outlines = window_around(boxes), some_boxes(boxes)
                self._expected = np.zeros((self._window.rows, self._window.columns))
            self._expected += expected_density(boxes, self._window)
            self._first, self._end = (
                min(self._first, int(boxes.t_start.min())),
                max(self._end, int(boxes.t_end.max())),
            )
            self._n += len(boxes)
            yield part

    def facts(self, people: StoredPeople, crowds: _Crowds) -> ReleaseFacts:
        """The numbers of the report.

        The k-gap is left out, since nobody's nearest others need be in the same block.
        """
        assert self._window is not None  # noqa: S101  (a release has records)
        density: Density = density_in(self._window, self._expected, self._n)
        sizes, numbers = np.unique(crowds.sizes, return_counts=True)
        return ReleaseFacts(
            subjects=people.n_subjects,
            samples=people.n_samples,
            median_samples=quantile_of_people(people.lengths.astype(np.float64), 0.5),
            samples_per_day=people.n_samples
            / people.n_subjects
            / days_between(self._first, self._end - 1, people.grid.slot_s),
            rows_read=people.intake.rows_read,
            accuracy=crowds.accuracy,
            crowds=dict(zip(sizes.tolist(), numbers.tolist(), strict=True)),
            span=span_of(np.array([self._first]), np.array([self._end]), people.grid.slot_s),
            density=density,
            outlines=self._outlines,
            gaps=(),
        )
