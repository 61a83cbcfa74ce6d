"""A synthetic town with moving objects, in place of Brinkhoff's generator.

As in Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 7.1: ten objects start at each of 100 steps, in six
classes of speed, and drive a shortest path. The map is a jittered grid instead of Oldenburg's streets.
"""

from typing import Final

import numpy as np

from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories

SIDE: Final = 32  # corners along one side
BLOCK: Final = 800.0  # units of the map
STEPS: Final = 100
SPEEDS: Final = (25.0, 40.0, 60.0, 80.0, 100.0, 120.0)  # units a step
_MAP_SEED: Final = 12  # one map for all seeds


def town() -> StreetGraph:
    """A jittered grid."""
    x, y = _corners()
    at = np.arange(SIDE * SIDE)
    east, north = at[at % SIDE < SIDE - 1], at[at < SIDE * (SIDE - 1)]
    u, v = np.concatenate([east, north]), np.concatenate([east + 1, north + SIDE])
    return StreetGraph.straight(x, y, u, v)


def drives(n: int, draw: np.random.Generator) -> Trajectories:
    """``n`` objects that start evenly over the steps.

    Times are seconds, one per step; places lie on the streets of ``town``.
    """
    x, y = _corners()
    rows: list[tuple[str, float, float, float]] = []
    for number in range(n):
        begin = number * STEPS // n
        from_x, from_y, to_x, to_y = draw.integers(0, SIDE, 4).tolist()
        way = _way(from_x, from_y, to_x, to_y, draw)
        length = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x[way]), np.diff(y[way])))])
        speed = SPEEDS[int(draw.integers(len(SPEEDS)))]
        gone = np.arange(STEPS - begin) * speed
        gone = gone[gone <= length[-1]]
        places = zip(
            begin + np.arange(len(gone)), np.interp(gone, length, x[way]), np.interp(gone, length, y[way]),
            strict=True,
        )  # fmt: skip
        rows += [(f"o{number:05d}", float(t), float(a), float(b)) for t, a, b in places]
    ids, t, east, north = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, np.array(t), np.array(east), np.array(north))


def _corners() -> tuple[np.ndarray, np.ndarray]:
    jitter = np.random.default_rng(_MAP_SEED).normal(0, BLOCK / 8, (2, SIDE * SIDE))
    at = np.arange(SIDE * SIDE)
    return at % SIDE * BLOCK + jitter[0], at // SIDE * BLOCK + jitter[1]


def _way(from_x: int, from_y: int, to_x: int, to_y: int, draw: np.random.Generator) -> np.ndarray:
    """With random turns."""
    along_x = np.concatenate([np.ones(abs(to_x - from_x), bool), np.zeros(abs(to_y - from_y), bool)])
    order = draw.permutation(len(along_x))
    move_x = np.where(along_x, np.sign(to_x - from_x), 0)[order]
    move_y = np.where(along_x, 0, np.sign(to_y - from_y))[order]
    at_x = from_x + np.concatenate([[0], np.cumsum(move_x)])
    at_y = from_y + np.concatenate([[0], np.cumsum(move_y)])
    return np.asarray(at_y * SIDE + at_x, dtype=np.int64)
