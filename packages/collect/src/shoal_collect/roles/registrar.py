"""The registrar: it admits persons, and blindly signs one key of each per collector and period.

It knows who asked for a token, but not the token's key: it learns nothing of a round, even together with
the collector.
"""

import hashlib
from typing import Final, Protocol

from shoal_collect.crypto.blind_signatures import (
    SignKey,
    blind_sign,
    draw_key,
    prove_key,
)
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import TOKEN_KEY, Purpose, period_at
from shoal_collect.roles.requests import SKEW_S

CODE_BYTES: Final = 16
_KEPT_KEYS: Final = 256


class Register(Protocol):
    """Admitted persons and issued tokens."""

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; whether this person used it, now or before."""

    def knows(self, person: bytes) -> bool:
        """Whether a person is admitted."""

    def issue(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Record a request for a person's one token; whether no other was recorded."""


class Registrar:
    """Admits persons and issues tokens.

    ``seed``: 32 secret bytes, the source of all keys. ``days``: a person gets one token in each period.
    ``signing_seed``: if it runs inside another server.
    """

    def __init__(
        self,
        register: Register,
        seed: bytes,
        collector_keys: frozenset[bytes],
        days: int,
        signing_seed: bytes | None = None,
    ) -> None:
        self._register, self._seed, self.collector_keys, self.days = register, seed, collector_keys, days
        self.signing_seed = signing_seed or signing_seed_of(seed)
        self._keys: dict[Purpose, tuple[SignKey, bytes]] = {}

    @property
    def public_key(self) -> bytes:
        """The lasting key, in collectors' terms."""
        return verify_key(self.signing_seed)

    def admit(self, person: bytes, code: str) -> None:
        """Admit an account key with an invitation; a repetition has no effect."""
        if not self._register.admit(code_digest(code), person):
            raise PeerError("not-entitled", "an invitation that does not exist, or that has been used")

    def key_of(self, collector_key: bytes, days: int, period: int, now_s: float) -> bytes:
        """The signed key of a period, with the proof that blinding hides the message.

        PeerError for a period without tokens.
        """
        return self._key(self._purpose(collector_key, days, period, now_s))[1]

    def sign(
        self, person: bytes, collector_key: bytes, days: int, period: int, blinded: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded key, once; a repetition gets the same answer.

        ``person``: the account's key. PeerError without admission, for a second token, and where ``key_of``
        refuses.
        """
        purpose = self._purpose(collector_key, days, period, now_s)
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"this registrar has not admitted the account {person.hex()}; use an invitation, or ask the "
                "registrar to allow it",
            )
        signed = blind_sign(self._key(purpose)[0], blinded)  # a request that cannot be signed leaves no row
        if not self._register.issue(purpose, person, hashlib.blake2b(blinded, digest_size=32).digest()):
            raise PeerError("duplicate", "this account has its token of this period already, for another key")
        return signed

    def _open(self, now_s: float) -> set[int]:
        return {period_at(now_s - SKEW_S, self.days), period_at(now_s + SKEW_S, self.days)}

    def _purpose(self, collector_key: bytes, days: int, period: int, now_s: float) -> Purpose:
        if collector_key not in self.collector_keys or days != self.days:
            raise PeerError("not-entitled", "a collector, or a length of periods, without tokens here")
        if period not in self._open(now_s):
            raise PeerError("too-late", "a period that is over, or that has not begun")
        return Purpose(collector_key, days, period)

    def _key(self, purpose: Purpose) -> tuple[SignKey, bytes]:
        """They follow from the registrar's seed."""
        if purpose not in self._keys:
            seed = hashlib.blake2b(
                purpose.text, digest_size=32, key=self._seed, person=b"shoal token"
            ).digest()
            key = draw_key(Chance(seed))
            modulus = key.public.to_bytes()
            signed = signature(self.signing_seed, TOKEN_KEY, purpose.text + modulus)
            while len(self._keys) >= _KEPT_KEYS:
                self._keys.pop(next(iter(self._keys)))
            self._keys[purpose] = key, modulus + signed + prove_key(key)
        return self._keys[purpose]


def signing_seed_of(seed: bytes) -> bytes:
    """Of 32 secret bytes."""
    return hashlib.blake2b(seed, digest_size=32, person=b"shoal registrar").digest()


def code_digest(code: str) -> bytes:
    """An invitation's digest: the database contains no usable ones."""
    try:
        secret = bytes.fromhex(code.replace("-", "").strip())
    except ValueError:
        secret = b""
    if len(secret) != CODE_BYTES:
        raise PeerError("out-of-range", "an invitation is 32 hexadecimal digits, with or without hyphens")
    return hashlib.blake2b(secret, digest_size=32, person=b"shoal invite").digest()


def write_code(secret: bytes) -> str:
    """An invitation in groups of four digits."""
    text = secret.hex()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))
