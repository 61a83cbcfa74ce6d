"""The check of a release folder: its claim, its agreement with its own manifest, leaks around the claim."""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from shoal.model.release import BOX_COLUMNS, POINT_COLUMNS, Linkage, Payload, Release
from shoal.model.trajectories import Grid, Population, Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.folder import release_with
from shoal.release_folder.manifest import RELEASE_FILE, REPORT_FILE, Manifest, read_manifest
from shoal.release_folder.point_table import points_as_written
from shoal.runtime.arrays import Numbers
from shoal.runtime.run import Run
from shoal.verification.checks import verdict_on
from shoal.verification.files.plane import PlaneCheck
from shoal.verification.files.precision import PrecisionCheck, boxes_as_written, point_findings
from shoal.verification.files.stated import PAGE_NOT_HELD, against_manifest, false_statements
from shoal.verification.files.stored import records_stored_differently, strange_pseudonyms, wrong_types
from shoal.verification.files.visible import beyond_parameters, parameter_findings
from shoal.verification.files.written import WrittenTable, read_written, row_order
from shoal.verification.leaks.digests import Digests
from shoal.verification.leaks.identifiers import raw_identifiers
from shoal.verification.leaks.lint import leak_findings
from shoal.verification.leaks.look_alikes import look_alikes
from shoal.verification.linking import far_too_many_records


def verify_folder(
    original: Trajectories,
    folder: Path,
    linkage: Linkage | None = None,
    *,
    run: Run | None = None,
    judged: tuple[Release, Verdict] | None = None,
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
    judged
        A release, and what ``verify`` said of it with the same raw data and linkage. Where the folder holds
        this release to the last value, its claim is not checked again.

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
    manifest = read_manifest(folder)
    written = read_written(folder / RELEASE_FILE, run)
    if too_many := far_too_many_records(original, len(written.trajectory_ids)):
        return Verdict.of(too_many, checked=0)
    digests = Digests(raw_identifiers(original))

    def leaks() -> list[Finding]:
        table, footer, in_degrees = written.table, written.footer, original.lat is not None
        return list(
            leak_findings(original, folder, table, footer, manifest, in_degrees=in_degrees, digests=digests)
        )

    plane = PlaneCheck(manifest.crs)
    precision = None if manifest.grid is None else PrecisionCheck(manifest.grid, manifest.crs)
    with run.beside(written.packing) as packing, run.beside(leaks) as leaking:
        if manifest.grid is None or precision is None:
            payload, about_rows = _points(written, manifest, plane)
        else:
            payload, about_rows = _boxes(written, manifest.grid, plane, precision)
        release = release_with(
            folder, manifest, trajectory_ids=written.trajectory_ids, offsets=written.offsets, payload=payload
        )
        if judged is not None and _is_the_same(release, judged[0]):
            on_claim = judged[1]
        else:
            on_claim = verdict_on(original, release, linkage, run=run, digests=digests)
        findings = [
            *against_manifest(folder, manifest, written.sha256, release.n_records, release.n_samples),
            *written.hidden,
            *strange_pseudonyms(written.trajectory_ids),
            *about_rows,
            *plane.findings(),
            *leaking(),
            *false_statements(manifest, on_claim, original, linked=linkage is not None),
            *parameter_findings(beyond_parameters(release), release.kind),
        ]
        notes = [*notes_on(folder, original, plane, precision), *packing()]
    return with_notes(on_claim.and_also(findings), notes)


def notes_on(
    folder: Path, original: Population, plane: PlaneCheck, precision: PrecisionCheck | None
) -> Iterator[str]:
    """What is to be said of a folder beside the verdict on its claim; precision: of boxes."""
    if (folder / REPORT_FILE).exists():
        yield PAGE_NOT_HELD
    yield from plane.notes(original)
    yield from precision.notes() if precision is not None else ()
    yield from look_alikes(original)


def with_notes(verdict: Verdict, notes: Iterable[str]) -> Verdict:
    """The verdict with further notes."""
    return replace(verdict, notes=(*verdict.notes, *notes))


def _is_the_same(one: Release, other: Release) -> bool:
    """Whether two releases agree in all that they hold: nothing tells a check which of them it looks at."""
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


def _boxes(
    written: WrittenTable, grid: Grid, plane: PlaneCheck, precision: PrecisionCheck
) -> tuple[Payload, list[Finding]]:
    """The boxes of a table by record and in canonical order, and findings about its rows."""
    decoded = boxes_as_written(written.table, grid)
    plane.look_at_boxes(decoded.boxes, grid)
    precision.look(written.table, decoded)
    columns = decoded.boxes.columns()
    rows = np.stack(columns, axis=1)
    out_of_order = list(row_order(written, rows, BOX_COLUMNS))
    order = np.lexsort((*reversed(columns), written.record)) if out_of_order else None
    findings = [
        *wrong_types(written.table.schema),
        *(
            ()
            if precision.says_no_more_than_boxes
            else records_stored_differently(written.table, rows, written.offsets, order)
        ),
        *out_of_order,
        *precision.findings(),
    ]
    return decoded.boxes if order is None else decoded.boxes.take(order), findings


def _points(written: WrittenTable, manifest: Manifest, plane: PlaneCheck) -> tuple[Payload, list[Finding]]:
    """The points of a table by record and in the order (t, x, y), and findings about its rows."""
    points = points_as_written(written.table, RELEASE_FILE)
    plane.look_at_points(points)
    findings = [
        *wrong_types(written.table.schema),
        *row_order(written, np.column_stack([points.t, points.x, points.y]), POINT_COLUMNS),
        *point_findings(written.table, points, manifest.crs),
    ]
    return points.take(np.lexsort((points.y, points.x, points.t, written.record))), findings
