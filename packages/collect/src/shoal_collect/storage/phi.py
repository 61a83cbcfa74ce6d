"""How many people share a sub-trajectory, by an index over time and place.

R*Tree in SQLite, GiST in PostgreSQL. A record is stored in one transaction. Places are boxes around points
of the sphere, so that poles and the antimeridian need no special case; every candidate is checked exactly.
"""

import math
import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from shoal.errors import ShoalError
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder
from shoal_collect.matching.records import Release, encode_points
from shoal_collect.matching.similarity import (
    PROVEN,
    SCOPE_SHIFT,
    Places,
    Thresholds,
    count_sharing,
    similarity_test,
)
from shoal_collect.storage.database import Database

_CONTRIBUTOR: Final = (1 << SCOPE_SHIFT) - 1
_SLACK_M: Final = 0.01  # doubles on the sphere, far above their error

_INSERT: Final = "INSERT INTO place VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERT_POSTGRES: Final = """
INSERT INTO place VALUES (
    int8range(?, ?, '[]'), box(point(?, ?), point(?, ?)), int8range(?, ?, '[]'), ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SELECT: Final = "SELECT record, position, who, start, gap, lat, lon, radius FROM place WHERE day < ? AND "
_NEAR: Final = (
    "t_max >= ? AND t_min <= ? AND x_max >= ? AND x_min <= ? AND y_max >= ? AND y_min <= ? "
    "AND z_max >= ? AND z_min <= ?"
)
_NEAR_POSTGRES: Final = (
    "span && int8range(?, ?, '[]') AND xy && box(point(?, ?), point(?, ?)) AND z && int8range(?, ?, '[]')"
)


class TooManyRowsError(ShoalError):
    """More rows than the store allows."""


class PhiStore(AbstractContextManager["PhiStore"]):
    """The collector's releases; a context manager.

    ``where``: an open database, a file, or None for memory; ``most_rows``: stored points that a count may
    read per point.
    """

    def __init__(
        self,
        where: Path | Database | None = None,
        draw_bytes: Callable[[int], bytes] = secrets.token_bytes,
        *,
        most_rows: int | None = None,
    ) -> None:
        self._draw_bytes, self._most_rows = draw_bytes, most_rows
        self.database = where if isinstance(where, Database) else Database(where)

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def add(self, release: Release, day: int, scope: bytes = b"") -> str:
        """Store a release; a repeated one keeps its identifier.

        The tag counts within ``scope``, empty for lasting ones. PeerError if the name is taken, or the owner
        took the release back and it is deleted: members of her group still hold it.
        """
        with self.database.transaction():
            taken_back = "SELECT 1 FROM withdrawal WHERE claim_key = ? AND record IS NULL"
            if self.database.row(taken_back, (release.claim_key,)):
                raise PeerError("too-late", "a release that was taken back, or has outlived its time")
            return self._add(release, day, scope)

    def take_over(self, release: Release, day: int, scope: bytes, identifier: str) -> None:
        """Store another collector's release, inside a transaction."""
        self._add(release, day, scope, identifier)

    def _add(self, release: Release, day: int, scope: bytes, identifier: str | None = None) -> str:
        if not self._is_stored(release):
            who = self._who(release.contributor) | self._scope(scope) << SCOPE_SHIFT
            who |= PROVEN if release.proof else 0
            self._insert(release, who, day, identifier or self._draw_bytes(16).hex())
        return str(self.identifier(release.name))

    def _is_stored(self, release: Release) -> bool:
        stored_row = self.database.row("SELECT claim_key, points FROM record WHERE name = ?", (release.name,))
        if stored_row is not None and stored_row != (release.claim_key, encode_points(release.points)):
            raise PeerError("duplicate", "a release with the name of another one")
        return stored_row is not None

    def _insert(self, release: Release, who: int, day: int, identifier: str) -> None:
        db = self.database
        points = encode_points(release.points)
        row = (release.name, who & _CONTRIBUTOR, day, release.claim_key, points, identifier, release.proof)
        ((record,),) = db.rows(
            "INSERT INTO record (name, who, day, claim_key, points, identifier, proof) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
            row,
        )
        for position, point in enumerate(release.points):
            box = self._box(point, float(point.radius_m), 0.0)
            insert = _INSERT_POSTGRES if db.postgres else _INSERT
            db.change(insert, (*box, record, position, who, day, *point.row))

    def _who(self, tag: bytes) -> int:
        self.database.change("INSERT INTO contributor (tag) VALUES (?) ON CONFLICT DO NOTHING", (tag,))
        return int(self.database.rows("SELECT who FROM contributor WHERE tag = ?", (tag,))[0][0])

    def _scope(self, name: bytes) -> int:
        if not name:
            return 0
        self.database.change("INSERT INTO scope (name) VALUES (?) ON CONFLICT DO NOTHING", (name,))
        return int(self.database.rows("SELECT id FROM scope WHERE name = ?", (name,))[0][0])

    def count(
        self,
        points: Sequence[Cylinder],
        thresholds: Thresholds,
        before_day: int,
        *,
        enough: int | None = None,
        proven: bool = False,
    ) -> int:
        """Count the people who share a query, from records stored before ``before_day`` (days since 1970).

        ``enough``: a count of at least this many people need not be complete. ``proven``: whether to count
        only contributors with a credential. TooManyRowsError if more is stored near a point than a count may
        read, unless ``enough`` people are in what it has read.
        """
        gone, least = self._gone(before_day), PROVEN if proven else 0
        near_box = _SELECT + (_NEAR_POSTGRES if self.database.postgres else _NEAR)
        bound = "" if self._most_rows is None else f" LIMIT {self._most_rows + 1}"
        matches, complete = list[Places](), True
        for point in points:
            box = self._box(point, point.radius_m + thresholds.theta_m, thresholds.theta_min)
            near = self.database.rows(near_box + bound, (before_day, *box))
            complete = complete and (self._most_rows is None or len(near) <= self._most_rows)
            places, is_similar = Places(), similarity_test(point, thresholds)
            for record, position, who, *stored in near[: self._most_rows]:
                counts = who >= least and record not in gone
                counts = counts and (not matches or (record, who) in matches[-1])
                if counts and is_similar(*stored):
                    places.setdefault((record, who), []).append(position)
            matches.append(places)
            if not places:  # nobody shares the whole, whatever is near the other points
                break
        count = count_sharing(matches)
        if not complete and (enough is None or count < enough):
            raise TooManyRowsError(f"more than {self._most_rows} rows")
        return count

    def _box(self, point: Cylinder, space_m: float, time_min: float) -> tuple[float, ...]:
        """A range of time and a box on the sphere; PostgreSQL takes x and y together, and whole ranges."""
        box = _box(point, space_m, time_min)
        return _for_postgres(box) if self.database.postgres else box

    def _gone(self, before_day: int) -> frozenset[int]:
        rows = self.database.rows(
            "SELECT record FROM withdrawal WHERE record IS NOT NULL AND due <= ?", (before_day,)
        )
        return frozenset(row[0] for row in rows)

    def identifier(self, name: bytes) -> str | None:
        """A release's identifier, if it is stored."""
        row = self.database.row("SELECT identifier FROM record WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    @property
    def n_records(self) -> int:
        """Releases."""
        return int(self.database.rows("SELECT COUNT(*) FROM record")[0][0])


def _box(point: Cylinder, space_m: float, time_min: float) -> tuple[float, ...]:
    """In time, and around the point of the sphere (chords are never longer than great circles)."""
    lat, lon = math.radians(point.lat_udeg / MICRO), math.radians(point.lon_udeg / MICRO)
    half_side_m = space_m + _SLACK_M
    on_sphere = (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat))
    sides = [EARTH_M * part + sign * half_side_m for part in on_sphere for sign in (-1, 1)]
    return (point.start_min - time_min, point.end_min + time_min, *sides)


def _for_postgres(box: tuple[float, ...]) -> tuple[float, ...]:
    """Minutes and meters of z are rounded outward, and x and y become a box."""
    t_min, t_max, x_min, x_max, y_min, y_max, z_min, z_max = box
    times, heights = (math.floor(t_min), math.ceil(t_max)), (math.floor(z_min), math.ceil(z_max))
    return (*times, x_min, y_min, x_max, y_max, *heights)
