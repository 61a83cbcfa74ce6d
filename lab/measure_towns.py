"""Answers that a town's people do not get when all of them take part on one day.

    python lab/measure_towns.py --people 40 100 300 1000

People make trips of one day between the public places of a town of 10 km. A fifth of them have shared theirs.
All ask in groups of four, with the decoys of their own devices, on the default terms: the questions reach the
real collector, without network and mix. Printed as JSON by number of people: questions, answers that were
withheld, and how many of the asking people heard of nobody at all.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "packages/collect/tests/helpers"))

from red_team_oracle import TODAY, Strangers, moved
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import MICRO, Blur, Point
from shoal_collect.matching.records import Release
from shoal_collect.matching.subtrajectories import PublicPlaces
from shoal_collect.roles.participant import Participant, blur, choose_questions
from shoal_collect.roles.terms import Terms
from shoal_collect.storage.database import Database
from shoal_collect.storage.phi import PhiStore

CENTER, TOWN_M, N_PLACES, N_POINTS = (39.9, 116.3), 10_000, 100, 6
MORNING_MIN = (TODAY - 1) * 1440 + 360


def town(chance: Chance) -> PublicPlaces:
    """Public places, some of them much busier than others."""
    places = [moved(*CENTER, *(TOWN_M * (chance.unit() - 0.5) for _ in range(2))) for _ in range(N_PLACES)]
    weights = [1 + 1000 // (place + 1) for place in range(N_PLACES)]
    lat_deg, lon_deg = ([one[axis] / MICRO for one in places] for axis in range(2))
    return PublicPlaces(
        lat_deg=tuple(lat_deg),
        lon_deg=tuple(lon_deg),
        weights=tuple(weights),
        first_min=MORNING_MIN - 365 * 1440,
        last_min=MORNING_MIN + 1440,
    )


def trip(prior: PublicPlaces, chance: Chance) -> list[Point]:
    """From place to place, half an hour to two hours each."""
    minute, points = MORNING_MIN + 480.0 * chance.unit(), list[Point]()
    for _ in range(N_POINTS):
        place = chance.weighted(prior.weights)
        away_m, toward = 500 * math.sqrt(chance.unit()), 2 * math.pi * chance.unit()
        lat, lon = moved(
            prior.lat_deg[place], prior.lon_deg[place], away_m * math.cos(toward), away_m * math.sin(toward)
        )
        points.append(Point(lat / MICRO, lon / MICRO, minute))
        minute += 30 + 90 * chance.unit()
    return points


def measure(n_people: int, terms: Terms, chance: Chance) -> dict[str, float]:
    """One day of a town."""
    prior = town(chance)
    with Database() as database:
        store, groups = PhiStore(database), Strangers(database, terms, chance)
        members = [
            Participant(
                device_key=chance.seed(), points=trip(prior, chance),
                blur=Blur(radius_m=500, gap_min=30), k=3,
            )
            for _ in range(n_people)
        ]  # fmt: skip
        for member in members[: n_people // 5]:
            store.add(Release(chance.take(16), chance.take(16), bytes(32), blur(member, 0)), TODAY - 1)
        alone = 0
        for first in range(0, n_people, terms.group_size):
            asked = [
                choose_questions(member, blur(member, 0), prior, terms, chance)
                for member in members[first : first + terms.group_size]
            ]
            answers = groups.ask([record for one in asked for record in one.records])
            alone += sum(not any(answers[record] for record in one.records) for one in asked)
        marks = b"".join(bytes(row[0]) for row in database.rows("SELECT withheld FROM asked"))
    return {"questions": len(marks), "withheld": sum(marks), "withheld_share": sum(marks) / len(marks),
            "people_alone": alone}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if any answer was withheld."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[40, 100, 300, 1000])
    rows = {n: measure(n, Terms(), Chance(n.to_bytes(32))) for n in parser.parse_args(arguments).people}
    print(json.dumps(rows, indent=2))
    return int(any(row["withheld"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
