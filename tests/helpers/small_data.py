"""Random small populations for property tests.

Few values, so that ties, equal lengths and identical people come up often.
"""

import numpy as np
from hypothesis import strategies as st

from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories


def population(
    lengths: list[int], seed: int, *, places: int = 6, step_cells: int = 30, slots: int = 3000
) -> Trajectories:
    """A seeded population: each subject's samples at a few shared places, at random slots."""
    rng = np.random.default_rng(seed)
    ids = [f"p{i:03d}" for i, length in enumerate(lengths) for _ in range(length)]
    t = rng.integers(0, slots, len(ids))
    x, y = rng.integers(0, places, (2, len(ids))) * step_cells
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


@st.composite
def populations(draw: st.DrawFn, *, least: int = 2, most: int = 7, longest: int = 6) -> Trajectories:
    """A population in which everything is small.

    Ties in effort, equal lengths and identical people are common.
    """
    n = draw(st.integers(least, most))
    far = draw(st.sampled_from([3, 40, 300]))
    late = draw(st.sampled_from([4, 90, 2000]))
    samples = st.tuples(st.integers(0, late), st.integers(-far, far), st.integers(-far, far))
    ids, rows = [], []
    for i in range(n):
        own = draw(st.lists(samples, min_size=1, max_size=longest))
        ids += [f"p{i:02d}"] * len(own)
        rows += own
    t, x, y = np.array(rows).T
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def people(*ids: str) -> Trajectories:
    n = len(ids)
    return Trajectories.from_rows(list(ids), np.arange(n), np.arange(n), np.arange(n), grid=Grid())
