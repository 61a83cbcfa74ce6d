"""The release folder: ``release.parquet``, ``manifest.json`` and ``report.html``, complete or absent.

Names, columns and JSON are those that others script against. The linkage table is a file of its own, readable
by its owner alone, and never inside the folder.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, ValidationError, model_validator

from shoal.errors import InputError, MisuseError, OutputError
from shoal.model.claims import PayloadKind, claim_from_json, claim_to_json
from shoal.model.intake import Reading, require_types
from shoal.model.release import Boxes, Linkage, Losses, Payload, Release
from shoal.model.trace import TRACE_FILE, Trace
from shoal.model.trajectories import Grid
from shoal.model.verdicts import Verdict
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.release_folder.tables import records_in
from shoal.runtime.arrays import Integers
from shoal.runtime.staging import staged_file
from shoal.version import __version__

RELEASE_FILE: Final = "release.parquet"
MANIFEST_FILE: Final = "manifest.json"
REPORT_FILE: Final = "report.html"
FORMAT_VERSION: Final = 1


class LossesJson(BaseModel):
    """``losses`` in the manifest."""

    rows: dict[str, int]
    samples_suppressed: int
    subjects_suppressed: int
    samples_created: int = 0
    subjects_by_reason: dict[str, int] = {}


class Manifest(BaseModel):
    """The manifest's top level. cell_m, slot_s: the grid of boxes; null for a release of points."""

    format_version: Literal[1]
    shoal_version: str
    method: str
    parameters: dict[str, Any]
    claim: dict[str, Any]
    crs: str | None
    cell_m: float | None = Field(gt=0)
    slot_s: float | None = Field(gt=0)
    unit_of_protection: str
    verdict: dict[str, Any]
    losses: LossesJson
    rows_repaired: dict[str, int] = Field(default_factory=dict)
    reading: dict[str, Any] = Field(default_factory=dict)
    n_records: int
    n_samples: int
    publishable: bool
    record: dict[str, Any] = Field(default_factory=dict)
    release_sha256: str

    @model_validator(mode="after")
    def _have_one_grid(self) -> "Manifest":
        if (self.cell_m is None) != (self.slot_s is None):
            raise ValueError("cell_m and slot_s are both numbers (boxes) or both null (points)")
        return self

    @property
    def kind(self) -> PayloadKind:
        """What the table holds: boxes have a grid, points have none."""
        return "points" if self.cell_m is None else "boxes"

    @property
    def grid(self) -> Grid | None:
        """The grid of the boxes; None for points."""
        return (
            None
            if self.cell_m is None or self.slot_s is None
            else Grid(cell_m=self.cell_m, slot_s=self.slot_s)
        )


def manifest_of(
    release: Release, verdict: Verdict, parquet: Path, statement: Statement = NOTHING_STATED
) -> Manifest:
    """What the manifest says of a release, its verdict and its written table."""
    grid = release.grid
    return Manifest(
        format_version=FORMAT_VERSION,
        shoal_version=__version__,
        method=release.method,
        parameters=dict(release.parameters),
        claim=claim_to_json(release.claim),
        crs=release.crs,
        cell_m=None if grid is None else grid.cell_m,
        slot_s=None if grid is None else grid.slot_s,
        unit_of_protection=release.unit_of_protection,
        verdict=verdict.to_json(),
        losses=LossesJson(**asdict(release.losses)),
        rows_repaired=dict(release.rows_repaired),
        reading=asdict(release.reading),
        n_records=release.n_records,
        n_samples=release.n_samples,
        publishable=release.publishable,
        record=statement.to_json(),
        release_sha256=sha256_of(parquet),
    )


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write the manifest as indented JSON."""
    path.write_text(json.dumps(manifest.model_dump(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder; raises InputError when there is none or it cannot be read."""
    path = folder / MANIFEST_FILE
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{folder} is not a release folder: it has no {MANIFEST_FILE}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        raise InputError(f"{path} cannot be read: {where}: {first['msg']}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error


def reading_of_raw(folder: Path, **overrides: Any) -> Reading:
    """How the raw input of a release folder was read, for reading it again, but for the overrides.

    Raises InputError when the manifest cannot be read.
    """
    manifest = read_manifest(folder)
    grid = manifest.grid
    on_grid = (
        {"snap": False} if grid is None else {"snap": True, "cell_m": grid.cell_m, "slot_s": grid.slot_s}
    )
    return replace(_reading(folder, manifest), working_crs=manifest.crs, **on_grid, **overrides)


def read_release(folder: Path, *, kind: PayloadKind | None = None) -> Release:
    """Read the release in a folder, of boxes or of points.

    Parameters
    ----------
    folder
        A release folder, with its manifest and its table.
    kind
        "boxes" or "points" where the caller can use nothing else. None = either; ``Release.kind`` says which.

    Returns
    -------
    Release
        Records in the order in which they first appear, boxes in canonical order, points by (t, x, y).
        Coordinates of boxes are rounded to the manifest's cell and slot; ``verify_folder`` says where they
        are not on them.

    Raises
    ------
    InputError
        When a file is missing, truncated or lacks a column, or when the release is not of this kind.
    """
    manifest = read_manifest(folder)
    if kind is not None:
        _require_kind(folder, manifest, kind)
    return release_in(read_parquet(folder / RELEASE_FILE), folder, manifest)


def release_in(table: pa.Table, folder: Path, manifest: Manifest) -> Release:
    """The release in a folder whose table has been read already."""
    names, offsets, payload = records_in(table, manifest.kind, manifest.grid, str(folder / RELEASE_FILE))
    return release_with(folder, manifest, trajectory_ids=names, offsets=offsets, payload=payload)


def without_boxes(folder: Path, manifest: Manifest) -> Release:
    """What the manifest of a release of boxes says, without a record; raises InputError for one of points."""
    _require_kind(folder, manifest, "boxes")
    return release_with(
        folder,
        manifest,
        trajectory_ids=(),
        offsets=np.zeros(1, dtype=np.int64),
        payload=Boxes.concatenate([]),
    )


def release_with(
    folder: Path, manifest: Manifest, *, trajectory_ids: Sequence[str], offsets: Integers, payload: Payload
) -> Release:
    """The release of a manifest with these records; raises InputError when the manifest is wrong."""
    return Release(
        trajectory_ids=tuple(trajectory_ids),
        offsets=offsets,
        payload=payload,
        grid=manifest.grid,
        **_header(folder, manifest),
    )


def _require_kind(folder: Path, manifest: Manifest, kind: PayloadKind) -> None:
    if manifest.kind != kind:
        raise InputError(f"{folder} holds a release of {manifest.kind}, not of {kind}")


def _header(folder: Path, manifest: Manifest) -> dict[str, Any]:
    """What the manifest says of a release of any kind."""
    return {
        "claim": claim_from_json(manifest.claim),
        "method": manifest.method,
        "parameters": manifest.parameters,
        "losses": Losses(**manifest.losses.model_dump()),
        "crs": manifest.crs,
        "unit_of_protection": manifest.unit_of_protection,
        "publishable": manifest.publishable,
        "reading": _reading(folder, manifest),
        "rows_repaired": manifest.rows_repaired,
    }


def _reading(folder: Path, manifest: Manifest) -> Reading:
    try:
        require_types(Reading, manifest.reading)
        return Reading(**manifest.reading)
    except MisuseError as error:
        raise InputError(f"{folder / MANIFEST_FILE} cannot be read: reading: {error}") from error


def read_parquet(path: Path) -> pa.Table:
    """A whole Parquet file; raises InputError when it is missing, truncated or no Parquet."""
    try:
        return pq.read_table(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged_linkage(linkage: Linkage, path: Path, release_folder: Path) -> Iterator[None]:
    """Write the linkage table at once (mode 0600); it gets its final name when the block succeeds.

    Raises OutputError when the file exists or would lie inside the release folder.
    """
    check_linkage_path(path, release_folder)
    table = pa.table({"uid": list(linkage.uids), "trajectory_id": list(linkage.trajectory_ids)})
    with staged_file(path, partial(pq.write_table, table)):
        yield


def staged_trace(trace: Trace, release: Release, path: Path) -> AbstractContextManager[None]:
    """Write the origins of swapped points at once (mode 0600); their name comes when the block succeeds."""
    return staged_file(path, partial(pq.write_table, trace.table(release.trajectory_ids, release.offsets)))


def check_linkage_path(path: Path, release_folder: Path) -> None:
    """Raise OutputError when a linkage table must not or cannot be written there."""
    if path.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(
            f"the linkage table {path} would lie inside the release folder; keep it apart from what is "
            "published"
        )
    if path.exists():
        raise OutputError(f"{path} exists; choose another --linkage or remove it first")


def read_linkage(path: Path) -> Linkage:
    """Read a linkage table, with the trace of the same release where one lies beside it.

    Parameters
    ----------
    path
        The Parquet file that ``publish`` wrote as ``linkage_file``.

    Returns
    -------
    Linkage
        Who became which record; as secret as the raw data.

    Raises
    ------
    InputError
        When it cannot be read or lacks a column.
    """
    table = read_parquet(path)
    missing = [name for name in ("uid", "trajectory_id") if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path} is not a linkage table: it lacks the column{'s' * (len(missing) > 1)} "
            f"{', '.join(missing)}"
        )
    if any(table[name].null_count for name in ("uid", "trajectory_id")):
        raise InputError(f"{path} has empty values in its columns")
    try:
        uids, trajectory_ids = (
            tuple(table[name].cast(pa.string()).to_pylist()) for name in ("uid", "trajectory_id")
        )
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a linkage table: its columns hold no text") from error
    beside, trace = path.with_name(TRACE_FILE), None
    if beside.exists() and beside != path:
        origins = read_parquet(beside)
        if "trajectory_id" in origins.column_names and set(
            pc.unique(origins["trajectory_id"]).to_pylist()
        ) == set(trajectory_ids):
            trace = Trace.of_table(origins, str(beside))
    return Linkage(uids, trajectory_ids, trace)
