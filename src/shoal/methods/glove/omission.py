"""Samples left out so that the boxes of the others shrink: a budget spent where it lowers extents most.

One price of a sample holds for all classes. Each leaves out those whose absence saves more than that, by the
costs that the refinement lowers; the price is as low as the budget allows. Nothing is drawn by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE, NONE
from shoal.kernels.omission import Wish, leave_out
from shoal.kernels.weighed_runs import Weights
from shoal.measures.least_extents import widest_cells
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import weights_of
from shoal.methods.k_merge import joined
from shoal.model.omission import most_of
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.run import Run

_HALVINGS: Final = 12  # of the range of prices, on a scale of factors
_WORTH: Final = 64  # how often a sample held is worth the largest extents, where boxes must fit
_LABEL: Final = "leaving out samples"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What may be missing: a share of all samples and of all people, and of each person who stays."""

    of_all: float
    of_one: float


@dataclass(frozen=True, eq=False, kw_only=True)
class _Crowd:
    """One class's samples. columns: [3, m] x, y, t; owner: [m] whose, in 0..k-1; most: [k] they may lose."""

    members: Integers
    columns: Integers
    owner: Integers
    most: Integers


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
    weights = weights_of(original, start)
    wish = Wish(weights=weights, at_first=weights, longest=IMPOSSIBLE)
    crowds = [_crowd(original, each.members, budget.of_one) for each in start]
    n_samples = most_of(budget.of_all, original.n_samples)
    n_people = most_of(budget.of_all, original.n_subjects)
    prices = _prices(crowds, weights)
    low, high = 0, len(prices)
    steps = high.bit_length()
    best: list[_Answer] | None = None
    for step in range(steps):
        run.progress(_LABEL, step, steps)
        if low < high:
            middle = (low + high) // 2
            answers = _at_price(crowds, prices[middle], wish, n_people, run)
            if _missing(answers) <= n_samples:
                high, best = middle, answers
            else:
                low = middle + 1
    run.progress(_LABEL, steps, steps)
    if best is None:
        return list(start)
    if high:
        best = _spend_the_rest(crowds, best, prices[high - 1], wish, n_samples, run)
    return _with_boxes(start, crowds, best)


def fitted(
    original: Trajectories, start: Sequence[EquivalenceClass], most_cells: int, most_slots: int, run: Run
) -> list[EquivalenceClass]:
    """The classes with boxes of at most so many cells dx + dy and slots, which hold what fits.

    A class without any such box is missing.
    """
    widest = widest_cells(original)
    slots = int(np.ptp(original.t)) + 1
    cells, lasting = min(most_cells, widest), min(most_slots, slots)
    price = _WORTH * (cells + lasting)
    sides = np.arange(widest + 1)
    wish = Wish(
        weights=Weights(
            place=np.where(sides <= cells, sides, price * (1 + sides // max(1, cells))), per_slot=1
        ),
        at_first=Weights(place=sides, per_slot=1),
        longest=lasting,
    )
    crowds = [_crowd(original, each.members, 1.0) for each in start]
    answers = list(run.map(lambda crowd: _at(crowd, price, wish), crowds, label="fitting boxes"))
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


def _at_price(crowds: Sequence[_Crowd], price: int, wish: Wish, n_people: int, run: Run) -> list[_Answer]:
    """What every class does at this price, those that are left out whole without any box."""
    answers = list(run.map(lambda crowd: _at(crowd, price, wish), crowds))
    out = _left_out(crowds, answers, price, n_people)
    return [
        replace(answer, box_of=np.full(len(crowd.owner), NONE)) if gone else answer
        for crowd, answer, gone in zip(crowds, answers, out.tolist(), strict=True)
    ]


def _missing(answers: Sequence[_Answer]) -> int:
    """How many samples are in no box."""
    return sum(answer.missing for answer in answers)


def _spend_the_rest(
    crowds: Sequence[_Crowd],
    chosen: Sequence[_Answer],
    price: int,
    wish: Wish,
    n_samples: int,
    run: Run,
) -> list[_Answer]:
    """The next lower price for as many classes as the rest of the budget reaches, small steps first."""
    lower = list(run.map(lambda crowd: _at(crowd, price, wish), crowds))
    left = n_samples - _missing(chosen)
    spent = [after.missing - before.missing for before, after in zip(chosen, lower, strict=True)]
    best = list(chosen)
    for place in sorted(range(len(crowds)), key=lambda one: (spent[one], one)):
        stays = 0 < lower[place].missing < len(crowds[place].owner) > chosen[place].missing
        if stays and 0 < spent[place] <= left:
            best[place] = lower[place]
            left -= spent[place]
    return best


def _crowd(original: Trajectories, members: Integers, of_one: float) -> _Crowd:
    t, x, y, owner = joined(original, members)
    most = [most_of(of_one, length) for length in original.lengths[members].tolist()]
    return _Crowd(members=members, columns=np.stack([x, y, t]), owner=owner, most=np.array(most))


def _prices(crowds: Sequence[_Crowd], weights: Weights) -> list[int]:
    """Prices to try, ascending by a tenth: from what the smallest box costs to what the largest costs all."""
    least = int(weights.place[min(2, len(weights.place) - 1)] + weights.per_slot)
    slots = max(int(crowd.columns[2, -1] - crowd.columns[2, 0]) + 1 for crowd in crowds)
    most = int(weights.place[-1] + weights.per_slot * slots) * max(len(crowd.owner) for crowd in crowds)
    count = int(np.ceil(np.log(most / least) / np.log(1.1))) + 1
    return [round(least * 1.1**step) for step in range(count)]


def _at(crowd: _Crowd, price: int, wish: Wish) -> _Answer:
    box_of = np.empty(len(crowd.owner), dtype=np.int64)
    cost = leave_out(crowd.columns, crowd.owner, price, crowd.most, wish, box_of)
    return _Answer(box_of=box_of, cost=int(cost))


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
