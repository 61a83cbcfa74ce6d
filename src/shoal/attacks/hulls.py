"""What tight boxes tell of the samples in them: each side is touched, by somebody.

A box is the hull of the samples that it stands for. Whoever knows some of these samples knows
which sides the others must touch. Corners of all boxes of a record vote, because people come back to places.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget
from shoal.kernels.insider import N_SHARES, Readings, guess_in_records
from shoal.runtime.arrays import Floats, Integers

_PART: Final = 50


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A record that somebody reads: its boxes [b, 6], and whose samples inside are known, as positions.

    true: int64 [s, 3], the samples that what is named is held against, ascending in time; at least one.
    rows: which of the boxes count; None = all.
    """

    boxes: Integers
    true: Integers
    known: Integers
    rows: Integers | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Read:
    """How much of what is named is right: with what is known, and with nothing, in this order.

    shares: float64 [2, r, 6] for each reading, of the boxes for which a sample in the box is named, and for
    which its cell is; both for who names a cell and slot of the box at random; of the samples that are named
    in a box that holds them, and the same for who guesses. errors: float64 [2, s, 2], how far in cells and
    slots what is named is from each sample; of several boxes the nearest in place, infinite without any.
    """

    shares: Floats
    errors: Floats


def read_all(evaluation: Evaluation[BoxTarget], classes: "Classes", readings: Sequence[Reading]) -> Read:
    """Name a sample in each box of every reading, and say how much of it is right, on all threads."""

    def part(begin: int) -> Read:
        return read(readings[begin : begin + _PART], classes.samples)

    label = f"reading boxes ({evaluation.label})"
    parts = list(evaluation.run.map(part, range(0, len(readings), _PART), label=label))
    return Read(
        shares=np.concatenate([one.shares for one in parts], axis=1),
        errors=np.concatenate([one.errors for one in parts], axis=1),
    )


def read(readings: Sequence[Reading], samples_of: Callable[[Integers], Integers]) -> Read:
    """The same in the calling thread; samples_of: gives the samples of people inside, [s, 3]."""
    known, true = [samples_of(one.known) for one in readings], [one.true for one in readings]
    counted = [np.full(len(one.boxes), one.rows is None) for one in readings]
    for one, own in zip(readings, counted, strict=True):
        if one.rows is not None:
            own[one.rows] = True
    shares = np.empty((2, len(readings), N_SHARES))
    errors = np.empty((2, sum(map(len, true)), 2))
    boxes = [one.boxes for one in readings]
    table = Readings(
        _offsets(boxes),
        np.concatenate(boxes),
        np.concatenate(counted),
        _offsets(known),
        np.concatenate(known),
        _offsets(true),
        np.concatenate(true),
    )
    guess_in_records(table, shares, errors)
    return Read(shares=shares, errors=errors)


def _offsets(parts: Sequence[Integers]) -> Integers:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


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
