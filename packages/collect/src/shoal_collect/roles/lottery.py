"""Random groups that no one can choose (Romero-Tris and Megías 2018, Sec. 3.3.1), and a member's part.

All commit before anyone reveals, so neither the server nor the last to reveal can pick the outcome.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import SEED_BYTES, Chance
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature, verify_key
from shoal_collect.faults import PeerError, refusing
from shoal_collect.mix.messages import LARGEST, SMALLEST
from shoal_collect.roles.admission import Entry, purpose_of, read_stated_key, require_token, split_roster
from shoal_collect.roles.terms import Terms, read_terms
from shoal_collect.roles.wire import Call, channel_name
from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table

MOST_RESTARTS: Final = 2
LOT_BYTES: Final = 32
SIGNED_LOT_BYTES: Final = LOT_BYTES + SIGNATURE_BYTES


def commitment(roster: bytes, identity: bytes, secret: bytes) -> bytes:
    """Bound to the roster and the member."""
    return hash_of(b"shoal lot", roster, identity, secret)


def sign_lot(signing_seed: bytes, part: bytes, roster: bytes, lot: bytes) -> bytes:
    """Sign a commitment ("commit") or a secret ("reveal") over the roster."""
    return lot + signature(signing_seed, part, roster + lot)


def read_lot(identity: bytes, part: bytes, roster: bytes, message: bytes) -> bytes:
    """A member's commitment or secret; PeerError unless over this roster."""
    if len(message) != SIGNED_LOT_BYTES:
        raise PeerError("bad-length", f"a lot of {len(message)} bytes instead of {SIGNED_LOT_BYTES}")
    require_signature(identity, part, roster + message[:LOT_BYTES], message[LOT_BYTES:])
    return message[:LOT_BYTES]


def roster_digest(round_name: bytes, identities: Sequence[bytes]) -> bytes:
    """The round's name and all identities."""
    parts = (round_name, *sorted(identities))
    return hash_of(b"shoal roster", *(len(part).to_bytes(4) + part for part in parts))


def divide(
    seed: bytes, identities: Sequence[bytes], size: int
) -> tuple[list[tuple[bytes, ...]], tuple[bytes, ...]]:
    """Groups of ``size`` or ``size`` + 1 by a fair shuffle, and who waits.

    Size within SMALLEST..LARGEST - 1.
    """
    if not SMALLEST <= size < LARGEST:
        raise MisuseError(f"groups of {size}; choose {SMALLEST} to {LARGEST - 1}")
    ordered = sorted(identities)
    shuffled = [ordered[place] for place in Chance(seed).permutation(len(ordered))]
    n_groups = len(shuffled) // size
    larger = min(len(shuffled) - n_groups * size, n_groups)
    ends = [size * (i + 1) + min(i + 1, larger) for i in range(n_groups)]
    groups = [tuple(shuffled[start:end]) for start, end in zip([0, *ends], ends, strict=False)]
    return groups, tuple(shuffled[ends[-1] if ends else 0 :])


@dataclass
class Lottery:
    """One attempt over a frozen, sorted roster."""

    round_name: bytes
    identities: tuple[bytes, ...]
    restarts: int = 0
    commits: dict[bytes, bytes] = field(default_factory=dict)
    reveals: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def roster(self) -> bytes:
        """What commitments are bound to; each restart changes it."""
        return roster_digest(self.round_name + bytes((self.restarts,)), self.identities)

    def commit(self, identity: bytes, digest: bytes) -> None:
        """Record one commitment; PeerError for a second one."""
        self._require_known(identity)
        if identity in self.commits:
            raise PeerError("duplicate", "a second commitment")
        if len(digest) != 32:
            raise PeerError("bad-length", "a commitment must have 32 bytes")
        self.commits[identity] = digest

    def reveal(self, identity: bytes, secret: bytes) -> None:
        """Record one secret after all commitments; PeerError unless it matches."""
        self._require_known(identity)
        if len(self.commits) < len(self.identities):
            raise PeerError("bad-frame", "a reveal before all have committed")
        if identity in self.reveals:
            raise PeerError("duplicate", "a second reveal")
        if len(secret) != SEED_BYTES or commitment(self.roster, identity, secret) != self.commits[identity]:
            raise PeerError("bad-commitment", "a reveal that differs from the member's commitment")
        self.reveals[identity] = secret

    @property
    def seed(self) -> bytes | None:
        """None until all have revealed."""
        return shared_seed(self.roster, self.reveals) if len(self.reveals) == len(self.identities) else None

    @property
    def heard(self) -> tuple[bytes, ...]:
        """Who has committed, or revealed once all have committed."""
        said = self.reveals if len(self.commits) == len(self.identities) else self.commits
        return tuple(identity for identity in self.identities if identity in said)

    def without_silent(self) -> "Lottery":
        """The next attempt; PeerError after the second."""
        if self.restarts >= MOST_RESTARTS:
            raise PeerError("too-late", "the lottery has started again twice already; this round is over")
        return Lottery(self.round_name, self.heard, self.restarts + 1)

    def _require_known(self, identity: bytes) -> None:
        if identity not in self.identities:
            raise PeerError("unknown-member", "someone who is not on the frozen roster")


def shared_seed(roster: bytes, reveals: Mapping[bytes, bytes]) -> bytes:
    """Compute the seed, as each member does."""
    return hash_of(b"shoal seed", roster, *(secret for _, secret in sorted(reveals.items())))


class State(StrEnum):
    """The state of a member in the lottery."""

    LOOKING = "looking"
    JOINED = "joined"
    COMMITTED = "committed"
    REVEALED = "revealed"
    GROUPED = "grouped"
    NO_GROUP = "no group"


class Event(StrEnum):
    """The collector's view of the round."""

    FOUND = "found"  # there is a round to join
    JOINING = "joining"
    COMMITTING = "committing"
    REVEALING = "revealing"
    DRAWN = "drawn"  # and she is in one of the groups
    LEFT_OVER = "left over"  # drawn, and the number of people left no group for her
    ENDED = "ended"
    LEFT_OUT = "left out"  # the roster was frozen without her
    RESTARTED = "restarted"  # the lottery starts again without those who kept silent


_PLAYING: Final = (State.JOINED, State.COMMITTED, State.REVEALED)
_UNHEARD: Final = Refusal(
    "bad-answer", "the collector goes on with the lottery before everybody has been heard; send it nothing"
)

_ROWS: dict[tuple[State, Event], Step[State] | Refusal | Ignored] = {
    (State.LOOKING, Event.FOUND): Step("_join", State.JOINED),
    (State.JOINED, Event.COMMITTING): Step("_commit", State.COMMITTED),
    (State.COMMITTED, Event.REVEALING): Step("_reveal", State.REVEALED),
    (State.REVEALED, Event.DRAWN): Step(None, State.GROUPED),
    (State.REVEALED, Event.LEFT_OVER): Step("_end", State.NO_GROUP),
    # the collector has not heard her yet, or she asks again
    **{(s, Event.JOINING): IGNORED for s in _PLAYING},
    (State.COMMITTED, Event.COMMITTING): IGNORED,
    (State.REVEALED, Event.COMMITTING): IGNORED,
    (State.REVEALED, Event.REVEALING): IGNORED,
    # no reveal before all have committed, and no groups before all have revealed
    (State.JOINED, Event.REVEALING): _UNHEARD,
    (State.JOINED, Event.DRAWN): _UNHEARD,
    (State.COMMITTED, Event.DRAWN): _UNHEARD,
    **{(s, Event.RESTARTED): Step("_forget_attempt", State.JOINED) for s in _PLAYING},
    **{(s, Event.LEFT_OUT): Step("_forget_round", State.LOOKING) for s in _PLAYING},
    **{(s, Event.ENDED): Step("_give_up", State.NO_GROUP) for s in _PLAYING},
}

TABLE: Final = Table("a member's lottery", State.LOOKING, _ROWS, frozenset({State.GROUPED, State.NO_GROUP}))

# what each phase of a round means to a member who is on its roster
_PHASES: Final[Mapping[str, Event]] = {
    "joining": Event.JOINING,
    "committing": Event.COMMITTING,
    "revealing": Event.REVEALING,
    "grouped": Event.DRAWN,
    "failed": Event.ENDED,
    "over": Event.ENDED,
}


@dataclass(frozen=True)
class MemberGroup:
    """A member's group, with the place ``me``.

    ``channel``: under which members write. ``n_roster``: people on the roster.
    """

    channel: bytes
    identities: tuple[bytes, ...]
    me: int
    terms: Terms
    n_roster: int = 0


class NoGroup(Exception):  # noqa: N818  (no error: the lottery came out so)
    """No group in this round, and why."""


@dataclass(frozen=True)
class View:
    """The collector's view of a round."""

    name: bytes
    phase: str
    restarts: int
    roster: Mapping[bytes, bytes]
    commits: Mapping[bytes, bytes]
    reveals: Mapping[bytes, bytes]
    terms: Terms
    token_key: bytes

    @classmethod
    def read(cls, document: Any) -> "View":
        """A collector's document."""
        with refusing("bad-frame", "words that do not describe a round"):
            roster, commits, reveals = (
                {bytes.fromhex(k): bytes.fromhex(v) for k, v in document[part].items()}
                for part in ("roster", "commits", "reveals")
            )
            name, restarts = bytes.fromhex(document["round"]), int(document["restarts"])
            terms, token_key = read_terms(document["terms"]), bytes.fromhex(document["token_key"])
            return cls(name, str(document["phase"]), restarts, roster, commits, reveals, terms, token_key)

    @property
    def lottery(self) -> Lottery:
        """Before any commitment."""
        return Lottery(self.name, tuple(sorted(self.roster)), self.restarts)


class LotteryPart:
    """One member in the lottery: views go in, requests come out, until ``group`` is known.

    ``entry``: key, and token where required. ``collector_key``: the purpose of tokens. ``terms``: a round
    on any others is refused.
    """

    def __init__(self, entry: Entry, collector_key: bytes, terms: Terms, chance: Chance) -> None:
        self._entry, self._seed, self._terms, self._chance = entry, entry.signing_seed, terms, chance
        self._collector_key = collector_key
        self._me = verify_key(entry.signing_seed)
        self._checked: dict[bytes, bytes] = {}  # who is on the roster, as she saw it before
        self._state = TABLE.start
        self._round = b""
        self._secret = b""
        self._commits: dict[bytes, bytes] = {}
        self._attempt = 0  # how often the lottery had started again when she last looked
        self._frozen: tuple[int, frozenset[bytes]] | None = None  # after how many restarts, and who was in it
        self.group: MemberGroup | None = None

    def look(self) -> Call:
        """Ask for the state of the round."""
        of = "" if self._state is State.LOOKING else f"/{self._round.hex()}"
        return Call("GET", f"/v1/rounds{of}", poll=True)

    def take_view(self, document: Any) -> list[Call]:
        """Process the round's JSON; return requests.

        PeerError if the collector cheats, NoGroup without a group.
        """
        view = View.read(document)
        if view.terms != self._terms:
            raise PeerError(
                "bad-answer",
                "the terms of this round differ from those you accepted; run the same command again to see "
                "them",
            )
        calls: list[Call] = []
        for event in self._events(view):
            judged = event is Event.DRAWN and self._state is State.REVEALED
            calls += self._step(self._judge_groups(view) if judged else event, view)
        return calls

    def _events(self, view: View) -> list[Event]:
        """PeerError for a view that no honest collector shows."""
        if self._state is State.LOOKING:
            return [Event.FOUND]
        if view.name != self._round:
            raise PeerError("bad-answer", "the collector answers with another round; send it nothing")
        self._require_roster(view)
        if view.phase not in _PHASES:
            raise PeerError("bad-frame", "a round in a phase that this protocol does not have")
        event = _PHASES[view.phase]
        if event in (Event.ENDED, Event.JOINING):
            return [event]
        if self._me not in view.roster:
            return [Event.LEFT_OUT]
        self._require_frozen_roster(view.restarts, frozenset(view.roster))
        return [Event.RESTARTED, event] if view.restarts > self._attempt else [event]

    def _require_roster(self, view: View) -> None:
        """On the same terms, with a token if they name a registrar."""
        registrar, key = view.terms.registrar, None
        new = {who: entry for who, entry in view.roster.items() if self._checked.get(who) != entry}
        if registrar is not None and new:
            if view.token_key != self._entry.statement:
                raise PeerError(
                    "bad-answer",
                    "the registrar stated another key to you than to others, which could tell people apart, "
                    "or the collector says so; send it nothing",
                )
            purpose = purpose_of(self._collector_key, registrar)
            key = read_stated_key(bytes.fromhex(registrar.key), purpose, view.token_key)
        for identity, entry in new.items():
            signed, token = split_roster(entry, admitted=registrar is not None)
            require_signature(identity, b"join", view.terms.join_text(view.name), signed)
            if key is not None:
                require_token(key, identity, token)
        self._checked = dict(view.roster)

    def _require_frozen_roster(self, restarts: int, roster: frozenset[bytes]) -> None:
        """It only shrinks, by a restart, and rarely: the collector sees secrets first."""
        if len(roster) < self._terms.enough:
            raise PeerError(
                "bad-answer",
                f"the collector draws groups from {len(roster)} people, the terms say at least "
                f"{self._terms.enough}; send it nothing",
            )
        before, frozen = self._frozen or (0, roster)
        stays = roster == frozen if restarts == before else roster < frozen
        if not (before <= restarts <= MOST_RESTARTS and (stays or self._frozen is None)):
            raise PeerError(
                "bad-answer",
                "the collector repeats the lottery, or changes its roster, more than the protocol allows",
            )
        self._frozen = restarts, roster

    def _step(self, event: Event, view: View) -> list[Call]:
        step = TABLE.step(self._state, event)
        if step is None:
            return []
        self._state = step.state
        calls: list[Call] = [] if step.action is None else getattr(self, step.action)(view)
        return calls

    def _join(self, view: View) -> list[Call]:
        self._round = view.name
        signed = signature(self._seed, b"join", view.terms.join_text(view.name))
        return [self._send("roster", signed + self._entry.token + self._entry.statement)]

    def _commit(self, view: View) -> list[Call]:
        self._secret = self._chance.seed()
        roster = view.lottery.roster
        commit = commitment(roster, self._me, self._secret)
        return [self._send("commits", sign_lot(self._seed, b"commit", roster, commit))]

    def _reveal(self, view: View) -> list[Call]:
        """Only after all committed to this roster."""
        lottery = view.lottery
        for identity, message in view.commits.items():
            lottery.commit(identity, _checked_lot(identity, b"commit", lottery.roster, message))
        expected = commitment(lottery.roster, self._me, self._secret)
        if len(lottery.commits) != len(lottery.identities) or lottery.commits[self._me] != expected:
            raise PeerError("bad-answer", "the collector asks for secrets before all have committed")
        self._commits = dict(lottery.commits)
        return [self._send("reveals", sign_lot(self._seed, b"reveal", lottery.roster, self._secret))]

    def _judge_groups(self, view: View) -> Event:
        """PeerError when they do not follow from the commitments."""
        lottery = view.lottery
        lottery.commits.update(self._commits)
        for identity, message in view.reveals.items():
            lottery.reveal(identity, _checked_lot(identity, b"reveal", lottery.roster, message))
        if lottery.seed is None:
            raise PeerError("bad-answer", "groups before all have revealed")
        groups, _ = divide(lottery.seed, lottery.identities, self._terms.group_size)
        mine = next((group for group in groups if self._me in group), None)
        if mine is None:
            return Event.LEFT_OVER
        channel = channel_name(view.terms.join_text(view.name), lottery.seed, mine)
        n_roster = len(lottery.identities)
        self.group = MemberGroup(channel, mine, mine.index(self._me), self._terms, n_roster)
        return Event.DRAWN

    def _end(self, _: View) -> list[Call]:
        raise NoGroup("the number of people left no group for you")

    def _forget_round(self, view: View) -> list[Call]:
        self._frozen, self._round = None, b""
        self._forget_attempt(view)
        self._attempt = 0
        return []

    def _forget_attempt(self, view: View) -> list[Call]:
        self._attempt, self._secret, self._commits = view.restarts, b"", {}
        return []

    def _give_up(self, _: View) -> list[Call]:
        raise NoGroup("too few people answered in time, or the collector changed its terms")

    def _send(self, what: str, body: bytes) -> Call:
        return Call("POST", f"/v1/rounds/{self._round.hex()}/{what}", body)


def _checked_lot(identity: bytes, part: bytes, roster: bytes, message: bytes) -> bytes:
    try:
        return read_lot(identity, part, roster, message)
    except PeerError as error:
        raise PeerError(
            "bad-answer",
            "the collector shows a lot that its member did not sign over the roster that you see: it shows "
            "two rosters, or invents lots; send it nothing",
        ) from error
