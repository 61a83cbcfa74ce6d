"""The main job in blocks: anonymize each block by itself, shuffle all records, and publish as in memory.

Everything finished is kept in a folder beside the release until it is done. Killed at any point, the same
command continues there.
"""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shoal.attacks.questions import TRIES
from shoal.attacks.rate import Rate
from shoal.errors import InputError, MisuseError, NothingLeftError
from shoal.io.storing import are_complete, store_people
from shoal.methods.assembly import unrelated_order
from shoal.methods.glove.glove import Glove
from shoal.model.argument_checks import require_one_region
from shoal.model.claims.hull import parse_hull
from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Linkage
from shoal.model.verdicts import Verdict
from shoal.publishing.block_gaps import gaps_of_stored
from shoal.publishing.block_input import BlockInput
from shoal.publishing.block_records import (
    ReleaseOnDisk,
    crowds_of_blocks,
    header_of,
)
from shoal.publishing.block_sample import evidence_of_sample
from shoal.publishing.block_table import Seen, write_table_in_parts
from shoal.publishing.block_vanished import vanished_of_stored
from shoal.publishing.writing import finish_release, require_free, staged_secrets, write_release
from shoal.release_folder.manifest import Manifest
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report.facts.evidence import rate_shown
from shoal.report.facts.ground import NOTHING_BEHIND, MapGround, around
from shoal.report.pages.record import page_of_facts
from shoal.runtime.arrays import Integers
from shoal.runtime.checkpoint import Checkpoint, parts_folder
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import explain_write_errors, find_partials, require_absent, staged_folder
from shoal.scale.anonymizing import BLOCKS, PEOPLE, BlockTask, anonymize_block, name_of
from shoal.scale.blocks import split_into_blocks
from shoal.scale.memory import MemoryBound
from shoal.utility.accuracy import Accuracy
from shoal.verification.files.streamed import known_in_tasks, verify_streamed_folder
from shoal.verification.leaks.known import RawIdentifiers


@dataclass(frozen=True, eq=False, kw_only=True)
class BlockPublication:
    """What was written, and what is known of it without its boxes.

    strongest: the strongest attack that the report shows, None where none was played. blocks: the number of
    people in each.
    """

    folder: Path
    manifest: Manifest
    release: ReleaseOnDisk
    accuracy: Accuracy
    strongest: Rate | None
    blocks: tuple[int, ...]


def publish_in_blocks(
    source: str | Path,
    reading: Reading,
    method: Glove,
    output: Path,
    *,
    rng: Randomness,
    size: int | MemoryBound,
    engine: Engine,
    run: Run | None = None,
    linkage_file: Path | None = None,
    statement: Statement = NOTHING_STATED,
    tries: int = TRIES,
    ground: MapGround = NOTHING_BEHIND,
    told: Callable[[StoredPeople], None] = lambda _: None,
) -> BlockPublication:
    """Write a verified release folder of people in blocks, complete or not at all.

    Finished parts are kept in a folder beside ``output`` and used when the same call is made again; it is
    removed at the end.

    Parameters
    ----------
    source
        The raw input, which is read block by block.
    reading
        How it is read.
    method
        GLOVE with its parameters.
    output
        The release folder to write; it must not exist yet.
    rng
        Where pseudonyms and shuffles come from.
    size
        The most people in a block, at least 2 k, or the memory that decides it.
    engine
        Who works on the blocks.
    run
        Where progress is reported.
    linkage_file
        The secret linkage to write as well, outside ``output``.
    statement
        What the publisher says of the release.
    tries
        Victims of each attack whose rate the report shows, in a sample of the people; 0 measures nothing.
    ground
        Streets and tiles of the publisher behind the report's map.
    told
        Is handed the people as soon as they are read, to say what was dropped and assumed.

    Returns
    -------
    BlockPublication
        What was written, and what is known of it without its boxes.

    Raises
    ------
    ClaimError
        When a block or the release does not keep its promise.
    OutputError
        When a target exists or cannot be written.
    MisuseError
        For blocks too small for k, or more people than the memory is enough for.
    InputError
        When the folder beside ``output`` holds parts of another job, or the data spans too much of the earth.
    """
    run = run or Run()
    require_absent(output)
    require_free(output, linkage_file)
    folder = parts_folder(output).resolve()
    workers = None if isinstance(size, MemoryBound) else engine  # a bound knows of no tasks but blocks
    given = BlockInput(source, engine, reading.cells)
    job = _job(given, reading, method, size)
    with explain_write_errors(folder), Checkpoint.until_done(folder, job) as checkpoint:
        for left_over in (*folder.glob(".*.partial-*"), *find_partials(output)):  # of a run that was killed
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        begun = are_complete(folder / PEOPLE, workers or run, run)  # and the input is not read
        if not begun:  # parts of people who are not there are parts of nobody
            shutil.rmtree(folder / PEOPLE, ignore_errors=True)
            for part in (*folder.glob("*.npz"), *folder.glob("*.bin")):
                part.unlink()
        try:
            with run.stage("reading"):
                given.fetch(folder, reading)
        except (InputError, MisuseError):
            if not begun:
                shutil.rmtree(folder)
            raise
        with run.stage("reading"):
            given.require_same(checkpoint, workers or run, run)
        try:
            with run.stage("reading"):
                people = store_people(given.source, reading, folder / PEOPLE, run, engine=workers)
                given.require_unchanged()
            told(people)
            require_one_region(people.intake.notes)
            if ground is not NOTHING_BEHIND:
                x_m, y_m = people.grid.cell_m * people.middles[:, 1:].T
                ground.require_over(around(x_m, y_m), people.crs)
            blocks = _blocks(people, method, size, checkpoint)
        except (InputError, MisuseError):
            if not begun:  # nothing here is worth continuing, and the next attempt will have other settings
                shutil.rmtree(folder)
            raise
        tasks = [
            BlockTask(folder=str(folder), block=block, method=method, stream=stream)
            for block, stream in enumerate(_streams(method, rng, len(blocks)))
        ]
        with run.stage("method"):
            _finish(tasks, folder, engine, run)
        return _publish(
            people,
            tasks,
            checkpoint,
            output,
            rng=rng,
            run=run,
            linkage_file=linkage_file,
            blocks=blocks,
            statement=statement,
            tries=tries,
            ground=ground,
            workers=workers,
        )


def _job(given: BlockInput, reading: Reading, method: Glove, size: int | MemoryBound) -> dict[str, Any]:
    """What decides the outcome."""
    return {
        "files": given.job(),
        "reading": asdict(reading),
        "method": type(method).__name__,
        "parameters": method.parameters(),
        "size": size if isinstance(size, int) else asdict(size),
    }


def _blocks(
    people: StoredPeople, method: Glove, size: int | MemoryBound, checkpoint: Checkpoint
) -> tuple[int, ...]:
    """Decide who goes into which block, once; the number of people in each."""
    grid = people.grid
    caps = (
        method.time_cap_s / grid.slot_s,
        method.space_cap_m / grid.cell_m,
        method.space_cap_m / grid.cell_m,
    )

    def make() -> dict[str, Integers]:
        most = size if isinstance(size, int) else size.people_in_a_block(people.lengths, method.k)
        blocks = split_into_blocks(people.middles, caps, most, method.k)
        offsets = np.cumsum([0, *(len(block) for block in blocks)], dtype=np.int64)
        return {"subjects": np.concatenate(blocks), "offsets": offsets}

    return tuple(np.diff(checkpoint.load_or_make(BLOCKS, make)["offsets"]).tolist())


def _streams(method: Glove, rng: Randomness, n_blocks: int) -> list[int | None]:
    """Where the draws of each block come from; only hulls that are moved outward are drawn in blocks."""
    if rng.publishable or not parse_hull(method.hull).outward_cells:
        return [None] * n_blocks
    streams: list[int | None] = rng.below(1 << 62, n_blocks).tolist()
    return streams


def _finish(tasks: list[BlockTask], folder: Path, engine: Engine, run: Run) -> None:
    """Have all blocks finished that are not."""
    label = "anonymizing blocks"
    begun, waiting = list[BlockTask](), list[BlockTask]()
    for task in tasks:
        (begun if (folder / f"{name_of(task.block)}.npz").exists() else waiting).append(task)
    if begun:  # by an earlier run; what is damaged is made again
        for _ in run_tasks(anonymize_block, begun, engine, run, "looking at finished blocks"):
            pass
    run.progress(label, len(tasks) - len(waiting), len(tasks))
    for done, _ in enumerate(
        engine.map(anonymize_block, waiting) if waiting else (), start=len(tasks) - len(waiting) + 1
    ):
        run.progress(label, done, len(tasks))


def _publish(
    people: StoredPeople,
    tasks: list[BlockTask],
    checkpoint: Checkpoint,
    output: Path,
    *,
    rng: Randomness,
    run: Run,
    linkage_file: Path | None,
    blocks: tuple[int, ...],
    statement: Statement,
    tries: int,
    ground: MapGround,
    workers: Engine | None,
) -> BlockPublication:
    """Shuffle the records of all blocks into one release, write it, check it, and give it its name."""
    workers = workers or Run(threads=1)
    crowds, accuracy = crowds_of_blocks(people, len(tasks), checkpoint, workers, run)
    if not len(crowds.subjects):
        raise NothingLeftError(
            "every subject would be suppressed, so there is nothing to publish; relax the suppression "
            "thresholds"
        )
    crowd_of = np.repeat(np.arange(len(crowds.sizes)), crowds.sizes)
    order = unrelated_order(crowds.subjects, crowd_of, people.input_rank, rng)
    crowd_of = crowd_of[order]
    release = header_of(people, tasks[0].method, crowds, accuracy.samples_suppressed, rng)
    pseudonyms = Pseudonyms.of(release.trajectory_ids)
    linkage = Linkage(
        people.ids.take(np.sort(crowds.subjects)), pseudonyms.take(np.argsort(crowds.subjects[order]))
    )
    seen: list[Seen] = []
    shown: list[Rate | None] = []
    scratch, hashing = _emptied(checkpoint.folder / "scratch"), _emptied(checkpoint.folder / "hashing")
    known = known_in_tasks(people, hashing, workers, run)
    with run.stage("hashes of identifiers"):
        notes = known.hashes_in(pseudonyms).notes()
    stated = Verdict.of((), checked=release.n_records, notes=notes)  # the check must come to this

    def write(path: Path) -> None:
        _emptied(scratch)
        seen.append(write_table_in_parts(release, crowds, crowd_of, path, scratch, workers, run))

    def page() -> str:
        with run.stage("k-gaps"):
            gaps = gaps_of_stored(people, release.claim.k, max(blocks), scratch, workers, run)
        with run.stage("who vanished"):
            vanished = vanished_of_stored(people, release, crowds, max(blocks), scratch, workers, run)
        measured = evidence_of_sample(people, release, crowds, tries=tries, run=run) if tries else None
        shown.append(None if measured is None else rate_shown(measured.assessment))
        facts = seen[-1].facts(people, crowds, accuracy, gaps)
        return page_of_facts(
            release,
            stated,
            facts,
            evidence=measured,
            vanished=vanished,
            statement=statement,
            ground=ground,
        )

    with staged_folder(output) as staging:
        with run.stage("writing"):
            manifest = write_release(staging, release, stated, write=write, statement=statement)
        manifest = finish_release(
            staging,
            manifest,
            page=page,
            check=partial(_check, people, staging, linkage, scratch, run, workers, known),
            run=run,
        )
        with staged_secrets(output, release, linkage, linkage_file):
            pass
    return BlockPublication(
        folder=output,
        manifest=manifest,
        release=release,
        accuracy=accuracy,
        strongest=shown[-1],
        blocks=blocks,
    )


def _check(
    people: StoredPeople,
    folder: Path,
    linkage: Linkage,
    scratch: Path,
    run: Run,
    engine: Engine,
    known: RawIdentifiers,
) -> Verdict:
    """The verdict on the finished folder, whose manifest must repeat it."""
    return verify_streamed_folder(people, folder, linkage, _emptied(scratch), run, engine=engine, known=known)


def _emptied(folder: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
