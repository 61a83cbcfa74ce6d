"""The collector: it counts the people who share a sub-trajectory, and stores releases.

It learns the questions but not who asks. Answers come from the state at the end of the previous day, so
that no one can watch the count change when a neighbor sends. Several collectors with one database must
agree.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from shoal_collect.crypto.merkle import DIGEST_BYTES
from shoal_collect.crypto.signatures import SIGNATURE_BYTES, require_signature, signature, verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Release, decode_query, decode_releases
from shoal_collect.matching.similarity import CAP, Count, Thresholds
from shoal_collect.roles.authority import Receipt, receipt
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


class Store(Protocol):
    """A database of releases."""

    def add(self, release: Release, day: int, scope: bytes = b"") -> str:
        """Store a release; return its identifier."""

    def count(
        self,
        points: Sequence[Cylinder],
        thresholds: Thresholds,
        before_day: int,
        *,
        enough: int | None = None,
        proven: bool = False,
    ) -> Count:
        """Count the people who share a query before a day.

        A count of ``enough`` or more need not be complete.
        """


@dataclass
class Collector:
    """The collector without a network.

    ``signing_seed``: 32 secret bytes. ``proven``: whether only contributors with a credential count.
    ``scope_of``: the scope of a release's tag, or PeerError. ``least_count``: smaller counts are answered
    as 0.
    """

    store: Store
    signing_seed: bytes
    thresholds: Thresholds = field(default_factory=Thresholds)
    proven: bool = False
    scope_of: Callable[[Release], bytes] = lambda _: b""
    least_count: int = 0

    @property
    def public_key(self) -> bytes:
        """Checks answers and receipts."""
        return verify_key(self.signing_seed)

    def people(self, record: bytes, today: int) -> int:
        """The people to answer: between threshold and cap."""
        points = decode_query(record).points
        count = self.store.count(points, self.thresholds, today, enough=CAP, proven=self.proven)
        return min(count.people, CAP) if count.people >= self.least_count else 0

    def sign_answer(self, record: bytes, people: int | None, today: int, state: bytes = NO_STATE) -> bytes:
        """Sign an answer over the state before a day; None says that there is none."""
        digest = hashlib.blake2b(record, digest_size=32).digest()
        body = digest + (_WITHHELD if people is None else people).to_bytes(2) + today.to_bytes(4) + state
        return body + signature(self.signing_seed, b"answer", body)

    def accept(self, records: Sequence[bytes], today: int) -> tuple[dict[bytes, Receipt], int]:
        """Store the releases among these records.

        Returns receipts by name, and the number of other records.
        """
        receipts: dict[bytes, Receipt] = {}
        releases, bad = decode_releases(records)
        for one in releases:
            try:
                identifier = self.store.add(one, today, self.scope_of(one))
            except PeerError:
                bad += 1  # out of bounds, unproven, or another one's name: it spoils only its owner's
            else:
                receipts[one.name] = receipt(self.signing_seed, identifier, one.claim_key)
        return receipts, bad


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
