"""k-merge: the least costly way to publish k trajectories as one, each box with a sample of all (kte-anonymity.txt, Sec. III-D)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.kernels.k_merge import best_partition
from shoal.measures.stretch import trajectories_of_arrays
from shoal.model.hulls import hulls_of
from shoal.model.release import Boxes
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.arrays import Integers


def k_merge(
    fingerprints: Trajectories | Sequence[npt.ArrayLike], grid: Grid | None = None
) -> tuple[npt.NDArray[Any], int]:
    """The optimal generalized trajectory of k fingerprints, and its cost in slots times cells.

    fingerprints: Trajectories, all of whose subjects are merged, on a grid of their own; or arrays [m, 3] of
    (t, x, y) in seconds and meters, snapped to ``grid`` (default 60 s, 100 m). Returns boxes [z, 6] of
    (t_start, t_end, x_min, y_min, x_max, y_max) in the same units, disjoint in time. Raises MisuseError when
    one has no sample.
    """
    if isinstance(fingerprints, Trajectories):
        together, grid = fingerprints, fingerprints.snapped_grid()
    else:
        grid = grid or Grid()
        together = trajectories_of_arrays(fingerprints, grid)
    boxes, cost = merge_members(together, np.arange(together.n_subjects))
    units = np.array([grid.slot_s] * 2 + [grid.cell_m] * 4)
    return np.stack(boxes.columns(), axis=1) * units, cost


def merge_members(original: Trajectories, members: Integers) -> tuple[Boxes, int]:
    """The boxes of the cheapest partition of these subjects' raw samples into runs complete for all of them, and its cost (Eq. 7)."""
    own = [original.samples_of(int(member)) for member in members]
    t, x, y = (np.concatenate(columns) for columns in zip(*own, strict=True))
    owner = np.repeat(np.arange(len(own)), [len(columns[0]) for columns in own])
    order = np.argsort(t, kind="stable")
    t, x, y, owner = t[order], x[order], y[order], owner[order]
    first, _, cost = best_partition(t, x, y, owner, len(own))
    return hulls_of(Boxes.of_samples(t, x, y), first), int(cost)
