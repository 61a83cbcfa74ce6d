"""How much people would share (Romero-Tris and Megías 2018, Sec. 5).

Without cryptography, questions go straight to the stored data: the counts are the same, but the protocol's
cost is not measured.
"""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.run import Run
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.envelope import draw_secret
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Blur, Cylinder, Point, cylinder_as_printed
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.matching.subtrajectories import Places, Prior, draw_subtrajectories
from shoal_collect.matching.trimming import Reading, required_phi
from shoal_collect.roles.authority import Authority
from shoal_collect.roles.collector import Collector
from shoal_collect.roles.participant import Participant
from shoal_collect.roles.rules import Rules
from shoal_collect.simulation import similar_pairs as kernel
from shoal_collect.simulation.in_process import run_collection
from shoal_collect.simulation.similar_pairs import Cylinders
from shoal_collect.simulation.trips import Trips
from shoal_collect.storage.phi import PhiStore


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One configuration.

    ``bootstrap``: people who share all trips first. ``k``: the smallest crowd. ``by_people``: whether phi
    counts others; else sub-trajectories, as in the paper. ``reading``: whether k counts only others, or
    also the asker (phi >= 1 for k = 2). ``subtrajectories``: questions per trip.
    """

    bootstrap: int = 80
    thresholds: Thresholds = field(default_factory=Thresholds)
    k: int = 2
    by_people: bool = False
    reading: Reading = "self-included"
    subtrajectories: int = 50


@dataclass(frozen=True)
class Result:
    """Submissions of ``people``, bootstrappers apart.

    ``asked``, ``submitted``: sub-trajectories. ``users_with_one``, ``their_share``: people with a
    submission, and their average share. ``zeros``, ``phi_sum``: zero phi, and the sum.
    """

    people: int
    asked: int
    submitted: int
    users_with_one: int
    their_share: float
    zeros: int
    phi_sum: int

    def to_json(self) -> dict[str, Any]:
        """With shares as fractions."""
        return {
            "people": self.people,
            "subtrajectories_asked": self.asked,
            "subtrajectories_submitted": self.submitted,
            "share_submitted": self.submitted / max(self.asked, 1),
            "users_with_at_least_one": self.users_with_one,
            "their_average_share": self.their_share,
            "phi_share_of_zeros": self.zeros / max(self.asked, 1),
            "phi_mean_of_others": self.phi_sum / max(self.asked - self.zeros, 1),
        }


def simulate(people: Sequence[Trips], setting: Setting, chance: Chance, run: Run | None = None) -> Result:
    """Without cryptography (Sec. 5.1).

    Bootstrappers share all trips; the others share, in random order, the common parts. Radii up to 1 km and
    gaps up to 60 min are drawn for each point.
    """
    run = run or Run()
    _require_others(len(people), setting.bootstrap)
    order = chance.permutation(len(people))
    asked = submitted = zeros = phi_sum = 0
    shares: list[float] = []
    stored = _Submissions()
    for turn, person in enumerate(order):
        blurred = [_blur(trip, chance) for trip in people[person]]
        if turn < setting.bootstrap:
            stored.add(person, blurred)
            continue
        chosen = [draw_subtrajectories(len(points), setting.subtrajectories, 2, chance) for points in blurred]
        counts = stored.counts(person, list(zip(blurred, chosen, strict=True)), setting, run)
        mine = [
            (points[i], points[j], phi)
            for points, pairs, of in zip(blurred, chosen, counts, strict=True)
            for (i, j), phi in zip(pairs, of, strict=True)
        ]
        least = required_phi(setting.k, setting.reading)
        common = [(first, second) for first, second, phi in mine if phi >= least]
        stored.add(person, common)
        asked, submitted = asked + len(mine), submitted + len(common)
        zeros, phi_sum = zeros + sum(phi == 0 for *_, phi in mine), phi_sum + sum(phi for *_, phi in mine)
        if common:
            shares.append(len(common) / len(mine))
        run.progress("simulating", turn + 1, len(order))
    return Result(
        len(people) - setting.bootstrap,
        asked,
        submitted,
        len(shares),
        sum(shares) / max(len(shares), 1),
        zeros,
        phi_sum,
    )


class _Submissions:
    """Without an index: folded dates leave little to skip."""

    def __init__(self) -> None:
        self._points = _cylinders([])
        self._offsets, self._owners = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64)

    def add(self, person: int, records: Sequence[Sequence[Cylinder]]) -> None:
        added = _cylinders([point for record in records for point in record])
        self._points = Cylinders(
            *(np.concatenate(columns) for columns in zip(self._points, added, strict=True))
        )
        self._offsets = np.concatenate(
            [
                self._offsets,
                self._offsets[-1] + np.cumsum([len(record) for record in records], dtype=np.int64),
            ]
        )
        self._owners = np.concatenate([self._owners, np.full(len(records), person, dtype=np.int64)])

    def counts(
        self,
        person: int,
        asked: Sequence[tuple[Sequence[Cylinder], Sequence[Places]]],
        setting: Setting,
        run: Run,
    ) -> list[list[int]]:
        thresholds, without = setting.thresholds, person if setting.by_people else -1

        def count(trip: tuple[Sequence[Cylinder], Sequence[Places]]) -> list[int]:
            points, pairs = trip
            people, occurrences = np.empty((2, len(pairs)), dtype=np.int64)
            chosen = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            limits = kernel.Thresholds(
                float(thresholds.theta_m), float(thresholds.theta_min), thresholds.literal, EARTH_M
            )
            stored = kernel.StoredTrajectories(self._points, self._offsets, self._owners)
            kernel.count_pairs(_cylinders(points), chosen, stored, limits, without, people, occurrences)
            counts: list[int] = (people if setting.by_people else occurrences).tolist()
            return counts

        return list(run.map(count, asked))


def _cylinders(points: Sequence[Cylinder]) -> Cylinders:
    rows = [
        (point.start_min, point.end_min, point.lat_udeg, point.lon_udeg, point.radius_m) for point in points
    ]
    start, end, lat, lon, radius = np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 5).T)
    return Cylinders(start, end, np.radians(lat / MICRO), np.radians(lon / MICRO), radius)


def simulate_with_cryptography(
    people: Sequence[Trips], setting: Setting, chance: Chance, rules: Rules
) -> tuple[Result, dict[str, Any]]:
    """The whole protocol, with one trip of each person.

    Bootstrappers are volunteers; the others take part in one round. A sub-trajectory counts as submitted
    when all its points are released. Also returns facts about the round.
    """
    _require_others(len(people), setting.bootstrap)
    trips = [max(trips, key=len) for trips in people if trips]
    if len(trips) < setting.bootstrap + rules.group_size:
        raise MisuseError(
            f"{len(trips)} of {len(people)} participants have a trip of two points or more; "
            f"{setting.bootstrap} "
            f"bootstrappers and a group of {rules.group_size} need more: allow longer pauses, or take more "
            "participants"
        )
    order = chance.permutation(len(trips))
    with PhiStore(draw_bytes=chance.take) as store:
        for person in order[: setting.bootstrap]:
            store.add(_release(person, b"%016d" % person, _blur(trips[person], chance)), 0)
        participants = [
            Participant(
                user=str(person),
                signing_seed=chance.seed(),
                device_key=chance.seed(),
                points=trips[person],
                blur=Blur(radius_m=500, gap_min=30),
                k=setting.k,
                reading=setting.reading,
            )
            for person in order[setting.bootstrap :]
        ]
        collector = Collector(store, chance.seed(), setting.thresholds, by_occurrence=not setting.by_people)
        authority = Authority(draw_secret(chance), frozenset({collector.public_key}))
        began = time.process_time()
        outcome = run_collection(
            participants, [collector], authority, _prior(trips), chance, day=1, rules=rules
        )
        spent_s = time.process_time() - began
    shared = outcome.shared.values()
    counts = [
        (places, phi, set(places) <= set(participant.places_kept))
        for participant in shared
        for places, phi in participant.phi.items()
    ]
    shares = [
        sum(set(places) <= set(participant.places_kept) for places in participant.phi) / len(participant.phi)
        for participant in shared
        if participant.places_kept and participant.phi
    ]
    result = Result(
        len(shared),
        len(counts),
        sum(submitted for _, _, submitted in counts),
        len(shares),
        sum(shares) / max(len(shares), 1),
        sum(phi == 0 for _, phi, _ in counts),
        sum(phi for _, phi, _ in counts),
    )
    facts = {
        "without_a_trip": len(people) - len(trips),
        "groups_failed": len(outcome.failed),
        "waiting_for_a_group": len(outcome.waiting),
        "claims_at_the_authority": sum(participant.identifier is not None for participant in shared),
        "cpu_s_per_member": round(spent_s / max(len(shared), 1), 2),
    }
    return result, facts


def _require_others(n_people: int, bootstrap: int) -> None:
    if not 0 <= bootstrap < n_people:
        raise MisuseError(
            f"{bootstrap} bootstrappers among {n_people} participants leave nobody to simulate; choose fewer"
        )


def _blur(trip: Sequence[Point], chance: Chance) -> tuple[Cylinder, ...]:
    return tuple(
        sorted(cylinder_as_printed(point, 1 + chance.below(1000), chance.below(60), chance) for point in trip)
    )


def _release(number: int, tag: bytes, points: tuple[Cylinder, ...]) -> Release:
    return Release(number.to_bytes(16), tag, bytes(32), points)


def _prior(trips: Sequence[Sequence[Point]]) -> Prior:
    """The visited cells of about a kilometer, and the span of all times."""
    cells: dict[tuple[float, float], int] = {}
    for point in itertools.chain.from_iterable(trips):
        cell = (round(point.lat_deg, 2), round(point.lon_deg, 2))
        cells[cell] = cells.get(cell, 0) + 1
    times = [int(point.t_min) for trip in trips for point in trip]
    return Prior(
        [c[0] for c in cells], [c[1] for c in cells], list(cells.values()), min(times), max(times) + 1
    )
