"""Groups once they are drawn, and their questions: each answered once, from one day's state.

Answers about one place add up. So a session asks exactly the agreed questions, all answered from the state
of the first. Where people are admitted, a seat in a session costs its owner's token of the period. So c
people ask c times the questions of a member, fewer than 2c times where they are more than half of a session
and vouch for all of it, whatever others ask. The resolution of ``Thresholds`` bounds what they can learn, and
not this number.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from shoal_collect.faults import PeerError
from shoal_collect.matching.records import RECORD_BYTES
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import BODY_BYTES, body_digest, longest_vouching, snapshot_day
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import TooManyRowsError


@lru_cache(maxsize=256)
def stored_terms(text: str) -> Terms:
    """The terms of a round (cached)."""
    return Terms.model_validate_json(text)


class Groups:
    """Reads groups; only the round's state machine writes them."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def membership(self, identity: bytes, session: bytes) -> tuple[int, list[bytes]]:
        """A member's place in a group, and all members."""
        members = self.members(session)
        if identity not in members:
            raise PeerError("not-entitled", "someone who is not in this group")
        return members.index(identity), members

    def members(self, session: bytes) -> list[bytes]:
        """All members in order."""
        rows = self._db.rows("SELECT identity FROM ticket WHERE session = ? ORDER BY place", (session,))
        if not rows:
            raise PeerError("wrong-session", "no group of this name; its round may be over")
        return [bytes(row[0]) for row in rows]

    def terms_of(self, session: bytes) -> Terms:
        """The terms of a group's round."""
        row = self._db.row(
            "SELECT terms FROM round WHERE id = (SELECT MIN(round) FROM ticket WHERE session = ?)", (session,)
        )
        if row is None:
            raise PeerError("wrong-session", "no group of this name; its round may be over")
        return stored_terms(row[0])

    def is_member(self, identity: bytes) -> bool:
        """Whether somebody is in a group, and so may wait for letters."""
        statement = "SELECT 1 FROM ticket WHERE identity = ? AND session IS NOT NULL LIMIT 1"
        return self._db.row(statement, (identity,)) is not None

    def longest_batch(self, identity: bytes, session: bytes) -> int:
        """Bytes of records that a member may send."""
        _, members = self.membership(identity, session)
        terms = self.terms_of(session)
        questions = longest_vouching(len(members)) + terms.n_questions * RECORD_BYTES
        return max(questions, len(members) * terms.release_records * RECORD_BYTES)

    def longest_letters(self, identity: bytes) -> int:
        """Bytes of letters that a member may send at once."""
        rows = self._db.rows(
            "SELECT terms FROM round WHERE id IN "
            "(SELECT round FROM ticket WHERE identity = ? AND session IS NOT NULL)",
            (identity,),
        )
        if not rows:
            raise PeerError("not-entitled", "someone who is in no group")
        all_terms = [stored_terms(row[0]) for row in rows]
        return min(BODY_BYTES, max((terms.group_size + 1) * (terms.letter_bytes + 4) for terms in all_terms))


MOST_ROWS: Final = 20_000  # stored points near a point of a question; more are not counted
MOST_S: Final = 10.0  # for a batch; what is not counted by then is not answered
_BATCHES: Final = 2  # of one member: her own, and that of a member for whom she stands in


class AskedQuestions:
    """All sessions' batches. ``elapsed_s``: a monotonic clock."""

    def __init__(self, database: Database, elapsed_s: Callable[[], float] = time.monotonic) -> None:
        self._db, self._elapsed_s = database, elapsed_s

    def answer(
        self,
        identity: bytes,
        session: bytes,
        records: Sequence[bytes],
        terms: Terms,
        slices: Sequence[bytes],
        now_s: float,
        people: Callable[[bytes, int], int],
    ) -> tuple[int, list[int | None]]:
        """Answer one batch; a repeated batch gets the same answers at no cost.

        ``slices``: the digest of each batch that the group vouched for. ``people``: counts a record over the
        state before a day. Returns this day, since 1970, and the answers, None where one is withheld.
        PeerError if their number is wrong, or the session may not ask them any more.
        """
        batch = body_digest(b"".join(records))
        day, withheld = self.find_batch(session, batch) or (
            self._begin(identity, session, batch, len(records), terms, slices, now_s),
            None,
        )
        if withheld is None:
            counts, until_s = list[int | None](), self._elapsed_s() + MOST_S
            for record in records:
                try:
                    counts.append(people(record, day) if self._elapsed_s() < until_s else None)
                except TooManyRowsError:
                    counts.append(None)
            counted = bytes(n is None for n in counts)
            withheld = self._note(session, batch, counted)
            if withheld == counted:
                return day, counts
        return day, repeat_answers(records, withheld, lambda record: people(record, day))

    def find_batch(self, session: bytes, batch: bytes) -> tuple[int, bytes | None] | None:
        """A batch's day and its withheld answers, if not new."""
        row = self._db.row(
            "SELECT day, withheld FROM asked WHERE session = ? AND batch = ?", (session, batch)
        )
        return None if row is None else (int(row[0]), None if row[1] is None else bytes(row[1]))

    def _begin(
        self,
        identity: bytes,
        session: bytes,
        batch: bytes,
        n: int,
        terms: Terms,
        slices: Sequence[bytes],
        now_s: float,
    ) -> int:
        if n != terms.n_questions:
            raise PeerError("bad-length", f"{n} questions; each member brings exactly {terms.n_questions}")
        with self._db.transaction():
            rows = self._db.rows("SELECT batch, identity, day FROM asked WHERE session = ?", (session,))
            day = int(rows[0][2]) if rows else snapshot_day(now_s)
            if any(bytes(row[0]) == batch for row in rows):
                return day
            if any(bytes(row[0]) not in slices for row in rows):
                raise PeerError("duplicate", "a second set of questions of one group; it asks one set, once")
            n_batches = sum(bytes(row[1]) == identity for row in rows)
            if len(rows) >= len(slices) or n_batches >= _BATCHES:
                raise PeerError("too-many", "this group has asked its questions; take part in another round")
            self._db.change("INSERT INTO asked VALUES (?, ?, ?, ?, NULL)", (session, batch, identity, day))
        return day

    def _note(self, session: bytes, batch: bytes, withheld: bytes) -> bytes:
        """What is withheld stays so when the batch comes again, here and at a witness."""
        with self._db.transaction():
            entry = self.find_batch(session, batch)
            if entry is not None and entry[1] is not None:
                return entry[1]
            self._db.change(
                "UPDATE asked SET withheld = ? WHERE session = ? AND batch = ?", (withheld, session, batch)
            )
            self._db.change(
                "UPDATE answers SET n = n + ?, withheld = withheld + ?", (len(withheld), sum(withheld))
            )
        return withheld


def batches_asked(database: Database, session: bytes) -> list[dict[str, Any]]:
    """The batches of a session, for a witness."""
    rows = database.rows("SELECT batch, identity, day, withheld FROM asked WHERE session = ?", (session,))
    return [dict(zip(("batch", "identity", "day", "withheld"), row, strict=True)) for row in rows]


def repeat_answers(
    records: Sequence[bytes], withheld: bytes, people: Callable[[bytes], int]
) -> list[int | None]:
    """Count again, but for what was withheld."""
    return [None if mark else people(record) for record, mark in zip(records, withheld, strict=True)]
