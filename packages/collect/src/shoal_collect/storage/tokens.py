"""Spent tokens: one row for each admitted key."""

from shoal_collect.faults import PeerError
from shoal_collect.storage.database import Database


class Tokens:
    """Of this period; most methods belong inside a transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def statement(self, period: int) -> bytes:
        """The registrar's key as the first token showed it."""
        row = self._db.row("SELECT statement FROM token_key WHERE period = ?", (period,))
        return b"" if row is None else bytes(row[0])

    def keep_statement(self, period: int, statement: bytes) -> None:
        """Record it; PeerError if another was stated before."""
        self._db.change("INSERT INTO token_key VALUES (?, ?) ON CONFLICT DO NOTHING", (period, statement))
        if self.statement(period) != statement:
            raise PeerError(
                "bad-signature",
                "a token under a second key of the registrar for one period; tell both operators",
            )

    def spend(self, identity: bytes, number: int, period: int) -> None:
        """Spend a token for a round; PeerError if it was spent for another."""
        row = (identity, number, period)
        self._db.change("INSERT INTO spent VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
        if self._db.rows("SELECT round FROM spent WHERE identity = ?", (identity,))[0][0] != number:
            raise PeerError(
                "duplicate", "a token that was spent for another round; there is a new one in the next period"
            )

    def give_back(self, number: int) -> None:
        """Free the tokens of members without a group, and of a failed round."""
        self._db.change(
            "DELETE FROM spent WHERE round = ? AND identity NOT IN "
            "(SELECT identity FROM ticket WHERE round = ? AND session IS NOT NULL)",
            (number, number),
        )

    def give_back_one(self, number: int, identity: bytes) -> None:
        """Free the token of a member whom a restart left out."""
        self._db.change("DELETE FROM spent WHERE round = ? AND identity = ?", (number, identity))

    def forget(self, before_period: int) -> None:
        """Delete periods that are over."""
        self._db.change("DELETE FROM spent WHERE period < ?", (before_period,))
        self._db.change("DELETE FROM token_key WHERE period < ?", (before_period,))
