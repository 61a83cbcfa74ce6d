"""Downcoding: samples recovered from the boxes alone, because boxes are no larger than they must be.

Cohen (2021) recovers what minimal generalization hid. Here every side of a box is touched by a sample, so
corners are likelier than cells within, and the corners of all boxes of a record together show its places.
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.hulls import Classes, Reading, read_all
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.runtime.arrays import Integers

_NOBODY = np.empty(0, dtype=np.int64)


def attack_downcoding(evaluation: Evaluation[BoxTarget], *, rng: np.random.Generator) -> list[Rate]:
    """For each box of a record, where and when one of its people was; shares of boxes that are right.

    The people of a record are those whose records equal it. Of the control group it is the person alone.
    """
    del rng  # nothing is drawn: the whole release is looked at
    classes = Classes.of(evaluation)
    readings = [
        Reading(
            boxes=evaluation.target.record(own),
            true=np.column_stack(evaluation.known.samples_of(victim))
            if evaluation.label == "control"
            else _distinct(classes.samples(classes.members(own))),
            known=_NOBODY,
        )
        for victim, own in zip(evaluation.victims.tolist(), evaluation.own.tolist(), strict=True)
    ]
    exact, cell, lucky, lucky_cell, *_ = read_all(evaluation, classes, readings).shares[1].T
    does = "Someone who has a record alone and says for each of its boxes"
    told = {
        "downcoding-exact": (exact, f"{does} in which cell and slot one of its people was.", lucky),
        "downcoding-place": (cell, f"{does} in which cell one of its people was.", lucky_cell),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge="the release alone",
            attacker=attacker,
            target=evaluation.label,
            baseline=float(chance.mean()),
            clusters=evaluation.clusters,
        )
        for name, (won, attacker, chance) in told.items()
    ]


def _distinct(samples: Integers) -> Integers:
    """The different rows of samples [s, 3], by time: members may have been at one place at one time."""
    ordered = samples[np.lexsort(samples.T[::-1])]
    return np.asarray(ordered[np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))])
