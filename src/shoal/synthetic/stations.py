"""Base stations: positions and population weights.

Layouts after a data set have its people per station and per area (Gramaglia et al. 2017, Table I). A nation
is its capital, towns of Zipf size, and single stations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Floats
from shoal.runtime.files import local_path

if TYPE_CHECKING:
    import pyarrow as pa

Placed = tuple[Floats, Floats, Floats]  # x, y in meters, population

_CENTER_TO_EDGE: Final = 8.0  # ratio of station spacing at a city's edge and in its middle
_IN_TOWNS: Final = 0.9  # of a nation's stations outside the capital
_STATIONS_OF_A_TOWN: Final = 20  # of the average one
_TOWN_SPACING_M: Final = 1_000.0
_FEWEST: Final = 4  # stations of a city


@dataclass(frozen=True, kw_only=True)
class DataSetSize:
    """A data set of Table I. capital: a nation's city in it."""

    surface_km2: float
    stations: int
    people: int
    capital: "DataSetSize | None" = None


_ABI: Final = DataSetSize(surface_km2=2_731, stations=400, people=29_191)
_DAK: Final = DataSetSize(surface_km2=1_024, stations=457, people=71_146)
DENSITIES: Final[Mapping[str, DataSetSize]] = {
    "abi": _ABI,
    "dak": _DAK,
    "shn": DataSetSize(surface_km2=3_329, stations=2_961, people=50_000),
    "civ": DataSetSize(surface_km2=322_463, stations=1_238, people=82_728, capital=_ABI),
    "sen": DataSetSize(surface_km2=196_712, stations=1_666, people=286_926, capital=_DAK),
}


def place_by_density(density: DataSetSize, n_subjects: int, rng: np.random.Generator) -> Placed:
    """Stations for ``n_subjects`` people, as many per person as in a data set, on their part of its area."""
    scale = n_subjects / density.people
    if density.capital is None:
        return _dense_city(density.stations * scale, density.surface_km2 * scale, 1.0, rng)
    capital = density.capital
    share = capital.people / density.people
    x, y, people = _dense_city(capital.stations * scale, capital.surface_km2 * scale, share, rng)
    rest_km2 = (density.surface_km2 - capital.surface_km2) * scale
    rest = max(round((density.stations - capital.stations) * scale), _FEWEST)
    far_x, far_y, far_people = _outside(rest, rest_km2, capital.surface_km2 * scale, rng)
    return (
        np.concatenate([x, far_x]),
        np.concatenate([y, far_y]),
        np.concatenate([people, far_people / far_people.sum() * (1 - share)]),
    )


def _dense_city(stations: float, surface_km2: float, share: float, rng: np.random.Generator) -> Placed:
    n = max(round(stations), _FEWEST)
    radius = 1000 * np.sqrt(surface_km2 / np.pi)
    r = np.linspace(0.0, 1.0, 2_000)
    spacing = 1 + (_CENTER_TO_EDGE - 1) * r
    within = np.concatenate([[0.0], np.cumsum((r / spacing**2)[1:])])
    at_r = radius * np.interp((np.arange(n) + 0.5) * within[-1] / n, within, r)
    # a station's area, from the number of stations within its distance
    area = np.gradient(at_r**2 * np.pi) if n > 1 else np.array([radius**2])
    x, y, people = _on_spiral(at_r, np.sqrt(np.maximum(area, 1.0)), rng)
    return x, y, people / people.sum() * share


def _on_spiral(at_r: Floats, spacing: Floats, rng: np.random.Generator) -> Placed:
    n = len(at_r)
    angle = (np.arange(n) + 0.5) * np.pi * (3 - np.sqrt(5)) + rng.uniform(0, 2 * np.pi)
    jitter = 0.3 * spacing
    x = at_r * np.cos(angle) + jitter * rng.standard_normal(n)
    y = at_r * np.sin(angle) + jitter * rng.standard_normal(n)
    return x, y, rng.lognormal(0.0, 0.6, n)


def _outside(n: int, surface_km2: float, inner_km2: float, rng: np.random.Generator) -> Placed:
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
    r = np.sqrt(inner**2 + rng.random(n) * (outer**2 - inner**2))
    angle = rng.uniform(0, 2 * np.pi, n)
    return r * np.cos(angle), r * np.sin(angle)


Layout = Literal["nation", "city", "abi", "dak", "shn", "civ", "sen"]
LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)

METERS_PER_DEGREE: Final = 111_195.0  # of latitude, on a sphere of 6,371 km
CENTER_LAT, CENTER_LON = (7.0, -5.0)  # near the longitude of UTC, so that UTC is about local time

CITY_RADIUS_M: Final = 15_000.0
DOWNTOWN_SPACING_M: Final = 300.0
FRINGE_SPACING_M: Final = 2_500.0

NATION_AXES_M: Final = (210_000.0, 170_000.0)  # half axes of an ellipse
N_CITIES: Final = 24
CITY_SHARE, TOWN_SHARE = 0.5, 0.2  # of the people; the rest live in the country
N_TOWNS, STATIONS_PER_TOWN, TOWN_RADIUS_M = 200, 3, 1_500.0
COUNTRY_SPACING_M: Final = 9_000.0

# a station farther from the middle than this many times the distance within which 9 of 10 lie is an outlier
FAR: Final = 3.0

_LAT_NAMES: Final = ("lat", "latitude")
_LON_NAMES: Final = ("lon", "lng", "long", "longitude")


@dataclass(frozen=True, eq=False, kw_only=True)
class Stations:
    """At least two base stations, and the share of people at each.

    Parameters
    ----------
    lat, lon
        float64 [n]. The positions in degrees (WGS 84), all different.
    population
        float64 [n]. The shares of people, positive; they sum to 1.
    dropped
        The rows of a file that were left out, by reason.

    Raises
    ------
    MisuseError
        When positions or shares are not as described.
    """

    lat: Floats
    lon: Floats
    population: Floats
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.lat) == len(self.lon) == len(self.population):
            raise MisuseError(
                f"lat, lon and population differ in length: {len(self.lat)}, {len(self.lon)}, "
                f"{len(self.population)}"
            )
        if len(np.unique(np.column_stack([self.lat, self.lon]), axis=0)) != len(self) or len(self) < 2:
            raise MisuseError(
                f"{len(self)} stations are too few or repeat; give at least 2 different positions"
            )
        if not (
            _on_earth(self.lat, self.lon).all()
            and (self.population > 0).all()
            and np.isclose(self.population.sum(), 1)
        ):
            raise MisuseError(
                "stations need latitudes in -90..90, longitudes in -180..180 and positive populations that "
                "sum to 1"
            )

    def __len__(self) -> int:
        return len(self.lat)

    def on_plane(self) -> tuple[Floats, Floats]:
        """(x, y) in meters about the median position, good enough for destinations."""
        return _on_plane(self.lat, self.lon)


def lay_out_stations(layout: Layout, rng: np.random.Generator, n_subjects: int) -> Stations:
    """The stations of a synthetic city or nation."""
    if layout in DENSITIES:
        x, y, population = place_by_density(DENSITIES[layout], n_subjects, rng)
    else:
        x, y, population = _city(CITY_RADIUS_M, rng) if layout == "city" else _nation(rng)
    lat = np.round(CENTER_LAT + y / METERS_PER_DEGREE, 6)
    lon = np.round(CENTER_LON + x / (METERS_PER_DEGREE * np.cos(np.radians(CENTER_LAT))), 6)
    return Stations(lat=lat, lon=lon, population=population / population.sum())


@typed
def read_stations(path: Path | str) -> Stations:
    r"""Read base stations, with equal shares of people.

    Parameters
    ----------
    path
        A CSV or Parquet file with a column of latitudes and one of longitudes.

    Returns
    -------
    Stations
        ``dropped`` counts the positions that are far away from the others, repeat or cannot be used.

    Raises
    ------
    InputError
        When the file cannot be read, a column is missing, or fewer than two positions are usable.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> _ = Path("stations.csv").write_text("lat,lon\n53.1,8.2\n53.2,8.3\n")
    >>> shoal.read_stations("stations.csv").dropped
    {}
    """
    path = local_path(path, "a file of stations")
    table = _read_table(path)
    lat, lon = (
        _degrees(table, names, what, path)
        for names, what in ((_LAT_NAMES, "latitude"), (_LON_NAMES, "longitude"))
    )
    dropped: dict[str, int] = {}

    def keep(usable: Flags, reason: str) -> None:
        nonlocal lat, lon
        if not usable.all():
            dropped[reason] = int((~usable).sum())
        lat, lon = lat[usable], lon[usable]

    keep(_on_earth(lat, lon) & ((lat != 0) | (lon != 0)), "empty, (0, 0) or outside the earth's degrees")
    first_of_its_place = np.zeros(len(lat), dtype=np.bool_)
    first_of_its_place[np.unique(np.column_stack([lat, lon]), axis=0, return_index=True)[1]] = True
    keep(first_of_its_place, "repeated position")
    if len(lat):
        distance_m = np.hypot(*_on_plane(lat, lon))
        keep(distance_m <= FAR * np.quantile(distance_m, 0.9, method="higher"), "far away from the others")
    if len(lat) < 2:
        raise InputError(
            f"{path} holds {len(lat)} usable station positions; give at least 2 rows with different positions"
        )
    return Stations(lat=lat, lon=lon, population=np.full(len(lat), 1 / len(lat)), dropped=dropped)


def _city(radius_m: float, rng: np.random.Generator) -> Placed:
    r = np.linspace(0.0, radius_m, 2_000)
    spacing = DOWNTOWN_SPACING_M + (FRINGE_SPACING_M - DOWNTOWN_SPACING_M) * r / radius_m
    per_meter = 2 * np.pi * r / (0.87 * spacing**2)  # a station of a triangular lattice takes 0.87 spacing^2
    within = np.concatenate([[0.0], np.cumsum((per_meter[1:] + per_meter[:-1]) / 2 * np.diff(r))])
    n = max(int(within[-1]), 3)
    at_r = np.interp((np.arange(n) + 0.5) * within[-1] / n, within, r)
    return _on_spiral(at_r, np.interp(at_r, r, spacing), rng)


def _nation(rng: np.random.Generator) -> Placed:
    centers = _cities_apart(rng)
    size = 1.0 / np.arange(1, N_CITIES + 1)
    parts: list[Placed] = []
    for (center_x, center_y), relative in zip(centers, size, strict=True):
        x, y, people = _city(CITY_RADIUS_M * np.sqrt(relative), rng)
        parts.append((center_x + x, center_y + y, people / people.sum() * CITY_SHARE * relative / size.sum()))
    town_x, town_y = np.repeat(_in_ellipse(N_TOWNS, rng), STATIONS_PER_TOWN, axis=1)
    town_people = np.repeat(rng.lognormal(0.0, 1.0, N_TOWNS), STATIONS_PER_TOWN)
    around = TOWN_RADIUS_M * rng.standard_normal((2, town_x.size)) / 2
    parts.append((town_x + around[0], town_y + around[1], town_people / town_people.sum() * TOWN_SHARE))
    x, y = _rural_stations(rng)
    outside = np.ones(x.size, dtype=np.bool_)
    for (center_x, center_y), relative in zip(centers, size, strict=True):
        outside &= (
            np.hypot(x - center_x, y - center_y) > CITY_RADIUS_M * np.sqrt(relative) + COUNTRY_SPACING_M / 3
        )
    x, y = x[outside], y[outside]
    people = rng.lognormal(0.0, 0.8, x.size)
    parts.append((x, y, people / people.sum() * (1 - CITY_SHARE - TOWN_SHARE)))
    all_x, all_y, all_people = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return all_x, all_y, all_people


def _cities_apart(rng: np.random.Generator) -> list[tuple[float, float]]:
    centers: list[tuple[float, float]] = []
    while len(centers) < N_CITIES:
        x, y = _in_ellipse(1, rng)[:, 0] * (0.9 if centers else 0.33)
        if all(np.hypot(x - other_x, y - other_y) > 35_000 for other_x, other_y in centers):
            centers.append((float(x), float(y)))
    return centers


def _in_ellipse(n: int, rng: np.random.Generator) -> Floats:
    r, angle = np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
    return np.stack([NATION_AXES_M[0] * r * np.cos(angle), NATION_AXES_M[1] * r * np.sin(angle)])


def _rural_stations(rng: np.random.Generator) -> tuple[Floats, Floats]:
    columns = np.arange(-NATION_AXES_M[0], NATION_AXES_M[0], COUNTRY_SPACING_M)
    rows = np.arange(-NATION_AXES_M[1], NATION_AXES_M[1], 0.87 * COUNTRY_SPACING_M)
    x, y = (axis.ravel() for axis in np.meshgrid(columns, rows))
    x = x + 0.25 * COUNTRY_SPACING_M * rng.standard_normal(x.size)
    y = y + 0.25 * COUNTRY_SPACING_M * rng.standard_normal(y.size)
    inside = (x / NATION_AXES_M[0]) ** 2 + (y / NATION_AXES_M[1]) ** 2 <= 1
    return x[inside], y[inside]


def _on_plane(lat: Floats, lon: Floats) -> tuple[Floats, Floats]:
    east = (lon - lon[0] + 180) % 360 - 180
    east = east - np.median(east)
    middle = np.median(lat)
    return east * METERS_PER_DEGREE * float(np.cos(np.radians(middle))), (lat - middle) * METERS_PER_DEGREE


def _on_earth(lat: Floats, lon: Floats) -> Flags:
    return (np.abs(lat) <= 90) & (np.abs(lon) <= 180)  # false for NaN


def _read_table(path: Path) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        table = parquet.read_table(path) if is_parquet else csv.read_csv(path)
        return table.rename_columns([name.strip() for name in table.column_names])
    except OSError as error:
        raise InputError(
            f"the station file {path} cannot be read: {error.strerror or 'truncated'}; give a CSV or "
            "Parquet file"
        ) from error
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            f"the station file {path} is neither a readable CSV nor Parquet; fetch or write it again"
        ) from error


def _degrees(table: "pa.Table", names: tuple[str, ...], what: str, path: Path) -> Floats:
    import pyarrow as pa

    matches = [name for name in table.column_names if name.lower() in names]
    if len(matches) != 1:
        problem = f"no {what} column" if not matches else f"{len(matches)} {what} columns"
        raise InputError(
            f"{problem} in the station file {path} (found: {', '.join(table.column_names)}); name exactly "
            f"one of them {names[0]}"
        )
    try:
        column = table.column(matches[0]).cast(pa.float64())
    except pa.ArrowException as error:
        raise InputError(
            f"the {what} column of the station file {path} is not all numbers; give degrees such as 7.25"
        ) from error
    return np.array(column.to_numpy(), dtype=np.float64)
