"""The collector: answers how many people share a sub-trajectory, stores releases.

It learns what is asked, and not by whom.

Answers are signed and capped, and come from the state at the end of the day before, so that nobody can watch
the count move when a neighbor sends. Several collectors with one database can be asked, and must agree.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from nacl.bindings import crypto_sign_seed_keypair

from shoal.collect.faults import PeerError
from shoal.collect.matching.counting import CAP, Count
from shoal.collect.matching.cylinders import Cylinder
from shoal.collect.matching.records import Release, decode_query, decode_releases
from shoal.collect.matching.similarity import Likeness
from shoal.collect.matching.utility import utility_of
from shoal.collect.roles.authority import Receipt, check_signature, receipt, signature

ANSWER_BYTES: Final = 32 + 2 + 4 + 64
DEFAULT_QUOTA: Final = 4096


@dataclass(frozen=True)
class Answer:
    """People (at most CAP) with a similar sub-trajectory before the day ``snapshot``."""

    people: int
    snapshot: int


class Store(Protocol):
    """Where releases lie."""

    def add(self, release: Release, day: int) -> str:
        """Keep a release; its identifier."""

    def add_bootstrap(self, release: Release, day: int, until_day: int) -> None:
        """Keep it until a day as a record of nobody."""

    def count(
        self, points: Sequence[Cylinder], likeness: Likeness, before_day: int, *, enough: int | None = None
    ) -> Count:
        """Phi of a query over everything stored before a day.

        A count of ``enough`` people or more need not be complete.
        """


@dataclass
class Collector:
    """The server's side, without a network. quota: questions that one member may submit in a day.

    threshold: utility (Eq. 1) below which a release is not taken; the original length is unknown here, so
    that it counts as kept. count_bootstrap: whether records of nobody count, too.
    """

    store: Store
    signing_seed: bytes
    likeness: Likeness = field(default_factory=Likeness)
    quota: int = DEFAULT_QUOTA
    threshold: float = 0.0
    count_bootstrap: bool = False
    by_occurrence: bool = False
    _asked: dict[tuple[bytes, int], int] = field(default_factory=dict)

    @property
    def public_key(self) -> bytes:
        """What answers and receipts are checked with."""
        return bytes(crypto_sign_seed_keypair(self.signing_seed)[0])

    def answer(self, submitter: bytes, record: bytes, today: int) -> bytes:
        """The signed answer to one query; raises PeerError for what is no query, and beyond the quota."""
        asked = self._asked.get((submitter, today), 0)
        if asked >= self.quota:
            raise PeerError("too-many", f"more than {self.quota} questions in a day; try again tomorrow")
        decode_query(record)
        self._asked = (
            {who: n for who, n in self._asked.items() if who[1] == today} if asked == 0 else self._asked
        )
        self._asked[submitter, today] = asked + 1
        return self.reply(record, today)

    def reply(self, record: bytes, today: int) -> bytes:
        """The same without a quota."""
        query = decode_query(record)
        count = self.store.count(
            query.points, self.likeness, today, enough=None if self.by_occurrence else CAP
        )
        phi = (
            count.occurrences
            if self.by_occurrence
            else count.people + (count.bootstrap if self.count_bootstrap else 0)
        )
        body = (
            hashlib.blake2b(record, digest_size=32).digest() + min(phi, CAP).to_bytes(2) + today.to_bytes(4)
        )
        return body + signature(self.signing_seed, b"answer", body)

    def accept(self, records: Sequence[bytes], today: int) -> tuple[dict[bytes, Receipt], int]:
        """Store the releases among these records.

        Receipts by release name, and how many records were no part of one.
        """
        receipts: dict[bytes, Receipt] = {}

        def keep(one: Release) -> None:
            receipts[one.name] = receipt(self.signing_seed, self.store.add(one, today), one.claim_key)

        return receipts, self._each(records, keep)

    def accept_bootstrap(
        self, records: Sequence[bytes], today: int, until_day: int
    ) -> tuple[list[bytes], int]:
        """Store them as records of nobody until a day.

        The names of those that are stored, and how many records were no part of one.
        """
        names: list[bytes] = []

        def keep(one: Release) -> None:
            self.store.add_bootstrap(one, today, until_day)
            names.append(one.name)

        return names, self._each(records, keep)

    def _each(self, records: Sequence[bytes], keep: Callable[[Release], None]) -> int:
        """Keep the releases among these records; how many records were no part of one that can be kept."""
        releases, bad = decode_releases(records)
        for one in releases:
            if utility_of(one.points, len(one.points)) >= self.threshold:
                try:
                    keep(one)
                except PeerError:
                    bad += 1  # the name of another release: whoever took it spoils her own alone
        return bad


def check_answer(collector_key: bytes, record: bytes, answer: bytes) -> Answer:
    """What a collector answered to this very record; raises PeerError."""
    if len(answer) != ANSWER_BYTES:
        raise PeerError("bad-length", f"an answer of {len(answer)} bytes instead of {ANSWER_BYTES}")
    body, signed = answer[:38], answer[38:]
    check_signature(collector_key, b"answer", body, signed)
    if body[:32] != hashlib.blake2b(record, digest_size=32).digest():
        raise PeerError("bad-answer", "an answer to another question")
    return Answer(int.from_bytes(body[32:34]), int.from_bytes(body[34:38]))


def agreed(answers: Sequence[Answer]) -> Answer:
    """The one answer of all collectors.

    Raises PeerError when they contradict each other, since then one of them lies.
    """
    if not answers or len(set(answers)) != 1:
        raise PeerError("bad-answer", "collectors that do not agree; send nothing to any of them")
    return answers[0]
