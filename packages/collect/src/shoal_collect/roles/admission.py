"""Tokens of admission, and the credentials of contributors.

A registrar certifies that a key belongs to a person, and cannot tell which. A token is a blind signature of
an identity key, for one collector and period: the registrar has a key for each, stated under its lasting key.

With a credential k counts people, and not tags that a device makes up. The registrar signs one key of each
account for each area and period, blindly, as it signs tokens. Releases are signed with that key, for one
group's session, and carry the registrar's signature. So all releases of one person in an area and period
count once, whatever number of rounds, groups, or copies of her device bring them; nobody else can release
under her key, and a collector or witness can check every release alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shoal_collect.crypto import blind_signatures as blind
from shoal_collect.crypto.blind_signatures import MODULUS_BYTES, PREFIX_BYTES, VerifyKey
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.signatures import (
    KEY_BYTES,
    SIGNATURE_BYTES,
    require_signature,
    signature,
    verify_key,
)
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import MICRO
from shoal_collect.matching.records import CHANNEL_BYTES, PROOF_BYTES, Release, encode_points
from shoal_collect.matching.similarity import TAG_BYTES, Scoping
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.terms import RegistrarTerms, Terms
from shoal_collect.roles.wire import DAY_S, Call

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
    return blind.read_key(modulus)


def require_token(key: VerifyKey, identity: bytes, token: bytes) -> None:
    """Raise PeerError unless a token admits this identity."""
    if len(token) != TOKEN_BYTES:
        raise PeerError("bad-length", f"a token of {len(token)} bytes instead of {TOKEN_BYTES}")
    blind.require_blind_signature(key, token[:PREFIX_BYTES] + _subject(identity), token[PREFIX_BYTES:])


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
        token = prepared[:PREFIX_BYTES] + blind.finalize(key, prepared, signed, inverse)
        return Entry(self._signing_seed, token, statement[:KEY_STATEMENT_BYTES])

    def _blinded(self, statement: bytes) -> tuple[VerifyKey, bytes, bytes, int]:
        if len(statement) != KEY_STATEMENT_BYTES + blind.PROOF_BYTES:
            raise PeerError("bad-length", f"a registrar's key with its proof in {len(statement)} bytes")
        key = read_stated_key(self._registrar_key, self.purpose, statement[:KEY_STATEMENT_BYTES])
        blind.require_key_proof(key, statement[KEY_STATEMENT_BYTES:])
        chance = Chance(self._chance_seed)
        prepared = blind.prepare(_subject(verify_key(self._signing_seed)), chance)
        blinded = blind.blind(key, prepared, chance)
        return key, prepared, blinded.text, int(blinded.inverse)


def account_seed(device_key: bytes, registrar_key: bytes) -> bytes:
    """The secret that signs for a person at one registrar only."""
    return _derive(device_key, b"shoal account", registrar_key)


def _derive(device_key: bytes, what: bytes, text: bytes) -> bytes:
    return hash_of(what, text, key=device_key)


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


_MARGIN_UDEG: Final = 200_000
MOST_AREAS: Final = 32  # a device asks for a credential of each, so that the registrar does not learn hers
_SIGNED_AT: Final = CHANNEL_BYTES + KEY_BYTES
_TOKEN_AT: Final = _SIGNED_AT + SIGNATURE_BYTES
_STATEMENT_AT: Final = _TOKEN_AT + TOKEN_BYTES


def areas_of(places: PublicPlaces, scoping: Scoping) -> tuple[str, ...]:
    """The areas of a collection: all that a box around its public places touches, some 20 km wider.

    After MOST_AREAS one more, and no further.
    """
    step, areas = scoping.side_udeg // 2, set[str]()
    for lat in _marks(places.lat_deg, 90 * MICRO, step):
        for lon in _marks(places.lon_deg, 180 * MICRO - 1, step):
            areas.add(scoping.area_at(lat, lon))
            if len(areas) > MOST_AREAS:
                return tuple(sorted(areas))
    return tuple(sorted(areas))


def _marks(degrees: Sequence[float], most: int, step: int) -> list[int]:
    """So close to each other that none of an area's sides lies between two."""
    least, last = round(min(degrees) * MICRO) - _MARGIN_UDEG, round(max(degrees) * MICRO) + _MARGIN_UDEG
    first, last = max(-most, least), min(most, last)
    return [*range(first, last, step), last]


def purpose_in(collector_key: bytes, terms: Terms, registrar: RegistrarTerms, area: str) -> Purpose:
    """What a credential of an area is for, in a round on these terms."""
    period = registrar.period * registrar.days // terms.period_days
    return Purpose(collector_key, terms.period_days, period, area)


def tag_of(key: bytes) -> bytes:
    """The contributor's tag of a key."""
    return hash_of(b"shoal tag", key, size=TAG_BYTES)


def sign_release(release: Release, credential: Entry, channel: bytes) -> Release:
    """A release under the credential's tag, for one group's session."""
    key = verify_key(credential.signing_seed)
    unsigned = replace(release, contributor=tag_of(key))
    signed = signature(credential.signing_seed, b"release", channel + _text(unsigned))
    return replace(unsigned, proof=channel + key + signed + credential.token + credential.statement)


def require_contributor(release: Release, purpose: Purpose, registrar_key: bytes) -> bytes:
    """The scope in which a release's tag counts; PeerError unless its contributor is proven."""
    proof = release.proof
    if len(proof) != PROOF_BYTES:
        raise PeerError("not-entitled", "a release without a contributor's credential")
    channel, key = proof[:CHANNEL_BYTES], proof[CHANNEL_BYTES:_SIGNED_AT]
    if release.contributor != tag_of(key):
        raise PeerError("not-entitled", "a release under a tag that its credential does not have")
    require_signature(key, b"release", channel + _text(release), proof[_SIGNED_AT:_TOKEN_AT])
    signer = read_stated_key(registrar_key, purpose, proof[_STATEMENT_AT:])
    require_token(signer, key, proof[_TOKEN_AT:_STATEMENT_AT])
    return registrar_key + purpose.text


def require_scope(release: Release, scope: bytes, collector_key: bytes, registrar_key: bytes) -> None:
    """As a witness: PeerError unless a stored release counts in this scope by right."""
    text = scope.removeprefix(registrar_key + collector_key)
    days, area = int.from_bytes(text[:2]), text[6:].decode("ascii", "replace")
    purpose = Purpose(collector_key, days, int.from_bytes(text[2:6]), area)
    size = area.partition("-")[0]
    here = Scoping(int(size), days).area_of(release.points[0]) if size.isdecimal() and int(size) else ""
    if area != here or require_contributor(release, purpose, registrar_key) != scope:
        raise PeerError("not-entitled", "a release that counts in another area than its own")


def require_one_key(releases: Iterable[Release], scoping: Scoping, credentials: dict[str, Entry]) -> None:
    """As a member: PeerError if the registrar stated another key of an area to somebody else."""
    for release in releases:
        own = credentials.get(scoping.area_of(release.points[0]))
        if own is not None and release.proof and release.proof[_STATEMENT_AT:] != own.statement:
            raise PeerError(
                "bad-answer",
                "the registrar stated another key of an area to you than to others, which could tell people "
                "apart; send it nothing",
            )


def _text(release: Release) -> bytes:
    return release.name + release.claim_key + encode_points(release.points)
