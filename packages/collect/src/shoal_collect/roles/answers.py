"""Signed answers.

They come from the state at the end of the previous day, so that no one can watch the count change when a
neighbor sends. Several collectors with one database must agree.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from shoal_collect.crypto.merkle import DIGEST_BYTES
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature
from shoal_collect.faults import PeerError
from shoal_collect.roles.days import NO_STATE

_BODY_BYTES: Final = 32 + 2 + 4 + DIGEST_BYTES  # the record's digest, people, day, state
_WITHHELD: Final = 0xFFFF  # instead of people: the question was not answered, which is not "nobody"
ANSWER_BYTES: Final = _BODY_BYTES + SIGNATURE_BYTES


@dataclass(frozen=True)
class Answer:
    """People (at most CAP) before the day ``snapshot``; ``state``: a digest of all days before.

    ``people``: None where the collector did not answer.
    """

    people: int | None
    snapshot: int
    state: bytes = NO_STATE


def sign_answer(
    signing_seed: bytes, record: bytes, people: int | None, today: int, state: bytes = NO_STATE
) -> bytes:
    """Sign an answer over the state before a day; None says that there is none."""
    digest = hashlib.blake2b(record, digest_size=32).digest()
    body = digest + (_WITHHELD if people is None else people).to_bytes(2) + today.to_bytes(4) + state
    return body + signature(signing_seed, b"answer", body)


def read_answer(collector_key: bytes, record: bytes, answer: bytes) -> Answer:
    """A collector's answer to this record; PeerError unless it signed that."""
    if len(answer) != ANSWER_BYTES:
        raise PeerError("bad-length", f"an answer of {len(answer)} bytes instead of {ANSWER_BYTES}")
    body, signed = answer[:_BODY_BYTES], answer[_BODY_BYTES:]
    require_signature(collector_key, b"answer", body, signed)
    if body[:32] != hashlib.blake2b(record, digest_size=32).digest():
        raise PeerError("bad-answer", "an answer to another question")
    people = int.from_bytes(body[32:34])
    return Answer(None if people == _WITHHELD else people, int.from_bytes(body[34:38]), body[38:])


def count_withheld(answers: bytes) -> int:
    """Of a batch's signed answers."""
    return sum(
        int.from_bytes(answers[at + 32 : at + 34]) == _WITHHELD for at in range(0, len(answers), ANSWER_BYTES)
    )
