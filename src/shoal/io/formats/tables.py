"""What a format hands to the reader: the names of its columns, and their rows as a stream of Arrow batches.

A new format is one file with ``open_table(path, reading) -> Table`` and one line in ``formats.FORMATS``.
"""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError

DEFAULT_CRS: Final = "OGC:CRS84"
BATCH_ROWS: Final = 1 << 20
WRONG_FIELDS: Final = "line with the wrong number of fields"


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """A column of points as well-known binary.

    crs: text that pyproj reads; None = the file says it is unknown.
    """

    column: str
    crs: str | None = DEFAULT_CRS


@dataclass(frozen=True, kw_only=True)
class Table:
    """One open_bytes input, to be read once.

    name: for messages. place: the file itself, to tell files of one name apart. batches: given the columns
    wanted, (share of the input read so far, rows) pairs in file order. unreadable: rows by reason that never
    reach a batch, repaired: rows by what the format's reader mended, and notes: all filled while batches are
    drawn. owners: whose the file is, where only names tell. settings: of the reading, where the file itself
    shows them and the caller does not give them. parts: runs of row groups that can be read apart; batches
    are drawn of those that are left in this list.
    """

    name: str
    columns: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[tuple[float, pa.RecordBatch]]]
    geometry: Geometry | None = None
    place: str = ""
    owners: "tuple[Owner, ...]" = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    unreadable: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    parts: list[range] = field(default_factory=list)


def geometry_of(name: str, schema: pa.Schema) -> Geometry | None:
    """The point column of a GeoParquet file or a GeoArrow frame, or a bare binary column named ``geometry``.

    Raises InputError when the column is encoded otherwise than as well-known binary.
    """
    geo = _metadata(schema.metadata, b"geo")
    if geo is not None:
        column = str(geo.get("primary_column", "geometry"))
        description = geo.get("columns", {}).get(column, {})
        if column not in schema.names:
            return None
        if description.get("encoding", "WKB") != "WKB":
            raise InputError(
                f"the geometry of {name} is encoded as {description['encoding']}; write it as WKB, or give "
                "lat and lon columns"
            )
        return Geometry(
            column=column, crs=_crs_text(description["crs"]) if "crs" in description else DEFAULT_CRS
        )
    for index, column_field in enumerate(schema):
        field_metadata = column_field.metadata or {}
        if field_metadata.get(b"ARROW:extension:name") in {b"geoarrow.wkb", b"ogc.wkb"}:
            described = _metadata(field_metadata, b"ARROW:extension:metadata") or {}
            return Geometry(column=schema.names[index], crs=_crs_text(described.get("crs", DEFAULT_CRS)))
    for column_field in schema:
        if column_field.name.strip().lower() in {"geometry", "geom"} and _holds_bytes(column_field.type):
            return Geometry(column=column_field.name)
    return None


def _holds_bytes(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _metadata(metadata: Mapping[bytes, bytes] | None, key: bytes) -> dict[str, Any] | None:
    """One entry of Arrow metadata, read as a JSON object; None where there is none."""
    try:
        value = json.loads((metadata or {}).get(key, b"null"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _crs_text(crs: Any) -> str | None:
    """A system given as text or PROJJSON, as text: an authority's code where it has one."""
    if crs is None or isinstance(crs, str):
        return crs
    code = crs.get("id") or {}
    return f"{code['authority']}:{code['code']}" if {"authority", "code"} <= set(code) else json.dumps(crs)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Whose a file is, where only its name or its folder tells.

    column: that says so, the same in every row. value: the person. place: the file or folder that was named;
    another place with the same value may be another person.
    """

    column: str
    value: str
    place: str


def reshape(
    table: Table,
    adds: Sequence[str],
    needs: Sequence[str],
    change: Callable[[pa.RecordBatch], pa.RecordBatch],
) -> Table:
    """A table with columns computed from others.

    ``change`` takes a batch of ``needs`` and of the other columns wanted. It gives the same columns and
    ``adds``; rows may become several. A column of ``adds`` stands in the place of one of the same name.
    """

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        originals = [name for name in columns if name not in adds]
        for share, batch in table.batches(list(dict.fromkeys([*originals, *needs]))):
            yield share, change(batch).select(list(columns))

    remaining = tuple(name for name in table.columns if name not in adds)
    return replace(table, columns=(*remaining, *adds), batches=batches)


def add_constants(table: Table, values: Mapping[str, str]) -> Table:
    """A table with columns that hold one text each; those that the table has itself stay as they are."""
    added = {name: value for name, value in values.items() if name not in table.columns}

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, value in added.items():
            batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
        return batch

    return reshape(table, tuple(added), (), change) if added else table


@contextmanager
def folder_for_a_copy() -> Iterator[Path]:
    """A new folder that its owner alone can read, for raw data; removed when the block ends with an error."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def bind_folder(table: Table, folder: Path) -> Table:
    """The table, whose folder is removed when nothing needs it any more."""
    weakref.finalize(table.batches, shutil.rmtree, folder, ignore_errors=True)
    return table


def text_batch(
    rows: Sequence[Sequence[str | None]], names: Sequence[str], columns: Sequence[str]
) -> pa.RecordBatch:
    """Rows of text, in the order of ``names``, as a batch of the columns wanted."""
    values = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(names, ())
    return pa.record_batch({name: pa.array(values[name], pa.string()) for name in columns})
