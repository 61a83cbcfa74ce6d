"""What tight boxes tell of the samples in them: each side is touched, by somebody.

A box is the hull of the samples that it stands for. Whoever knows some of these samples knows
which sides the others must touch. Corners of all boxes of a record vote, because people come back to places.
"""

from dataclasses import dataclass

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget
from shoal.kernels.hull_samples import judge_named, most_voted, possible_sides
from shoal.runtime.arrays import Flags, Floats, Integers


def named_samples(boxes: Integers, known: Integers) -> Integers:
    """int64 [b, 3] (t, x, y): for each box [b, 6] one sample that is not among the known ones [s, 3].

    On each axis: a side that no known sample touches, the lower one of two; where known samples touch both,
    any coordinate, at first that in the middle of theirs. Among the cells that are then possible, the one
    for which most boxes speak: the possible corners of each share one vote, the first of equals counts.
    """
    first = np.empty((len(boxes), 3), dtype=np.int64)
    second, bound = np.empty_like(first), np.empty(first.shape, dtype=np.bool_)
    possible_sides(boxes, known, first, second, bound)
    cells, votes = _votes(first[:, 1:], second[:, 1:], np.asarray(bound[:, 1:].all(axis=1)))
    best = np.empty(len(boxes), dtype=np.int64)
    most_voted(boxes, first, second, bound, cells, votes, best)
    told = best >= 0
    first[told, 1:] = cells[best[told]]
    return first


@dataclass(frozen=True, eq=False, kw_only=True)
class Judged:
    """How much of what is named is right.

    by_box: [4] shares of boxes for which a sample in the box is named, and for which its cell is; then both
    for who names a cell and slot of the box at random. by_sample: [2] the share of the samples that are named
    exactly in a box that holds them, and the same for who guesses. errors: [s', 2] of each sample that a box
    holds, how far what is named there is from it, in cells and slots; of several boxes the nearest in place.
    """

    by_box: Floats
    by_sample: Floats
    errors: Floats


def judged(boxes: Integers, named: Integers, samples: Integers) -> Judged:
    """Hold what is named [b, 3] in boxes [b, 6] against the true samples [s, 3], at least one."""
    x, y = (samples[:, axis] - samples[:, axis].min() for axis in (1, 2))
    _, cell = np.unique(x * (int(y.max()) + 1) + y, return_inverse=True)
    by_box, by_sample = np.empty((len(boxes), 4)), np.empty((len(samples), 2))
    errors = np.empty((len(samples), 2))
    judge_named(boxes, named, samples, cell.ravel(), by_box, by_sample, errors)
    return Judged(
        by_box=by_box.mean(axis=0),
        by_sample=np.minimum(by_sample, 1).mean(axis=0),
        errors=errors[np.isfinite(errors[:, 0])],
    )


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


def _votes(first: Integers, second: Integers, corners_known: Flags) -> tuple[Integers, Floats]:
    """Cells [c, 2] in ascending order and their votes: the possible corners of each box share one."""
    xs, ys = ([one[corners_known, axis] for one in (first, second)] for axis in (0, 1))
    x = np.concatenate([one for one in xs for _ in ys])
    y = np.concatenate([other for _ in xs for other in ys])
    if not len(x):
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    width = int(np.ptp(y)) + 1
    code, number = np.unique((x - x.min()) * width + y - y.min(), return_inverse=True)
    cells = np.column_stack([code // width + x.min(), code % width + y.min()])
    return cells, np.bincount(number.ravel(), minlength=len(cells)) / 4
