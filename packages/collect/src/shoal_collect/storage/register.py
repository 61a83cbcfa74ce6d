"""Admitted accounts, open invitations, tokens."""

from collections.abc import Iterable

from shoal_collect.roles.admission import Purpose
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

    def issue(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Record a person's one request; False if another was recorded."""
        with self._db.transaction():
            self._db.change("DELETE FROM issued WHERE over_day < ?", (purpose.first_day,))
            self._db.change(
                "INSERT INTO issued (purpose, account, digest, over_day) VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO NOTHING",
                (purpose.text, person, digest, purpose.end_day),
            )
            asked = "SELECT digest FROM issued WHERE purpose = ? AND account = ?"
            return bytes(self._db.rows(asked, (purpose.text, person))[0][0]) == digest

    def counts(self) -> dict[str, float]:
        """Persons, open invitations, and tokens."""
        (persons,), (open_invitations,), (tokens,) = (
            self._db.rows(f"SELECT COUNT(*) FROM {what}")[0]  # noqa: S608  (tables of ours)
            for what in ("person", "invitation WHERE account IS NULL", "issued")
        )
        return {"persons": persons, "open_invitations": open_invitations, "tokens_issued": tokens}

    def _add(self, person: bytes) -> int:
        return self._db.change("INSERT INTO person VALUES (?) ON CONFLICT DO NOTHING", (person,))
