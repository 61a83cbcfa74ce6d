"""k-merge: publish k trajectories as one at least cost (Gramaglia et al. 2017, Sec. III-D)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shoal.kernels.k_merge import best_partition
from shoal.kernels.weighed_runs import Tracks, boxes_of_crowds
from shoal.measures.stretch import trajectories_of_arrays
from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

_TOGETHER: Final = 256  # crowds that a thread takes at once


@typed
def k_merge(fingerprints: Trajectories | Sequence[npt.ArrayLike]) -> tuple[npt.NDArray[Any], int]:
    """The optimal generalized trajectory of k trajectories.

    Parameters
    ----------
    fingerprints
        Trajectories, all of whose subjects are merged; or arrays [m, 3] of (t, x, y) in seconds and meters,
        which are put on slots of 60 s and cells of 100 m.

    Returns
    -------
    boxes
        [z, 6] of (t_start, t_end, x_min, y_min, x_max, y_max) in seconds and meters, disjoint in time.
    cost
        In slots times cells; a single sample costs 2 (Eq. 7).

    Raises
    ------
    MisuseError
        When a fingerprint has no sample.

    References
    ----------
    Gramaglia et al. 2017, Alg. 1 and Eq. 4-7.

    Examples
    --------
    >>> import shoal
    >>> boxes, cost = shoal.k_merge([[[0, 0, 0], [600, 500, 0]], [[60, 100, 0], [660, 500, 0]]])
    >>> len(boxes), cost
    (2, 10)
    """
    together = (
        fingerprints if isinstance(fingerprints, Trajectories) else trajectories_of_arrays(fingerprints)
    )
    grid = together.snapped_grid()
    boxes, cost = merge_members(together, np.arange(together.n_subjects))
    units = np.array([grid.slot_s] * 2 + [grid.cell_m] * 4)
    return np.stack(boxes.columns(), axis=1) * units, cost


def merge_members(original: Trajectories, members: Integers) -> tuple[Boxes, int]:
    """Boxes and cost of the cheapest partition into complete runs."""
    t, x, y, owner = samples_by_time(original, members)
    first, _, cost = best_partition(t, x, y, owner, len(members))
    return Boxes.of_samples(t, x, y).hulls(first), int(cost)


def merge_crowds(original: Trajectories, crowds: Sequence[Integers], run: Run) -> Iterator[Boxes]:
    """The boxes of each crowd, as ``merge_members``, on all threads."""
    tracks = Tracks(original.offsets, original.t, original.x, original.y)

    def boxes_of(some: Sequence[Integers]) -> list[Boxes]:
        begins = np.cumsum([0, *map(len, some)])
        columns, starts = boxes_of_crowds(tracks, np.concatenate(some), begins)
        return [
            Boxes(**dict(zip(BOX_COLUMNS, columns[:, first:end], strict=True)))
            for first, end in pairwise(starts.tolist())
        ]

    parts = [crowds[first : first + _TOGETHER] for first in range(0, len(crowds), _TOGETHER)]
    for part in run.map(boxes_of, parts):
        yield from part


def samples_by_time(
    original: Trajectories, members: Integers
) -> tuple[Integers, Integers, Integers, Integers]:
    """Samples (t, x, y) by ascending time, and each owner's index in ``members``."""
    samples = [original.samples_of(int(member)) for member in members]
    t, x, y = (np.concatenate(columns) for columns in zip(*samples, strict=True))
    owner = np.repeat(np.arange(len(samples)), [len(columns[0]) for columns in samples])
    order = np.argsort(t, kind="stable")
    return t[order], x[order], y[order], owner[order]
