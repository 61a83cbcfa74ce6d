"""The check of a release folder that does not fit into memory, against people on disk.

Records are spread over buckets by what they hold, so that identical ones come together wherever they stand in
the file. Each bucket is then checked with the raw samples of its own subjects, by the same functions as a
release in memory, and what is counted over everything is added up. Both are tasks, which any engine can carry
out. Memory: names and numbers of all records, and for each worker a million rows or the boxes of one bucket.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError
from shoal.model.claims import Claim
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Linkage, Release
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.folder import without_boxes
from shoal.release_folder.manifest import RELEASE_FILE, read_manifest
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.verification.boxes.records import NOT_COMPARED, lost_samples, off_grid, records_of
from shoal.verification.checks import Check, StreamedCheck, check_of, find_telling_names
from shoal.verification.examination import Examination, pseudonyms_used_twice
from shoal.verification.files.folder import notes_on, with_notes
from shoal.verification.files.layout import Layout, hidden_in, layout_of
from shoal.verification.files.spreading import (
    Chunk,
    Spread,
    Spreading,
    SpreadTask,
    records_of_bucket,
    spread_groups,
)
from shoal.verification.files.stated import against_manifest, false_statements
from shoal.verification.files.stored import differing_findings, strange_pseudonyms, wrong_types
from shoal.verification.files.visible import beyond_parameters, parameter_findings
from shoal.verification.leaks.known import RawIdentifiers
from shoal.verification.leaks.lint import columns_of, leak_findings
from shoal.verification.leaks.spread_digests import SpreadDigests
from shoal.verification.linking import Links, far_too_many_records, links_of

_PART_ROWS: Final = 1 << 19  # rows of the file, at least, that one task spreads: a row group of shoal's own
_BUCKET_ROWS: Final = 1 << 20  # boxes, or raw samples, that one bucket holds on average
_SUBJECTS: Final = "subject_of.npy"


def verify_streamed_folder(
    people: StoredPeople,
    folder: Path,
    linkage: Linkage,
    scratch: Path,
    run: Run,
    *,
    engine: Engine | None = None,
    known: RawIdentifiers | None = None,
) -> Verdict:
    """The verdict on a release folder against the people it was made from; findings as in memory.

    scratch: an empty folder for the spread records, on a disk with room for all boxes. engine: who works on
    the file and on the buckets; without one this process, on one after the other. known: the raw identifiers,
    where others search for them, too. Raises InputError when the folder cannot be read, MisuseError for a
    claim whose check needs everything at once.
    """
    workers = engine or Run(threads=1)
    require_streamed(folder)
    manifest = read_manifest(folder)
    header = without_boxes(folder, manifest)
    check = check_of(header.claim)
    layout, file = _opened(folder / RELEASE_FILE)
    spreading = Spreading(
        folder=folder.resolve(),
        scratch=scratch.resolve(),
        grid=header.snapped_grid(),
        crs=header.crs,
        n_buckets=max(file.metadata.num_rows, people.n_samples) // _BUCKET_ROWS + 1,
        key=os.urandom(32),
    )
    tasks = list(_spread_tasks(spreading, layout, file.metadata))
    spread = Spread(spreading)
    seen = run_tasks(spread_groups, tasks, workers, run, "reading the release")
    for task, part in zip(tasks, seen, strict=True):
        spread.add(task, part)
    spread.finish()
    hidden = hidden_in(spread.walked, layout)
    if too_many := far_too_many_records(people, len(spread.names)):
        return Verdict.of(too_many, checked=0)
    release = replace(
        header, trajectory_ids=spread.names, offsets=np.zeros(len(spread.names) + 1, dtype=np.int64)
    )
    case = Examination(people, release, linkage, check.parts)
    judged = _examine(case, links_of(people, release, linkage), spread, spreading, workers, run)
    known = known or known_in_tasks(people, scratch, workers, run)
    find_telling_names(case, known)
    on_claim = case.verdict()
    own = columns_of(manifest, in_degrees=False)
    extra = pq.read_table(
        folder / RELEASE_FILE, columns=[name for name in file.schema_arrow.names if name not in own]
    )
    digest = sha256_of(folder / RELEASE_FILE)
    findings = [
        *spread.precision.findings(),
        *spread.faults(),
        *differing_findings(sum(part.differing for part in judged)),
        *wrong_types(file.schema_arrow),
        *strange_pseudonyms(spread.names),
        *against_manifest(folder, manifest, digest, len(spread.names), spread.n_rows),
        *hidden,
        *spread.plane.findings(),
        *leak_findings(known, folder, extra.schema, extra, file.metadata, manifest, in_degrees=False),
        *false_statements(manifest, on_claim, people, linked=True),
        *parameter_findings(sum((part.beyond for part in judged), Counter()), header.kind),
    ]
    return with_notes(
        on_claim.with_findings(findings), notes_on(folder, people, spread.plane, spread.precision)
    )


def known_in_tasks(people: StoredPeople, scratch: Path, engine: Engine, run: Run) -> RawIdentifiers:
    """The raw identifiers, whose hashes an engine makes and compares in an empty folder."""
    return RawIdentifiers.of(people, lambda ids: SpreadDigests(ids, scratch, engine, run))


def _spread_tasks(spreading: Spreading, layout: Layout, footer: pq.FileMetaData) -> Iterator[SpreadTask]:
    """One for each row group; small ones together."""
    first, rows = 0, 0
    for group in range(footer.num_row_groups):
        rows += footer.row_group(group).num_rows
        if rows >= _PART_ROWS or group == footer.num_row_groups - 1:
            own = layout.of(first, group + 1)
            yield SpreadTask(spreading=spreading, first=first, behind=group + 1, layout=own)
            first, rows = group + 1, 0


@dataclass(frozen=True, kw_only=True)
class BucketTask:
    """One bucket of a spread file. header: of the release; compared: whether it is on the raw data's grid."""

    people: Path
    spreading: Spreading
    header: Release
    chunks: tuple[Chunk, ...]
    bucket: int
    compared: bool


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What one bucket shows. findings: records by their numbers. covered: raw samples in a box of their own.

    beyond: what cannot come of the parameters; differing: records stored otherwise than one that is equal.
    """

    findings: tuple[Finding, ...]
    covered: int
    beyond: Counter[str]
    differing: int


def examine_bucket(task: BucketTask) -> Judged:
    """Hold the records of one bucket against the claim and the raw samples of their subjects."""
    numbers, lengths, stored, boxes = records_of_bucket(task.spreading, task.chunks, task.bucket)
    claim = task.header.claim
    streamed = _streamed_check(check_of(claim), claim)
    if not len(numbers):
        return Judged(findings=(), covered=0, beyond=Counter(), differing=0)
    part = replace(
        task.header,
        trajectory_ids=tuple(map(str, numbers.tolist())),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        payload=boxes,
    )
    classified = records_of(part)
    first = classified.representative[classified.class_of]
    findings, covered = [*streamed.of_records(claim, classified, part)], 0
    if task.compared:
        subject = np.load(task.spreading.scratch / _SUBJECTS, mmap_mode="r")[numbers]
        known = np.unique(subject[subject >= 0])
        own = Links(
            subject_of=np.where(subject >= 0, np.searchsorted(known, subject), -1),
            n_subjects_with_record=len(known),
            findings=(),
        )
        raw = StoredPeople.open(task.people).load(known)
        faults, covered = streamed.of_members(claim, raw, classified, part, own)
        findings += faults
    return Judged(
        findings=tuple(findings),
        covered=covered,
        beyond=beyond_parameters(part),
        differing=int((stored != stored[first]).any(axis=1).sum()),
    )


def require_streamed(folder: Path) -> None:
    """Raise MisuseError for a release whose check needs everything at once, before anybody is read."""
    manifest = read_manifest(folder)
    if manifest.kind != "boxes":
        raise MisuseError(f"{folder} holds points, which are not checked in a stream; leave out --streamed")
    claim = without_boxes(folder, manifest).claim
    _streamed_check(check_of(claim), claim)


def _streamed_check(check: Check, claim: Claim) -> StreamedCheck:
    """The questions of the claim's check; raises MisuseError for one that needs all records at once."""
    if check.streamed is None:
        raise MisuseError(f"a claim of {claim.type} cannot be checked in a stream; leave out --streamed")
    return check.streamed


def _examine(
    case: Examination[StoredPeople],
    links: Links,
    spread: Spread,
    spreading: Spreading,
    engine: Engine,
    run: Run,
) -> list[Judged]:
    """Hold the claim against the raw data. case.release: all records without their boxes."""
    people, release = case.original, case.release
    streamed = _streamed_check(check_of(release.claim), release.claim)
    case.find(pseudonyms_used_twice(release))
    on_other_grid = off_grid(people, release)
    case.find(links.findings)
    case.looked_at("subjects")
    np.save(spreading.scratch / _SUBJECTS, links.subject_of)
    header = replace(release, trajectory_ids=(), offsets=np.zeros(1, dtype=np.int64))
    tasks = [
        BucketTask(
            people=people.folder.resolve(),
            spreading=spreading,
            header=header,
            chunks=tuple(spread.chunks),
            bucket=bucket,
            compared=not on_other_grid,
        )
        for bucket in range(spreading.n_buckets)
    ]
    judged = list(run_tasks(examine_bucket, tasks, engine, run, "verifying"))
    case.find(_by_name([each for part in judged for each in part.findings], spread.names))
    covered = sum(part.covered for part in judged)
    case.looked_at("classes")
    if on_other_grid:
        case.find(on_other_grid)
        case.notes.append(NOT_COMPARED)
        return judged
    case.compare_accounts()
    case.find(lost_samples(people, covered, links, release))
    case.find(streamed.of_losses(release.claim, people, covered, links))
    case.looked_at("own-samples", "lost-samples")
    case.count_subjects(links)
    return judged


def _by_name(findings: Sequence[Finding], names: Sequence[str]) -> Iterator[Finding]:
    """Findings on records by their numbers as findings on their pseudonyms, in the order of the file.

    Buckets are drawn, so theirs says nothing.
    """
    for each in sorted(findings, key=lambda each: int(each.trajectory_id or 0)):
        yield (
            each
            if each.trajectory_id is None
            else replace(each, trajectory_id=names[int(each.trajectory_id)])
        )


def _opened(path: Path) -> tuple[Layout, pq.ParquetFile]:
    """What the file's footer says, and the file."""
    require_plain_file(path)
    try:
        with path.open("rb") as raw, mmap(raw.fileno(), 0, access=ACCESS_READ) as content:
            layout = layout_of(content)
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error
    if "trajectory_id" not in file.schema_arrow.names:
        raise InputError(f"{path} lacks the column trajectory_id")
    return layout, file
