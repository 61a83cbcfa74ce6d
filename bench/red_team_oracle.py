"""Reading one stored circle from the answers to questions, as strangers with free identities would.

They form groups of their own and move the circle of a question east, west, north and south until the count
falls: the middle of these places is the center of what is stored. A count of one person is hidden by a
threshold, so the second attack brings people of its own (decoys) who lift it. The first row has no limits, as
the service had none; the last has the defaults. It ends with code 1 when the defaults let strangers see
anything, or let decoys come closer than the middle of a cell does.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from shoal.collect.crypto.chance import Chance
from shoal.collect.faults import PeerError
from shoal.collect.matching.cylinders import MAX_GAP_MIN, MAX_RADIUS_M, MICRO, Cylinder, distance_m
from shoal.collect.matching.records import Query, Release, encode_query
from shoal.collect.roles.collector import ANSWER_BYTES
from shoal.collect.roles.terms import Terms
from shoal.collect.roles.wire import DAY_S
from shoal.collect.server.mailbox import Mailbox
from shoal.collect.storage.database import Database
from shoal.collect.storage.phi import PhiStore

SIZES = {"group_size": 3, "n_real": 19, "n_fake": 1, "longest": 2}
NO_LIMITS = Terms(
    **SIZES,
    least_radius_m=1,
    most_radius_m=MAX_RADIUS_M,
    least_gap_min=1,
    most_gap_min=MAX_GAP_MIN,
    least_count=1,
    resolution_m=0,
    resolution_min=0,
    area_questions=10**9,
)
SETTINGS = {
    "no limits": (NO_LIMITS, 0),
    "threshold": (NO_LIMITS.model_copy(update={"least_count": 2}), 0),
    "threshold, decoys": (NO_LIMITS.model_copy(update={"least_count": 2}), 2),
    "defaults": (Terms(**SIZES), 0),
    "defaults, decoys": (Terms(**SIZES), 2),
}
TODAY = 20_000
NOON_MIN = (TODAY - 3) * 1440 + 720
PROBE_M, WIDE_M = 100, 2_000
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass
class Strangers:
    """Sessions of free identities, each of which is answered once."""

    database: Database
    terms: Terms
    chance: Chance
    now_s: float = TODAY * DAY_S + 1000.0
    n_questions: int = 0
    _open: list[tuple[bytes, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._mailbox = Mailbox(self.database, bytes(32), quota=10**9)

    def counts(self, queries: Sequence[tuple[Cylinder, ...]]) -> list[int]:
        """Ask these questions; what is left of a batch asks the last one again."""
        counts: list[int] = []
        size = self.terms.n_questions
        for first in range(0, len(queries), size):
            part = list(queries[first : first + size])
            filled = part + [part[-1]] * (size - len(part))
            records = [encode_query(Query(self.chance.take(16), points)) for points in filled]
            identity, session = self._member()
            said = self._mailbox.ask(identity, session, b"".join(records), self.now_s)
            self.n_questions += size
            counts += [int.from_bytes(said[ANSWER_BYTES * at + 32 :][:2]) for at in range(len(part))]
        return counts

    def _member(self) -> tuple[bytes, bytes]:
        """Somebody who has not asked yet; a new group when nobody is left."""
        if not self._open:
            name, session = self.chance.take(32), self.chance.take(32)
            self.database.change(
                "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)",
                (name, self.terms.model_dump_json(), 1e12),
            )
            number = self.database.rows("SELECT id FROM round WHERE name = ?", (name,))[0][0]
            for place in range(3):
                who = self.chance.take(32)
                self.database.change(
                    "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES (?, ?, ?, "
                    "0, ?, ?)",
                    (number, who, b"", session, place),
                )
                self._open.append((who, session))
        return self._open.pop()


def moved(lat: float, lon: float, east_m: float, north_m: float) -> tuple[int, int]:
    """A place so many meters away, in micro-degrees."""
    degree_m = 111_194.9
    return (
        round((lat + north_m / degree_m) * MICRO),
        round((lon + east_m / degree_m / math.cos(math.radians(lat))) * MICRO),
    )


def question(lat: float, lon: float, east_m: float, north_m: float) -> tuple[Cylinder, ...]:
    """A probe at noon, and a wide circle for whatever the victim did two hours later."""
    first = Cylinder(NOON_MIN, 30, *moved(lat, lon, east_m, north_m), PROBE_M)
    return first, Cylinder(NOON_MIN + 120, 30, *moved(lat, lon, 0, 0), WIDE_M)


def attack(terms: Terms, decoys: int, chance: Chance, most_questions: int) -> tuple[float | None, int]:
    """How far from the center the attack ends, in meters (None when it sees nothing), and its questions."""
    lat, lon = 39.9 + 0.1 * chance.unit(), 116.3 + 0.1 * chance.unit()
    with Database() as database:
        store = PhiStore(database)
        first = moved(lat, lon, 1200 * (chance.unit() - 0.5), 1200 * (chance.unit() - 0.5))
        victim = (
            Cylinder(NOON_MIN, 30, *first, 500),
            Cylinder(NOON_MIN + 120, 30, *moved(lat, lon, 0, 0), 500),
        )
        store.add(Release(chance.take(16), chance.take(16), bytes(32), victim), TODAY - 2)
        wide = tuple(Cylinder(NOON_MIN + t, 30, *moved(lat, lon, 0, 0), WIDE_M) for t in (0, 120))
        for _ in range(decoys):
            store.add(Release(chance.take(16), chance.take(16), bytes(32), wide), TODAY - 2)
        strangers = Strangers(database, terms, chance)
        here, nowhere = strangers.counts([question(lat, lon, 0, 0), question(lat, lon, 2_900, 2_900)])
        if here <= nowhere:
            return None, strangers.n_questions
        within, beyond = [0.0] * 4, [3_000.0] * 4
        each = terms.n_questions // 4
        while (
            strangers.n_questions < most_questions
            and max(b - w for w, b in zip(within, beyond, strict=True)) > 0.05
        ):
            steps = [
                [w + (b - w) * (i + 1) / (each + 1) for i in range(each)]
                for w, b in zip(within, beyond, strict=True)
            ]
            asked = [
                question(lat, lon, x * m, y * m)
                for (x, y), row in zip(DIRECTIONS, steps, strict=True)
                for m in row
            ]
            try:
                said = strangers.counts(asked)
            except PeerError:
                break
            for at, row in enumerate(steps):
                seen = [m for i, m in enumerate(row) if said[at * each + i] >= here]
                within[at] = max([within[at], *seen])
                beyond[at] = min([beyond[at], *(m for m in row if m > within[at])])
        edges = [(w + b) / 2 for w, b in zip(within, beyond, strict=True)]
        found = moved(lat, lon, (edges[0] - edges[1]) / 2, (edges[2] - edges[3]) / 2)
        away = distance_m(*(one / MICRO for one in (*found, *first)))
        return away, strangers.n_questions


def measure(victims: int, most_questions: int) -> dict[str, dict[str, float]]:
    """For each setting: the share of victims of whom anything is seen, distances, questions."""
    rows: dict[str, dict[str, float]] = {}
    for name, (terms, decoys) in SETTINGS.items():
        ends = [
            attack(terms, decoys, Chance(number.to_bytes(32)), most_questions) for number in range(victims)
        ]
        away = sorted(one for one, _ in ends if one is not None)
        rows[name] = {"seen": len(away) / victims, "questions": max(n for _, n in ends)}
        if away:
            rows[name] |= {"median_m": round(statistics.median(away), 1), "nearest_m": round(away[0], 1)}
    return rows


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--victims", type=int, default=40)
    parser.add_argument("--questions", type=int, default=480)
    asked = parser.parse_args()
    rows = measure(asked.victims, asked.questions)
    print(json.dumps(rows, indent=2))
    resolution_m = Terms().resolution_m
    return int(
        rows["defaults"]["seen"] > 0 or rows["defaults, decoys"].get("median_m", 1e9) < resolution_m / 4
    )


if __name__ == "__main__":
    sys.exit(main())
