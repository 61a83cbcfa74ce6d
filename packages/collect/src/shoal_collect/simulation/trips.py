"""Trips for the simulation: cut and thinned."""

import itertools
import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.trajectories import Trajectories
from shoal_collect.matching.cylinders import Point

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
    most = _points_of_trips(n_points)
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


def points_for(trajectories: Trajectories, pairs_a_trip: float) -> float:
    """Points per trip for an average of ``pairs_a_trip`` pairs.

    By bisection to a thousandth; at most 28.
    """
    lengths = trajectories.lengths[trajectories.lengths > 1]
    low, high = 2.0, 28.0
    while high - low > 0.001:
        middle = (low + high) / 2
        n_kept = np.minimum(
            lengths, np.fromiter(_points_of_trips(middle), dtype=np.int64, count=len(lengths))
        )
        low, high = (middle, high) if (n_kept * (n_kept - 1) / 2).mean() < pairs_a_trip else (low, middle)
    return round((low + high) / 2, 3)


def _points_of_trips(n_points: float) -> Iterator[int]:
    """Evenly mixed."""
    return (math.floor((piece + 1) * n_points) - math.floor(piece * n_points) for piece in itertools.count())
