"""Databases on a server, through ADBC (extra ``postgresql``): rows of queries, and tables of releases.

No message repeats the address, which may contain a password. Releases are written whole or not at all, and
read back. With PostGIS and MobilityDB, geometry becomes ``geometry`` and a moving value ``stbox`` or
``tgeompoint``; without, ``bytea`` (well-known binary) and ``text``, which both can convert later.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, MisuseError, OutputError, requiring_extra
from shoal.io.formats.input_table import Table, table_of_batches

NAME: Final = "the database"
_ADDRESS: Final = re.compile(r"^(postgres(?:ql)?://\S+)\s+(.*)$", re.DOTALL | re.IGNORECASE)
_VALUE: Final = re.compile(r":\s*[\"'][^\"']*[\"']")  # servers quote values of rows after a colon
_SECRET: Final = re.compile(r"://[^/@:\s]*:([^/@\s]+)@|password=([^&\s]+)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"^postgres(?:ql)?://", re.IGNORECASE)
ROW: Final = "row_number"
GEOMETRY: Final = "geometry"
FILES: Final = "_files"  # beside the table's own name: the files of the release
WGS84_CODE: Final = 4326
_PLACE: Final = re.compile(
    r"(postgres(?:ql)?://[^#\s]+)#(?:([a-z_][a-z0-9_]*)\.)?([a-z_][a-z0-9_]*)", re.IGNORECASE
)
_LONGEST: Final = 50  # PostgreSQL cuts names of more than 63
_TYPES: Final = {"string": "text", "int64": "bigint", "double": "double precision", "binary": "bytea"}
_MOVING: Final = ("stbox", "tgeompoint")
_LARGEST: Final = 1 << 28  # bytes of a file that is read back


def is_address(source: str) -> bool:
    """Whether a source names a server instead of a file."""
    return bool(_SCHEME.match(source.strip()))


def open_table(source: str) -> Table:
    """Rows of ``postgresql://USER@HOST/DATABASE SELECT ...``."""
    match = _ADDRESS.match(source.strip())
    if match is None:
        raise InputError(
            "the address of the database is followed by no query; write 'postgresql://USER@HOST/DATABASE "
            "SELECT id, t, lat, lon FROM calls'"
        )
    address, query = match[1], match[2].strip().rstrip(";")

    def read(_: list[str]) -> Iterator[pa.RecordBatch]:
        with connect(address) as connection, explain_errors(address), connection.cursor() as cursor:
            cursor.execute(query)
            yield from cursor.fetch_record_batch()

    return table_of_batches(NAME, _schema(address, query), read)


def _schema(address: str, query: str) -> pa.Schema:
    with connect(address) as connection, explain_errors(address), connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM ({query}) AS source LIMIT 0")  # noqa: S608 (the caller's own query)
        return cursor.fetch_record_batch().schema


def connect(address: str, *, writes: bool = False) -> Any:
    """A connection, read-only unless ``writes``."""
    with requiring_extra("PostgreSQL needs adbc-driver-postgresql", "postgresql"):
        import adbc_driver_postgresql.dbapi as postgresql
    with explain_errors(address, writes=writes):
        connection = postgresql.connect(address)
        if not writes:
            with connection.cursor() as cursor:
                cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            connection.commit()
    return connection


@contextmanager
def explain_errors(address: str, *, writes: bool = False) -> Iterator[None]:
    """The driver's errors in one line, without password and values of rows."""
    try:
        yield
    except Exception as error:
        if not (
            isinstance(error, pa.ArrowException | OSError)  # OSError: rows that break off on their way
            or type(error).__module__.startswith("adbc_driver_manager")
        ):
            raise
        line = next((part.strip() for part in str(error).splitlines() if part.strip()), "no reason given")
        for secret in _SECRET.finditer(address):
            line = line.replace(secret[secret.lastindex or 0], "***")
        line = _VALUE.sub(": a value", line)
        if writes:
            raise OutputError(f"the database cannot be written, and nothing was: {line}") from None
        raise InputError(f"the database cannot be read: {line}") from None


@dataclass(frozen=True, kw_only=True)
class TableAddress:
    """A table: address of the database (may contain a password), schema and name."""

    address: str
    schema: str
    table: str

    @property
    def label(self) -> str:
        """Schema and name, without the address."""
        return f"{self.schema}.{self.table}"

    def quoted(self, suffix: str = "") -> str:
        """The quoted name for a statement; it consists of letters, digits and _."""
        return f'"{self.schema}"."{self.table}{suffix}"'


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredTable:
    """Rows in order, files by name, and columns of extension types.

    numbered: rows are 0, 1, 2, ... unread: columns that the server writes in its own way.
    """

    rows: pa.Table
    files: Mapping[str, bytes]
    numbered: bool
    unread: tuple[str, ...]


def is_place(text: str) -> bool:
    """Whether a text names a table on a server, and no query."""
    return is_address(text) and not re.search(r"\s", text.strip())


def place_of(text: str) -> TableAddress:
    """The table of ``postgresql://USER@HOST/DATABASE#schema.table``."""
    match = _PLACE.fullmatch(text.strip())
    if match is None or len(match[3]) > _LONGEST or len(match[2] or "") > _LONGEST:
        raise MisuseError(
            "the address of the database names no table; write postgresql://USER@HOST/DATABASE#schema.table, "
            f"in letters, digits and _ (at most {_LONGEST})"
        )
    return TableAddress(address=match[1], schema=(match[2] or "public").lower(), table=match[3].lower())


def write_table(place: TableAddress, rows: pa.Table, moving: str | None, files: Mapping[str, bytes]) -> None:
    """Write rows and files as two new tables, in one transaction.

    rows: geometry as well-known binary in degrees. moving: the column with MobilityDB's text.
    """
    numbered = rows.append_column(ROW, pa.array(range(len(rows)), pa.int64()))
    scratch = "shoal_scratch"
    listed = pa.table({"path": list(files), "content": pa.array(list(files.values()), pa.binary())})
    with connect(place.address, writes=True) as connection, explain_errors(place.address, writes=True):
        with connection.cursor() as cursor:
            for suffix in ("", FILES):
                if _is_there(cursor, "class", place.quoted(suffix)):
                    raise OutputError(
                        f"the table {place.label}{suffix} exists already; choose another or drop it first"
                    )
            native = {name for name in (GEOMETRY, *_MOVING) if _is_there(cursor, "type", name)}
            cursor.execute(f'CREATE SCHEMA IF NOT EXISTS "{place.schema}"')
            cursor.adbc_ingest(scratch, numbered, mode="create", temporary=True)
            stored = [_as_stored(field, moving, native) for field in numbered.schema]
            columns = ", ".join(f"{name} {kind}" for name, kind, _ in stored)
            values = ", ".join(value for *_, value in stored)
            cursor.execute(f'CREATE TABLE {place.quoted()} ({columns}, PRIMARY KEY ("{ROW}"))')
            cursor.execute(f"INSERT INTO {place.quoted()} SELECT {values} FROM {scratch}")  # noqa: S608 (checked)
            cursor.execute(f"DROP TABLE {scratch}")
            of_files = "path text PRIMARY KEY, content bytea NOT NULL"
            cursor.execute(f"CREATE TABLE {place.quoted(FILES)} ({of_files})")
            cursor.adbc_ingest(f"{place.table}{FILES}", listed, mode="append", db_schema_name=place.schema)
        connection.commit()


def read_table(place: TableAddress) -> StoredTable:
    """Read both tables."""
    with connect(place.address) as connection, explain_errors(place.address), connection.cursor() as cursor:
        for suffix in ("", FILES):
            if not _is_there(cursor, "class", place.quoted(suffix)):
                raise InputError(
                    f"the database holds no release at {place.label}: "
                    f"the table {place.label}{suffix} is not there"
                )
        cursor.execute(f"SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM {place.quoted(FILES)}")  # noqa: S608  (quoted)
        if cursor.fetchone()[0] > _LARGEST:
            raise InputError(f"{place.label}{FILES} holds more than {_LARGEST:,} bytes, which no release has")
        cursor.execute(f"SELECT path, content FROM {place.quoted(FILES)} ORDER BY path")  # noqa: S608 (checked)
        files = {str(path): bytes(content) for path, content in cursor.fetchall()}
        cursor.execute(
            "SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = "  # noqa: S608  (quoted)
            f"'{place.schema}' AND table_name = '{place.table}' ORDER BY ordinal_position"
        )
        types = {str(name): str(kind) for name, kind in cursor.fetchall()}
        if ROW not in types or any('"' in name for name in types):
            raise InputError(f"{place.label} is no table of a release: its rows have no {ROW}")
        unread = tuple(name for name, kind in types.items() if kind in _MOVING)
        columns = ", ".join(
            f'ST_AsBinary("{name}", \'NDR\') AS "{name}"' if kind == GEOMETRY else f'"{name}"'
            for name, kind in types.items()
            if name not in unread
        )
        cursor.execute(f'SELECT {columns} FROM {place.quoted()} ORDER BY "{ROW}"')  # noqa: S608 (checked above)
        rows = cursor.fetch_arrow_table()
    numbered = rows[ROW].to_pylist() == list(range(rows.num_rows))
    return StoredTable(rows=rows.drop_columns([ROW]), files=files, numbered=numbered, unread=unread)


def _as_stored(field: pa.Field, moving: str | None, native: Collection[str]) -> tuple[str, str, str]:
    """The quoted name of a column, its type, and its value from the column as it came."""
    quoted = f'"{field.name}"'
    if field.name == GEOMETRY and GEOMETRY in native:
        return quoted, GEOMETRY, f"ST_GeomFromWKB({quoted}, {WGS84_CODE})"
    if moving in native and field.name == moving:
        return quoted, str(moving), f"{quoted}::{moving}"
    return quoted, _TYPES[str(field.type)], quoted


def _is_there(cursor: Any, kind: str, name: str) -> bool:
    cursor.execute(f"SELECT to_reg{kind}('{name}')::text")
    return cursor.fetchone()[0] is not None
