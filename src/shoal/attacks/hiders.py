"""Who is in a record for a while: the people that hide its owner, as raw data and boxes show them.

A release of hiding sets does not say who hides whom, and need not: somebody hides the owner of a record
through a window of time where its boxes hold all of her samples and each has one of them. She sees that too.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget
from shoal.attacks.victims import Victims
from shoal.kernels.insider import find_sharers
from shoal.model.claims import KteAnonymity
from shoal.runtime.arrays import Integers, read_only

_DRAWS: Final = 8  # windows that are tried for one in which somebody hides the owner


@dataclass(frozen=True, eq=False, kw_only=True)
class Shared:
    """A window of a record, in slots, the rows [b] of its boxes there, and who shares them.

    through: who is in the record all through the window; beside: who is through another that overlaps it.
    """

    begin: int
    end: int
    rows: Integers
    through: Integers
    beside: Integers


class Hiders:
    """Who hides whom. Windows have the claim's length, tau and epsilon, or all slots where hiders stay."""

    def __init__(self, evaluation: Evaluation[BoxTarget], claim: KteAnonymity, inside: Victims) -> None:
        self.target, self.known = evaluation.target, inside.known
        slot_s = self.known.snapped_grid().slot_s
        self.inside = np.zeros(self.known.n_subjects, dtype=np.bool_)
        self.inside[inside.subjects] = True
        self.order = np.argsort(self.known.t, kind="stable")
        self.times = self.known.t[self.order]
        self.owner = np.repeat(np.arange(self.known.n_subjects), self.known.lengths)
        self.first = int(evaluation.start)
        slots = int(self.known.t.max()) + 1 - self.first
        self.epoch = slots if claim.hiders_stay else round(claim.epsilon_s / slot_s)
        self.width = 1 if claim.hiders_stay else round(claim.tau_s / claim.epsilon_s) + 1
        self.windows = max(-(-slots // self.epoch) - self.width, 0) + 1

    def drawn(self, record: int, without: int, rng: np.random.Generator) -> Shared:
        """A window of a record in which somebody else is in it, and all who are; of several draws the last.

        without: the person who does not count.
        """
        boxes = self.target.record(record)
        for begin in self._windows(boxes, rng):
            through = self._in_all(boxes, begin)
            through = through[through != without]
            if len(through):
                break
        steps = self.epoch * np.arange(1 - self.width, self.width)
        others = np.concatenate([self._in_all(boxes, int(begin + step)) for step in steps.tolist()])
        return Shared(
            begin=begin,
            end=begin + self.epoch * self.width,
            rows=self._inside(boxes, begin),
            through=through,
            beside=np.setdiff1d(others, np.append(through, without)),
        )

    def _inside(self, boxes: Integers, begin: int) -> Integers:
        """The rows of boxes that lie in the window from here on."""
        return np.flatnonzero((boxes[:, 0] >= begin) & (boxes[:, 1] <= begin + self.epoch * self.width))

    def _windows(self, boxes: Integers, rng: np.random.Generator) -> list[int]:
        """Where some windows begin that hold a box of the record, drawn at random."""
        drawn = boxes[rng.permutation(len(boxes))[:_DRAWS], 0]
        epochs = (drawn - self.first) // self.epoch - rng.integers(0, self.width, len(drawn))
        begins = self.first + np.clip(epochs, 0, self.windows - 1) * self.epoch
        found: list[int] = (np.unique(begins) if self.windows == 1 else begins).tolist()
        return found

    def _in_all(self, boxes: Integers, begin: int) -> Integers:
        """Who has a sample in each box of the window from here on, and no sample outside them; ascending."""
        end, boxes = begin + self.epoch * self.width, boxes[self._inside(boxes, begin)]
        if not len(boxes):
            return np.empty(0, dtype=np.int64)
        boxes = boxes[np.argsort(boxes[:, 0])]
        shortest = boxes[np.argmin(boxes[:, 1] - boxes[:, 0])]
        rows = self.order[slice(*np.searchsorted(self.times, shortest[:2]).tolist())]
        there = (self.known.x[rows] >= shortest[2]) & (self.known.x[rows] < shortest[4])
        there &= (self.known.y[rows] >= shortest[3]) & (self.known.y[rows] < shortest[5])
        asked = np.unique(self.owner[rows[there]])
        asked = asked[self.inside[asked]]
        shares = np.empty(len(asked), dtype=np.bool_)
        find_sharers(
            read_only(self.known.offsets),
            read_only(self.known.t),
            read_only(self.known.x),
            read_only(self.known.y),
            asked,
            boxes,
            begin,
            end,
            shares,
        )
        return np.asarray(asked[shares])
