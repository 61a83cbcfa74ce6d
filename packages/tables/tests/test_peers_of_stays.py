"""Stays and trips beside those of trackintel and movingpandas, on the same tracks."""

from datetime import date

import numpy as np
import pytest
from numpy.typing import NDArray

from shoal import Grid, Trajectories
from shoal_tables import Rules, days_of, grid_zones
from shoal_tables.definition.manifest import Trips
from shoal_tables.making.contributions import events_of, sequences_of, stays_of

pd = pytest.importorskip("pandas")
gpd = pytest.importorskip("geopandas")
pytestmark = pytest.mark.kernels
START = 1_704_067_200  # 2024-01-01
RADIUS_M, LEAST_S, STEP_S = 200, 900, 60
UTM = "EPSG:32631"
DEGREE_M = 111_194.93  # of the mean sphere


def track(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], list[int]]:
    """Seconds, x and y, every minute: places kilometers apart, and ways between; numbers of the places."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(12)[: rng.integers(3, 8)]
    x: list[float] = []
    y: list[float] = []
    for number, place in enumerate(places):
        at = 500 + 3000 * (place % 4), 500 + 3000 * (place // 4)
        if number:
            share = np.linspace(0, 1, 8)[1:-1]
            x += list(x[-1] + share * (at[0] - x[-1]))
            y += list(y[-1] + share * (at[1] - y[-1]))
        minutes = rng.integers(20, 60)
        x += list(at[0] + rng.uniform(-60, 60, minutes))
        y += list(at[1] + rng.uniform(-60, 60, minutes))
    t = START + STEP_S * np.arange(len(x))
    return t, np.floor(x).astype(np.int64), np.floor(y).astype(np.int64), places.tolist()


def rules() -> Rules:
    return Rules(
        table="flows",
        zones=grid_zones(1000, (0, 0, 12_000, 9_000), "local"),
        day_of=days_of("each", date(2024, 1, 1), date(2024, 1, 2)),
        trips=Trips(definition="stays", radius_m=RADIUS_M, least_s=LEAST_S),
    )


def people(t: NDArray[np.int64], x: NDArray[np.int64], y: NDArray[np.int64]) -> Trajectories:
    return Trajectories.from_rows(["a"] * len(t), t, x, y, grid=Grid(cell_m=1.0, slot_s=1.0))


@pytest.mark.parametrize("seed", range(8))
def test_trips_go_from_place_to_place(seed: int) -> None:
    *columns, places = track(seed)
    events = events_of(sequences_of(people(*columns), rules()), rules())
    zones = [12 * (3 * (place // 4)) + 3 * (place % 4) for place in places]
    origin, destination, _ = events.codes
    assert origin.tolist() == zones[:-1]
    assert (destination + (destination >= origin)).tolist() == zones[1:]


@pytest.mark.parametrize("seed", range(8))
def test_stays_are_those_of_trackintel(seed: int) -> None:
    """Its stay ends at the first sample outside, ours at the last inside: one step of a regular track."""
    ti = pytest.importorskip("trackintel", reason="trackintel is not installed: pip install trackintel")
    t, x, y, _ = track(seed)
    rows = sequences_of(people(t, x, y), rules())
    anchor, last = stays_of(rows, rules())
    frame = gpd.GeoDataFrame(
        {"user_id": 0, "tracked_at": pd.to_datetime(t, unit="s", utc=True)},
        geometry=gpd.points_from_xy(
            x / DEGREE_M, y / DEGREE_M
        ),  # at the equator, since it measures on a sphere
        crs="EPSG:4326",
    )
    frame.index.name = "id"
    _, found = ti.Positionfixes(frame).generate_staypoints(
        method="sliding",
        dist_threshold=RADIUS_M,
        time_threshold=(LEAST_S + STEP_S) / 60,
        gap_threshold=1e6,
        include_last=True,
    )
    started = found["started_at"].map(pd.Timestamp.timestamp)
    finished = found["finished_at"].map(pd.Timestamp.timestamp)
    assert started.astype(int).tolist() == rows.t[anchor].tolist()
    ended = np.minimum(rows.t[last] + STEP_S, rows.t[-1]).tolist()
    assert finished.astype(int).tolist() == ended


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # movingpandas with pandas 3
@pytest.mark.parametrize("seed", range(8))
def test_stays_are_where_movingpandas_sees_stops(seed: int) -> None:
    mpd = pytest.importorskip("movingpandas")
    t, x, y, _ = track(seed)
    rows = sequences_of(people(t, x, y), rules())
    anchor, last = stays_of(rows, rules())
    frame = gpd.GeoDataFrame(
        {"id": "a"},
        geometry=gpd.points_from_xy(x + 400_000, y + 5_000_000),
        crs=UTM,
        index=pd.to_datetime(t, unit="s"),
    )
    stops = mpd.TrajectoryStopDetector(mpd.Trajectory(frame, "a")).get_stop_time_ranges(
        min_duration=pd.Timedelta(seconds=LEAST_S), max_diameter=2 * RADIUS_M
    )
    assert len(stops) == len(anchor)
    for stop, first, end in zip(stops, rows.t[anchor], rows.t[last], strict=True):
        begin_s, end_s = (moment.value // 10**9 for moment in (stop.t_0, stop.t_n))
        assert abs(begin_s - first) <= 2 * STEP_S
        assert abs(end_s - end) <= 2 * STEP_S
