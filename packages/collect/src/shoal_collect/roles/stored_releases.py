"""A person's record of each stored release, and the proofs of its withdrawal: no socket, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import MisuseError
from shoal_collect.crypto.signatures import require_signature
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder


@dataclass(frozen=True)
class StoredRelease:
    """A person's stored release, by the collector's identifier and the day (since 1970) of storing.

    ``claim_seed``: seed (32 secret bytes) of the key that can fetch and withdraw it. ``withdrawn``: the
    collector's signed receipt for a withdrawal, or None.
    """

    identifier: str
    claim_seed: bytes
    day: int
    withdrawn: bytes | None = None


def withdrawal_text(identifier: str, day: int, due: int) -> bytes:
    """Return the text a collector signs: withdrawn on this day, in no count or export from ``due`` on."""
    return f"{identifier} {day} {due}".encode()


def read_withdrawal(collector_key: bytes, identifier: str, document: Any) -> tuple[int, int, bytes]:
    """Read a receipt for a withdrawal; raise PeerError unless the collector signed it.

    Returns the day of withdrawal, the first day without it in counts, and the proof.
    """
    try:
        day, due, proof = int(document["day"]), int(document["due"]), bytes.fromhex(document["proof"])
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError("bad-answer", "the collector gives no receipt for a deletion") from error
    require_signature(collector_key, b"withdrawn", withdrawal_text(identifier, day, due), proof)
    return day, due, proof


def read_release(document: Mapping[str, Any]) -> tuple[int, tuple[Cylinder, ...]]:
    """Read day and cylinders of a release from the collector; raises PeerError."""
    try:
        return int(document["day"]), tuple(Cylinder(*map(int, row)) for row in document["points"])
    except (KeyError, TypeError, ValueError, MisuseError) as error:
        raise PeerError("bad-answer", "the collector does not hand out a release") from error
