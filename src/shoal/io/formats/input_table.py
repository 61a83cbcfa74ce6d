"""What a format gives to the reader: names of columns, and a stream of Arrow batches."""

import json
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns.values import is_bytes
from shoal.messages import say

DEFAULT_CRS: Final = "OGC:CRS84"
BATCH_ROWS: Final = 1 << 20
WRONG_FIELDS: Final = say("row.wrong_fields", "line with the wrong number of fields")
NO_OBJECT: Final = say("row.broken_json", "line that is no JSON object")


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """A column of points as well-known binary. crs: text for pyproj; None = the file says it is unknown."""

    column: str
    crs: str | None = DEFAULT_CRS


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a reader does not pass on, complete after the last batch.

    unreadable: rows by reason that never reach a batch, first_lines: the first of them where it is known,
    repaired: rows by repair, and notes.
    """

    unreadable: Counter[str] = field(default_factory=Counter)
    first_lines: dict[str, int] = field(default_factory=dict)
    repaired: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def leave_out(self, reason: str, line: int, lines: int = 1) -> None:
        """Count lines that hold no row. line: the number of the first of them."""
        self.unreadable[reason] += lines
        self.first_lines[reason] = min(line, self.first_lines.get(reason, line))


@dataclass(frozen=True, kw_only=True)
class Table(Account):
    """One opened input, to be read once.

    place: the full path. batches: given columns, yields (share of the input read, rows) in file order.
    owners: persons by file or folder name. settings: from the file; the caller's come first. parts: ranges of
    row groups for tasks; batches come from those still listed. added: columns that the file does not have.
    like_ids: those that may name people, where a file or trip counts as a person. numbered: its rows are
    those of the file.
    """

    name: str
    columns: tuple[str, ...]
    batches: Callable[[Sequence[str]], Iterator[tuple[float, pa.RecordBatch]]]
    geometry: Geometry | None = None
    place: str = ""
    owners: "tuple[Owner, ...]" = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    parts: list[range] = field(default_factory=list)
    added: frozenset[str] = frozenset()
    like_ids: tuple[str, ...] = ()
    numbered: bool = True


def geometry_of(name: str, schema: pa.Schema) -> Geometry | None:
    """The point column of GeoParquet or GeoArrow, or a bare binary column ``geometry``."""
    geo = _metadata(schema.metadata, b"geo")
    if geo is not None:
        column = str(geo.get("primary_column", "geometry"))
        description = _mapping(_mapping(geo.get("columns")).get(column))
        if column not in schema.names:
            return None
        if description.get("encoding", "WKB") != "WKB":
            raise InputError(
                f"the geometry of {name} is encoded as {description['encoding']}; write it as WKB, or give "
                "lat and lon columns"
            )
        return Geometry(column=column, crs=_crs_text(description.get("crs", DEFAULT_CRS)))
    for index, column_field in enumerate(schema):
        field_metadata = column_field.metadata or {}
        if field_metadata.get(b"ARROW:extension:name") in {b"geoarrow.wkb", b"ogc.wkb"}:
            described = _metadata(field_metadata, b"ARROW:extension:metadata") or {}
            return Geometry(column=schema.names[index], crs=_crs_text(described.get("crs", DEFAULT_CRS)))
    for column_field in schema:
        stored_type = getattr(column_field.type, "storage_type", column_field.type)  # of an extension type
        if column_field.name.strip().lower() in {"geometry", "geom"} and is_bytes(stored_type):
            return Geometry(column=column_field.name)
    return None


def _metadata(metadata: Mapping[bytes, bytes] | None, key: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads((metadata or {}).get(key, b"null"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _mapping(value: Any) -> dict[str, Any]:
    """An object of JSON; an empty one in place of a value that is none."""
    return value if isinstance(value, dict) else {}


def _crs_text(crs: Any) -> str | None:
    if crs is None or isinstance(crs, str):
        return crs
    code = _mapping(_mapping(crs).get("id"))
    return f"{code['authority']}:{code['code']}" if {"authority", "code"} <= set(code) else json.dumps(crs)


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The person of a file, when only its name or folder tells.

    value: the person, in every row. place: the file or folder of that name; the same value from another may
    be another person. what: counts as a person.
    """

    column: str
    value: str
    place: str
    what: str = "file"


Change = Callable[[pa.RecordBatch], pa.RecordBatch]


def reshape(table: Table, adds: Sequence[str], needs: Sequence[str], change: Change) -> Table:
    """A table with computed columns.

    ``change`` takes ``needs`` and the other columns, and gives these and ``adds``; it may multiply rows.
    """

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        originals = [name for name in columns if name not in adds]
        for share, batch in table.batches(list(dict.fromkeys([*originals, *needs]))):
            yield share, change(batch).select(list(columns))

    remaining = tuple(name for name in table.columns if name not in adds)
    return replace(table, columns=(*remaining, *adds), batches=batches)


def add_constants(table: Table, values: Mapping[str, str]) -> Table:
    """Add columns with one text each; existing columns stay."""
    added = {name: value for name, value in values.items() if name not in table.columns}

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        for name, value in added.items():
            batch = batch.append_column(name, pa.repeat(pa.scalar(value, pa.string()), batch.num_rows))
        return batch

    return reshape(table, tuple(added), (), change) if added else table


def table_of_batches(
    name: str, schema: pa.Schema, read: Callable[[list[str]], Iterable[pa.RecordBatch]]
) -> Table:
    """The table of a source of Arrow batches. read: takes columns, and gives these at least."""

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        for whole in read(list(columns)):
            batch = whole.select(list(columns))
            try:
                batch.validate(full=True)
            except pa.ArrowInvalid as error:
                raise InputError(f"{name} holds damaged text or lists; copy or write it again") from error
            for begin in range(0, batch.num_rows, BATCH_ROWS):
                yield 0.0, batch.slice(begin, BATCH_ROWS)

    return Table(name=name, columns=tuple(schema.names), batches=batches, geometry=geometry_of(name, schema))


def choose_part(
    name: str, kind: str, requested: str | None, parts: Collection[str], likely: Collection[str]
) -> str:
    """The table, sheet or layer of a file to read: the requested one, else the only one that is likely."""
    if requested is not None and requested not in parts:
        raise InputError(f"{name} has no {kind} '{requested}'; it has {', '.join(parts) or 'none'}")
    if requested is None and not likely:
        raise InputError(f"{name} has no {kind} with rows and columns; there is nothing to read")
    if requested is None and len(likely) > 1:
        raise InputError(
            f"{name} has {len(likely)} {kind}s that may be meant: {', '.join(likely)}; name one with --table"
        )
    return next(iter(likely)) if requested is None else requested


def runs(rows: Sequence[int], least: int) -> list[range]:
    """Consecutive parts of an input with so many rows together, at least; the last may have fewer."""
    found, first, waiting = [], 0, 0
    for end, more in enumerate(rows, start=1):
        waiting += more
        if waiting >= least or end == len(rows):
            found.append(range(first, end))
            first, waiting = end, 0
    return found


@contextmanager
def folder_for_a_copy() -> Iterator[Path]:
    """A new folder for raw data that only its owner can read; removed on an error."""
    folder = Path(tempfile.mkdtemp(prefix="shoal-"))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def bind_folder(table: Table, folder: Path) -> Table:
    """The table, whose folder goes after its last use."""
    weakref.finalize(table.batches, shutil.rmtree, folder, ignore_errors=True)
    return table
