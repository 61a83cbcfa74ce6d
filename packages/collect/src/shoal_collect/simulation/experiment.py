"""How much people would share (Romero-Tris and Megías 2018, Sec. 5), and the trips for that: cut and thinned.

Questions go straight to the stored data: the counts are those of the protocol, whose cost is not measured.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder, Point, cylinder_as_printed
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.matching.subtrajectories import Places, draw_subtrajectories
from shoal_collect.simulation import similar_pairs as kernel
from shoal_collect.simulation.similar_pairs import Cylinders

DAY_MIN: Final = 1440
# the column of a reading whose values are PERSON/TRIP: each file of GeoLife, for one
TRACK: Final = "track"
Trips = list[list[Point]]


def trips_of(
    trajectories: Trajectories, n_people: int, *, max_gap_s: float | None, n_points: float, fold_dates: bool
) -> list[Trips]:
    """Split movement at gaps and thin it evenly; trips of one sample are left out.

    Data read by ``track`` have one trip per trajectory, of the person before the slash. ``max_gap_s``: a
    longer pause ends a trip; None: none does. ``n_points``: average per trip: 6.4 keeps 7 of two trips in
    five, and 6 of the others. ``fold_dates``: only the time of day counts.
    """
    if trajectories.crs is None:
        raise MisuseError(
            "these positions have no place on the earth; name their reference system with --crs"
        )
    people = people_of(trajectories)
    if n_people > len(people):
        raise MisuseError(f"{n_people} participants of {len(people)} people in the data; ask for fewer")
    most = points_of_trips(n_points)
    trips_by_person = []
    for numbers in itertools.islice(people.values(), n_people):
        trips = []
        for number in numbers:
            t, x, y = trajectories.samples_of(number)
            borders = np.flatnonzero(np.diff(t) > (math.inf if max_gap_s is None else max_gap_s)) + 1
            for rows in np.split(np.arange(len(t)), borders):
                n_kept = next(most)
                chosen = (
                    rows[np.linspace(0, len(rows) - 1, n_kept).round().astype(np.int64)]
                    if len(rows) > n_kept
                    else rows
                )
                minutes = t[chosen] / 60 % DAY_MIN + DAY_MIN if fold_dates else t[chosen] / 60
                if len(chosen) > 1 and minutes.min() >= 0:
                    lon, lat = transform(trajectories.crs, WGS84, x[chosen], y[chosen])
                    triples = zip(lat.tolist(), lon.tolist(), minutes.tolist(), strict=True)
                    trips.append([Point(*triple) for triple in triples])
        trips_by_person.append(trips)
    return trips_by_person


def is_in_tracks(trajectories: Trajectories) -> bool:
    """Whether each trajectory is one trip (``--person track``)."""
    return trajectories.intake.reading.person == TRACK


def people_of(trajectories: Trajectories) -> dict[str, list[int]]:
    """Each person's trajectories, in the order of ids."""
    people: dict[str, list[int]] = {}
    for number, identifier in enumerate(trajectories.ids):
        person, slash, _ = identifier.rpartition("/")
        if is_in_tracks(trajectories) and not slash:
            raise MisuseError(
                f"the column '{TRACK}' must hold PERSON/TRIP, for example 010/20081023025304; of "
                f"{trajectories.n_subjects} values one has no slash"
            )
        people.setdefault(person if is_in_tracks(trajectories) else identifier, []).append(number)
    return people


def points_of_trips(n_points: float) -> Iterator[int]:
    """How many points each trip keeps, evenly mixed."""
    return (math.floor((piece + 1) * n_points) - math.floor(piece * n_points) for piece in itertools.count())


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One configuration.

    ``bootstrap``: people who share all trips first. ``k``: the least phi of what is submitted.
    ``by_people``: whether phi counts others; else sub-trajectories, as in the paper. ``literal``: whether to
    apply condition 2.5(b) as printed, which calls identical intervals different. ``subtrajectories``:
    questions per trip.
    """

    bootstrap: int = 80
    thresholds: Thresholds = field(default_factory=Thresholds)
    k: int = 2
    by_people: bool = False
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


def simulate(people: Sequence[Trips], setting: Setting, chance: Chance, run: Run | None = None) -> Result:
    """Without cryptography (Sec. 5.1).

    Bootstrappers share all trips; the others share, in random order, the common parts. Radii up to 1 km and
    gaps up to 60 min are drawn for each point.
    """
    run = run or Run()
    if not 0 <= setting.bootstrap < len(people):
        raise MisuseError(
            f"{setting.bootstrap} bootstrappers among {len(people)} participants leave nobody to simulate; "
            "choose fewer"
        )
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
        common = [(first, second) for first, second, phi in mine if phi >= setting.k]
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
        ends = self._offsets[-1] + np.cumsum([len(record) for record in records], dtype=np.int64)
        self._offsets = np.concatenate([self._offsets, ends])
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


def _blur(trip: Sequence[Point], chance: Chance) -> tuple[Cylinder, ...]:
    return tuple(
        sorted(cylinder_as_printed(point, 1 + chance.below(1000), chance.below(60), chance) for point in trip)
    )
