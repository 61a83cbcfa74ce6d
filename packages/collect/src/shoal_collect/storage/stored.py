"""What a collector has stored, one by one: read for an export, handed to its owner, taken back, outlived.

A count over the state before a day must not change while that day's rounds ask for it, or an honest collector
and its witness would contradict each other. So a release that is taken back leaves exports and retrieval at
once, counts from the next day on, and the database when no round can still ask for a day before that.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import decode_points
from shoal_collect.storage.database import Database

SETTLES_DAYS: Final = 2  # a session may begin on the last day that counts it, and ask a witness on the next


@dataclass(frozen=True)
class Stored:
    """A release in the database.

    Attributes
    ----------
    identifier
        Its identifier; None for a record of nobody.
    day
        The day since 1970 on which it was stored.
    points
        Its cylinders.
    """

    identifier: str | None
    day: int
    points: tuple[Cylinder, ...]


class StoredReleases:
    """The releases in a collector's database.

    Parameters
    ----------
    database
        The collector's.
    """

    def __init__(self, database: Database) -> None:
        self._db = self.database = database

    def all(self, *, day: int | None = None, among: Collection[str] | None = None) -> list[Stored]:
        """Return what is stored and not taken back.

        Parameters
        ----------
        day
            Only what was stored on this day since 1970.
        among
            Only these identifiers.
        """
        found = []
        for identifier, stored_on, points in self._db.rows(
            "SELECT identifier, day, points FROM record WHERE NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier) ORDER BY id"
        ):
            if (day is None or stored_on == day) and (among is None or identifier in among):
                found.append(Stored(identifier, int(stored_on), decode_points(bytes(points))))
        return found

    def terms(self) -> list[dict[str, Any]]:
        """Return the terms of all rounds that got as far as drawing groups, each once, the oldest first."""
        rows = self._db.rows(
            "SELECT terms FROM round WHERE phase IN ('grouped', 'over') GROUP BY terms ORDER BY MIN(id)"
        )
        return [dict(json.loads(row[0])) for row in rows]

    def owned(self, identifier: str, claim_key: bytes) -> Stored:
        """Return a release to whoever holds its key; raise PeerError for anybody else."""
        row = self._db.row(
            "SELECT day, points FROM record WHERE identifier = ? AND claim_key = ? AND NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier)",
            (identifier, claim_key),
        )
        if row is None:
            raise _not_there()
        return Stored(identifier, int(row[0]), decode_points(bytes(row[1])))

    def withdraw(self, identifier: str, claim_key: bytes, today: int) -> tuple[int, int]:
        """Take a release back for whoever holds its key; the same again has no effect.

        Returns
        -------
        tuple of int
            The day since 1970 on which it was taken back, and the first day on which it no longer counts.

        Raises
        ------
        PeerError
            If no release of this identifier is there, or it is another key's.
        """
        with self._db.transaction():
            told = self._db.row(
                "SELECT day, due FROM withdrawal WHERE identifier = ? AND claim_key = ?",
                (identifier, claim_key),
            )
            if told is not None:
                return int(told[0]), int(told[1])
            self.owned(identifier, claim_key)
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "
                "WHERE identifier = ?",
                (today, today + 1, identifier),
            )
            return today, today + 1

    def tidy(self, today: int, kept_days: int | None) -> int:
        """Take back what has been kept long enough, and delete what no round can still count.

        Parameters
        ----------
        today
            The day since 1970.
        kept_days
            How many days a release is kept; None for as long as its owner does not take it back.

        Returns
        -------
        int
            How many releases were deleted.
        """
        outlived = "identifier IS NOT NULL AND day <= ?", (-1 if kept_days is None else today - kept_days,)
        over = "SELECT record FROM withdrawal WHERE record IS NOT NULL AND due <= ?", (today - SETTLES_DAYS,)
        if not (self._any(f"SELECT 1 FROM record WHERE {outlived[0]}", outlived[1]) or self._any(*over)):  # noqa: S608
            return 0
        with self._db.transaction():
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "  # noqa: S608
                f"WHERE {outlived[0]} ON CONFLICT DO NOTHING",
                (today, today + 1, *outlived[1]),
            )
            self._db.change(f"DELETE FROM place WHERE record IN ({over[0]})", over[1])  # noqa: S608
            n_deleted = self._db.change(f"DELETE FROM record WHERE id IN ({over[0]})", over[1])  # noqa: S608
            self._db.change(
                "UPDATE withdrawal SET record = NULL WHERE record IS NOT NULL AND due <= ?", over[1]
            )
        return n_deleted

    def _any(self, statement: str, values: tuple[int, ...]) -> bool:
        return self._db.row(f"{statement} LIMIT 1", values) is not None


def _not_there() -> PeerError:
    """The same words for a release that never was, one that is gone, and one of another key."""
    return PeerError("not-entitled", "no release of this identifier is stored under this key")
