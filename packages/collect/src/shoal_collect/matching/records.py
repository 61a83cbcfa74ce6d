"""Fixed-size records: queries, pieces and padding look the same in the mix.

A header of 4 bytes, a name of 16 random bytes, and 8 slots of 16 bytes. Each has exactly one encoding.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder

SLOT_BYTES: Final = 16
SLOTS: Final = 8
NAME_BYTES: Final = 16
RECORD_BYTES: Final = 4 + NAME_BYTES + SLOTS * SLOT_BYTES
MAX_POINTS: Final = 255

_VERSION: Final = 1
_QUERY, _PIECE, _PADDING = 1, 2, 3
_POINT: Final = struct.Struct(">iiHIH")
PREAMBLE_SLOTS: Final = 4  # contributor tag, release key (2 slots), number of points
CHANNEL_BYTES: Final = 32
PROOF_BYTES: Final = 992  # session, contributor's key, signature, token, statement of the registrar's key
PROOF_RECORDS: Final = 8  # more records that a release with a proof may take
_PROOF_SLOTS: Final = PROOF_BYTES // SLOT_BYTES


@dataclass(frozen=True)
class Query:
    """A sub-trajectory to count; only its owner knows its name."""

    name: bytes
    points: tuple[Cylinder, ...]

    def __post_init__(self) -> None:
        if len(self.name) != NAME_BYTES or not 2 <= len(self.points) <= SLOTS:
            raise MisuseError(f"a query needs a name of {NAME_BYTES} bytes and 2 to {SLOTS} points")


@dataclass(frozen=True)
class Release:
    """A trimmed trajectory.

    ``name``: 16 bytes that only the owner knows in advance. ``contributor``: a tag (16 bytes).
    ``claim_key``: 32 bytes. ``points``: 1 to MAX_POINTS. ``proof``: of the contributor, PROOF_BYTES; empty
    where no registrar admits people.
    """

    name: bytes
    contributor: bytes
    claim_key: bytes
    points: tuple[Cylinder, ...]
    proof: bytes = b""

    def __post_init__(self) -> None:
        if (
            len(self.name) != NAME_BYTES
            or len(self.contributor) != SLOT_BYTES
            or len(self.claim_key) != 2 * SLOT_BYTES
        ):
            raise MisuseError("a release needs a name and a contributor of 16 bytes and a key of 32")
        if not 1 <= len(self.points) <= MAX_POINTS:
            raise MisuseError(f"a release of {len(self.points)} points; give 1 to {MAX_POINTS}")
        if len(self.proof) not in (0, PROOF_BYTES):
            raise MisuseError(f"a proof of {len(self.proof)} bytes; give {PROOF_BYTES}, or none")


def encode_query(query: Query) -> bytes:
    """As RECORD_BYTES."""
    return _record(_QUERY, len(query.points), 0, query.name, b"".join(map(_encode_point, query.points)))


def decode_query(record: bytes) -> Query:
    """PeerError unless this is its one encoding."""
    kind, count, part, name, body = _parts(record)
    if kind != _QUERY or part != 0 or not 2 <= count <= SLOTS:
        raise PeerError("bad-record", "a record that is not a query of 2 to 8 points")
    query = Query(name, tuple(_decode_point(slot) for slot in _slots(body)[:count]))
    if encode_query(query) != record:
        raise PeerError("bad-record", "a query with bytes behind its last point")
    return query


def pieces_needed(n_points: int, *, proven: bool = False) -> int:
    """Records for ``n_points``."""
    return -(-(PREAMBLE_SLOTS + n_points + _PROOF_SLOTS * proven) // SLOTS)


def encode_release(release: Release | None, n_pieces: int, chance: Chance) -> list[bytes]:
    """A release as exactly ``n_pieces`` records, so that their number reveals nothing.

    None: padding only.
    """
    records = []
    if release is not None:
        proven = bool(release.proof)
        numbers = bytes((proven,)).rjust(SLOT_BYTES - 1, b"\x00") + bytes((len(release.points),))
        preamble = release.contributor + release.claim_key + numbers
        stream = preamble + b"".join(map(_encode_point, release.points)) + release.proof
        size = SLOTS * SLOT_BYTES
        total = pieces_needed(len(release.points), proven=proven)
        for part in range(total):
            body = stream[part * size : (part + 1) * size]
            records.append(_record(_PIECE, total, part, release.name, body))
    if len(records) > n_pieces:
        raise MisuseError(
            f"a release of {len(records)} records for {n_pieces}; allow more records, or release fewer points"
        )
    return records + [
        _record(_PADDING, 0, 0, chance.take(NAME_BYTES), b"") for _ in range(n_pieces - len(records))
    ]


def decode_releases(records: Sequence[bytes]) -> tuple[list[Release], int]:
    """The complete releases among records, sorted by name, and the number of bad records.

    A bad record spoils only the release of its name; padding is valid.
    """
    pieces: dict[bytes, dict[int, bytes]] = {}
    totals: dict[bytes, set[int]] = {}
    bad = 0
    for record in records:
        try:
            kind, total, part, name, body = _parts(record)
        except PeerError:
            bad += 1
            continue
        if kind == _PADDING and total == part == 0 and body == bytes(len(body)):
            continue
        if kind != _PIECE or part >= total or part in pieces.get(name, {}):
            bad += 1
            continue
        pieces.setdefault(name, {})[part] = body
        totals.setdefault(name, set()).add(total)
    releases = []
    for name, parts in pieces.items():
        release = _assemble(name, parts, totals[name])
        if release is None:
            bad += len(parts)
        else:
            releases.append(release)
    return sorted(releases, key=lambda release: release.name), bad


def encode_points(points: Sequence[Cylinder]) -> bytes:
    """16 bytes each."""
    return b"".join(map(_encode_point, points))


def decode_points(stored: bytes) -> tuple[Cylinder, ...]:
    """PeerError unless all are whole."""
    if len(stored) % SLOT_BYTES:
        raise PeerError("bad-length", f"{len(stored)} bytes of points instead of {SLOT_BYTES} each")
    return tuple(map(_decode_point, _slots(stored)))


def _assemble(name: bytes, parts: dict[int, bytes], totals: set[int]) -> Release | None:
    total = min(totals)
    if len(totals) != 1 or len(parts) != total:
        return None
    slots = _slots(b"".join(parts[part] for part in range(total)))
    proven, n_points = divmod(int.from_bytes(slots[3]), 256) if len(slots) > PREAMBLE_SLOTS else (0, 0)
    if proven > 1 or n_points < 1 or pieces_needed(n_points, proven=bool(proven)) != total:
        return None
    proof_at = PREAMBLE_SLOTS + n_points
    end = proof_at + _PROOF_SLOTS * proven
    if any(map(any, slots[end:])):
        return None
    try:
        points = tuple(_decode_point(slot) for slot in slots[PREAMBLE_SLOTS:proof_at])
    except PeerError:
        return None
    return Release(name, slots[0], slots[1] + slots[2], points, b"".join(slots[proof_at:end]))


def _record(kind: int, count: int, part: int, name: bytes, body: bytes) -> bytes:
    return bytes((_VERSION, kind, count, part)) + name + body.ljust(SLOTS * SLOT_BYTES, b"\x00")


def _parts(record: bytes) -> tuple[int, int, int, bytes, bytes]:
    if len(record) != RECORD_BYTES:
        raise PeerError("bad-length", f"a record of {len(record)} bytes instead of {RECORD_BYTES}")
    version, kind, count, part = record[:4]
    if version != _VERSION or kind not in (_QUERY, _PIECE, _PADDING):
        raise PeerError("bad-record", "a record of an unknown kind or version")
    return kind, count, part, record[4 : 4 + NAME_BYTES], record[4 + NAME_BYTES :]


def _slots(body: bytes) -> list[bytes]:
    return [body[at : at + SLOT_BYTES] for at in range(0, len(body), SLOT_BYTES)]


def _encode_point(point: Cylinder) -> bytes:
    return _POINT.pack(point.lat_udeg, point.lon_udeg, point.radius_m, point.start_min, point.gap_min)


def _decode_point(slot: bytes) -> Cylinder:
    """PeerError instead of MisuseError."""
    lat_udeg, lon_udeg, radius_m, start_min, gap_min = _POINT.unpack(slot)
    try:
        return Cylinder(start_min, gap_min, lat_udeg, lon_udeg, radius_m)
    except MisuseError as error:
        raise PeerError("out-of-range", str(error)) from error
