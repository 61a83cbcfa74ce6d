"""Rounds on the server's side: a signed roster that freezes, commit and reveal, groups.

All state is in the database.

Nothing happens in the background: whoever asks next moves a round on when its time has come, so that a server
may stop and start in any phase.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from shoal.collect.crypto.sealing import mailbox_key
from shoal.collect.faults import PeerError
from shoal.collect.mix.grouping import Lottery, divide
from shoal.collect.roles.authority import check_signature
from shoal.collect.roles.wire import DAY_S, LIFETIME_S, Terms, channel_name, snapshot_day
from shoal.collect.storage.database import Database
from shoal.collect.storage.phi import PhiStore

MOST_MEMBERS: Final = 10_000
_LOTS: Final = ("committing", "revealing")


class Rounds:
    """round_size: a roster freezes with so many members, or after join_s seconds with enough for one group."""

    def __init__(
        self,
        database: Database,
        terms: Terms,
        draw_bytes: Callable[[int], bytes],
        *,
        round_size: int,
        join_s: float,
    ) -> None:
        self._db, self._terms, self._draw_bytes = database, terms, draw_bytes
        self._round_size, self._join_s = max(round_size, terms.group_size), join_s

    def open_round(self, now_s: float) -> dict[str, Any]:
        """The round that takes members now; a new one when there is none."""
        PhiStore(self._db).expire(int(now_s // DAY_S))
        with self._db.transaction():
            self._sweep(now_s)
            terms = self.terms_at(now_s)
            row = self._db.row("SELECT name FROM round WHERE phase = 'joining' ORDER BY id DESC LIMIT 1")
            if row is not None and self._moved_on(bytes(row[0]), now_s) == "joining":
                if self._terms_of_round(bytes(row[0])) == terms:
                    return self._view(bytes(row[0]))
                self._enter(bytes(row[0]), "failed", terms, now_s)  # nobody could join it any more
            name = self._draw_bytes(32)
            self._db.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'joining', 0, ?)",
                (name, terms.model_dump_json(), now_s + self._join_s),
            )
            return self._view(name)

    def terms_at(self, now_s: float) -> Terms:
        """The terms of a round that opens now."""
        until = self._terms.bootstrap_until
        over = until is not None and now_s // DAY_S >= until
        return self._terms.model_copy(update={"bootstrap_until": None}) if over else self._terms

    def view(self, name: bytes, now_s: float) -> dict[str, Any]:
        """What everybody may know of a round; raises PeerError for one that does not exist."""
        with self._db.transaction():
            self._moved_on(name, now_s)
            return self._view(name)

    def join(self, name: bytes, identity: bytes, signed: bytes, now_s: float) -> dict[str, Any]:
        """Put somebody on the roster, with her signature of the round's name and terms."""
        with self._db.transaction():
            phase = self._moved_on(name, now_s)
            check_signature(identity, b"join", self._terms_of_round(name).joined_by(name), signed)
            mailbox_key(
                identity
            )  # an identity to which no letter can be sealed would stop every group that it falls into
            number = self._number(name)
            there = self._db.row("SELECT 1 FROM ticket WHERE round = ? AND identity = ?", (number, identity))
            if there is None:
                if phase != "joining":
                    raise PeerError("too-late", "the roster of this round is frozen; join the next one")
                if self._count(number, "1 = 1") >= MOST_MEMBERS:
                    raise PeerError("too-many", "this round is full; join the next one")
                row = (number, identity, signed)
                self._db.change(
                    "INSERT INTO ticket (round, identity, signed, dropped) VALUES (?, ?, ?, 0)", row
                )
                self._moved_on(name, now_s)
            return self._view(name)

    def commit(self, name: bytes, identity: bytes, digest: bytes, now_s: float) -> dict[str, Any]:
        """Take a member's commitment."""
        return self._take(name, identity, digest, now_s, "committing", "committed")

    def reveal(self, name: bytes, identity: bytes, secret: bytes, now_s: float) -> dict[str, Any]:
        """Take what a member committed to."""
        return self._take(name, identity, secret, now_s, "revealing", "revealed")

    def _take(
        self, name: bytes, identity: bytes, said: bytes, now_s: float, wanted: str, column: str
    ) -> dict[str, Any]:
        with self._db.transaction():
            phase = self._moved_on(name, now_s)
            number = self._number(name)
            row = self._db.row(
                f"SELECT {column}, dropped FROM ticket WHERE round = ? AND identity = ?",  # noqa: S608  (a column of ours)
                (number, identity),
            )
            if row is None or row[1]:
                raise PeerError("unknown-member", "someone who is not on the frozen roster of this round")
            if row[0] is not None and bytes(row[0]) == said:
                return self._view(name)  # said again after a break
            if phase != wanted:
                raise PeerError(
                    "too-late" if PASSED[phase] > PASSED[wanted] else "bad-frame",
                    f"the round is {phase}, not {wanted}",
                )
            lots = self._lottery(name)
            (lots.commit if wanted == "committing" else lots.reveal)(identity, said)
            # one of two names from above
            change = f"UPDATE ticket SET {column} = ? WHERE round = ? AND identity = ?"  # noqa: S608
            self._db.change(change, (said, number, identity))
            self._moved_on(name, now_s)
            return self._view(name)

    def counts(self) -> dict[str, int]:
        """How many rounds are in each phase."""
        return {
            phase: int(n) for phase, n in self._db.rows("SELECT phase, COUNT(*) FROM round GROUP BY phase")
        }

    # inside a transaction

    def _terms_of_round(self, name: bytes) -> Terms:
        return Terms.model_validate_json(
            self._db.rows("SELECT terms FROM round WHERE name = ?", (name,))[0][0]
        )

    def _moved_on(self, name: bytes, now_s: float) -> str:
        """The phase of a round now, after everything that is due."""
        while True:
            row = self._db.row("SELECT phase, deadline_s, terms FROM round WHERE name = ?", (name,))
            if row is None:
                raise PeerError("wrong-session", "no round of this name")
            phase, late, terms = str(row[0]), now_s > row[1], Terms.model_validate_json(row[2])
            after = self._after(name, phase, terms, late=late)
            if after is None:
                return phase
            self._enter(name, after, terms, now_s)

    def _enter(self, name: bytes, phase: str, terms: Terms, now_s: float) -> None:
        lives_s = LIFETIME_S if phase in ("grouped", "failed") else terms.phase_limit_s
        self._db.change(
            "UPDATE round SET phase = ?, deadline_s = ? WHERE name = ?", (phase, now_s + lives_s, name)
        )

    def _after(self, name: bytes, phase: str, terms: Terms, *, late: bool) -> str | None:
        """The next phase when its time has come."""
        number = self._number(name)
        if phase == "joining":
            joined = self._count(number, "1 = 1")
            return (
                "committing" if joined >= self._round_size or (late and joined >= terms.group_size) else None
            )
        if phase in _LOTS:
            lots = self._lottery(name)
            if phase == "committing" and len(lots.commits) == len(lots.identities):
                return "revealing"
            if lots.seed is not None:
                self._draw_groups(name, lots, lots.seed, terms)
                return "grouped"
            return self._restart(number, lots, terms) if late else None
        if phase in ("grouped", "failed") and late:
            self._forget(number)
            return "over"
        return None

    def _restart(self, number: int, lots: Lottery, terms: Terms) -> str:
        """Without those who kept silent; at most twice."""
        try:
            again = lots.without_silent()
        except PeerError:
            return "failed"
        self._db.change("UPDATE round SET restarts = ? WHERE id = ?", (again.restarts, number))
        self._db.change("UPDATE ticket SET committed = NULL, revealed = NULL WHERE round = ?", (number,))
        for identity in set(lots.identities) - set(again.identities):
            self._db.change(
                "UPDATE ticket SET dropped = 1 WHERE round = ? AND identity = ?", (number, identity)
            )
        return "committing" if len(again.identities) >= terms.group_size else "failed"

    def _draw_groups(self, name: bytes, lots: Lottery, seed: bytes, terms: Terms) -> None:
        groups, _ = divide(seed, lots.identities, terms.group_size)
        for group in groups:
            session = channel_name(name, seed, group)
            for place, identity in enumerate(group):
                row = (session, place, self._number(name), identity)
                self._db.change(
                    "UPDATE ticket SET session = ?, place = ? WHERE round = ? AND identity = ?", row
                )

    def _lottery(self, name: bytes) -> Lottery:
        restarts = self._db.rows("SELECT restarts FROM round WHERE name = ?", (name,))[0][0]
        tickets = self._db.rows(
            "SELECT identity, committed, revealed FROM ticket WHERE dropped = 0 AND round = ? ORDER BY "
            "identity",
            (self._number(name),),
        )
        commits = {bytes(who): bytes(said) for who, said, _ in tickets if said is not None}
        reveals = {bytes(who): bytes(said) for who, _, said in tickets if said is not None}
        return Lottery(name, tuple(sorted(bytes(row[0]) for row in tickets)), int(restarts), commits, reveals)

    def _number(self, name: bytes) -> int:
        return int(self._db.rows("SELECT id FROM round WHERE name = ?", (name,))[0][0])

    def _count(self, number: int, which: str) -> int:
        return int(self._db.rows(f"SELECT COUNT(*) FROM ticket WHERE round = ? AND {which}", (number,))[0][0])  # noqa: S608

    def _view(self, name: bytes) -> dict[str, Any]:
        number, terms, phase, restarts, deadline_s = self._db.rows(
            "SELECT id, terms, phase, restarts, deadline_s FROM round WHERE name = ?", (name,)
        )[0]
        tickets = self._db.rows(
            "SELECT identity, signed, committed, revealed FROM ticket WHERE round = ? AND dropped = 0 ORDER "
            "BY identity",
            (number,),
        )
        lots = self._lottery(name)
        return {
            "round": name.hex(),
            "phase": phase,
            "terms": json.loads(terms),
            "restarts": restarts,
            "deadline_s": deadline_s,
            "roster_digest": None if phase == "joining" else lots.roster.hex(),
            "roster": {bytes(who).hex(): bytes(signed).hex() for who, signed, _, _ in tickets},
            "commits": {who.hex(): said.hex() for who, said in lots.commits.items()},
            "reveals": {who.hex(): said.hex() for who, said in lots.reveals.items()},
        }

    def _sweep(self, now_s: float) -> None:
        """Forget what is too old: rounds that are over, letters that nobody fetched, quotas of other days."""
        for (name,) in self._db.rows(
            "SELECT name FROM round WHERE phase IN ('grouped', 'failed') AND deadline_s < ?", (now_s,)
        ):
            self._moved_on(bytes(name), now_s)
        self._db.change("DELETE FROM letter WHERE at_s < ?", (now_s - LIFETIME_S,))
        self._db.change(
            "DELETE FROM quota WHERE day < ?", (snapshot_day(now_s) - 1,)
        )  # a witness may still look for yesterday's

    def _forget(self, number: int) -> None:
        self._db.change(
            "DELETE FROM voucher WHERE session IN (SELECT session FROM ticket WHERE round = ?)", (number,)
        )
        self._db.change("DELETE FROM ticket WHERE round = ?", (number,))


PASSED: Final = {phase: place for place, phase in enumerate(("joining", *_LOTS, "grouped", "failed", "over"))}
