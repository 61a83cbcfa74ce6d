"""Questions of groups: each answered once, from one day's state, with a limit per area and day.

Answers about one place add up. So a session asks exactly the agreed questions, all answered from the state
of the first. Beyond the limit the answer is zero people, which never makes a crowd look larger than it is.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder
from shoal_collect.matching.records import decode_query
from shoal_collect.matching.similarity import CAP
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import questions_digest, snapshot_day
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import TooManyRowsError

PERIOD_DAYS: Final = 30
MOST_ROWS: Final = 20_000  # stored points near a point of a question; more are not counted
MOST_S: Final = 10.0  # for a batch; what is not counted by then is answered as nobody
_DAY_MIN: Final = 1440
_BATCHES: Final = 2  # of one member: her own, and that of a member for whom she stands in


class AskedQuestions:
    """All sessions' batches. ``elapsed_s``: a monotonic clock."""

    def __init__(self, database: Database, elapsed_s: Callable[[], float] = time.monotonic) -> None:
        self._db, self._elapsed_s = database, elapsed_s

    def answer(
        self,
        identity: bytes,
        session: bytes,
        records: Sequence[bytes],
        terms: Terms,
        slices: Sequence[bytes],
        now_s: float,
        people: Callable[[bytes, int], int],
    ) -> tuple[int, list[int]]:
        """Answer one batch; a repeated batch gets the same answers at no cost.

        ``identity``, ``session``: the member and her group. ``records``: the validated questions. ``terms``:
        the terms of the group's round. ``slices``: the digest of each batch that the group vouched for.
        ``now_s``: the time, in seconds since 1970. ``people``: counts a record over the state before a day.
        Returns the day since 1970 before which everything was counted. Returns the answers. PeerError if
        their number is wrong, or the session may not ask them any more.
        """
        batch = questions_digest(b"".join(records))
        noted = self.find_batch(session, batch)
        if noted is None:
            day = self._begin(identity, session, batch, len(records), terms, slices, now_s)
        else:
            day = noted[0]
        withheld = noted[1] if noted is not None else None
        if withheld is not None:
            return day, repeat_answers(records, withheld, lambda record: people(record, day))
        counts, until_s = list[int | None](), self._elapsed_s() + MOST_S
        for record in records:
            try:
                counts.append(people(record, day) if self._elapsed_s() < until_s else None)
            except TooManyRowsError:
                counts.append(None)
        withheld = self._charge(session, batch, day, records, counts, terms)
        return day, [0 if n is None or mark else n for n, mark in zip(counts, withheld, strict=True)]

    def find_batch(self, session: bytes, batch: bytes) -> tuple[int, bytes | None] | None:
        """A batch's day and its withheld answers, if not new."""
        row = self._db.row(
            "SELECT day, withheld FROM asked WHERE session = ? AND batch = ?", (session, batch)
        )
        return None if row is None else (int(row[0]), None if row[1] is None else bytes(row[1]))

    def _begin(
        self,
        identity: bytes,
        session: bytes,
        batch: bytes,
        n: int,
        terms: Terms,
        slices: Sequence[bytes],
        now_s: float,
    ) -> int:
        if n != terms.n_questions:
            raise PeerError("bad-length", f"{n} questions; each member brings exactly {terms.n_questions}")
        with self._db.transaction():
            rows = self._db.rows("SELECT batch, identity, day FROM asked WHERE session = ?", (session,))
            day = int(rows[0][2]) if rows else snapshot_day(now_s)
            if any(bytes(row[0]) == batch for row in rows):
                return day
            if any(bytes(row[0]) not in slices for row in rows):
                raise PeerError("duplicate", "a second set of questions of one group; it asks one set, once")
            n_batches = sum(bytes(row[1]) == identity for row in rows)
            if len(rows) >= len(slices) or n_batches >= _BATCHES:
                raise PeerError("too-many", "this group has asked its questions; take part in another round")
            self._db.change("INSERT INTO asked VALUES (?, ?, ?, ?, NULL)", (session, batch, identity, day))
        return day

    def _charge(
        self,
        session: bytes,
        batch: bytes,
        day: int,
        records: Sequence[bytes],
        counts: Sequence[int | None],
        terms: Terms,
    ) -> bytes:
        """Withheld answers are recorded with the charge; an answer of CAP reveals nothing and is free."""
        areas = [
            areas_of(decode_query(record).points, terms) if n is not None and n < CAP else set[str]()
            for record, n in zip(records, counts, strict=True)
        ]
        period, marks = day // PERIOD_DAYS, bytearray(len(records))
        with self._db.transaction():
            entry = self.find_batch(session, batch)
            if entry is not None and entry[1] is not None:
                return entry[1]
            spent = dict.fromkeys(sorted(set[str]().union(*areas)), 0)
            several = ", ".join("?" * len(spent)) or "''"
            for area, n in self._db.rows(
                f"SELECT name, n FROM area WHERE period = ? AND name IN ({several})",  # noqa: S608
                (period, *spent),
            ):
                spent[area] = int(n)
            before = dict(spent)
            for place, touched in enumerate(areas):
                if counts[place] is None or any(spent[area] >= terms.area_questions for area in touched):
                    marks[place] = 1
                else:
                    for area in touched:
                        spent[area] += 1
            self._db.change_all(
                "INSERT INTO area VALUES (?, ?, ?) ON CONFLICT (name, period) DO UPDATE SET n = excluded.n",
                [(area, period, n) for area, n in spent.items() if n != before[area]],
            )
            self._db.change(
                "UPDATE asked SET withheld = ? WHERE session = ? AND batch = ?",
                (bytes(marks), session, batch),
            )
        return bytes(marks)


def batches_asked(database: Database, session: bytes) -> list[dict[str, Any]]:
    """The batches of a session, for a witness."""
    rows = database.rows("SELECT batch, identity, day, withheld FROM asked WHERE session = ?", (session,))
    return [
        {
            "batch": bytes(batch).hex(),
            "identity": bytes(who).hex(),
            "day": day,
            "withheld": None if withheld is None else bytes(withheld).hex(),
        }
        for batch, who, day, withheld in rows
    ]


def repeat_answers(records: Sequence[bytes], withheld: bytes, people: Callable[[bytes], int]) -> list[int]:
    """Count again, with zero where an answer was withheld."""
    return [0 if mark else people(record) for record, mark in zip(records, withheld, strict=True)]


def areas_of(points: Sequence[Cylinder], terms: Terms) -> set[str]:
    """Areas and days that an answer may reveal: within reach of one of its points.

    An area is twice as wide as the longest reach (radius and theta), and its day at least 24 hours.
    """
    wide_m = 2 * (terms.theta_m + terms.most_radius_m)
    long_min = max(_DAY_MIN, 2 * (terms.theta_min + terms.most_gap_min))
    areas: set[str] = set()
    for point in points:
        reach_m = point.radius_m + terms.theta_m
        for row, column in _cells(point.lat_udeg / MICRO, point.lon_udeg / MICRO, reach_m, wide_m):
            for minute in (point.start_min - terms.theta_min, point.end_min + terms.theta_min):
                areas.add(f"{wide_m:.0f} {row} {column} {long_min:.0f} {math.floor(minute / long_min)}")
    return areas


def _cells(lat_deg: float, lon_deg: float, reach_m: float, wide_m: float) -> set[tuple[int, int]]:
    """The box may be no wider than one cell."""
    degree_m = math.radians(1) * EARTH_M
    height = wide_m / degree_m
    aside = min(180.0, reach_m / degree_m / max(1e-9, math.cos(math.radians(min(90.0, abs(lat_deg))))))
    cells: set[tuple[int, int]] = set()
    for lat in (lat_deg - reach_m / degree_m, lat_deg, lat_deg + reach_m / degree_m):
        row = math.floor(min(max(lat, -90.0), 90.0) / height)
        narrowest = min(90.0, max(abs(row), abs(row + 1)) * height)
        columns = max(1, math.floor(360 * math.cos(math.radians(narrowest)) / height))
        for lon in (lon_deg - aside, lon_deg, lon_deg + aside):
            cells.add((row, math.floor(((lon + 180) % 360) / 360 * columns)))
    return cells
