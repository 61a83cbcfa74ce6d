"""Groups once they are drawn."""

from functools import lru_cache

from shoal_collect.faults import PeerError
from shoal_collect.matching.records import RECORD_BYTES
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.vouching import longest_vouching
from shoal_collect.roles.wire import BODY_BYTES
from shoal_collect.storage.database import Database


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
