"""Check a release folder: its claim, its manifest, and leaks."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.model.population import Population
from shoal.model.release import BOX_COLUMNS, POINT_COLUMNS, Linkage, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.folder import build_release
from shoal.release_folder.manifest import RELEASE_FILE, REPORT_FILE, Manifest, read_manifest
from shoal.runtime.run import Run
from shoal.units import states_counts
from shoal.verification.checks import verdict_on
from shoal.verification.files.decoded import Decoder, columns_by_name, have_equal_bits
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PointPrecision, PrecisionCheck
from shoal.verification.files.stated import PAGE_NOT_CHECKED, false_statements, manifest_mismatches
from shoal.verification.files.stored import records_stored_differently, unexpected_pseudonyms, wrong_types
from shoal.verification.files.visible import count_beyond_parameters, parameter_findings
from shoal.verification.files.written import WrittenTable, read_written, row_order_faults
from shoal.verification.leaks.lint import expected_columns, leak_findings
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.verification.linking import too_many_records


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableReading:
    """What the bytes and rows of a table show, read at once or in parts.

    release: with its samples, or in parts with the names of its records alone.
    """

    release: Release
    sha256: str
    n_samples: int
    schema: pa.Schema
    hidden: Sequence[Finding]  # of bytes
    of_rows: Sequence[Finding]  # of their order, and of records that are stored differently
    plane: PlaneCheck
    precision: PrecisionCheck | PointPrecision
    packing: Sequence[str] = ()

    @cached_property
    def findings(self) -> list[Finding]:
        """Findings on rows and bytes."""
        return [
            *self.hidden,
            *unexpected_pseudonyms(self.release.trajectory_ids),
            *wrong_types(self.schema),
            *self.of_rows,
            *self.precision.findings(),
            *self.plane.findings(),
        ]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FolderReading:
    """A folder without raw data; ``about`` and ``rows`` wait, and raise its error."""

    folder: Path
    manifest: Manifest
    about: Callable[[], WrittenTable]
    rows: Callable[[], TableReading]


@contextmanager
def read_in_background(folder: Path, run: Run, expected: Release | None = None) -> Iterator[FolderReading]:
    """Read a folder while the block runs; it may hold the release ``expected``."""
    manifest = read_manifest(folder)
    payload = expected.payload if expected is not None and expected.kind == manifest.kind else None
    decoding = Decoder(manifest.grid, manifest.crs, payload)
    passed = expected_columns(manifest, in_degrees=False)
    read = partial(read_written, folder / RELEASE_FILE, run, look=decoding.add_piece, passed=passed)
    with (
        run.alongside(read) as written,
        run.alongside(lambda: _decode_rows(folder, manifest, written(), decoding)) as rows,
    ):
        yield FolderReading(folder=folder, manifest=manifest, about=written, rows=rows)


def read_folder(folder: Path, release: Release) -> FolderReading:
    """Read a folder on this thread; rows of this release are not stored twice."""
    with read_in_background(folder, Run(threads=1), release) as reading:
        about, rows = reading.about().without_rows(), reading.rows()
    if _are_equal_releases(rows.release, release):
        rows = replace(rows, release=release)
    return replace(reading, about=lambda: about, rows=lambda: rows)


def with_new_page(reading: FolderReading, release: Release) -> FolderReading:
    """The reading with a new page and its usefulness; where more has changed, the folder is read again."""
    manifest = read_manifest(reading.folder)
    before = {name: getattr(reading.manifest, name) for name in ("report_sha256", "usefulness")}
    if manifest.model_copy(update=before) != reading.manifest:
        return read_folder(reading.folder, release)
    return replace(reading, manifest=manifest)


def verify_files(
    original: Trajectories, folder: Path, linkage: Linkage | None = None, *, run: Run | None = None
) -> Verdict:
    """Check a release folder; readable but wrong content is a finding, not an error."""
    run = run or Run()
    with read_in_background(folder, run) as reading:
        return verify_reading(original, reading, linkage, run=run)


def verify_reading(
    original: Trajectories,
    reading: FolderReading,
    linkage: Linkage | None,
    *,
    run: Run,
    judged: tuple[Release, Verdict] | None = None,
    raw_identifiers: RawIdentifiers | None = None,
) -> Verdict:
    """As ``verify_files``; an unchanged release that was ``judged`` is not checked again."""
    folder, manifest, about = reading.folder, reading.manifest, reading.about()
    if too_many := too_many_records(original, len(about.trajectory_ids)):
        return Verdict.of(too_many, checked=0)
    raw_identifiers = raw_identifiers or RawIdentifiers.of(original)
    leaks = partial(
        leak_findings,
        raw_identifiers,
        folder,
        about.schema,
        about.table,
        about.footer,
        manifest,
        in_degrees=original.lat is not None,
    )
    with run.alongside(lambda: list(leaks())) as leaking:
        rows = reading.rows()
        release = rows.release
        if judged is not None and _are_equal_releases(release, judged[0]):
            on_claim = judged[1]
        else:
            on_claim = verdict_on(original, release, linkage, run=run, raw_identifiers=raw_identifiers)
        return verdict_on_folder(
            on_claim,
            original,
            folder,
            manifest,
            rows,
            leaks=leaking(),
            beyond=count_beyond_parameters(release),
            linked=linkage is not None,
        )


def verdict_on_folder(
    on_claim: Verdict,
    original: Population,
    folder: Path,
    manifest: Manifest,
    table: TableReading,
    *,
    leaks: Iterable[Finding],
    beyond: Counter[str],
    linked: bool,
) -> Verdict:
    """The verdict on the claim, and on the files; beyond: rows that contradict each parameter."""
    findings = [
        *manifest_mismatches(folder, manifest, table.sha256, table.release.n_records, table.n_samples),
        *table.findings,
        *leaks,
        *false_statements(manifest, on_claim, original, linked=linked),
        *parameter_findings(beyond, manifest.kind),
    ]
    page = [PAGE_NOT_CHECKED] if (folder / REPORT_FILE).exists() else []
    notes = [*page, *table.plane.notes(original), *table.precision.notes(), *table.packing]
    return with_notes(on_claim.with_findings(findings), notes)


def with_notes(verdict: Verdict, notes: Iterable[str]) -> Verdict:
    """The verdict and further notes."""
    return replace(verdict, notes=(*verdict.notes, *notes))


def _are_equal_releases(one: Release, other: Release) -> bool:
    """Whether the first, as read, is the other, whose counts a manifest may give rounded."""
    if one is other:
        return True
    apart = ("offsets", "payload", "losses", "rows_repaired")
    header = [field.name for field in fields(Release) if field.name not in apart]
    columns, others = columns_by_name(one.payload), columns_by_name(other.payload)
    return (
        one.losses in (other.losses, other.losses.rounded())
        and states_counts(one.rows_repaired, other.rows_repaired)
        and all(getattr(one, name) == getattr(other, name) for name in header)
        and np.array_equal(one.offsets, other.offsets)
        and columns.keys() == others.keys()
        and all(have_equal_bits(columns[name], others[name]) for name in columns)
    )


def _decode_rows(folder: Path, manifest: Manifest, written: WrittenTable, decoding: Decoder) -> TableReading:
    payload, precision = decoding.finish(), decoding.precision
    names = POINT_COLUMNS if isinstance(payload, Points) else BOX_COLUMNS
    columns = [getattr(payload, name) for name in names]
    out_of_order = list(row_order_faults(written, columns, names))
    order = np.lexsort((*reversed(columns), written.record)) if out_of_order else None
    stored: Iterable[Finding] = ()
    if isinstance(precision, PrecisionCheck) and not precision.says_no_more_than_boxes:
        cells = np.stack(columns, axis=1)
        stored = records_stored_differently(written.all_columns(), cells, written.offsets, order)
    return TableReading(
        release=build_release(
            folder,
            manifest,
            trajectory_ids=written.trajectory_ids,
            offsets=written.offsets,
            payload=payload if order is None else payload.take(order),
        ),
        sha256=written.sha256,
        n_samples=len(columns[0]),
        schema=written.schema,
        hidden=written.hidden,
        of_rows=[*stored, *out_of_order],
        plane=decoding.plane,
        precision=precision,
        packing=written.packing,
    )
