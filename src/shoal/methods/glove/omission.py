"""Spend a budget of omitted samples where it lowers extents most.

One price per sample applies to all classes. Each leaves out the samples whose absence saves more, by the
costs of the refinement without their ramp; the price is as low as the budget allows. Deterministic.
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
from shoal.methods.k_merge import samples_by_time
from shoal.model.claims.hull import LargestExtents
from shoal.model.omission import most_allowed
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
    """Shares that may be missing: of all samples and people, and of a person's samples."""

    of_all: float
    of_one: float

    @classmethod
    def of(cls, share: float, of_one: float | None) -> "Budget":
        """``of_one`` defaults to 4 times ``share``, at most half."""
        return cls(of_all=share, of_one=of_one or min(_HALF, float(_OF_ONE * Fraction(repr(share)))))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Crowd:
    """columns: [3, m] x, y, t; owner: [m] in 0..k-1; lengths: [k]."""

    members: Integers
    columns: Integers
    owner: Integers
    lengths: Integers


@dataclass(frozen=True, eq=False, kw_only=True)
class _ClassAtPrice:
    """A class at one price. box_of: [m], NONE = left out; cost: of the boxes and of what is left out."""

    box_of: Integers
    cost: int

    @property
    def missing(self) -> int:
        return int(np.count_nonzero(self.box_of == NONE))


def omit_samples(
    original: Trajectories, start: Sequence[EquivalenceClass], budget: Budget, run: Run
) -> list[EquivalenceClass]:
    """Classes with smaller boxes and some samples in none; classes may be missing."""
    # start: boxes disjoint in time; classes stay unchanged where no price meets the budget
    return _PriceSearch.on(original, start, run).spend(budget)


def omit_for_budgets(
    original: Trajectories, start: Sequence[EquivalenceClass], budgets: Sequence[Budget], run: Run
) -> Iterator[list[EquivalenceClass]]:
    """``omit_samples`` for each budget; answers are reused unless a person would lose too much."""
    search = _PriceSearch.on(original, start, run, answers_by_price={})
    for budget in budgets:
        yield search.spend(budget) if budget.of_all else list(start)


@dataclass(frozen=True, eq=False, kw_only=True)
class _PriceSearch:
    """A search for the price. answers_by_price: those where each person may lose everything."""

    start: Sequence[EquivalenceClass]
    crowds: Sequence[_Crowd]
    goal: OmissionGoal
    prices: Sequence[int]
    run: Run
    answers_by_price: dict[int, list[_ClassAtPrice]] | None

    @classmethod
    def on(
        cls,
        original: Trajectories,
        start: Sequence[EquivalenceClass],
        run: Run,
        answers_by_price: dict[int, list[_ClassAtPrice]] | None = None,
    ) -> "_PriceSearch":
        weights = weights_of(original, start, ramp=False)
        crowds = [_crowd(original, crowd.members) for crowd in start]
        return cls(
            start=start,
            crowds=crowds,
            goal=OmissionGoal(weights=weights, at_first=weights, longest=IMPOSSIBLE),
            prices=_prices(crowds, weights),
            run=run,
            answers_by_price=answers_by_price,
        )

    def spend(self, budget: Budget) -> list[EquivalenceClass]:
        n_samples = most_allowed(budget.of_all, sum(len(crowd.owner) for crowd in self.crowds))
        n_people = most_allowed(budget.of_all, sum(len(crowd.members) for crowd in self.crowds))
        low, high = 0, len(self.prices)
        steps = high.bit_length()
        best: list[_ClassAtPrice] | None = None
        for step in range(steps):
            self.run.progress(_LABEL, step, steps)
            if low < high:
                middle = (low + high) // 2
                answers = self._answers_without_classes(middle, budget, n_people)
                if _count_missing(answers) <= n_samples:
                    high, best = middle, answers
                else:
                    low = middle + 1
        self.run.progress(_LABEL, steps, steps)
        if best is None:
            return list(self.start)
        if high:
            best = self._spend_rest(best, high - 1, budget, n_samples)
        return _replace_boxes(self.start, self.crowds, best)

    def _answers_at(self, place: int, budget: Budget) -> list[_ClassAtPrice]:
        price = self.prices[place]
        bounds = [
            np.array([most_allowed(budget.of_one, length) for length in crowd.lengths.tolist()])
            for crowd in self.crowds
        ]
        if self.answers_by_price is None:
            tasks = zip(self.crowds, bounds, strict=True)
            return list(self.run.map(lambda task: _answer(task[0], price, task[1], self.goal), tasks))
        if price not in self.answers_by_price:
            self.answers_by_price[price] = list(
                self.run.map(lambda crowd: _answer(crowd, price, crowd.lengths, self.goal), self.crowds)
            )

        def within(task: tuple[_Crowd, Integers, _ClassAtPrice]) -> _ClassAtPrice:
            crowd, most, answer = task
            lost = np.bincount(crowd.owner[answer.box_of == NONE], minlength=len(most))
            return answer if (lost <= most).all() else _answer(crowd, price, most, self.goal)

        known = self.answers_by_price[price]
        return list(self.run.map(within, zip(self.crowds, bounds, known, strict=True)))

    def _answers_without_classes(self, place: int, budget: Budget, n_people: int) -> list[_ClassAtPrice]:
        answers = self._answers_at(place, budget)
        out = _choose_classes_left_out(self.crowds, answers, self.prices[place], n_people)
        return [
            replace(answer, box_of=np.full(len(crowd.owner), NONE)) if gone else answer
            for crowd, answer, gone in zip(self.crowds, answers, out.tolist(), strict=True)
        ]

    def _spend_rest(
        self, chosen: Sequence[_ClassAtPrice], place: int, budget: Budget, n_samples: int
    ) -> list[_ClassAtPrice]:
        lower = self._answers_at(place, budget)
        remaining = n_samples - _count_missing(chosen)
        extra_missing = [after.missing - before.missing for before, after in zip(chosen, lower, strict=True)]
        best = list(chosen)
        for c in sorted(range(len(lower)), key=lambda c: (extra_missing[c], c)):
            stays = 0 < lower[c].missing < len(self.crowds[c].owner) > chosen[c].missing
            if stays and 0 < extra_missing[c] <= remaining:
                best[c] = lower[c]
                remaining -= extra_missing[c]
        return best


def fit_boxes(
    original: Trajectories, start: Sequence[EquivalenceClass], most: LargestExtents, run: Run
) -> list[EquivalenceClass]:
    """Classes with boxes of at most these extents and the samples that fit."""
    grid = original.snapped_grid()
    widest = widest_cells(original)
    slots = int(np.ptp(original.t)) + 1
    cells = int(min(most.space_m / grid.cell_m, widest) + _ROUNDING)
    lasting = int(min(most.time_s / grid.slot_s, slots) + _ROUNDING)
    price = _WORTH * (cells + lasting)
    sides = np.arange(widest + 1)
    goal = OmissionGoal(
        weights=Weights(
            place=np.where(sides <= cells, sides, price * (1 + sides // max(1, cells))), per_slot=1
        ),
        at_first=Weights(place=sides, per_slot=1),
        longest=lasting,
    )
    crowds = [_crowd(original, crowd_class.members) for crowd_class in start]
    answers = list(
        run.map(lambda crowd: _answer(crowd, price, crowd.lengths, goal), crowds, label="fitting boxes")
    )

    def fitting(boxes: Boxes) -> Boxes:
        wide = boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min
        return boxes.take((wide <= cells) & (boxes.t_end - boxes.t_start <= lasting))

    classes = _replace_boxes(start, crowds, answers)
    return [replace(crowd_class, boxes=fitting(crowd_class.boxes)) for crowd_class in classes]


def _replace_boxes(
    start: Sequence[EquivalenceClass], crowds: Sequence[_Crowd], answers: Sequence[_ClassAtPrice]
) -> list[EquivalenceClass]:
    return [
        replace(equivalence_class, boxes=_boxes_of(crowd, answer))
        for equivalence_class, crowd, answer in zip(start, crowds, answers, strict=True)
        if answer.missing < len(crowd.owner)
    ]


def _count_missing(answers: Sequence[_ClassAtPrice]) -> int:
    return sum(answer.missing for answer in answers)


def _crowd(original: Trajectories, members: Integers) -> _Crowd:
    t, x, y, owner = samples_by_time(original, members)
    return _Crowd(
        members=members, columns=np.stack([x, y, t]), owner=owner, lengths=original.lengths[members]
    )


def _prices(crowds: Sequence[_Crowd], weights: Weights) -> list[int]:
    least = int(weights.place[min(2, len(weights.place) - 1)] + weights.per_slot)
    slots = max(int(crowd.columns[2, -1] - crowd.columns[2, 0]) + 1 for crowd in crowds)
    most = int(weights.place[-1] + weights.per_slot * slots) * max(len(crowd.owner) for crowd in crowds)
    count = int(np.ceil(np.log(most / least) / np.log(1.1))) + 1
    return [round(least * 1.1**step) for step in range(count)]


def _answer(crowd: _Crowd, price: int, bounds: Integers, goal: OmissionGoal) -> _ClassAtPrice:
    box_of = np.empty(len(crowd.owner), dtype=np.int64)
    cost = choose_boxes(crowd.columns, crowd.owner, price, bounds, goal, box_of)
    return _ClassAtPrice(box_of=box_of, cost=int(cost))


def _choose_classes_left_out(
    crowds: Sequence[_Crowd], answers: Sequence[_ClassAtPrice], price: int, n_people: int
) -> Flags:
    pairs = zip(crowds, answers, strict=True)
    gains = np.array([(one.cost - price * len(crowd.owner)) / len(crowd.members) for crowd, one in pairs])
    out = np.zeros(len(crowds), dtype=np.bool_)
    people_left = n_people
    for place in np.argsort(-gains, kind="stable").tolist():
        size = len(crowds[place].members)
        if gains[place] > 0 and size <= people_left and np.count_nonzero(out) < len(crowds) - 1:
            out[place] = True
            people_left -= size
    return out


def _boxes_of(crowd: _Crowd, answer: _ClassAtPrice) -> Boxes:
    samples = np.flatnonzero(answer.box_of >= 0)
    samples = samples[np.argsort(answer.box_of[samples], kind="stable")]
    first = np.flatnonzero(np.diff(answer.box_of[samples], prepend=-1))
    low, high = (
        [bound.reduceat(column[samples], first) for column in crowd.columns]
        for bound in (np.minimum, np.maximum)
    )
    return Boxes(
        t_start=low[2], t_end=high[2] + 1, x_min=low[0], y_min=low[1], x_max=high[0] + 1, y_max=high[1] + 1
    ).sorted()
