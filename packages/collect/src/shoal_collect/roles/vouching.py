"""Vouching: more than half of a group signs the whole set of questions.

Otherwise one member could ask questions that were never mixed. A batch has the digests of all slices and
the signatures before its own slice, so that any collector can check it alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError
from shoal_collect.roles.wire import questions_digest, split_records

_SLICE_BYTES: Final = 32  # of a slice's digest
_ROW_BYTES: Final = 1 + SIGNATURE_BYTES  # a member's place, and what she signed


@dataclass(frozen=True)
class Batch:
    """One slice, and vouchers for the set.

    ``slices``: each member's digest. ``vouchers``: signatures over ``slices``, by place.
    """

    questions: bytes
    slices: tuple[bytes, ...]
    vouchers: Mapping[int, bytes]

    @property
    def records(self) -> list[bytes]:
        """PeerError unless all records are whole."""
        return split_records(self.questions)

    def encode(self) -> bytes:
        """The number of vouchers, the vouchers by place, the digests, the questions."""
        rows = b"".join(bytes((place,)) + signed for place, signed in sorted(self.vouchers.items()))
        return bytes((len(self.vouchers),)) + rows + b"".join(self.slices) + self.questions


def enough_vouchers(n_members: int) -> int:
    """The smallest majority."""
    return n_members // 2 + 1


def longest_vouching(n_members: int) -> int:
    """Most bytes before the questions of a batch."""
    return 1 + n_members * (_ROW_BYTES + _SLICE_BYTES)


def vouch(signing_seed: bytes, session: bytes, slices: Sequence[bytes]) -> bytes:
    """Sign the digests of a group's slices."""
    return signature(signing_seed, b"questions", session + b"".join(slices))


def require_voucher(identity: bytes, session: bytes, slices: Sequence[bytes], signed: bytes) -> None:
    """Raise PeerError unless this member signed these slices for this session."""
    require_signature(identity, b"questions", session + b"".join(slices), signed)


def read_batch(session: bytes, members: Sequence[bytes], body: bytes) -> Batch:
    """A batch for the channel ``session``.

    PeerError if a voucher is forged, doubled, from an outsider or for another session, if at most half of
    the group vouches, or if the slice is not in the set.
    """
    at, vouchers, last = 1, dict[int, bytes](), -1
    for _ in range(body[0] if body else 0):
        row = body[at : at + _ROW_BYTES]
        if len(row) != _ROW_BYTES:
            break
        place, at = row[0], at + _ROW_BYTES
        if place >= len(members):
            raise PeerError("unknown-member", "a voucher of a person outside this group")
        if place <= last:
            raise PeerError("duplicate", "a member's voucher twice, or vouchers out of order")
        last, vouchers[place] = place, row[1:]
    end = at + len(members) * _SLICE_BYTES
    if not body or len(vouchers) != body[0] or len(body) <= end:
        raise PeerError("bad-length", f"a batch of {len(body)} bytes that ends before its questions")
    slices = tuple(body[start : start + _SLICE_BYTES] for start in range(at, end, _SLICE_BYTES))
    batch = Batch(body[end:], slices, vouchers)
    for place, signed in vouchers.items():
        require_voucher(members[place], session, slices, signed)
    if len(vouchers) < enough_vouchers(len(members)):
        raise PeerError(
            "not-entitled",
            f"questions that {len(vouchers)} of {len(members)} members vouch for; more than half must",
        )
    if questions_digest(batch.questions) not in slices:
        raise PeerError("not-entitled", "questions that are not among those the group vouched for")
    return batch
