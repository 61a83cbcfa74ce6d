"""Closed days: the releases of each under one root, and the chain that an answer names.

A closed day no longer changes. The state before a day is a digest over all closed days before it, so a
signed answer fixes the data behind the count. Releases are hidden by their names, 16 random bytes each.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.crypto import merkle
from shoal_collect.faults import refusing

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

    def to_json(self) -> dict[str, Any]:
        """As the collector signs it."""
        roots = {name: getattr(self, name).hex() for name in ("added", "gone", "state")}
        return {"day": self.day, "n": self.n, **roots}

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
