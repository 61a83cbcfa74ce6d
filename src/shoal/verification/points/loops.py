"""The verifier's own compiled loop over co-located points."""

import numpy as np

from shoal.runtime.arrays import Floats
from shoal.runtime.compiled import compiled


@compiled
def farthest_apart(x: Floats, y: Floats, row: int, delta_m: float, apart: Floats) -> None:
    """Set apart [n] to how far each row is at most, in any column, from ``row``.

    Inf once it is more than delta_m.

    x, y: [n, s]; the first column of x ascends.
    """
    apart[:] = np.inf
    for step in (-1, 1):
        other = row if step < 0 else row + 1
        while 0 <= other < len(x) and abs(x[other, 0] - x[row, 0]) <= delta_m:
            most = 0.0
            for column in range(x.shape[1]):
                most = max(
                    most, np.hypot(x[other, column] - x[row, column], y[other, column] - y[row, column])
                )
                if most > delta_m:
                    most = np.inf
                    break
            apart[other] = most
            other += step
