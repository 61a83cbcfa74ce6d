"""Letters between two members, sealed end to end: the relay learns only sizes and times.

HPKE (RFC 9180) seals each to the receiver's identity key (Ed25519, mapped to its Montgomery form), under a
fresh key. The sender's signature lies inside. All is bound to the session, both members and a counter: a
letter opens once, in its turn, for its receiver.
"""

from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from nacl import bindings
from nacl.exceptions import CryptoError

from shoal.errors import MisuseError
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError

MAX_TEXT_BYTES: Final = 1 << 24
MOST_MEMBERS: Final = 256
NAME_BYTES: Final = 32
_MAGIC: Final = b"shoaL1"
_COUNTER_BYTES: Final = 4
_PLACES_AT: Final = len(_MAGIC) + NAME_BYTES
_HEAD_BYTES: Final = _PLACES_AT + 2 + _COUNTER_BYTES
_HPKE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
OVERHEAD_BYTES: Final = _HEAD_BYTES + 32 + SIGNATURE_BYTES + 16  # a fresh key, and the tag of the cipher
_PURPOSE: Final = b"letter"


class Correspondence:
    """One member's letters with the others of a group.

    ``name``: 32 bytes of the session. ``me``: place among ``identities``, with the secret ``signing_seed``.
    """

    def __init__(self, name: bytes, identities: Sequence[bytes], me: int, signing_seed: bytes) -> None:
        identity, secret = bindings.crypto_sign_seed_keypair(signing_seed)
        n = len(identities)
        if len(name) != NAME_BYTES or not 2 <= n == len(set(identities)) <= MOST_MEMBERS:
            raise MisuseError(
                f"letters need a name of {NAME_BYTES} bytes and 2 to {MOST_MEMBERS} different members"
            )
        if not 0 <= me < n or identities[me] != identity:
            raise MisuseError("the signing seed is not that of the member who writes")
        self.name, self.identities, self.me = name, tuple(identities), me
        self._signing_seed = signing_seed
        self._secret = bytes(bindings.crypto_sign_ed25519_sk_to_curve25519(secret))
        self._boxes = tuple(map(mailbox_key, identities))
        self._sent, self._received = [0] * n, [0] * n

    def seal(self, receiver: int, text: bytes) -> bytes:
        """Seal the next letter, OVERHEAD_BYTES longer."""
        if not 0 <= receiver < len(self.identities) or receiver == self.me:
            raise MisuseError(
                f"no letter from member {self.me} to member {receiver}; write to another of the "
                f"{len(self.identities)} members"
            )
        if len(text) > MAX_TEXT_BYTES:
            raise MisuseError(f"a text of {len(text)} bytes; at most {MAX_TEXT_BYTES}")
        if self._sent[receiver] >> (8 * _COUNTER_BYTES):
            raise MisuseError("no further letter has a number in this session; start another one")
        head = _MAGIC + self.name + bytes((self.me, receiver)) + self._sent[receiver].to_bytes(_COUNTER_BYTES)
        signed = signature(self._signing_seed, _PURPOSE, self._signed_text(head) + text)
        key = X25519PublicKey.from_public_bytes(self._boxes[receiver])
        self._sent[receiver] += 1
        return head + _HPKE.encrypt(signed + text, key, info=head)

    def open(self, letter: bytes) -> bytes:
        """The text, once and in its turn; else PeerError, and nothing changes."""
        name, sender, receiver, number = address(letter)
        if name != self.name:
            raise PeerError("wrong-session", "a letter of another session")
        if receiver != self.me:
            raise PeerError("wrong-receiver", "a letter to somebody else")
        if sender >= len(self.identities) or sender == self.me:
            raise PeerError("unknown-member", "a letter that no other member of this group sent")
        head, sealed = letter[:_HEAD_BYTES], letter[_HEAD_BYTES:]
        try:
            opened = _HPKE.decrypt(sealed, X25519PrivateKey.from_private_bytes(self._secret), info=head)
        except InvalidTag as error:
            raise PeerError(
                "bad-seal", "a letter that does not open: damaged, or sealed for another"
            ) from error
        signed, text = opened[:SIGNATURE_BYTES], opened[SIGNATURE_BYTES:]
        require_signature(self.identities[sender], _PURPOSE, self._signed_text(head) + text, signed)
        if number < self._received[sender]:
            raise PeerError("duplicate", f"letter {number} of member {sender} again")
        if number > self._received[sender]:
            raise PeerError(
                "out-of-order",
                f"letter {number} of member {sender}, where {self._received[sender]} comes next",
            )
        self._received[sender] += 1
        return text

    def _signed_text(self, head: bytes) -> bytes:
        """The keys too: places in a group mean nothing without them."""
        sender, receiver = head[_PLACES_AT : _PLACES_AT + 2]
        return head + self.identities[sender] + self.identities[receiver]


def address(letter: bytes) -> tuple[bytes, int, int, int]:
    """Session, sender, receiver and number, as a relay reads them."""
    if not OVERHEAD_BYTES <= len(letter) <= OVERHEAD_BYTES + MAX_TEXT_BYTES:
        raise PeerError("bad-length", f"a letter of {len(letter)} bytes")
    if letter[: len(_MAGIC)] != _MAGIC:
        raise PeerError("bad-frame", "bytes that are not a letter")
    sender, receiver = letter[_PLACES_AT : _PLACES_AT + 2]
    number = int.from_bytes(letter[_PLACES_AT + 2 : _HEAD_BYTES])
    return letter[len(_MAGIC) : _PLACES_AT], sender, receiver, number


def mailbox_key(identity: bytes) -> bytes:
    """An identity's X25519 key; PeerError without."""
    try:
        return bytes(bindings.crypto_sign_ed25519_pk_to_curve25519(identity))
    except CryptoError as error:  # every fault of the library is one
        raise PeerError("bad-element", "an identity key that is not a point of the curve") from error
