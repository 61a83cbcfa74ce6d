"""Downcoding: recover samples from boxes (Cohen 2021), one by one or from all of a record together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.place_lists import PUBLIC_LIST, known_list, list_of, reach_of
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.followed_sides import guess_by_followed_sides
from shoal.kernels.insider import N_SHARES, Readings, score_in_records
from shoal.kernels.joint_reading import (
    N_READING,
    N_STANDING,
    WAYS,
    find_contents,
    guess_in_record,
    guess_of_person,
    likely_places,
)
from shoal.runtime.arrays import Floats, Integers, offsets_of

_NOBODY = np.empty(0, dtype=np.int64)
SAMPLES: Final = 4  # the share that counts samples
_CHANCE: Final = {0: 2, 1: 3, SAMPLES: 5}  # the share that random guesses have, for each that is measured
WAYS_IN_WORDS: Final = tuple(
    zip(
        WAYS,
        (
            "by one box at a time and where most corners of the record lie",
            "by the place that the sides of all boxes make surest",
            "by the place that the sides of all boxes make most usual",
            "by the busiest place of the box, or the middle of the smallest box inside",
            "by the most usual of the places of the known samples",
            "by the place that its sides make surest if each is followed from slot to slot",
        ),
        strict=True,
    )
)


def attack_downcoding(evaluation: Evaluation[BoxTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Name, for each box of a record, where and when one of its people was."""
    del rng  # nothing is drawn: the whole release is looked at
    classes = PeopleByClass.of(evaluation)
    readings = [
        Reading(
            record=own_record,
            true=np.column_stack(evaluation.people.samples_of(victim))
            if evaluation.label == "control"
            else _distinct(classes.samples(classes.members(own_record))),
            known=_NOBODY,
        )
        for victim, own_record in zip(evaluation.victims.tolist(), evaluation.records.tolist(), strict=True)
    ]
    measures = {
        "downcoding-exact": (0, "in which cell and slot one of its people was"),
        "downcoding-place": (1, "in which cell one of its people was"),
    }
    listed = known_list(evaluation.context)
    return rates_of_reading(
        evaluation,
        read_all(evaluation, classes, readings),
        measures,
        has=f"has a record {listed or 'alone'}",
        knowledge=f"the release {_IN_SHORT.get(listed, listed) or 'alone'}",
    )


_IN_SHORT: Final = {PUBLIC_LIST: "and a list of places"}


def rates_of_reading(
    evaluation: Evaluation[BoxTarget],
    read: "Read",
    measures: Mapping[str, tuple[int, str]],
    *,
    has: str,
    knowledge: str,
    ways: Sequence[tuple[str, str]] = WAYS_IN_WORDS,
    blind: slice = slice(N_READING, N_STANDING),
) -> list[Rate]:
    """The rate of each measure, with its share and what is said for each box; blind: the ways that are so."""
    rates = []
    for name, (row, says) in measures.items():
        chance = read.shares[0, :, _CHANCE[row]].mean()
        by_guessing = read.shares[blind, :, row].mean(axis=1).max()
        rate = evaluation.best_rate(
            [
                Rule(name=way, does=f"{has} and says for each of its boxes {says}, {by}", chances=won[:, row])
                for (way, by), won in zip(ways[: len(read.shares)], read.shares, strict=True)
            ],
            name=name,
            knowledge=knowledge,
            baseline=float(max(by_guessing, chance)),
        )
        rates.append(replace(rate, chance=float(chance)) if by_guessing > chance else rate)
    return rates


def by_time(samples: Integers) -> Integers:
    """Samples [s, 3], ascending in time."""
    return samples[np.argsort(samples[:, 0], kind="stable")]


def _distinct(samples: Integers) -> Integers:
    ordered = samples[np.lexsort(samples.T[::-1])]
    return np.asarray(ordered[np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))])


_PART: Final = 50


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A record that a person reads, with the samples to find."""

    record: int
    true: Integers  # int64 [s, 3], the samples to find, ascending in time; at least one
    known: Integers  # positions of the people whose samples are known
    rows: Integers | None = None  # the boxes that count; None = all
    own_places: Integers | None = None  # [p, 2], known places of the person to find
    blind_places: Integers | None = None  # the same as a blind reader has them; None = alike


class Read(NamedTuple):
    """How much is named rightly, by each of ``WAYS``, or of the ways with known places of the person.

    shares: float64 [ways, r, 6] for each reading: of boxes, those where a sample in the box is named and
    where its cell is; the same for random guesses; of samples in boxes, those that are named, and the same
    for random guesses. errors: float64 [ways, s, 2], cells and slots from each sample to the named place; of
    several boxes the nearest, infinite without any.
    """

    shares: Floats
    errors: Floats


def read_all(
    evaluation: Evaluation[BoxTarget], classes: "PeopleByClass", readings: Sequence[Reading]
) -> Read:
    """Name a sample in each box and score it, on all threads."""
    target, places, reach = evaluation.target, list_of(evaluation), reach_of(evaluation)
    sizes = np.maximum(target.classes.sizes, 2)
    n_ways = N_STANDING if len(places.along) == 1 else len(WAYS)

    def guess(reading: Reading) -> Integers:
        boxes, people = target.record(reading.record), int(sizes[target.class_of[reading.record]])
        question = boxes.tobytes(), reading.known.tobytes()
        if question not in target.guesses:  # several adversaries know as much of the same record
            unknown = max(people - len(reading.known), 1)
            known = by_time(classes.samples(reading.known))
            guesses = np.empty((n_ways, len(boxes), 3), dtype=np.int64)
            found = find_contents(boxes, known, places, reach)
            learned = guess_in_record(boxes, known, found, unknown, places, guesses)
            likely = None if len(known) else likely_places(found[0], *learned)
            if n_ways > N_STANDING:
                guesses[-1] = guesses[0]
                guess_by_followed_sides(boxes, found, unknown, places, guesses[-1])
            target.guesses[question] = guesses.astype(target.boxes.dtype), likely  # in boxes, so they fit
        narrow, likely = target.guesses[question]
        guesses = narrow.astype(np.int64)
        if reading.own_places is None or likely is None:
            return guesses
        blind = reading.own_places if reading.blind_places is None else reading.blind_places
        named = _name_own_places(boxes, reading.own_places, blind, guesses)
        guess_of_person(likely, np.ascontiguousarray(reading.own_places), people, places, named[-1])
        return named

    def part(begin: int) -> Read:
        some = readings[begin : begin + _PART]
        boxes = [target.record(reading.record) for reading in some]
        counted = [np.zeros(len(rows), dtype=np.bool_) for rows in boxes]
        for reading, mask in zip(some, counted, strict=True):
            mask[slice(None) if reading.rows is None else reading.rows] = True
        true = [reading.true for reading in some]
        of_boxes, of_true = (offsets_of(map(len, rows)) for rows in (boxes, true))
        true_samples = np.concatenate(true)
        table = Readings(of_boxes, np.concatenate(boxes), np.concatenate(counted), of_true, true_samples)
        guesses = np.concatenate([guess(reading) for reading in some], axis=1)
        n = len(guesses)
        read = Read(np.empty((n, len(some), N_SHARES)), np.empty((n, len(table.true_samples), 2)))
        for way in range(n):
            score_in_records(table, guesses[way], read.shares[way], read.errors[way])
        return read

    label = f"reading boxes ({evaluation.label})"
    parts = list(evaluation.run.map(part, range(0, len(readings), _PART), label=label))
    return Read(*(np.concatenate(scores, axis=1) for scores in zip(*parts, strict=True)))


def _name_own_places(boxes: Integers, places: Integers, blind: Integers, guesses: Integers) -> Integers:
    # ways that look at sides; the most usual place in all boxes; twice: of those in a box, else the surest
    named = guesses[[*range(N_READING), 1, 1, 1]]
    named[N_READING, :, 1:] = _by_use(blind)[-1]
    for x, y in _by_use(places).tolist():
        holds = (boxes[:, 2] <= x) & (x < boxes[:, 4]) & (boxes[:, 3] <= y) & (y < boxes[:, 5])
        named[N_READING + 1 :, holds, 1:] = x, y
    return named


def _by_use(places: Integers) -> Integers:
    cells, counts = np.unique(places, axis=0, return_counts=True)
    return np.asarray(cells[np.argsort(counts, kind="stable")])


@dataclass(frozen=True, eq=False, kw_only=True)
class PeopleByClass:
    """People by equal records: class c has people[starts[c]] to people[starts[c + 1]], ascending."""

    people: Integers
    starts: Integers
    evaluation: Evaluation[BoxTarget]

    @classmethod
    def of(cls, evaluation: Evaluation[BoxTarget]) -> "PeopleByClass":
        """The classes of a target."""
        target, inside = evaluation.target, evaluation.context.inside
        members = np.empty(0, dtype=np.int64) if inside is None else inside.subjects
        of_member = target.class_of[members if inside is None else inside.records]
        sizes = np.bincount(of_member, minlength=int(target.class_of.max()) + 1)
        people = members[np.argsort(of_member, kind="stable")]
        return cls(people=people, starts=np.append(0, np.cumsum(sizes)), evaluation=evaluation)

    def members(self, record: int) -> Integers:
        """The people with this record, ascending."""
        number = self.evaluation.target.class_of[record]
        return self.people[self.starts[number] : self.starts[number + 1]]

    def samples(self, subjects: Integers) -> Integers:
        """int64 [s, 3]: the samples of these people."""
        inside = self.evaluation.context.inside
        if inside is None or not len(subjects):
            return np.empty((0, 3), dtype=np.int64)
        return np.concatenate([np.column_stack(inside.people.samples_of(one)) for one in subjects.tolist()])
