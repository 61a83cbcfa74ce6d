"""A witness with its own database: it copies closed days and checks their roots.

It also asks for a group's questions and terms. That decides only which questions are answered, never how: a
collector that tells the witness something else gets differing answers, and is detected.
"""

from collections.abc import Callable
from typing import Any, Final

from shoal_collect.faults import refusing
from shoal_collect.matching.records import Release
from shoal_collect.roles.days import ClosedDay
from shoal_collect.roles.terms import read_terms
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.stored import StoredReleases

_KEPT_DAYS: Final = 3  # so long a group may still ask what it has asked


class DayFollower:
    """Copies closed days.

    ``ask``: requests an address, and returns the checked JSON; PeerError for a refusal. ``require``: raises
    PeerError for a release that has no right to its scope.
    """

    def __init__(
        self,
        database: Database,
        ask: Callable[[str], Any],
        require: Callable[[Release, bytes], None] = lambda *_: None,
    ) -> None:
        self._db, self._ask, self._days, self._require = database, ask, ClosedDays(database), require

    def follow_until(self, day: int) -> None:
        """Copy all closed days before this one; PeerError for entries not under a root."""
        while True:
            reply = self._ask(f"/v1/days?after={self._days.last_day}")
            days = [ClosedDay.read(entry).day for entry in reply] if isinstance(reply, list) else []
            new = [closed for closed in days if self._days.last_day < closed < day]
            if not new:
                break
            for closed in new:
                self._days.take(closed, self._ask(f"/v1/days/{closed}"), self._require)
        StoredReleases(self._db).tidy(day, None)
        self._forget(day - _KEPT_DAYS)

    def _forget(self, before_day: int) -> None:
        with self._db.transaction():
            for table in ("ticket", "asked"):
                old = "session IN (SELECT session FROM asked WHERE day < ?)"
                self._db.change(f"DELETE FROM {table} WHERE {old}", (before_day,))  # noqa: S608  (tables of ours)
            self._db.change("DELETE FROM round WHERE id NOT IN (SELECT round FROM ticket)")

    def follow_group(self, session: bytes) -> None:
        """Copy a group's members, terms and questions."""
        reply = self._ask(f"/v1/groups/{session.hex()}/asked")
        with refusing("bad-frame", "words that do not say what a group has asked"):
            members = [bytes.fromhex(member) for member in reply["members"]]
            batches = [
                (
                    bytes.fromhex(entry["batch"]),
                    bytes.fromhex(entry["identity"]),
                    int(entry["day"]),
                    None if entry["withheld"] is None else bytes.fromhex(entry["withheld"]),
                )
                for entry in reply["asked"]
            ]
            terms = read_terms(reply["terms"])
        with self._db.transaction():
            if not self._db.row("SELECT 1 FROM ticket WHERE session = ?", (session,)):
                self._db.change(
                    "INSERT INTO round (name, terms, phase, restarts, deadline_s) "
                    "VALUES (?, ?, 'over', 0, 0)",
                    (session, terms.model_dump_json()),
                )
                number = self._db.rows("SELECT id FROM round WHERE name = ?", (session,))[0][0]
                for place, who in enumerate(members):
                    self._db.change(
                        "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES "
                        "(?, ?, ?, 0, ?, ?)",
                        (number, who, b"", session, place),
                    )
            for row in batches:
                self._db.change("DELETE FROM asked WHERE session = ? AND batch = ?", (session, row[0]))
                self._db.change("INSERT INTO asked VALUES (?, ?, ?, ?, ?)", (session, *row))
