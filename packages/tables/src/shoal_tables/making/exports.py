"""A table in other formats: CSV with a data package, OMX for models of transport, GeoPackage for maps."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from shoal.errors import InputError, MissingExtraError, MisuseError
from shoal.runtime.gdal import write_layers
from shoal.runtime.staging import staged_folder
from shoal_tables.definition.manifest import (
    EXPORTED,
    MANIFEST_FILE,
    NUMBERS,
    PACKAGE_FILE,
    TABLE_FILE,
    ZONES_FILE,
    TableManifest,
    read_table_manifest,
)
from shoal_tables.definition.package import package_of
from shoal_tables.making.folder import digests_of, require_apart


def export_table(folder: Path, target: Path, form: str) -> int:
    """Write the table of a folder in another format, with zones, manifest and record, complete or not at all.

    Parameters
    ----------
    folder : Path
        A folder that ``tabulate`` wrote.
    target : Path
        The folder to write, outside ``folder``; it must not exist yet.
    form : str
        "csv", "omx" (flows alone) or "geopackage".

    Returns
    -------
    int
        The number of cells.

    Raises
    ------
    InputError
        When a file is not the one that the manifest states.
    MisuseError
        For a format that cannot hold the table.
    MissingExtraError
        Without the library of the format.
    OutputError
        When the target exists or cannot be written.
    """
    if form not in EXPORTED:
        raise MisuseError(f"'{form}' is no format of a table; choose from {', '.join(EXPORTED)}")
    require_apart(folder, target)
    manifest = read_table_manifest(folder)
    if digests_of(folder) != manifest.files:
        raise InputError(f"{folder} holds other files than its manifest states; check it with shoal verify")
    table = pq.read_table(folder / TABLE_FILE)
    with staged_folder(target) as staging:
        for name in {MANIFEST_FILE, *manifest.files} - {TABLE_FILE}:
            shutil.copyfile(folder / name, staging / name)
        _WRITERS[form](table, staging, manifest)
        package = json.dumps(package_of(staging, manifest, form), indent=2, ensure_ascii=False)
        (staging / PACKAGE_FILE).write_text(package + "\n", encoding="utf-8")
    return len(table)


def _write_csv(table: pa.Table, staging: Path, _: TableManifest) -> None:
    csv.write_csv(table, staging / EXPORTED["csv"])


def _write_omx(table: pa.Table, staging: Path, manifest: TableManifest) -> None:
    """Open Matrix 0.2: a matrix for each column of numbers, hour and day; zones as in their file."""
    if manifest.table != "flows":
        raise MisuseError(f"omx holds matrices of flows, and this is a table of {manifest.table}; choose csv")
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("omx needs h5py; install it with: pip install 'shoal-tables[omx]'") from error
    n, apart = manifest.zones.n_zones, ~np.eye(manifest.zones.n_zones, dtype=bool)
    slices = len(table) // (n * (n - 1))
    hours, days = (table[name].to_pylist()[:slices] for name in ("hour", "day"))
    with h5py.File(staging / EXPORTED["omx"], "w") as file:
        file.attrs["OMX_VERSION"] = np.bytes_("0.2")
        file.attrs["SHAPE"] = np.array([n, n], dtype=np.int32)
        file["lookup/zone"] = np.arange(1, n + 1, dtype=np.uint32)
        for name in NUMBERS:
            column = table[name].cast(pa.float64()).to_numpy().reshape(-1, slices)
            for place in range(slices):
                matrix = np.full((n, n), np.nan)
                matrix[apart] = column[:, place]
                title = f"data/{name} {hours[place]} {days[place]}"
                file.create_dataset(title, data=matrix, compression="gzip", compression_opts=1)


def _write_geopackage(table: pa.Table, staging: Path, manifest: TableManifest) -> None:
    zones = pq.read_table(staging / ZONES_FILE)
    shapes = np.array(zones["geometry"].to_pylist(), dtype=object)
    layers = {
        "zones": (zones.select(["zone"]), shapes, manifest.zones.crs),
        "table": (table, None, None),
    }
    write_layers(staging / EXPORTED["geopackage"], layers)


_WRITERS: Final[dict[str, Callable[[pa.Table, Path, TableManifest], None]]] = {
    "csv": _write_csv,
    "omx": _write_omx,
    "geopackage": _write_geopackage,
}
