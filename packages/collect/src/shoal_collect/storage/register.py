"""Admitted accounts, open invitations, tokens."""

from collections.abc import Iterable, Sequence

from shoal_collect.roles.admission import EXCLUDED_DAYS, Purpose
from shoal_collect.storage.database import Database


class RegisterBook:
    """A register in a database, with the steps AUTHORITY."""

    def __init__(self, database: Database) -> None:
        self.database = self._db = database

    def invite(self, digests: Iterable[bytes]) -> None:
        """Add invitations, by digest."""
        with self._db.transaction():
            for digest in digests:
                self._db.change("INSERT INTO invitation (digest) VALUES (?)", (digest,))

    def allow(self, persons: Iterable[bytes]) -> int:
        """Admit accounts; return how many were new."""
        with self._db.transaction():
            return sum(self._add(person) for person in persons)

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; whether this person has used it now or before."""
        with self._db.transaction():
            row = self._db.row("SELECT account FROM invitation WHERE digest = ?", (code,))
            if row is None or (row[0] is not None and bytes(row[0]) != person):
                return False
            if row[0] is None and not self.knows(person):  # who is admitted already uses up no invitation
                self._db.change("UPDATE invitation SET account = ? WHERE digest = ?", (person, code))
                self._add(person)
            return True

    def knows(self, person: bytes) -> bool:
        """Whether a person is admitted."""
        return self._db.row("SELECT 1 FROM person WHERE account = ?", (person,)) is not None

    def issue(self, purpose: Purpose, person: bytes, digest: bytes, registrar: bytes) -> bool:
        """Record a person's one request; False if another was recorded."""
        with self._db.transaction():
            if not self.knows(person):  # put out meanwhile, by a login with another account
                return False
            for table in ("issued", "blamed", "clearance"):  # tables of ours
                before = purpose.first_day - EXCLUDED_DAYS
                self._db.change(f"DELETE FROM {table} WHERE over_day <= ?", (before,))  # noqa: S608
            self._db.change(
                "INSERT INTO issued (purpose, account, digest, over_day, registrar) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (purpose.text, person, digest, purpose.end_day, registrar),
            )
            asked = "SELECT digest FROM issued WHERE purpose = ? AND account = ?"
            return bytes(self._db.rows(asked, (purpose.text, person))[0][0]) == digest

    def was_issued(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Whether this very request was recorded."""
        row = self._db.row(
            "SELECT digest FROM issued WHERE purpose = ? AND account = ?", (purpose.text, person)
        )
        return row is not None and bytes(row[0]) == digest

    def to_clear(self, person: bytes, purpose: Purpose, settled_day: float, registrar: bytes) -> list[int]:
        """Periods that are over and not cleared.

        Those of another key of the registrar can no longer be cleared.
        """
        first = purpose.first_day - EXCLUDED_DAYS
        rows = self._db.rows(
            "SELECT purpose FROM issued WHERE account = ? AND cleared IS NULL AND over_day <= ? "
            "AND over_day > ? AND registrar = ?",
            (person, settled_day, first, registrar),
        )
        purposes = (Purpose.read(bytes(row[0])) for row in rows)
        of_this = (purpose.collector_key, purpose.days)
        return sorted(
            earlier.period for earlier in purposes if (earlier.collector_key, earlier.days) == of_this
        )

    def note_cleared(self, person: bytes, purposes: Sequence[Purpose]) -> None:
        """Record clearances."""
        with self._db.transaction():
            for purpose in purposes:
                self._db.change(
                    "UPDATE issued SET cleared = 1 WHERE purpose = ? AND account = ?", (purpose.text, person)
                )

    def blame(self, identity: bytes, purpose: Purpose) -> bool:
        """Record a proof of blame; whether it is the first."""
        with self._db.transaction():
            row = (identity, purpose.end_day)
            return self._db.change("INSERT INTO blamed VALUES (?, ?) ON CONFLICT DO NOTHING", row) > 0

    def is_blamed(self, identity: bytes) -> bool:
        """Whether a proof stands against a key."""
        return self._db.row("SELECT 1 FROM blamed WHERE identity = ?", (identity,)) is not None

    def clear(self, identity: bytes, purpose: Purpose, digest: bytes) -> bool:
        """Record a key's one request; False if another was recorded."""
        with self._db.transaction():
            row = (identity, digest, purpose.end_day)
            self._db.change("INSERT INTO clearance VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
            noted = self._db.rows("SELECT digest FROM clearance WHERE identity = ?", (identity,))
            return bytes(noted[0][0]) == digest

    def counts(self) -> dict[str, float]:
        """Persons, open invitations, tokens, and blamed keys."""
        (persons,), (open_invitations,), (tokens,), (blamed,) = (
            self._db.rows(f"SELECT COUNT(*) FROM {what}")[0]  # noqa: S608  (tables of ours)
            for what in ("person", "invitation WHERE account IS NULL", "issued", "blamed")
        )
        return {
            "persons": persons,
            "open_invitations": open_invitations,
            "tokens_issued": tokens,
            "blamed": blamed,
        }

    def _add(self, person: bytes) -> int:
        return self._db.change("INSERT INTO person VALUES (?) ON CONFLICT DO NOTHING", (person,))
