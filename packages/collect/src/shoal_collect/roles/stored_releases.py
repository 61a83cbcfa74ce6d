"""A person's stored releases, and the proofs of withdrawal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal_collect.crypto.signatures import require_signature
from shoal_collect.faults import refusing
from shoal_collect.matching.cylinders import Cylinder


@dataclass(frozen=True)
class StoredRelease:
    """A stored release, by the collector's identifier and day (since 1970).

    ``claim_seed``: 32 secret bytes to fetch and withdraw it. ``withdrawn``: the signed receipt, or None.
    """

    identifier: str
    claim_seed: bytes
    day: int
    withdrawn: bytes | None = None


def withdrawal_text(identifier: str, day: int, due: int) -> bytes:
    """What a collector signs: withdrawn on this day, in no count or export from ``due`` on."""
    return f"{identifier} {day} {due}".encode()


def read_withdrawal(collector_key: bytes, identifier: str, document: Any) -> tuple[int, int, bytes]:
    """A receipt: the day of withdrawal, the first day without it in counts, and the proof.

    PeerError unless the collector signed it.
    """
    with refusing("bad-answer", "the collector gives no receipt for a deletion"):
        day, due, proof = int(document["day"]), int(document["due"]), bytes.fromhex(document["proof"])
    require_signature(collector_key, b"withdrawn", withdrawal_text(identifier, day, due), proof)
    return day, due, proof


def read_release(document: Mapping[str, Any]) -> tuple[int, tuple[Cylinder, ...]]:
    """Day and cylinders of a release from the collector."""
    with refusing("bad-answer", "the collector does not hand out a release"):
        return int(document["day"]), tuple(Cylinder(*map(int, row)) for row in document["points"])
