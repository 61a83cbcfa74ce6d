"""What a format hands to the reader: the names of its columns, and their rows as a stream of Arrow batches.

A new format is one file with ``open_table(path) -> Table`` and one line in ``sources.FORMATS``.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError

DEFAULT_CRS: Final = "OGC:CRS84"
BATCH_ROWS: Final = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """A column of points as well-known binary.

    crs: text that pyproj reads; None = the file says it is unknown.
    """

    column: str
    crs: str | None = DEFAULT_CRS


@dataclass(frozen=True, kw_only=True)
class Table:
    """One opened input, to be read once.

    name: for messages. batches: given the columns wanted, (share of the input read so far, rows) pairs in
    file order. unreadable: rows by reason that never reach a batch, and notes: both filled while batches are
    drawn.
    """

    name: str
    columns: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[tuple[float, pa.RecordBatch]]]
    geometry: Geometry | None = None
    unreadable: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def geometry_of(name: str, schema: pa.Schema) -> Geometry | None:
    """The point column of a GeoParquet file or a GeoArrow frame, or a bare binary column named ``geometry``.

    Raises InputError when the column is encoded otherwise than as well-known binary.
    """
    geo = _metadata(schema.metadata, b"geo")
    if geo is not None:
        column = str(geo.get("primary_column", "geometry"))
        own = geo.get("columns", {}).get(column, {})
        if column not in schema.names:
            return None
        if own.get("encoding", "WKB") != "WKB":
            raise InputError(
                f"the geometry of {name} is encoded as {own['encoding']}; write it as WKB, or give lat and "
                "lon columns"
            )
        return Geometry(column=column, crs=_crs_text(own["crs"]) if "crs" in own else DEFAULT_CRS)
    for index, column_field in enumerate(schema):
        own_metadata = column_field.metadata or {}
        if own_metadata.get(b"ARROW:extension:name") in {b"geoarrow.wkb", b"ogc.wkb"}:
            described = _metadata(own_metadata, b"ARROW:extension:metadata") or {}
            return Geometry(column=schema.names[index], crs=_crs_text(described.get("crs", DEFAULT_CRS)))
    for column_field in schema:
        if column_field.name.strip().lower() == "geometry" and _holds_bytes(column_field.type):
            return Geometry(column=column_field.name)
    return None


def _holds_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _metadata(metadata: Mapping[bytes, bytes] | None, key: bytes) -> dict[str, Any] | None:
    """One entry of Arrow metadata, read as a JSON object; None where there is none."""
    try:
        found = json.loads((metadata or {}).get(key, b"null"))
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _crs_text(crs: Any) -> str | None:
    """A system given as text or PROJJSON, as text: an authority's code where it has one."""
    if crs is None or isinstance(crs, str):
        return crs
    code = crs.get("id") or {}
    return f"{code['authority']}:{code['code']}" if {"authority", "code"} <= set(code) else json.dumps(crs)
