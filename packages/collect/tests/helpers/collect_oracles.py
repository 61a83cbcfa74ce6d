"""What only tests and benchmarks ask of the protocol's parts."""

from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import MICRO, Cylinder, Point, distance_m
from shoal_collect.matching.records import SLOT_BYTES, _decode_point, _slots
from shoal_collect.storage.phi import PhiStore


def contains(cylinder: Cylinder, point: Point) -> bool:
    """Whether the true place and time lie inside."""
    lat, lon = cylinder.lat_udeg / MICRO, cylinder.lon_udeg / MICRO
    inside = distance_m(lat, lon, point.lat_deg, point.lon_deg) <= cylinder.radius_m
    return inside and cylinder.start_min <= point.t_min <= cylinder.end_min


def decode_points(encoded: bytes) -> tuple[Cylinder, ...]:
    """What ``encode_points`` wrote; raises PeerError for anything else."""
    if len(encoded) % SLOT_BYTES:
        raise PeerError("bad-length", f"{len(encoded)} bytes are not whole points of {SLOT_BYTES} bytes")
    return tuple(map(_decode_point, _slots(encoded)))


def claim_key(store: PhiStore, identifier: str) -> bytes | None:
    """The key that can claim a stored release."""
    row = store.database.row("SELECT claim_key FROM record WHERE identifier = ?", (identifier,))
    return None if row is None else bytes(row[0])
