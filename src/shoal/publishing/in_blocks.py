"""A release of people on disk, in blocks; finished parts stay, so a killed command continues."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

import numpy as np

from shoal.errors import InputError, MisuseError, NothingLeftError
from shoal.io.disk.storing import are_complete, store_people
from shoal.methods.assembly import unrelated_order
from shoal.methods.glove.glove import Glove
from shoal.model.argument_checks import require_one_region
from shoal.model.claims.hull import parse_hull
from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Linkage
from shoal.model.verdicts import Verdict
from shoal.publishing.block_facts import draw_crowds, k_gaps_on_disk, lost_samples_on_disk
from shoal.publishing.block_input import BlockInput
from shoal.publishing.block_records import Crowds, crowds_of_blocks, header_of, write_table_in_parts
from shoal.publishing.in_series import ALL_WAIT
from shoal.publishing.writing import PublicationJob, write_manifest_of
from shoal.release_folder.manifest import RELEASE_FILE, Manifest
from shoal.report.facts.evidence import Evidence, Sampled
from shoal.report.facts.ground import NO_GROUND, bounds_around
from shoal.report.pages.record import page_of_facts
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Integers, offsets_of
from shoal.runtime.checkpoint import Checkpoint, parts_folder
from shoal.runtime.run import Engine, Progress, Run, run_tasks
from shoal.runtime.staging import explain_write_errors, find_partials, require_absent, staged_folder
from shoal.runtime.timings import read_progress
from shoal.scale.blocks import (
    BLOCKS,
    PEOPLE,
    PROGRESS,
    BlockTask,
    MemoryBound,
    keep_crowds_whole,
    middles_of,
    name_of,
    split_into_blocks,
    store_block,
)
from shoal.scale.engines import require_shared
from shoal.utility.accuracy import Accuracy
from shoal.verification.files.streamed import identifiers_in_tasks, verify_streamed_folder

_LOOKS_EVERY_S = 1.0  # at the progress of a block
_NEEDS_EVERYONE: Final = (
    "work in blocks needs shoal.Glove, no private report and no exact figures; read the data with shoal.read "
    "to work on everyone at once"
)


@typed
@dataclass(frozen=True, eq=False, kw_only=True)
class InBlocks:
    """Raw data that ``publish`` reads, anonymizes and checks in blocks of people, with little memory.

    Parameters
    ----------
    source
        The raw input: a file, folder, address or table.
    reading
        How it is read.
    size
        The most people in a block, at least 2 k; or a bound of memory that decides it.
    engine
        Where the tasks run; this process by default.
    on_read
        Called with the people as soon as they are read.
    """

    source: str | Path
    reading: Reading
    size: int | MemoryBound
    engine: Engine
    on_read: Callable[[StoredPeople], None] = lambda _: None

    @property
    def task_engine(self) -> Engine | None:
        """Who does tasks other than blocks; None under a bound of memory."""
        return None if isinstance(self.size, MemoryBound) else self.engine


@contextmanager
def anonymize_in_blocks(original: InBlocks, job: PublicationJob) -> Iterator["CandidateOnDisk"]:
    """Anonymize all blocks; the release folder gets its name when the block succeeds."""
    method, run = job.method, job.run
    if not isinstance(method, Glove) or job.options.private_report is not None or job.options.exact_figures:
        raise MisuseError(_NEEDS_EVERYONE)
    require_absent(job.output)
    folder = parts_folder(job.output).resolve()
    reading, size = original.reading, original.size
    block_input = BlockInput(
        original.source, original.engine, reading.cells, reading.places, reading.sensitive
    )
    identity = {
        **job.identity,
        "files": block_input.job(),
        "reading": asdict(reading),
        "size": size if isinstance(size, int) else asdict(size),
    }
    with explain_write_errors(folder), Checkpoint.until_done(folder, identity) as checkpoint:
        require_shared(original.engine, folder)
        for left_over in (
            *folder.glob(".*.partial-*"),
            *folder.glob(f"*{PROGRESS}"),
            *find_partials(job.output),
        ):  # of a run that was killed
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        people, block_sizes = _read_people(block_input, original, method, job, checkpoint)
        streams: list[int | None] = [None] * len(block_sizes)  # a research seed for each block
        if not job.rng.publishable and parse_hull(method.hull).outward_cells:  # only these hulls are drawn
            streams = job.rng.below(1 << 62, len(block_sizes)).tolist()
        tasks = [
            BlockTask(
                folder=str(folder),
                block=block,
                method=method,
                spare=None if job.series is None else job.series.options.spare,
                stream=stream,
            )
            for block, stream in enumerate(streams)
        ]
        with run.stage("method"):
            _anonymize_unfinished(tasks, folder, original.engine, run)
        engine = original.task_engine or Run(threads=1)
        crowds, accuracy = crowds_of_blocks(people, len(tasks), checkpoint, engine, run)
        if not len(crowds.subjects):
            raise NothingLeftError(
                "every subject would be suppressed, so there is nothing to publish; relax the suppression "
                "thresholds"
                if job.series is None
                else ALL_WAIT
            )
        with staged_folder(job.output) as staging:
            yield CandidateOnDisk(people, crowds, accuracy, block_sizes, staging, job, engine)


class CandidateOnDisk:
    """A release whose boxes lie in the blocks: records in random order, under pseudonyms."""

    facts = None

    def __init__(
        self,
        people: StoredPeople,
        crowds: Crowds,
        accuracy: Accuracy,
        block_sizes: tuple[int, ...],
        staging: Path,
        job: PublicationJob,
        engine: Engine,
    ) -> None:
        self._people, self._crowds, self._job, self._engine = people, crowds, job, engine
        self.accuracy, self.block_sizes, self.staging = accuracy, block_sizes, staging
        crowd_of = np.repeat(np.arange(len(crowds.sizes)), crowds.sizes)
        order = unrelated_order(crowds.subjects, crowd_of, people.input_rank, job.rng)
        self._crowd_of = crowd_of[order]
        self.release = header_of(people, job.method, crowds, accuracy.samples_suppressed, job.rng)
        if job.series is not None:
            members = np.split(crowds.subjects, np.cumsum(crowds.sizes)[:-1])
            self.release = job.series.placed(self.release, members)
        pseudonyms = Pseudonyms.of(self.release.trajectory_ids)
        self.linkage = Linkage(
            people.ids.take(np.sort(crowds.subjects)), pseudonyms.take(np.argsort(crowds.subjects[order]))
        )
        self._scratch = _emptied(crowds.job / "scratch")
        self._identifiers = identifiers_in_tasks(people, _emptied(crowds.job / "hashing"), engine, job.run)
        with job.run.stage("hashes of identifiers"):
            notes = self._identifiers.hashes_in(pseudonyms).notes()
        # stated in manifest and report; the check must come to the same
        self._verdict = Verdict.of((), checked=self.release.n_records, notes=notes)

    def write_table(self) -> Manifest:
        """Write table and manifest, in tasks of a million boxes."""
        job, table = self._job, self.staging / RELEASE_FILE
        with job.run.stage("writing"):
            self._seen = write_table_in_parts(
                self.release,
                self._crowds,
                self._crowd_of,
                table,
                _emptied(self._scratch),
                self._engine,
                job.run,
            )
            return write_manifest_of(self.staging, self.release, self._verdict, job.options.statement)

    def page(self, *, private: bool = False) -> str:
        """The report; attacks and uses are measured on whole crowds. A private one has no example here."""
        if private:
            raise MisuseError(_NEEDS_EVERYONE)
        people, release, crowds, engine = self._people, self.release, self._crowds, self._engine
        run, options, largest = self._job.run, self._job.options, max(self.block_sizes)
        with run.stage("k-gaps"):
            gaps = k_gaps_on_disk(people, release.claim.k, largest, self._scratch, engine, run)
        with run.stage("what was suppressed"):
            vanished = lost_samples_on_disk(people, release, crowds, largest, self._scratch, engine, run)
        return page_of_facts(
            release,
            self._verdict,
            self._seen.facts(people, crowds, self.accuracy, gaps),
            evidence=self.evidence,
            vanished=vanished,
            statement=options.statement,
            ground=options.ground,
        )

    def check(self) -> Verdict:
        """The verdict on the files, read in parts."""
        return verify_streamed_folder(
            self._people,
            self.staging,
            self.linkage,
            _emptied(self._scratch),
            self._job.run,
            engine=self._engine,
            raw_identifiers=self._identifiers,
        )

    @cached_property
    def evidence(self) -> Evidence:
        """What the report measures, on a sample."""
        facts = draw_crowds(self._people, self.release, self._crowds, self._job.run)
        sampled = Sampled(people=facts.release.n_records, of=self.release.n_records)
        streets = self._job.options.ground.streets
        return Evidence(facts, tries=self._job.tries, sampled=sampled, streets=streets)


def _read_people(
    block_input: BlockInput, original: InBlocks, method: Glove, job: PublicationJob, checkpoint: Checkpoint
) -> tuple[StoredPeople, tuple[int, ...]]:
    folder, run, engine = checkpoint.folder, job.run, original.task_engine
    ground = job.options.ground
    complete = are_complete(folder / PEOPLE, engine or run, run)
    if not complete:  # blocks of people who are not there are useless
        shutil.rmtree(folder / PEOPLE, ignore_errors=True)
        for part in (*folder.glob("*.npz"), *folder.glob("*.bin")):
            part.unlink()
    with _nothing_kept_of_refused(folder, complete=complete), run.stage("reading"):
        block_input.fetch(folder, original.reading)
    with run.stage("reading"):
        block_input.require_same(checkpoint, engine or run, run)
    with _nothing_kept_of_refused(folder, complete=complete):
        with run.stage("reading"):
            people = store_people(block_input.source, original.reading, folder / PEOPLE, run, engine=engine)
            block_input.require_unchanged()
        original.on_read(people)
        require_one_region(people.intake.notes)
        if ground is not NO_GROUND:
            x_m, y_m = people.grid.cell_m * people.middles[:, 1:].T
            ground.require_over(bounds_around(x_m, y_m), people.crs)
        crowd_of = None if job.series is None else job.series.crowds_on_disk(people)
        return people, _decide_blocks(people, method, original.size, crowd_of, checkpoint)


@contextmanager
def _nothing_kept_of_refused(folder: Path, *, complete: bool) -> Iterator[None]:
    """Unless people were complete: the next try differs."""
    try:
        yield
    except (InputError, MisuseError):
        if not complete:
            shutil.rmtree(folder)
        raise


def _decide_blocks(
    people: StoredPeople,
    method: Glove,
    size: int | MemoryBound,
    crowd_of: Integers | None,
    checkpoint: Checkpoint,
) -> tuple[int, ...]:
    grid = people.grid
    caps = (
        method.time_cap_s / grid.slot_s,
        method.space_cap_m / grid.cell_m,
        method.space_cap_m / grid.cell_m,
    )

    def make() -> dict[str, Integers]:
        most = size if isinstance(size, int) else size.people_in_a_block(people.lengths, method.k)
        middles = middles_of(people, method.hull)
        if crowd_of is None:
            blocks = split_into_blocks(middles, caps, most, method.k)
        else:
            blocks = keep_crowds_whole(middles, crowd_of, caps, most, method.k)
        offsets = offsets_of(map(len, blocks))
        subjects = np.concatenate(blocks)
        crowds = {} if crowd_of is None else {"crowds": crowd_of[subjects]}
        return {"subjects": subjects, "offsets": offsets, **crowds}

    return tuple(np.diff(checkpoint.load_or_make(BLOCKS, make)["offsets"]).tolist())


def _anonymize_unfinished(tasks: list[BlockTask], folder: Path, engine: Engine, run: Run) -> None:
    label = "anonymizing blocks"
    finished, waiting = list[BlockTask](), list[BlockTask]()
    for task in tasks:
        (finished if (folder / f"{name_of(task.block)}.npz").exists() else waiting).append(task)
    if finished:  # by an earlier run; damaged blocks are made again
        for _ in run_tasks(store_block, finished, engine, run, "looking at finished blocks"):
            pass
    run.progress(label, len(tasks) - len(waiting), len(tasks))
    with _progress_within(folder, run) as report:
        for done, _ in enumerate(
            engine.map(store_block, waiting) if waiting else (), start=len(tasks) - len(waiting) + 1
        ):
            report(label, done, len(tasks))


@contextmanager
def _progress_within(folder: Path, run: Run) -> Iterator[Progress]:
    """Report how far the first unfinished block is, beside what the block reports."""
    reporting, over = Lock(), Event()

    def report(label: str, done: int, total: int) -> None:
        with reporting:
            run.progress(label, done, total)

    def look() -> None:
        while not over.wait(_LOOKS_EVERY_S):
            for path in sorted(folder.glob(f"*{PROGRESS}"))[:1]:
                with suppress(OSError, ValueError, TypeError):  # the block is finished meanwhile
                    if (progress := read_progress(path)) is not None:
                        report(f"in a block: {progress.label}", progress.done, progress.total)

    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        yield report
    finally:
        over.set()
        looking.join()


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
