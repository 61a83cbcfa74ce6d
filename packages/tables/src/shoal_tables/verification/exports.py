"""Read the table of a folder: as Parquet, or in the format of an export."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from shoal.errors import InputError, MissingExtraError
from shoal.model.verdicts import Finding
from shoal.release_folder.files import require_plain_file
from shoal.runtime.gdal import one_driver
from shoal.runtime.json_values import require_unique_keys
from shoal_tables.definition.manifest import (
    COLUMNS,
    EXPORTED,
    NUMBERS,
    PACKAGE_FILE,
    TABLE_FILE,
    TableManifest,
    days_in_order,
    hour_label,
    package_of,
)

_SHOWN: Final = {"shown": pa.int64()}


def table_file(folder: Path) -> str:
    """The name of the file with the table: that of an export, if the folder holds one and no Parquet."""
    if not (folder / TABLE_FILE).exists():
        for name in EXPORTED.values():
            if (folder / name).exists():
                return name
    return TABLE_FILE


def read_table(path: Path, manifest: TableManifest | None = None) -> pa.Table:
    """Read a table, an export of one (which needs its manifest), zones, or a secret file.

    Raises
    ------
    InputError
        For a file that is cut short, or is no such file.
    """
    require_plain_file(path)
    try:
        if manifest is None or path.name not in _READERS:
            return parquet.ParquetFile(path).read()
        return _READERS[path.name](path, manifest)
    except (OSError, ValueError, KeyError, RuntimeError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a table; it may be cut short") from error


def export_findings(folder: Path, manifest: TableManifest) -> Iterator[Finding]:
    """Find an export whose list of files is not that of the files that the folder holds."""
    name = table_file(folder)
    if name == TABLE_FILE:
        return
    require_plain_file(folder / PACKAGE_FILE)
    try:
        listed = json.loads((folder / PACKAGE_FILE).read_bytes(), object_pairs_hook=require_unique_keys)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{folder / PACKAGE_FILE} does not list the files; export the table again"
        ) from error
    form = next(form for form, file in EXPORTED.items() if file == name)
    if listed != package_of(folder, manifest, form):
        yield Finding("changed-file", f"{PACKAGE_FILE} says something else than the folder holds")


def _from_csv(path: Path, manifest: TableManifest) -> pa.Table:
    keys = dict.fromkeys(COLUMNS[manifest.table], pa.string())
    types = keys | dict.fromkeys(NUMBERS, pa.float64()) | _SHOWN
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=types))


def _from_omx(path: Path, manifest: TableManifest) -> pa.Table:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("omx needs h5py; install it with: pip install 'shoal-tables[omx]'") from error
    zones = parquet.ParquetFile(path.parent / "zones.parquet").read()["zone"].to_pylist()
    n = len(zones)
    hours = [hour_label(*hour) for hour in manifest.hours]
    slices = [(hour, day) for hour in hours for day in days_in_order(manifest.day_of)]
    a, b = np.nonzero(~np.eye(n, dtype=bool))
    names = np.array(zones, dtype=object)
    columns: dict[str, Any] = {
        "origin": np.repeat(names[a], len(slices)),
        "destination": np.repeat(names[b], len(slices)),
        "hour": [hour for hour, _ in slices] * len(a),
        "day": [day for _, day in slices] * len(a),
    }
    with h5py.File(path, "r") as file:
        data = file["data"]
        expected = {f"{name} {hour} {day}" for name in NUMBERS for hour, day in slices}
        if set(file) != {"data", "lookup"} or set(file["lookup"]) != {"zone"} or set(data) != expected:
            raise ValueError("other matrices")
        if not np.array_equal(file["lookup/zone"][:], np.arange(1, n + 1)):
            raise ValueError("other zones")
        for name in NUMBERS:
            matrices = [_matrix(data, f"{name} {hour} {day}", n) for hour, day in slices]
            columns[name] = np.stack([matrix[a, b] for matrix in matrices], axis=1).ravel()
    shown = pa.array(columns["shown"], from_pandas=True).cast(pa.int64())
    return pa.table(columns | {"shown": shown})


def _matrix(data: Any, name: str, n: int) -> Any:
    import h5py

    if not isinstance(data.get(name, getlink=True), h5py.HardLink) or data[name].external:
        raise ValueError("a matrix in another file")
    matrix = data[name]
    if matrix.shape != (n, n) or matrix.dtype != np.float64 or not np.isnan(np.diagonal(matrix[:])).all():
        raise ValueError("a matrix of another shape")
    return matrix[:]


def _from_geopackage(path: Path, manifest: TableManifest) -> pa.Table:
    with one_driver(path) as (pyogrio, place):
        about, _, _, values = pyogrio.raw.read(place, layer="table")
        _, _, shapes, (names,) = pyogrio.raw.read(place, layer="zones")
        layers = sorted(pyogrio.list_layers(place)[:, 0].tolist())
    zones = parquet.ParquetFile(path.parent / "zones.parquet").read()
    if layers != ["table", "zones"] or names.tolist() != zones["zone"].to_pylist():
        raise ValueError("other layers or zones")
    import shapely

    if not shapely.equals_exact(
        shapely.from_wkb(shapes), shapely.from_wkb(zones["geometry"].to_pylist())
    ).all():
        raise ValueError("other shapes")
    columns = dict(zip(about["fields"], values, strict=True))
    shown = pa.array(np.asarray(columns["shown"], dtype=np.float64), from_pandas=True).cast(pa.int64())
    keys = {name: pa.array(columns[name], pa.string()) for name in COLUMNS[manifest.table]}
    if list(columns) != [*keys, *NUMBERS]:
        raise ValueError("other columns")
    return pa.table(columns | keys | {"shown": shown})


_READERS: Final[dict[str, Callable[[Path, TableManifest], pa.Table]]] = {
    EXPORTED["csv"]: _from_csv,
    EXPORTED["omx"]: _from_omx,
    EXPORTED["geopackage"]: _from_geopackage,
}
