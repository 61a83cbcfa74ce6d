"""A server's key that follows another: the old key signs the new one, and devices that know the old follow.

This replaces a key in good order. It does not take one back that was stolen: whoever has the old key can sign
a successor as well, and leads astray who has not followed the true one yet. A device that has sees two
successors of one key, and refuses.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from shoal_collect.crypto.signatures import require_signature, signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.roles.requests import SKEW_S
from shoal_collect.roles.wire import DAY_S

Role = Literal["collector", "authority", "registrar"]
# an authority that admits people is the registrar, too, under the same key
_SIGNERS: Final[dict[Role, tuple[Role, ...]]] = {
    "collector": ("collector",),
    "authority": ("authority",),
    "registrar": ("registrar", "authority"),
}
MOST_DAYS: Final = 3660
_MOST: Final = 100


class Successor(BaseModel):
    """The word of a server's key that another key takes its place.

    Parameters
    ----------
    role
        Whose keys they are.
    old, new
        Both keys that servers sign with, in hexadecimal.
    sealing
        The authority's new key that claims are sealed with; empty for others.
    from_s, until_s
        When devices may follow, in seconds since 1970.
    signed
        The old key's signature of all this.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Role
    old: str = Field(pattern="^[0-9a-f]{64}$")
    new: str = Field(pattern="^[0-9a-f]{64}$")
    sealing: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    from_s: int = Field(ge=0, lt=1 << 40)
    until_s: int = Field(ge=0, lt=1 << 40)
    signed: str = Field(pattern="^[0-9a-f]{128}$")

    @property
    def text(self) -> bytes:
        """What the old key signs."""
        said = self.model_dump_json(exclude={"signed"}).encode()
        return hashlib.blake2b(said, digest_size=32, person=b"shoal successor").digest()


class Successors(BaseModel):
    """The file that servers show (``--successors``): how keys followed earlier ones, the earliest first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["shoal successors"] = "shoal successors"
    version: Literal[1] = 1
    successors: tuple[Successor, ...] = Field(max_length=_MOST)


def sign_successor(
    signing_seed: bytes, role: Role, new: str, from_s: int, days: int, sealing: str = ""
) -> Successor:
    """Let an old key name the new one.

    Parameters
    ----------
    signing_seed
        32 secret bytes of the old key.
    role, new, sealing
        As in ``Successor``.
    from_s, days
        From when on devices may follow, in seconds since 1970, and for how many days.
    """
    unsigned = Successor(
        role=role,
        old=verify_key(signing_seed).hex(),
        new=new,
        sealing=sealing,
        from_s=from_s,
        until_s=from_s + days * DAY_S,
        signed="0" * 128,
    )
    signed = signature(signing_seed, b"successor", unsigned.text).hex()
    return unsigned.model_copy(update={"signed": signed})


def read_successors(entries: Any) -> tuple[Successor, ...]:
    """Read what a server shows; raise PeerError for anything that is no list of successors."""
    try:
        found = TypeAdapter(tuple[Successor, ...]).validate_python(entries)
    except ValidationError as error:
        raise PeerError("bad-frame", f"no successor of a key: {error.errors()[0]['msg']}") from error
    if len(found) > _MOST:
        raise PeerError("bad-length", f"{len(found)} successors of keys; at most {_MOST}")
    return found


def lead(
    role: Role, known: bytes, shown: bytes, said: Iterable[Successor], followed: Sequence[Successor] = ()
) -> list[Successor]:
    """Find the successors that lead from one key to another, whenever they held.

    Parameters
    ----------
    role
        Whose key it is.
    known, shown
        The key that was accepted, and the one that is to take its place.
    said
        What is shown to justify that.
    followed
        What was followed before.

    Raises
    ------
    PeerError
        If a key on the way was not signed by the one before it, has two successors, or was replaced before.
    """
    successor = dict[str, Successor]()
    for one in (*followed, *filter(_holds, said)):
        if one.role not in _SIGNERS[role]:
            continue
        there = successor.setdefault(one.old, one)
        if (there.new, there.sealing) != (one.new, one.sealing):
            raise PeerError("bad-signature", "two successors of one key; somebody else has the old one")
    way = list[Successor]()
    passed = {one.old for one in followed} | {known.hex()}
    at = known.hex()
    while at != shown.hex():
        step = successor.get(at)
        if step is None:
            raise PeerError("bad-signature", "a key that the one before has not signed")
        if step.new in passed:
            raise PeerError("bad-signature", "a key that was replaced before")
        passed.add(step.new)
        way.append(step)
        at = step.new
    return way


def follow(
    role: Role,
    known: bytes,
    shown: bytes,
    said: Iterable[Successor],
    followed: Sequence[Successor],
    now_s: float,
) -> list[Successor]:
    """Do the same as a device: a successor that may not be followed yet, or no longer, raises PeerError, too.

    ``now_s`` is the time in seconds since 1970.
    """
    way = lead(role, known, shown, said, followed)
    for step in way:
        if now_s < step.from_s - SKEW_S:
            raise PeerError("too-late", "a successor of a key that does not hold yet")
        if now_s >= step.until_s:
            raise PeerError("too-late", "a successor of a key that could be followed for a while, now over")
    return way


def way_back(role: Role, shown: bytes, said: Iterable[Successor]) -> list[Successor]:
    """Find the successors that lead to a key from the earliest one that is shown, the earliest first."""
    before = {one.new: one for one in filter(_holds, said) if one.role in _SIGNERS[role]}
    way = list[Successor]()
    at = shown.hex()
    while at in before and len(way) < len(before):
        way.insert(0, before[at])
        at = before[at].old
    return way


def first_key(role: Role, key: bytes, followed: Iterable[Successor]) -> bytes:
    """Return the key from which all that were followed lead to this one."""
    way = way_back(role, key, followed)
    return bytes.fromhex(way[0].old) if way else key


def _holds(one: Successor) -> bool:
    try:
        require_signature(bytes.fromhex(one.old), b"successor", one.text, bytes.fromhex(one.signed))
    except PeerError:
        return False
    return True
