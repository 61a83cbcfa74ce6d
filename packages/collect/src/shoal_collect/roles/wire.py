"""Letters and records in bodies, with limits that both sides enforce."""

import hashlib
from collections.abc import Sequence
from typing import Final

from shoal_collect.crypto.sealing import MAX_TEXT_BYTES, OVERHEAD_BYTES
from shoal_collect.faults import PeerError
from shoal_collect.matching.records import RECORD_BYTES

DAY_S: Final = 86_400
SETTLE_S: Final = (
    300.0  # so long after midnight all of the day before is stored, and its end can be asked about
)
LIFETIME_S: Final = 24 * 3600.0  # of a group and its letters, at least
LETTER_BYTES: Final = MAX_TEXT_BYTES + OVERHEAD_BYTES
BODY_BYTES: Final = LETTER_BYTES + 4  # the longest body of any request
BATCH_BYTES: Final = 2 * LETTER_BYTES  # the longest batch of letters from a mailbox
ROW_BYTES: Final = 8 + 4  # before each letter in a batch: its number and its length
LETTERS: Final = 64  # that one member may send another in a session; a sound round takes 16


def channel_name(joined: bytes, seed: bytes, identities: tuple[bytes, ...]) -> bytes:
    """The channel of a group's members.

    A member who joined on other terms (``joined``: the text that all signed), or saw another lottery, has
    another.
    """
    return hashlib.blake2b(
        joined + seed + b"".join(identities), digest_size=32, person=b"shoal channel"
    ).digest()


def unpack(batch: bytes) -> list[tuple[int, bytes]]:
    """A mailbox's numbers and letters."""
    letters: list[tuple[int, bytes]] = []
    at = 0
    while at < len(batch):
        size = int.from_bytes(batch[at + 8 : at + ROW_BYTES])
        letter = batch[at + ROW_BYTES : at + ROW_BYTES + size]
        if len(letter) != size or not size:
            raise PeerError("bad-length", "a batch that ends in the middle of a letter")
        letters.append((int.from_bytes(batch[at : at + 8]), letter))
        at += ROW_BYTES + size
    return letters


def bundles(letters: Sequence[bytes]) -> list[bytes]:
    """Letters in as few bodies as fit, each after its length."""
    bodies = [b""]
    for letter in letters:
        if bodies[-1] and len(bodies[-1]) + 4 + len(letter) > BODY_BYTES:
            bodies.append(b"")
        bodies[-1] += len(letter).to_bytes(4) + letter
    return bodies


def unbundle(body: bytes) -> list[bytes]:
    """The letters in a body, at least one."""
    letters, at = list[bytes](), 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4])
        letters.append(body[at + 4 : at + 4 + size])
        if len(letters[-1]) != size or not size:
            break
        at += 4 + size
    if not letters or at != len(body):
        raise PeerError("bad-length", "letters whose lengths do not add up")
    return letters


def split_records(body: bytes) -> list[bytes]:
    """Records of RECORD_BYTES."""
    if not body or len(body) % RECORD_BYTES:
        raise PeerError("bad-length", f"{len(body)} bytes are not whole records of {RECORD_BYTES} bytes")
    return [body[at : at + RECORD_BYTES] for at in range(0, len(body), RECORD_BYTES)]


def questions_digest(questions: bytes) -> bytes:
    """By which a batch is identified."""
    return hashlib.blake2b(questions, digest_size=32).digest()


def snapshot_day(now_s: float) -> int:
    """The day before which releases count for a question asked now: all collectors have a complete set."""
    return int((now_s - SETTLE_S) // DAY_S)
