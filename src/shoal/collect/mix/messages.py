"""The messages of a mix run: named types, one fixed binary encoding each, strict lengths, signed by their sender.

A signature covers the digest of everything before it, so that a digest with its signature is proof enough of what somebody
sent: members compare these to find out who told different things to different people.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from gmpy2 import mpz
from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from shoal.collect.crypto import envelope
from shoal.collect.crypto.chance import SEED_BYTES
from shoal.collect.crypto.elgamal import Ciphertext, KeyProof, StripProof
from shoal.collect.crypto.group import Group
from shoal.collect.crypto.shuffle_proof import ROUNDS, ShuffleProof, largest_proof
from shoal.collect.faults import PeerError
from shoal.errors import MisuseError

MAX_RECORDS: Final = 1024
SMALLEST, LARGEST = 3, 17  # groups of 3 to 16, or one more when the number of people does not divide
_MAGIC: Final = b"shoal1"
_HEAD_BYTES: Final = len(_MAGIC) + 1 + 32 + 1
_SIGNATURE_BYTES: Final = 64
DIGEST_BYTES: Final = 32


class Kind(IntEnum):
    """The messages in the order of the protocol."""

    KEY_COMMIT = 1
    KEY = 2
    INPUT_COMMIT = 3
    INPUT = 4
    HOP = 5
    VOTE = 6
    OPEN = 7
    BLAME = 8


_KINDS: Final = frozenset(map(int, Kind))


@dataclass(frozen=True)
class Session:
    """One mix run: its name, its members' identity keys in order, and what everybody puts in.

    proven: every mixer proves her shuffle, so that a bad one is found at once, for many times the cost.
    Raises MisuseError for a size outside the limits.
    """

    name: bytes
    identities: tuple[bytes, ...]
    n_records: int
    record_bytes: int
    group: Group
    proven: bool = False

    def __post_init__(self) -> None:
        if (
            len(self.name) != 32
            or not SMALLEST <= len(set(self.identities)) == len(self.identities) <= LARGEST
        ):
            raise MisuseError(
                f"a session needs a name of 32 bytes and {SMALLEST} to {LARGEST} different members"
            )
        if not 1 <= self.n_records <= MAX_RECORDS or self.sealed_bytes > self.group.text_bytes:
            raise MisuseError(
                f"{self.n_records} records of {self.record_bytes} bytes; at most {MAX_RECORDS} that fit one "
                "group element"
            )

    @property
    def n(self) -> int:
        """How many members there are."""
        return len(self.identities)

    @property
    def sealed_bytes(self) -> int:
        """The length of a record in its inner envelope."""
        return self.record_bytes + envelope.OVERHEAD_BYTES

    def context(self, member: int) -> bytes:
        """What binds a proof to this session and one member."""
        return self.name + bytes((member,))

    def frame_limit(self) -> int:
        """The longest message of this session; whoever receives bytes can refuse longer ones unread."""
        size = self.n * self.n_records
        body = 6 * size * self.group.element_bytes + (
            2 * largest_proof(self.group, size) if self.proven else 0
        )
        return _HEAD_BYTES + _SIGNATURE_BYTES + body + 65_536


@dataclass(frozen=True)
class Signed:
    """A message whose signature holds."""

    kind: Kind
    sender: int
    body: bytes
    digest: bytes
    signature: bytes
    frame: bytes


def sign(session: Session, kind: Kind, sender: int, body: bytes, signing_seed: bytes) -> Signed:
    """The message, signed with the sender's identity key."""
    head = _MAGIC + bytes((kind,)) + session.name + bytes((sender,))
    digest = hashlib.blake2b(head + body, digest_size=DIGEST_BYTES).digest()
    _, secret = crypto_sign_seed_keypair(signing_seed)
    signature = bytes(crypto_sign(_attested(session, kind, sender, digest), secret)[:_SIGNATURE_BYTES])
    return Signed(kind, sender, body, digest, signature, head + body + signature)


def open_frame(session: Session, frame: bytes) -> Signed:
    """The message; raises PeerError for anything that is not a signed message of this session."""
    if not _HEAD_BYTES + _SIGNATURE_BYTES <= len(frame) <= session.frame_limit():
        raise PeerError("bad-length", f"a message of {len(frame)} bytes")
    if frame[: len(_MAGIC)] != _MAGIC or frame[len(_MAGIC)] not in _KINDS:
        raise PeerError("bad-frame", "bytes that are no message of a mix run")
    if frame[len(_MAGIC) + 1 : _HEAD_BYTES - 1] != session.name:
        raise PeerError("wrong-session", "a message of another session")
    kind, sender = Kind(frame[len(_MAGIC)]), frame[_HEAD_BYTES - 1]
    if sender >= session.n:
        raise PeerError("unknown-member", "a message from nobody in this group")
    digest = hashlib.blake2b(frame[:-_SIGNATURE_BYTES], digest_size=DIGEST_BYTES).digest()
    signature = frame[-_SIGNATURE_BYTES:]
    if not attests(session, kind, sender, digest, signature):
        raise PeerError("bad-signature", "a message that its sender did not sign")
    return Signed(kind, sender, frame[_HEAD_BYTES:-_SIGNATURE_BYTES], digest, signature, frame)


def attests(session: Session, kind: Kind, sender: int, digest: bytes, signature: bytes) -> bool:
    """Whether the sender signed a message with this digest."""
    try:
        crypto_sign_open(signature + _attested(session, kind, sender, digest), session.identities[sender])
    except BadSignatureError:
        return False
    return True


def _attested(session: Session, kind: Kind, sender: int, digest: bytes) -> bytes:
    return b"shoal message" + session.name + bytes((kind, sender)) + digest


class Reader:
    """Reads a body from left to right; every length is checked, and nothing may be left over."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, n: int) -> bytes:
        """The next n bytes; raises PeerError when there are fewer."""
        part = self._body[self._at : self._at + n]
        if len(part) != n:
            raise PeerError("bad-length", f"{len(self._body)} bytes are too few for this message")
        self._at += n
        return part

    def number(self) -> int:
        """A number of two bytes."""
        return int.from_bytes(self.take(2))

    def element(self, group: Group) -> mpz:
        """A checked group element."""
        return group.from_bytes(self.take(group.element_bytes))

    def scalar(self, group: Group) -> mpz:
        """A number below the group's order."""
        scalar = mpz(int.from_bytes(self.take(group.element_bytes)))
        if scalar >= group.q:
            raise PeerError("out-of-range", "an exponent beyond the group's order")
        return scalar

    def end(self) -> None:
        """Raises PeerError when bytes are left."""
        if self._at != len(self._body):
            raise PeerError("bad-length", f"{len(self._body) - self._at} bytes too many")


@dataclass(frozen=True)
class Key:
    """A member's shares of both keys, with proofs that she knows the secrets."""

    share: mpz
    proof: KeyProof
    inner: bytes
    inner_proof: bytes

    def encode(self, group: Group) -> bytes:
        """Fixed length."""
        numbers = (self.share, self.proof.announced, self.proof.response)
        return b"".join(map(group.to_bytes, numbers)) + self.inner + self.inner_proof

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Key":
        """Raises PeerError."""
        reader, group = Reader(body), session.group
        share, announced, response = reader.element(group), reader.element(group), reader.scalar(group)
        key = cls(
            share, KeyProof(announced, response), envelope.check_point(reader.take(32)), reader.take(64)
        )
        reader.end()
        return key


@dataclass(frozen=True)
class Hop:
    """What a mixer did to the list.

    Stripped of her share (with proof), then re-masked in another order (all but the last).

    shuffle: the proof of that, in sessions that ask for it.
    """

    stripped: tuple[mpz, ...]
    proof: StripProof
    shuffled: tuple[Ciphertext, ...]
    shuffle: ShuffleProof | None = None

    def encode(self, group: Group) -> bytes:
        """Fixed length for a session and place, but for the proof of the shuffle."""
        numbers = [*self.stripped, self.proof.announced_key, self.proof.announced_list, self.proof.response]
        shown = b"" if self.shuffle is None else self.shuffle.encode()
        return b"".join(map(group.to_bytes, numbers)) + encode_list(group, self.shuffled) + shown

    @classmethod
    def decode(cls, session: Session, body: bytes, *, last: bool) -> "Hop":
        """Raises PeerError."""
        reader, group, size = Reader(body), session.group, session.n * session.n_records
        stripped = tuple(reader.element(group) for _ in range(size))
        proof = StripProof(reader.element(group), reader.element(group), reader.scalar(group))
        shuffled = () if last else _take_list(reader, group, size)
        shuffle = _take_shuffle_proof(reader) if session.proven and not last else None
        reader.end()
        return cls(stripped, proof, shuffled, shuffle)


def _take_shuffle_proof(reader: Reader) -> ShuffleProof:
    digests = tuple(reader.take(DIGEST_BYTES) for _ in range(ROUNDS))
    return ShuffleProof(digests, tuple(reader.take(int.from_bytes(reader.take(4))) for _ in range(ROUNDS)))


def encode_list(group: Group, ciphertexts: Sequence[Ciphertext]) -> bytes:
    """Both parts of each, in order."""
    return b"".join(group.to_bytes(part) for one in ciphertexts for part in (one.c1, one.c2))


def decode_list(session: Session, body: bytes) -> tuple[Ciphertext, ...]:
    """One member's input; raises PeerError."""
    reader = Reader(body)
    ciphertexts = _take_list(reader, session.group, session.n_records)
    reader.end()
    return ciphertexts


def _take_list(reader: Reader, group: Group, size: int) -> tuple[Ciphertext, ...]:
    return tuple(Ciphertext(reader.element(group), reader.element(group)) for _ in range(size))


Attestation = dict[
    tuple[Kind, int], tuple[bytes, bytes]
]  # (kind, sender) -> digest and the sender's signature of it


@dataclass(frozen=True)
class Vote:
    """GO over a transcript, or NO-GO with the message that is to blame when it shows its own fault."""

    go: bool
    transcript: bytes
    evidence: bytes = b""

    def encode(self) -> bytes:
        """The flag, the transcript's hash, the evidence."""
        return bytes((self.go,)) + self.transcript + self.evidence

    @classmethod
    def decode(cls, body: bytes) -> "Vote":
        """Raises PeerError."""
        if len(body) < 1 + DIGEST_BYTES or body[0] > 1 or (body[0] and len(body) > 1 + DIGEST_BYTES):
            raise PeerError("bad-length", "a vote that is none")
        return cls(bool(body[0]), body[1 : 1 + DIGEST_BYTES], body[1 + DIGEST_BYTES :])


@dataclass(frozen=True)
class Opening:
    """The inner secret, and what its sender had received from everybody."""

    inner_secret: bytes
    attestation: Attestation

    def encode(self) -> bytes:
        """Secret and attestation."""
        return self.inner_secret + encode_attestation(self.attestation)

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Opening":
        """Raises PeerError."""
        reader = Reader(body)
        opening = cls(reader.take(32), _take_attestation(reader, session))
        reader.end()
        return opening


@dataclass(frozen=True)
class Confession:
    """After NO-GO: what lets everybody replay a member's part in the mix. The inner key is gone by then."""

    secret: mpz
    input_seed: bytes
    hop_seed: bytes
    sealed: tuple[bytes, ...]
    attestation: Attestation

    def encode(self, group: Group) -> bytes:
        """Secrets, envelopes, attestation."""
        return (
            group.to_bytes(self.secret)
            + self.input_seed
            + self.hop_seed
            + b"".join(self.sealed)
            + encode_attestation(self.attestation)
        )

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Confession":
        """Raises PeerError."""
        reader = Reader(body)
        secret, input_seed, hop_seed = (
            reader.scalar(session.group),
            reader.take(SEED_BYTES),
            reader.take(SEED_BYTES),
        )
        sealed = tuple(reader.take(session.sealed_bytes) for _ in range(session.n_records))
        confession = cls(secret, input_seed, hop_seed, sealed, _take_attestation(reader, session))
        reader.end()
        if secret == 0:
            raise PeerError("out-of-range", "a secret exponent of 0")
        return confession


def encode_attestation(attestation: Attestation) -> bytes:
    """Sorted, with a count before it."""
    rows = [bytes(slot) + digest + signature for slot, (digest, signature) in sorted(attestation.items())]
    return len(rows).to_bytes(2) + b"".join(rows)


def _take_attestation(reader: Reader, session: Session) -> Attestation:
    attestation: Attestation = {}
    for _ in range(reader.number()):
        kind, sender = reader.take(2)
        if kind not in _KINDS or sender >= session.n or (Kind(kind), sender) in attestation:
            raise PeerError("bad-record", "an attestation of a message that cannot be")
        attestation[Kind(kind), sender] = (reader.take(DIGEST_BYTES), reader.take(_SIGNATURE_BYTES))
    return attestation
