"""The release folder: ``release.parquet`` (GeoParquet), ``manifest.json`` and ``report.html``, complete or absent.

Names, columns and JSON are those that others script against. The linkage table is a file of its own, readable by its owner
alone, and never inside the folder.
"""

import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, ValidationError, model_validator

from shoal.claims import claim_from_json, claim_to_json
from shoal.errors import InputError, MisuseError, OutputError
from shoal.intake import Reading, insist_on_types
from shoal.point_table import points_as_written, write_points
from shoal.projection import WGS84, Floats, transform
from shoal.release import BOX_COLUMNS, AnyRelease, Boxes, Linkage, Losses, PointRelease, Release
from shoal.statement import NOTHING_STATED, Statement
from shoal.trace import TRACE_FILE, Trace
from shoal.trajectories import Grid, Integers
from shoal.verdicts import Verdict
from shoal.version import __version__

RELEASE_FILE: Final = "release.parquet"
MANIFEST_FILE: Final = "manifest.json"
REPORT_FILE: Final = "report.html"
FORMAT_VERSION: Final = 1

_ROWS_PER_GROUP: Final = 1 << 20
_POLYGON: Final = np.dtype(
    [("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("corners", "<f8", (5, 2))]
)  # well-known binary of a polygon with one ring of five corners: 93 bytes


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
    def grid(self) -> Grid | None:
        """The grid of the boxes; None for points."""
        return None if self.cell_m is None or self.slot_s is None else Grid(cell_m=self.cell_m, slot_s=self.slot_s)


def write_table(release: AnyRelease, path: Path) -> None:
    """Write the boxes or the points of a release."""
    if isinstance(release, PointRelease):
        write_points(release, path)
    else:
        write_boxes(release, path)


def write_boxes(release: Release, path: Path) -> None:
    """Write the boxes as GeoParquet: seconds since 1970 UTC, metres of the plane, outlines in WGS 84 where there is a plane."""
    write_boxes_in_parts([release], path)


def write_boxes_in_parts(parts: Iterable[Release], path: Path) -> None:
    """The same for a release that comes as several (at least one), each some of its records; they stand in the file in this order."""
    corners: list[list[float]] = []
    with ExitStack() as open_files:
        writer: pq.ParquetWriter | None = None
        for release in parts:
            table, bounds = _table_of(release)
            if writer is None:
                writer = open_files.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd", store_schema=False))
            writer.write_table(table, row_group_size=_ROWS_PER_GROUP)
            corners += bounds
        if corners and writer is not None:
            low, high = np.min(corners, axis=0)[:2], np.max(corners, axis=0)[2:]
            outline = {"encoding": "WKB", "geometry_types": ["Polygon"], "bbox": [*low.tolist(), *high.tolist()]}
            geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": outline}}
            writer.add_key_value_metadata({"geo": json.dumps(geo)})


def _table_of(release: Release) -> tuple[pa.Table, list[list[float]]]:
    """The boxes in the columns of the file, and the bounds of their outlines where there is a plane."""
    columns: dict[str, pa.Array] = {
        "trajectory_id": pa.array(np.repeat(np.array(release.trajectory_ids), np.diff(release.offsets)), pa.string())
    }
    for name, values in zip(BOX_COLUMNS, release.boxes.columns(), strict=True):
        step = release.grid.slot_s if name.startswith("t_") else release.grid.cell_m
        in_units = values * step
        whole = name.startswith("t_") and float(step).is_integer()
        columns[name] = pa.array(in_units.astype(np.int64) if whole else in_units.astype(np.float64))
    if release.crs is None:
        return pa.table(columns), []
    columns["geometry"], bounds = _outlines(release.boxes, release.grid.cell_m, release.crs)
    return pa.table(columns), [bounds]


def manifest_of(release: AnyRelease, verdict: Verdict, parquet: Path, statement: Statement = NOTHING_STATED) -> Manifest:
    """What the manifest says of a release, its verdict and its written table."""
    grid = None if isinstance(release, PointRelease) else release.grid
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
    """How the raw input of a release folder was read, for reading it again; overrides take the place of the manifest's settings.

    Raises InputError when the manifest cannot be read.
    """
    manifest = read_manifest(folder)
    grid = manifest.grid
    on_grid = {"snap": False} if grid is None else {"snap": True, "cell_m": grid.cell_m, "slot_s": grid.slot_s}
    return replace(_reading(folder, manifest), working_crs=manifest.crs, **on_grid, **overrides)


def read_any_release(folder: Path) -> AnyRelease:
    """The release in a folder, of boxes or of points; raises InputError when it cannot be read."""
    return read_points(folder) if read_manifest(folder).grid is None else read_release(folder)


def read_points(folder: Path) -> PointRelease:
    """The release of points in a folder: records in the order in which they first appear, points in the order (t, x, y).

    Raises InputError when a file is missing, truncated or lacks a column, or when the release holds boxes.
    """
    manifest = read_manifest(folder)
    if manifest.grid is not None:
        raise InputError(f"{folder} holds a release of boxes, not of points")
    table = read_parquet(folder / RELEASE_FILE)
    points = points_as_written(table, str(folder / RELEASE_FILE))
    names, code = _names(table)
    order = np.lexsort((points.y, points.x, points.t, code))
    return PointRelease(offsets=_offsets(code, len(names)), points=points.take(order), **_header(folder, manifest, names))


def read_release(folder: Path) -> Release:
    """The release of boxes in a folder: records in the order in which they first appear, boxes in canonical order.

    Coordinates are rounded to the manifest's cell and slot; the check of a folder says where they are not on them.
    Raises InputError when a file is missing, truncated or lacks a column, or when the release holds points.
    """
    manifest = read_manifest(folder)
    grid = manifest.grid
    if grid is None:
        raise InputError(f"{folder} holds a release of points, not of boxes")
    table = read_parquet(folder / RELEASE_FILE)
    missing = [name for name in ("trajectory_id", *BOX_COLUMNS) if name not in table.column_names]
    if missing:
        raise InputError(f"{folder / RELEASE_FILE} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
    if any(table[name].null_count for name in ("trajectory_id", *BOX_COLUMNS)):
        raise InputError(f"{folder / RELEASE_FILE} has empty values in its columns")
    names, code = _names(table)
    with np.errstate(over="ignore"):
        exact = {
            name: np.rint(_seconds_or_metres(table[name]) / (grid.slot_s if name.startswith("t_") else grid.cell_m)) for name in BOX_COLUMNS
        }
    for name, values in exact.items():
        if not (np.abs(values) < 2.0**53).all():
            raise InputError(f"the column {name} of {folder / RELEASE_FILE} holds infinite or impossibly large values")
    columns = {name: values.astype(np.int64) for name, values in exact.items()}
    order = np.lexsort((*(columns[name] for name in reversed(BOX_COLUMNS)), code))
    boxes = Boxes(**columns).take(order)
    return Release(offsets=_offsets(code, len(names)), boxes=boxes, grid=grid, **_header(folder, manifest, names))


def without_boxes(folder: Path, manifest: Manifest) -> Release:
    """What the manifest of a release of boxes says, without any record; raises InputError when it does not say it right."""
    if manifest.grid is None:
        raise InputError(f"{folder} holds a release of points, not of boxes")
    no_rows = np.zeros(1, dtype=np.int64)
    return Release(offsets=no_rows, boxes=Boxes.concatenate([]), grid=manifest.grid, **_header(folder, manifest, ()))


def _names(table: pa.Table) -> tuple[list[str], Integers]:
    """The pseudonyms in the order in which they first appear, and the place of each row's one among them."""
    names = table["trajectory_id"].combine_chunks().cast(pa.string()).dictionary_encode()
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    return names.dictionary.to_pylist(), names.indices.to_numpy()


def _offsets(code: Integers, n_records: int) -> Integers:
    return np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_records))]).astype(np.int64)


def _header(folder: Path, manifest: Manifest, names: Sequence[str]) -> dict[str, Any]:
    """What a release of boxes and one of points have in common, from the manifest."""
    return {
        "trajectory_ids": tuple(names),
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
        insist_on_types(Reading, manifest.reading)
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
        raise InputError(f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again") from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """A new folder to fill that becomes ``target`` only when the block ends without an error; otherwise nothing is left.

    Raises OutputError when the target exists, its parent cannot be written, or the disk is full.
    """
    with explained_write(target):  # a name may be too long to ask for
        taken = target.exists() or target.is_symlink()
    if taken:
        raise OutputError(f"{target} exists; choose another --output or remove it first")
    staging = _partial(target)  # named before it is made: an interrupt in between must find it, too
    try:
        with explained_write(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            staging.mkdir(mode=0o700)
            yield staging
            for path in staging.iterdir():
                if path.is_file():
                    _flush_to_disk(path)
            staging.chmod(0o777 & ~_umask())
            staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def explained_write(target: Path) -> Iterator[None]:
    """Turn the operating system's refusal to write into an OutputError that says what to do."""
    try:
        yield
    except OSError as error:
        remedy = {
            errno.ENOSPC: "the disk is full; free some space or write elsewhere",
            errno.EDQUOT: "the disk quota is used up; free some space or write elsewhere",
            errno.EACCES: "no permission to write there; choose another place",
            errno.EPERM: "no permission to write there; choose another place",
            errno.EROFS: "the file system is read-only; choose another place",
            errno.ENOTDIR: "a part of the path is a file, not a folder; choose another place",
        }.get(error.errno or 0, error.strerror or "the write failed")
        raise OutputError(f"cannot write {target}: {remedy}") from error


@contextmanager
def staged_linkage(linkage: Linkage, path: Path, release_folder: Path) -> Iterator[None]:
    """Write the linkage table (mode 0600) beside its final name at once, and give it that name when the block succeeds.

    Raises OutputError when the file exists or would lie inside the release folder.
    """
    check_linkage_path(path, release_folder)
    partial = _partial(path)
    try:
        with explained_write(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                pq.write_table(pa.table({"uid": list(linkage.uids), "trajectory_id": list(linkage.trajectory_ids)}), file)
        yield
        with explained_write(path):
            partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def staged_trace(trace: Trace, release: AnyRelease, path: Path) -> Iterator[None]:
    """Write the origins of swapped points (mode 0600) beside their final name at once, and give them that name when the block succeeds."""
    partial = _partial(path)
    try:
        with explained_write(path), os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            pq.write_table(trace.table(release.trajectory_ids, release.offsets), file)
        yield
        with explained_write(path):
            partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def check_linkage_path(path: Path, release_folder: Path) -> None:
    """Raise OutputError when a linkage table must not or cannot be written there."""
    if path.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(f"the linkage table {path} would lie inside the release folder; keep it apart from what is published")
    if path.exists():
        raise OutputError(f"{path} exists; choose another --linkage or remove it first")


def read_linkage(path: Path) -> Linkage:
    """The linkage table in a Parquet file, with the trace of the same release where one lies beside it.

    Raises InputError when it cannot be read or lacks a column.
    """
    table = read_parquet(path)
    missing = [name for name in ("uid", "trajectory_id") if name not in table.column_names]
    if missing:
        raise InputError(f"{path} is not a linkage table: it lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}")
    if any(table[name].null_count for name in ("uid", "trajectory_id")):
        raise InputError(f"{path} has empty values in its columns")
    try:
        uids, trajectory_ids = (tuple(table[name].cast(pa.string()).to_pylist()) for name in ("uid", "trajectory_id"))
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a linkage table: its columns hold no text") from error
    beside, trace = path.with_name(TRACE_FILE), None
    if beside.exists() and beside != path:
        origins = read_parquet(beside)
        if "trajectory_id" in origins.column_names and set(pc.unique(origins["trajectory_id"]).to_pylist()) == set(trajectory_ids):
            trace = Trace.of_table(origins, str(beside))
    return Linkage(uids, trajectory_ids, trace)


def outline_corners(boxes: Boxes, cell_m: float, crs: str) -> Floats:
    """[m, 5, 2] longitude and latitude of each box's closed ring, counter-clockwise from the lower left corner."""
    east = np.stack([boxes.x_min, boxes.x_max, boxes.x_max, boxes.x_min, boxes.x_min], axis=1) * cell_m
    north = np.stack([boxes.y_min, boxes.y_min, boxes.y_max, boxes.y_max, boxes.y_min], axis=1) * cell_m
    lon, lat = transform(crs, WGS84, east.ravel().astype(np.float64), north.ravel().astype(np.float64))
    return np.stack([lon.reshape(east.shape), lat.reshape(east.shape)], axis=2)


def _outlines(boxes: Boxes, cell_m: float, crs: str) -> tuple[pa.Array, list[float]]:
    """Well-known binary of every box's outline, and their bounds as [west, south, east, north]."""
    polygons = np.zeros(len(boxes), dtype=_POLYGON)
    polygons["order"], polygons["type"], polygons["rings"], polygons["points"] = 1, 3, 1, 5
    polygons["corners"] = outline_corners(boxes, cell_m, crs)
    if not np.isfinite(polygons["corners"]).all():
        raise InputError("boxes reach beyond the edge of the plane: the data spans too much of the earth; publish each region on its own")
    size = _POLYGON.itemsize
    ends = pa.py_buffer(np.arange(len(boxes) + 1, dtype=np.int64) * size)
    column = pa.Array.from_buffers(pa.large_binary(), len(boxes), [None, ends, pa.py_buffer(polygons.tobytes())])
    corners = polygons["corners"].reshape(-1, 2)
    return column, [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()]


def _seconds_or_metres(column: pa.ChunkedArray) -> Floats:
    """A column as floats; times written as timestamps by other tools count in seconds."""
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid as error:
        raise InputError("a coordinate or time of the release is not a number") from error


def _partial(target: Path) -> Path:
    """A fresh hidden name beside the target, for what is not complete yet."""
    return target.with_name(f".{target.name}.partial-{secrets.token_hex(6)}")


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
