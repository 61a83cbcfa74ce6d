"""Which two crowds are closest, from the full matrix of efforts: straightforward, exact, quadratic in memory.

GLOVE's loop knows only ``closest``, ``retire`` and ``enter``, so that another way to find the closest pair can take its place.
A crowd stands in the slot of its first member, which makes slots the canonical order that settles ties (semantics 1.4).
"""

from itertools import pairwise

import numpy as np

from shoal.kernels.row_minima import GONE, least_of_rows, least_pair, offer_column, rows_pointing_at
from shoal.kernels.stretch import Floats, Integers, Samples, box_efforts
from shoal.methods.assembly import Crowd
from shoal.release import Boxes
from shoal.run import Run
from shoal.stretch import Caps, pair_efforts, samples_of_boxes
from shoal.trajectories import Trajectories

_FEWEST_FOR_THREADS = 256


class EffortMatrix:
    """The efforts between all crowds that are still to be merged, one slot each."""

    def __init__(self, original: Trajectories, caps: Caps, run: Run) -> None:
        self._scale = caps.scale_on(original.snapped_grid())
        self._run = run
        self._efforts = pair_efforts(original, caps, run).copy()
        self._living = np.arange(original.n_subjects)
        self._nearest = np.full(original.n_subjects, GONE, dtype=np.int64)
        least_of_rows(self._efforts, self._living, self._living, self._nearest)
        self._sizes = np.ones(original.n_subjects, dtype=np.int64)
        self._starts, self._stops = original.offsets[:-1].copy(), original.offsets[1:].copy()
        raw = Boxes.of_samples(original.t, original.x, original.y)
        self._boxes = Samples(*raw.columns(), raw.t_end)
        self._used = original.n_samples

    def closest(self) -> tuple[int, int] | None:
        """The two slots with the least effort, the smallest of equals; None when fewer than two crowds are left."""
        slot = least_pair(self._efforts, self._living, self._nearest)
        return None if slot == GONE else (slot, int(self._nearest[slot]))

    def retire(self, a: int, b: int) -> None:
        """Take two crowds out."""
        self._living = self._living[(self._living != a) & (self._living != b)]
        orphans = rows_pointing_at(self._living, self._nearest, a, b)
        least_of_rows(self._efforts, orphans, self._living, self._nearest)

    def enter(self, slot: int, crowd: Crowd) -> None:
        """Put a merged crowd into an empty slot and compare it with all others."""
        samples = samples_of_boxes(crowd.boxes)
        row = self.efforts_with(crowd, samples)
        before, after = self._living[self._living < slot], self._living[self._living > slot]
        self._efforts[before, slot], self._efforts[slot, after] = row[before], row[after]
        self._store(slot, samples, len(crowd.members))
        self._living = np.concatenate([before, [slot], after])
        least_of_rows(self._efforts, np.array([slot]), self._living, self._nearest)
        offer_column(self._efforts, slot, self._living, self._nearest)

    def efforts_with(self, crowd: Crowd, samples: Samples) -> Floats:
        """Efforts between a crowd and every living slot, at the slots' positions."""
        row = np.empty(len(self._starts), dtype=np.float64)
        size = len(crowd.members)

        def fill(slots: Integers) -> None:
            box_efforts(samples, size, self._boxes, self._starts, self._stops, self._sizes, slots, self._scale, row)

        if len(self._living) < _FEWEST_FOR_THREADS:
            fill(self._living)
        else:
            cuts = np.linspace(0, len(self._living), self._run.threads + 1).astype(int)
            for _ in self._run.map(fill, [self._living[first:stop] for first, stop in pairwise(cuts)]):
                pass
        return row

    def _store(self, slot: int, samples: Samples, size: int) -> None:
        """Append the crowd's boxes behind those already held."""
        stop = self._used + len(samples.t_start)
        if stop > len(self._boxes.t_start):
            self._boxes = Samples(*(np.resize(column, 2 * stop) for column in self._boxes))
        for column, own in zip(self._boxes, samples, strict=True):
            column[self._used : stop] = own
        self._starts[slot], self._stops[slot], self._sizes[slot] = self._used, stop, size
        self._used = stop
