"""The check of a release folder: its claim, its agreement with its own manifest, leaks around the claim."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.model.release import BOX_COLUMNS, POINT_COLUMNS, Linkage, Payload, Release
from shoal.model.trajectories import Population, Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.folder import release_with
from shoal.release_folder.manifest import RELEASE_FILE, REPORT_FILE, Manifest, read_manifest
from shoal.runtime.arrays import Numbers
from shoal.runtime.run import Run
from shoal.verification.checks import verdict_on
from shoal.verification.files.decoded import DecodedBoxes, DecodedPoints, Decoding, DecodingPoints
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PointPrecision, PrecisionCheck
from shoal.verification.files.stated import PAGE_NOT_HELD, against_manifest, false_statements
from shoal.verification.files.stored import records_stored_differently, strange_pseudonyms, wrong_types
from shoal.verification.files.visible import beyond_parameters, parameter_findings
from shoal.verification.files.written import WrittenTable, read_written, row_order
from shoal.verification.leaks.known import RawIdentifiers
from shoal.verification.leaks.lint import columns_of, leak_findings
from shoal.verification.leaks.look_alikes import look_alikes
from shoal.verification.linking import far_too_many_records


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class About:
    """What the file of a table says beside its rows; table: its columns that do not belong there."""

    n_records: int
    schema: pa.Schema
    table: pa.Table
    footer: pq.FileMetaData


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Rows:
    """What the rows of a table say by themselves.

    release: with the header of the manifest. sha256: of the file's bytes. findings: on rows and bytes.
    packing: notes on how rows are packed.
    """

    release: Release
    sha256: str
    findings: list[Finding]
    packing: Sequence[str]
    plane: PlaneCheck
    precision: PrecisionCheck | PointPrecision


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Looked:
    """What a folder shows without raw data; what is not there yet is waited for.

    about, rows: of its table; both raise InputError when it cannot be read.
    """

    folder: Path
    manifest: Manifest
    about: Callable[[], About]
    rows: Callable[[], Rows]


@contextmanager
def looking(folder: Path, run: Run, expected: Release | None = None) -> Iterator[Looked]:
    """Read a release folder beside what the block does, such as reading the raw data.

    expected: a release that it may hold. Raises InputError when the manifest cannot be read.
    """
    manifest = read_manifest(folder)
    decoding: Decoding | DecodingPoints
    if manifest.grid is None:
        known = None if expected is None or expected.kind != "points" else expected.points
        decoding = DecodingPoints(manifest.crs, known)
    else:
        here = None if expected is None or expected.kind != "boxes" else expected.boxes
        decoding = Decoding(manifest.grid, manifest.crs, here)
    passed = columns_of(manifest, in_degrees=False)
    read = partial(read_written, folder / RELEASE_FILE, run, look=decoding.look, passed=passed)
    with (
        run.alongside(read) as written,
        run.alongside(lambda: _rows_of(folder, manifest, written(), decoding)) as rows,
    ):
        yield Looked(folder=folder, manifest=manifest, about=lambda: _about(manifest, written()), rows=rows)


def looked_at(folder: Path, release: Release) -> Looked:
    """A folder that was read, on this thread; where it holds this release, its rows are not kept twice."""
    with looking(folder, Run(threads=1), release) as looked:
        about, rows = looked.about(), looked.rows()
    if _is_the_same(rows.release, release):
        rows = replace(rows, release=release)
    return replace(looked, about=lambda: about, rows=lambda: rows)


def with_its_page(looked: Looked, release: Release) -> Looked:
    """The same folder, whose page and the digest of that came later; read anew where more has changed."""
    manifest = read_manifest(looked.folder)
    if manifest.model_copy(update={"report_sha256": looked.manifest.report_sha256}) != looked.manifest:
        return looked_at(looked.folder, release)
    return replace(looked, manifest=manifest)


def verify_folder(
    original: Trajectories, folder: Path, linkage: Linkage | None = None, *, run: Run | None = None
) -> Verdict:
    """Check a written release folder against the raw data it was made from.

    The table is read and decoded once. What can be read and is wrong is a finding, not an error.

    Parameters
    ----------
    original
        The raw data, read as the manifest says.
    folder
        The release folder.
    linkage
        Who became which record. Without it, what cannot be checked stands in the verdict's notes.
    run
        How to carry out the work; local and silent by default.

    Returns
    -------
    Verdict
        On the claim, on the agreement of table and manifest, and on what leaks around the claim.

    Raises
    ------
    InputError
        When the folder cannot be read.
    MisuseError
        When the raw data is not snapped and the folder holds boxes, or the other way round.
    """
    run = run or Run()
    with looking(folder, run) as looked:
        return verify_looked(original, looked, linkage, run=run)


def verify_looked(
    original: Trajectories,
    looked: Looked,
    linkage: Linkage | None,
    *,
    run: Run,
    judged: tuple[Release, Verdict] | None = None,
    known: RawIdentifiers | None = None,
) -> Verdict:
    """As ``verify_folder``, of a folder that is being read.

    judged: a release, and what ``verify`` said of it with the same raw data and linkage. Where the folder
    holds this release to the last value, its claim is not checked again. known: the raw identifiers, where
    others search for them, too.
    """
    folder, manifest, about = looked.folder, looked.manifest, looked.about()
    if too_many := far_too_many_records(original, about.n_records):
        return Verdict.of(too_many, checked=0)
    known = known or RawIdentifiers.of(original)
    leaks = partial(
        leak_findings,
        known,
        folder,
        about.schema,
        about.table,
        about.footer,
        manifest,
        in_degrees=original.lat is not None,
    )
    with run.alongside(lambda: list(leaks())) as leaking:
        rows = looked.rows()
        release = rows.release
        if judged is not None and _is_the_same(release, judged[0]):
            on_claim = judged[1]
        else:
            on_claim = verdict_on(original, release, linkage, run=run, known=known)
        findings = [
            *against_manifest(folder, manifest, rows.sha256, release.n_records, release.n_samples),
            *rows.findings,
            *leaking(),
            *false_statements(manifest, on_claim, original, linked=linkage is not None),
            *parameter_findings(beyond_parameters(release), release.kind),
        ]
        notes = [*notes_on(folder, original, rows.plane, rows.precision), *rows.packing]
    return with_notes(on_claim.with_findings(findings), notes)


def notes_on(
    folder: Path, original: Population, plane: PlaneCheck, precision: PrecisionCheck | PointPrecision
) -> Iterator[str]:
    """What is to be said of a folder beside the verdict on its claim."""
    if (folder / REPORT_FILE).exists():
        yield PAGE_NOT_HELD
    yield from plane.notes(original)
    yield from precision.notes()
    yield from look_alikes(original)


def with_notes(verdict: Verdict, notes: Iterable[str]) -> Verdict:
    """The verdict with further notes."""
    return replace(verdict, notes=(*verdict.notes, *notes))


def _is_the_same(one: Release, other: Release) -> bool:
    """Whether two releases agree in all that they hold: nothing tells a check which of them it looks at."""
    if one is other:
        return True
    if one.kind != other.kind:
        return False
    header = [field.name for field in fields(Release) if field.name not in ("offsets", "payload")]
    columns = [field.name for field in fields(one.payload)]
    return (
        all(getattr(one, name) == getattr(other, name) for name in header)
        and np.array_equal(one.offsets, other.offsets)
        and all(_alike(getattr(one.payload, name), getattr(other.payload, name)) for name in columns)
    )


def _alike(one: Numbers | None, other: Numbers | None) -> bool:
    """Whether two columns hold the same bits, or neither is there."""
    if one is None or other is None:
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other)


def _about(manifest: Manifest, written: WrittenTable) -> About:
    own = columns_of(manifest, in_degrees=False)
    others = [name for name in written.table.column_names if name not in own]
    return About(
        n_records=len(written.trajectory_ids),
        schema=written.schema,
        table=written.table.select(others),
        footer=written.footer,
    )


def _rows_of(
    folder: Path, manifest: Manifest, written: WrittenTable, decoding: Decoding | DecodingPoints
) -> Rows:
    """What the rows say that were read and decoded."""
    precision: PrecisionCheck | PointPrecision
    if isinstance(decoding, DecodingPoints):
        plane, points = PlaneCheck(manifest.crs), decoding.finish()
        precision = points.precision
        payload, about_rows = _points(written, points, plane)
    else:
        boxes = decoding.finish()
        plane, precision = boxes.plane, boxes.precision
        payload, about_rows = _boxes(written, boxes)
    return Rows(
        release=release_with(
            folder, manifest, trajectory_ids=written.trajectory_ids, offsets=written.offsets, payload=payload
        ),
        sha256=written.sha256,
        findings=[
            *written.hidden,
            *strange_pseudonyms(written.trajectory_ids),
            *about_rows,
            *plane.findings(),
        ],
        packing=written.packing,
        plane=plane,
        precision=precision,
    )


def _boxes(written: WrittenTable, decoded: DecodedBoxes) -> tuple[Payload, list[Finding]]:
    """The boxes of a table by record and in canonical order, and findings about its rows."""
    columns, precision = decoded.boxes.columns(), decoded.precision
    out_of_order = list(row_order(written, columns, BOX_COLUMNS))
    order = np.lexsort((*reversed(columns), written.record)) if out_of_order else None
    findings = [
        *wrong_types(written.schema),
        *(
            ()
            if precision.says_no_more_than_boxes
            else records_stored_differently(
                written.all_columns(), np.stack(columns, axis=1), written.offsets, order
            )
        ),
        *out_of_order,
        *precision.findings(),
    ]
    return decoded.boxes if order is None else decoded.boxes.take(order), findings


def _points(
    written: WrittenTable, decoded: DecodedPoints, plane: PlaneCheck
) -> tuple[Payload, list[Finding]]:
    """The points of a table by record and in the order (t, x, y), and findings about its rows."""
    points = decoded.points
    plane.look_at_points(points)
    out_of_order = list(row_order(written, (points.t, points.x, points.y), POINT_COLUMNS))
    findings = [
        *wrong_types(written.schema),
        *out_of_order,
        *decoded.precision.findings(),
    ]
    if out_of_order:
        points = points.take(np.lexsort((points.y, points.x, points.t, written.record)))
    return points, findings
