"""Whole commands on data that grow otherwise than phones do: many short tracks, few long ones, sparse ones.

    python bench/bench_growth.py [--data ships rates walkers check-ins] [--share 0.1] [--folder FOLDER]

ships: 10,631 tracks of 2 to 17 fixes an hour or three apart, each begun at a random moment of three weeks,
on a sea of 2,000 km. rates: 36 people of 4,500 to 40,000 fixes two to eight seconds apart, 494,000 in all, on
one day in one town. walkers: 30 people of 230,000 fixes one to five seconds apart, on 60 trips within 90
days, in one town. check-ins: 400 people at 5 to 40 moments of four weeks, at 500 places, each seen in the
first and in the last hour. Makes what is not in FOLDER yet, of so large a share of the people (five at
least), and prints seconds, CPU seconds and the peak of each command with one thread, and its goal (Linux).
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.runtime.arrays import Floats

_DAY_S = 86_400
_AT = (10.0, 50.0)  # longitude and latitude of the middle
_M_A_DEGREE = 111_000.0
_SEEDED = 20_261_123
_SIZES = {"ships": 10_631, "rates": 36, "walkers": 30, "check-ins": 400}

Track = tuple[Floats, Floats, Floats]


def walk(rng: np.random.Generator, t: Floats, start_m: Floats, pace_m_s: float) -> Track:
    """Somebody who turns a little at each fix."""
    heading = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.1, len(t)))
    away = np.append(0.0, np.diff(t)) * pace_m_s
    return t, start_m[0] + np.cumsum(np.cos(heading) * away), start_m[1] + np.cumsum(np.sin(heading) * away)


def ships(rng: np.random.Generator, n: int) -> Iterator[Track]:
    for _ in range(n):
        t = rng.uniform(0, 21 * _DAY_S) + np.cumsum(rng.uniform(3_600, 10_800, rng.integers(2, 18)))
        yield walk(rng, t, rng.uniform(-1e6, 1e6, 2), rng.uniform(2, 10))


def rates(rng: np.random.Generator, n: int) -> Iterator[Track]:
    share = np.geomspace(1, 9, n)
    for count in rng.permutation(np.rint(share / share.sum() * n * 13_722)).astype(int):
        t = rng.uniform(0, 8 * 3_600) + np.cumsum(rng.uniform(2, 8, count))
        yield walk(rng, t, rng.uniform(-5e3, 5e3, 2), rng.uniform(1, 8))


def walkers(rng: np.random.Generator, n: int) -> Iterator[Track]:
    trips, fixes = 60, 230_000 // 60
    for _ in range(n):
        home = rng.uniform(-8e3, 8e3, 2)
        begins = np.sort(rng.choice(90 * 4, trips, replace=False)) * (_DAY_S / 4)
        parts = [
            walk(rng, begin + np.cumsum(rng.uniform(1, 5, fixes)), home, rng.choice([1.3, 4.0, 10.0]))
            for begin in begins
        ]
        t, x, y = (np.concatenate(column) for column in zip(*parts, strict=True))
        yield t, x, y


def check_ins(rng: np.random.Generator, n: int) -> Iterator[Track]:
    places = rng.normal(0, 5e3, (500, 2))
    for _ in range(n):
        between = rng.uniform(3_600, 28 * _DAY_S - 3_600, rng.integers(3, 39))
        t = np.sort(
            np.concatenate([rng.uniform(0, 3_600, 1), between, 28 * _DAY_S - rng.uniform(0, 3_600, 1)])
        )
        x, y = places[rng.integers(0, len(places), len(t))].T
        yield t, x, y


TRACKS: dict[str, Callable[[np.random.Generator, int], Iterator[Track]]] = {
    "ships": ships,
    "rates": rates,
    "walkers": walkers,
    "check-ins": check_ins,
}
COMMANDS = {
    "ships": ["--method", "swap-locations", "--k", "3", "--time-threshold", "6h", "--research-seed", "1"],
    "rates": ["--method", "w4m", "--k", "2", "--research-seed", "1"],
    "walkers": [],
    "check-ins": ["--method", "nwa", "--k", "2", "--pi", "12h", "--research-seed", "1"],
}


GOALS = {  # a quarter of what was measured first, or of where it was stopped
    "ships": "31 CPU s, 1.3 GB",
    "rates": "32 CPU s, 0.7 GB",
    "walkers": "125 CPU s",
    "check-ins": "0.5 GB",
}


def write(data: str, share: float, target: Path) -> None:
    people = max(round(_SIZES[data] * share), 5)
    tracks = list(TRACKS[data](np.random.default_rng(_SEEDED), people))
    t, x, y = (np.concatenate(column) for column in zip(*tracks, strict=True))
    wide = _M_A_DEGREE * np.cos(np.radians(_AT[1]))
    who = np.repeat(np.arange(len(tracks)), [len(track[0]) for track in tracks])
    seconds = np.rint(1.7e9 + t).astype(np.int64)
    lat, lon = _AT[1] + y / _M_A_DEGREE, _AT[0] + x / wide
    pq.write_table(pa.table({"user_id": who, "timestamp": seconds, "lat": lat, "lon": lon}), target)


def measured(arguments: list[str]) -> str:
    """Seconds, CPU seconds and peak of a command of its own."""
    given = [sys.executable, "-m", "shoal", *arguments, "--quiet"]
    begin = perf_counter()
    process = subprocess.Popen(given, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(given)} ended with {os.waitstatus_to_exitcode(status)}")
    seconds, cpu_s = perf_counter() - begin, used.ru_utime + used.ru_stime
    return f"{seconds:.1f} | {cpu_s:.1f} | {used.ru_maxrss / 1024:,.0f}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", choices=tuple(TRACKS), nargs="+", default=list(TRACKS))
    options.add_argument("--share", type=float, default=1.0, help="of the people; the goals are for all")
    options.add_argument("--folder", type=Path, help="where the data stay; default: a folder for now")
    asked = options.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # so that all commands use one thread
    with tempfile.TemporaryDirectory() as now:
        folder = asked.folder or Path(now)
        print("| data | seconds | CPU s | peak, MiB | goal for all |\n|---|---|---|---|---|", flush=True)
        for data in asked.data:
            source = folder / f"{data}.parquet"
            if not source.exists():
                write(data, asked.share, source)
            command = ["assess", str(source)]
            if COMMANDS[data]:
                release = str(Path(now) / data)
                command = ["anonymize", str(source), "--output", release, *COMMANDS[data]]
            print(f"| {data}, {command[0]} | {measured(command)} | {GOALS[data]} |", flush=True)


if __name__ == "__main__":
    main()
