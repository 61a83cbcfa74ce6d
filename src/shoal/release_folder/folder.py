"""The release folder, complete or absent; the linkage is a separate, private file."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError, OutputError
from shoal.model.claims import PayloadKind, claim_from_json
from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms, TextNames, column
from shoal.model.release import Boxes, Linkage, Losses, Payload, Release, SeriesPlace
from shoal.model.trace import TRACE_FILE, Trace, trace_path
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import RELEASE_FILE, Manifest, manifest_reading, read_manifest
from shoal.release_folder.packing import read_table
from shoal.release_folder.tables import decode_records
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Integers
from shoal.runtime.files import local_path
from shoal.runtime.staging import find_partials, staged_file


def raw_reading(folder: Path, **overrides: Any) -> Reading:
    """How the raw input of a folder was read, with overrides; it asks nothing about people."""
    manifest = read_manifest(folder)
    grid = manifest.grid
    on_grid = (
        {"snap": False} if grid is None else {"snap": True, "cell_m": grid.cell_m, "slot_s": grid.slot_s}
    )
    if manifest.reading.get("cells") is not None and overrides.get("cells") is None:
        raise InputError(
            f"{folder} was made with a table of cells; give it with --cells, for a manifest opens no file"
        )
    if manifest.reading.get("places") is None:
        overrides.pop("places", None)  # a list that only attackers know decides no sample
    elif overrides.get("places") is None and overrides.get("cells") is not None:
        overrides["places"] = overrides["cells"]
    elif overrides.get("places") is None:
        raise InputError(
            f"{folder} was made with a public list of places; give it with --places, for a manifest opens no "
            "file"
        )
    if manifest.reading.get("sensitive") is not None and overrides.get("sensitive") is None:
        raise InputError(
            f"{folder} was made with a list of sensitive places; give it with --sensitive, for a manifest "
            "opens no file"
        )
    reading = replace(manifest_reading(folder, manifest), ids_as_they_are=True, lose_people=True)
    return replace(reading, working_crs=manifest.crs, **on_grid, **overrides)


@typed
def read_release(folder: Path | str, *, kind: PayloadKind | None = None) -> Release:
    """Read the release in a folder, of boxes or of points.

    Parameters
    ----------
    folder
        A release folder, with its manifest and its table.
    kind
        "boxes" or "points" to accept only these; None = either.

    Returns
    -------
    Release
        Records in the order of first appearance, boxes in canonical order, points by (t, x, y). Boxes are
        rounded to the manifest's cell and slot; ``verify_folder`` finds those that are not on them.

    Raises
    ------
    InputError
        When a file is missing, truncated or lacks a column, or when the release is not of this kind.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> rng = shoal.Randomness.for_research(1)
    >>> published = shoal.publish(calls, shoal.Glove(k=2), "release-to-read", rng=rng, tries=0)
    >>> shoal.read_release(published.folder).n_records
    20
    """
    folder = local_path(folder, "a release folder")
    manifest = read_manifest(folder)
    if kind is not None:
        _require_kind(folder, manifest, kind)
    require_plain_file(folder / RELEASE_FILE)
    return release_from_table(read_parquet(folder / RELEASE_FILE, outlines=False), folder, manifest)


def release_from_table(table: pa.Table, folder: Path, manifest: Manifest) -> Release:
    """The release in a folder whose table was read."""
    names, offsets, payload = decode_records(table, manifest.kind, manifest.grid, str(folder / RELEASE_FILE))
    return build_release(folder, manifest, trajectory_ids=names, offsets=offsets, payload=payload)


def release_header(folder: Path, manifest: Manifest) -> Release:
    """A release of boxes without records, from its manifest."""
    _require_kind(folder, manifest, "boxes")
    return build_release(
        folder,
        manifest,
        trajectory_ids=(),
        offsets=np.zeros(1, dtype=np.int64),
        payload=Boxes.concatenate([]),
    )


def build_release(
    folder: Path, manifest: Manifest, *, trajectory_ids: Sequence[str], offsets: Integers, payload: Payload
) -> Release:
    """The release of a manifest with these records."""
    return Release(
        trajectory_ids=tuple(trajectory_ids),
        offsets=offsets,
        payload=payload,
        claim=claim_from_json(manifest.claim),
        grid=manifest.grid,
        method=manifest.method,
        parameters=manifest.parameters,
        losses=Losses(**manifest.losses.model_dump()),
        crs=manifest.crs,
        unit_of_protection=manifest.unit_of_protection,
        publishable=manifest.publishable,
        reading=manifest_reading(folder, manifest),
        rows_repaired=manifest.rows_repaired,
        series=None if manifest.series is None else SeriesPlace(**manifest.series.model_dump()),
    )


def _require_kind(folder: Path, manifest: Manifest, kind: PayloadKind) -> None:
    if manifest.kind != kind:
        raise InputError(f"{folder} holds a release of {manifest.kind}, not of {kind}")


def read_parquet(path: Path, *, outlines: bool = True) -> pa.Table:
    """Read a Parquet file, with or without geometries."""
    try:
        with pq.ParquetFile(path) as file:
            return read_table(file, outlines=outlines)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} is not a readable Parquet file (truncated or another format); fetch or write it again"
        ) from error


@contextmanager
def staged_linkage(linkage: Linkage, path: Path, release_folder: Path) -> Iterator[None]:
    """Write the linkage (mode 0600); it gets its name when the block succeeds."""
    check_linkage_path(path, release_folder)
    table = pa.table({"uid": column(linkage.uids), "trajectory_id": column(linkage.trajectory_ids)})
    with staged_file(path, partial(pq.write_table, table)):
        yield


def staged_trace(trace: Trace, release: Release, path: Path) -> AbstractContextManager[None]:
    """Write the trace (mode 0600); it gets its name when the block succeeds."""
    return staged_file(path, partial(pq.write_table, trace.table(release.trajectory_ids, release.offsets)))


def check_linkage_path(path: Path, release_folder: Path) -> None:
    """Raise OutputError where a linkage must not or cannot be written."""
    if path.resolve().is_relative_to(release_folder.resolve()):
        raise OutputError(
            f"the linkage table {path} would lie inside the release folder; keep it apart from what is "
            "published"
        )
    if path.exists():
        left = [] if release_folder.exists() else find_partials(release_folder)
        if left and (trace := trace_path(path)).exists():
            left.append(trace)
        remedy = "remove both" if len(left) == 1 else "remove them all"
        hint = f"; if it is of the run that was stopped and left {', '.join(map(str, left))}, {remedy}"
        raise OutputError(f"{path} exists; choose another --linkage or remove it first{hint * bool(left)}")


@typed
def read_linkage(path: Path | str) -> Linkage:
    """Read a linkage table, with the trace of the same release where there is one next to it.

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

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> rng, file = shoal.Randomness.for_research(1), "linkage.parquet"
    >>> _ = shoal.publish(calls, shoal.Glove(k=2), "release", rng=rng, linkage_file=file, tries=0)
    >>> len(shoal.read_linkage(file).uids)
    20
    """
    path = local_path(path, "a linkage table")
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
            table[name].cast(pa.string()).combine_chunks() for name in ("uid", "trajectory_id")
        )
        for names in (uids, trajectory_ids):
            names.validate(full=True)  # a file may hold bytes that are no text
    except pa.ArrowException as error:
        raise InputError(f"{path} is not a linkage table: its columns hold no text") from error
    trace_file, trace = trace_path(path), None
    if not trace_file.exists():
        trace_file = path.with_name(TRACE_FILE)
    if trace_file.exists() and trace_file != path:
        origins = read_parquet(trace_file)
        if "trajectory_id" in origins.column_names and set(
            pc.unique(origins["trajectory_id"]).to_pylist()
        ) == set(trajectory_ids.to_pylist()):
            trace = Trace.of_table(origins, str(trace_file))
    return Linkage(TextNames(uids), Pseudonyms.of(TextNames(trajectory_ids)), trace)
