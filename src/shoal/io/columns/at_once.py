"""People in two places at one time: one id, or one file, may stand for several people."""

from typing import Final

import numpy as np

from shoal.io.columns.time_text import SECOND, Micros
from shoal.io.columns.values import Codes
from shoal.runtime.arrays import Floats, Integers

FEW: Final = 0.1  # of the positions may lie elsewhere at the same time
_FAR_M: Final = 1000.0
_METERS_PER_DEGREE: Final = 111_195.0
_MOST_ROWS: Final = 1 << 18
_MIXED: Final = 2_654_435_761  # Knuth's multiplier: a sample of times with all positions of each


class PlacesAtOnce:
    """Counts positions that are far from another one of the same person and time, in a sample of times.

    People are compared within a piece: their codes hold there alone.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[Codes, Micros, Floats, Floats]] = []
        self._every = 1
        self._counts: Integers = np.zeros(2, dtype=np.int64)  # apart, looked at

    def add(self, code: Codes, t: Micros, x_m: Floats, y_m: Floats) -> None:
        """Add one batch, in meters."""
        self._rows.append((code, t, x_m, y_m))
        while sum(len(part[0]) for part in self._rows) > _MOST_ROWS and self._every < _MIXED:
            self._rows = [self._thinned(part) for part in self._rows]
            self._every *= 2

    def _thinned(self, part: tuple[Codes, Micros, Floats, Floats]) -> tuple[Codes, Micros, Floats, Floats]:
        some = (part[1] // SECOND * _MIXED >> 16) % (2 * self._every) == 0
        return part[0][some], part[1][some], part[2][some], part[3][some]

    def join(self, later: "PlacesAtOnce") -> None:
        """Add the counts of another piece."""
        self._counts += later.counts()

    def counts(self) -> Integers:
        """Positions that are far from another one of the same person and time, and all in the sample."""
        if not self._rows:
            return self._counts
        code, t, x_m, y_m = (np.concatenate(values) for values in zip(*self._rows, strict=True))
        order = np.lexsort((x_m, t, code))
        code, t, x_m, y_m = code[order], t[order], x_m[order], y_m[order]
        far = (np.diff(code) == 0) & (np.diff(t) == 0) & (np.hypot(np.diff(x_m), np.diff(y_m)) > _FAR_M)
        apart = np.append(far, False) | np.append(False, far)
        counts: Integers = self._counts + np.array([np.count_nonzero(apart), len(code)])
        return counts

    def has_many(self) -> bool:
        """Whether more positions lie elsewhere at the same time than by chance."""
        apart, looked_at = self.counts()
        return bool(apart > FEW * looked_at)


def in_meters(first: Floats, second: Floats, *, degrees: bool) -> tuple[Floats, Floats]:
    """Degrees as meters, good enough to tell far from near; meters as they are."""
    if not degrees:
        return first, second
    return first * np.cos(np.radians(second)) * _METERS_PER_DEGREE, second * _METERS_PER_DEGREE
