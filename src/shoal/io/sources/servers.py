"""Databases on a server, through ADBC (extra ``postgresql``).

No message repeats the address, which may contain a password.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, OutputError, requiring_extra
from shoal.io.formats.input_table import Table, table_of_batches

NAME: Final = "the database"
_ADDRESS: Final = re.compile(r"^(postgres(?:ql)?://\S+)\s+(.*)$", re.DOTALL | re.IGNORECASE)
_VALUE: Final = re.compile(r":\s*[\"'][^\"']*[\"']")  # servers quote values of rows after a colon
_SECRET: Final = re.compile(r"://[^/@:\s]*:([^/@\s]+)@|password=([^&\s]+)", re.IGNORECASE)
_SCHEME: Final = re.compile(r"^postgres(?:ql)?://", re.IGNORECASE)


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
