"""Who is told to find a person's real questions among her fake ones: how often does she win?

    python lab/measure_decoys.py [--people 200] [--input traces.parquet] [--radius 500] [--seed 1]

The adversary knows which questions are one person's, links those that share a circle, knows the public
places, and has learned from other people's questions, for which it was told the truth. It looks at the number
of questions and points of each linked set, its times, gaps, lengths of steps, speeds, turns and extent, and
how public its circles are, each as its rank and its distance from the middle among the person's sets, and
names one question. ``guessing`` is the share of real ones among those that are not canaries. "before" is how
fakes were drawn until now: chains of public places at times of their own, pieced out differently. ``joined``
is the share of her own circles that a member of her group can join. ``counted`` is how often an honest
collector counts two people or more for a question about a real pair, and about a decoy's, when everybody's
trip is stored.
"""

import argparse
import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import shoal
from shoal.runtime.run import Run
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import MICRO, Blur, Cylinder, Point, distance_m
from shoal_collect.matching.records import Query, decode_query, encode_query
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.matching.subtrajectories import PublicPlaces, draw_subtrajectories, fake_trajectory
from shoal_collect.roles.participant import Participant, blur, choose_questions
from shoal_collect.roles.terms import Terms
from shoal_collect.simulation.experiment import Setting, _Submissions, trips_of

Question = tuple[tuple[Cylinder, ...], bool]  # its circles, and whether it is real
BEFORE = Terms(n_real=40, n_fake=10)


def town(people: int, source: str | None, seed: int) -> tuple[list[list[Point]], PublicPlaces]:
    """A trip of 3 to 6 points of each person, and the places that all other trips visit."""
    data = shoal.read(source or shoal.synthesize(n_subjects=people, days=4, seed=seed), snap=False)
    n = min(people, data.n_subjects)
    every = trips_of(data, n, max_gap_s=3 * 3600, n_points=6, fold_dates=False)
    chance = Chance(seed.to_bytes(32))
    trips, others = [], []
    for own in every:
        long = [number for number, trip in enumerate(own) if len(trip) >= 3]
        if long:
            chosen = long[chance.below(len(long))]
            trips.append(own[chosen])
            others += [trip for number, trip in enumerate(own) if number != chosen]
    return trips, places_of(others)


def places_of(trips: Sequence[Sequence[Point]]) -> PublicPlaces:
    """The cells of about a kilometer that people visit, with how often."""
    cells: dict[tuple[float, float], int] = {}
    for point in (point for trip in trips for point in trip):
        cell = (round(point.lat_deg, 2), round(point.lon_deg, 2))
        cells[cell] = cells.get(cell, 0) + 1
    times = [int(point.t_min) for trip in trips for point in trip]
    lat, lon = zip(*cells, strict=True)
    return PublicPlaces(
        lat_deg=tuple(lat),
        lon_deg=tuple(lon),
        weights=tuple(cells.values()),
        first_min=min(times) - 365 * 1440,
        last_min=max(times) + 1,
    )


def asked_now(member: Participant, prior: PublicPlaces, rules: Terms, chance: Chance) -> list[Question]:
    """As a device asks."""
    asked = choose_questions(member, blur(member, 0), prior, rules, chance)
    questions = [decode_query(record) for record in asked.records]
    return [(one.points, one.name in asked.places) for one in questions if one.name not in asked.canaries]


def asked_before(member: Participant, prior: PublicPlaces, rules: Terms, chance: Chance) -> list[Question]:
    """As a device asked until now."""
    points = blur(member, 0)
    records = [
        (tuple(points[place] for place in chosen), True)
        for chosen in draw_subtrajectories(len(points), rules.n_real, rules.longest, chance)
    ]
    canary = True
    while len(records) < rules.n_real + rules.n_fake:
        fake = fake_trajectory(prior, max(3, len(points)), [member.blur], chance, canary=canary)
        left = rules.n_real + rules.n_fake - len(records)
        records += [
            (tuple(fake[place] for place in chosen), False)
            for chosen in draw_subtrajectories(len(fake), left, rules.longest, chance)
        ]
        canary = False
    for one, _ in records:
        encode_query(Query(bytes(16), one))  # what could not be asked is no fake
    return records


def linked(questions: Sequence[Question]) -> list[list[int]]:
    """Sets of questions that hang together by equal circles."""
    owner: dict[Cylinder, int] = {}
    group = list(range(len(questions)))

    def top(one: int) -> int:
        while group[one] != one:
            one = group[one]
        return one

    for number, (points, _) in enumerate(questions):
        for point in points:
            group[top(number)] = top(owner.setdefault(point, number))
    sets: dict[int, list[int]] = {}
    for number in range(len(questions)):
        sets.setdefault(top(number), []).append(number)
    return list(sets.values())


def seen_in(points: Sequence[Cylinder], n_questions: int, prior: PublicPlaces) -> list[float]:
    """What an adversary sees of one linked set."""
    places = [(one.lat_udeg / MICRO, one.lon_udeg / MICRO) for one in points]
    gaps = [later.start_min - one.start_min for one, later in pairwise(points)] or [0]
    steps = [distance_m(*one, *later) for one, later in pairwise(places)] or [0.0]
    speeds = [step / (gap + 5) for step, gap in zip(steps, gaps, strict=True)]
    lat, lon = np.array(prior.lat_deg), np.array(prior.lon_deg)
    weight = np.array(prior.weights, dtype=float)
    near = []
    for (here_lat, here_lon), one in zip(places, points, strict=True):
        east = (lon - here_lon) * math.cos(math.radians(here_lat))
        away_m = np.hypot(lat - here_lat, east) * 111_195
        near.append((math.log(1e-3 + weight[away_m <= one.radius_m + 500].sum()), away_m.min()))
    density, nearest = np.array(near).T
    return [
        n_questions, len(points), points[0].start_min, points[-1].start_min, float(np.mean(gaps)),
        float(np.min(gaps)), float(np.std(gaps)), float(np.mean(steps)), float(np.max(steps)),
        float(np.mean(speeds)), float(np.max(speeds)), distance_m(*places[0], *places[-1]) / (sum(steps) + 1),
        float(density.mean()), float(density.min()), float(density.max()), float(density.std()),
        float(nearest.mean()), float(nearest.max()),
    ]  # fmt: skip


def ranks(columns: np.ndarray) -> np.ndarray:
    """The rank of each row in each column, from -0.5 to 0.5; equal ones share theirs."""
    below = (columns[None] < columns[:, None]).mean(axis=1)
    return np.asarray(below + (columns[None] == columns[:, None]).mean(axis=1) / 2 - 0.5)


def features_of(questions: Sequence[Question], prior: PublicPlaces) -> tuple[np.ndarray, np.ndarray]:
    """For each linked set: what is seen, in ranks and distances from the middle; the share of real ones."""
    sets = linked(questions)
    seen = np.array(
        [
            seen_in(sorted({p for number in own for p in questions[number][0]}), len(own), prior)
            for own in sets
        ]
    )
    off = np.abs(seen - np.median(seen, axis=0))
    real = np.array([np.mean([questions[number][1] for number in own]) for own in sets])
    return np.column_stack([ranks(seen), ranks(off)]), real


def wins(cases: Sequence[tuple[np.ndarray, np.ndarray]], rng: np.random.Generator) -> tuple[float, float]:
    """Win rate on people who were not learned from, in both directions, and its standard error."""
    order = rng.permutation(len(cases))
    half = len(cases) // 2
    won: list[float] = []
    for learn, ask in ((order[:half], order[half:]), (order[half:], order[:half])):
        x = np.concatenate([cases[one][0] for one in learn])
        y = np.concatenate([cases[one][1] for one in learn])
        theta = np.zeros(x.shape[1])
        for _ in range(500):  # logistic regression with a little shrinkage
            p = 1 / (1 + np.exp(-np.clip(x @ theta + math.log(y.mean() / (1 - y.mean())), -30, 30)))
            theta += 0.5 * (x.T @ (y - p) / len(y) * 4 - 0.01 * theta)
        for one in ask:
            score = cases[one][0] @ theta
            won.append(float(cases[one][1][score >= score.max() - 1e-12].mean()))
    return float(np.mean(won)), float(np.std(won) / math.sqrt(len(won)))


def joined(questions: Sequence[Question]) -> float:
    """Which share of her own circles a member of her group can join, by equal circles alone."""
    sets = [
        {point for number in own if questions[number][1] for point in questions[number][0]}
        for own in linked(questions)
    ]
    return max(map(len, sets)) / len(set[Cylinder]().union(*sets))


def counted(people: int, source: str | None, radius_m: int, seed: int, rules: Terms) -> list[dict[str, Any]]:
    """How often an honest collector counts somebody for real questions and for decoys, by theta."""
    (trips, prior), chance = town(people, source, seed), Chance(seed.to_bytes(32))
    members = [
        Participant(
            device_key=chance.take(64)[32:], points=trip,
            blur=Blur(radius_m=radius_m, gap_min=30), k=2,
        )
        for trip in trips
    ]  # fmt: skip
    stored = _Submissions()
    for number, member in enumerate(members):
        stored.add(number, [blur(member, 0)])
    asking = [number for number, member in enumerate(members) if len(blur(member, 0)) > 1][:150]
    asked = {number: asked_now(members[number], prior, rules, chance) for number in asking}
    found = []
    for theta_m, theta_min in ((1000, 60), (5000, 180)):
        setting = Setting(thresholds=Thresholds(theta_m=theta_m, theta_min=theta_min), by_people=True)
        told: dict[bool, list[bool]] = {True: [], False: []}
        for number, questions in asked.items():
            pairs = [(points, [(0, 1)]) for points, _ in questions]
            counts = stored.counts(number, pairs, setting, Run(threads=1))
            for (_, is_real), (people_there,) in zip(questions, counts, strict=True):
                told[is_real].append(people_there >= 2)
        shares = {
            name: round(float(np.mean(told[real])), 3) for name, real in (("real", True), ("decoys", False))
        }
        found.append({"theta_m": theta_m, "theta_min": theta_min, "stored": len(trips), **shares})
    return found


def measure(people: int, source: str | None, radius_m: int, seed: int, rules: Terms) -> dict[str, Any]:
    """Measure both ways of drawing fakes on the same trips."""
    (trips, prior), chance = town(people, source, seed), Chance(seed.to_bytes(32))
    found: dict[str, Any] = {"people": len(trips), "radius_m": radius_m}
    for name, ask, its_rules in (("before", asked_before, BEFORE), ("now", asked_now, rules)):
        cases, shares, real, whole = [], [], [], []
        for trip in trips:
            member = Participant(
                device_key=chance.take(64)[32:], points=trip,
                blur=Blur(radius_m=radius_m, gap_min=30), k=2,
            )  # fmt: skip
            if len(blur(member, 0)) < 2:
                continue  # one circle is no trip: a device refuses it
            questions = ask(member, prior, its_rules, chance)
            cases.append(features_of(questions, prior))
            shares.append(float(np.mean([is_real for _, is_real in questions])))
            real.append(sum(is_real for _, is_real in questions))
            whole.append(joined(questions))
        rate, error = wins(cases, np.random.default_rng(seed))
        guessing = float(np.mean(shares))
        found[name] = {
            "people": len(cases), "wins": round(rate, 3),
            "standard_error": round(error, 3), "guessing": round(guessing, 3),
            "times_guessing": round(rate / guessing, 3),
            "real_questions": round(float(np.mean(real)), 1), "joined": round(float(np.mean(whole)), 3),
        }  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--input", help="Movement data in place of a made-up city.")
    parser.add_argument("--radius", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", type=int, default=Terms().n_real)
    parser.add_argument("--fake", type=int, default=Terms().n_fake)
    parser.add_argument("--counted", action="store_true", help="What an honest collector counts instead.")
    given = parser.parse_args()
    rules = Terms(n_real=given.real, n_fake=given.fake)
    what = (given.people, given.input, given.radius, given.seed, rules)
    print(json.dumps(counted(*what) if given.counted else measure(*what), indent=2))


if __name__ == "__main__":
    main()
