"""Samples left out so that the boxes of the others shrink: a budget spent where it lowers extents most.

One price of a sample holds for all classes. Each leaves out those whose absence saves more than that, by the
costs that the refinement lowers, without their ramp; the price is as low as the budget allows. Nothing is
drawn by chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE, NONE
from shoal.kernels.omission import OmissionGoal, choose_boxes
from shoal.kernels.weighed_runs import Weights
from shoal.measures.least_extents import widest_cells
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import weights_of
from shoal.methods.k_merge import joined
from shoal.model.extents import LargestExtents
from shoal.model.omission import most_of
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.run import Run

_OF_ONE: Final = 4  # times the share of all samples that one person may lose, unless it is said
_HALF: Final = 0.5
_WORTH: Final = 64  # how often a sample held is worth the largest extents, where boxes must fit
_ROUNDING: Final = 1e-9  # of a quotient of two lengths
_LABEL: Final = "leaving out samples"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be missing: a share of all samples and of all people, and of each person who stays."""

    of_all: float
    of_one: float

    @classmethod
    def of(cls, share: float, of_one: float | None) -> "Budget":
        """A share of all; of one person as given, else 4 times that, and half at most."""
        return cls(of_all=share, of_one=of_one or min(_HALF, float(_OF_ONE * Fraction(repr(share)))))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Crowd:
    """One class's samples. columns: [3, m] x, y, t; owner: [m] whose, in 0..k-1; lengths: [k] of each."""

    members: Integers
    columns: Integers
    owner: Integers
    lengths: Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class _Answer:
    """One class at a price. box_of: [m] each sample's box, NONE = left out; cost: of boxes and these."""

    box_of: Integers
    cost: int

    @property
    def missing(self) -> int:
        """How many samples are in no box."""
        return int(np.count_nonzero(self.box_of == NONE))


def omitted(
    original: Trajectories, start: Sequence[EquivalenceClass], budget: Budget, run: Run
) -> list[EquivalenceClass]:
    """The classes with smaller boxes, some samples in none; whole classes may be missing.

    start: with boxes that are disjoint in time. Without a price that keeps to the budget they stay as they
    are.
    """
    return _Search.on(original, start, run).spent(budget)


def omitted_for_each(
    original: Trajectories, start: Sequence[EquivalenceClass], budgets: Sequence[Budget], run: Run
) -> Iterator[list[EquivalenceClass]]:
    """The same for each budget. What a class does at a price is kept, as long as no person loses too much."""
    search = _Search.on(original, start, run, kept={})
    for budget in budgets:
        yield search.spent(budget) if budget.of_all else list(start)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Search:
    """For the price at which a budget is spent. kept: by price, what each class does if all may lose all."""

    start: Sequence[EquivalenceClass]
    crowds: Sequence[_Crowd]
    wish: OmissionGoal
    prices: Sequence[int]
    run: Run
    kept: dict[int, list[_Answer]] | None

    @classmethod
    def on(
        cls,
        original: Trajectories,
        start: Sequence[EquivalenceClass],
        run: Run,
        kept: dict[int, list[_Answer]] | None = None,
    ) -> "_Search":
        """The search among these classes."""
        weights = weights_of(original, start, ramp=False)
        crowds = [_crowd(original, each.members) for each in start]
        return cls(
            start=start,
            crowds=crowds,
            wish=OmissionGoal(weights=weights, at_first=weights, longest=IMPOSSIBLE),
            prices=_prices(crowds, weights),
            run=run,
            kept=kept,
        )

    def spent(self, budget: Budget) -> list[EquivalenceClass]:
        """The classes with this budget spent."""
        n_samples = most_of(budget.of_all, sum(len(crowd.owner) for crowd in self.crowds))
        n_people = most_of(budget.of_all, sum(len(crowd.members) for crowd in self.crowds))
        low, high = 0, len(self.prices)
        steps = high.bit_length()
        best: list[_Answer] | None = None
        for step in range(steps):
            self.run.progress(_LABEL, step, steps)
            if low < high:
                middle = (low + high) // 2
                answers = self._with_classes_left_out(middle, budget, n_people)
                if _missing(answers) <= n_samples:
                    high, best = middle, answers
                else:
                    low = middle + 1
        self.run.progress(_LABEL, steps, steps)
        if best is None:
            return list(self.start)
        if high:
            best = self._with_the_rest_spent(best, high - 1, budget, n_samples)
        return _with_boxes(self.start, self.crowds, best)

    def _at(self, place: int, budget: Budget) -> list[_Answer]:
        """What every class does at the price in this place."""
        price = self.prices[place]
        bounds = [
            np.array([most_of(budget.of_one, length) for length in crowd.lengths.tolist()])
            for crowd in self.crowds
        ]
        if self.kept is None:
            tasks = zip(self.crowds, bounds, strict=True)
            return list(self.run.map(lambda task: _at(task[0], price, task[1], self.wish), tasks))
        if price not in self.kept:
            self.kept[price] = list(
                self.run.map(lambda crowd: _at(crowd, price, crowd.lengths, self.wish), self.crowds)
            )
        known = zip(self.crowds, bounds, self.kept[price], strict=True)
        return list(
            self.run.map(
                lambda one: one[2] if _keeps(*one) else _at(one[0], price, one[1], self.wish),
                known,
            )
        )

    def _with_classes_left_out(self, place: int, budget: Budget, n_people: int) -> list[_Answer]:
        """The same, those that are left out whole without any box."""
        answers = self._at(place, budget)
        out = _left_out(self.crowds, answers, self.prices[place], n_people)
        return [
            replace(answer, box_of=np.full(len(crowd.owner), NONE)) if gone else answer
            for crowd, answer, gone in zip(self.crowds, answers, out.tolist(), strict=True)
        ]

    def _with_the_rest_spent(
        self, chosen: Sequence[_Answer], place: int, budget: Budget, n_samples: int
    ) -> list[_Answer]:
        """The next lower price for as many classes as the rest of the budget reaches, small steps first."""
        lower = self._at(place, budget)
        left = n_samples - _missing(chosen)
        spent = [after.missing - before.missing for before, after in zip(chosen, lower, strict=True)]
        best = list(chosen)
        for one in sorted(range(len(lower)), key=lambda one: (spent[one], one)):
            stays = 0 < lower[one].missing < len(self.crowds[one].owner) > chosen[one].missing
            if stays and 0 < spent[one] <= left:
                best[one] = lower[one]
                left -= spent[one]
        return best


def fitted(
    original: Trajectories, start: Sequence[EquivalenceClass], most: LargestExtents, run: Run
) -> list[EquivalenceClass]:
    """The classes with boxes of at most these extents, which hold what fits.

    A class without any such box is missing.
    """
    grid = original.snapped_grid()
    widest = widest_cells(original)
    slots = int(np.ptp(original.t)) + 1
    cells = int(min(most.space_m / grid.cell_m, widest) + _ROUNDING)
    lasting = int(min(most.time_s / grid.slot_s, slots) + _ROUNDING)
    price = _WORTH * (cells + lasting)
    sides = np.arange(widest + 1)
    wish = OmissionGoal(
        weights=Weights(
            place=np.where(sides <= cells, sides, price * (1 + sides // max(1, cells))), per_slot=1
        ),
        at_first=Weights(place=sides, per_slot=1),
        longest=lasting,
    )
    crowds = [_crowd(original, each.members) for each in start]
    answers = list(
        run.map(lambda crowd: _at(crowd, price, crowd.lengths, wish), crowds, label="fitting boxes")
    )
    made = _with_boxes(start, crowds, answers)
    return [replace(each, boxes=_within(each.boxes, cells, lasting)) for each in made]


def _within(boxes: Boxes, cells: int, slots: int) -> Boxes:
    """The boxes with no larger extents than these."""
    sides = boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
    return boxes.take((sides <= cells) & (boxes.t_end - boxes.t_start <= slots))


def _with_boxes(
    start: Sequence[EquivalenceClass], crowds: Sequence[_Crowd], answers: Sequence[_Answer]
) -> list[EquivalenceClass]:
    """The classes with the boxes chosen for them; those without any are missing."""
    return [
        replace(each, boxes=_boxes(crowd, answer))
        for each, crowd, answer in zip(start, crowds, answers, strict=True)
        if answer.missing < len(crowd.owner)
    ]


def _missing(answers: Sequence[_Answer]) -> int:
    """How many samples are in no box."""
    return sum(answer.missing for answer in answers)


def _crowd(original: Trajectories, members: Integers) -> _Crowd:
    t, x, y, owner = joined(original, members)
    return _Crowd(
        members=members, columns=np.stack([x, y, t]), owner=owner, lengths=original.lengths[members]
    )


def _prices(crowds: Sequence[_Crowd], weights: Weights) -> list[int]:
    """Prices to try, ascending by a tenth: from what the smallest box costs to what the largest costs all."""
    least = int(weights.place[min(2, len(weights.place) - 1)] + weights.per_slot)
    slots = max(int(crowd.columns[2, -1] - crowd.columns[2, 0]) + 1 for crowd in crowds)
    most = int(weights.place[-1] + weights.per_slot * slots) * max(len(crowd.owner) for crowd in crowds)
    count = int(np.ceil(np.log(most / least) / np.log(1.1))) + 1
    return [round(least * 1.1**step) for step in range(count)]


def _at(crowd: _Crowd, price: int, bounds: Integers, wish: OmissionGoal) -> _Answer:
    """What one class does at a price, where its people may lose so many samples each."""
    box_of = np.empty(len(crowd.owner), dtype=np.int64)
    cost = choose_boxes(crowd.columns, crowd.owner, price, bounds, wish, box_of)
    return _Answer(box_of=box_of, cost=int(cost))


def _keeps(crowd: _Crowd, bounds: Integers, answer: _Answer) -> bool:
    """Whether nobody loses more samples than that."""
    lost = np.bincount(crowd.owner[answer.box_of == NONE], minlength=len(bounds))
    return bool((lost <= bounds).all())


def _left_out(crowds: Sequence[_Crowd], answers: Sequence[_Answer], price: int, n_people: int) -> Flags:
    """[classes] those left out whole: whose boxes cost most above their samples' prices, for each person."""
    gains = np.array(
        [
            (answer.cost - price * len(crowd.owner)) / len(crowd.members)
            for crowd, answer in zip(crowds, answers, strict=True)
        ]
    )
    out = np.zeros(len(crowds), dtype=np.bool_)
    left = n_people
    for place in np.argsort(-gains, kind="stable").tolist():
        size = len(crowds[place].members)
        if gains[place] > 0 and size <= left and np.count_nonzero(out) < len(crowds) - 1:
            out[place] = True
            left -= size
    return out


def _boxes(crowd: _Crowd, answer: _Answer) -> Boxes:
    """The hulls of the samples in each box."""
    kept = np.flatnonzero(answer.box_of >= 0)
    kept = kept[np.argsort(answer.box_of[kept], kind="stable")]
    first = np.flatnonzero(np.diff(answer.box_of[kept], prepend=-1))
    low, high = (
        [bound.reduceat(column[kept], first) for column in crowd.columns]
        for bound in (np.minimum, np.maximum)
    )
    return Boxes(
        t_start=low[2], t_end=high[2] + 1, x_min=low[0], y_min=low[1], x_max=high[0] + 1, y_max=high[1] + 1
    ).sorted()
