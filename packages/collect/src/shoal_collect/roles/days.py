"""Closed days: what was stored on each, under one root, and the chain of them that an answer names.

A day's releases and withdrawals no longer change when it has closed. The state before a day is a digest over
all closed days before it, so whoever signs an answer with it has said what it was counted over. Releases are
hidden in the tree by their names, 16 random bytes each.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.crypto import merkle
from shoal_collect.faults import PeerError

NO_STATE: Final = bytes(merkle.DIGEST_BYTES)  # before the first release
_NOBODY: Final = bytes(32)


@dataclass(frozen=True)
class ClosedDay:
    """One closed day.

    Attributes
    ----------
    day
        The day since 1970.
    n
        How many releases were stored on it.
    added, gone
        The roots of these, and of the identifiers that no longer count from the next day on.
    state
        The state before the next day.
    """

    day: int
    n: int
    added: bytes
    gone: bytes
    state: bytes

    @classmethod
    def after(cls, state: bytes, day: int, added: Sequence[bytes], gone: Sequence[bytes]) -> "ClosedDay":
        """Close a day over its leaves, after the state before it."""
        roots = merkle.root(sorted(added)), merkle.root(sorted(gone))
        return cls(day, len(added), *roots, following_state(state, day, *roots))

    def to_json(self) -> dict[str, Any]:
        """Return what stands in a reply, which the collector signs."""
        roots = {name: getattr(self, name).hex() for name in ("added", "gone", "state")}
        return {"day": self.day, "n": self.n, **roots}

    @classmethod
    def read(cls, said: Any) -> "ClosedDay":
        """Read a collector's words; raise PeerError when they are none."""
        try:
            roots = [bytes.fromhex(said[name]) for name in ("added", "gone", "state")]
            return cls(int(said["day"]), int(said["n"]), *roots)
        except (KeyError, TypeError, ValueError) as error:
            raise PeerError("bad-frame", "words that do not describe a closed day") from error


def following_state(state: bytes, day: int, added: bytes, gone: bytes) -> bytes:
    """Return the state after a day."""
    return hashlib.sha256(b"\x02" + state + day.to_bytes(4) + added + gone).digest()


def release_leaf(
    name: bytes, tag: bytes, claim_key: bytes | None, expires: int | None, points: bytes
) -> bytes:
    """Digest one stored release; a record of nobody has no key, and a day on which it is deleted."""
    return merkle.leaf(name + tag + (claim_key or _NOBODY) + (expires or 0).to_bytes(4) + points)


def identifier_leaf(identifier: str) -> bytes:
    """Digest one identifier that was taken back."""
    return merkle.leaf(identifier.encode())


def require_own(said: Mapping[str, Any], claim_key: bytes, points: bytes) -> ClosedDay:
    """Check that a release stands in the closed day that a collector shows with it; raises PeerError.

    Parameters
    ----------
    said
        The collector's words: the release's name and tag, the closed day, its place and path.
    claim_key
        The key of the release, which its owner knows.
    points
        Its encoded points.
    """
    try:
        day = ClosedDay.read(said["closed"])
        name, tag = bytes.fromhex(said["name"]), bytes.fromhex(said["tag"])
        at, shown = int(said["at"]), [bytes.fromhex(one) for one in said["path"]]
    except (KeyError, TypeError, ValueError) as error:
        raise PeerError("bad-answer", "the collector does not show a release in its closed day") from error
    merkle.require_in(day.added, day.n, at, release_leaf(name, tag, claim_key, None, points), shown)
    return day
