"""What tight boxes tell of the samples in them: each side is touched, by somebody.

A box is the hull of the samples that it stands for. Whoever knows some of these samples knows
which sides the others must touch. Corners of all boxes of a record vote, because people come back to places.
"""

from dataclasses import dataclass

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget
from shoal.kernels.hull_sides import choose_cells, samples_of_named, untouched_sides
from shoal.runtime.arrays import Flags, Floats, Integers


def named_samples(boxes: Integers, known: Integers) -> Integers:
    """int64 [b, 3] (t, x, y): for each box [b, 6] one sample that is not among the known ones [s, 3].

    On each axis: a side that no known sample touches, the lower one of two; where known samples touch both,
    any coordinate, at first that in the middle of theirs. Among the cells that are then possible, the one
    for which most boxes speak: the possible corners of each share one vote, the first of equals counts.
    """
    first, second = np.empty((2, len(boxes), 3), dtype=np.int64)
    bound = np.empty((len(boxes), 3), dtype=np.bool_)
    untouched_sides(boxes, _by_time(known), first, second, bound)
    cells, votes = _votes(first[:, 1:], second[:, 1:], bound[:, 1] & bound[:, 2])
    named = first.copy()
    choose_cells(boxes, first, second, bound, cells, votes, named)
    return named


def share_right(boxes: Integers, named: Integers, samples: Integers) -> Floats:
    """[4]: shares of boxes for which a sample [s, 3] in the box is named, and for which its cell is.

    Then both again for who names a cell and slot of the box at random.
    """
    samples = _by_time(samples)
    cell_of, _ = _numbered(samples[:, 1:])
    found = np.empty((len(boxes), 4), dtype=np.int64)
    samples_of_named(boxes, named, samples, cell_of, found)
    area = (boxes[:, 4] - boxes[:, 2]) * (boxes[:, 5] - boxes[:, 3])
    chances = found[:, 2] / (area * (boxes[:, 1] - boxes[:, 0])), found[:, 3] / area
    return np.array([one.mean() for one in (found[:, 0], found[:, 1], *chances)])


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Who shares equal records. of_class: for each class of the target its people inside, ascending."""

    of_class: list[Integers]
    known: Evaluation[BoxTarget]

    @classmethod
    def of(cls, evaluation: Evaluation[BoxTarget]) -> "Classes":
        """The classes of a target; without anybody inside, they are empty."""
        target, inside = evaluation.target, evaluation.around.inside
        members = np.empty(0, dtype=np.int64) if inside is None else inside.subjects
        of_member = target.class_of[members if inside is None else inside.own]
        order = np.argsort(of_member, kind="stable")
        ends = np.cumsum(np.bincount(of_member, minlength=int(target.class_of.max()) + 1))[:-1]
        return cls(of_class=np.split(members[order], ends), known=evaluation)

    def members(self, record: int) -> Integers:
        """The people whose record equals this one, ascending."""
        return self.of_class[int(self.known.target.class_of[record])]

    def samples(self, subjects: Integers) -> Integers:
        """int64 [s, 3]: the samples of these people inside."""
        inside = self.known.around.inside
        if inside is None or not len(subjects):
            return np.empty((0, 3), dtype=np.int64)
        return np.concatenate([np.column_stack(inside.known.samples_of(one)) for one in subjects.tolist()])


def _by_time(samples: Integers) -> Integers:
    """The samples [s, 3], ascending in time."""
    return np.ascontiguousarray(samples[np.argsort(samples[:, 0], kind="stable")])


def _votes(first: Integers, second: Integers, corners_known: Flags) -> tuple[Integers, Floats]:
    """Cells [c, 2], ascending, and their votes: the possible corners of each box share one."""
    x, y = (np.stack([first[corners_known, axis], second[corners_known, axis]]) for axis in (0, 1))
    corners = np.stack(np.broadcast_arrays(x[:, None], y[None, :]), axis=-1).reshape(-1, 2)
    number, cells = _numbered(corners)
    return cells, np.bincount(number, minlength=len(cells)) / 4


def _numbered(cells: Integers) -> tuple[Integers, Integers]:
    """(the number [n] of each cell among the different ones, these [c, 2], ascending)."""
    order = np.lexsort((cells[:, 1], cells[:, 0]))
    ascending = cells[order]
    fresh = np.ones(len(cells), dtype=np.bool_)
    fresh[1:] = (np.diff(ascending, axis=0) != 0).any(axis=1)
    number = np.empty(len(cells), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    return number, np.ascontiguousarray(ascending[fresh])
