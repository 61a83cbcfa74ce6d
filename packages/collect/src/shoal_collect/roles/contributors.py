"""A contributor's credential: k counts people, and not tags that a device makes up.

The registrar signs one key of each account for each area and period, blindly, as it signs tokens. Releases
are signed with that key, for one group's session, and carry the registrar's signature. So all releases of one
person in an area and period count once, whatever number of rounds, groups, or copies of her device bring
them; nobody else can release under her key, and a collector or witness can check every release alone.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from shoal_collect.crypto.signatures import (
    KEY_BYTES,
    SIGNATURE_BYTES,
    require_signature,
    signature,
    verify_key,
)
from shoal_collect.faults import PeerError
from shoal_collect.matching.contributors import TAG_BYTES, Scoping
from shoal_collect.matching.cylinders import MICRO
from shoal_collect.matching.records import CHANNEL_BYTES, PROOF_BYTES, Release, encode_points
from shoal_collect.roles.admission import (
    TOKEN_BYTES,
    Entry,
    Purpose,
    read_stated_key,
    require_token,
)
from shoal_collect.roles.terms import PublicPlaces, RegistrarTerms, Terms

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
    return hashlib.blake2b(key, digest_size=TAG_BYTES, person=b"shoal tag").digest()


def sign_release(release: Release, credential: Entry, channel: bytes) -> Release:
    """A release under the credential's tag, for one group's session."""
    key = verify_key(credential.signing_seed)
    unsigned = replace(release, contributor=tag_of(key))
    signed = signature(credential.signing_seed, b"release", channel + _text(unsigned))
    return replace(unsigned, proof=channel + key + signed + credential.token + credential.statement)


def statement_in(release: Release) -> bytes:
    """The registrar's statement that a release carries."""
    return release.proof[_STATEMENT_AT:]


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
    days, period, area = (
        int.from_bytes(text[:2]),
        int.from_bytes(text[2:6]),
        text[6:].decode("ascii", "replace"),
    )
    purpose = Purpose(collector_key, days, period, area)
    size = area.partition("-")[0]
    here = Scoping(int(size), days).area_of(release.points[0]) if size.isdecimal() and int(size) else ""
    if area != here or require_contributor(release, purpose, registrar_key) != scope:
        raise PeerError("not-entitled", "a release that counts in another area than its own")


def require_one_key(releases: Iterable[Release], scoping: Scoping, credentials: dict[str, Entry]) -> None:
    """As a member: PeerError if the registrar stated another key of an area to somebody else."""
    for release in releases:
        own = credentials.get(scoping.area_of(release.points[0]))
        if own is not None and release.proof and statement_in(release) != own.statement:
            raise PeerError(
                "bad-answer",
                "the registrar stated another key of an area to you than to others, which could tell people "
                "apart; send it nothing",
            )


def _text(release: Release) -> bytes:
    return release.name + release.claim_key + encode_points(release.points)
