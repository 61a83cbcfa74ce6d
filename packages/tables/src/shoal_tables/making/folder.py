"""The folder of a table: what follows from noisy counts, its files, and the same in other formats."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely
from pyarrow import csv
from pyproj import CRS

from shoal.errors import InputError, MisuseError, OutputError, requiring_extra
from shoal.runtime.arrays import Integers
from shoal.runtime.files import sha256_of
from shoal.runtime.gdal import write_layers
from shoal.runtime.staging import staged_folder
from shoal_tables.definition import manifest as terms
from shoal_tables.definition.manifest import Files, Promise, TableManifest
from shoal_tables.making.promise import estimate
from shoal_tables.making.rules import Rules
from shoal_tables.making.zones import ZoneSet


def require_apart(output: Path, *others: Path) -> None:
    """Raise OutputError when a file would lie in the published folder."""
    for path in others:
        if path.resolve().is_relative_to(output.resolve()):
            raise OutputError(f"{path} would lie inside {output}, which is published; keep it apart")


def tables_of(rules: Rules, noisy: Integers, promise: Promise) -> list[pa.Table]:
    """The columns of every cell, and of those of outer zones, from counts with noise in parts of one."""
    granularity = promise.granularity
    numbers, spread = estimate(rules, noisy, promise)
    half = spread * promise.half_width
    shown = np.floor(numbers / granularity + 0.5).astype(np.int64)
    columns = {
        "count": noisy / granularity,
        "estimate": numbers / granularity,
        "low": np.maximum(0, numbers - half) / granularity,
        "high": np.maximum(0, numbers + half) / granularity,
        "shown": pa.array(shown, mask=numbers < spread * promise.least_shown),
    }
    return [
        pa.table(_cells(level.rules) | {name: column[level.cells] for name, column in columns.items()})
        for level in rules.levels
    ]


def secret_of(rules: Rules, counts: Integers) -> pa.Table:
    """The clipped counts before noise, which are as secret as the raw data."""
    return pa.table({**_cells(rules), "count": counts})


def write_parquet(table: pa.Table, target: Any) -> None:
    """Write a table as compressed Parquet."""
    pq.write_table(table, target, compression="zstd")


def write_zones(zones: ZoneSet, path: Path) -> None:
    """Write names, outer zones, weights and shapes of the zones as GeoParquet."""
    crs = zones.statement.crs
    about = {
        "encoding": "WKB",
        "geometry_types": sorted({shape.geom_type for shape in zones.shapes}),
        "crs": None if crs is None else CRS.from_user_input(crs).to_json_dict(),
        "bbox": [float(edge) for edge in shapely.total_bounds(zones.shapes)],
    }
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}
    parents = {} if zones.outer is None else {"parent": np.array(zones.outer.names)[zones.parents]}
    weights = {} if zones.weights is None else {"weight": list(zones.weights)}
    shapes = pa.array(shapely.to_wkb(zones.shapes).tolist())
    table = pa.table({"zone": list(zones.names), **parents, **weights, "geometry": shapes})
    write_parquet(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)


def write_json(entries: dict[str, Any], path: Path) -> None:
    """Write indented JSON."""
    path.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def digests_of(folder: Path) -> dict[Any, str]:
    """SHA-256 of each file of the folder that its manifest names."""
    names = (Files.TABLE, Files.OUTER, Files.ZONES, Files.REPORT)
    return {name: sha256_of(folder / name) for name in names if (folder / name).exists()}


def _cells(rules: Rules) -> dict[str, pa.Array]:
    labels = rules.labels()
    return {
        name: pa.DictionaryArray.from_arrays(pa.array(code), pa.array(labels[name])).cast(pa.string())
        for name, code in rules.codes().items()
    }


def export_table(folder: Path, target: Path, form: str) -> int:
    """Write the table of a folder in another format, complete or not at all; how many cells it has."""
    if form not in terms.EXPORTED:
        raise MisuseError(f"'{form}' is no format of a table; choose from {', '.join(terms.EXPORTED)}")
    require_apart(folder, target)
    manifest = terms.read_table_manifest(folder)
    if digests_of(folder) != manifest.files:
        raise InputError(f"{folder} holds other files than its manifest states; check it with shoal verify")
    table = pq.read_table(folder / Files.TABLE)
    with staged_folder(target) as staging:
        for name in {Files.MANIFEST, *manifest.files} - {Files.TABLE}:
            shutil.copyfile(folder / name, staging / name)
        if form == "omx":
            _write_omx(table, staging, manifest)
        elif form == "csv":
            csv.write_csv(table, staging / terms.EXPORTED[form])
        else:
            zones = pq.read_table(staging / Files.ZONES)
            shapes = np.array(zones["geometry"].to_pylist(), dtype=object)
            drawn = (zones.select(["zone"]), shapes, manifest.zones.crs)
            write_layers(staging / terms.EXPORTED[form], {"zones": drawn, "table": (table, None, None)})
        write_json(terms.package_of(staging, manifest, form), staging / Files.PACKAGE)
    return len(table)


def _write_omx(table: pa.Table, staging: Path, manifest: TableManifest) -> None:
    """Open Matrix 0.2: a matrix for each column of numbers, hour and day; zones as in their file."""
    if manifest.table != "flows":
        raise MisuseError(f"omx holds matrices of flows, and this is a table of {manifest.table}; choose csv")
    with requiring_extra("omx needs h5py", "omx", of="shoal-tables"):
        import h5py
    n, apart = manifest.zones.n_zones, ~np.eye(manifest.zones.n_zones, dtype=bool)
    slices = len(table) // (n * (n - 1))
    hours, days = (table[name].to_pylist()[:slices] for name in ("hour", "day"))
    with h5py.File(staging / terms.EXPORTED["omx"], "w") as file:
        file.attrs["OMX_VERSION"] = np.bytes_("0.2")
        file.attrs["SHAPE"] = np.array([n, n], dtype=np.int32)
        file["lookup/zone"] = np.arange(1, n + 1, dtype=np.uint32)
        for name in terms.NUMBERS:
            column = table[name].cast(pa.float64()).to_numpy().reshape(-1, slices)
            for place in range(slices):
                matrix = np.full((n, n), np.nan)
                matrix[apart] = column[:, place]
                title = f"data/{name} {hours[place]} {days[place]}"
                file.create_dataset(title, data=matrix, compression="gzip", compression_opts=1)
