"""Stored releases: exported, fetched, withdrawn, expired.

A count over the state before a day must not change while that day's rounds use it, or an honest collector
and its witness would contradict each other. So a withdrawn release leaves exports and retrieval at once,
counts from the next day on, and the database when no round can still ask for a day before that.
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
class ReleaseRow:
    """Identifier, day since 1970, cylinders."""

    identifier: str
    day: int
    points: tuple[Cylinder, ...]


class StoredReleases:
    """In a collector's database."""

    def __init__(self, database: Database) -> None:
        self._db = self.database = database

    def all(self, *, day: int | None = None, identifiers: Collection[str] | None = None) -> list[ReleaseRow]:
        """Releases that are not withdrawn, of one day or with these identifiers."""
        releases = []
        for identifier, stored_on, points in self._db.rows(
            "SELECT identifier, day, points FROM record WHERE NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier) ORDER BY id"
        ):
            if (day is None or stored_on == day) and (identifiers is None or identifier in identifiers):
                releases.append(ReleaseRow(identifier, int(stored_on), decode_points(bytes(points))))
        return releases

    def terms(self) -> list[dict[str, Any]]:
        """The terms of all rounds that drew groups, the oldest first."""
        rows = self._db.rows(
            "SELECT terms FROM round WHERE phase IN ('grouped', 'over') GROUP BY terms ORDER BY MIN(id)"
        )
        return [dict(json.loads(row[0])) for row in rows]

    def questions(self) -> tuple[int, int]:
        """How many were asked, and to how many of them the answer was withheld."""
        n, withheld = self._db.rows("SELECT n, withheld FROM answers")[0]
        return int(n), int(withheld)

    def owned(self, identifier: str, claim_key: bytes) -> ReleaseRow:
        """A release for the holder of its key."""
        row = self._db.row(
            "SELECT day, points FROM record WHERE identifier = ? AND claim_key = ? AND NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier)",
            (identifier, claim_key),
        )
        if row is None:
            raise _no_such_release()
        return ReleaseRow(identifier, int(row[0]), decode_points(bytes(row[1])))

    def withdraw(self, identifier: str, claim_key: bytes, today: int) -> tuple[int, int]:
        """Withdraw a release for the holder of its key.

        The day since 1970, and the first one on which it no longer counts.
        """
        with self._db.transaction():
            withdrawal = self._db.row(
                "SELECT day, due FROM withdrawal WHERE identifier = ? AND claim_key = ?",
                (identifier, claim_key),
            )
            if withdrawal is not None:
                return int(withdrawal[0]), int(withdrawal[1])
            self.owned(identifier, claim_key)
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "
                "WHERE identifier = ?",
                (today, today + 1, identifier),
            )
            return today, today + 1

    def tidy(self, today: int, kept_days: int | None) -> int:
        """Withdraw releases after ``kept_days`` (None.

        Never), delete those that no round can count; return how many.
        """
        outlived = "day <= ?", (-1 if kept_days is None else today - kept_days,)
        over = "SELECT record FROM withdrawal WHERE record IS NOT NULL AND due <= ?", (today - SETTLES_DAYS,)
        if not (self._any(f"SELECT 1 FROM record WHERE {outlived[0]}", outlived[1]) or self._any(*over)):  # noqa: S608  (names of ours)
            return 0
        with self._db.transaction():
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "  # noqa: S608  (names of ours)
                f"WHERE {outlived[0]} ON CONFLICT DO NOTHING",
                (today, today + 1, *outlived[1]),
            )
            self._db.change(f"DELETE FROM place WHERE record IN ({over[0]})", over[1])  # noqa: S608  (names of ours)
            n_deleted = self._db.change(f"DELETE FROM record WHERE id IN ({over[0]})", over[1])  # noqa: S608  (names of ours)
            self._db.change(
                "UPDATE withdrawal SET record = NULL WHERE record IS NOT NULL AND due <= ?", over[1]
            )
        return n_deleted

    def _any(self, statement: str, values: tuple[int, ...]) -> bool:
        return self._db.row(f"{statement} LIMIT 1", values) is not None


def _no_such_release() -> PeerError:
    """The same message for one that never was, is gone, or has another key."""
    return PeerError("not-entitled", "no release of this identifier is stored under this key")
