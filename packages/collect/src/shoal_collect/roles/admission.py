"""Tokens of admission: a registrar certifies that a key belongs to a person, and cannot tell which.

A token is a blind signature of an identity key, for one collector and period: the registrar has a key for
each, stated under its lasting key.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

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
from shoal_collect.roles.terms import LAST_DAY, RegistrarTerms
from shoal_collect.roles.wire import DAY_S

TOKEN_BYTES: Final = PREFIX_BYTES + MODULUS_BYTES
CLEARANCE_BYTES: Final = 4 + TOKEN_BYTES
EXCLUDED_DAYS: Final = 30  # so long after its period a token without clearance keeps its owner out
MOST_CLEARANCES: Final = 31  # as many periods as an exclusion can span, and the present one
KEY_STATEMENT_BYTES: Final = MODULUS_BYTES + SIGNATURE_BYTES
TOKEN_KEY, CLEARANCE_KEY = b"token key", b"clearance key"  # purposes of a registrar's keys of a period


@dataclass(frozen=True)
class Purpose:
    """A token's use: a collector's key, and a period's length in days and number since 1970."""

    collector_key: bytes
    days: int
    period: int

    @property
    def text(self) -> bytes:
        """To which statements and secrets are bound."""
        return self.collector_key + self.days.to_bytes(2) + self.period.to_bytes(4)

    @classmethod
    def read(cls, text: bytes) -> "Purpose":
        """Read ``text``."""
        return cls(text[:-6], int.from_bytes(text[-6:-4]), int.from_bytes(text[-4:]))

    @property
    def first_day(self) -> int:
        """Since 1970."""
        return self.period * self.days

    @property
    def end_day(self) -> int:
        """Of the next period, since 1970."""
        return self.first_day + self.days

    @property
    def parts(self) -> tuple[bytes, int, int]:
        """Collector's key, length and number."""
        return self.collector_key, self.days, self.period

    def is_recent(self, now_s: float) -> bool:
        """Whether a token of this period must still be cleared."""
        return now_s // DAY_S < self.end_day + EXCLUDED_DAYS


def period_at(now_s: float, days: int) -> int:
    """The number of the period at a moment (seconds since 1970)."""
    return int(now_s // DAY_S) // days


def purpose_of(collector_key: bytes, registrar: RegistrarTerms) -> Purpose:
    """The purpose of a round's tokens."""
    return Purpose(collector_key, registrar.days, registrar.period)


def read_stated_key(
    registrar_key: bytes, purpose: Purpose, statement: bytes, what: bytes = TOKEN_KEY
) -> VerifyKey:
    """The key of one purpose; raise PeerError unless the registrar signed it.

    ``what``: TOKEN_KEY or CLEARANCE_KEY.
    """
    if len(statement) != KEY_STATEMENT_BYTES:
        raise PeerError("bad-length", f"a registrar's key of {len(statement)} bytes")
    modulus, signed = statement[:MODULUS_BYTES], statement[MODULUS_BYTES:]
    require_signature(registrar_key, what, purpose.text + modulus, signed)
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
    """A device's requests for its token of a period.

    All secrets follow from ``device_key`` (32 secret bytes), so that a repeated request is identical.
    ``account_key``: the registrar's key at the time of admission.
    """

    def __init__(
        self,
        device_key: bytes,
        collector_key: bytes,
        registrar: RegistrarTerms,
        account_key: bytes | None = None,
    ) -> None:
        self._device_key, self._registrar, self._account_key = device_key, registrar, account_key
        self._registrar_key = bytes.fromhex(registrar.key)
        self.purpose = purpose_of(collector_key, registrar)
        self.account_seed = account_seed(device_key, account_key or self._registrar_key)
        text = self._registrar_key + self.purpose.text
        secrets = Chance(_derive(device_key, b"shoal entry", text))
        self._signing_seed, self._chance_seed = secrets.seed(), secrets.seed()
        self._clearing_seed = _derive(device_key, b"shoal clear", text)
        self._path = f"{collector_key.hex()}/{registrar.days}/{registrar.period}"

    def of_period(self, period: Any) -> "TokenRequest":
        """The request for another period."""
        if not isinstance(period, int) or not 0 <= period <= LAST_DAY:
            raise PeerError("out-of-range", "a period that cannot be")
        registrar = self._registrar.model_copy(update={"period": period})
        return TokenRequest(self._device_key, self.purpose.collector_key, registrar, self._account_key)

    def ask_what_to_clear(self) -> Call:
        """Ask which earlier tokens must be cleared."""
        path = f"{self.purpose.collector_key.hex()}/{self.purpose.days}"
        return Call("GET", f"/v1/clearances/{path}", to="registrar")

    def ask_for_key(self) -> Call:
        """Ask for the key of this period."""
        return Call("GET", f"/v1/keys/{self._path}", to="registrar")

    def ask_for_token(self, statement: bytes, clearances: bytes = b"") -> Call:
        """Send the blinded identity, and clearances.

        Raises PeerError for a key without the registrar's statement, or under which blinding hides nothing.
        """
        body = self._blinded(statement)[2] + clearances
        return Call("POST", f"/v1/tokens/{self._path}", body, to="registrar")

    def entry(self, statement: bytes, signed: bytes) -> Entry:
        """Unblind the answer; raise PeerError unless it is a token."""
        key, prepared, _, inverse = self._blinded(statement)
        token = prepared[:PREFIX_BYTES] + finalize(key, prepared, signed, inverse)
        return Entry(self._signing_seed, token, statement[:KEY_STATEMENT_BYTES])

    def ask_for_clearing_key(self) -> Call:
        """Ask for the key that clears this period."""
        return Call("GET", f"/v1/clearance-keys/{self._path}", to="registrar")

    def ask_for_clearance(self, statement: bytes, token: bytes) -> Call:
        """Send the blinded account with its token, signed by the admitted key."""
        body = token + self._blinded(statement, clearing=True)[2]
        return Call("POST", f"/v1/clearances/{self._path}", body, to="registrar")

    def clearance(self, statement: bytes, signed: bytes) -> bytes:
        """Unblind the clearance, for the next request."""
        key, prepared, _, inverse = self._blinded(statement, clearing=True)
        return (
            self.purpose.period.to_bytes(4)
            + prepared[:PREFIX_BYTES]
            + finalize(key, prepared, signed, inverse)
        )

    def _blinded(self, statement: bytes, *, clearing: bool = False) -> tuple[VerifyKey, bytes, bytes, int]:
        if len(statement) != KEY_STATEMENT_BYTES + PROOF_BYTES:
            raise PeerError("bad-length", f"a registrar's key with its proof in {len(statement)} bytes")
        what = CLEARANCE_KEY if clearing else TOKEN_KEY
        key = read_stated_key(self._registrar_key, self.purpose, statement[:KEY_STATEMENT_BYTES], what)
        require_key_proof(key, statement[KEY_STATEMENT_BYTES:])
        if clearing:
            subject = cleared_text(verify_key(self.account_seed), self.purpose)
        else:
            subject = _subject(verify_key(self._signing_seed))
        chance = Chance(self._clearing_seed if clearing else self._chance_seed)
        prepared = prepare(subject, chance)
        blinded = blind(key, prepared, chance)
        return key, prepared, blinded.text, int(blinded.inverse)


def cleared_text(account: bytes, purpose: Purpose) -> bytes:
    """The text of a clearance: no proof of blame stands against this token."""
    return b"shoal clearance" + account + purpose.text


def split_clearances(body: bytes) -> list[tuple[int, bytes, bytes]]:
    """Period, random prefix and signature of each clearance."""
    if len(body) % CLEARANCE_BYTES or len(body) > MOST_CLEARANCES * CLEARANCE_BYTES:
        raise PeerError("bad-length", f"clearances in {len(body)} bytes")
    rows = (body[at : at + CLEARANCE_BYTES] for at in range(0, len(body), CLEARANCE_BYTES))
    return [(int.from_bytes(row[:4]), row[4 : 4 + PREFIX_BYTES], row[4 + PREFIX_BYTES :]) for row in rows]


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
