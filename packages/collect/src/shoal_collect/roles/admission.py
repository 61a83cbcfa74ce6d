"""Tokens of admission: a registrar certifies that a key belongs to a person, and cannot tell which.

A token is a blind signature of an identity key, for one collector and period: the registrar has a key for
each, stated under its lasting key.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from shoal_collect.crypto.blind_signatures import (
    MODULUS_BYTES,
    PREFIX_BYTES,
    PROOF_BYTES,
    VerifyKey,
    blind,
    finalize,
    prepare,
    read_key,
    require_blind_signature,
    require_key_proof,
)
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.requests import Call
from shoal_collect.roles.terms import RegistrarTerms
from shoal_collect.roles.wire import DAY_S

TOKEN_BYTES: Final = PREFIX_BYTES + MODULUS_BYTES
KEY_STATEMENT_BYTES: Final = MODULUS_BYTES + SIGNATURE_BYTES
TOKEN_KEY: Final = b"token key"  # what a registrar's key of a period is for


@dataclass(frozen=True)
class Purpose:
    """A token's use: a collector's key, and a period's length in days and number since 1970.

    ``area``: of a contributor's credential; empty for the tokens of rounds.
    """

    collector_key: bytes
    days: int
    period: int
    area: str = ""

    @property
    def text(self) -> bytes:
        """To which statements and secrets are bound."""
        return self.collector_key + self.days.to_bytes(2) + self.period.to_bytes(4) + self.area.encode()

    @property
    def first_day(self) -> int:
        """Since 1970."""
        return self.period * self.days

    @property
    def end_day(self) -> int:
        """Of the next period, since 1970."""
        return self.first_day + self.days


def period_at(now_s: float, days: int) -> int:
    """The number of the period at a moment (seconds since 1970)."""
    return int(now_s // DAY_S) // days


def purpose_of(collector_key: bytes, registrar: RegistrarTerms) -> Purpose:
    """The purpose of a round's tokens."""
    return Purpose(collector_key, registrar.days, registrar.period)


def read_stated_key(registrar_key: bytes, purpose: Purpose, statement: bytes) -> VerifyKey:
    """The key of one purpose; raise PeerError unless the registrar signed it."""
    if len(statement) != KEY_STATEMENT_BYTES:
        raise PeerError("bad-length", f"a registrar's key of {len(statement)} bytes")
    modulus, signed = statement[:MODULUS_BYTES], statement[MODULUS_BYTES:]
    require_signature(registrar_key, TOKEN_KEY, purpose.text + modulus, signed)
    return read_key(modulus)


def require_token(key: VerifyKey, identity: bytes, token: bytes) -> None:
    """Raise PeerError unless a token admits this identity."""
    if len(token) != TOKEN_BYTES:
        raise PeerError("bad-length", f"a token of {len(token)} bytes instead of {TOKEN_BYTES}")
    require_blind_signature(key, token[:PREFIX_BYTES] + _subject(identity), token[PREFIX_BYTES:])


def _subject(identity: bytes) -> bytes:
    return b"shoal token" + identity


@dataclass(frozen=True)
class Entry:
    """A member's key for one round, and the token that admits it.

    ``signing_seed``: 32 secret bytes. ``statement``: of the registrar's key; empty without a registrar.
    """

    signing_seed: bytes
    token: bytes = b""
    statement: bytes = b""


class TokenRequest:
    """A device's requests for its token of a period, or for a contributor's credential.

    All secrets follow from ``device_key`` (32 secret bytes), so that a repeated request is identical.
    ``purpose``: of a credential.
    """

    def __init__(
        self,
        device_key: bytes,
        collector_key: bytes,
        registrar: RegistrarTerms,
        purpose: Purpose | None = None,
    ) -> None:
        self._registrar_key = bytes.fromhex(registrar.key)
        self.purpose = purpose or purpose_of(collector_key, registrar)
        self.account_seed = account_seed(device_key, self._registrar_key)
        secrets = Chance(_derive(device_key, b"shoal entry", self._registrar_key + self.purpose.text))
        self._signing_seed, self._chance_seed = secrets.seed(), secrets.seed()
        self._path = f"{collector_key.hex()}/{self.purpose.days}/{self.purpose.period}"
        if self.purpose.area:
            self._path += f"?area={self.purpose.area}"

    def ask_for_key(self) -> Call:
        """Ask for the key of this period."""
        return Call("GET", f"/v1/keys/{self._path}", to="registrar")

    def ask_for_token(self, statement: bytes) -> Call:
        """Send the blinded identity.

        Raises PeerError for a key without the registrar's statement, or under which blinding hides nothing.
        """
        return Call("POST", f"/v1/tokens/{self._path}", self._blinded(statement)[2], to="registrar")

    def entry(self, statement: bytes, signed: bytes) -> Entry:
        """Unblind the answer; raise PeerError unless it is a token."""
        key, prepared, _, inverse = self._blinded(statement)
        token = prepared[:PREFIX_BYTES] + finalize(key, prepared, signed, inverse)
        return Entry(self._signing_seed, token, statement[:KEY_STATEMENT_BYTES])

    def _blinded(self, statement: bytes) -> tuple[VerifyKey, bytes, bytes, int]:
        if len(statement) != KEY_STATEMENT_BYTES + PROOF_BYTES:
            raise PeerError("bad-length", f"a registrar's key with its proof in {len(statement)} bytes")
        key = read_stated_key(self._registrar_key, self.purpose, statement[:KEY_STATEMENT_BYTES])
        require_key_proof(key, statement[KEY_STATEMENT_BYTES:])
        chance = Chance(self._chance_seed)
        prepared = prepare(_subject(verify_key(self._signing_seed)), chance)
        blinded = blind(key, prepared, chance)
        return key, prepared, blinded.text, int(blinded.inverse)


def account_seed(device_key: bytes, registrar_key: bytes) -> bytes:
    """The secret that signs for a person at one registrar only."""
    return _derive(device_key, b"shoal account", registrar_key)


def _derive(device_key: bytes, what: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=32, key=device_key, person=what).digest()


def split_entry(body: bytes, *, admitted: bool) -> tuple[bytes, bytes, bytes]:
    """A member's signature of the terms, token, and statement of the registrar's key.

    Without a registrar there is only the signature.
    """
    if not admitted:
        return body, b"", b""
    if len(body) == SIGNATURE_BYTES:
        raise PeerError(
            "not-entitled", "this collector takes only people with a registrar's token; get one first"
        )
    if len(body) != SIGNATURE_BYTES + TOKEN_BYTES + KEY_STATEMENT_BYTES:
        raise PeerError("bad-length", f"a signature with a token in {len(body)} bytes")
    token_end = SIGNATURE_BYTES + TOKEN_BYTES
    return body[:SIGNATURE_BYTES], body[SIGNATURE_BYTES:token_end], body[token_end:]


def split_roster(entry: bytes, *, admitted: bool) -> tuple[bytes, bytes]:
    """A roster entry's signature of the terms, and token."""
    length = SIGNATURE_BYTES + (TOKEN_BYTES if admitted else 0)
    if len(entry) != length:
        raise PeerError("bad-length", f"{len(entry)} bytes of a roster entry instead of {length}")
    return entry[:SIGNATURE_BYTES], entry[SIGNATURE_BYTES:]
