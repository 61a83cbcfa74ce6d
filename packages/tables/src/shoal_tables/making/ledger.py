"""The ledger: costs of tables of the same people, and the rest; one SQLite file for one group."""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from math import fsum
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError, MisuseError
from shoal.version import __version__
from shoal_tables.definition.manifest import LedgerEntry, Promise, Unit
from shoal_tables.making.promise import DELTA, epsilon_of, guess_of, period_of, require_promise

_WAIT_S: Final = 30.0
_TABLES: Final = files(__package__) / "ledger.sql"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of a table for its unit, and, where that is a day, a person with all their days."""

    kind: str
    unit: Unit
    unit_of_protection: str
    promise: Promise
    persons_rho: float

    def rho_for(self, unit: str) -> float:
        """Rho for this unit: a table that protects persons protects each of their days as well."""
        return self.persons_rho if (unit, self.unit) == ("person", "person-day") else self.promise.rho


@dataclass(frozen=True, kw_only=True)
class Balance:
    """The rest of a group of people: epsilon at the ledger's delta."""

    unit: Unit
    budget: float
    delta: float
    spent: float
    tables: int


@dataclass(frozen=True)
class Ledger:
    """A file that counts what tables of the same people cost together.

    Parameters
    ----------
    path : Path
        A SQLite file; it is made with the first table.
    people : str
        The publisher's name for the people, such as "subscribers 2024"; only its digest is stored.
    budget : float or None
        Epsilon for all tables together; needed for a new file.
    """

    path: Path
    people: str
    budget: float | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of the name of the people."""
        return hashlib.sha256(self.people.encode()).hexdigest()

    def require(self, cost: Cost) -> None:
        """Raise MisuseError when a table would exceed the budget; spends nothing."""
        with self._open(cost.unit, in_memory=True) as connection:
            self._require_room(connection, cost)

    def spend(self, cost: Cost) -> LedgerEntry:
        """Write the cost of a table before its noise is drawn; later steps cannot take it back."""
        entry, promise = secrets.token_hex(16), cost.promise
        with self._open(cost.unit) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._require_room(connection, cost)
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                "INSERT INTO tables VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
                (entry, moment, cost.kind, cost.unit, cost.rho_for(_people(connection)[1]), promise.epsilon,
                 promise.delta, promise.sigma, promise.sensitivity, promise.granularity,
                 cost.unit_of_protection),
            )  # fmt: skip
            connection.execute("COMMIT")
        return LedgerEntry(people=self.digest, entry=entry)

    def bind(self, entry: LedgerEntry, counts_sha256: str) -> None:
        """Write which noisy counts an entry paid for: it pays for no other draw."""
        with self._open() as connection:
            connection.execute(
                "UPDATE tables SET counts_sha256 = ? WHERE entry = ? AND counts_sha256 IS NULL",
                (counts_sha256, entry.entry),
            )

    def balance(self) -> Balance:
        """The spent and the remaining epsilon."""
        with self._open() as connection:
            _, unit, budget, delta = _people(connection)
            rhos = [row["rho"] for row in _tables(connection)]
        spent = epsilon_of(fsum(rhos), delta) if rhos else 0.0
        return Balance(unit=unit, budget=budget, delta=delta, spent=spent, tables=len(rhos))

    def _require_room(self, connection: sqlite3.Connection, cost: Cost) -> None:
        digest, unit, budget, delta = _people(connection)
        if digest != self.digest:
            raise MisuseError(
                f"{self.path} is the ledger of other people than the --people that were named; use their "
                "own ledger"
            )
        if self.budget is not None and self.budget != budget:
            raise MisuseError(f"{self.path} has the budget {budget:g}; leave out --budget, or give the same")
        tables = _tables(connection)
        units = {dict(row).get("unit_of_protection") for row in tables}
        others = sorted(filter(None, units - {cost.unit_of_protection}))  # of older tables it is unknown
        if others and cost.unit_of_protection:  # unknown before any data is read
            raise MisuseError(
                f"one unit of the tables in {self.path} is {' or '.join(others)}; of this table it "
                f"is {cost.unit_of_protection}. What different units spend does not add up: read the data so "
                "that the unit is the same, for example with --id, or give this table a ledger of its own, "
                "and add up both for whoever is in both. Nothing was spent"
            )
        spent = fsum(row["rho"] for row in tables)
        total = epsilon_of(spent + cost.rho_for(unit), delta)
        if total > budget:
            before = epsilon_of(spent, delta) if spent else 0.0
            raise MisuseError(
                f"this table would bring these people to epsilon {total:.3g}, and their budget is "
                f"{budget:.3g}: {before:.3g} is spent. Choose a smaller --epsilon, or publish no further "
                "table of them"
            )

    def _is_new(self) -> bool:
        """Whether there is no file, or one that a command left empty when it was killed."""
        if not self.path.exists():
            return True
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as connection:
                return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,))
        except sqlite3.DatabaseError:
            return False  # to be named where it is used

    @contextmanager
    def _open(self, unit: Unit | None = None, *, in_memory: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection; with a unit, a new ledger gets its people, in its file or for now in memory."""
        is_new = self._is_new()
        if is_new:
            if unit is None:
                raise InputError(f"there is no ledger {self.path}; check the path")
            if self.budget is None:
                raise MisuseError(
                    f"{self.path} is a new ledger; say with --budget how much epsilon all tables may cost"
                )
            require_promise(self.budget, DELTA)
            if not self.path.parent.is_dir():
                raise InputError(f"there is no folder {self.path.parent} for the ledger; make it first")
        try:
            place = ":memory:" if is_new and in_memory else self.path
            with closing(sqlite3.connect(place, timeout=_WAIT_S, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.row_factory = sqlite3.Row
                if unit is not None and (is_new or not in_memory):
                    self._create(connection, unit)
                yield connection
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is no ledger that can be used: {error}") from error

    def _create(self, connection: sqlite3.Connection, unit: Unit) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.read_text(encoding="utf-8").split(";")[:-1]:
            connection.execute(statement)
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(tables)")]
        if "unit_of_protection" not in columns:  # of a ledger from before tables stated it
            connection.execute("ALTER TABLE tables ADD COLUMN unit_of_protection TEXT")
        if self.budget is not None:
            connection.execute(
                "INSERT OR IGNORE INTO people VALUES (1, ?, ?, ?, ?)", (self.digest, unit, self.budget, DELTA)
            )
        connection.execute("COMMIT")


def _people(connection: sqlite3.Connection) -> tuple[str, Unit, float, float]:
    row: tuple[str, Unit, float, float] | None = connection.execute(
        "SELECT digest, unit, budget, delta FROM people"
    ).fetchone()
    if row is None:
        raise InputError("the ledger names no people; it was not completed, so remove it and give --budget")
    return row


def _tables(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM tables ORDER BY spent_at, entry").fetchall()


def registry_rows(path: Path) -> list[dict[str, Any]]:
    """Each table in a ledger as a row of the registry of deployments, but for the organization."""
    unknown = "what the table's manifest says"
    with Ledger(path, "")._open() as connection:
        rows = [dict(row) for row in _tables(connection)]
    return [
        {
            "name": f"table of {row['kind']}, {row['entry'][:8]}",
            "deployment_date": row["spent_at"][:10],
            "dp_flavor": "zero-concentrated differential privacy",
            "privacy_loss": {name: row[name] for name in ("rho", "epsilon", "delta")},
            "privacy_unit": f"{period_of(row['unit'])}; one unit is "
            f"{row.get('unit_of_protection') or unknown}",
            "model": "central",
            "mechanism": f"discrete Gaussian, sigma {row['sigma']} for a sensitivity of {row['sensitivity']} "
            f"(1/{row['granularity']})",
            "accounting": "sum of rho",
            "implementation": f"shoal {__version__}, OpenDP",
            "best_guess_of_membership": round(guess_of(row["epsilon"], row["delta"]), 4),
        }
        for row in rows
    ]
