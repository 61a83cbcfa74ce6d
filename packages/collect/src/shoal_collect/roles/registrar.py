"""The registrar: it admits persons, and blindly signs one key of each per collector and period.

It knows who asked for a token, but not the token's key: it learns nothing of a round, even together with
the collector.
"""

import hashlib
import re
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
_AREA: Final = re.compile(r"[1-9][0-9]{0,3}(-[0-9]{1,5}){2}")
_LEAST_DAYS, _MOST_DAYS = 365, 36_500  # of a contributor's period, as in the terms of rounds
_SECOND_ROUND: Final = "this account has its token of this period already, for another key"
_SECOND_KEY: Final = (
    "this person has her contributor's credential of this area and period already, on another device; import "
    "the state of that one, or come back after the period"
)


class Register(Protocol):
    """Admitted persons and issued tokens."""

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; whether this person used it, now or before."""

    def knows(self, person: bytes) -> bool:
        """Whether a person is admitted."""

    def issue(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Record a request for a person's one key of a purpose; whether no other was recorded."""


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

    def key_of(
        self,
        collector_key: bytes,
        days: int,
        period: int,
        now_s: float,
        area: str = "",
        person: bytes = b"",
    ) -> bytes:
        """The signed key of a period, with the proof that blinding hides the message.

        PeerError for a period without tokens; an area's key is for admitted persons alone.
        """
        purpose = self._purpose(collector_key, days, period, now_s, area)
        if area:
            self._require_admitted(person)
        return self._key(purpose)[1]

    def sign(
        self,
        person: bytes,
        collector_key: bytes,
        days: int,
        period: int,
        blinded: bytes,
        now_s: float,
        area: str = "",
    ) -> bytes:
        """Sign a blinded key, once for each account, period and area; a repetition gets the same answer.

        ``person``: the account's key. PeerError without admission, for a second key, and where ``key_of``
        refuses.
        """
        purpose = self._purpose(collector_key, days, period, now_s, area)
        self._require_admitted(person)
        signed = blind_sign(self._key(purpose)[0], blinded)  # a request that cannot be signed leaves no row
        if not self._register.issue(purpose, person, hashlib.blake2b(blinded, digest_size=32).digest()):
            raise PeerError("duplicate", _SECOND_KEY if area else _SECOND_ROUND)
        return signed

    def _require_admitted(self, person: bytes) -> None:
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"this registrar has not admitted the account {person.hex()}; use an invitation, or ask the "
                "registrar to allow it",
            )

    def _open(self, now_s: float) -> set[int]:
        return {period_at(now_s - SKEW_S, self.days), period_at(now_s + SKEW_S, self.days)}

    def _purpose(self, collector_key: bytes, days: int, period: int, now_s: float, area: str) -> Purpose:
        length_fits = (
            _LEAST_DAYS <= days <= _MOST_DAYS and _AREA.fullmatch(area) if area else days == self.days
        )
        if collector_key not in self.collector_keys or not length_fits:
            raise PeerError(
                "not-entitled", "a collector, a length of periods, or an area without tokens here"
            )
        now = self._open(now_s)
        if period not in ({token * self.days // days for token in now} if area else now):
            raise PeerError("too-late", "a period that is over, or that has not begun")
        return Purpose(collector_key, days, period, area)

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
