"""The registrar: it admits persons, and blindly signs one key of each per collector and period.

It knows who asked for a token, but not the token's key: it learns nothing of a round, even together with
the collector.
"""

import hashlib
from collections.abc import Sequence
from typing import Final, Protocol

from shoal_collect.crypto.blind_signatures import (
    MODULUS_BYTES,
    SignKey,
    blind_sign,
    draw_key,
    prove_key,
    require_blind_signature,
)
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.accusation import read_accusation, require_proof
from shoal_collect.roles.admission import (
    CLEARANCE_KEY,
    EXCLUDED_DAYS,
    TOKEN_BYTES,
    TOKEN_KEY,
    Purpose,
    cleared_text,
    period_at,
    require_token,
    split_clearances,
)
from shoal_collect.roles.requests import SKEW_S
from shoal_collect.roles.wire import DAY_S

CODE_BYTES: Final = 16
REPORT_S: Final = 6 * 3600.0  # so long after a period proofs of blame can come in
_KEPT_KEYS: Final = 256  # two for each period that can still be cleared


class Register(Protocol):
    """Admitted persons and issued tokens."""

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; whether this person used it, now or before."""

    def knows(self, person: bytes) -> bool:
        """Whether a person is admitted."""

    def issue(self, purpose: Purpose, person: bytes, digest: bytes, registrar: bytes) -> bool:
        """Record a request for a person's one token; whether no other was recorded."""

    def was_issued(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Whether this very request was recorded."""

    def to_clear(self, person: bytes, purpose: Purpose, settled_day: float, registrar: bytes) -> list[int]:
        """The ended periods without a clearance."""

    def note_cleared(self, person: bytes, purposes: Sequence[Purpose]) -> None:
        """Record clearances."""

    def blame(self, identity: bytes, purpose: Purpose) -> bool:
        """Record a proof of blame; whether it is the first."""

    def is_blamed(self, identity: bytes) -> bool:
        """Whether there is a proof of blame."""

    def clear(self, identity: bytes, purpose: Purpose, digest: bytes) -> bool:
        """Record a request for a key's one clearance; whether no other was recorded."""


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
        self._keys: dict[tuple[bytes, bytes], tuple[SignKey, bytes]] = {}

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

        PeerError for a period without tokens, unless some must still be cleared.
        """
        return self._key(self._purpose(collector_key, days, period, now_s, past=True))[1]

    def sign(
        self, person: bytes, collector_key: bytes, days: int, period: int, body: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded key, once; a repetition gets the same answer.

        ``person``: the account's key. ``body``: the blinded key, and clearances of all earlier tokens of
        ended periods. PeerError without admission or a clearance, for a second token, and where ``key_of``
        refuses. In an ended period only earlier requests are signed again.
        """
        blinded, clearances = body[:MODULUS_BYTES], split_clearances(body[MODULUS_BYTES:])
        purpose = self._purpose(collector_key, days, period, now_s, past=True)
        digest = hashlib.blake2b(blinded, digest_size=32).digest()
        if period not in self._open(now_s) and not self._register.was_issued(purpose, person, digest):
            raise PeerError("too-late", "a period that is over")
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"this registrar has not admitted the account {person.hex()}; use an invitation, or ask the "
                "registrar to allow it",
            )
        if period in self._open(now_s):
            self._require_cleared(person, purpose, clearances, now_s)
        key = self._key(purpose)[0]
        signed = blind_sign(key, blinded)  # nothing is noted for a request that cannot be signed
        if not self._register.issue(purpose, person, digest, self.public_key):
            raise PeerError("duplicate", "this account has its token of this period already, for another key")
        return signed

    # exclusion after blame

    def accuse(self, body: bytes, now_s: float) -> bool:
        """Record a proof of blame; whether it is the first.

        PeerError without proof, and for a token that needs no clearance any more.
        """
        accusation = read_accusation(body)
        purpose = require_proof(accusation, self.public_key)
        self._purpose(*purpose.parts, now_s, past=True)
        return self._register.blame(accusation.identities[accusation.culprit], purpose)

    def to_clear(self, person: bytes, collector_key: bytes, days: int, now_s: float) -> list[int]:
        """The periods to clear before the next token."""
        purpose = Purpose(collector_key, days, period_at(now_s, days))
        return self._register.to_clear(person, purpose, (now_s - REPORT_S) / DAY_S, self.public_key)

    def clearing_key_of(self, collector_key: bytes, days: int, period: int, now_s: float) -> bytes:
        """The key that clears a period's tokens, as ``key_of``."""
        return self._key(self._purpose(collector_key, days, period, now_s, past=True), CLEARANCE_KEY)[1]

    def clear(
        self, identity: bytes, collector_key: bytes, days: int, period: int, body: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded account for the holder of a token, after its period.

        ``identity``: admitted by the token. ``body``: token, and blinded account. PeerError for a blamed or
        invalid token, while proofs can still arrive, and for a second clearance.
        """
        purpose = self._purpose(collector_key, days, period, now_s, past=True)
        require_token(self._key(purpose)[0].public, identity, body[:TOKEN_BYTES])
        if now_s < purpose.end_day * DAY_S + REPORT_S:
            raise PeerError(
                "too-late", "a period that is not over, or whose proofs of blame can still come in"
            )
        if self._register.is_blamed(identity):
            raise PeerError(
                "not-entitled",
                "a proof of blame stands against this token, and its holder gets no further one for "
                f"{EXCLUDED_DAYS} days after its period",
            )
        blinded = body[TOKEN_BYTES:]
        signed = blind_sign(self._key(purpose, CLEARANCE_KEY)[0], blinded)
        if not self._register.clear(identity, purpose, hashlib.blake2b(blinded, digest_size=32).digest()):
            raise PeerError("duplicate", "this token has its clearance already, for another account")
        return signed

    def _require_cleared(
        self, person: bytes, purpose: Purpose, clearances: Sequence[tuple[int, bytes, bytes]], now_s: float
    ) -> None:
        cleared = list[Purpose]()
        needed = self._register.to_clear(person, purpose, (now_s - REPORT_S) / DAY_S, self.public_key)
        for period, prefix, signed in clearances:
            if period in needed:
                earlier = Purpose(purpose.collector_key, purpose.days, period)
                key = self._key(earlier, CLEARANCE_KEY)[0].public
                require_blind_signature(key, prefix + cleared_text(person, earlier), signed)
                cleared.append(earlier)
        if missing := set(needed) - {earlier.period for earlier in cleared}:
            raise PeerError(
                "not-entitled",
                f"clearances of {len(missing)} earlier tokens of this account are missing: a proof of blame "
                f"stands against one, or the device has not asked; without them there is a token again "
                f"{EXCLUDED_DAYS} days after the last of their periods",
            )
        self._register.note_cleared(person, cleared)

    def _open(self, now_s: float) -> set[int]:
        return {period_at(now_s - SKEW_S, self.days), period_at(now_s + SKEW_S, self.days)}

    def _purpose(
        self, collector_key: bytes, days: int, period: int, now_s: float, *, past: bool = False
    ) -> Purpose:
        """PeerError for an ended period (``past``: ended too long ago)."""
        if collector_key not in self.collector_keys or days != self.days:
            raise PeerError("not-entitled", "a collector, or a length of periods, without tokens here")
        purpose = Purpose(collector_key, days, period)
        recent = past and period <= max(self._open(now_s)) and purpose.is_recent(now_s)
        if period not in self._open(now_s) and not recent:
            raise PeerError("too-late", "a period that is over, or that has not begun")
        return purpose

    def _key(self, purpose: Purpose, what: bytes = TOKEN_KEY) -> tuple[SignKey, bytes]:
        """They follow from the registrar's seed."""
        name = what, purpose.text
        if name not in self._keys:
            person = b"shoal token" if what == TOKEN_KEY else b"shoal clearance"
            seed = hashlib.blake2b(purpose.text, digest_size=32, key=self._seed, person=person).digest()
            key = draw_key(Chance(seed))
            modulus = key.public.to_bytes()
            signed = signature(self.signing_seed, what, purpose.text + modulus)
            while len(self._keys) >= _KEPT_KEYS:
                self._keys.pop(next(iter(self._keys)))
            self._keys[name] = key, modulus + signed + prove_key(key)
        return self._keys[name]


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
