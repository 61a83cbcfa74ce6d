"""The closest pairs by a full matrix of efforts.

The slow, obvious answer that the bands of `methods/banded_pairs.py` must give too.

Efforts come from the kernel for boxes, which tests/test_stretch.py holds against the paper's equations; the
bands take theirs from other kernels.
"""

import numpy as np
import numpy.typing as npt

from shoal.kernels.stretch import box_effort
from shoal.measures.stretch import Caps, samples_of_boxes
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.greedy import Ahead
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories


def all_efforts(original: Trajectories, caps: Caps | None = None) -> npt.NDArray[np.float64]:
    """[n, n] efforts of all pairs, in units of 1 / (2 * half); the diagonal is infinite."""
    scale = (caps or Caps()).scale_on(original.snapped_grid())
    everybody = [samples_of_boxes(Boxes.of_samples(*own)) for own in original]
    efforts = np.full((len(everybody), len(everybody)), np.inf)
    for i, a in enumerate(everybody):
        for j in range(i + 1, len(everybody)):
            efforts[i, j] = efforts[j, i] = box_effort(a, 1, everybody[j], 1, scale, np.inf)
    return efforts


class EffortMatrix:
    """Every effort in one matrix; those of crowds that are gone are infinite."""

    def __init__(self, original: Trajectories, caps: Caps) -> None:
        self._scale = caps.scale_on(original.snapped_grid())
        self._efforts = all_efforts(original, caps)
        self._crowds = {
            i: EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*own))
            for i, own in enumerate(original)
        }

    def closest(self) -> tuple[int, int] | None:
        a, b = divmod(
            int(np.argmin(self._efforts)), len(self._efforts)
        )  # the first of equals; the matrix is symmetric, so a < b
        return (a, b) if len(self._crowds) > 1 else None

    def retire(self, a: int, b: int) -> None:
        for slot in (a, b):
            del self._crowds[slot]
            self._efforts[slot] = self._efforts[:, slot] = np.inf

    def enter(self, slot: int, crowd: EquivalenceClass, ahead: Ahead) -> None:
        own = samples_of_boxes(crowd.boxes)
        for other, known in self._crowds.items():
            boxes = samples_of_boxes(known.boxes)
            effort = box_effort(own, len(crowd.members), boxes, len(known.members), self._scale, np.inf)
            self._efforts[slot, other] = self._efforts[other, slot] = effort
        self._crowds[slot] = crowd
