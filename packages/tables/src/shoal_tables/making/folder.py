"""The folder of a table: what follows from noisy counts, and its files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import OutputError
from shoal.runtime.arrays import Integers
from shoal.runtime.files import sha256_of
from shoal_tables.definition.manifest import (
    MANIFEST_FILE,
    REPORT_FILE,
    TABLE_FILE,
    ZONES_FILE,
    Promise,
    TableManifest,
)
from shoal_tables.making.estimates import estimate
from shoal_tables.making.rules import Rules
from shoal_tables.making.zones import ZoneSet

_COMPRESSION = "zstd"


def require_apart(output: Path, *others: Path) -> None:
    """Raise OutputError when a file would lie in the published folder."""
    for path in others:
        if path.resolve().is_relative_to(output.resolve()):
            raise OutputError(f"{path} would lie inside {output}, which is published; keep it apart")


def table_of(rules: Rules, noisy: Integers, promise: Promise) -> pa.Table:
    """The published columns of every cell.

    Parameters
    ----------
    rules : Rules
        The cells.
    noisy : int64 [cells]
        Counts with noise, in parts of one.
    promise : Promise
        With the parts of one, and the widths in these parts.

    Returns
    -------
    pyarrow.Table
        The columns of cells, ``count``, ``estimate``, ``low``, ``high`` and ``shown``.
    """
    granularity = promise.granularity
    numbers, spread = estimate(rules, noisy, promise)
    half = spread * promise.half_width
    shown = np.floor(numbers / granularity + 0.5).astype(np.int64)
    return pa.table(
        {
            **_cells(rules),
            "count": noisy / granularity,
            "estimate": numbers / granularity,
            "low": np.maximum(0, numbers - half) / granularity,
            "high": np.maximum(0, numbers + half) / granularity,
            "shown": pa.array(shown, mask=numbers < spread * promise.least_shown),
        }
    )


def secret_of(rules: Rules, counts: Integers) -> pa.Table:
    """The clipped counts before noise, which are as secret as the raw data."""
    return pa.table({**_cells(rules), "count": counts})


def write_parquet(table: pa.Table, target: Any) -> None:
    """Write a table as compressed Parquet."""
    pq.write_table(table, target, compression=_COMPRESSION)


def write_zones(zones: ZoneSet, path: Path) -> None:
    """Write names and shapes of the zones as GeoParquet."""
    import shapely
    from pyproj import CRS

    kinds = sorted({shape.geom_type for shape in zones.shapes})
    crs = zones.statement.crs
    about = {
        "encoding": "WKB",
        "geometry_types": kinds,
        "crs": None if crs is None else CRS.from_user_input(crs).to_json_dict(),
        "bbox": [float(edge) for edge in shapely.total_bounds(zones.shapes)],
    }
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": about}}
    table = pa.table({"zone": list(zones.names), "geometry": pa.array(shapely.to_wkb(zones.shapes).tolist())})
    write_parquet(table.replace_schema_metadata({"geo": json.dumps(geo)}), path)


def write_manifest(manifest: TableManifest, folder: Path) -> None:
    """Write the manifest as indented JSON."""
    text = json.dumps(manifest.model_dump(mode="json"), indent=2, ensure_ascii=False)
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")


def digests_of(folder: Path) -> dict[Any, str]:
    """SHA-256 of each file of the folder that its manifest names."""
    return {
        name: sha256_of(folder / name)
        for name in (TABLE_FILE, ZONES_FILE, REPORT_FILE)
        if (folder / name).exists()
    }


def _cells(rules: Rules) -> dict[str, pa.Array]:
    labels = rules.labels()
    return {
        name: pa.DictionaryArray.from_arrays(pa.array(code), pa.array(labels[name])).cast(pa.string())
        for name, code in rules.codes().items()
    }
