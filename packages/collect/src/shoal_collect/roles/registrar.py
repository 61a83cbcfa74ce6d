"""The registrar: it admits persons, and signs one key of each for a collector and a period, blindly.

It knows who may take part and who has asked for a token. It does not know which key the token is for, so it
learns nothing of a round, even together with the collector.
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
    """Where it stands who is admitted, and who has a token."""

    def admit(self, code: bytes, person: bytes) -> bool:
        """Use an invitation; say whether this person has used it now or before."""

    def knows(self, person: bytes) -> bool:
        """Say whether a person is admitted."""

    def issue(self, purpose: Purpose, person: bytes, digest: bytes, registrar: bytes) -> bool:
        """Note a request for the one token of a person and purpose; say whether no other one was noted."""

    def was_issued(self, purpose: Purpose, person: bytes, digest: bytes) -> bool:
        """Say whether this very request was noted."""

    def to_clear(self, person: bytes, purpose: Purpose, settled_day: float, registrar: bytes) -> list[int]:
        """Return the earlier periods of a person's tokens that were over then and are not cleared."""

    def note_cleared(self, person: bytes, purposes: Sequence[Purpose]) -> None:
        """Note that a person has shown clearances of these."""

    def blame(self, identity: bytes, purpose: Purpose) -> bool:
        """Note a key that a proof of blame stands against; say whether it is the first one."""

    def is_blamed(self, identity: bytes) -> bool:
        """Say whether a proof of blame stands against a key."""

    def clear(self, identity: bytes, purpose: Purpose, digest: bytes) -> bool:
        """Note a request for the one clearance of a key; say whether no other one was noted."""


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
        self._keys: dict[tuple[bytes, bytes], tuple[SignKey, bytes]] = {}

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

        Raises PeerError for a collector, a length or a period for which no tokens are issued now or were, so
        long that none of them is to be cleared any more.
        """
        return self._key(self._purpose(collector_key, days, period, now_s, past=True))[1]

    def sign(
        self, person: bytes, collector_key: bytes, days: int, period: int, body: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded key: once for each person, collector and period; the same again gives the same.

        Parameters
        ----------
        person
            The key of her account.
        collector_key, days, period
            What the token is for.
        body
            The blinded key, and clearances of all her earlier tokens whose period is over.
        now_s
            The time, in seconds since 1970.

        Raises
        ------
        PeerError
            If she is not admitted, or a clearance is missing, for a second token, and for what ``key_of``
            refuses. In a period that is over only what was signed then is signed again.
        """
        blinded, shown = body[:MODULUS_BYTES], split_clearances(body[MODULUS_BYTES:])
        purpose = self._purpose(collector_key, days, period, now_s, past=True)
        digest = hashlib.blake2b(blinded, digest_size=32).digest()
        if period not in self._open(now_s) and not self._register.was_issued(purpose, person, digest):
            raise PeerError("too-late", "a period that is over")
        if not self._register.knows(person):
            raise PeerError(
                "not-entitled",
                f"nobody here knows the account {person.hex()}; use an invitation, or ask the registrar to "
                "allow it",
            )
        if period in self._open(now_s):
            self._require_cleared(person, purpose, shown, now_s)
        key = self._key(purpose)[0]
        signed = blind_sign(key, blinded)  # nothing is noted for a request that cannot be signed
        if not self._register.issue(purpose, person, digest, self.public_key):
            raise PeerError("duplicate", "this account has its token of this period already, for another key")
        return signed

    # exclusion after blame

    def accuse(self, body: bytes, now_s: float) -> bool:
        """Take a proof of blame, from anybody; say whether it is the first against this token.

        Raises PeerError for one that proves nothing, and for a token that needs no clearance any more.
        """
        accusation = read_accusation(body)
        purpose = require_proof(accusation, self.public_key)
        self._purpose(*purpose.parts, now_s, past=True)
        return self._register.blame(accusation.identities[accusation.culprit], purpose)

    def to_clear(self, person: bytes, collector_key: bytes, days: int, now_s: float) -> list[int]:
        """Return the periods whose clearances a person has to show before her next token."""
        purpose = Purpose(collector_key, days, period_at(now_s, days))
        return self._register.to_clear(person, purpose, (now_s - REPORT_S) / DAY_S, self.public_key)

    def clearing_key_of(self, collector_key: bytes, days: int, period: int, now_s: float) -> bytes:
        """Return the key that clears the tokens of a period, as ``key_of`` does."""
        return self._key(self._purpose(collector_key, days, period, now_s, past=True), CLEARANCE_KEY)[1]

    def clear(
        self, identity: bytes, collector_key: bytes, days: int, period: int, body: bytes, now_s: float
    ) -> bytes:
        """Sign a blinded account for the holder of a token, when its period is over.

        Parameters
        ----------
        identity
            The key that the token admits.
        collector_key, days, period
            What the token was for.
        body
            The token, and the blinded account.
        now_s
            The time, in seconds since 1970.

        Raises
        ------
        PeerError
            If a proof of blame stands against the token, if proofs can still come in, for a token that does
            not hold, and for a second clearance.
        """
        purpose = self._purpose(collector_key, days, period, now_s, past=True)
        require_token(self._key(purpose)[0].public, identity, body[:TOKEN_BYTES])
        if now_s < purpose.over_day * DAY_S + REPORT_S:
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
        self, person: bytes, purpose: Purpose, shown: Sequence[tuple[int, bytes, bytes]], now_s: float
    ) -> None:
        """Raises PeerError unless all earlier tokens of hers are cleared, whose periods are over."""
        cleared = list[Purpose]()
        needed = self._register.to_clear(person, purpose, (now_s - REPORT_S) / DAY_S, self.public_key)
        for period, prefix, signed in shown:
            if period in needed:
                one = Purpose(purpose.collector_key, purpose.days, period)
                key = self._key(one, CLEARANCE_KEY)[0].public
                require_blind_signature(key, prefix + cleared_text(person, one), signed)
                cleared.append(one)
        if missing := set(needed) - {one.period for one in cleared}:
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
        """What a request is about; raises PeerError for a period that is over (``past``: for too long)."""
        if collector_key not in self.collector_keys or days != self.days:
            raise PeerError("not-entitled", "a collector, or a length of periods, without tokens here")
        purpose = Purpose(collector_key, days, period)
        recent = past and period <= max(self._open(now_s)) and purpose.is_recent(now_s)
        if period not in self._open(now_s) and not recent:
            raise PeerError("too-late", "a period that is over, or that has not begun")
        return purpose

    def _key(self, purpose: Purpose, what: bytes = TOKEN_KEY) -> tuple[SignKey, bytes]:
        """The secret key of a purpose, and what is said of it; both follow from the registrar's seed."""
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
