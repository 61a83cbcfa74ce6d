"""What accomplices learn of one stored circle by asking.

    python lab/red_team_oracle.py

Accomplices fill a group of their own in each period of tokens, and each asks as much as a member may. They
move a question's circle until the count falls, in four directions at once. "seen": the share of victims of
whom they see anything; "median_m": how far from the circle's center they end. In some settings they have
released wide circles of their own around the victim, so that she is never counted alone. Last, one of three
asks what her group did not mix. It ends with code 1 when strangers see anybody on the default terms, or three
accomplices with releases of their own where the least k is 5, or the median comes closer than the middle of a
cell does, or when a minority gets any answer.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from service_town import identity_of, vouched
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import MAX_GAP_MIN, MAX_RADIUS_M, MICRO, Cylinder, distance_m
from shoal_collect.matching.records import Query, Release, encode_query
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import ANSWER_BYTES, DAY_S, Batch, body_digest, count_withheld, vouch
from shoal_collect.server.mailbox import Mailbox
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

DEFAULTS = Terms(group_size=3)
NO_LIMITS = Terms(
    group_size=3,
    least_radius_m=1,
    most_radius_m=MAX_RADIUS_M,
    least_gap_min=1,
    most_gap_min=MAX_GAP_MIN,
    least_count=1,
    resolution_m=0,
    resolution_min=0,
)
SETTINGS = {
    "no limits": (NO_LIMITS, 0),
    "threshold": (NO_LIMITS.model_copy(update={"least_count": 2}), 0),
    "threshold, decoys": (NO_LIMITS.model_copy(update={"least_count": 2}), 2),
    "defaults": (DEFAULTS, 0),
    "defaults, decoys": (DEFAULTS, 2),
    "least k of 5, decoys": (DEFAULTS.model_copy(update={"least_k": 5}), 3),
}
MINORITY = "no limits, decoys, one of three"
TODAY = 20_000
NOON_MIN = (TODAY - 3) * 1440 + 720
PROBE_M, WIDE_M = 100, 2_000
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))


@dataclass
class Strangers:
    """Groups of new identities, each of which asks one set of questions that all its members vouch for."""

    database: Database
    terms: Terms
    chance: Chance
    now_s: float = TODAY * DAY_S + 1000.0
    mailbox: Mailbox = field(init=False)

    def __post_init__(self) -> None:
        self.mailbox = Mailbox(self.database, bytes(32))

    def counts(self, queries: Sequence[tuple[Cylinder, ...]]) -> list[int]:
        """Ask these questions in as many groups as they fill; what is left of one asks the last again."""
        counts: list[int] = []
        size = self.terms.group_size * self.terms.n_questions
        for first in range(0, len(queries), size):
            part = list(queries[first : first + size])
            filled = part + [part[-1]] * (size - len(part))
            records = [encode_query(Query(self.chance.take(16), points)) for points in filled]
            answers = self.ask(records)
            counts += [answers[record] or 0 for record in records[: len(part)]]
        return counts

    def ask(self, records: Sequence[bytes]) -> dict[bytes, int | None]:
        """What one new group hears, whose members bring a slice each."""
        session, seeds = self.group()
        slices = [b"".join(records[at :: len(seeds)]) for at in range(len(seeds))]
        answers: dict[bytes, int | None] = {}
        for place, one in enumerate(seeds):
            batch = vouched(session, dict(enumerate(seeds)), slices, place)
            said = self.mailbox.ask(identity_of(one), session, batch, self.now_s)
            for at, record in enumerate(records[place :: len(seeds)]):
                part = said[ANSWER_BYTES * at : ANSWER_BYTES * (at + 1)]
                answers[record] = None if count_withheld(part) else int.from_bytes(part[32:34])
        return answers

    def group(self) -> tuple[bytes, list[bytes]]:
        """A new group: its session, and what its members sign with."""
        name, session = self.chance.take(32), self.chance.take(32)
        self.database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, ?)",
            (name, self.terms.model_dump_json(), 1e12),
        )
        number = self.database.rows("SELECT id FROM round WHERE name = ?", (name,))[0][0]
        seeds = [self.chance.seed() for _ in range(self.terms.group_size)]
        for place, one in enumerate(seeds):
            self.database.change(
                "INSERT INTO ticket (round, identity, signed, dropped, session, place) VALUES (?, ?, ?, "
                "0, ?, ?)",
                (number, identity_of(one), b"", session, place),
            )
        return session, seeds


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


def attack(terms: Terms, decoys: int, chance: Chance, people: int, periods: int) -> float | None:
    """How far from the center the attack ends, in meters; None when it sees nothing."""
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
        accomplices = Strangers(database, terms, chance)
        within, beyond = [0.0] * 4, [3_000.0] * 4
        each = (people * terms.n_questions - 2) // 4
        for _ in range(periods):
            steps = [
                [w + (b - w) * (i + 1) / (each + 1) for i in range(each)]
                for w, b in zip(within, beyond, strict=True)
            ]
            probes = [
                question(lat, lon, x * m, y * m)
                for (x, y), row in zip(DIRECTIONS, steps, strict=True)
                for m in row
            ]
            here, nowhere, *said = accomplices.counts(
                [question(lat, lon, 0, 0), question(lat, lon, 2_900, 2_900), *probes]
            )
            if here <= nowhere:
                return None
            for at, row in enumerate(steps):
                seen = [m for i, m in enumerate(row) if said[at * each + i] >= here]
                within[at] = max([within[at], *seen])
                beyond[at] = min([beyond[at], *(m for m in row if m > within[at])])
        edges = [(w + b) / 2 for w, b in zip(within, beyond, strict=True)]
        found = moved(lat, lon, (edges[0] - edges[1]) / 2, (edges[2] - edges[3]) / 2)
        return distance_m(*(one / MICRO for one in (*found, *first)))


def measure(victims: int, people: int, periods: int) -> dict[str, dict[str, float]]:
    """For each setting: the share of victims of whom anything is seen, and distances."""
    rows: dict[str, dict[str, float]] = {}
    for name, (terms, decoys) in SETTINGS.items():
        ends = [
            attack(terms, decoys, Chance(number.to_bytes(32)), people, periods) for number in range(victims)
        ]
        away = sorted(one for one in ends if one is not None)
        rows[name] = {"seen": len(away) / victims}
        if away:
            rows[name] |= {"median_m": round(statistics.median(away), 1), "nearest_m": round(away[0], 1)}
    return rows


def minority(chance: Chance) -> dict[str, float]:
    """One of three who asks what her group did not mix, in every way that she has: how often she hears."""
    lat, lon = 39.9, 116.3
    with Database() as database:
        strangers = Strangers(database, NO_LIMITS, chance)
        points = question(lat, lon, 0, 0)
        for _ in range(3):
            release = Release(chance.take(16), chance.take(16), bytes(32), points)
            PhiStore(database).add(release, TODAY - 2)
        _, others = strangers.group()
        session, (own, *_) = strangers.group()
        records = [encode_query(Query(chance.take(16), points)) for _ in range(NO_LIMITS.n_questions)]
        slices = (b"".join(records), b"1", b"2")
        digests = tuple(map(body_digest, slices))
        alone = vouch(own, session, digests)
        tries = {
            "nobody vouches": {},
            "she alone": {0: alone},
            "her own voucher twice": {0: alone, 1: alone},
            "signed by herself for all": {place: vouch(own, session, digests) for place in range(3)},
            "those of another group": {
                place: vouch(one, session, digests) for place, one in enumerate(others)
            },
        }
        heard = 0
        for vouchers in tries.values():
            try:
                batch = Batch(slices[0], digests, vouchers).encode()
                strangers.mailbox.ask(identity_of(own), session, batch, strangers.now_s)
                heard += 1
            except PeerError:
                continue
    return {"tries": len(tries), "answered": heard}


def main() -> int:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--victims", type=int, default=40)
    parser.add_argument("--people", type=int, default=3, help="accomplices")
    parser.add_argument("--periods", type=int, default=3, help="periods of tokens, one round in each")
    asked = parser.parse_args()
    rows = measure(asked.victims, asked.people, asked.periods)
    rows[MINORITY] = minority(Chance(bytes(32)))
    print(json.dumps(rows, indent=2))
    return int(
        rows["defaults"]["seen"] > 0
        or (asked.people <= 3 and rows["least k of 5, decoys"]["seen"] > 0)
        or rows[MINORITY]["answered"] > 0
        or rows["defaults, decoys"].get("median_m", 1e9) < Terms().resolution_m / 4
    )


if __name__ == "__main__":
    sys.exit(main())
