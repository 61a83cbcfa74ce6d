"""Check a folder larger than memory, by buckets of identical records.

Memory: names and numbers of all records, and for each worker a million rows or one bucket.
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
from shoal.release_folder.folder import release_header
from shoal.release_folder.manifest import RELEASE_FILE, read_manifest
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.verification.boxes.records import NOT_COMPARED, classify_records, grid_mismatch, miscounted_samples
from shoal.verification.checks import StreamedCheck, check_names, find_check
from shoal.verification.examination import Examination, duplicate_pseudonyms
from shoal.verification.files.folder import TableReading, verdict_on_folder
from shoal.verification.files.layout import Layout, hidden_bytes, read_layout
from shoal.verification.files.spreading import (
    BucketFile,
    Spreading,
    SpreadRecords,
    SpreadTask,
    read_bucket,
    spread_groups,
)
from shoal.verification.files.stored import stored_differently
from shoal.verification.files.thrift import not_readable
from shoal.verification.files.visible import count_beyond_parameters
from shoal.verification.leaks.lint import expected_columns, leak_findings
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.verification.leaks.spread_digests import SpreadDigests
from shoal.verification.linking import Links, link_records, too_many_records

_PART_ROWS: Final = 1 << 19  # rows of one task at least: one row group of shoal
_BUCKET_ROWS: Final = 1 << 20  # boxes or raw samples of a bucket on average
_SUBJECTS: Final = "subject_of.npy"


def verify_streamed_folder(
    people: StoredPeople,
    folder: Path,
    linkage: Linkage,
    scratch: Path,
    run: Run,
    *,
    engine: Engine | None = None,
    raw_identifiers: RawIdentifiers | None = None,
) -> Verdict:
    """The verdict on a folder, as in memory; scratch: an empty folder."""
    workers = engine or Run(threads=1)
    require_streamed(folder)
    manifest = read_manifest(folder)
    header = release_header(folder, manifest)
    check = find_check(header.claim)
    layout, file = _open_table(folder / RELEASE_FILE)
    spreading = Spreading(
        folder=folder.resolve(),
        scratch=scratch.resolve(),
        grid=header.snapped_grid(),
        crs=header.crs,
        n_buckets=max(file.metadata.num_rows, people.n_samples) // _BUCKET_ROWS + 1,
        key=os.urandom(32),
    )
    tasks = list(_spread_tasks(spreading, layout, file.metadata))
    spread = SpreadRecords(spreading)
    for part in run_tasks(spread_groups, tasks, workers, run, "reading the release"):
        spread.add(part)
    hidden = hidden_bytes(spread.walked, layout)
    if too_many := too_many_records(people, len(spread.names)):
        return Verdict.of(too_many, checked=0)
    release = replace(
        header, trajectory_ids=spread.names, offsets=np.zeros(len(spread.names) + 1, dtype=np.int64)
    )
    case = Examination(people, release, linkage, check.parts_of(release.claim))
    judged = _examine_buckets(case, link_records(people, release, linkage), spread, spreading, workers, run)
    raw_identifiers = raw_identifiers or identifiers_in_tasks(people, scratch, workers, run)
    check_names(case, raw_identifiers)
    on_claim = case.verdict()
    own_columns = expected_columns(manifest, in_degrees=False)
    extra = pq.read_table(
        folder / RELEASE_FILE, columns=[name for name in file.schema_arrow.names if name not in own_columns]
    )
    table = TableReading(
        release=release,
        sha256=sha256_of(folder / RELEASE_FILE),
        n_samples=spread.n_rows,
        schema=file.schema_arrow,
        hidden=hidden,
        of_rows=[*stored_differently(sum(part.differing for part in judged)), *spread.faults()],
        plane=spread.plane,
        precision=spread.precision,
    )
    return verdict_on_folder(
        on_claim,
        people,
        folder,
        manifest,
        table,
        leaks=leak_findings(
            raw_identifiers, folder, extra.schema, extra, file.metadata, manifest, in_degrees=False
        ),
        beyond=sum((part.beyond for part in judged), Counter()),
        linked=True,
    )


def identifiers_in_tasks(people: StoredPeople, scratch: Path, engine: Engine, run: Run) -> RawIdentifiers:
    """The raw identifiers; an engine hashes and compares them in an empty folder."""
    return RawIdentifiers.of(people, lambda ids: SpreadDigests(ids, scratch, engine, run))


def _spread_tasks(spreading: Spreading, layout: Layout, footer: pq.FileMetaData) -> Iterator[SpreadTask]:
    first, rows = 0, 0
    for group in range(footer.num_row_groups):
        rows += footer.row_group(group).num_rows
        if rows >= _PART_ROWS or group == footer.num_row_groups - 1:
            part = layout.of(first, group + 1)
            yield SpreadTask(spreading=spreading, first=first, end=group + 1, layout=part)
            first, rows = group + 1, 0


@dataclass(frozen=True, kw_only=True)
class BucketTask:
    """One bucket. header: of the release; compared: whether it is on the raw grid."""

    people: Path
    spreading: Spreading
    header: Release
    chunks: tuple[BucketFile, ...]
    bucket: int
    compared: bool


@dataclass(frozen=True, kw_only=True)
class BucketFindings:
    """What one bucket shows."""

    findings: tuple[Finding, ...]  # by record number
    covered: int  # samples in own boxes
    beyond: Counter[str]  # rows that contradict parameters
    differing: int  # records stored differently than an equal one


def examine_bucket(task: BucketTask) -> BucketFindings:
    """Check the records of one bucket."""
    numbers, lengths, stored, boxes = read_bucket(task.spreading, task.chunks, task.bucket)
    claim = task.header.claim
    streamed = _streamed_check(claim)
    if not len(numbers):
        return BucketFindings(findings=(), covered=0, beyond=Counter(), differing=0)
    part = replace(
        task.header,
        trajectory_ids=tuple(map(str, numbers.tolist())),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        payload=boxes,
    )
    classified = classify_records(part)
    first = classified.representative[classified.class_of]
    findings, covered = [*streamed.of_records(claim, classified, part)], 0
    if task.compared:
        subject = np.load(task.spreading.scratch / _SUBJECTS, mmap_mode="r")[numbers]
        subjects = np.unique(subject[subject >= 0])
        links = Links(
            subject_of=np.where(subject >= 0, np.searchsorted(subjects, subject), -1),
            n_subjects_with_record=len(subjects),
            findings=(),
        )
        raw = StoredPeople.open(task.people).load(subjects)
        faults, covered = streamed.of_members(claim, raw, classified, part, links)
        findings += faults
    return BucketFindings(
        findings=tuple(findings),
        covered=covered,
        beyond=count_beyond_parameters(part),
        differing=int((stored != stored[first]).any(axis=1).sum()),
    )


def require_streamed(folder: Path) -> None:
    """Raise MisuseError for a check that needs all records at once, before people are read."""
    manifest = read_manifest(folder)
    if manifest.kind != "boxes":
        raise MisuseError(f"{folder} holds points, which are not checked in a stream; leave out --streamed")
    _streamed_check(release_header(folder, manifest).claim)


def _streamed_check(claim: Claim) -> StreamedCheck:
    streamed = find_check(claim).streamed
    if streamed is None:
        raise MisuseError(f"a claim of {claim.type} cannot be checked in a stream; leave out --streamed")
    return streamed


def _examine_buckets(
    case: Examination[StoredPeople],
    links: Links,
    spread: SpreadRecords,
    spreading: Spreading,
    engine: Engine,
    run: Run,
) -> list[BucketFindings]:
    people, release = case.original, case.release
    streamed = _streamed_check(release.claim)
    case.add(duplicate_pseudonyms(release))
    on_other_grid = grid_mismatch(people, release)
    case.add(links.findings)
    case.mark_checked("subjects")
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
    case.add(_name_records([finding for part in judged for finding in part.findings], spread.names))
    covered = sum(part.covered for part in judged)
    case.mark_checked("classes")
    if on_other_grid:
        case.add(on_other_grid)
        case.notes.append(NOT_COMPARED)
        return judged
    case.compare_accounts()
    case.add(miscounted_samples(people, covered, links, release))
    case.add(streamed.of_losses(release.claim, people, covered, links))
    case.mark_checked("own-samples", "lost-samples")
    if people.sensitive is not None:
        case.mark_checked("diverse-places")
    case.count_subjects(links)
    return judged


def _name_records(findings: Sequence[Finding], names: Sequence[str]) -> Iterator[Finding]:
    """In file order; the order of buckets is random."""
    for finding in sorted(findings, key=lambda finding: int(finding.trajectory_id or 0)):
        number = finding.trajectory_id
        yield finding if number is None else replace(finding, trajectory_id=names[int(number)])


def _open_table(path: Path) -> tuple[Layout, pq.ParquetFile]:
    require_plain_file(path)
    try:
        with path.open("rb") as raw, mmap(raw.fileno(), 0, access=ACCESS_READ) as content:
            layout = read_layout(content)
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise not_readable(str(path)) from error
    if "trajectory_id" not in file.schema_arrow.names:
        raise InputError(f"{path} lacks the column trajectory_id")
    return layout, file
