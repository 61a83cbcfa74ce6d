"""Downcoding: recover samples from tight boxes (Cohen 2021).

A sample touches each side of a hull, so corners are likelier; boxes of a record vote together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.kernels.insider import N_SHARES, Readings, guess_in_records
from shoal.runtime.arrays import Floats, Integers

_NOBODY = np.empty(0, dtype=np.int64)


def attack_downcoding(evaluation: Evaluation[BoxTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Name, for each box of a record, where and when one of its people was."""
    del rng  # nothing is drawn: the whole release is looked at
    classes = PeopleByClass.of(evaluation)
    readings = [
        Reading(
            boxes=evaluation.target.record(own_record),
            true=np.column_stack(evaluation.people.samples_of(victim))
            if evaluation.label == "control"
            else _distinct(classes.samples(classes.members(own_record))),
            known=_NOBODY,
        )
        for victim, own_record in zip(evaluation.victims.tolist(), evaluation.records.tolist(), strict=True)
    ]
    exact, cell, lucky, lucky_cell, *_ = read_all(evaluation, classes, readings).shares[1].T
    does = "Someone who has a record alone and says for each of its boxes"
    attackers = {
        "downcoding-exact": (exact, f"{does} in which cell and slot one of its people was.", lucky),
        "downcoding-place": (cell, f"{does} in which cell one of its people was.", lucky_cell),
    }
    return [
        evaluation.rate_of(
            won,
            name=name,
            knowledge="the release alone",
            attacker=attacker,
            baseline=float(chance.mean()),
        )
        for name, (won, attacker, chance) in attackers.items()
    ]


def _distinct(samples: Integers) -> Integers:
    ordered = samples[np.lexsort(samples.T[::-1])]
    return np.asarray(ordered[np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))])


_PART: Final = 50


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A record that a person reads, with the samples to find."""

    boxes: Integers  # [b, 6]
    true: Integers  # int64 [s, 3], the samples to find, ascending in time; at least one
    known: Integers  # positions of the people whose samples are known
    rows: Integers | None = None  # the boxes that count; None = all


class Read(NamedTuple):
    """How much is named rightly, with what is known and with nothing, in this order.

    shares: float64 [2, r, 6] for each reading: of boxes, those where a sample in the box is named and where
    its cell is; the same for guessing; of samples in boxes, those that are named, and the same for
    guessing. errors: float64 [2, s, 2], cells and slots from each sample to the named place; of several
    boxes the nearest, infinite without any.
    """

    shares: Floats
    errors: Floats


def read_all(
    evaluation: Evaluation[BoxTarget], classes: "PeopleByClass", readings: Sequence[Reading]
) -> Read:
    """Name a sample in each box and score it, on all threads."""

    def part(begin: int) -> Read:
        return _read(readings[begin : begin + _PART], classes)

    label = f"reading boxes ({evaluation.label})"
    parts = list(evaluation.run.map(part, range(0, len(readings), _PART), label=label))
    return Read(*(np.concatenate(scores, axis=1) for scores in zip(*parts, strict=True)))


def _read(readings: Sequence[Reading], classes: "PeopleByClass") -> Read:
    known_samples = [classes.samples(reading.known) for reading in readings]
    true_samples = [reading.true for reading in readings]
    counted = [np.full(len(reading.boxes), reading.rows is None) for reading in readings]
    for reading, mask in zip(readings, counted, strict=True):
        if reading.rows is not None:
            mask[reading.rows] = True
    boxes = [reading.boxes for reading in readings]
    read = Read(np.empty((2, len(readings), N_SHARES)), np.empty((2, sum(map(len, true_samples)), 2)))
    table = Readings(
        _offsets(boxes),
        np.concatenate(boxes),
        np.concatenate(counted),
        _offsets(known_samples),
        np.concatenate(known_samples),
        _offsets(true_samples),
        np.concatenate(true_samples),
    )
    guess_in_records(table, read.shares, read.errors)
    return read


def _offsets(parts: Sequence[Integers]) -> Integers:
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class PeopleByClass:
    """People by equal records; of_class: ascending."""

    of_class: list[Integers]
    evaluation: Evaluation[BoxTarget]

    @classmethod
    def of(cls, evaluation: Evaluation[BoxTarget]) -> "PeopleByClass":
        """The classes of a target."""
        target, inside = evaluation.target, evaluation.context.inside
        members = np.empty(0, dtype=np.int64) if inside is None else inside.subjects
        of_member = target.class_of[members if inside is None else inside.records]
        order = np.argsort(of_member, kind="stable")
        ends = np.cumsum(np.bincount(of_member, minlength=int(target.class_of.max()) + 1))[:-1]
        return cls(of_class=np.split(members[order], ends), evaluation=evaluation)

    def members(self, record: int) -> Integers:
        """The people with this record, ascending."""
        return self.of_class[int(self.evaluation.target.class_of[record])]

    def samples(self, subjects: Integers) -> Integers:
        """int64 [s, 3]: the samples of these people."""
        inside = self.evaluation.context.inside
        if inside is None or not len(subjects):
            return np.empty((0, 3), dtype=np.int64)
        return np.concatenate([np.column_stack(inside.people.samples_of(one)) for one in subjects.tolist()])
