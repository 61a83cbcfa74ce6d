"""A mix run, and its messages as signed frames.

A signature covers the digest of all bytes before it, so a digest with its signature proves a sent message.
Members compare these to detect different messages to different people.
"""

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from shoal.errors import MisuseError
from shoal_collect.crypto import envelope
from shoal_collect.crypto.group import Group
from shoal_collect.crypto.shuffle_proof import proof_bytes
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
    digest = hashlib.blake2b(head + body, digest_size=DIGEST_BYTES).digest()
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
    digest = hashlib.blake2b(frame[:-SIGNATURE_BYTES], digest_size=DIGEST_BYTES).digest()
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
