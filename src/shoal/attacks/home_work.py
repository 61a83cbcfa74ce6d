"""Knows which record is a person's, and looks for home and work in it."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.attacks.cylinders import undone_cells
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.place_lists import list_of, reach_of
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.homes import WeightedAreas, fill_place_chances, find_homes
from shoal.kernels.joint_reading import ROUNDS, add_draws, expect_visits
from shoal.measures.presence import HomeOrWork, clock_offsets_s, share_of_hours
from shoal.model.clocks import Clock, clock_of
from shoal.model.release import Boxes
from shoal.runtime.arrays import Flags, Floats, Integers, offsets_of
from shoal.units import HOUR_S

_PART: Final = 20
_EVEN: Final = 3  # the rule of boxes that are filled evenly
_PLACES: Final[tuple[HomeOrWork, ...]] = ("home", "work")
_NOWHERE: Final = np.iinfo(np.int64).min


def attack_home_work(
    evaluation: Evaluation[BoxTarget], utc_offset_s: float | None = None, *, rng: np.random.Generator
) -> list[Rate]:
    """Infer the cell of home (20 to 6 o'clock) and of work (9 to 17, Monday to Friday) from a record.

    Hours follow a clock ``utc_offset_s`` ahead of UTC; None = the data's zone. The true cell is the most
    visited at these hours; people without a sample then are no victims. Rules name the cell that most boxes
    speak for: as likelihoods, or as expected presence, of hulls or of evenly filled boxes. Blind readers fill
    boxes evenly, or with listed places as busy as they are; chance is the cell that most people have.
    """
    del rng  # nothing is drawn: the whole record is known
    clock = _LocalClock(clock_of(evaluation.people), utc_offset_s)
    rates = []
    undone = undone_cells(evaluation)
    for place, named in zip(_PLACES, _read_together(evaluation, clock), strict=True):
        has_cell, x, y = _true_cells(evaluation, place, clock)
        tried = np.flatnonzero(has_cell)
        if not len(tried):
            continue
        chances = [_chances(evaluation, place, clock, tried, x[tried], y[tried])]
        together, blind = (named[:, tried] == np.column_stack([x, y])[tried]).all(axis=2)
        chances.insert(0, together[:, None])
        if undone is not None:
            moved = replace(evaluation, target=undone)
            chances.append(_chances(moved, place, clock, tried, x[tried], y[tried])[:, :1])
        hours = f"20 and 6 o'clock ({clock.name})"
        if place == "work":
            hours = f"9 and 17 o'clock ({clock.name}), Monday to Friday,"
        knows = "knows which record is a person's and names as"
        words = (
            ("all boxes", f"its likeliest cell between {hours} by the sides of all its boxes"),
            ("steady hulls", f"the cell where most of its boxes between {hours} can be hulls of few samples"),
            ("likeliest hulls", f"its likeliest cell between {hours} if boxes are hulls of few samples"),
            ("even boxes", f"its likeliest cell between {hours} if boxes are filled evenly"),
            ("moves undone", f"the cell where it was most between {hours} once its moves are undone"),
        )
        most = max(Counter(zip(x[tried].tolist(), y[tried].tolist(), strict=True)).values()) / len(tried)
        won = np.hstack(chances)
        guessing = max(most, float(blind.mean()), float(won[:, _EVEN].mean()))
        rate = evaluation.best_rate(
            Rule.of_each(f"{knows} {place}", words, won),
            name=place,
            knowledge="which record it is",
            baseline=guessing,
            clusters=evaluation.clusters[tried],
        )
        rates.append(replace(rate, chance=most) if guessing > most else rate)
    return rates


@dataclass(frozen=True)
class _LocalClock:
    clock: Clock
    offset_s: float | None

    @property
    def name(self) -> str:
        return self.clock.zone if self.offset_s is None else f"UTC{self.offset_s / HOUR_S:+g}"

    def shares(self, boxes: Integers, slot_s: float, place: HomeOrWork) -> Floats:
        """The share of each box that lies in the hours of ``place``."""
        ahead_s = clock_offsets_s(self.clock, boxes, slot_s) if self.offset_s is None else self.offset_s
        return share_of_hours(boxes, slot_s, place, ahead_s)


def _spread(rows: list[Integers], slot_s: float, place: HomeOrWork, clock: _LocalClock) -> WeightedAreas:
    boxes = np.concatenate(rows, dtype=np.int64)
    west, south, east, north = np.ascontiguousarray(boxes[:, 2:].T)
    shares = clock.shares(boxes, slot_s, place)
    return WeightedAreas(offsets_of(map(len, rows)), west, south, east, north, shares)


def _true_cells(
    evaluation: Evaluation[BoxTarget], place: HomeOrWork, clock: _LocalClock
) -> tuple[Flags, Integers, Integers]:
    data, n = evaluation.people, len(evaluation.victims)
    has_cell, x, y = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)

    def part(mine: slice) -> None:
        subjects = evaluation.victims[mine].tolist()
        rows = [np.column_stack(Boxes.of_samples(*data.samples_of(one)).columns()) for one in subjects]
        find_homes(_spread(rows, data.snapped_grid().slot_s, place, clock), has_cell[mine], x[mine], y[mine])

    evaluation.run.each_part(part, n, _PART)
    return has_cell, x, y


def _read_together(evaluation: Evaluation[BoxTarget], clock: _LocalClock) -> Integers:
    """int64 [places, 2, v, 2]: the cell that the sides of all boxes name, and the busiest one."""
    target, places, reach = evaluation.target, list_of(evaluation), reach_of(evaluation)
    classes, row_of = np.unique(target.class_of[evaluation.records], return_inverse=True)
    cells, before = np.column_stack([places.x, places.y]), np.append(0.0, np.cumsum(places.busyness))
    named = np.full((len(_PLACES), 2, len(classes), 2), _NOWHERE)

    def part(mine: slice) -> None:
        for row in range(mine.start, mine.stop):
            boxes = target.classes.records.record(int(classes[row]))
            people = max(int(target.classes.sizes[classes[row]]), 2)
            contents, habit, rates = expect_visits(boxes, people, places, reach, ROUNDS)
            box = np.repeat(np.arange(len(boxes)), np.diff(contents.offsets))
            busy = before[contents.places + contents.runs] - before[contents.places]
            busy = np.bincount(box, busy, len(boxes)).clip(np.finfo(np.float64).tiny)
            alike = contents._replace(weights=np.ones_like(rates))
            evenly = np.full_like(rates, places.public) / busy[:, None]
            for number, place in enumerate(_PLACES):
                hours = clock.shares(boxes, target.grid.slot_s, place)[:, None]
                ways = (contents, habit, rates * hours), (alike, places.busyness, evenly * hours)
                for way, (inside, use, share) in enumerate(ways):
                    total = np.zeros_like(use)
                    add_draws(inside, use, share, total)
                    if total.any():
                        named[number, way, row] = cells[total.argmax()]

    evaluation.run.each_part(part, len(classes), _PART)
    return named[:, :, row_of]


def _chances(
    evaluation: Evaluation[BoxTarget],
    place: HomeOrWork,
    clock: _LocalClock,
    tried: Integers,
    x: Integers,
    y: Integers,
) -> Floats:
    target, chances = evaluation.target, np.empty((len(tried), 3))
    records, every = target.classes.records, target.classes.sizes
    classes = target.class_of[evaluation.records[tried]]

    def part(mine: slice) -> None:
        rows = [records.record(one) for one in classes[mine].tolist()]
        spread, sizes = _spread(rows, target.grid.slot_s, place, clock), every[classes[mine]]
        fill_place_chances(spread, np.maximum(sizes, 2), x[mine], y[mine], chances[mine])

    evaluation.run.each_part(part, len(tried), _PART)
    return chances
