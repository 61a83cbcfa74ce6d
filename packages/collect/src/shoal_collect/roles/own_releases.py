"""What a person keeps of each release of hers, and how she shows that it is hers: no socket, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import MisuseError
from shoal_collect.crypto.signatures import require_signature
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder


@dataclass(frozen=True)
class OwnRelease:
    """A stored release of hers.

    Attributes
    ----------
    identifier
        What the collector calls it.
    claim_seed
        The seed (32 secret bytes) of the key that can fetch it and take it back.
    day
        The day since 1970 on which it was stored.
    withdrawn
        The collector's signed word that it was taken back; None while it was not.
    """

    identifier: str
    claim_seed: bytes
    day: int
    withdrawn: bytes | None = None


def words_of_withdrawal(identifier: str, day: int, due: int) -> bytes:
    """Return what a collector signs: taken back on this day, in no count and no export from ``due`` on."""
    return f"{identifier} {day} {due}".encode()


def read_withdrawal(collector_key: bytes, identifier: str, said: Any) -> tuple[int, int, bytes]:
    """Read a receipt for a withdrawal.

    Returns
    -------
    int, int, bytes
        The day on which it was taken back, the first day that it no longer counts, and the proof.

    Raises
    ------
    PeerError
        If the collector did not sign that.
    """
    try:
        day, due, proof = int(said["day"]), int(said["due"]), bytes.fromhex(said["proof"])
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError("bad-answer", "the collector gives no receipt for a deletion") from error
    require_signature(collector_key, b"withdrawn", words_of_withdrawal(identifier, day, due), proof)
    return day, due, proof


def read_release(said: Mapping[str, Any]) -> tuple[int, tuple[Cylinder, ...]]:
    """Read a release that the collector hands out: its day and its cylinders; raises PeerError."""
    try:
        return int(said["day"]), tuple(Cylinder(*map(int, row)) for row in said["points"])
    except (KeyError, TypeError, ValueError, MisuseError) as error:
        raise PeerError("bad-answer", "the collector does not hand out a release") from error
