"""Letters between two members, sealed end to end: the relay learns only sizes and times.

Each has a fresh key, from X25519 of a new key and the receiver's identity key (Ed25519, mapped to its
Montgomery form), for ChaCha20-Poly1305. The sender's signature lies inside. All is bound to the session,
both members and a counter: a letter opens once, in its turn, for its receiver.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
    crypto_scalarmult_base,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import CryptoError
from nacl.exceptions import RuntimeError as NaclError

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError

MAX_TEXT_BYTES: Final = 1 << 24
MOST_MEMBERS: Final = 256
NAME_BYTES: Final = 32
_MAGIC: Final = b"shoaL1"
_COUNTER_BYTES: Final = 4
_KEY_BYTES: Final = 32
_HEAD_BYTES: Final = len(_MAGIC) + NAME_BYTES + 2 + _COUNTER_BYTES
OVERHEAD_BYTES: Final = _HEAD_BYTES + _KEY_BYTES + SIGNATURE_BYTES + 16
_NO_NONCE: Final = bytes(12)  # each key seals exactly one letter
_PURPOSE: Final = b"letter"


@dataclass(frozen=True)
class Letter:
    """Sender, number between the two, and text."""

    sender: int
    number: int
    text: bytes


class Correspondence:
    """One member's letters with the others of a group.

    ``name``: 32 bytes of the session. ``me``: place among ``identities``, with the secret ``signing_seed``.
    """

    def __init__(self, name: bytes, identities: Sequence[bytes], me: int, signing_seed: bytes) -> None:
        identity, secret = crypto_sign_seed_keypair(signing_seed)
        n = len(identities)
        if len(name) != NAME_BYTES or not 2 <= n == len(set(identities)) <= MOST_MEMBERS:
            raise MisuseError(
                f"letters need a name of {NAME_BYTES} bytes and 2 to {MOST_MEMBERS} different members"
            )
        if not 0 <= me < n or identities[me] != identity:
            raise MisuseError("the signing seed is not that of the member who writes")
        self.name, self.identities, self.me = name, tuple(identities), me
        self._signing_seed = signing_seed
        self._secret = bytes(crypto_sign_ed25519_sk_to_curve25519(secret))
        self._boxes = tuple(map(mailbox_key, identities))
        self._sent, self._received = [0] * n, [0] * n

    def seal(self, receiver: int, text: bytes, chance: Chance) -> bytes:
        """Seal the next letter, OVERHEAD_BYTES longer.

        The key depends on the text too: a device that draws the same randomness twice never seals two texts
        with one key.
        """
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
        fresh = hashlib.blake2b(
            chance.seed() + head + signed, digest_size=32, key=self._signing_seed, person=b"shoal fresh key"
        ).digest()
        public = bytes(crypto_scalarmult_base(fresh))
        shared = bytes(crypto_scalarmult(fresh, self._boxes[receiver]))
        key = _key(shared, public, self._boxes[receiver])
        sealed = bytes(crypto_aead_chacha20poly1305_ietf_encrypt(signed + text, head, _NO_NONCE, key))
        self._sent[receiver] += 1
        return head + public + sealed

    def open(self, letter: bytes) -> Letter:
        """Once and in its turn; else PeerError, and nothing changes."""
        head, sender, number = self._read_head(letter)
        public, sealed = letter[_HEAD_BYTES : _HEAD_BYTES + _KEY_BYTES], letter[_HEAD_BYTES + _KEY_BYTES :]
        try:
            key = _key(bytes(crypto_scalarmult(self._secret, public)), public, self._boxes[self.me])
            opened = bytes(crypto_aead_chacha20poly1305_ietf_decrypt(sealed, head, _NO_NONCE, key))
        except NaclError as error:
            raise PeerError("bad-element", "a letter whose key is not a point of large order") from error
        except CryptoError as error:
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
        return Letter(sender, number, text)

    def _read_head(self, letter: bytes) -> tuple[bytes, int, int]:
        if not OVERHEAD_BYTES <= len(letter) <= OVERHEAD_BYTES + MAX_TEXT_BYTES:
            raise PeerError("bad-length", f"a letter of {len(letter)} bytes")
        if letter[: len(_MAGIC)] != _MAGIC:
            raise PeerError("bad-frame", "bytes that are not a letter")
        head = letter[:_HEAD_BYTES]
        if head[len(_MAGIC) : len(_MAGIC) + NAME_BYTES] != self.name:
            raise PeerError("wrong-session", "a letter of another session")
        sender, receiver = head[len(_MAGIC) + NAME_BYTES : len(_MAGIC) + NAME_BYTES + 2]
        if receiver != self.me:
            raise PeerError("wrong-receiver", "a letter to somebody else")
        if sender >= len(self.identities) or sender == self.me:
            raise PeerError("unknown-member", "a letter that no other member of this group sent")
        return head, sender, int.from_bytes(head[-_COUNTER_BYTES:])

    def _signed_text(self, head: bytes) -> bytes:
        """The keys too: places in a group mean nothing without them."""
        sender, receiver = head[-_COUNTER_BYTES - 2 : -_COUNTER_BYTES]
        return head + self.identities[sender] + self.identities[receiver]


def address(letter: bytes) -> tuple[bytes, int, int, int]:
    """Session, sender, receiver and number, as a relay reads them."""
    if len(letter) < OVERHEAD_BYTES:
        raise PeerError("bad-length", f"a letter of {len(letter)} bytes")
    if letter[: len(_MAGIC)] != _MAGIC:
        raise PeerError("bad-frame", "bytes that are not a letter")
    sender, receiver = letter[len(_MAGIC) + NAME_BYTES : len(_MAGIC) + NAME_BYTES + 2]
    return (
        letter[len(_MAGIC) : len(_MAGIC) + NAME_BYTES],
        sender,
        receiver,
        int.from_bytes(letter[_HEAD_BYTES - _COUNTER_BYTES : _HEAD_BYTES]),
    )


def mailbox_key(identity: bytes) -> bytes:
    """An identity's X25519 key; PeerError without."""
    try:
        return bytes(crypto_sign_ed25519_pk_to_curve25519(identity))
    except CryptoError as error:  # every fault of the library is one
        raise PeerError("bad-element", "an identity key that is not a point of the curve") from error


def _key(shared: bytes, public: bytes, box: bytes) -> bytes:
    return hashlib.blake2b(shared + public + box, digest_size=32, person=b"shoal letter").digest()
