"""The adversary who knows which record is a person's, and looks for home and work in it."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.hull_presence import add_presence
from shoal.measures.presence import Place, ahead_of, cells_of, holds, likeliest_area, share_of_hours
from shoal.model.clocks import Clock, clock_of
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.units import HOUR_S

Cell = tuple[int, int]


def attack_home_work(
    evaluation: Evaluation[BoxTarget], utc_offset_s: float | None = None, *, rng: np.random.Generator
) -> list[Rate]:
    """Whether a record tells the cell that is home (20 to 6 o'clock) or work (9 to 17, Monday to Friday).

    The hours are those of a clock ``utc_offset_s`` ahead of UTC; None = of the zone that the reading named,
    UTC without one.
    The true cell is the one that the person visited most at these hours. Rules name the cell that most boxes
    speak for if they are hulls, which touch what they hold: as likelihoods (many boxes that can hold the cell
    beat one that must), or as expected presence; or the one with the most expected presence if boxes are
    filled evenly. Of c equally likely cells one is named at random. Baseline: naming for everybody the cell
    that most people have. People without a sample at these hours are no victims; a place that nobody has is
    left out.
    """
    del rng  # nothing is drawn: the whole record is known
    clock = _Hours(clock_of(evaluation.known), utc_offset_s)
    rates = []
    places: tuple[Place, ...] = ("home", "work")
    for place in places:
        truth = {
            position: cell
            for position, victim in enumerate(evaluation.victims.tolist())
            if (cell := _true_cell(evaluation.known, victim, place, clock)) is not None
        }
        if not truth:
            continue
        tried = np.array(list(truth))
        guesses = _guesses(evaluation.target, place, clock)
        chances = np.array(
            [
                [named.chance_of(*truth[position]) for named in guesses(own)]
                for position, own in zip(truth, evaluation.own[tried].tolist(), strict=True)
            ]
        )
        hours = f"20 and 6 o'clock ({clock.name})"
        if place == "work":
            hours = f"9 and 17 o'clock ({clock.name}), Monday to Friday,"
        knows = "knows which record is a person's and names as"
        words = (
            ("steady hulls", f"the cell where most of its boxes between {hours} can be hulls of few samples"),
            ("likeliest hulls", f"its likeliest cell between {hours} if boxes are hulls of few samples"),
            ("even boxes", f"its likeliest cell between {hours} if boxes are filled evenly"),
        )
        rates.append(
            Rate.best_of(
                [
                    Rule(name=name, does=f"{knows} {place} {does}", chances=chances[:, number])
                    for number, (name, does) in enumerate(words)
                ],
                name=place,
                knowledge="which record it is",
                target=evaluation.label,
                baseline=Counter(truth.values()).most_common(1)[0][1] / len(truth),
                clusters=evaluation.clusters[tried],
            )
        )
    return rates


@dataclass(frozen=True)
class _Hours:
    """By which clock home and work are looked for: ``offset_s`` ahead of UTC, or that of a zone."""

    clock: Clock
    offset_s: float | None

    @property
    def name(self) -> str:
        """For people to read."""
        return self.clock.zone if self.offset_s is None else f"UTC{self.offset_s / HOUR_S:+g}"

    def shares(self, boxes: Integers, slot_s: float, place: Place) -> Floats:
        """[b]: the share of each box's interval that lies in the hours of ``place``."""
        own = ahead_of(self.clock, boxes, slot_s) if self.offset_s is None else self.offset_s
        return share_of_hours(boxes, slot_s, place, own)


@dataclass(frozen=True, eq=False, kw_only=True)
class Named:
    """Equally likely cells: rectangles, int64 [a, 4] of x_min, y_min, x_max, y_max."""

    area: Integers

    def chance_of(self, x: int, y: int) -> float:
        """The chance to name this cell."""
        return float(holds(self.area, x, y)) / cells_of(self.area) if len(self.area) else 0.0


def _guesses(target: BoxTarget, place: Place, clock: _Hours) -> Callable[[int], tuple[Named, ...]]:
    """The cells that each rule names for a record; equal records are looked at once."""

    @cache
    def of_class(number: int) -> tuple[Named, ...]:
        book = target.book
        boxes = book.boxes[book.offsets[number] : book.offsets[number + 1]]
        weights = clock.shares(boxes, target.grid.slot_s, place)
        boxes, weights = boxes[weights > 0], weights[weights > 0]
        members = max(int(book.sizes[number]), 2)
        return (
            *where_sides_meet(boxes, weights, members)[::-1],
            Named(area=likeliest_area(boxes, weights)),
        )

    return lambda record: of_class(int(target.class_of[record]))


def where_sides_meet(boxes: Integers, weights: Floats, members: int) -> tuple[Named, Named]:
    """The cells with the most expected, and with the steadiest, presence among those where sides meet."""
    if not len(boxes):
        nowhere = Named(area=np.empty((0, 4), dtype=np.int64))
        return nowhere, nowhere
    xs, ys = (np.unique(np.r_[boxes[:, low], boxes[:, high] - 1]) for low, high in ((2, 4), (3, 5)))
    expected, steady = np.zeros((2, len(xs), len(ys)))
    add_presence(boxes, weights, members, xs, ys, expected, steady)

    def best(presence: Floats) -> Named:
        i, j = np.nonzero(presence >= presence.max() * (1 - 1e-9))
        return Named(area=np.column_stack([xs[i], ys[j], xs[i] + 1, ys[j] + 1]))

    return best(expected), best(steady)


def _true_cell(known: Trajectories, victim: int, place: Place, clock: _Hours) -> Cell | None:
    """The cell with most samples at these hours, the smallest of equals; None without such samples."""
    boxes = np.column_stack(Boxes.of_samples(*known.samples_of(victim)).columns())
    area = likeliest_area(boxes, clock.shares(boxes, known.snapped_grid().slot_s, place))
    return (int(area[0, 0]), int(area[0, 1])) if len(area) else None
