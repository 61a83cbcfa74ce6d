"""Mix runs inside one process.

A small group for speed, a network with seeded schedules, and cheaters at every place.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from gmpy2 import mpz
from nacl.bindings import crypto_sign_seed_keypair

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.elgamal import Ciphertext, combined_key, encrypt
from shoal_collect.crypto.group import Group
from shoal_collect.mix.member import (
    TABLE,
    AbortedRun,
    Broadcast,
    Event,
    IgnoredMessage,
    Member,
    OpenedRecords,
    Output,
    State,
)
from shoal_collect.mix.messages import (
    Hop,
    Key,
    Kind,
    Opening,
    Session,
    Vote,
    commitment,
    encode,
    make_hop,
    make_input,
    sign,
)
from shoal_collect.transitions import Step

# a safe prime of 576 bits: quick, and far too small for anything but tests
SMALL: Final = Group(
    mpz(
        "a4942c092c5cdb1488d32056fd44807f9a7fa6a3d59c064fa26923a391b65f55"
        "a5c9f5503e0e701343598f72702e0d32692da136468f6ddd11a001905ada133720fadc7e21cdbabf",
        16,
    ),
    mpz(4),
)
# a prime of 1601 bits, with room for a record of the protocol; its group has no prime order
ROOMY: Final = Group(mpz(2) ** 1600 + 895, mpz(4))
LIMIT_S: Final = 10.0
RECORD_BYTES: Final = 16


def seed(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()


def session_of(
    n: int, n_records: int, name: object = "run", group: Group = SMALL, record_bytes: int = RECORD_BYTES
) -> Session:
    identities = tuple(crypto_sign_seed_keypair(seed("identity", i))[0] for i in range(n))
    return Session(seed(name), identities, n_records, record_bytes, group)


def records_of(session: Session, member: int) -> list[bytes]:
    return [(seed("record", member, i) * 8)[: session.record_bytes] for i in range(session.n_records)]


def build(session: Session, cheaters: dict[int, type[Member]] | None = None) -> list[Member]:
    kinds = [(cheaters or {}).get(i, Member) for i in range(session.n)]
    members = [
        kind(session, i, seed("identity", i), records_of(session, i), Chance(seed(session.name, i)), LIMIT_S)
        for i, kind in enumerate(kinds)
    ]
    for member in members:
        member.draw_fresh = bytes  # the same seed gives the same trace
    return members


class Network:
    """Delivers in a seeded order, each sender's messages to one receiver in sequence.

    Can lose, copy and damage what ``faulty`` send.
    """

    def __init__(
        self,
        members: Sequence[Member],
        schedule: int = 0,
        *,
        lose: float = 0,
        copy: float = 0,
        damage: float = 0,
    ) -> None:
        self.members, self.random = members, random.Random(schedule)
        self.lose, self.copy, self.damage = lose, copy, damage
        self.queues: dict[tuple[int, int], list[bytes]] = {}
        self.outcomes: dict[int, OpenedRecords | AbortedRun] = {}
        self.ignored: list[str] = []
        self.sent = [0] * len(members)
        self.trace = hashlib.sha256()
        self.now_s = 0.0
        self.crashed: set[int] = set()

    def run(self) -> dict[int, OpenedRecords | AbortedRun]:
        for member in self.members:
            if member.me not in self.crashed:
                self.took(member, member.start(self.now_s))
        for _ in range(20):  # far more time-outs than a run can have
            while waiting := sorted(pair for pair, queue in self.queues.items() if queue):
                sender, receiver = self.random.choice(waiting)
                frame = self.queues[sender, receiver].pop(0)
                self.trace.update(bytes((sender, receiver)) + frame)
                if receiver not in self.crashed:
                    self.took(self.members[receiver], self.members[receiver].receive(frame, self.now_s))
            if len(self.outcomes) + len(self.crashed - self.outcomes.keys()) == len(self.members):
                break
            self.now_s += LIMIT_S + 1
            for member in self.members:
                if member.me not in self.crashed:
                    self.took(member, member.tick(self.now_s))
        return self.outcomes

    def took(self, member: Member, events: Sequence[Output]) -> None:
        for event in events:
            if isinstance(event, Broadcast):
                for other in range(len(self.members)):
                    if other != member.me:
                        self.send(member, other, event.frame)
            elif isinstance(event, IgnoredMessage):
                self.ignored.append(event.fault.kind)
            else:
                assert member.me not in self.outcomes, "an outcome is final"
                self.outcomes[member.me] = event

    def send(self, member: Member, other: int, frame: bytes) -> None:
        self.sent[member.me] += 1
        told: bytes | None = getattr(member, "told", lambda _other, told: told)(other, frame)
        if told is None or self.random.random() < self.lose:
            return
        if self.random.random() < self.damage:
            at = self.random.randrange(len(told))
            told = told[:at] + bytes((told[at] ^ (1 + self.random.randrange(255)),)) + told[at + 1 :]
        self.queues.setdefault((member.me, other), []).extend(
            [told] * (1 + (self.random.random() < self.copy))
        )


class _Mixer(Member):
    """Cheats in her hop, with a valid proof of stripping; ``spoil`` changes what she passes on."""

    def _make_hop(self) -> bytes:
        shares = [key.share for key in self._keys]
        rest = combined_key(self.session.group, shares[self.me + 1 :])
        hop = make_hop(
            self.session,
            self.me,
            self._secret,
            (shares[self.me], rest),
            self._list,
            self._hop_seed,
            bytes(32),
        )
        spoiled = Hop(hop.stripped, hop.proof, self.spoil(hop.shuffled, rest), hop.shuffle)
        return encode(self.session.group, spoiled)

    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        raise NotImplementedError


class Duplicate(_Mixer):
    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        return (shuffled[1], *shuffled[1:])


class Replace(_Mixer):
    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        group, text = self.session.group, bytes(self.session.sealed_bytes)
        return (encrypt(group, rest, group.encode(text, len(text)), self._key_chance), *shuffled[1:])


class Tag(_Mixer):
    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        group = self.session.group
        return (Ciphertext(shuffled[0].c1, group.times(shuffled[0].c2, mpz(9))), *shuffled[1:])


class Drop(_Mixer):
    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        return shuffled[1:]


class WrongSubgroup(_Mixer):
    def spoil(self, shuffled: tuple[Ciphertext, ...], rest: mpz) -> tuple[Ciphertext, ...]:
        group = self.session.group
        return (Ciphertext(shuffled[0].c1, group.p - shuffled[0].c2), *shuffled[1:])


class TagThenOpen(Tag):
    """Tags, and then gives an inner key instead of what would let her part be replayed."""

    def _confess(self) -> None:
        opening = Opening(envelope.draw_secret(self._key_chance), self._received.attestation())
        self._post(Kind.OPEN, encode(self.session.group, opening))


class TagThenSilent(Tag):
    """Tags, and then confesses nothing."""

    def told(self, other: int, frame: bytes) -> bytes | None:
        return None if frame[6] == Kind.BLAME else frame


class FalseStrip(Member):
    """Strips with another secret than her share's."""

    def _make_hop(self) -> bytes:
        honest, self._secret = self._secret, self._secret + 1
        try:
            return super()._make_hop()
        finally:
            self._secret = honest


class CopyInput(Member):
    """Puts the same envelope in twice."""

    def _make_input(self) -> bytes:
        super()._make_input()
        self._sealed = (self._sealed[0],) * len(self._sealed)
        y = combined_key(self.session.group, [key.share for key in self._keys])
        return encode(self.session.group, make_input(self.session, y, self._sealed, self._input_seed))


class GarbageInput(Member):
    """Puts an element in that stands for no text."""

    def _make_input(self) -> bytes:
        super()._make_input()
        group, y = self.session.group, combined_key(self.session.group, [key.share for key in self._keys])
        listed = list(make_input(self.session, y, self._sealed, self._input_seed))
        listed[0] = encrypt(group, y, group.power(group.g, mpz(12345)), self._key_chance)
        return encode(group, listed)


class FalseNoGo(Member):
    def _make_vote(self) -> Vote:
        return Vote(False, super()._make_vote().transcript)


class FalseTranscript(Member):
    def _make_vote(self) -> Vote:
        return Vote(True, bytes(32))


class WrongInnerKey(Member):
    def _make_opening(self) -> bytes:
        opening = Opening(envelope.draw_secret(self._key_chance), self._received.attestation())
        return encode(self.session.group, opening)


class Withhold(Member):
    """Votes GO, and keeps her inner key to herself."""

    def told(self, other: int, frame: bytes) -> bytes | None:
        return None if frame[6] == Kind.OPEN else frame


class BadProof(Member):
    def _make_key(self) -> bytes:
        key = Key.decode(self.session, super()._make_key())
        wrong = type(key.proof)(key.proof.announced, (key.proof.response + 1) % self.session.group.q)
        return encode(self.session.group, Key(key.share, wrong, key.inner, key.inner_proof))


class CancelOthers(Member):
    """Shows another share than she committed to, as Theorem 4.1 fears."""

    def _post(self, kind: Kind, body: bytes) -> None:
        super()._post(
            kind, commitment(self.session, self.me, b"another") if kind is Kind.KEY_COMMIT else body
        )


class Equivocate(Member):
    """Tells the last member another thing than the others, in one kind of message."""

    kind = Kind.HOP

    def told(self, other: int, frame: bytes) -> bytes | None:
        if frame[6] != self.kind or other != (self.session.n - 1 if self.me < self.session.n - 1 else 0):
            return frame
        body = bytearray(frame[40:-64])
        body[-1] ^= 1
        return sign(self.session, self.kind, self.me, bytes(body), self._signing_seed).frame


class EquivocateVote(Equivocate):
    """GO to some, NO-GO to another."""

    kind = Kind.VOTE

    def told(self, other: int, frame: bytes) -> bytes | None:
        if frame[6] != Kind.VOTE or other != (self.me + 1) % self.session.n:
            return frame
        body = encode(self.session.group, Vote(False, frame[41:73]))
        return sign(self.session, Kind.VOTE, self.me, body, self._signing_seed).frame


class EquivocateInput(Equivocate):
    kind = Kind.INPUT


class EquivocateKey(Equivocate):
    kind = Kind.KEY


class AccuseFalsely(Member):
    """NO-GO with a sound message as evidence."""

    def _make_vote(self) -> Vote:
        other = (self.me + 1) % self.session.n
        return Vote(False, super()._make_vote().transcript, self._slots[Kind.KEY, other].frame)


class ConfessWrong(FalseNoGo):
    """NO-GO, and then a secret that is not hers."""

    def _make_confession(self) -> bytes:
        self._secret += 1
        return super()._make_confession()


class ConfessUncalled(Member):
    """Confesses where she should mix, though nobody stopped."""

    table = replace(
        TABLE, rows={**TABLE.rows, (State.INPUTS, Event.SOUND): Step("_confess", State.CONFESSIONS)}
    )


PROVEN: Final[tuple[type[Member], ...]] = (
    Duplicate, Replace, Tag, Drop, WrongSubgroup, FalseStrip, CopyInput, GarbageInput, FalseNoGo,
    FalseTranscript, WrongInnerKey, BadProof, CancelOthers, Equivocate, EquivocateVote, EquivocateInput,
    EquivocateKey, AccuseFalsely, ConfessWrong, ConfessUncalled, TagThenOpen,
)  # fmt: skip
LAST_MIXES_NOTHING: Final = (Duplicate, Replace, Tag, TagThenOpen, Drop, WrongSubgroup)


def opened(outcomes: dict[int, Any]) -> list[OpenedRecords]:
    return [outcome for outcome in outcomes.values() if isinstance(outcome, OpenedRecords)]
