"""Stations as dense as those of the papers' data sets (Gramaglia et al. 2017, Table I).

What is kept is stations and people per area, not the area: fewer people live on less land with fewer
stations, so that nobody's crowd is thinner than in the data set. A nation is its capital with its own
densities, and the rest: towns of Zipf size, and single stations in the country.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats

Placed = tuple[Floats, Floats, Floats]  # x, y in meters, population

_CENTER_TO_EDGE: Final = 8.0  # how much wider stations stand at a city's edge than in its middle
_IN_TOWNS: Final = 0.9  # of a nation's stations outside the capital
_STATIONS_OF_A_TOWN: Final = 20  # of the average one
_TOWN_SPACING_M: Final = 1_000.0
_FEWEST: Final = 4  # stations of a city


@dataclass(frozen=True, kw_only=True)
class Density:
    """A data set as Table I has it. capital: the city in it that has a row of its own, None of a city."""

    surface_km2: float
    stations: int
    people: int
    capital: "Density | None" = None


_ABI: Final = Density(surface_km2=2_731, stations=400, people=29_191)
_DAK: Final = Density(surface_km2=1_024, stations=457, people=71_146)
DENSITIES: Final[Mapping[str, Density]] = {
    "abi": _ABI,
    "dak": _DAK,
    "shn": Density(surface_km2=3_329, stations=2_961, people=50_000),
    "civ": Density(surface_km2=322_463, stations=1_238, people=82_728, capital=_ABI),
    "sen": Density(surface_km2=196_712, stations=1_666, people=286_926, capital=_DAK),
}


def place_by_density(density: Density, n_subjects: int, rng: np.random.Generator) -> Placed:
    """Stations for so many people, at the density of a data set."""
    scale = n_subjects / density.people
    if density.capital is None:
        return _city(density.stations * scale, density.surface_km2 * scale, 1.0, rng)
    capital = density.capital
    share = capital.people / density.people
    x, y, people = _city(capital.stations * scale, capital.surface_km2 * scale, share, rng)
    rest_km2 = (density.surface_km2 - capital.surface_km2) * scale
    rest = max(round((density.stations - capital.stations) * scale), _FEWEST)
    far_x, far_y, far_people = _outside(rest, rest_km2, capital.surface_km2 * scale, rng)
    return (
        np.concatenate([x, far_x]),
        np.concatenate([y, far_y]),
        np.concatenate([people, far_people / far_people.sum() * (1 - share)]),
    )


def _city(stations: float, surface_km2: float, share: float, rng: np.random.Generator) -> Placed:
    """A jittered sunflower spiral on a disk of this surface, wider spaced farther out."""
    n = max(round(stations), _FEWEST)
    radius = 1000 * np.sqrt(surface_km2 / np.pi)
    r = np.linspace(0.0, 1.0, 2_000)
    spacing = 1 + (_CENTER_TO_EDGE - 1) * r
    within = np.concatenate([[0.0], np.cumsum((r / spacing**2)[1:])])
    k = np.arange(n) + 0.5
    at_r = radius * np.interp(k * within[-1] / n, within, r)
    angle = k * np.pi * (3 - np.sqrt(5)) + rng.uniform(0, 2 * np.pi)
    # a station's own area, from how many stand within its distance
    own = np.gradient(at_r**2 * np.pi) if n > 1 else np.array([radius**2])
    jitter = 0.3 * np.sqrt(np.maximum(own, 1.0))
    x = at_r * np.cos(angle) + jitter * rng.standard_normal(n)
    y = at_r * np.sin(angle) + jitter * rng.standard_normal(n)
    people = rng.lognormal(0.0, 0.6, n)
    return x, y, people / people.sum() * share


def _outside(n: int, surface_km2: float, inner_km2: float, rng: np.random.Generator) -> Placed:
    """Towns and single stations on a ring around a capital of the inner surface."""
    inner, outer = (1000 * np.sqrt(km2 / np.pi) for km2 in (inner_km2, inner_km2 + surface_km2))
    in_towns = round(n * _IN_TOWNS)
    n_towns = max(round(in_towns / _STATIONS_OF_A_TOWN), 1)
    size = 1.0 / np.arange(1, n_towns + 1)
    town = np.searchsorted(np.cumsum(size / size.sum())[:-1], rng.random(in_towns), side="right")
    center_x, center_y = _on_ring(n_towns, inner, outer, rng)
    spread = _TOWN_SPACING_M * np.sqrt(np.maximum(np.bincount(town, minlength=n_towns), 1.0) / np.pi)
    around = rng.standard_normal((2, in_towns)) * spread[town]
    lone_x, lone_y = _on_ring(n - in_towns, inner, outer, rng)
    x = np.concatenate([center_x[town] + around[0], lone_x])
    y = np.concatenate([center_y[town] + around[1], lone_y])
    return x, y, rng.lognormal(0.0, 0.6, n)


def _on_ring(n: int, inner: float, outer: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Points spread evenly between two circles."""
    r = np.sqrt(inner**2 + rng.random(n) * (outer**2 - inner**2))
    angle = rng.uniform(0, 2 * np.pi, n)
    return r * np.cos(angle), r * np.sin(angle)
