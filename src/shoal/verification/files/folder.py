"""The check of a release folder.

Its claim, its agreement with its own manifest, and what leaks around the claim.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.model.release import BOX_COLUMNS, POINT_COLUMNS, AnyRelease, Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.folder import (
    RELEASE_FILE,
    Manifest,
    read_manifest,
    read_parquet,
    read_points,
    read_release,
    sha256_of,
)
from shoal.release_folder.point_table import points_as_written
from shoal.runtime.arrays import Numbers
from shoal.verification.boxes.loops import is_canonical
from shoal.verification.checks import verify
from shoal.verification.files.precision import boxes_as_written, point_findings, precision_findings
from shoal.verification.leaks.lint import leak_findings


def verify_folder(original: Trajectories, folder: Path, linkage: Linkage | None = None) -> Verdict:
    """The verdict on a release folder against the raw data it was made from, read as the manifest says.

    Raises InputError when the folder cannot be read; what can be read and is wrong is a finding.
    """
    manifest = read_manifest(folder)
    table = read_parquet(folder / RELEASE_FILE)
    release: AnyRelease
    if manifest.grid is None:
        points = points_as_written(table, RELEASE_FILE)
        release = read_points(folder)
        about_rows = [
            *_row_order(table, np.column_stack([points.t, points.x, points.y]), POINT_COLUMNS),
            *point_findings(table, points, manifest.crs),
        ]
    else:
        boxes = boxes_as_written(table, manifest.grid)  # refuses what is no number before it is rounded
        release = read_release(folder)
        about_rows = [
            *_row_order(table, np.stack(boxes.columns(), axis=1), BOX_COLUMNS),
            *precision_findings([(table, boxes)], manifest.grid, manifest.crs),
        ]
    findings = [
        *against_manifest(folder, manifest, release.n_records, release.n_samples),
        *about_rows,
        *leak_findings(original, folder, table, manifest, in_degrees=original.lat is not None),
    ]
    return verify(original, release, linkage).and_also(findings)


def against_manifest(folder: Path, manifest: Manifest, n_records: int, n_samples: int) -> Iterator[Finding]:
    """Where the table of a release, of so many records and samples, differs from what the manifest says of it."""
    seen = sha256_of(folder / RELEASE_FILE)
    if seen != manifest.release_sha256:
        yield Finding(
            "wrong-hash",
            f"{RELEASE_FILE} has another SHA-256 than the manifest gives; expected {seen[:16]}...",
        )
    for what, told, found in (
        ("records", manifest.n_records, n_records),
        ("samples", manifest.n_samples, n_samples),
    ):
        if told != found:
            yield Finding("wrong-count", f"{RELEASE_FILE} holds {found} {what}; the manifest says {told}")


def _row_order(table: pa.Table, columns: Numbers, names: Sequence[str]) -> Iterator[Finding]:
    """Rows that stand neither with their record nor in canonical order.

    Such an order could tell the members of a class apart.
    """
    code = table["trajectory_id"].cast(pa.string()).dictionary_encode().unify_dictionaries()
    code = np.concatenate(
        [chunk.indices.to_numpy() for chunk in code.chunks] or [np.empty(0, dtype=np.int64)]
    )
    ends = np.flatnonzero(np.diff(code)) + 1
    offsets = np.concatenate([[0], ends, [len(code)]]).astype(np.int64)
    if (np.diff(code) < 0).any():
        yield Finding("row-order", "the rows of one record do not stand together")
    elif not is_canonical(columns, offsets):
        yield Finding("row-order", f"the rows of a record do not ascend by {', '.join(names)}")
