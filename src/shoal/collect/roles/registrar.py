"""The registrar: it admits persons, and signs one key of each for a collector and a period, blindly.

It knows who may take part and who has asked for a token. It does not know which key the token is for, so it
learns nothing of a round, even together with the collector.
"""

import hashlib
from typing import Final, Protocol

from shoal.collect.crypto.blind_signatures import SignKey, blind_sign, draw_key, prove_key
from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.signatures import signature, verify_key
from shoal.collect.faults import PeerError
from shoal.collect.roles.admission import Purpose, period_at
from shoal.collect.roles.requests import SKEW_S

CODE_BYTES: Final = 16
_KEPT_KEYS: Final = 16


class Register(Protocol):
    """Where it stands who is admitted, and who has a token."""

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; say whether this person has used it now or before."""

    def knows(self, person: bytes) -> bool:
        """Say whether a person is admitted."""

    def issue(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Note a request for the one token of a person and purpose; say whether no other one was noted."""


class Registrar:
    """Admits persons and issues tokens, without a network.

    Parameters
    ----------
    register
        Where everything stands.
    seed
        32 secret bytes; all keys come from them.
    collector_keys
        The collectors that tokens are issued for.
    days
        The length of a period: a person gets one token in each.
    signing_seed
        32 secret bytes that sign for it, where it runs inside another server; by default from ``seed``.
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
        self._keys: dict[bytes, tuple[SignKey, bytes]] = {}

    @property
    def public_key(self) -> bytes:
        """The lasting key, which collectors name in their terms."""
        return verify_key(self.signing_seed)

    def admit(self, person: bytes, code: str) -> None:
        """Admit somebody with an invitation; the same again has no effect.

        Parameters
        ----------
        person
            The key of her account.
        code
            The invitation.

        Raises
        ------
        PeerError
            If there is no such invitation, or somebody else has used it.
        """
        if not self._register.admit(code_digest(code), person):
            raise PeerError("not-entitled", "an invitation that does not exist, or that has been used")

    def key_of(self, collector_key: bytes, days: int, period: int, now_s: float) -> bytes:
        """Return the key of a collector and period, signed, with the proof that it hides what is blinded.

        Raises PeerError for a collector, a length or a period for which no tokens are issued now.
        """
        return self._key(self._purpose(collector_key, days, period, now_s))[1]

    def sign(
        self, person: bytes, collector_key: bytes, days: int, period: int, blinded: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded key: once for each person, collector and period; the same again gives the same.

        Raises PeerError for somebody who is not admitted, a second token, and what ``key_of`` refuses.
        """
        purpose = self._purpose(collector_key, days, period, now_s)
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"nobody here knows the account {person.hex()}; use an invitation, or ask the registrar to "
                "allow it",
            )
        key = self._key(purpose)[0]
        signed = blind_sign(key, blinded)  # nothing is noted for a request that cannot be signed
        digest = hashlib.blake2b(blinded, digest_size=32).digest()
        if not self._register.issue(purpose, person, digest):
            raise PeerError("duplicate", "this account has its token of this period already, for another key")
        return signed

    def _purpose(self, collector_key: bytes, days: int, period: int, now_s: float) -> Purpose:
        if collector_key not in self.collector_keys or days != self.days:
            raise PeerError("not-entitled", "a collector, or a length of periods, without tokens here")
        open_now = {period_at(now_s - SKEW_S, days), period_at(now_s + SKEW_S, days)}
        if period not in open_now:
            raise PeerError("too-late", "a period that is over, or that has not begun")
        return Purpose(collector_key, days, period)

    def _key(self, purpose: Purpose) -> tuple[SignKey, bytes]:
        """The secret key of a purpose, and what is said of it; both follow from the registrar's seed."""
        if purpose.text not in self._keys:
            seed = hashlib.blake2b(
                purpose.text, digest_size=32, key=self._seed, person=b"shoal token"
            ).digest()
            key = draw_key(Chance(seed))
            modulus = key.public.to_bytes()
            signed = signature(self.signing_seed, b"token key", purpose.text + modulus)
            while len(self._keys) >= _KEPT_KEYS:
                self._keys.pop(next(iter(self._keys)))
            self._keys[purpose.text] = key, modulus + signed + prove_key(key)
        return self._keys[purpose.text]


def signing_seed_of(seed: bytes) -> bytes:
    """Return what signs for a registrar, from the 32 secret bytes of its key file."""
    return hashlib.blake2b(seed, digest_size=32, person=b"shoal registrar").digest()


def code_digest(code: str) -> bytes:
    """Return what an invitation is known by, so that the database holds none that could be used.

    Raises PeerError for a text that is no invitation.
    """
    try:
        secret = bytes.fromhex(code.replace("-", "").strip())
    except ValueError:
        secret = b""
    if len(secret) != CODE_BYTES:
        raise PeerError("out-of-range", "an invitation is 32 hexadecimal digits, with or without hyphens")
    return hashlib.blake2b(secret, digest_size=32, person=b"shoal invite").digest()


def write_code(secret: bytes) -> str:
    """Write an invitation as people copy it: groups of four digits."""
    text = secret.hex()
    return "-".join(text[at : at + 4] for at in range(0, len(text), 4))
