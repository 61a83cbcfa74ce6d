"""Logins at an institution: a person is a keyed digest, so the database names no one."""

import hashlib
from typing import Any, Final

from shoal_collect.faults import PeerError
from shoal_collect.storage.database import Database

_OPEN_S: Final = 600.0
_MOST_OPEN = 10_000
_TRIES: Final = 3


class Logins:
    """In a database, with the steps AUTHORITY."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def begin(self, state: bytes, account: bytes, now_s: float) -> float:
        """Record a login in place of the account's earlier one; return its deadline.

        PeerError while too many are under way.
        """
        with self._db.transaction():
            self._db.change("DELETE FROM login WHERE until_s < ? OR account = ?", (now_s - _OPEN_S, account))
            if self._db.rows("SELECT COUNT(*) FROM login")[0][0] >= _MOST_OPEN:
                raise PeerError("busy", "too many logins are under way; try again in some minutes")
            self._db.change(
                "INSERT INTO login (state, account, until_s, used, tries) VALUES (?, ?, ?, 0, 0)",
                (_digest(state), account, now_s + _OPEN_S),
            )
        return now_s + _OPEN_S

    def use(self, state: bytes, now_s: float) -> None:
        """Accept the institution's answer, once and in time."""
        with self._db.transaction():
            if self._row("used", state, now_s)[0]:
                raise PeerError("duplicate", "this login was used already; begin it again")
            self._db.change("UPDATE login SET used = 1 WHERE state = ?", (_digest(state),))

    def note_person(self, state: bytes, person: bytes) -> None:
        """Record who has logged in."""
        with self._db.transaction():
            self._db.change("UPDATE login SET person = ? WHERE state = ?", (person, _digest(state)))

    def confirm(self, state: bytes, number: str, expected: str, now_s: float) -> None:
        """Admit the account whose device shows this number, one per person."""
        with self._db.transaction():
            account, person, tries = self._row("account, person, tries", state, now_s)
            if person is None:
                raise PeerError("wrong-session", "no one has logged in here; begin it again")
            if tries >= _TRIES:
                raise PeerError("too-many", "too many wrong numbers; begin the login again")
            right = number == expected
            if right:
                self._admit(bytes(person), bytes(account))
                self._db.change("DELETE FROM login WHERE state = ?", (_digest(state),))
            else:
                self._db.change("UPDATE login SET tries = tries + 1 WHERE state = ?", (_digest(state),))
        if not right:
            raise PeerError("not-entitled", "another number than the one that the device shows")

    def _row(self, columns: str, state: bytes, now_s: float) -> Any:
        query = f"SELECT until_s, {columns} FROM login WHERE state = ?"  # noqa: S608  (columns of ours)
        row = self._db.row(query, (_digest(state),))
        if row is None:
            raise PeerError("wrong-session", "this login was not begun here, or another one was after it")
        if row[0] < now_s:
            raise PeerError("too-late", "this login took longer than ten minutes; begin it again")
        return row[1:]

    def _admit(self, person: bytes, account: bytes) -> None:
        row = self._db.row("SELECT account FROM logged_in WHERE person = ?", (person,))
        if row is not None and bytes(row[0]) != account:
            before = bytes(row[0])
            self._db.change("DELETE FROM person WHERE account = ?", (before,))
            # what the old account has got the new one has got: one token and one credential for each person
            self._db.change(
                "UPDATE issued SET account = ? WHERE account = ? AND purpose NOT IN "
                "(SELECT purpose FROM issued WHERE account = ?)",
                (account, before, account),
            )
        self._db.change(
            "INSERT INTO logged_in (person, account) VALUES (?, ?) "
            "ON CONFLICT (person) DO UPDATE SET account = excluded.account",
            (person, account),
        )
        self._db.change("INSERT INTO person VALUES (?) ON CONFLICT DO NOTHING", (account,))


def _digest(state: bytes) -> bytes:
    """So that the database cannot continue a login."""
    return hashlib.blake2b(state, digest_size=32, person=b"shoal login").digest()
