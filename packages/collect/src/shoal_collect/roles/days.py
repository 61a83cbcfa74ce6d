"""Stored releases, closed days, and the chain that an answer names.

A closed day no longer changes; its releases are under one root. The state before a day is a digest over all
closed days before it, so a signed answer fixes the data behind the count. Releases are hidden by their names,
16 random bytes each.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.crypto import merkle
from shoal_collect.crypto.signatures import require_signature
from shoal_collect.faults import refusing
from shoal_collect.matching.cylinders import Cylinder

NO_STATE: Final = bytes(merkle.DIGEST_BYTES)  # before the first release


@dataclass(frozen=True)
class ClosedDay:
    """A closed day with ``n`` releases.

    ``added``, ``gone``: roots of these, and of identifiers that stop counting on the next day. ``state``:
    before the next day.
    """

    day: int
    n: int
    added: bytes
    gone: bytes
    state: bytes

    @classmethod
    def after(cls, state: bytes, day: int, added: Sequence[bytes], gone: Sequence[bytes]) -> "ClosedDay":
        """Close a day over its leaves."""
        roots = merkle.root(sorted(added)), merkle.root(sorted(gone))
        return cls(day, len(added), *roots, following_state(state, day, *roots))

    @classmethod
    def read(cls, document: Any) -> "ClosedDay":
        """A collector's document."""
        with refusing("bad-frame", "words that do not describe a closed day"):
            roots = [bytes.fromhex(document[name]) for name in ("added", "gone", "state")]
            return cls(int(document["day"]), int(document["n"]), *roots)


def following_state(state: bytes, day: int, added: bytes, gone: bytes) -> bytes:
    """The state after a day."""
    return hashlib.sha256(b"\x02" + state + day.to_bytes(4) + added + gone).digest()


def release_leaf(name: bytes, tag: bytes, claim_key: bytes, points: bytes) -> bytes:
    """A stored release."""
    return merkle.leaf(name + tag + claim_key + points)


def identifier_leaf(identifier: str) -> bytes:
    """A withdrawn identifier."""
    return merkle.leaf(identifier.encode())


def require_stored_release(answer: Mapping[str, Any], claim_key: bytes, points: bytes) -> ClosedDay:
    """The closed day; PeerError unless it contains the release with this key and points.

    ``answer``: name and tag, closed day, place and path.
    """
    with refusing("bad-answer", "the collector does not show a release in its closed day"):
        day = ClosedDay.read(answer["closed"])
        name, tag = bytes.fromhex(answer["name"]), bytes.fromhex(answer["tag"])
        at, path = int(answer["at"]), [bytes.fromhex(digest) for digest in answer["path"]]
    merkle.require_path(day.added, day.n, at, release_leaf(name, tag, claim_key, points), path)
    return day


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
