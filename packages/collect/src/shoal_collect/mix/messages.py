"""A mix run, and its messages as signed frames: a type and a strict encoding each, and what they mean.

A signature covers the digest of all bytes before it, so a digest with its signature proves a sent message.
Members compare these to detect different messages to different people.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from typing import Any, Final

from gmpy2 import mpz
from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from shoal.errors import MisuseError
from shoal_collect.crypto import elgamal, envelope
from shoal_collect.crypto.chance import SEED_BYTES, bound_chance
from shoal_collect.crypto.elgamal import Ciphertext, KeyProof, StripProof
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.shuffle_proof import (
    Shuffle,
    ShuffleProof,
    proof_bytes,
    prove_shuffle,
    read_shuffle_proof,
    require_shuffle_proof,
)
from shoal_collect.crypto.signatures import SIGNATURE_BYTES
from shoal_collect.faults import PeerError

MAX_RECORDS: Final = 1024
SMALLEST, LARGEST = 3, 25  # groups of 3 to 24, or one more when the number of people does not divide
DIGEST_BYTES: Final = 32
MOST_RESTARTS: Final = 3  # of a mix that silent members stopped
_MAGIC: Final = b"shoal1"
_HEAD_BYTES: Final = len(_MAGIC) + 1 + 32 + 1
_ATTESTATION_BYTES: Final = 65_536  # room for what testimonies attest


class Kind(IntEnum):
    """The kinds of messages in the order of the protocol."""

    KEY_COMMIT = 1
    KEY = 2
    INPUT_COMMIT = 3
    INPUT = 4
    HOP = 5
    VOTE = 6
    OPEN = 7
    BLAME = 8


KINDS: Final = frozenset(map(int, Kind))


@dataclass(frozen=True)
class Session:
    """One mix run.

    ``name``: 32 unique bytes. ``identities``: public keys in order; SMALLEST to LARGEST. ``n_records``: at
    most MAX_RECORDS. ``proven``: each mixer proves the shuffle: a fault is detected at once, at many times
    the cost.
    """

    name: bytes
    identities: tuple[bytes, ...]
    n_records: int
    record_bytes: int
    group: Group
    proven: bool = False

    def __post_init__(self) -> None:
        distinct = len(set(self.identities)) == len(self.identities)
        if len(self.name) != 32 or not distinct or not SMALLEST <= self.n <= LARGEST:
            raise MisuseError(
                f"a session needs a name of 32 bytes and {SMALLEST} to {LARGEST} different members"
            )
        if not 1 <= self.n_records <= MAX_RECORDS or self.sealed_bytes > self.group.text_bytes:
            raise MisuseError(
                f"{self.n_records} records of {self.record_bytes} bytes; give 1 to {MAX_RECORDS}, each small "
                "enough for one group element"
            )

    @property
    def n(self) -> int:
        """Number of members."""
        return len(self.identities)

    @property
    def sealed_bytes(self) -> int:
        """Of a record in its envelope."""
        return self.record_bytes + envelope.OVERHEAD_BYTES

    def context(self, member: int) -> bytes:
        """Binds a proof to this session and one member."""
        return self.name + bytes((member,))

    def frame_limit(self) -> int:
        """Longer messages can be refused unread."""
        size = self.n * self.n_records
        proofs = proof_bytes(self.group, size) if self.proven else 0
        return (
            _HEAD_BYTES + SIGNATURE_BYTES + 6 * size * self.group.element_bytes + proofs + _ATTESTATION_BYTES
        )


@dataclass(frozen=True)
class SignedMessage:
    """A message with a valid signature."""

    kind: Kind
    sender: int
    body: bytes
    digest: bytes
    signature: bytes
    frame: bytes


def least_left(n: int) -> int:
    """The fewest of n members who may mix without the others: more than half."""
    return max(SMALLEST, n // 2 + 1)


def sign(session: Session, kind: Kind, sender: int, body: bytes, signing_seed: bytes) -> SignedMessage:
    """Sign a message with the sender's identity key."""
    head = _MAGIC + bytes((kind,)) + session.name + bytes((sender,))
    digest = hash_of(b"", head, body)
    _, secret = crypto_sign_seed_keypair(signing_seed)
    signature = bytes(crypto_sign(_attested(session, kind, sender, digest), secret)[:SIGNATURE_BYTES])
    return SignedMessage(kind, sender, body, digest, signature, head + body + signature)


def open_frame(session: Session, frame: bytes) -> SignedMessage:
    """PeerError for anything that is no signed message of this session."""
    if not _HEAD_BYTES + SIGNATURE_BYTES <= len(frame) <= session.frame_limit():
        raise PeerError("bad-length", f"a message of {len(frame)} bytes")
    if frame[: len(_MAGIC)] != _MAGIC or frame[len(_MAGIC)] not in KINDS:
        raise PeerError("bad-frame", "bytes that are not a message of a mix run")
    if frame[len(_MAGIC) + 1 : _HEAD_BYTES - 1] != session.name:
        raise PeerError("wrong-session", "a message of another session")
    kind, sender = Kind(frame[len(_MAGIC)]), frame[_HEAD_BYTES - 1]
    if sender >= session.n:
        raise PeerError("unknown-member", "a message from outside this group")
    digest = hash_of(b"", frame[:-SIGNATURE_BYTES])
    signature = frame[-SIGNATURE_BYTES:]
    if not is_attested(session, kind, sender, digest, signature):
        raise PeerError("bad-signature", "a message that its sender did not sign")
    return SignedMessage(kind, sender, frame[_HEAD_BYTES:-SIGNATURE_BYTES], digest, signature, frame)


def is_attested(session: Session, kind: Kind, sender: int, digest: bytes, signature: bytes) -> bool:
    """Check that the sender signed a message with this digest."""
    try:
        crypto_sign_open(signature + _attested(session, kind, sender, digest), session.identities[sender])
    except BadSignatureError:
        return False
    return True


def _attested(session: Session, kind: Kind, sender: int, digest: bytes) -> bytes:
    return b"shoal message" + session.name + bytes((kind, sender)) + digest


class Reader(AbstractContextManager["Reader"]):
    """Reads one body from left to right; PeerError for missing bytes, and at its end for trailing ones."""

    def __init__(self, session: Session, body: bytes) -> None:
        self._session, self._group, self._body, self._at = session, session.group, body, 0

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._at != len(self._body):
            raise PeerError("bad-length", f"{len(self._body) - self._at} bytes too many")

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        part = self._body[self._at : self._at + n]
        if len(part) != n:
            raise PeerError("bad-length", f"{len(self._body)} bytes are too few for this message")
        self._at += n
        return part

    def element(self, *, or_one: bool = False) -> mpz:
        """A checked element."""
        return self._group.from_bytes(self.take(self._group.element_bytes), or_one=or_one)

    def scalar(self) -> mpz:
        """A number below the order."""
        scalar = mpz(int.from_bytes(self.take(self._group.element_bytes)))
        if scalar >= self._group.q:
            raise PeerError("out-of-range", "an exponent beyond the group's order")
        return scalar

    def ciphertexts(self, size: int) -> tuple[Ciphertext, ...]:
        """A list of this size."""
        return tuple(Ciphertext(self.element(), self.element()) for _ in range(size))

    def attestation(self) -> "Attestation":
        """Rows after their number, which has two bytes."""
        attestation: Attestation = {}
        for _ in range(int.from_bytes(self.take(2))):
            kind, sender = self.take(2)
            if kind not in KINDS or sender >= self._session.n or (Kind(kind), sender) in attestation:
                raise PeerError("bad-record", "an attestation of a message that cannot be")
            attestation[Kind(kind), sender] = (self.take(DIGEST_BYTES), self.take(SIGNATURE_BYTES))
        return attestation


# (kind, sender) -> digest and the sender's signature of it
Attestation = dict[tuple[Kind, int], tuple[bytes, bytes]]


def encode(group: Group, value: Any) -> bytes:
    """A body of a message: its fields in order, each at a length that its kind and the session fix."""
    if isinstance(value, ShuffleProof):
        return value.encode(group)
    if isinstance(value, dict):
        value = (len(value).to_bytes(2), *sorted(value.items()))
    elif is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in fields(value))
    if isinstance(value, tuple | list):
        return b"".join(encode(group, part) for part in value)
    if isinstance(value, int):
        return bytes((value,))
    return value or b"" if value is None or isinstance(value, bytes) else group.to_bytes(value)


@dataclass(frozen=True)
class Key:
    """Shares of both keys, with proofs."""

    share: mpz
    proof: KeyProof
    inner: bytes
    inner_proof: bytes

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Key":
        """PeerError unless canonical."""
        with Reader(session, body) as reader:
            share, proof = reader.element(), KeyProof(reader.element(), reader.scalar())
            return cls(share, proof, envelope.require_point(reader.take(32)), reader.take(64))


@dataclass(frozen=True)
class Hop:
    """One mixer's step.

    ``stripped``, ``proof``: second parts without the mixer's layer. ``shuffled``: in another order; empty
    for the last mixer. ``shuffle``: its proof, where required.
    """

    stripped: tuple[mpz, ...]
    proof: StripProof
    shuffled: tuple[Ciphertext, ...]
    shuffle: ShuffleProof | None = None

    @classmethod
    def decode(cls, session: Session, body: bytes, *, last: bool) -> "Hop":
        """PeerError unless canonical."""
        size = session.n * session.n_records
        with Reader(session, body) as reader:
            # 1 follows from an earlier input or step, not from this mixer; the replay names the culprit
            stripped = tuple(reader.element(or_one=True) for _ in range(size))
            proof = StripProof(reader.element(), reader.element(), reader.scalar())
            if last:
                return cls(stripped, proof, ())
            shuffled, shuffle = reader.ciphertexts(size), None
            if session.proven:
                shuffle = read_shuffle_proof(session.group, size, reader.element, reader.take)
            return cls(stripped, proof, shuffled, shuffle)


def decode_list(session: Session, body: bytes) -> tuple[Ciphertext, ...]:
    """One member's input; PeerError unless canonical."""
    with Reader(session, body) as reader:
        return reader.ciphertexts(session.n_records)


@dataclass(frozen=True)
class Vote:
    """GO over a transcript, or NO-GO with a faulty message, if any."""

    go: bool
    transcript: bytes
    evidence: bytes = b""

    @classmethod
    def decode(cls, body: bytes) -> "Vote":
        """PeerError unless canonical."""
        if len(body) < 1 + DIGEST_BYTES or body[0] > 1 or (body[0] and len(body) > 1 + DIGEST_BYTES):
            raise PeerError("bad-length", "a vote that cannot be read")
        return cls(bool(body[0]), body[1 : 1 + DIGEST_BYTES], body[1 + DIGEST_BYTES :])


@dataclass(frozen=True)
class Opening:
    """An inner secret, and an attestation of all messages."""

    inner_secret: bytes
    attestation: Attestation

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Opening":
        """PeerError unless canonical."""
        with Reader(session, body) as reader:
            return cls(reader.take(32), reader.attestation())


@dataclass(frozen=True)
class Confession:
    """Secrets to replay a part after NO-GO, without the inner key."""

    secret: mpz
    input_seed: bytes
    hop_seed: bytes
    sealed: tuple[bytes, ...]
    attestation: Attestation

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Confession":
        """PeerError unless canonical."""
        with Reader(session, body) as reader:
            secret, seeds = reader.scalar(), (reader.take(SEED_BYTES), reader.take(SEED_BYTES))
            sealed = tuple(reader.take(session.sealed_bytes) for _ in range(session.n_records))
            confession = cls(secret, *seeds, sealed, reader.attestation())
        if secret == 0:
            raise PeerError("out-of-range", "a secret exponent of 0")
        return confession


Slots = dict[tuple[Kind, int], SignedMessage]
BEFORE_VOTE = (Kind.KEY_COMMIT, Kind.KEY, Kind.INPUT_COMMIT, Kind.INPUT, Kind.HOP)


def commitment(session: Session, sender: int, body: bytes) -> bytes:
    """Commit to a body before showing it."""
    return hash_of(b"shoal commit", session.context(sender), body)


def read_key(session: Session, commit: SignedMessage, opened: SignedMessage) -> Key:
    """A member's keys; PeerError unless committed to and proven."""
    _require_commitment(session, commit, opened)
    key = Key.decode(session, opened.body)
    elgamal.require_key_proof(session.group, key.share, key.proof, session.context(opened.sender))
    envelope.require_proof(key.inner, key.inner_proof, session.context(opened.sender))
    return key


def read_input(session: Session, commit: SignedMessage, opened: SignedMessage) -> tuple[Ciphertext, ...]:
    """A member's ciphertexts; PeerError unless committed to."""
    _require_commitment(session, commit, opened)
    return decode_list(session, opened.body)


def read_hop(
    session: Session, shares: Sequence[mpz], before: Sequence[Ciphertext], signed: SignedMessage
) -> Hop:
    """A mixer's step; PeerError unless stripping (and, if required, shuffling) is proven."""
    hop = Hop.decode(session, signed.body, last=signed.sender == session.n - 1)
    group, context = session.group, session.context(signed.sender)
    elgamal.require_strip_proof(group, shares[signed.sender], before, hop.stripped, hop.proof, context)
    if hop.shuffle is not None:
        stripped = [
            Ciphertext(ciphertext.c1, c2) for ciphertext, c2 in zip(before, hop.stripped, strict=True)
        ]
        rest = elgamal.combined_key(group, shares[signed.sender + 1 :])
        require_shuffle_proof(Shuffle(group, rest, stripped, hop.shuffled, context), hop.shuffle)
    return hop


@dataclass(frozen=True)
class MixedList:
    """A list stripped, re-masked and permuted; the last mixer shuffles nothing.

    ``shuffled[i]`` was at ``order[i]``.
    """

    stripped: tuple[Ciphertext, ...]
    shuffled: tuple[Ciphertext, ...]
    order: tuple[int, ...]
    masks: tuple[mpz, ...]


def mix_list(
    session: Session, me: int, secret: mpz, keys: tuple[mpz, mpz], before: Sequence[Ciphertext], seed: bytes
) -> MixedList:
    """Strip, re-mask for later members, and permute (Sec. 3.3.5, step 3).

    ``keys``: own share, and the combined key of later ones. Seed and list decide everything: a replay is
    possible, and another list gets other masks and another order.
    """
    group = session.group
    stripped = tuple(elgamal.strip(group, secret, ciphertext) for ciphertext in before)
    if me == session.n - 1:
        return MixedList(stripped, (), (), ())
    chance = bound_chance(seed, encode(group, before), *map(group.to_bytes, keys))
    masks = tuple(group.draw_secret(chance) for _ in stripped)
    remasked = [
        elgamal.remask_with(group, keys[1], ciphertext, mask)
        for ciphertext, mask in zip(stripped, masks, strict=True)
    ]
    order = tuple(chance.permutation(len(remasked)))
    return MixedList(stripped, tuple(remasked[place] for place in order), order, masks)


def make_hop(
    session: Session,
    me: int,
    secret: mpz,
    keys: tuple[mpz, mpz],
    before: Sequence[Ciphertext],
    seed: bytes,
    fresh: bytes,
) -> Hop:
    """Mix a list, and prove it; ``fresh``: entropy of this moment for the proofs, which no replay needs.

    With a repeated nonce, proofs about two lists would give away the secret.
    """
    group, mixed = session.group, mix_list(session, me, secret, keys, before, seed)
    second, context = tuple(ciphertext.c2 for ciphertext in mixed.stripped), session.context(me)
    chance = bound_chance(seed, fresh, encode(group, before), *map(group.to_bytes, keys), context)
    proof = elgamal.prove_strip(group, secret, keys[0], before, second, context, chance)
    if not session.proven or not mixed.shuffled:
        return Hop(second, proof, mixed.shuffled)
    shuffle = Shuffle(group, keys[1], mixed.stripped, mixed.shuffled, context)
    shuffle_proof = prove_shuffle(shuffle, mixed.order, list(map(int, mixed.masks)), chance)
    return Hop(second, proof, mixed.shuffled, shuffle_proof)


def make_input(session: Session, y: mpz, sealed: Sequence[bytes], seed: bytes) -> tuple[Ciphertext, ...]:
    """Encrypt the envelopes (step 1), from a seed; other envelopes or another key get other masks."""
    chance = bound_chance(seed, session.group.to_bytes(y), *sealed)
    return tuple(
        elgamal.encrypt(session.group, y, session.group.encode(envelope_bytes, session.sealed_bytes), chance)
        for envelope_bytes in sealed
    )


def transcript_hash(slots: Mapping[tuple[Kind, int], SignedMessage]) -> bytes:
    """Hash all messages before the vote."""
    before = [slot for slot in sorted(slots) if slot[0] in BEFORE_VOTE]
    return hash_of(b"shoal transcript", *(bytes(slot) + slots[slot].digest for slot in before))


def all_slots(session: Session, kinds: Iterable[Kind] = BEFORE_VOTE) -> set[tuple[Kind, int]]:
    """Of a complete transcript."""
    return {(kind, member) for kind in kinds for member in range(session.n)}


def _require_commitment(session: Session, commit: SignedMessage, opened: SignedMessage) -> None:
    if commit.body != commitment(session, opened.sender, opened.body):
        raise PeerError("bad-commitment", "a body that differs from the commitment to it")
