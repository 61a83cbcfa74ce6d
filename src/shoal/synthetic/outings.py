"""Tracks of somebody who goes out from a home and comes back: along streets in blocks, or straight ahead."""

from collections.abc import Iterator
from typing import Final, Literal

import numpy as np

from shoal.runtime.arrays import Floats, Integers

Ways = Literal["streets", "open country"]

_SPEED_M_S: Final = 3.0
_EVERY_S: Final = 5.0
_NOISE_M: Final = 4.0
_BLOCK_M: Final = 90.0
_FAR_M: Final = (1_500.0, 4_000.0)


def outings(n: int, ways: Ways, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Tracks from the home at (0, 0) and back, each (seconds, x, y in meters), a point every five seconds.

    Streets stand in blocks of 90 m, turned by an angle; a way along them turns at random corners.
    """
    turned = rng.uniform(0, np.pi / 2)
    axes = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
    for _ in range(n):
        angle, far = rng.uniform(0, 2 * np.pi), rng.uniform(*_FAR_M)
        target = far * np.array([np.cos(angle), np.sin(angle)])
        if ways == "streets":
            corners = np.rint(axes @ target / _BLOCK_M).astype(np.int64)
            path = (
                np.vstack([_along_streets(corners, rng), _along_streets(corners, rng)[::-1]])
                @ axes
                * _BLOCK_M
            )
        else:
            path = np.array([[0.0, 0.0], target, [0.0, 0.0]])
        yield _walked(path, rng)


def _along_streets(corners: Integers, rng: np.random.Generator) -> Floats:
    """[c, 2]: the corners of a way from (0, 0), one block at a time, in a random order of both directions."""
    steps = [np.array([np.sign(corners[0]), 0.0])] * abs(int(corners[0]))
    steps += [np.array([0.0, np.sign(corners[1])])] * abs(int(corners[1]))
    order = rng.permutation(len(steps))
    return np.vstack([[0.0, 0.0], np.cumsum([steps[place] for place in order], axis=0)])


def _walked(path: Floats, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(path, axis=0).T))])
    at = np.arange(0.0, along[-1], _SPEED_M_S * _EVERY_S)
    x, y = (np.interp(at, along, path[:, side]) + rng.normal(0, _NOISE_M, len(at)) for side in (0, 1))
    return at / _SPEED_M_S, x, y
