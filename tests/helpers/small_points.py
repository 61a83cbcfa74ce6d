"""Small crowds of points as given, and a town of streets, for the methods that swap points."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Losses, Points, Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories

SIDE, BLOCK_M = 6, 100.0


def crowd(
    n: int = 24, samples: int = 30, *, seed: int = 0, spread_s: float = 200.0, step_s: float = 10.0
) -> Trajectories:
    """``n`` walkers of about ``samples`` fixes at a step of ``step_s``, on whole meters and seconds.

    They begin within ``spread_s``.
    """
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        length = int(draw.integers(max(2, samples // 2), samples + 1))
        t = step_s * np.cumsum(draw.integers(1, 3, length)) + draw.integers(0, int(spread_s))
        place = np.cumsum(draw.integers(-20, 21, (length, 2)), axis=0) + draw.integers(0, 400, 2)
        rows += [
            (f"walker-{i:03d}", float(a), float(b), float(c)) for a, (b, c) in zip(t, place, strict=True)
        ]
    ids, t_all, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t_all, x, y)


def town(*, drop: int = 0, seed: int = 0) -> StreetGraph:
    """A grid of streets, with ``drop`` edges taken away at random."""
    at = np.arange(SIDE * SIDE)
    x, y = (BLOCK_M * part.astype(np.float64) for part in (at % SIDE, at // SIDE))
    east = [(i, i + 1) for i in at.tolist() if i % SIDE < SIDE - 1]
    north = [(i, i + SIDE) for i in at.tolist() if i // SIDE < SIDE - 1]
    edges = np.array([*east, *north])
    kept = np.sort(np.random.default_rng(seed).permutation(len(edges))[drop:])
    return StreetGraph.straight(x, y, edges[kept, 0], edges[kept, 1])


def drivers(streets: StreetGraph, n: int = 20, samples: int = 20, *, seed: int = 0) -> Trajectories:
    """Walks from corner to corner along the streets, fixes at random places of the edges taken."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        node = int(draw.integers(streets.n_nodes))
        t = float(draw.integers(0, 50))
        for _ in range(int(draw.integers(samples // 2, samples + 1))):
            ways = np.flatnonzero((streets.u == node) | (streets.v == node))
            if not len(ways):
                break
            edge = int(draw.choice(ways))
            other = int(streets.v[edge] if streets.u[edge] == node else streets.u[edge])
            share = draw.random()
            rows.append(
                (
                    f"driver-{i:03d}",
                    t,
                    float(streets.x[node] + share * (streets.x[other] - streets.x[node])),
                    float(streets.y[node] + share * (streets.y[other] - streets.y[node])),
                )
            )
            node, t = other, t + float(draw.integers(5, 15))
    ids, times, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, times, x, y)


@st.composite
def small_crowds(draw: st.DrawFn, least: int = 2, most: int = 6) -> Trajectories:
    """A few trajectories with few whole coordinates: ties, equal times and lone samples are common."""
    rows = []
    for i in range(draw(st.integers(least, most))):
        times = draw(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True))
        rows += [
            (f"p{i}", float(t), float(draw(st.integers(-9, 9))), float(draw(st.integers(-9, 9))))
            for t in times
        ]
    ids, t_all, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t_all, x, y)


def table_of_fleet(n: int = 14, seed: int = 3) -> pa.Table:
    """Vehicles that begin and end at nearly the same times, in degrees, with a fix about every minute."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            f"taxi-{i:02}-of-many",
            1_700_000_000 + 60 * fix + rng.integers(0, 50),
            48.8 + lat + fix / 1000,
            2.3 + lon + fix / 900,
        )
        for i, (lat, lon) in zip(rng.permutation(n), rng.random((n, 2)) / 50, strict=True)
        for fix in range(rng.integers(30, 34))
    ]
    uid, t, lat, lon = zip(*rows, strict=True)
    return pa.table({"uid": uid, "t": t, "lat": lat, "lon": lon})


def points_only(
    records: list[list[tuple[float, float, float]]], k: int, delta_m: float
) -> tuple[Trajectories, Release]:
    """A release of exactly these records, and the raw data that they are."""
    rows = [(f"{place:02}", *point) for place, record in enumerate(records) for point in record]
    ids, t, x, y = zip(*rows, strict=True)
    original = Trajectories.from_rows(ids, t, x, y)
    release = Release(
        trajectory_ids=tuple(f"{place:016x}" for place in range(len(records))),
        offsets=original.offsets,
        payload=Points(t=original.t, x=original.x, y=original.y),
        claim=KDeltaAnonymity(k=k, delta_m=delta_m),
        method="w4m",
        parameters={},
        losses=Losses(),
        grid=None,
        crs=None,
        unit_of_protection=original.intake.unit_of_protection,
        publishable=True,
    )
    return original, release


def walkers(n: int, steps: int, *, step_m: float, seed: int = 0, spread_m: float = 2000.0) -> Trajectories:
    """Straight walks with small errors, all at the same times."""
    draw = np.random.default_rng(seed)
    heading, start = draw.uniform(0, 2 * np.pi, n), draw.uniform(0, spread_m, (n, 2))
    at = np.arange(steps)
    way = step_m * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    place = start[:, None] + at[None, :, None] * way[:, None] + draw.normal(0, step_m / 50, (n, steps, 2))
    ids = np.repeat([f"w{i:03d}" for i in range(n)], steps).tolist()
    return Trajectories.from_rows(ids, np.tile(at * 30.0, n), *place.reshape(-1, 2).T)


def scattered(n: int, steps: int, seed: int = 0) -> Trajectories:
    """Everybody is anywhere at any time: who was where before tells nothing of where they are next."""
    draw = np.random.default_rng(seed)
    ids = np.repeat([f"w{i:03d}" for i in range(n)], steps).tolist()
    return Trajectories.from_rows(
        ids, np.tile(np.arange(steps) * 30.0, n), *draw.uniform(0, 5000, (2, n * steps))
    )
