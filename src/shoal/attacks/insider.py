"""The insider: a person in a record's boxes subtracts their own samples.

In a class of two, the partner's samples touch every side of a box that the member's do not. A release of
hiding sets does not say who hides whom, but the hider sees it: a window where the record's boxes hold all
of their samples, and each box one.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.attacks.downcoding import SAMPLES, PeopleByClass, Reading, by_time, rates_of_reading, read_all
from shoal.attacks.evaluation import Evaluation, Victims
from shoal.attacks.place_lists import known_list
from shoal.attacks.rate import Error, Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.insider import find_sharers
from shoal.kernels.joint_reading import WAYS
from shoal.kernels.weighed_runs import Tracks
from shoal.model.claims import KteAnonymity
from shoal.model.grid import Grid
from shoal.runtime.arrays import Floats, Integers, read_only

_DRAWS: Final = 8  # windows that are tried for one in which somebody hides the owner


@dataclass(frozen=True, eq=False, kw_only=True)
class SharedWindow:
    """A window in slots, the rows [b] of its boxes, and who shares them."""

    begin: int
    end: int
    rows: Integers
    through: Integers  # people in the record all through the window
    overlapping: Integers  # those through another, overlapping one


class Hiders:
    """Who hides whom, in windows of the claim's length, or all slots where hiders stay."""

    def __init__(self, evaluation: Evaluation[BoxTarget], claim: KteAnonymity, inside: Victims) -> None:
        self.target, self.people = evaluation.target, inside.people
        slot_s = self.people.snapped_grid().slot_s
        self.inside = np.zeros(self.people.n_subjects, dtype=np.bool_)
        self.inside[inside.subjects] = True
        self.order = np.argsort(self.people.t, kind="stable")
        self.times = self.people.t[self.order]
        columns = (self.people.offsets, self.people.t, self.people.x, self.people.y)
        self.tracks = Tracks(*map(read_only, columns))
        self.owner = np.repeat(np.arange(self.people.n_subjects), self.people.lengths)
        self.first = int(evaluation.start)
        slots = int(self.people.t.max()) + 1 - self.first
        self.epoch = slots if claim.hiders_stay else round(claim.epsilon_s / slot_s)
        self.width = 1 if claim.hiders_stay else round(claim.tau_s / claim.epsilon_s) + 1
        self.windows = max(-(-slots // self.epoch) - self.width, 0) + 1

    def draw_window(self, record: int, without: int, rng: np.random.Generator) -> SharedWindow:
        """A window with someone except ``without`` in it, and all who are; the last one drawn."""
        boxes = self.target.record(record)
        for begin in self._windows(boxes, rng):
            through = self._in_all(boxes, begin)
            through = through[through != without]
            if len(through):
                break
        steps = self.epoch * np.arange(1 - self.width, self.width)
        others = np.concatenate([self._in_all(boxes, int(begin + step)) for step in steps.tolist()])
        return SharedWindow(
            begin=begin,
            end=begin + self.epoch * self.width,
            rows=self._inside(boxes, begin),
            through=through,
            overlapping=np.setdiff1d(others, np.append(through, without)),
        )

    def _inside(self, boxes: Integers, begin: int) -> Integers:
        return np.flatnonzero((boxes[:, 0] >= begin) & (boxes[:, 1] <= begin + self.epoch * self.width))

    def _windows(self, boxes: Integers, rng: np.random.Generator) -> list[int]:
        drawn = boxes[rng.permutation(len(boxes))[:_DRAWS], 0]
        epochs = (drawn - self.first) // self.epoch - rng.integers(0, self.width, len(drawn))
        begins = self.first + np.clip(epochs, 0, self.windows - 1) * self.epoch
        begins_listed: list[int] = (np.unique(begins) if self.windows == 1 else begins).tolist()
        return begins_listed

    def _in_all(self, boxes: Integers, begin: int) -> Integers:
        end, boxes = begin + self.epoch * self.width, boxes[self._inside(boxes, begin)]
        if not len(boxes):
            return np.empty(0, dtype=np.int64)
        boxes = boxes[np.argsort(boxes[:, 0])]
        shortest = boxes[np.argmin(boxes[:, 1] - boxes[:, 0])]
        rows = self.order[slice(*np.searchsorted(self.times, shortest[:2]).tolist())]
        inside_box = (self.people.x[rows] >= shortest[2]) & (self.people.x[rows] < shortest[4])
        inside_box &= (self.people.y[rows] >= shortest[3]) & (self.people.y[rows] < shortest[5])
        asked = np.unique(self.owner[rows[inside_box]])
        asked = asked[self.inside[asked]]
        shares = np.empty(len(asked), dtype=np.bool_)
        find_sharers(self.tracks, asked, boxes, begin, end, shares)
        return np.asarray(asked[shares])


ALL = 1_000_000  # more members than a class has: all but one


def colluding(word: str) -> int:
    """The number of members who share what they know; ``all`` = all but the victim."""
    if word == "all":
        return ALL
    if not word.isdecimal() or not 1 <= int(word) < ALL:
        raise MisuseError(f"'{word}' is neither a number of members from 1 on nor all")
    return int(word)


def attack_insider(
    evaluation: Evaluation[BoxTarget], members: int = 1, *, rng: np.random.Generator
) -> list[Rate]:
    """Name where and when another member was, for each box of the shared record.

    members: drawn at random from the victim's class; others are those who do not share what they know. Two
    rates are shares of boxes that are right, one of the others' samples that are named. Answers about the
    control group are compared with a person in no class. Where people hide each other, boxes are those of a
    hiding window, and the other is its person.
    """
    classes, claim, inside = PeopleByClass.of(evaluation), evaluation.context.claim, evaluation.context.inside
    hiders = Hiders(evaluation, claim, inside) if inside and isinstance(claim, KteAnonymity) else None
    readings: list[Reading] = []
    for victim, own_record in zip(evaluation.victims.tolist(), evaluation.records.tolist(), strict=True):
        samples = np.column_stack(evaluation.people.samples_of(victim))
        if hiders is None:
            others = classes.members(own_record)
            others = others[others != victim] if evaluation.label != "control" else others[1:]
            known = rng.permutation(others)[:members]
            if evaluation.label != "control":
                samples = by_time(classes.samples(np.append(np.setdiff1d(others, known), victim)))
            readings.append(Reading(record=own_record, true=samples, known=known))
            continue
        shared = hiders.draw_window(own_record, -1 if evaluation.label == "control" else victim, rng)
        known = np.append(rng.permutation(shared.through), rng.permutation(shared.overlapping))[:members]
        then = (samples[:, 0] >= shared.begin) & (samples[:, 0] < shared.end)
        samples = samples[then] if then.any() else samples
        readings.append(Reading(record=own_record, true=samples, known=known, rows=shared.rows))
    read = read_all(evaluation, classes, readings)
    who = "a member" if members == 1 else "all other members" if members == ALL else f"{members} members"
    of, whom, has = "the class", "another member", "the record of an equivalence class"
    if hiders is not None:
        who, of, whom = who.replace("member", "hider"), "the record", "its person"
        has = "a record, a window of time through which others hide its person,"
    measures = {
        "insider-exact": (0, f"in which cell and slot {whom} was"),
        "insider-place": (1, f"in which cell {whom} was"),
        "insider-samples": (
            SAMPLES,
            f"in which cell and slot {whom} was, and so has the share of the others' samples for which that "
            "is right",
        ),
    }
    rates = rates_of_reading(
        evaluation,
        read,
        measures,
        has=f"has {has} and the raw samples of {who} {known_list(evaluation.context)}".rstrip(),
        knowledge=f"what {who} of {of} know{'s' * (members == 1)}",
    )
    finite = (errors[np.isfinite(errors[:, 0])] for errors in read.errors)
    medians = [median_error(errors, evaluation.target.grid) for errors in finite]
    of_rule = dict(zip(WAYS[: len(medians)], medians, strict=True))
    return [replace(rate, error=of_rule[str(rate.rule).split(" or ")[0]]) for rate in rates]


def median_error(errors: Floats, grid: Grid) -> Error | None:
    """Median errors in place and time. errors: [s, 2], in cells and slots."""
    if not len(errors):
        return None
    cells, slots = np.median(errors, axis=0).tolist()
    return Error(space_m=cells * grid.cell_m, time_s=slots * grid.slot_s)
