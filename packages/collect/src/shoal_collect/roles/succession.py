"""Succession of a server's key: the old key signs the new one, and devices follow.

This does not revoke a stolen key: a thief can sign a successor as well, and mislead devices that have not
followed the true one. One that has sees two successors of one key, and refuses.
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
    """A server key's statement that another key replaces it.

    ``old``, ``new``: both signing keys, in hexadecimal. ``sealing``: the authority's new sealing key; empty
    for others. ``from_s``, ``until_s``: when devices may follow, in seconds since 1970. ``signed``: the old
    key's signature.
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
        document = self.model_dump_json(exclude={"signed"}).encode()
        return hashlib.blake2b(document, digest_size=32, person=b"shoal successor").digest()


class Successors(BaseModel):
    """The file that servers publish (``--successors``): successions, the earliest first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["shoal successors"] = "shoal successors"
    version: Literal[1] = 1
    successors: tuple[Successor, ...] = Field(max_length=_MOST)


def sign_successor(
    signing_seed: bytes, role: Role, new: str, from_s: int, days: int, sealing: str = ""
) -> Successor:
    """Let an old key name the new one, to follow from ``from_s`` for ``days`` days."""
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
    """A server's list of successors."""
    try:
        successors = TypeAdapter(tuple[Successor, ...]).validate_python(entries)
    except ValidationError as error:
        raise PeerError("bad-frame", f"no successor of a key: {error.errors()[0]['msg']}") from error
    if len(successors) > _MOST:
        raise PeerError("bad-length", f"{len(successors)} successors of keys; at most {_MOST}")
    return successors


def find_succession(
    role: Role,
    current: bytes,
    target: bytes,
    statements: Iterable[Successor],
    followed: Sequence[Successor] = (),
) -> list[Successor]:
    """The successors from one key to another, whatever their time.

    ``statements``: the server's. ``followed``: earlier ones. PeerError if a key was not signed by the one
    before, has two successors, or was replaced before.
    """
    successor = dict[str, Successor]()
    for succession in (*followed, *filter(_is_signed, statements)):
        if succession.role not in _SIGNERS[role]:
            continue
        earlier = successor.setdefault(succession.old, succession)
        if (earlier.new, earlier.sealing) != (succession.new, succession.sealing):
            raise PeerError("bad-signature", "two successors of one key, so the old key is in other hands")
    way = list[Successor]()
    passed = {succession.old for succession in followed} | {current.hex()}
    at = current.hex()
    while at != target.hex():
        step = successor.get(at)
        if step is None:
            raise PeerError("bad-signature", "a key that the one before has not signed")
        if step.new in passed:
            raise PeerError("bad-signature", "a key that was replaced before")
        passed.add(step.new)
        way.append(step)
        at = step.new
    return way


def follow_succession(
    role: Role,
    current: bytes,
    target: bytes,
    statements: Iterable[Successor],
    followed: Sequence[Successor],
    now_s: float,
) -> list[Successor]:
    """As a device: PeerError before or after a successor's time, too."""
    way = find_succession(role, current, target, statements, followed)
    for step in way:
        if now_s < step.from_s - SKEW_S:
            raise PeerError("too-late", "a successor of a key that does not hold yet")
        if now_s >= step.until_s:
            raise PeerError("too-late", "a successor of a key that could be followed for a while, now over")
    return way


def find_predecessors(role: Role, key: bytes, statements: Iterable[Successor]) -> list[Successor]:
    """The successors that lead to a key, the earliest first."""
    before = {
        succession.new: succession
        for succession in filter(_is_signed, statements)
        if succession.role in _SIGNERS[role]
    }
    way = list[Successor]()
    at = key.hex()
    while at in before and len(way) < len(before):
        way.insert(0, before[at])
        at = before[at].old
    return way


def first_key(role: Role, key: bytes, followed: Iterable[Successor]) -> bytes:
    """The key from which ``followed`` leads to this one."""
    way = find_predecessors(role, key, followed)
    return bytes.fromhex(way[0].old) if way else key


def _is_signed(one: Successor) -> bool:
    try:
        require_signature(bytes.fromhex(one.old), b"successor", one.text, bytes.fromhex(one.signed))
    except PeerError:
        return False
    return True
