"""Rounds on the server: a roster that freezes, commit and reveal, groups.

All state is in the database. A request moves a round on when its time has come, so that a server may stop
in any phase.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from shoal_collect.crypto.sealing import mailbox_key
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature
from shoal_collect.faults import PeerError
from shoal_collect.mix.grouping import LOT_BYTES, MOST_RESTARTS, Lottery, divide, read_lot
from shoal_collect.roles.admission import (
    period_at,
    purpose_of,
    read_stated_key,
    require_token,
    split_entry,
)
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import channel_name
from shoal_collect.server.round_states import TABLE, Event, Phase
from shoal_collect.storage.database import Database, may_delete
from shoal_collect.storage.groups import stored_terms
from shoal_collect.storage.tokens import Tokens

MOST_MEMBERS: Final = 10_000
_ENDED: Final = (Phase.GROUPED, Phase.FAILED)


class Rounds:
    """All rounds of a collector.

    ``terms``: the terms of a round that opens now. ``draw_bytes``: draws the names of rounds. ``round_size``,
    ``join_s``: A roster freezes with this many members, or after this many seconds with enough for one group.
    ``collector_key``: the key of this collector, which tokens are issued for.
    """

    def __init__(
        self,
        database: Database,
        terms: Terms,
        draw_bytes: Callable[[int], bytes],
        *,
        round_size: int,
        join_s: float,
        collector_key: bytes = b"",
    ) -> None:
        self._db, self._terms, self._draw_bytes = database, terms, draw_bytes
        self._key, self._tokens = collector_key, Tokens(database)
        self._round_size, self._join_s = max(round_size, terms.enough), join_s

    def open_round(self, now_s: float) -> dict[str, Any]:
        """The round that takes members now; opened if needed."""
        with self._db.transaction():
            self._sweep(now_s)
            terms = self.terms_at(now_s)
            row = self._db.row("SELECT name FROM round WHERE phase = 'joining' ORDER BY id DESC LIMIT 1")
            if row is not None and self._advance(bytes(row[0]), now_s) is Phase.JOINING:
                name = bytes(row[0])
                if self._terms_of_round(name) == terms:
                    return self._view(name, None)
                self._step(name, Phase.JOINING, Event.NEW_TERMS, now_s)
            name = self._draw_bytes(32)
            self._db.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'joining', 0, ?)",
                (name, terms.model_dump_json(), now_s + self._join_s),
            )
            return self._view(name, None)

    def resume(self, now_s: float) -> None:
        """Restart time limits: members could not answer a stopped collector."""
        with self._db.transaction():
            for name, terms in self._db.rows(
                "SELECT name, terms FROM round WHERE phase IN ('committing', 'revealing')"
            ):
                limit_s = stored_terms(terms).phase_limit_s
                self._db.change("UPDATE round SET deadline_s = ? WHERE name = ?", (now_s + limit_s, name))

    def terms_at(self, now_s: float) -> Terms:
        """Of a round that opens now."""
        changes: dict[str, Any] = {}
        registrar = self._terms.registrar
        if registrar is not None:
            period = period_at(now_s, registrar.days)
            changes["registrar"] = registrar.model_copy(update={"period": period})
        return self._terms.model_copy(update=changes)

    def view(self, name: bytes, identity: bytes | None, now_s: float) -> dict[str, Any]:
        """What this identity may see of a round.

        Only members see keys, commitments and secrets; None is the public.
        """
        with self._db.snapshot():  # who only looks keeps no writer out
            row = self._db.row("SELECT deadline_s FROM round WHERE name = ?", (name,))
            if row is not None and now_s <= row[0]:
                return self._view(name, identity)
        with self._db.transaction():
            self._advance(name, now_s)
            return self._view(name, identity)

    def has_joined(self, name: bytes, identity: bytes) -> bool:
        """Whether somebody is on a round's roster, and so may wait for its news."""
        statement = (
            "SELECT 1 FROM ticket JOIN round ON round.id = ticket.round WHERE name = ? AND identity = ?"
        )
        return self._db.row(statement, (name, identity)) is not None

    def move_on(self, name: bytes, now_s: float) -> None:
        """Do what is due in a round."""
        with self._db.transaction():
            self._advance(name, now_s)

    def join(self, name: bytes, identity: bytes, message: bytes, now_s: float) -> dict[str, Any]:
        """Add a member who has signed name and terms.

        With a registrar, ``message`` also has her token and the registrar's key.
        """
        with self._db.transaction():
            phase = self._advance(name, now_s)
            terms = self._terms_of_round(name)
            signed, token, statement = split_entry(message, admitted=terms.registrar is not None)
            require_signature(identity, b"join", terms.join_text(name), signed)
            # an identity to which no letter can be sealed would stop every group that it falls into
            mailbox_key(identity)
            row = (self._number(name), identity)
            ticket = self._db.row("SELECT 1 FROM ticket WHERE round = ? AND identity = ?", row)
            event = Event.JOIN if ticket is None else Event.AGAIN
            if terms.registrar is not None:
                key = read_stated_key(
                    bytes.fromhex(terms.registrar.key), purpose_of(self._key, terms.registrar), statement
                )
                require_token(key, identity, token)
                if event is Event.JOIN and phase is Phase.JOINING:
                    self._tokens.keep_statement(terms.registrar.period, statement)
                    self._tokens.spend(identity, self._number(name), terms.registrar.period)
            return self._request(name, phase, event, identity, signed + token, now_s)

    def commit(self, name: bytes, identity: bytes, message: bytes, now_s: float) -> dict[str, Any]:
        """Take a member's signed commitment."""
        return self._take_message(name, identity, message, now_s, Event.COMMIT, "committed")

    def reveal(self, name: bytes, identity: bytes, message: bytes, now_s: float) -> dict[str, Any]:
        """Take the opening of a commitment."""
        return self._take_message(name, identity, message, now_s, Event.REVEAL, "revealed")

    def _take_message(
        self, name: bytes, identity: bytes, message: bytes, now_s: float, event: Event, column: str
    ) -> dict[str, Any]:
        with self._db.transaction():
            phase = self._advance(name, now_s)
            row = self._db.row(
                # one of two columns of ours
                f"SELECT {column}, dropped FROM ticket WHERE round = ? AND identity = ?",  # noqa: S608  (names of ours)
                (self._number(name), identity),
            )
            if row is None or row[1]:
                raise PeerError("unknown-member", "someone who is not on the frozen roster of this round")
            is_repeated = row[0] is not None and bytes(row[0]) == message
            return self._request(name, phase, Event.AGAIN if is_repeated else event, identity, message, now_s)

    def counts(self) -> dict[str, int]:
        """Count rounds by phase."""
        return {
            phase: int(n) for phase, n in self._db.rows("SELECT phase, COUNT(*) FROM round GROUP BY phase")
        }

    # inside a transaction: each step reads the table

    def _request(
        self, name: bytes, phase: Phase, event: Event, identity: bytes, message: bytes, now_s: float
    ) -> dict[str, Any]:
        step = TABLE.step(phase, event)
        if step is not None and step.action is not None:
            getattr(self, step.action)(name, identity, message)
            self._advance(name, now_s)
        return self._view(name, identity)

    def _advance(self, name: bytes, now_s: float) -> Phase:
        while True:
            row = self._db.row("SELECT phase, deadline_s FROM round WHERE name = ?", (name,))
            if row is None:
                raise PeerError("wrong-session", "no round of this name")
            phase = Phase(row[0])
            late = now_s > row[1] and (phase not in _ENDED or may_delete(self._db, now_s))
            event = self._due(name, phase, late=late)
            if event is None:
                return phase
            self._step(name, phase, event, now_s)

    def _step(self, name: bytes, phase: Phase, event: Event, now_s: float) -> None:
        step = TABLE.step(phase, event)
        if step is None:
            return
        if step.action is not None:
            getattr(self, step.action)(name)
        if step.state in _ENDED:
            self._tokens.give_back(self._number(name))
        terms = self._terms_of_round(name)
        lives_s = terms.lifetime_s if step.state in _ENDED else terms.phase_limit_s
        self._db.change(
            "UPDATE round SET phase = ?, deadline_s = ? WHERE name = ?",
            (str(step.state), now_s + lives_s, name),
        )

    def _due(self, name: bytes, phase: Phase, *, late: bool) -> Event | None:
        if phase is Phase.OVER:
            return None
        if phase in _ENDED:
            return Event.EXPIRED if late else None
        if phase is Phase.JOINING:
            joined = self._count_joined(name)
            enough = late and joined >= self._terms_of_round(name).enough
            return Event.FULL if joined >= self._round_size else Event.ENOUGH if enough else None
        lottery = self._lottery(name)
        if phase is Phase.COMMITTING and len(lottery.commits) == len(lottery.identities):
            return Event.ALL_COMMITTED
        if lottery.seed is not None:
            return Event.ALL_REVEALED
        return self._event_of_silence(name, lottery) if late else None

    def _event_of_silence(self, name: bytes, lottery: Lottery) -> Event:
        """Without silent members; at most twice."""
        if lottery.restarts >= MOST_RESTARTS:
            return Event.GIVEN_UP
        n_members = len(lottery.without_silent().identities)
        return Event.SILENT if n_members >= self._terms_of_round(name).enough else Event.TOO_FEW

    def _add(self, name: bytes, identity: bytes, message: bytes) -> None:
        if self._count_joined(name) >= MOST_MEMBERS:
            raise PeerError("too-many", "this round is full; join the next one")
        self._db.change(
            "INSERT INTO ticket (round, identity, signed, token, dropped) VALUES (?, ?, ?, ?, 0)",
            (self._number(name), identity, message[:SIGNATURE_BYTES], message[SIGNATURE_BYTES:]),
        )

    def _take_commitment(self, name: bytes, identity: bytes, message: bytes) -> None:
        lottery = self._lottery(name)
        lottery.commit(identity, read_lot(identity, b"commit", lottery.roster, message))
        change = "UPDATE ticket SET committed = ? WHERE round = ? AND identity = ?"
        self._db.change(change, (message, self._number(name), identity))

    def _take_reveal(self, name: bytes, identity: bytes, message: bytes) -> None:
        lottery = self._lottery(name)
        lottery.reveal(identity, read_lot(identity, b"reveal", lottery.roster, message))
        change = "UPDATE ticket SET revealed = ? WHERE round = ? AND identity = ?"
        self._db.change(change, (message, self._number(name), identity))

    def _restart(self, name: bytes) -> None:
        lottery, number = self._lottery(name), self._number(name)
        restarted = lottery.without_silent()
        self._db.change("UPDATE round SET restarts = ? WHERE id = ?", (restarted.restarts, number))
        self._db.change("UPDATE ticket SET committed = NULL, revealed = NULL WHERE round = ?", (number,))
        for identity in set(lottery.identities) - set(restarted.identities):
            self._db.change(
                "UPDATE ticket SET dropped = 1 WHERE round = ? AND identity = ?", (number, identity)
            )
            self._tokens.give_back_one(number, identity)

    def _draw_groups(self, name: bytes) -> None:
        lottery, number = self._lottery(name), self._number(name)
        if lottery.seed is None:
            raise AssertionError("everybody has revealed")
        terms = self._terms_of_round(name)
        groups, _ = divide(lottery.seed, lottery.identities, terms.group_size)
        for group in groups:
            session = channel_name(terms.join_text(name), lottery.seed, group)
            for place, identity in enumerate(group):
                self._db.change(
                    "UPDATE ticket SET session = ?, place = ? WHERE round = ? AND identity = ?",
                    (session, place, number, identity),
                )

    def _forget(self, name: bytes) -> None:
        number = self._number(name)
        for table in ("letter", "voucher", "asked"):
            self._db.change(
                f"DELETE FROM {table} WHERE session IN (SELECT session FROM ticket WHERE round = ?)",  # noqa: S608  (names of ours)
                (number,),
            )
        self._db.change("DELETE FROM ticket WHERE round = ?", (number,))

    def _sweep(self, now_s: float) -> None:
        if not may_delete(self._db, now_s):
            return
        for (name,) in self._db.rows(
            "SELECT name FROM round WHERE phase IN ('grouped', 'failed') AND deadline_s < ?", (now_s,)
        ):
            self._advance(bytes(name), now_s)
        if self._terms.registrar is not None:
            self._tokens.forget(period_at(now_s, self._terms.registrar.days) - 1)

    # what the database holds of a round

    def _terms_of_round(self, name: bytes) -> Terms:
        row = self._db.rows("SELECT terms FROM round WHERE name = ?", (name,))[0]
        return stored_terms(row[0])

    def _number(self, name: bytes) -> int:
        return int(self._db.rows("SELECT id FROM round WHERE name = ?", (name,))[0][0])

    def _count_joined(self, name: bytes) -> int:
        row = self._db.rows("SELECT COUNT(*) FROM ticket WHERE round = ?", (self._number(name),))[0]
        return int(row[0])

    def _lottery(self, name: bytes) -> Lottery:
        number, restarts = self._db.rows("SELECT id, restarts FROM round WHERE name = ?", (name,))[0]
        tickets = self._db.rows(
            "SELECT identity, committed, revealed FROM ticket WHERE round = ? AND dropped = 0 ORDER BY "
            "identity",
            (number,),
        )
        commits = {
            bytes(who): bytes(message)[:LOT_BYTES] for who, message, _ in tickets if message is not None
        }
        reveals = {
            bytes(who): bytes(message)[:LOT_BYTES] for who, _, message in tickets if message is not None
        }
        return Lottery(name, tuple(sorted(bytes(row[0]) for row in tickets)), int(restarts), commits, reveals)

    def _view(self, name: bytes, identity: bytes | None) -> dict[str, Any]:
        number, terms, phase, restarts, deadline_s = self._db.rows(
            "SELECT id, terms, phase, restarts, deadline_s FROM round WHERE name = ?", (name,)
        )[0]
        tickets = self._db.rows(
            "SELECT identity, signed, token, committed, revealed FROM ticket WHERE round = ? AND dropped = 0 "
            "ORDER BY identity",
            (number,),
        )
        public = {
            "round": name.hex(),
            "phase": phase,
            "terms": json.loads(terms),
            "restarts": restarts,
            "deadline_s": deadline_s,
        }
        if identity not in {bytes(who) for who, *_ in tickets}:
            return {**public, "roster": {}, "commits": {}, "reveals": {}, "token_key": ""}
        lottery, registrar = self._lottery(name), stored_terms(terms).registrar
        return {
            **public,
            "members": len(tickets),
            "roster_digest": None if phase == "joining" else lottery.roster.hex(),
            "token_key": self._tokens.statement(registrar.period).hex() if registrar is not None else "",
            "roster": {
                bytes(who).hex(): (bytes(signed) + bytes(token or b"")).hex()
                for who, signed, token, *_ in tickets
            },
            "commits": {
                bytes(ticket[0]).hex(): bytes(ticket[3]).hex() for ticket in tickets if ticket[3] is not None
            },
            "reveals": {
                bytes(ticket[0]).hex(): bytes(ticket[4]).hex() for ticket in tickets if ticket[4] is not None
            },
        }
