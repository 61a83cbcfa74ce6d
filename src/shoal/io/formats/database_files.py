"""SQLite, and DuckDB through duckdb (extra ``duckdb``), opened for reading only."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa

from shoal.errors import InputError, requiring_extra
from shoal.io.columns.column_names import NAMES
from shoal.io.formats.input_table import Table, choose_part, table_of_batches
from shoal.io.formats.row_files import explain_damage, text_batches
from shoal.model.intake import Reading

_ALONE: Final = {"enable_external_access": "false"}  # no view reads another file or an address
_STEPS_AT_ONCE: Final = 1 << 20  # of SQLite's machine
_FREE_STEPS: Final = 1 << 27
_LONGEST_VALUE: Final = 1 << 26
_STEPS_PER_BYTE: Final = 64  # a stored row needs some 20 a byte at most


def open_sqlite(path: Path, reading: Reading) -> Table:
    """Rows of one table or view."""
    with read_only(path) as database:
        tables = {
            name: [row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})")]
            for (name,) in database.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
        }
    table_name = _choose_table(path.name, reading.table, tables)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        # the names come from the database itself, and are quoted
        query = f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table_name)}"  # noqa: S608  (quoted)
        with read_only(path) as database:
            rows = (tuple(map(_text, row)) for row in database.execute(query))
            yield from text_batches(rows, columns)

    return Table(name=path.name, columns=tuple(tables[table_name]), batches=batches)


def open_duckdb(path: Path, reading: Reading) -> Table:
    """Rows of one table; a view may have no end."""
    with requiring_extra("DuckDB databases need duckdb", "duckdb"):
        import duckdb
    damaged = "is no whole DuckDB database, is of a newer version, or another program has it open"
    opened = partial(duckdb.connect, str(path), read_only=True, config=_ALONE)
    with explain_damage(f"{path.name} {damaged}", duckdb.Error), opened() as database:
        tables = {
            str(name): [str(row[0]) for row in database.execute(f"DESCRIBE {_quoted(str(name))}").fetchall()]
            for (name,) in database.execute(
                "SELECT table_name FROM duckdb_tables() WHERE NOT temporary AND schema_name = 'main'"
            ).fetchall()
        }
        table_name = _choose_table(path.name, reading.table, tables)
        empty = pa.table(database.sql(f"SELECT * FROM {_quoted(table_name)} LIMIT 0"))  # noqa: S608  (quoted)

    def read(columns: list[str]) -> Iterator[pa.RecordBatch]:
        query = f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(table_name)}"  # noqa: S608  (quoted)
        broken = f"{path.name} broke off while its rows were read"
        with explain_damage(broken, duckdb.Error), opened() as database:
            database.execute("SET enable_progress_bar = false")  # which would stand among what is printed
            yield from pa.RecordBatchReader.from_stream(database.sql(query))

    return table_of_batches(path.name, empty.schema, read)


@contextmanager
def read_only(path: Path, kind: str = "SQLite database") -> Iterator[sqlite3.Connection]:
    """A SQLite database that cannot be written to; a view without end is broken off."""
    steps_left = _FREE_STEPS + _STEPS_PER_BYTE * path.stat().st_size

    def is_over() -> bool:
        nonlocal steps_left
        steps_left -= _STEPS_AT_ONCE
        return steps_left < 0

    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            database.set_progress_handler(is_over, _STEPS_AT_ONCE)
            yield database
    except sqlite3.Error as error:
        why = f"{path.name} is no whole {kind}; copy it again"
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            why = f"a view of {path.name} computes more than its file can hold; save its rows as a table"
        raise InputError(why) from error


def _choose_table(name: str, requested: str | None, tables: Mapping[str, Sequence[str]]) -> str:
    located = [table for table, columns in tables.items() if _has_positions(columns)]
    return choose_part(name, "table", requested, tables, located if len(located) == 1 else list(tables))


def _has_positions(columns: Sequence[str]) -> bool:
    lower = {column.lower() for column in columns}
    pairs = (("lat", "lon"), ("x", "y", "time"))
    return any(all(lower & {*NAMES[role]} for role in roles) for roles in pairs)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return bytes(value).hex() if isinstance(value, bytes) else str(value)
