"""Cut time into epochs; a piece is what a subject did in one (Gramaglia et al. 2017, Sec. III-E)."""

from dataclasses import dataclass

import numpy as np

from shoal.kernels.hiding import Pieces
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Epochs:
    """``count`` epochs in windows of ``width``; piece p is what subject[p] did in epoch[p]."""

    count: int
    width: int
    subject: Integers  # with ``epoch``: of each piece, ordered by both
    epoch: Integers
    pieces: Pieces
    by_epoch: Integers  # pieces by epoch; those of epoch e are starts[e] to starts[e + 1]
    starts: Integers

    @property
    def samples(self) -> Integers:
        """int64 [p]: samples of each piece."""
        return self.pieces.end - self.pieces.first

    @property
    def n_windows(self) -> int:
        """Number of windows: one starts at every epoch with enough after it."""
        return self.count - self.width + 1

    def is_empty(self, window: int) -> bool:
        """Whether a window has no samples."""
        return bool(self.starts[window] == self.starts[window + self.width])

    def pieces_in(self, window: int) -> tuple[Integers, Integers]:
        """Subjects with samples [n], ascending, and their pieces [n, width], -1 for none."""
        inside = self.by_epoch[self.starts[window] : self.starts[window + self.width]]
        subjects, row = np.unique(self.subject[inside], return_inverse=True)
        table = np.full((len(subjects), self.width), -1, dtype=np.int64)
        table[row, self.epoch[inside] - window] = inside
        return subjects, table


def cut_into_epochs(original: Trajectories, epoch_slots: int, width: int) -> Epochs:
    """Epochs of ``epoch_slots``; data no longer than a window is a single one."""
    slot = original.t - original.t.min()
    if int(slot.max()) < epoch_slots * width:
        epoch_slots, width = int(slot.max()) + 1, 1
    epoch_of_sample = slot // epoch_slots
    subject_of_sample = np.repeat(np.arange(original.n_subjects), original.lengths)
    fresh = np.ones(original.n_samples, dtype=np.bool_)
    fresh[1:] = (np.diff(epoch_of_sample) != 0) | (np.diff(subject_of_sample) != 0)
    first = np.flatnonzero(fresh)
    end = np.append(first[1:], original.n_samples)
    epoch = epoch_of_sample[first]
    count = int(epoch.max()) + 1
    return Epochs(
        count=count,
        width=width,
        subject=subject_of_sample[first],
        epoch=epoch,
        pieces=Pieces(original.t, original.x, original.y, first, end),
        by_epoch=np.argsort(epoch, kind="stable"),
        starts=np.searchsorted(np.sort(epoch), np.arange(count + 1)),
    )
