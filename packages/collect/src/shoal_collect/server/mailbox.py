"""Uploads of a group's members: letters, questions, releases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shoal_collect.crypto.sealing import address
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.faults import PeerError
from shoal_collect.matching.records import CHANNEL_BYTES, Release, decode_query, decode_releases
from shoal_collect.matching.similarity import CAP, Thresholds
from shoal_collect.roles import wire
from shoal_collect.roles.admission import purpose_in, require_contributor
from shoal_collect.roles.authority import Receipt, receipt
from shoal_collect.roles.days import NO_STATE
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import BATCH_BYTES
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays
from shoal_collect.storage.phi import PhiStore
from shoal_collect.storage.questions import MOST_ROWS, AskedQuestions, Groups

_WAITING: Final = 3  # of the longest letters: an input, a hop, and all that is short


@dataclass
class Collector:
    """It counts the people who share a sub-trajectory, and stores releases; it does not learn who asks.

    ``signing_seed``: 32 secret bytes. ``proven``: whether only contributors with a credential count.
    ``scope_of``: the scope of a release's tag, or PeerError. ``least_count``: smaller counts are answered
    as 0.
    """

    store: PhiStore
    signing_seed: bytes
    thresholds: Thresholds = field(default_factory=Thresholds)
    proven: bool = False
    scope_of: Callable[[Release], bytes] = lambda _: b""
    least_count: int = 0

    def people(self, record: bytes, today: int) -> int:
        """The people to answer: between threshold and cap."""
        points = decode_query(record).points
        count = self.store.count(points, self.thresholds, today, enough=CAP, proven=self.proven)
        return min(count, CAP) if count >= self.least_count else 0

    def sign_answer(self, record: bytes, people: int | None, today: int, state: bytes = NO_STATE) -> bytes:
        """Sign an answer over the state before a day; None says that there is none."""
        return wire.sign_answer(self.signing_seed, record, people, today, state)

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


def collector_for(store: PhiStore, signing_seed: bytes, terms: Terms, session: bytes) -> Collector:
    """A collector on a round's terms, for one group."""
    scoping, collector_key = terms.scoping, verify_key(signing_seed)

    def scope_of(release: Release) -> bytes:
        terms.require_bounds(release.points)
        if terms.registrar is None:
            return scoping.scope_of(release.points[0])
        if release.proof[:CHANNEL_BYTES] != session:
            raise PeerError("wrong-session", "a release that was signed for another group, or not at all")
        purpose = purpose_in(collector_key, terms, terms.registrar, scoping.area_of(release.points[0]))
        return require_contributor(release, purpose, bytes.fromhex(terms.registrar.key))

    return Collector(
        store,
        signing_seed,
        terms.thresholds,
        # nobody here has use for a smaller count than k, but accomplices with releases of their own have
        least_count=max(terms.least_count, terms.least_k),
        proven=terms.registrar is not None,
        scope_of=scope_of,
    )


class Mailbox:
    """Mailboxes, and the collector's answers."""

    def __init__(self, database: Database, signing_seed: bytes) -> None:
        self._db, self.groups, self._asked = database, Groups(database), AskedQuestions(database)
        self._days = ClosedDays(database)
        self._store, self._signing_seed = PhiStore(database, most_rows=MOST_ROWS), signing_seed

    def send(self, identity: bytes, body: bytes, now_s: float) -> int:
        """Store letters, all or none; return how many are new."""
        letters = [(self._address_of(identity, letter), letter) for letter in wire.unbundle(body)]
        with self._db.transaction():
            return sum(self._keep(*letter, now_s) for letter in letters)

    def _address_of(self, identity: bytes, letter: bytes) -> tuple[bytes, int, int, int, bytes]:
        session, sender, receiver, number = address(letter)
        place, members = self.groups.membership(identity, session)
        longest = self.groups.terms_of(session).letter_bytes
        if len(letter) > longest:  # else one member could fill the disk, and everybody's mailbox
            raise PeerError("bad-length", f"a letter of {len(letter)} bytes; at most {longest} in this round")
        if sender != place:
            raise PeerError("not-entitled", "a letter in another member's name")
        if receiver >= len(members) or receiver == sender:
            raise PeerError("unknown-member", "a letter to somebody who is not another member of this group")
        if number >= wire.LETTERS:
            raise PeerError("too-many", f"more than {wire.LETTERS} letters to one member")
        return session, sender, receiver, number, members[receiver]

    def _keep(self, address_parts: tuple[bytes, int, int, int, bytes], letter: bytes, now_s: float) -> bool:
        session, sender, receiver, number, owner = address_parts
        key = (session, sender, receiver, number)
        digest = wire.body_digest(letter)
        row = self._db.row(
            "SELECT digest FROM letter WHERE session = ? AND sender = ? AND receiver = ? AND number = ?", key
        )
        if row is None:
            waiting = self._db.rows(
                "SELECT COALESCE(SUM(LENGTH(body)), 0) FROM letter WHERE session = ? AND sender = ? AND "
                "receiver = ?",
                key[:3],
            )
            if int(waiting[0][0]) + len(letter) > _WAITING * self.groups.terms_of(session).letter_bytes:
                raise PeerError(
                    "too-many", "more letters wait for one member than a round has; try again later"
                )
            self._db.change(
                "INSERT INTO letter (session, sender, receiver, number, owner, body, digest, at_s) VALUES "
                "(?, ?, ?, ?, ?, ?, ?, ?)",
                (*key, owner, letter, digest, now_s),
            )
        elif bytes(row[0]) != digest:
            raise PeerError("duplicate", f"another letter number {number} between these two")
        return row is None

    def fetch(self, identity: bytes, after: int) -> bytes:
        """Letters after a number, each with its number and length; forget those before."""
        if self._db.row(
            "SELECT 1 FROM letter WHERE owner = ? AND id <= ? AND body IS NOT NULL LIMIT 1", (identity, after)
        ):
            with self._db.transaction():  # the row stays, so that the same letter does not come twice
                self._db.change(
                    "UPDATE letter SET body = NULL WHERE owner = ? AND id <= ? AND body IS NOT NULL",
                    (identity, after),
                )
        waiting = self._db.rows(
            "SELECT id, LENGTH(body) FROM letter WHERE owner = ? AND id > ? AND body IS NOT NULL ORDER BY "
            "id LIMIT 256",
            (identity, after),
        )
        parts: list[bytes] = []
        total = 0
        for number, size in waiting:
            total += wire.ROW_BYTES + size
            if total > BATCH_BYTES and parts:
                break
            letter = bytes(self._db.rows("SELECT body FROM letter WHERE id = ?", (number,))[0][0])
            parts += [number.to_bytes(8), len(letter).to_bytes(4), letter]
        return b"".join(parts)

    def ask(self, identity: bytes, session: bytes, body: bytes, now_s: float) -> bytes:
        """Answer a batch, in order and signed; a repeated one alike.

        PeerError without a majority's vouchers, or beyond its limits.
        """
        _, members = self.groups.membership(identity, session)
        batch, terms = wire.read_batch(session, members, body), self.groups.terms_of(session)
        records = batch.records
        for number, record in enumerate(records):
            try:
                points = decode_query(record).points
                terms.require_bounds(points)
            except PeerError as error:
                raise PeerError(error.kind, f"question {number} of {len(records)}: {error}") from error
            if len(points) > terms.longest:
                raise PeerError("out-of-range", f"a question of {len(points)} points; here {terms.longest}")
        collector = self._collector(session)
        day, people = self._asked.answer(
            identity, session, records, terms, batch.slices, now_s, collector.people
        )
        state = self._days.state_before(day) if terms.witnesses else NO_STATE
        return b"".join(
            collector.sign_answer(question, n, day, state)
            for question, n in zip(records, people, strict=True)
        )

    def deliver(self, identity: bytes, session: bytes, body: bytes, now_s: float) -> dict[str, Any]:
        """Store a group's releases once more than half has brought the same records.

        JSON: whether they are stored, how many members brought them, how many are needed, and the outcome
        of each.
        """
        _, members = self.groups.membership(identity, session)
        records, terms = wire.split_records(body), self.groups.terms_of(session)
        n_members, each = len(members), terms.release_records
        if len(records) > n_members * each:
            message = f"{len(records)} records of releases; {n_members} members have {each} each"
            raise PeerError("bad-length", message)
        n_releases = len(decode_releases(records)[0])
        if n_releases > n_members:
            raise PeerError("too-many", f"{n_releases} releases of {n_members} members; each has one")
        digest = wire.body_digest(body)
        agreeing = self._vouch(identity, session, digest)
        stored = 2 * agreeing > len(members)
        vouched = {"stored": stored, "vouched": agreeing, "needed": len(members) // 2 + 1}
        if not stored:
            return {**vouched, "receipts": {}}
        receipts, bad = self._collector(session).accept(records, int(now_s // wire.DAY_S))
        return {**vouched, "refused": bad, "receipts": receipts}

    def _vouch(self, identity: bytes, session: bytes, digest: bytes) -> int:
        with self._db.transaction():
            row = self._db.row(
                "SELECT digest FROM voucher WHERE session = ? AND identity = ?", (session, identity)
            )
            if row is None:
                self._db.change("INSERT INTO voucher VALUES (?, ?, ?)", (session, identity, digest))
            elif bytes(row[0]) != digest:
                raise PeerError("duplicate", "other releases of the same group from the same member")
            return len(
                self._db.rows("SELECT 1 FROM voucher WHERE session = ? AND digest = ?", (session, digest))
            )

    def _collector(self, session: bytes) -> Collector:
        return collector_for(self._store, self._signing_seed, self.groups.terms_of(session), session)

    def gauges(self) -> dict[str, float]:
        """Count releases."""
        return {"releases": self._store.n_records}
