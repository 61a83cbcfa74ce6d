"""The data of the table of attacks, and the settings that suit each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import shoal
from contest import grid_of_streets
from shoal.io.formats.street_files import read_streets
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.synthetic import synthesize

DAY_S: Final = 86_400
WEEK_S: Final = 7 * DAY_S
MONDAY_S: Final = 4 * DAY_S  # 1970-01-05
BEIJING: Final = (39.4, 40.5, 115.8, 117.2)  # latitudes and longitudes


@dataclass(frozen=True, kw_only=True)
class Data:
    """Data of one kind, and what each method is asked there.

    table: from the file; made: without one. tau_s: of kte-hide. apart_s, apart_m: thresholds of swap sets;
    reach_m, off_street_m: along and beside streets. delta_m, pi_s, step_s: of NWA and W4M. coarse_m,
    coarse_s: the grid of static generalization. street_m: between the streets that are made where no file of
    streets is given, None = none are made.
    """

    title: str
    words: str
    made: bool
    table: Callable[[str], pa.Table]
    crs: str | None = None
    time_unit: str | None = None
    tau_s: float = 1800.0
    apart_s: float = 4 * 3600.0
    apart_m: float = 1_000_000.0
    reach_m: float = 20_000.0
    off_street_m: float = 1_000.0
    delta_m: float = 2_000.0
    pi_s: float = 3600.0
    step_s: float = 600.0
    coarse_m: float = 20_000.0
    coarse_s: float = 8 * 3600.0
    street_m: float | None = None


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The same people snapped and as given, and the streets there."""

    snapped: Trajectories
    given: Trajectories
    streets: StreetGraph | None


def prepared(data: Data, file: str | None, streets: Sequence[str]) -> Prepared:
    """The data read both ways."""
    table = data.table(file or "")
    given = shoal.read(table, snap=False, crs=data.crs, time_unit=data.time_unit)
    snapped = shoal.read(
        table, crs=data.crs, time_unit=data.time_unit, working_crs=None if data.crs else given.crs
    )
    graph = None
    if streets:
        graph = read_streets(*streets)
    elif data.street_m is not None:
        graph = grid_of_streets(given, data.street_m)
    return Prepared(snapped=snapped, given=given, streets=graph)


def street_files(texts: Sequence[str], name: str) -> list[str]:
    """The files of nodes and edges of this data, none where none are given."""
    return next((text.split("=", 1)[1].split(",") for text in texts if text.startswith(f"{name}=")), [])


def best_weeks(file: str) -> pa.Table:
    """Of everybody the week with most fixes, all laid onto one week; people in and around Beijing."""
    table = pq.read_table(file, columns=["user_id", "t", "lat", "lon"])
    south, north, west, east = BEIJING
    lat, lon = table["lat"], table["lon"]
    for bound in (pc.greater(lat, south), pc.less(lat, north), pc.greater(lon, west), pc.less(lon, east)):
        table = table.append_column(f"kept{table.num_columns}", bound)
    kept = pc.and_(pc.and_(table[4], table[5]), pc.and_(table[6], table[7]))
    table = table.select(range(4)).filter(kept)
    t = table["t"].to_numpy()
    week = ((t - MONDAY_S) // WEEK_S).astype(np.int64)
    person = pc.dictionary_encode(table["user_id"].combine_chunks()).indices.to_numpy()
    of_both, number, count = np.unique(
        person * (int(week.max()) + 1) + week, return_inverse=True, return_counts=True
    )
    owner = of_both // (int(week.max()) + 1)
    order = np.lexsort((count, owner))
    last = order[np.flatnonzero(np.diff(owner[order], append=-1))]  # of each person the fullest week
    chosen = np.isin(number.ravel(), last)
    folded = MONDAY_S + 2000 * WEEK_S + (t - MONDAY_S) % WEEK_S
    return table.set_column(1, "t", pa.array(folded)).filter(pa.array(chosen))


def columns(*names: str) -> Callable[[str], pa.Table]:
    """A reader of these columns of a Parquet file."""
    return lambda file: pq.read_table(file, columns=list(names))


DATA: Final = {
    "oldenburg": Data(
        title="Oldenburg",
        words="1,000 objects of Brinkhoff's generator over 100 steps, taken for minutes, in map units.",
        made=False,
        table=columns("user_id", "t", "x", "y"),
        crs="local",
        time_unit="1min",
        tau_s=600.0,
        apart_s=6000.0,
        off_street_m=100.0,
        delta_m=1_000.0,
        pi_s=180.0,
        step_s=60.0,
    ),
    "geolife": Data(
        title="GeoLife",
        words="Of each person the week with most fixes (one in five minutes, around Beijing), all laid onto "
        "one week.",
        made=False,
        table=best_weeks,
        street_m=1_000.0,
    ),
    "taxis": Data(
        title="Taxis",
        words="San Francisco's taxis of one day.",
        made=False,
        table=columns("user_id", "t", "lat", "lon"),
        apart_s=float(DAY_S),
        apart_m=4_000.0,
        reach_m=5_000.0,
        off_street_m=100.0,
    ),
    "city": Data(
        title="Synthetic city",
        words="2,000 people, 14 days.",
        made=True,
        table=lambda _: synthesize(2000, 14, 1, layout="city"),
        street_m=1_000.0,
    ),
    "nation": Data(
        title="Synthetic nation",
        words="5,000 people, 14 days.",
        made=True,
        table=lambda _: synthesize(5000, 14, 1, layout="nation"),
        street_m=10_000.0,
        off_street_m=10_000.0,
        reach_m=50_000.0,
    ),
    "quick": Data(
        title="A few people",
        words="40 people of a synthetic city, 1 day: the test of this table.",
        made=True,
        table=lambda _: synthesize(40, 1, 1, layout="city"),
        street_m=1_000.0,
    ),
}
"""The smallest first; ``made`` says that no file is needed."""
