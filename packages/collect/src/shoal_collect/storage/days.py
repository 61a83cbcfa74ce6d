"""Stored releases: in closed days, exported, fetched, withdrawn, expired.

The first reader of a later state closes a day, once. A count over the state before a day must not change
while that day's rounds use it, or an honest collector and its witness would contradict each other. So a
withdrawn release leaves exports and retrieval at once, counts from the next day on, and the database when no
round can still ask for a day before that.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from shoal_collect.crypto import merkle
from shoal_collect.faults import PeerError, refusing
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Release, decode_points
from shoal_collect.matching.similarity import PROVEN, SCOPE_SHIFT
from shoal_collect.roles.days import NO_STATE, ClosedDay, identifier_leaf, release_leaf
from shoal_collect.roles.wire import DAY_S
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

_ADDED, _GONE = 0, 1
MOST_DAYS: Final = 400  # in one reply
_LEAF: Final = (
    "SELECT record.name, contributor.tag, record.claim_key, record.points, record.id, "
    "record.identifier, record.proof FROM record JOIN contributor ON contributor.who = record.who "
    "WHERE record.day = ? ORDER BY record.id"
)


class ClosedDays:
    """Of a collector, or a witness's copy."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._closed_until = -1  # all days before this one are closed, as far as this process knows

    def state_before(self, day: int, *, close: bool = True) -> bytes:
        """The state before a day, all earlier days closed."""
        if close and day > self._closed_until:
            self._close_until(day)
            self._closed_until = day
        row = self._db.row("SELECT state FROM closed_day WHERE day < ? ORDER BY day DESC LIMIT 1", (day,))
        return NO_STATE if row is None else bytes(row[0])

    def _close_until(self, day: int) -> None:
        last = self._last()
        after = -1 if last is None else last.day
        rows = self._db.rows(
            "SELECT day FROM record WHERE day > ? AND day < ? UNION "
            "SELECT due - 1 FROM withdrawal WHERE due - 1 > ? AND due - 1 < ? ORDER BY 1",
            (after, day, after, day),
        )
        if not rows:
            return
        with self._db.transaction():
            for (number,) in rows:
                before = self._last()
                if before is not None and before.day >= number:
                    continue  # another process was first
                added = [_leaf_of(row) for row in self._db.rows(_LEAF, (number,))]
                gone = [
                    identifier_leaf(row[0])
                    for row in self._db.rows("SELECT identifier FROM withdrawal WHERE due = ?", (number + 1,))
                ]
                state = NO_STATE if before is None else before.state
                self._keep(ClosedDay.after(state, number, added, gone), added, gone)

    def _keep(self, closed: ClosedDay, added: list[bytes], gone: list[bytes]) -> None:
        row = (closed.day, closed.n, closed.added, closed.gone, closed.state)
        self._db.change("INSERT INTO closed_day VALUES (?, ?, ?, ?, ?)", row)
        for kind, leaves in ((_ADDED, added), (_GONE, gone)):
            for digest in leaves:
                self._db.change("INSERT INTO leaf VALUES (?, ?, ?)", (closed.day, kind, digest))

    def _last(self) -> ClosedDay | None:
        return next(iter(self._closed("ORDER BY day DESC LIMIT 1")), None)

    @property
    def last_day(self) -> int:
        """-1 before the first."""
        last = self._last()
        return -1 if last is None else last.day

    def of(self, day: int) -> ClosedDay:
        """A closed day; PeerError for one that is empty or open."""
        for closed in self._closed("WHERE day = ?", day):
            return closed
        raise PeerError("wrong-session", "a day that is not closed, or on which nothing was stored")

    def after(self, day: int) -> list[ClosedDay]:
        """At most MOST_DAYS after one, the oldest first."""
        return self._closed("WHERE day > ? ORDER BY day LIMIT ?", day, MOST_DAYS)

    def _closed(self, which: str, *values: int) -> list[ClosedDay]:
        rows = self._db.rows(f"SELECT day, n, added, gone, state FROM closed_day {which}", values)  # noqa: S608  (names of ours)
        return [ClosedDay(int(day), int(n), *map(bytes, digests)) for day, n, *digests in rows]

    def path_of(self, identifier: str) -> dict[str, Any] | None:
        """The path of a release in its day's tree; None while it is open.

        Of others it reveals only their number, and digests.
        """
        row = self._db.row(
            "SELECT record.name, contributor.tag, record.claim_key, record.points, record.day FROM record "
            "JOIN contributor ON contributor.who = record.who WHERE identifier = ?",
            (identifier,),
        )
        closed = None if row is None else self._db.row("SELECT 1 FROM closed_day WHERE day = ?", (row[4],))
        if row is None or closed is None:
            return None
        leaves = sorted(self._leaves(int(row[4]), _ADDED))
        at = leaves.index(_leaf_of(row))
        return {
            "name": row[0],
            "tag": row[1],
            "closed": self.of(int(row[4])),
            "at": at,
            "path": merkle.path(leaves, at),
        }

    def _leaves(self, day: int, kind: int) -> list[bytes]:
        rows = self._db.rows("SELECT digest FROM leaf WHERE day = ? AND kind = ?", (day, kind))
        return [bytes(row[0]) for row in rows]

    # what a witness takes over

    def batch(self, day: int) -> dict[str, Any]:
        """A whole closed day; deleted releases by their digest."""
        closed = self.of(day)
        scopes = {int(number): bytes(name) for number, name in self._db.rows("SELECT id, name FROM scope")}
        scope_of = {
            record: scopes.get((int(who) & ~PROVEN) >> SCOPE_SHIFT, b"")
            for record, who in self._db.rows("SELECT DISTINCT record, who FROM place WHERE day = ?", (day,))
        }
        stored_rows = list(self._db.rows(_LEAF, (day,)))
        deleted = set(self._leaves(day, _ADDED)) - set(map(_leaf_of, stored_rows))
        gone = self._db.rows("SELECT identifier FROM withdrawal WHERE due = ?", (day + 1,))
        return {
            "closed": closed,
            "releases": [
                {
                    "name": name,
                    "tag": tag,
                    "scope": scope_of.get(record, b""),
                    "claim_key": key,
                    "points": points,
                    "identifier": identifier,
                    "proof": proof or b"",
                }
                for name, tag, key, points, record, identifier, proof in stored_rows
            ],
            "deleted": sorted(deleted),
            "withdrawn": [row[0] for row in gone],
        }

    def take(
        self, day: int, document: Any, require: Callable[[Release, bytes], None] = lambda *_: None
    ) -> None:
        """Copy a closed day, once; PeerError unless it continues the copy.

        A release in the tree that is no longer stored does not count. ``require``: raises PeerError for a
        release that has no right to its scope.
        """
        with refusing("bad-frame", "words that do not describe a closed day's releases"):
            closed = ClosedDay.read(document["closed"])
            releases = [_read_release(entry) for entry in document["releases"]]
            gone = [str(identifier) for identifier in document["withdrawn"]]
            added = [entry[0] for entry in releases] + [bytes.fromhex(leaf) for leaf in document["deleted"]]
        leaves, store = list(map(identifier_leaf, gone)), PhiStore(self._db)
        with self._db.transaction():
            if closed in self.after(day - 1):
                return  # another thread or process was first
            last = self._last()
            state, after = (NO_STATE, -1) if last is None else (last.state, last.day)
            if day <= after or closed != ClosedDay.after(state, day, added, leaves):
                raise PeerError("bad-proof", f"the releases of day {day} are not those under its root")
            for _, release, scope, identifier in releases:
                require(release, scope)
                store.take_over(release, closed.day, scope, identifier)
            for identifier in gone:
                self._db.change(
                    "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "
                    "WHERE identifier = ? ON CONFLICT DO NOTHING",
                    (closed.day, closed.day + 1, identifier),
                )
            self._keep(closed, added, leaves)


def _leaf_of(row: Any) -> bytes:
    return release_leaf(*map(bytes, row[:4]))


def _read_release(document: Any) -> tuple[bytes, Release, bytes, str]:
    """Leaf, release, scope and identifier."""
    name, tag, key, points, proof = (
        bytes.fromhex(document[part]) for part in ("name", "tag", "claim_key", "points", "proof")
    )
    release = Release(name, tag, key, decode_points(points), proof)
    leaf = release_leaf(name, tag, key, points)
    return leaf, release, bytes.fromhex(document["scope"]), str(document["identifier"])


SETTLES_DAYS: Final = 2  # a session may begin on the last day that counts it, and ask a witness on the next


@dataclass(frozen=True)
class ReleaseRow:
    """Identifier, day since 1970, cylinders."""

    identifier: str
    day: int
    points: tuple[Cylinder, ...]


class StoredReleases:
    """In a collector's database."""

    def __init__(self, database: Database) -> None:
        self._db = self.database = database

    def all(self, *, day: int | None = None, identifiers: Collection[str] | None = None) -> list[ReleaseRow]:
        """Releases that are not withdrawn, of one day or with these identifiers."""
        rows = self._db.rows(
            "SELECT identifier, day, points FROM record WHERE NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier) ORDER BY id"
        )
        return [
            ReleaseRow(identifier, int(stored_on), decode_points(bytes(points)))
            for identifier, stored_on, points in rows
            if day in (None, stored_on) and (identifiers is None or identifier in identifiers)
        ]

    def terms(self) -> list[dict[str, Any]]:
        """The terms of all rounds that drew groups, the oldest first."""
        rows = self._db.rows(
            "SELECT terms FROM round WHERE phase IN ('grouped', 'over') GROUP BY terms ORDER BY MIN(id)"
        )
        return [dict(json.loads(row[0])) for row in rows]

    def questions(self) -> tuple[int, int]:
        """How many were asked, and to how many of them the answer was withheld."""
        n, withheld = self._db.rows("SELECT n, withheld FROM answers")[0]
        return int(n), int(withheld)

    def owned(self, identifier: str, claim_key: bytes) -> ReleaseRow:
        """A release for the holder of its key."""
        row = self._db.row(
            "SELECT day, points FROM record WHERE identifier = ? AND claim_key = ? AND NOT EXISTS "
            "(SELECT 1 FROM withdrawal WHERE withdrawal.identifier = record.identifier)",
            (identifier, claim_key),
        )
        if row is None:
            # the same message for one that never was, is gone, or has another key
            raise PeerError("not-entitled", "no release of this identifier is stored under this key")
        return ReleaseRow(identifier, int(row[0]), decode_points(bytes(row[1])))

    def withdraw(self, identifier: str, claim_key: bytes, today: int) -> tuple[int, int]:
        """Withdraw a release for the holder of its key.

        The day since 1970, and the first one on which it no longer counts.
        """
        with self._db.transaction():
            withdrawal = self._db.row(
                "SELECT day, due FROM withdrawal WHERE identifier = ? AND claim_key = ?",
                (identifier, claim_key),
            )
            if withdrawal is not None:
                return int(withdrawal[0]), int(withdrawal[1])
            self.owned(identifier, claim_key)
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record "
                "WHERE identifier = ?",
                (today, today + 1, identifier),
            )
            return today, today + 1

    def tidy(self, today: int, kept_days: int | None) -> int:
        """Withdraw releases after ``kept_days`` (None: never), delete those that no round can count.

        A round whose phases take days still asks about the day of its first question. Return how many.
        """
        outlived = -1 if kept_days is None else today - kept_days
        oldest = self._db.rows(
            "SELECT MIN(day) FROM asked WHERE session IN (SELECT session FROM ticket WHERE round IN "
            "(SELECT id FROM round WHERE deadline_s >= ?))",
            (today * DAY_S,),
        )[0][0]
        settled = min(today - SETTLES_DAYS, today if oldest is None else int(oldest))
        if not self._db.row(
            "SELECT 1 FROM record WHERE day <= ? UNION "
            "SELECT 1 FROM withdrawal WHERE record IS NOT NULL AND due <= ? LIMIT 1",
            (outlived, settled),
        ):
            return 0
        over = "(SELECT record FROM withdrawal WHERE record IS NOT NULL AND due <= ?)"
        with self._db.transaction():
            self._db.change(
                "INSERT INTO withdrawal SELECT identifier, claim_key, id, ?, ? FROM record WHERE day <= ? "
                "ON CONFLICT DO NOTHING",
                (today, today + 1, outlived),
            )
            self._db.change(f"DELETE FROM place WHERE record IN {over}", (settled,))  # noqa: S608  (names of ours)
            n_deleted = self._db.change(f"DELETE FROM record WHERE id IN {over}", (settled,))  # noqa: S608  (names of ours)
            settling = "UPDATE withdrawal SET record = NULL WHERE record IS NOT NULL AND due <= ?"
            self._db.change(settling, (settled,))
        return n_deleted
