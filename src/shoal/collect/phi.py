"""How many people share a sub-trajectory: counted over distinct contributors, in SQLite with an R*Tree over the points.

A record is stored in one transaction with its points, its index entries and its receipt. Places are indexed as boxes around points
of the sphere, so that poles and the antimeridian are places like any other; every candidate is then checked exactly.
"""

import math
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final

from shoal.collect.counting import NOBODY, Count, Places, combine
from shoal.collect.cylinders import EARTH_M, MICRO, Cylinder
from shoal.collect.faults import PeerError
from shoal.collect.records import Release, encode_points
from shoal.collect.similarity import Likeness, similar
from shoal.errors import InputError

_SLACK_M: Final = 0.01  # doubles on the sphere, far above their error

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS contributor (who INTEGER PRIMARY KEY, tag BLOB NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, who INTEGER NOT NULL, day INTEGER NOT NULL, expires INTEGER,
    claim_key BLOB NOT NULL, points BLOB NOT NULL, identifier TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE IF NOT EXISTS place USING rtree(
    id, t_min, t_max, x_min, x_max, y_min, y_max, z_min, z_max,
    +record, +position, +who, +day, +start, +gap, +lat, +lon, +radius);
PRAGMA user_version = 1;
"""
_INSERT: Final = "INSERT INTO place VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_NEAR: Final = """
SELECT record, position, who, start, gap, lat, lon, radius FROM place
WHERE t_min <= ? AND t_max >= ? AND x_min <= ? AND x_max >= ? AND y_min <= ? AND y_max >= ? AND z_min <= ? AND z_max >= ? AND day < ?
"""


class PhiStore:
    """The collector's database; one file, or memory. Use as a context manager."""

    def __init__(self, path: Path | None = None, draw_bytes: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._draw_bytes = draw_bytes
        try:
            self._db = sqlite3.connect(":memory:" if path is None else path, isolation_level=None, check_same_thread=False)
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} cannot be used as a database ({error}); name another file") from error
        with ExitStack() as undo:
            undo.callback(self._db.close)
            self._prepare(path)
            undo.pop_all()  # prepared: from here on the connection stays open until the store is left

    def _prepare(self, path: Path | None) -> None:
        """Make the tables of a new database; raises InputError for a file that is none, or is a newer one."""
        try:
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            if version == 0:
                self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} cannot be used as a database ({error}); name another file") from error
        if version > 1:
            raise InputError(f"{path} was written by a newer shoal (schema {version}); use that one")

    def __enter__(self) -> "PhiStore":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._db.close()

    def add(self, release: Release, day: int, *, bootstrap_days: int | None = None) -> str:
        """Store one release; its identifier, the same for the same release again. Raises PeerError when the name is another's.

        bootstrap_days: keep it for so many days as a record of nobody, which never counts as a person.
        """
        return self.add_all([release], day, bootstrap_days=bootstrap_days)[0]

    def add_all(self, releases: Iterable[Release], day: int, *, bootstrap_days: int | None = None) -> list[str]:
        """Store all of these or none."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            identifiers = [self._add(release, day, bootstrap_days) for release in releases]
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        return identifiers

    def _add(self, release: Release, day: int, bootstrap_days: int | None) -> str:
        points = encode_points(release.points)
        there = self._db.execute("SELECT identifier, claim_key, points FROM record WHERE name = ?", (release.name,)).fetchone()
        if there is not None:
            if (there[1], there[2]) != (release.claim_key, points):
                raise PeerError("duplicate", "a release with the name of another one")
            return str(there[0])
        who = NOBODY if bootstrap_days is not None else self._who(release.contributor)
        expires = None if bootstrap_days is None else day + bootstrap_days
        identifier = self._draw_bytes(16).hex()
        row = (release.name, who, day, expires, release.claim_key, points, identifier)
        record = self._db.execute(
            "INSERT INTO record (name, who, day, expires, claim_key, points, identifier) VALUES (?, ?, ?, ?, ?, ?, ?)", row
        ).lastrowid
        for position, point in enumerate(release.points):
            aux = (record, position, who, day, point.start_min, point.gap_min, point.lat_udeg, point.lon_udeg, point.radius_m)
            self._db.execute(_INSERT, (*_box(point, float(point.radius_m), 0.0), *aux))
        return identifier

    def _who(self, tag: bytes) -> int:
        self._db.execute("INSERT OR IGNORE INTO contributor (tag) VALUES (?)", (tag,))
        return int(self._db.execute("SELECT who FROM contributor WHERE tag = ?", (tag,)).fetchone()[0])

    def count(self, points: Sequence[Cylinder], likeness: Likeness, before_day: int, *, without: bytes | None = None) -> Count:
        """Phi of a query over everything stored before a day.

        without: the tag of a contributor who does not count, the asker herself.
        """
        left_out = self.number_of(without)
        found: list[Places] = []
        for point in points:
            found.append(self.similar_to(point, likeness, before_day, without=left_out, among=found[-1] if found else None))
            if not found[-1]:
                return Count(0, 0, 0)
        return combine(found)

    def number_of(self, tag: bytes | None) -> int | None:
        """The database's own number of a contributor, None for one it does not know."""
        row = None if tag is None else self._db.execute("SELECT who FROM contributor WHERE tag = ?", (tag,)).fetchone()
        return None if row is None else int(row[0])

    def similar_to(
        self, point: Cylinder, likeness: Likeness, before_day: int, *, without: int | None = None, among: Places | None = None
    ) -> Places:
        """All stored points that are similar to one; only of the records in ``among``, when given."""
        places: Places = {}
        for record, position, who, *stored in self._db.execute(_NEAR, (*_reach(point, likeness), before_day)):
            if who == without or (among is not None and (record, who) not in among):
                continue
            if similar(point, Cylinder(*stored), likeness):
                places.setdefault((record, who), []).append(position)
        return places

    def expire(self, day: int) -> int:
        """Forget the records of nobody whose time is over; how many there were."""
        self._db.execute("BEGIN IMMEDIATE")
        gone = [row[0] for row in self._db.execute("SELECT id FROM record WHERE expires <= ?", (day,))]
        for record in gone:
            self._db.execute("DELETE FROM place WHERE id IN (SELECT id FROM place WHERE record = ?)", (record,))
            self._db.execute("DELETE FROM record WHERE id = ?", (record,))
        self._db.execute("COMMIT")
        return len(gone)

    def claim_key(self, identifier: str) -> bytes | None:
        """The key that can claim a stored release."""
        row = self._db.execute("SELECT claim_key FROM record WHERE identifier = ?", (identifier,)).fetchone()
        return None if row is None else bytes(row[0])

    def identifier(self, name: bytes) -> str | None:
        """The identifier of the release with this name, which only its owner knows in advance."""
        row = self._db.execute("SELECT identifier FROM record WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    @property
    def n_records(self) -> int:
        """How many releases are stored."""
        return int(self._db.execute("SELECT COUNT(*) FROM record").fetchone()[0])


def _box(point: Cylinder, space_m: float, time_min: float) -> tuple[float, ...]:
    """Bounds in time, and around the point of the sphere (chords are never longer than great circles)."""
    lat, lon, reach = math.radians(point.lat_udeg / MICRO), math.radians(point.lon_udeg / MICRO), space_m + _SLACK_M
    on_sphere = (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
    sides = [EARTH_M * part + sign * reach for part in on_sphere for sign in (-1, 1)]
    return (point.start_min - time_min, point.end_min + time_min, *sides)


def _reach(point: Cylinder, likeness: Likeness) -> tuple[float, ...]:
    """The bounds of everything that can be similar, in the order of _NEAR: upper before lower."""
    box = _box(point, point.radius_m + likeness.theta_m, likeness.theta_min)
    return tuple(box[at] for pair in range(4) for at in (2 * pair + 1, 2 * pair))
