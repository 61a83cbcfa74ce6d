"""The check of a release folder that does not fit into memory, against people on disk.

Records are spread over buckets by what they hold, so that identical ones come together wherever they stand in
the file. Each bucket is then checked with the raw samples of its own subjects, by the same functions as a
release in memory, and what is counted over everything is added up. Memory: names and numbers of all records,
and the boxes of one bucket.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError
from shoal.model.claims import Claim
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Grid
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.folder import without_boxes
from shoal.release_folder.manifest import RELEASE_FILE, read_manifest
from shoal.release_folder.plain_files import require_plain_file
from shoal.runtime.arrays import Integers
from shoal.runtime.hashing import sha256_of
from shoal.runtime.run import Run
from shoal.verification.boxes.classes import records_of
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.boxes.records import NOT_COMPARED, lost_samples, off_grid
from shoal.verification.checks import Check, StreamedCheck, check_of, find_telling_names
from shoal.verification.examination import Examination, pseudonyms_used_twice
from shoal.verification.files.folder import notes_on, with_notes
from shoal.verification.files.layout import layout_findings
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PrecisionCheck, WrittenBoxes, boxes_as_written
from shoal.verification.files.stated import against_manifest, false_statements
from shoal.verification.files.stored import EqualRecords, stored_bytes, strange_pseudonyms, wrong_types
from shoal.verification.files.visible import beyond_parameters, parameter_findings
from shoal.verification.files.written import pseudonyms
from shoal.verification.leaks.lint import columns_of, leak_findings
from shoal.verification.linking import Links, far_too_many_records, links_of

_ROWS_AT_ONCE: Final = 1 << 20
_BUCKET_ROWS: Final = 1 << 22  # boxes, or raw samples, that one bucket holds on average


def verify_streamed_folder(
    people: StoredPeople, folder: Path, linkage: Linkage, scratch: Path, run: Run
) -> Verdict:
    """The verdict on a release folder against the people it was made from; findings as in memory.

    scratch: an empty folder for the spread records, on a disk with room for all boxes. Raises InputError when
    the folder cannot be read, MisuseError for a claim whose check needs everything at once.
    """
    manifest = read_manifest(folder)
    header = without_boxes(folder, manifest)
    check = check_of(header.claim)
    streamed = _streamed_check(check, header.claim)
    hidden, file = _opened(folder / RELEASE_FILE)
    n_buckets = max(file.metadata.num_rows, people.n_samples) // _BUCKET_ROWS + 1
    with _Spread(scratch, n_buckets) as spread:
        plane = PlaneCheck(header.crs)
        precision = PrecisionCheck(header.snapped_grid(), header.crs)
        for table, rows in spread.batches(file, header.snapped_grid(), run):
            plane.look_at_boxes(rows.boxes, header.snapped_grid())
            precision.look(table, rows)
    if too_many := far_too_many_records(people, len(spread.names)):
        return Verdict.of(too_many, checked=0)
    findings = list(precision.findings())
    own = columns_of(manifest, in_degrees=False)
    extra = pq.read_table(
        folder / RELEASE_FILE, columns=[name for name in file.schema_arrow.names if name not in own]
    )
    findings += [*spread.faults, *wrong_types(file.schema_arrow), *strange_pseudonyms(spread.names)]
    digest = sha256_of(folder / RELEASE_FILE)
    findings += against_manifest(folder, manifest, digest, len(spread.names), spread.n_rows)
    findings += [*hidden, *plane.findings()]
    findings += leak_findings(people, folder, extra, file.metadata, manifest, in_degrees=False)
    release = replace(
        header, trajectory_ids=tuple(spread.names), offsets=np.zeros(len(spread.names) + 1, dtype=np.int64)
    )
    case = Examination(people, release, linkage, check.parts)
    beyond: Counter[str] = Counter()
    _examine(streamed, case, links_of(people, release, linkage), spread, beyond, run)
    find_telling_names(case)
    on_claim = case.verdict()
    findings += false_statements(manifest, on_claim, people, linked=True)
    findings += parameter_findings(beyond, header.kind)
    return with_notes(on_claim.and_also(findings), notes_on(folder, people, plane, precision))


def _streamed_check(check: Check, claim: Claim) -> StreamedCheck:
    """The questions of the claim's check; raises MisuseError for one that needs all records at once."""
    if check.streamed is None:
        raise MisuseError(f"a claim of {claim.type} cannot be checked in a stream; leave out --streamed")
    return check.streamed


def _examine(
    streamed: StreamedCheck,
    case: Examination[StoredPeople],
    links: Links,
    spread: "_Spread",
    beyond: Counter[str],
    run: Run,
) -> None:
    """Hold the claim against the raw data. case.release: all records without their boxes.

    beyond: grows by what cannot come of the parameters.
    """
    people, release = case.original, case.release
    case.find(pseudonyms_used_twice(release))
    on_other_grid = off_grid(people, release)
    case.find(links.findings)
    case.looked_at("subjects")
    covered = 0
    label = "verifying"
    run.progress(label, 0, spread.n_buckets)
    for bucket in range(spread.n_buckets):
        part, records = spread.release_of(bucket, release)
        if part.n_records:
            beyond.update(beyond_parameters(part))
            classified = records_of(part)
            case.find(streamed.of_records(release.claim, classified, part))
            if not on_other_grid:
                subject = links.subject_of[records]
                known = np.unique(subject[subject >= 0])
                own = Links(
                    subject_of=np.where(subject >= 0, np.searchsorted(known, subject), -1),
                    n_subjects_with_record=len(known),
                    findings=(),
                )
                faults, here = streamed.of_members(release.claim, people.load(known), classified, part, own)
                case.find(faults)
                covered += here
        run.progress(label, bucket + 1, spread.n_buckets)
    case.looked_at("classes")
    if on_other_grid:
        case.find(on_other_grid)
        case.notes.append(NOT_COMPARED)
        return
    case.compare_accounts()
    case.find(lost_samples(people, covered, links, release))
    case.find(streamed.of_losses(release.claim, people, covered, links))
    case.looked_at("own-samples", "lost-samples")
    case.count_subjects(links)


@dataclass(eq=False, kw_only=True)
class _Written:
    """The records of one bucket, in the order of the file: their numbers and how many boxes each has."""

    records: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


class _Spread:
    """All records of a file of boxes, spread over files by what they hold.

    names: in the order of the file; faults: what its rows show.
    """

    def __init__(self, folder: Path, n_buckets: int) -> None:
        self.n_buckets = n_buckets
        self.names: list[str] = []
        self.faults: list[Finding] = []
        self.n_rows = 0
        self._folder = folder
        self._written = [_Written() for _ in range(n_buckets)]
        self._seen: set[str] = set()
        self._equal = EqualRecords()
        self._open = ExitStack()
        self._files: list[BinaryIO] = []

    def __enter__(self) -> "_Spread":
        self._files = [
            self._open.enter_context((self._folder / str(bucket)).open("wb"))
            for bucket in range(self.n_buckets)
        ]
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def batches(self, file: pq.ParquetFile, grid: Grid, run: Run) -> Iterator[tuple[pa.Table, WrittenBoxes]]:
        """Hand on the file batch by batch, and spread its records, each when its last batch is there."""
        label, total = "reading the release", file.metadata.num_rows
        waiting_name, waiting, stored = "", np.empty((0, len(BOX_COLUMNS)), dtype=np.int64), b""
        for batch in _whole(file.iter_batches(_ROWS_AT_ONCE)):
            table = pa.Table.from_batches([batch]).replace_schema_metadata(file.schema_arrow.metadata)
            written = boxes_as_written(table, grid)
            yield table, written
            coded = pseudonyms(table)
            names = np.array(coded.dictionary.to_pylist(), dtype=np.object_)[coded.indices.to_numpy()]
            columns, bytes_of = np.stack(written.boxes.columns(), axis=1), stored_bytes(table)
            starts = np.flatnonzero(np.r_[True, names[1:] != names[:-1]])
            for name, start, end in zip(
                names[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(names)], strict=True
            ):
                if name == waiting_name:
                    waiting = np.concatenate([waiting, columns[start:end]])
                    stored += bytes_of[start:end].tobytes()
                    continue
                self._spread(waiting_name, waiting, stored)
                waiting_name, waiting, stored = name, columns[start:end], bytes_of[start:end].tobytes()
            self.n_rows += len(names)
            run.progress(label, self.n_rows, total)
        self._spread(waiting_name, waiting, stored)
        self.faults += self._equal.findings()

    def release_of(self, bucket: int, header: Release) -> tuple[Release, Integers]:
        """The records of one bucket with all that the header says, and their positions in the file."""
        written = self._written[bucket]
        rows = np.fromfile(self._folder / str(bucket), dtype=np.int64).reshape(-1, len(BOX_COLUMNS))
        records = np.array(written.records, dtype=np.int64)
        part = replace(
            header,
            trajectory_ids=tuple(self.names[record] for record in written.records),
            offsets=np.concatenate([[0], np.cumsum(written.lengths, dtype=np.int64)]).astype(np.int64),
            payload=Boxes(**dict(zip(BOX_COLUMNS, np.ascontiguousarray(rows.T), strict=True))),
        )
        return part, records

    def _spread(self, name: str, rows: Integers, stored: bytes) -> None:
        if not len(rows):
            return
        if name in self._seen:
            self._fault("the rows of one record do not stand together")
        self._seen.add(name)
        if not is_canonical(rows, np.array([0, len(rows)])):
            self._fault(f"the rows of a record do not ascend by {', '.join(BOX_COLUMNS)}")
            rows = rows[np.lexsort(rows.T[::-1])]
        content = np.ascontiguousarray(rows).tobytes()
        self._equal.look_at(content, stored)
        bucket = hash(content) % self.n_buckets
        self._files[bucket].write(content)
        self._written[bucket].records.append(len(self.names))
        self._written[bucket].lengths.append(len(rows))
        self.names.append(name)

    def _fault(self, message: str) -> None:
        """Once each."""
        found = Finding("row-order", message)
        if found not in self.faults:
            self.faults.append(found)


def _opened(path: Path) -> tuple[list[Finding], pq.ParquetFile]:
    """What the file's bytes hold beside its rows, and the file."""
    require_plain_file(path)
    try:
        with path.open("rb") as raw, mmap(raw.fileno(), 0, access=ACCESS_READ) as content:
            hidden = layout_findings(content)
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error
    if "trajectory_id" not in file.schema_arrow.names:
        raise InputError(f"{path} lacks the column trajectory_id")
    return hidden, file


def _whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Raises InputError where the file is damaged."""
    try:
        yield from batches
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{RELEASE_FILE} is damaged; fetch or write it again") from error
