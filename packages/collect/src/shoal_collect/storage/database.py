"""One database interface: a SQLite file, memory, or PostgreSQL.

Each thread has its own connection. Statements use ? for values. Writers take turns, so that nothing changes
under a transaction, and a commit is on disk before it is acknowledged (WAL with synchronous = FULL;
PostgreSQL's default).
"""

import math
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Protocol

from shoal.errors import InputError, MissingExtraError, MisuseError, ShoalError
from shoal_collect.faults import UnavailableError

_WRITER: Final = 0x73686F61  # the advisory lock that writers take turns with
_PATIENCE_MS: Final = 30_000
_LOOK_EVERY_S: Final = 3600.0
_ROOM_BYTES: Final = 1 << 25  # for the longest request, in the log of writes and in the file
# a server that is cut off without a word is given up after half a minute, not after hours (libpq's options)
_ALIVE: Final[dict[str, Any]] = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


@dataclass(frozen=True)
class Schema:
    """Tables of ``storage/tables``; a database of another ``number`` is refused."""

    name: str
    number: int

    def statements(self, *, postgres: bool) -> list[str]:
        """Of new tables, in order; those for both databases differ only in the names of types."""
        types = {
            "ID": "INTEGER PRIMARY KEY",
            "NEVER_AGAIN": "INTEGER PRIMARY KEY AUTOINCREMENT",
            "BYTES": "BLOB",
            "NUMBER": "INTEGER",
        }
        if postgres:
            serial = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
            types = {"ID": serial, "NEVER_AGAIN": serial, "BYTES": "BYTEA", "NUMBER": "BIGINT"}
        own = f"{self.name}.{'postgres' if postgres else 'sqlite'}.sql"
        tables = [files(__package__) / "tables" / name for name in (f"{self.name}.sql", "heartbeat.sql", own)]
        text = "".join(
            table.read_text(encoding="utf-8").format(**types) for table in tables if table.is_file()
        )
        return [statement for statement in map(str.strip, text.split(";")) if statement]


# collectors (and witnesses) count from 42 and authorities from 21: neither opens the database of the other
COLLECTOR: Final = Schema("collector", 42)
AUTHORITY: Final = Schema("authority", 24)


class _Connection(Protocol):
    def execute(self, statement: Any, values: Any = ..., /) -> Any: ...

    def close(self) -> None: ...


class Database(AbstractContextManager["Database"]):
    """An open database; a new one gets its tables.

    ``url``: ``sqlite:///FILE`` (or a file name), ``postgresql://...``, or None for memory. InputError for a
    database of another program or of another version of shoal.
    """

    def __init__(self, url: str | Path | None = None, schema: Schema = COLLECTOR) -> None:
        text = None if url is None else str(url)
        self.postgres = text is not None and text.startswith(("postgresql://", "postgres://"))
        is_address = text is None or self.postgres or text.startswith("sqlite:///") or "://" not in text
        if not is_address or text in ("", "sqlite:///"):
            raise MisuseError(
                "an address of another kind; give the database as sqlite:///FILE or "
                "postgresql://USER@HOST/NAME"
            )
        self._url = text if text is None or self.postgres else text.removeprefix("sqlite:///")
        self._here = threading.local()
        self._all: list[tuple[threading.Thread, _Connection]] = []
        self._is_open = False  # whether it has been; then whatever is wrong with it may pass
        self._lock = threading.Lock()
        self._memory: _Connection | None = None
        self._damage, self._look_again_s = "ok", -math.inf
        try:
            self._prepare(schema)
            self._is_open = True
        except BaseException as error:
            self.close()
            if isinstance(error, ShoalError) or not isinstance(error, Exception):
                raise
            # each driver has errors of its own; the address may hold a password, and is not repeated
            raise InputError(
                f"the database is busy, read-only, or another server's ({type(error).__name__}); name another"
            ) from error

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Of all threads."""
        with self._lock:
            for _, opened in self._all:
                opened.close()
            self._all.clear()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows."""
        cursor = self._run(statement, values)
        return list(cursor.fetchall())

    def row(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row, if any."""
        first: tuple[Any, ...] | None = self._run(statement, values).fetchone()
        return first

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Change rows; return how many."""
        return int(self._run(statement, values).rowcount)

    def trouble(self) -> str:
        """Why the database cannot be read and written, if so.

        A SQLite file is also checked for damage once an hour.
        """
        try:
            with self.transaction():
                self.change("UPDATE heartbeat SET n = n + 1")
            if self._is_on_full_disk():
                return "the disk is full"
            if not self.postgres and time.monotonic() >= self._look_again_s:
                self._damage = str(self.rows("PRAGMA quick_check(1)")[0][0])
                self._look_again_s = time.monotonic() + _LOOK_EVERY_S
        except Exception as error:
            # each driver has errors of its own, and some quote the address
            return f"unusable ({type(error).__name__})"
        return "" if self._damage == "ok" else "damaged"

    def _is_on_full_disk(self) -> bool:
        """A small write fits into the file's pages, long after letters do not."""
        if self.postgres or self._url is None:
            return False
        return shutil.disk_usage(Path(self._url).absolute().parent).free < _ROOM_BYTES

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; writers take turns."""
        self._run("BEGIN" if self.postgres else "BEGIN IMMEDIATE", ())
        try:
            if self.postgres:
                self._run("SELECT pg_advisory_xact_lock(?)", (_WRITER,))
            yield
            self._run("COMMIT", ())
        except BaseException:
            with suppress(Exception):  # a connection that is gone has rolled back already
                self._run("ROLLBACK", ())
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state in the block; writers go on meanwhile."""
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" if self.postgres else "BEGIN", ())
        try:
            yield
        finally:
            with suppress(Exception):  # there is nothing to lose
                self._run("ROLLBACK", ())

    def _run(self, statement: str, values: Sequence[Any]) -> Any:
        connection, text = self._connection(), statement.replace("?", "%s") if self.postgres else statement
        try:
            return connection.execute(text, values)
        except Exception as error:
            # each driver has errors of its own; all but a lost connection are raised as they are
            if not self.postgres or not getattr(connection, "closed", False):
                raise
            self._forget(connection)
            raise UnavailableError(
                "the database has gone away; the request was not carried out, try again"
            ) from error

    def _connection(self) -> _Connection:
        open_connection: _Connection | None = self._memory or getattr(self._here, "connection", None)
        if open_connection is None:
            open_connection = self._open()
            self._here.connection = open_connection
            if self._url is None:
                self._memory = open_connection
            with self._lock:
                for thread, opened in self._all:
                    if not thread.is_alive():  # else a server that runs for long opens more and more
                        opened.close()
                self._all = [(thread, opened) for thread, opened in self._all if thread.is_alive()]
                self._all.append((threading.current_thread(), open_connection))
        return open_connection

    def _forget(self, connection: _Connection) -> None:
        self._here.connection = None
        with self._lock:
            self._all = [(thread, opened) for thread, opened in self._all if opened is not connection]

    def _open(self) -> _Connection:
        if self.postgres:
            try:
                return _open_postgres(str(self._url))
            except InputError as error:
                if not self._is_open:
                    raise
                raise UnavailableError("the database is away; the request was not carried out") from error
        path = ":memory:" if self._url is None else self._url
        if self._url is not None:
            # a new file is for its owner alone; when it cannot be made, SQLite says so better
            with suppress(OSError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(
                path, isolation_level=None, check_same_thread=False, timeout=_PATIENCE_MS / 1000
            )
            # what is deleted is overwritten
            for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                connection.execute(f"PRAGMA {setting}")
        except sqlite3.DatabaseError as error:
            if connection is not None:
                connection.close()
            raise InputError(f"{path} cannot be used as a database ({error}); name another file") from error
        return connection

    def _prepare(self, schema: Schema) -> None:
        with self.transaction():
            found = self._schema_number()
            if found not in (0, schema.number):
                raise InputError(
                    f"the database holds something else (schema {found}), or is of another version of "
                    "shoal; name another, or use that version"
                )
            if found == 0:
                for statement in schema.statements(postgres=self.postgres):
                    self._run(statement, ())
                if self.postgres:
                    self._run("INSERT INTO schema_version VALUES (?)", (schema.number,))
                else:
                    self._run(f"PRAGMA user_version = {schema.number}", ())

    def _schema_number(self) -> int:
        """0 for a new database."""
        if not self.postgres:
            return int(self._run("PRAGMA user_version", ()).fetchone()[0])
        self._run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)", ())
        version_row = self.row("SELECT version FROM schema_version")
        return 0 if version_row is None else int(version_row[0])


def _open_postgres(url: str) -> _Connection:
    """Errors leave out the password."""
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"PostgreSQL needs {error.name}; install it with: pip install 'shoal-collect[server]'"
        ) from error
    try:
        connection: _Connection = psycopg.connect(url, autocommit=True, connect_timeout=10, **_ALIVE)
    except psycopg.Error as error:
        raise InputError(
            f"the PostgreSQL database cannot be opened ({type(error).__name__}); check its address, name "
            "and password"
        ) from error
    return connection


EVEN_S: Final = 24 * 3600.0  # so long the clock must have gone evenly before anything is deleted
_LEAP_S: Final = 12 * 3600.0  # a longer pause between two looks may be one, or a clock that was set
_BACK_S: Final = 300.0
_NOTED_S: Final = 60.0  # a write to the disk for each look would let strangers keep members waiting


def may_delete(database: Database, now_s: float) -> bool:
    """Whether the clock has run evenly for a day; records its reading.

    Expired rows are deleted for good, so a clock that jumped must not delete. Belongs inside a transaction.
    """
    row = database.row("SELECT seen_s, even_since_s FROM clock")
    if row is None:
        database.change("INSERT INTO clock VALUES (?, ?)", (now_s, now_s))
        return False
    seen_s, since_s = float(row[0]), float(row[1])
    if not -_BACK_S <= now_s - seen_s <= _LEAP_S:
        since_s = now_s
    if not 0 <= now_s - seen_s < _NOTED_S:
        database.change("UPDATE clock SET seen_s = ?, even_since_s = ?", (now_s, since_s))
    return now_s - since_s >= EVEN_S
