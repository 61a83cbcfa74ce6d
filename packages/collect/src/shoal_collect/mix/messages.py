"""The messages of a mix run: a type and a strict encoding each."""

from collections.abc import Sequence
from dataclasses import dataclass

from gmpy2 import mpz

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import SEED_BYTES
from shoal_collect.crypto.elgamal import Ciphertext, KeyProof, StripProof
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.shuffle_proof import ShuffleProof, read_shuffle_proof
from shoal_collect.crypto.signatures import SIGNATURE_BYTES
from shoal_collect.faults import PeerError
from shoal_collect.mix.session import DIGEST_BYTES, KINDS, Kind, Session


class Reader:
    """Reads from left to right, and rejects trailing bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def take(self, n: int) -> bytes:
        """The next n bytes, or PeerError."""
        part = self._body[self._at : self._at + n]
        if len(part) != n:
            raise PeerError("bad-length", f"{len(self._body)} bytes are too few for this message")
        self._at += n
        return part

    def number(self) -> int:
        """A number of two bytes."""
        return int.from_bytes(self.take(2))

    def element(self, group: Group, *, or_one: bool = False) -> mpz:
        """A checked element."""
        return group.from_bytes(self.take(group.element_bytes), or_one=or_one)

    def scalar(self, group: Group) -> mpz:
        """A number below the order."""
        scalar = mpz(int.from_bytes(self.take(group.element_bytes)))
        if scalar >= group.q:
            raise PeerError("out-of-range", "an exponent beyond the group's order")
        return scalar

    def end(self) -> None:
        """Raise PeerError for trailing bytes."""
        if self._at != len(self._body):
            raise PeerError("bad-length", f"{len(self._body) - self._at} bytes too many")


@dataclass(frozen=True)
class Key:
    """Shares of both keys, with proofs."""

    share: mpz
    proof: KeyProof
    inner: bytes
    inner_proof: bytes

    def encode(self, group: Group) -> bytes:
        """At a fixed length."""
        numbers = (self.share, self.proof.announced, self.proof.response)
        return b"".join(map(group.to_bytes, numbers)) + self.inner + self.inner_proof

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Key":
        """PeerError unless canonical."""
        reader, group = Reader(body), session.group
        share, announced, response = reader.element(group), reader.element(group), reader.scalar(group)
        key = cls(
            share, KeyProof(announced, response), envelope.require_point(reader.take(32)), reader.take(64)
        )
        reader.end()
        return key


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

    def encode(self, group: Group) -> bytes:
        """At a fixed length."""
        numbers = [*self.stripped, self.proof.announced_key, self.proof.announced_list, self.proof.response]
        shuffle_proof = b"" if self.shuffle is None else self.shuffle.encode(group)
        return b"".join(map(group.to_bytes, numbers)) + encode_list(group, self.shuffled) + shuffle_proof

    @classmethod
    def decode(cls, session: Session, body: bytes, *, last: bool) -> "Hop":
        """PeerError unless canonical."""
        reader, group, size = Reader(body), session.group, session.n * session.n_records
        # 1 follows from an earlier input or step, not from this mixer; the replay names the culprit
        stripped = tuple(reader.element(group, or_one=True) for _ in range(size))
        proof = StripProof(reader.element(group), reader.element(group), reader.scalar(group))
        shuffled = () if last else _take_list(reader, group, size)
        shuffle = None
        if session.proven and not last:
            shuffle = read_shuffle_proof(group, size, lambda: reader.element(group), reader.take)
        reader.end()
        return cls(stripped, proof, shuffled, shuffle)


def encode_list(group: Group, ciphertexts: Sequence[Ciphertext]) -> bytes:
    """Both parts of each, in order."""
    return b"".join(
        group.to_bytes(part) for ciphertext in ciphertexts for part in (ciphertext.c1, ciphertext.c2)
    )


def decode_list(session: Session, body: bytes) -> tuple[Ciphertext, ...]:
    """One member's input; PeerError unless canonical."""
    reader = Reader(body)
    ciphertexts = _take_list(reader, session.group, session.n_records)
    reader.end()
    return ciphertexts


def _take_list(reader: Reader, group: Group, size: int) -> tuple[Ciphertext, ...]:
    return tuple(Ciphertext(reader.element(group), reader.element(group)) for _ in range(size))


# (kind, sender) -> digest and the sender's signature of it
Attestation = dict[tuple[Kind, int], tuple[bytes, bytes]]


@dataclass(frozen=True)
class Vote:
    """GO over a transcript, or NO-GO with a faulty message, if any."""

    go: bool
    transcript: bytes
    evidence: bytes = b""

    def encode(self) -> bytes:
        """Flag, hash and evidence."""
        return bytes((self.go,)) + self.transcript + self.evidence

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

    def encode(self) -> bytes:
        """Secret and attestation."""
        return self.inner_secret + encode_attestation(self.attestation)

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Opening":
        """PeerError unless canonical."""
        reader = Reader(body)
        opening = cls(reader.take(32), _take_attestation(reader, session))
        reader.end()
        return opening


@dataclass(frozen=True)
class Confession:
    """Secrets to replay a part after NO-GO, without the inner key."""

    secret: mpz
    input_seed: bytes
    hop_seed: bytes
    sealed: tuple[bytes, ...]
    attestation: Attestation

    def encode(self, group: Group) -> bytes:
        """Secrets, envelopes and attestation."""
        return (
            group.to_bytes(self.secret)
            + self.input_seed
            + self.hop_seed
            + b"".join(self.sealed)
            + encode_attestation(self.attestation)
        )

    @classmethod
    def decode(cls, session: Session, body: bytes) -> "Confession":
        """PeerError unless canonical."""
        reader = Reader(body)
        secret = reader.scalar(session.group)
        input_seed, hop_seed = reader.take(SEED_BYTES), reader.take(SEED_BYTES)
        sealed = tuple(reader.take(session.sealed_bytes) for _ in range(session.n_records))
        confession = cls(secret, input_seed, hop_seed, sealed, _take_attestation(reader, session))
        reader.end()
        if secret == 0:
            raise PeerError("out-of-range", "a secret exponent of 0")
        return confession


def encode_attestation(attestation: Attestation) -> bytes:
    """The sorted rows after their count."""
    rows = [bytes(slot) + digest + signature for slot, (digest, signature) in sorted(attestation.items())]
    return len(rows).to_bytes(2) + b"".join(rows)


def _take_attestation(reader: Reader, session: Session) -> Attestation:
    attestation: Attestation = {}
    for _ in range(reader.number()):
        kind, sender = reader.take(2)
        if kind not in KINDS or sender >= session.n or (Kind(kind), sender) in attestation:
            raise PeerError("bad-record", "an attestation of a message that cannot be")
        attestation[Kind(kind), sender] = (reader.take(DIGEST_BYTES), reader.take(SIGNATURE_BYTES))
    return attestation
