"""Rounds on the server: a roster that freezes, commit and reveal, groups.

All state is in the database. A request moves a round on when its time has come, so that a server may stop
in any phase.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from shoal_collect.crypto.sealing import mailbox_key
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature
from shoal_collect.faults import PeerError
from shoal_collect.roles import admission
from shoal_collect.roles.lottery import LOT_BYTES, MOST_RESTARTS, Lottery, divide, read_lot
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import channel_name
from shoal_collect.storage.database import Database, may_delete
from shoal_collect.storage.questions import stored_terms
from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table


class Phase(StrEnum):
    """Phases of a round, in the order of the protocol."""

    JOINING = "joining"
    COMMITTING = "committing"
    REVEALING = "revealing"
    GROUPED = "grouped"
    FAILED = "failed"
    OVER = "over"


class Event(StrEnum):
    """Requests, and conditions that they or the time bring about."""

    JOIN = "join"
    COMMIT = "commit"
    REVEAL = "reveal"
    AGAIN = "the same again"  # a request that was carried out before, repeated after a break
    FULL = "roster full"
    ENOUGH = "time over with enough for a group"
    NEW_TERMS = "new terms"  # the collector's terms have changed, and nobody could join any more
    ALL_COMMITTED = "all committed"
    ALL_REVEALED = "all revealed"
    SILENT = "time over with some silent"
    TOO_FEW = "time over with too few left"
    GIVEN_UP = "time over after two restarts"
    EXPIRED = "kept long enough"


_LOTTERY: Final = (Phase.COMMITTING, Phase.REVEALING)
_FROZEN: Final = Refusal("too-late", "the roster of this round is frozen; join the next one")


def _refusals(event: Event, right_phase: Phase) -> dict[tuple[Phase, Event], Step[Phase] | Refusal | Ignored]:
    order = list(Phase)
    return {
        (phase, event): Refusal(
            "bad-frame" if order.index(phase) < order.index(right_phase) else "too-late",
            f"the round is {phase}, not {right_phase}",
        )
        for phase in Phase
        if phase is not right_phase
    }


_ROWS: dict[tuple[Phase, Event], Step[Phase] | Refusal | Ignored] = {
    (Phase.JOINING, Event.JOIN): Step("_add", Phase.JOINING),
    **{(phase, Event.JOIN): _FROZEN for phase in Phase if phase is not Phase.JOINING},
    (Phase.JOINING, Event.FULL): Step(None, Phase.COMMITTING),
    (Phase.JOINING, Event.ENOUGH): Step(None, Phase.COMMITTING),
    (Phase.JOINING, Event.NEW_TERMS): Step(None, Phase.FAILED),
    (Phase.COMMITTING, Event.COMMIT): Step("_take_commitment", Phase.COMMITTING),
    **_refusals(Event.COMMIT, Phase.COMMITTING),
    (Phase.COMMITTING, Event.ALL_COMMITTED): Step(None, Phase.REVEALING),
    (Phase.REVEALING, Event.REVEAL): Step("_take_reveal", Phase.REVEALING),
    **_refusals(Event.REVEAL, Phase.REVEALING),
    (Phase.REVEALING, Event.ALL_REVEALED): Step("_draw_groups", Phase.GROUPED),
    **{(phase, Event.SILENT): Step("_restart", Phase.COMMITTING) for phase in _LOTTERY},
    **{(phase, Event.TOO_FEW): Step("_restart", Phase.FAILED) for phase in _LOTTERY},
    **{(phase, Event.GIVEN_UP): Step("_drop_silent", Phase.FAILED) for phase in _LOTTERY},
    **{(phase, Event.EXPIRED): Step("_forget", Phase.OVER) for phase in (Phase.GROUPED, Phase.FAILED)},
    **{(phase, Event.AGAIN): IGNORED for phase in Phase},
}

TABLE: Final = Table("a round on the server", Phase.JOINING, _ROWS, frozenset({Phase.OVER}))


MOST_MEMBERS: Final = 10_000
_ENDED: Final = (Phase.GROUPED, Phase.FAILED)


class Tokens:
    """Spent tokens, a row for each admitted key; most methods belong inside a transaction."""

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
        """Free the tokens of members without a group, and of a failed round, but for those who were silent.

        Else three who are silent in turn would end every round, for nothing.
        """
        self._db.change(
            "DELETE FROM spent WHERE round = ? AND identity NOT IN "
            "(SELECT identity FROM ticket WHERE round = ? AND (session IS NOT NULL OR dropped = 1))",
            (number, number),
        )

    def forget(self, before_period: int) -> None:
        """Delete periods that are over."""
        self._db.change("DELETE FROM spent WHERE period < ?", (before_period,))
        self._db.change("DELETE FROM token_key WHERE period < ?", (before_period,))


class _Round(NamedTuple):
    number: int
    name: bytes
    terms: Terms
    phase: Phase
    restarts: int
    deadline_s: float


class Rounds:
    """All rounds of a collector.

    ``terms``, ``draw_bytes``: of a round that opens now, and for its name. ``round_size``, ``join_s``: as in
    ``CollectorSettings``. ``collector_key``: the key that tokens are issued for.
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
            one = None if row is None else self._advance(bytes(row[0]), now_s)
            if one is not None and one.phase is Phase.JOINING:
                if one.terms == terms:
                    return self._view(one, None)
                self._step(one, Event.NEW_TERMS, now_s)
            name = self._draw_bytes(32)
            self._db.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'joining', 0, ?)",
                (name, terms.model_dump_json(), now_s + self._join_s),
            )
            return self._view(self._load(name), None)

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
            period = admission.period_at(now_s, registrar.days)
            changes["registrar"] = registrar.model_copy(update={"period": period})
        return self._terms.model_copy(update=changes)

    def view(self, name: bytes, identity: bytes | None, now_s: float) -> dict[str, Any]:
        """What this identity may see of a round.

        Only members see keys, commitments and secrets; None is the public.
        """
        with self._db.snapshot():  # who only looks keeps no writer out
            one = self._load(name)
            if now_s <= one.deadline_s:
                return self._view(one, identity)
        with self._db.transaction():
            return self._view(self._advance(name, now_s), identity)

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
            one = self._advance(name, now_s)
            registrar = one.terms.registrar
            signed, token, statement = admission.split_entry(message, admitted=registrar is not None)
            require_signature(identity, b"join", one.terms.join_text(name), signed)
            # an identity to which no letter can be sealed would stop every group that it falls into
            mailbox_key(identity)
            ticket = self._db.row(
                "SELECT 1 FROM ticket WHERE round = ? AND identity = ?", (one.number, identity)
            )
            event = Event.JOIN if ticket is None else Event.AGAIN
            if registrar is not None:
                purpose = admission.purpose_of(self._key, registrar)
                signer = admission.read_stated_key(bytes.fromhex(registrar.key), purpose, statement)
                admission.require_token(signer, identity, token)
                if event is Event.JOIN and one.phase is Phase.JOINING:
                    self._tokens.keep_statement(registrar.period, statement)
                    self._tokens.spend(identity, one.number, registrar.period)
            return self._request(one, event, identity, signed + token, now_s)

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
            one = self._advance(name, now_s)
            row = self._db.row(
                # one of two columns of ours
                f"SELECT {column}, dropped FROM ticket WHERE round = ? AND identity = ?",  # noqa: S608  (names of ours)
                (one.number, identity),
            )
            if row is None or row[1]:
                raise PeerError("unknown-member", "someone who is not on the frozen roster of this round")
            is_repeated = row[0] is not None and bytes(row[0]) == message
            return self._request(one, Event.AGAIN if is_repeated else event, identity, message, now_s)

    def counts(self) -> dict[str, int]:
        """Count rounds by phase."""
        return {
            phase: int(n) for phase, n in self._db.rows("SELECT phase, COUNT(*) FROM round GROUP BY phase")
        }

    # inside a transaction: each step reads the table

    def _request(
        self, one: _Round, event: Event, identity: bytes, message: bytes, now_s: float
    ) -> dict[str, Any]:
        step = TABLE.step(one.phase, event)
        if step is not None and step.action is not None:
            getattr(self, step.action)(one, identity, message)
            one = self._advance(one.name, now_s)
        return self._view(one, identity)

    def _advance(self, name: bytes, now_s: float) -> _Round:
        while True:
            one = self._load(name)
            late = now_s > one.deadline_s and (one.phase not in _ENDED or may_delete(self._db, now_s))
            event = self._due(one, late=late)
            if event is None:
                return one
            self._step(one, event, now_s)

    def _step(self, one: _Round, event: Event, now_s: float) -> None:
        step = TABLE.step(one.phase, event)
        if step is None:
            return
        if step.action is not None:
            getattr(self, step.action)(one)
        if step.state in _ENDED:
            self._tokens.give_back(one.number)
        lives_s = one.terms.lifetime_s if step.state in _ENDED else one.terms.phase_limit_s
        change = "UPDATE round SET phase = ?, deadline_s = ? WHERE id = ?"
        self._db.change(change, (str(step.state), now_s + lives_s, one.number))

    def _due(self, one: _Round, *, late: bool) -> Event | None:
        if one.phase is Phase.OVER:
            return None
        if one.phase in _ENDED:
            return Event.EXPIRED if late else None
        if one.phase is Phase.JOINING:
            joined = self._count_joined(one)
            enough = late and joined >= one.terms.enough
            return Event.FULL if joined >= self._round_size else Event.ENOUGH if enough else None
        lottery = self._lottery(one)
        if one.phase is Phase.COMMITTING and len(lottery.commits) == len(lottery.identities):
            return Event.ALL_COMMITTED
        if lottery.seed is not None:
            return Event.ALL_REVEALED
        return _event_of_silence(lottery, one.terms.enough) if late else None

    def _add(self, one: _Round, identity: bytes, message: bytes) -> None:
        if self._count_joined(one) >= MOST_MEMBERS:
            raise PeerError("too-many", "this round is full; join the next one")
        self._db.change(
            "INSERT INTO ticket (round, identity, signed, token, dropped) VALUES (?, ?, ?, ?, 0)",
            (one.number, identity, message[:SIGNATURE_BYTES], message[SIGNATURE_BYTES:]),
        )

    def _take_commitment(self, one: _Round, identity: bytes, message: bytes) -> None:
        lottery = self._lottery(one)
        lottery.commit(identity, read_lot(identity, b"commit", lottery.roster, message))
        change = "UPDATE ticket SET committed = ? WHERE round = ? AND identity = ?"
        self._db.change(change, (message, one.number, identity))

    def _take_reveal(self, one: _Round, identity: bytes, message: bytes) -> None:
        lottery = self._lottery(one)
        lottery.reveal(identity, read_lot(identity, b"reveal", lottery.roster, message))
        change = "UPDATE ticket SET revealed = ? WHERE round = ? AND identity = ?"
        self._db.change(change, (message, one.number, identity))

    def _restart(self, one: _Round) -> None:
        restarted = self._lottery(one).without_silent()
        self._drop_silent(one)
        self._db.change("UPDATE round SET restarts = ? WHERE id = ?", (restarted.restarts, one.number))
        self._db.change("UPDATE ticket SET committed = NULL, revealed = NULL WHERE round = ?", (one.number,))

    def _drop_silent(self, one: _Round) -> None:
        lottery = self._lottery(one)
        for identity in set(lottery.identities) - set(lottery.heard):
            change = "UPDATE ticket SET dropped = 1 WHERE round = ? AND identity = ?"
            self._db.change(change, (one.number, identity))

    def _draw_groups(self, one: _Round) -> None:
        lottery = self._lottery(one)
        if lottery.seed is None:
            raise AssertionError("everybody has revealed")
        groups, _ = divide(lottery.seed, lottery.identities, one.terms.group_size)
        change = "UPDATE ticket SET session = ?, place = ? WHERE round = ? AND identity = ?"
        for group in groups:
            session = channel_name(one.terms.join_text(one.name), lottery.seed, group)
            for place, identity in enumerate(group):
                self._db.change(change, (session, place, one.number, identity))

    def _forget(self, one: _Round) -> None:
        for table in ("letter", "voucher", "asked"):
            self._db.change(
                f"DELETE FROM {table} WHERE session IN (SELECT session FROM ticket WHERE round = ?)",  # noqa: S608  (names of ours)
                (one.number,),
            )
        self._db.change("DELETE FROM ticket WHERE round = ?", (one.number,))

    def _sweep(self, now_s: float) -> None:
        if not may_delete(self._db, now_s):
            return
        for (name,) in self._db.rows(
            "SELECT name FROM round WHERE phase IN ('grouped', 'failed') AND deadline_s < ?", (now_s,)
        ):
            self._advance(bytes(name), now_s)
        if self._terms.registrar is not None:
            self._tokens.forget(admission.period_at(now_s, self._terms.registrar.days) - 1)

    # what the database holds of a round

    def _load(self, name: bytes) -> _Round:
        row = self._db.row("SELECT id, terms, phase, restarts, deadline_s FROM round WHERE name = ?", (name,))
        if row is None:
            raise PeerError("wrong-session", "no round of this name")
        return _Round(int(row[0]), name, stored_terms(row[1]), Phase(row[2]), int(row[3]), float(row[4]))

    def _count_joined(self, one: _Round) -> int:
        return int(self._db.rows("SELECT COUNT(*) FROM ticket WHERE round = ?", (one.number,))[0][0])

    def _lottery(self, one: _Round) -> Lottery:
        tickets = self._db.rows(
            "SELECT identity, committed, revealed FROM ticket WHERE round = ? AND dropped = 0 ORDER BY "
            "identity",
            (one.number,),
        )
        commits, reveals = (
            {bytes(row[0]): bytes(row[at])[:LOT_BYTES] for row in tickets if row[at] is not None}
            for at in (1, 2)
        )
        return Lottery(
            one.name, tuple(sorted(bytes(row[0]) for row in tickets)), one.restarts, commits, reveals
        )

    def _view(self, one: _Round, identity: bytes | None) -> dict[str, Any]:
        tickets = self._db.rows(
            "SELECT identity, signed, token, committed, revealed FROM ticket WHERE round = ? AND dropped = 0 "
            "ORDER BY identity",
            (one.number,),
        )
        public = {
            "round": one.name.hex(),
            "phase": str(one.phase),
            "terms": one.terms.model_dump(mode="json"),
            "restarts": one.restarts,
            "deadline_s": one.deadline_s,
        }
        if identity not in {bytes(who) for who, *_ in tickets}:
            return {**public, "roster": {}, "commits": {}, "reveals": {}, "token_key": ""}
        registrar = one.terms.registrar
        commits, reveals = (
            {bytes(row[0]).hex(): bytes(row[at]).hex() for row in tickets if row[at] is not None}
            for at in (3, 4)
        )
        return {
            **public,
            "members": len(tickets),
            "roster_digest": None if one.phase is Phase.JOINING else self._lottery(one).roster.hex(),
            "token_key": self._tokens.statement(registrar.period).hex() if registrar is not None else "",
            "roster": {
                bytes(who).hex(): (bytes(signed) + bytes(token or b"")).hex()
                for who, signed, token, *_ in tickets
            },
            "commits": commits,
            "reveals": reveals,
        }


def _event_of_silence(lottery: Lottery, enough: int) -> Event:
    """Without silent members; at most twice."""
    if lottery.restarts >= MOST_RESTARTS:
        return Event.GIVEN_UP
    return Event.SILENT if len(lottery.heard) >= enough else Event.TOO_FEW
