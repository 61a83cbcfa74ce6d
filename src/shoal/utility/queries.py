"""Range queries: how many people were in random areas and intervals, asked of raw data and of a release.

The estimates come from ``shoal.measures.query``.
"""

from typing import Final

import numpy as np

from shoal.measures.query import Estimate, Region, people_in_each
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

_QUERIES: Final = 200
# The same questions to every release of the same data, so that figures can be compared.
_QUERY_SEED: Final = 20_889


def ask(original: Trajectories, release: Release, run: Run) -> tuple[list[float], list[Estimate]]:
    """[200] the true answers and [200] what the release lets one estimate, both on one grid.

    Each query is a square and an interval around a random raw sample, of a random 5 to 25 % of the data's
    extent, on cells and slots. No true answer is 0, as each region holds a sample.
    """
    rng = np.random.default_rng(_QUERY_SEED)
    grid = original.snapped_grid()
    side = max(int(np.ptp(original.x)), int(np.ptp(original.y)), 1)
    duration = max(int(np.ptp(original.t)), 1)
    regions = []
    for row in rng.integers(0, original.n_samples, _QUERIES):
        half, span = (max(1, int(extent * rng.uniform(0.05, 0.25) / 2)) for extent in (side, duration))
        t, x, y = int(original.t[row]), int(original.x[row]), int(original.y[row])
        regions.append(
            Region(
                x_min_m=(x - half) * grid.cell_m,
                x_max_m=(x + half + 1) * grid.cell_m,
                y_min_m=(y - half) * grid.cell_m,
                y_max_m=(y + half + 1) * grid.cell_m,
                t_start_s=(t - span) * grid.slot_s,
                t_end_s=(t + span + 1) * grid.slot_s,
            )
        )
    true = [estimate.expected for estimate in people_in_each(original, regions, run)]
    return true, people_in_each(release, regions, run)
