"""A witness with a database of its own: it takes over the collector's closed days, and checks their roots.

What members ask is known to the collector first. So the witness also asks it which questions of a group it
has answered and on which terms. That decides only what is answered, never how: a collector that says
something else of a group than it told its members makes the answers differ, and is found.
"""

from collections.abc import Callable
from typing import Any, Final

from shoal_collect.faults import PeerError
from shoal_collect.roles.days import ClosedDay
from shoal_collect.roles.terms import read_terms
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.stored import StoredReleases

_KEPT_DAYS: Final = 3  # so long a group may still ask what it has asked


class Following:
    """What a witness takes over.

    Parameters
    ----------
    database
        The witness's own.
    ask
        Asks the collector for an address, signed with the witness's key; the reply as JSON, whose signature
        is checked. Raises PeerError for a refusal.
    """

    def __init__(self, database: Database, ask: Callable[[str], Any]) -> None:
        self._db, self._ask, self._days = database, ask, ClosedDays(database)

    def until(self, day: int) -> None:
        """Take over all closed days before this one; raise PeerError for what is not under a day's root."""
        while True:
            said = self._ask(f"/v1/days?after={self._days.last_day}")
            days = [ClosedDay.read(one).day for one in said] if isinstance(said, list) else []
            new = [one for one in days if self._days.last_day < one < day]
            if not new:
                break
            for one in new:
                self._days.take(self._ask(f"/v1/days/{one}"))
        StoredReleases(self._db).tidy(day, None)
        self._forget(day - _KEPT_DAYS)

    def _forget(self, before_day: int) -> None:
        with self._db.transaction():
            for table in ("ticket", "asked"):
                old = "session IN (SELECT session FROM asked WHERE day < ?)"
                self._db.change(f"DELETE FROM {table} WHERE {old}", (before_day,))  # noqa: S608  (tables of ours)
            self._db.change("DELETE FROM round WHERE id NOT IN (SELECT round FROM ticket)")

    def group(self, session: bytes) -> None:
        """Take over who is in a group, its terms, and what it has asked."""
        said = self._ask(f"/v1/groups/{session.hex()}/asked")
        try:
            members = [bytes.fromhex(one) for one in said["members"]]
            batches = [
                (
                    bytes.fromhex(one["batch"]),
                    bytes.fromhex(one["identity"]),
                    int(one["day"]),
                    None if one["withheld"] is None else bytes.fromhex(one["withheld"]),
                )
                for one in said["asked"]
            ]
            terms = read_terms(said["terms"])
        except (KeyError, TypeError, ValueError) as error:
            raise PeerError("bad-frame", "words that do not say what a group has asked") from error
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
