"""How much people would share (Romero-Tris and Megías 2018, Sec. 5).

Questions go straight to the stored data: the counts are those of the protocol, whose cost is not measured.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.run import Run
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder, Point, cylinder_as_printed
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.matching.subtrajectories import Places, draw_subtrajectories
from shoal_collect.matching.trimming import Reading, required_phi
from shoal_collect.simulation import similar_pairs as kernel
from shoal_collect.simulation.similar_pairs import Cylinders
from shoal_collect.simulation.trips import Trips


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One configuration.

    ``bootstrap``: people who share all trips first. ``k``: the smallest crowd. ``by_people``: whether phi
    counts others; else sub-trajectories, as in the paper. ``reading``: whether k counts only others, or
    also the asker (phi >= 1 for k = 2). ``literal``: whether to apply condition 2.5(b) as printed, which
    calls identical intervals different. ``subtrajectories``: questions per trip.
    """

    bootstrap: int = 80
    thresholds: Thresholds = field(default_factory=Thresholds)
    k: int = 2
    by_people: bool = False
    reading: Reading = "self-included"
    literal: bool = False
    subtrajectories: int = 50


@dataclass(frozen=True, kw_only=True)
class Result:
    """Submissions of ``people``, bootstrappers apart; shares are fractions.

    ``users_with_at_least_one``, ``their_average_share``: people with a submission. ``phi_share_of_zeros``,
    ``phi_mean_of_others``: of all questions.
    """

    people: int
    subtrajectories_asked: int
    subtrajectories_submitted: int
    share_submitted: float
    users_with_at_least_one: int
    their_average_share: float
    phi_share_of_zeros: float
    phi_mean_of_others: float

    def to_json(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self)


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
        people=len(people) - setting.bootstrap,
        subtrajectories_asked=asked,
        subtrajectories_submitted=submitted,
        share_submitted=submitted / max(asked, 1),
        users_with_at_least_one=len(shares),
        their_average_share=sum(shares) / max(len(shares), 1),
        phi_share_of_zeros=zeros / max(asked, 1),
        phi_mean_of_others=phi_sum / max(asked - zeros, 1),
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
        def count(trip: tuple[Sequence[Cylinder], Sequence[Places]]) -> list[int]:
            points, pairs = trip
            people, occurrences = np.empty((2, len(pairs)), dtype=np.int64)
            chosen = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            theta_m, theta_min = setting.thresholds.theta_m, setting.thresholds.theta_min
            without = person if setting.by_people else -1
            limits = kernel.Thresholds(float(theta_m), float(theta_min), setting.literal, EARTH_M)
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


def _require_others(n_people: int, bootstrap: int) -> None:
    if not 0 <= bootstrap < n_people:
        raise MisuseError(
            f"{bootstrap} bootstrappers among {n_people} participants leave nobody to simulate; choose fewer"
        )


def _blur(trip: Sequence[Point], chance: Chance) -> tuple[Cylinder, ...]:
    return tuple(
        sorted(cylinder_as_printed(point, 1 + chance.below(1000), chance.below(60), chance) for point in trip)
    )
