"""A member in one mix run: bytes and time in, bytes and events out.

The members commit to their keys and show them, commit to their ciphertexts and show them; then each in turn
strips, re-masks and permutes, and all vote. If all vote GO over one transcript, they publish their inner
keys and the records open. Otherwise each first erases the inner key and then reveals all other secrets, so
that a replay finds the culprit. No honest member ever reveals both.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from nacl.bindings import randombytes

from shoal.errors import MisuseError
from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import SEED_BYTES, Chance, bound_chance
from shoal_collect.crypto.elgamal import Ciphertext, combined_key, prove_key
from shoal_collect.faults import PeerError
from shoal_collect.mix.blame import Findings, audit, read_testimonies
from shoal_collect.mix.messages import (
    Attestation,
    Confession,
    Key,
    Kind,
    Opening,
    Session,
    SignedMessage,
    Slots,
    Vote,
    commitment,
    encode,
    make_hop,
    make_input,
    open_frame,
    read_hop,
    read_input,
    read_key,
    sign,
    transcript_hash,
)
from shoal_collect.transitions import IGNORED, Ignored, Refusal, Step, Table


class State(StrEnum):
    """The state of a member in the run."""

    NEW = "new"
    KEY_COMMITS = "key commitments"
    KEYS = "keys"
    INPUT_COMMITS = "input commitments"
    INPUTS = "inputs"
    HOPS = "hops"
    VOTES = "votes"
    OPENINGS = "openings"
    CONFESSIONS = "confessions"
    OPENED = "opened"
    ABORTED = "aborted"


class Event(StrEnum):
    """An event for a member."""

    START = "start"
    MESSAGE = "message"  # a signed message of this session has come
    SOUND = "sound"  # all that she waits for is there, and holds
    LAST = "last hop"  # so is the last mixer's hop
    FAULTY = "faulty"  # all that she waits for is there, and some of it does not hold
    DISSENT = "dissent"  # a member confessed instead of opening, or voted on different transcripts
    CONFLICT = "conflict"  # a member signed two messages for one slot
    STOPPED = "stopped"  # another member voted NO-GO or confesses
    LATE = "late"  # the time for this state is over


_STOPPABLE: Final = (
    State.KEY_COMMITS,
    State.KEYS,
    State.INPUT_COMMITS,
    State.INPUTS,
    State.HOPS,
    State.VOTES,
)
_FINAL: Final = (State.OPENED, State.ABORTED)
_OVER: Final = Refusal("too-late", "a message for a run that is over")

# the kinds of message of which every member must have sent one
AWAITED: Final = {
    State.KEY_COMMITS: (Kind.KEY_COMMIT,),
    State.KEYS: (Kind.KEY,),
    State.INPUT_COMMITS: (Kind.INPUT_COMMIT,),
    State.INPUTS: (Kind.INPUT,),
    State.VOTES: (Kind.VOTE,),
    State.OPENINGS: (Kind.OPEN, Kind.BLAME),
    State.CONFESSIONS: (Kind.OPEN, Kind.BLAME),
}

_ROWS: dict[tuple[State, Event], Step[State] | Refusal | Ignored] = {
    (State.NEW, Event.START): Step("_commit_keys", State.KEY_COMMITS),
    (State.KEY_COMMITS, Event.SOUND): Step("_show_keys", State.KEYS),
    (State.KEYS, Event.SOUND): Step("_commit_input", State.INPUT_COMMITS),
    (State.KEYS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.INPUT_COMMITS, Event.SOUND): Step("_show_input", State.INPUTS),
    (State.INPUTS, Event.SOUND): Step("_mix", State.HOPS),
    (State.INPUTS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.HOPS, Event.SOUND): Step("_mix", State.HOPS),
    (State.HOPS, Event.LAST): Step("_vote", State.VOTES),
    (State.HOPS, Event.FAULTY): Step("_stop", State.CONFESSIONS),
    (State.VOTES, Event.SOUND): Step("_open", State.OPENINGS),
    (State.VOTES, Event.FAULTY): Step("_confess", State.CONFESSIONS),
    (State.OPENINGS, Event.SOUND): Step("_finish", State.OPENED),
    (State.OPENINGS, Event.FAULTY): Step("_name", State.ABORTED),
    (State.OPENINGS, Event.DISSENT): Step("_abort_after_audit", State.ABORTED),
    (State.OPENINGS, Event.LATE): Step("_abort_after_audit", State.ABORTED),
    (State.CONFESSIONS, Event.SOUND): Step("_abort_after_audit", State.ABORTED),
    (State.CONFESSIONS, Event.LATE): Step("_abort_after_audit", State.ABORTED),
    # once the vote is over, the audit judges conflicts and confessions
    **{(s, e): IGNORED for s in (State.OPENINGS, State.CONFESSIONS) for e in (Event.CONFLICT, Event.STOPPED)},
    **{(s, Event.CONFLICT): Step("_stop", State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.STOPPED): Step("_confess", State.CONFESSIONS) for s in _STOPPABLE},
    **{(s, Event.LATE): Step("_stop", State.CONFESSIONS) for s in _STOPPABLE},
    # a message alone changes nothing: what it completes or contradicts does
    **{(s, Event.MESSAGE): IGNORED for s in State if s not in _FINAL},
    **{(s, Event.MESSAGE): _OVER for s in _FINAL},
    **{(s, Event.LATE): IGNORED for s in _FINAL},
}

TABLE: Final = Table("a member of a mix run", State.NEW, _ROWS, frozenset(_FINAL))


PHASE_LIMIT_S: Final = 120.0


@dataclass(frozen=True)
class Broadcast:
    """Bytes for all other members."""

    frame: bytes


@dataclass(frozen=True)
class OpenedRecords:
    """In canonical order, and envelopes without a record."""

    records: tuple[bytes, ...]
    spoiled: int


@dataclass(frozen=True)
class AbortedRun:
    """The run is over without records.

    ``is_closed``: whether this member kept her inner key, so that no one will ever open the run.
    """

    findings: Findings
    is_closed: bool = False


@dataclass(frozen=True)
class IgnoredMessage:
    """Bytes without effect, and why."""

    fault: PeerError


Output = Broadcast | OpenedRecords | AbortedRun | IgnoredMessage


class MessageLog:
    """A member's messages: one per slot, with proof against senders of two.

    ``conflicts``: a second signed message per cheating sender.
    """

    def __init__(self, session: Session, me: int) -> None:
        self._session, self._me = session, me
        self.slots: Slots = {}
        self.conflicts: dict[int, SignedMessage] = {}

    def take(self, signed: SignedMessage) -> None:
        """Store a message; PeerError for a copy.

        A different second one proves its sender's fault.
        """
        slot = (signed.kind, signed.sender)
        earlier = self.slots.get(slot)
        if earlier is None:
            self.slots[slot] = signed
        elif earlier.digest == signed.digest:
            raise PeerError("duplicate", "a message that is already there")
        elif signed.sender != self._me:
            self.conflicts[signed.sender] = signed
        if signed.kind is Kind.VOTE and earlier is None:
            self._take_evidence(signed)

    def _take_evidence(self, signed: SignedMessage) -> None:
        """A NO-GO may carry it."""
        try:
            vote = Vote.decode(signed.body)
            if vote.evidence:
                evidence = open_frame(self._session, vote.evidence)
                if evidence.kind is not Kind.VOTE:
                    self.take(evidence)
        except PeerError:
            return  # the audit judges a vote that cannot be read; evidence that cannot be read is none

    def silent(self, kinds: Collection[Kind]) -> frozenset[int]:
        """Without a message of these kinds."""
        members = range(self._session.n)
        return frozenset(m for m in members if not any((kind, m) in self.slots for kind in kinds))

    def overdue(self) -> frozenset[int]:
        """Attested but missing here (later ones may overtake them)."""
        if not any(kind is Kind.BLAME for kind, _ in self.slots):
            return frozenset()
        _, testimonies = read_testimonies(self._session, self.slots)
        return frozenset(
            slot[1]
            for testimony in testimonies.values()
            for slot in testimony.attestation
            if slot not in self.slots
        )

    def is_stopped(self) -> bool:
        """A NO-GO, an unreadable vote, or a confession."""
        for (kind, _), signed in self.slots.items():
            if kind is Kind.BLAME:
                return True
            if kind is Kind.VOTE:
                try:
                    if not Vote.decode(signed.body).go:
                        return True
                except PeerError:
                    return True
        return False

    def attestation(self) -> Attestation:
        """Digest and signature of all messages so far."""
        return {slot: (signed.digest, signed.signature) for slot, signed in self.slots.items()}


class Member:
    """One member: call ``start`` once, then ``receive`` and ``tick``.

    The same seed and calls give the same outputs, but for the nonces of proofs. ``me``: place, with the
    secret ``signing_seed`` of 32 bytes. ``records``: exactly ``session.n_records``, fakes included.
    ``limit_s``: of each state.
    """

    table: Table[State, Event] = TABLE
    draw_fresh: Callable[[int], bytes] = staticmethod(randombytes)

    def __init__(
        self,
        session: Session,
        me: int,
        signing_seed: bytes,
        records: Sequence[bytes],
        chance: Chance,
        limit_s: float = PHASE_LIMIT_S,
    ) -> None:
        if len(records) != session.n_records or {len(record) for record in records} != {session.record_bytes}:
            raise MisuseError(
                f"give exactly {session.n_records} records of {session.record_bytes} bytes, fakes included"
            )
        self.session, self.me, self._signing_seed, self._limit_s = session, me, signing_seed, limit_s
        self.records = tuple(records)
        self._key_chance = Chance(chance.seed())
        self._input_seed, self._hop_seed = chance.seed(), chance.seed()
        self._inner_chance: Chance | None = Chance(chance.seed())
        self._secret = session.group.draw_secret(self._key_chance)
        self._inner_secret: bytes | None = envelope.draw_secret(self._inner_chance)
        self._received = MessageLog(session, me)
        self._slots = self._received.slots
        self._evidence: SignedMessage | None = None
        self._wrong_openers: frozenset[int] = frozenset()
        self._keys: list[Key] = []
        self._sealed: tuple[bytes, ...] = ()
        self._list: tuple[Ciphertext, ...] = ()
        self._finals: list[bytes] = []
        self._state = self.table.start
        self._hop = -1
        self._deadline_s = 0.0
        self._outputs: list[Output] = []

    def start(self, now_s: float) -> list[Output]:
        """Send the first message."""
        self._step(Event.START, now_s)
        return self._drain_outputs()

    def receive(self, frame: bytes, now_s: float) -> list[Output]:
        """Process a message; one of another session is reported."""
        try:
            signed = open_frame(self.session, frame)
            self._step(Event.MESSAGE, now_s)
            self._received.take(signed)
        except PeerError as fault:
            return [IgnoredMessage(fault)]
        self._advance(now_s)
        return self._drain_outputs()

    def tick(self, now_s: float) -> list[Output]:
        """A member beyond the limit ends the run."""
        if now_s > self._deadline_s:
            self._evidence = None
            self._step(Event.LATE, now_s)
            self._advance(now_s)
        return self._drain_outputs()

    @property
    def waiting_for(self) -> frozenset[int]:
        """Who must send next."""
        if self._state is State.HOPS:
            return frozenset({self._hop}) - {sender for kind, sender in self._slots if kind is Kind.HOP}
        awaited = AWAITED.get(self._state)
        return frozenset() if awaited is None else self._received.silent(awaited) or self._received.overdue()

    # the content of messages; a cheater in the tests overrides these

    def _make_key(self) -> bytes:
        group, context = self.session.group, self.session.context(self.me)
        share = group.secret_power(group.g, self._secret)
        nonces = self._nonces(self._key_chance.seed(), group.to_bytes(share), context)
        proof = prove_key(group, self._secret, share, context, nonces)
        inner_secret, chance = self._inner_key()
        inner = envelope.public_key(inner_secret)
        inner_proof = envelope.prove(
            inner_secret, inner, context, self._nonces(chance.seed(), inner, context)
        )
        return encode(group, Key(share, proof, inner, inner_proof))

    def _nonces(self, seed: bytes, *statement: bytes) -> Chance:
        """A copied disk repeats the seed, not the moment: a nonce in two proofs gives away a secret."""
        return bound_chance(seed, self.draw_fresh(SEED_BYTES), *statement)

    def _make_input(self) -> bytes:
        _, chance = self._inner_key()
        inner_key = envelope.combined_key([key.inner for key in self._keys])
        self._sealed = tuple(
            envelope.seal(record, inner_key, self.session.name, chance) for record in self.records
        )
        y = combined_key(self.session.group, [key.share for key in self._keys])
        return encode(self.session.group, make_input(self.session, y, self._sealed, self._input_seed))

    def _make_hop(self) -> bytes:
        shares = [key.share for key in self._keys]
        keys = (shares[self.me], combined_key(self.session.group, shares[self.me + 1 :]))
        fresh = self.draw_fresh(SEED_BYTES)
        hop = make_hop(self.session, self.me, self._secret, keys, self._list, self._hop_seed, fresh)
        return encode(self.session.group, hop)

    def _make_vote(self) -> Vote:
        """GO if each envelope came through exactly once and the count is right."""
        finals = set(self._finals)
        whole = len(finals) == self.session.n * self.session.n_records and set(self._sealed) <= finals
        return Vote(whole, transcript_hash(self._slots))

    def _make_opening(self) -> bytes:
        inner_secret, _ = self._inner_key()
        return encode(self.session.group, Opening(inner_secret, self._received.attestation()))

    def _make_confession(self) -> bytes:
        sealed = self._sealed or (bytes(self.session.sealed_bytes),) * self.session.n_records
        attestation = self._received.attestation()
        confession = Confession(self._secret, self._input_seed, self._hop_seed, sealed, attestation)
        return encode(self.session.group, confession)

    # the run: each step reads the table

    @property
    def _readers(self) -> Mapping[State, Callable[[], Event]]:
        """Commitments carry nothing to check, and the audit judges confessions."""
        return {
            State.KEYS: self._read_keys,
            State.INPUTS: self._read_inputs,
            State.HOPS: self._read_hop,
            State.VOTES: self._compare_votes,
            State.OPENINGS: self._read_openings,
        }

    def _step(self, event: Event, now_s: float) -> None:
        step = self.table.step(self._state, event)
        if step is None:
            return
        self._state, self._deadline_s = step.state, now_s + self._limit_s
        if step.action is not None:
            getattr(self, step.action)()

    def _advance(self, now_s: float) -> None:
        while self._state not in self.table.final and (event := self._due_event()) is not None:
            self._step(event, now_s)

    def _due_event(self) -> Event | None:
        if self._received.conflicts and self.table.reacts(self._state, Event.CONFLICT):
            self._evidence = next(iter(self._received.conflicts.values()))
            return Event.CONFLICT
        if self.table.reacts(self._state, Event.STOPPED) and self._received.is_stopped():
            return Event.STOPPED
        if self._state is State.NEW or self.waiting_for:
            return None
        reader = self._readers.get(self._state)
        return Event.SOUND if reader is None else reader()

    # readers: is what has come sound?

    def _read_keys(self) -> Event:
        for member in range(self.session.n):
            commit, signed = self._slots[Kind.KEY_COMMIT, member], self._slots[Kind.KEY, member]
            try:
                self._keys.append(read_key(self.session, commit, signed))
            except PeerError:
                self._evidence = signed
                return Event.FAULTY
        return Event.SOUND

    def _read_inputs(self) -> Event:
        lists: list[Ciphertext] = []
        for member in range(self.session.n):
            commit, signed = self._slots[Kind.INPUT_COMMIT, member], self._slots[Kind.INPUT, member]
            try:
                lists += read_input(self.session, commit, signed)
            except PeerError:
                self._evidence = signed
                return Event.FAULTY
        self._list = tuple(lists)
        return Event.SOUND

    def _read_hop(self) -> Event:
        signed = self._slots[Kind.HOP, self._hop]
        try:
            hop = read_hop(self.session, [key.share for key in self._keys], self._list, signed)
        except PeerError:
            self._evidence = signed
            return Event.FAULTY
        if self._hop < self.session.n - 1:
            self._list = hop.shuffled
            return Event.SOUND
        try:
            self._finals = [
                self.session.group.decode(element, self.session.sealed_bytes) for element in hop.stripped
            ]
        except PeerError:
            # an envelope was tampered with: vote NO-GO, and the replay names the culprit
            self._finals = []
        return Event.LAST

    def _compare_votes(self) -> Event:
        """They must refer to one transcript."""
        votes = [Vote.decode(self._slots[Kind.VOTE, member].body) for member in range(self.session.n)]
        return Event.FAULTY if len({vote.transcript for vote in votes}) > 1 else Event.SOUND

    def _read_openings(self) -> Event:
        if len(self._openings()) < self.session.n or self._received.conflicts:
            return Event.DISSENT
        self._wrong_openers = frozenset(m for m, secret in self._openings().items() if secret is None)
        return Event.FAULTY if self._wrong_openers else Event.SOUND

    def _openings(self) -> dict[int, bytes | None]:
        """None for a secret that does not match the key."""
        secrets: dict[int, bytes | None] = {}
        for (kind, sender), signed in sorted(self._slots.items()):
            if kind is Kind.OPEN:
                try:
                    secret = Opening.decode(self.session, signed.body).inner_secret
                except PeerError:
                    secrets[sender] = None
                else:
                    secrets[sender] = (
                        secret if envelope.is_secret_of(secret, self._keys[sender].inner) else None
                    )
        return secrets

    # actions

    def _commit_keys(self) -> None:
        self._key_body = self._make_key()
        self._post(Kind.KEY_COMMIT, commitment(self.session, self.me, self._key_body))

    def _show_keys(self) -> None:
        self._post(Kind.KEY, self._key_body)

    def _commit_input(self) -> None:
        self._input_body = self._make_input()
        self._post(Kind.INPUT_COMMIT, commitment(self.session, self.me, self._input_body))

    def _show_input(self) -> None:
        self._post(Kind.INPUT, self._input_body)

    def _mix(self) -> None:
        self._hop += 1
        if self._hop == self.me:
            self._post(Kind.HOP, self._make_hop())

    def _vote(self) -> None:
        self._post(Kind.VOTE, encode(self.session.group, self._make_vote()))

    def _open(self) -> None:
        self._post(Kind.OPEN, self._make_opening())

    def _stop(self) -> None:
        """With the message that shows the fault, if one does."""
        self._erase_inner_key()
        if (Kind.VOTE, self.me) not in self._slots:
            evidence = b"" if self._evidence is None else self._evidence.frame
            vote = Vote(False, transcript_hash(self._slots), evidence)
            self._post(Kind.VOTE, encode(self.session.group, vote))
        self._confess()

    def _confess(self) -> None:
        """Erase the inner key first."""
        if (Kind.OPEN, self.me) in self._slots:
            raise AssertionError("no honest member gives both")
        self._erase_inner_key()
        self._post(Kind.BLAME, self._make_confession())

    def _finish(self) -> None:
        secret = envelope.combined_secret([one for one in self._openings().values() if one is not None])
        records = []
        for sealed in self._finals:
            try:
                records.append(envelope.unseal(sealed, secret, self.session.name))
            except PeerError:
                continue  # only its sender can have spoiled it; it is counted
        self._end(OpenedRecords(tuple(sorted(records)), len(self._finals) - len(records)))

    def _abort_after_audit(self) -> None:
        findings = audit(self.session, self._slots, frozenset(self._received.conflicts))
        self._end(AbortedRun(findings, is_closed=(Kind.OPEN, self.me) not in self._slots))

    def _name(self) -> None:
        self._end(AbortedRun(Findings(self._wrong_openers, reason="gave an inner key that does not fit")))

    def _end(self, outcome: OpenedRecords | AbortedRun) -> None:
        self._erase_inner_key()
        self._outputs.append(outcome)

    def _post(self, kind: Kind, body: bytes) -> None:
        signed = sign(self.session, kind, self.me, body, self._signing_seed)
        self._slots[kind, self.me] = signed
        self._outputs.append(Broadcast(signed.frame))

    def _erase_inner_key(self) -> None:
        self._inner_secret = self._inner_chance = None

    def _inner_key(self) -> tuple[bytes, Chance]:
        if self._inner_secret is None or self._inner_chance is None:
            raise AssertionError("the inner key is erased")
        return self._inner_secret, self._inner_chance

    def _drain_outputs(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs
