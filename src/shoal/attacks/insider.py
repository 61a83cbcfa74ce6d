"""The insider: whoever is in the boxes of a record subtracts the own samples from them.

A member of an equivalence class has the own raw data, and the class's record is the own record. In a class of
two, whatever side of a box the own samples do not touch, the partner's do. Where people hide each other for a
while, whoever hides somebody has the same of the other's record for so long.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.hiders import Hiders
from shoal.attacks.hulls import Classes, Reading, read_all
from shoal.attacks.rate import Error, Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.model.claims import KteAnonymity
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats

ALL = 1_000_000  # more members than a class has: all but one
_SAMPLES: Final = 4  # the share that counts samples; before it stand two of boxes and their luck
_RULES: Final = {
    "subtraction": "on sides that these samples leave unexplained",
    "corners": "by where most corners of the record lie",
}


def colluding(word: str) -> int:
    """How many members share what they know; ``all`` = everybody but the victim."""
    if word == "all":
        return ALL
    if not word.isdecimal() or not 1 <= int(word) < ALL:
        raise MisuseError(f"'{word}' is neither a number of members from 1 on nor all")
    return int(word)


def attack_insider(
    evaluation: Evaluation[BoxTarget], members: int = 1, *, rng: np.random.Generator
) -> list[Rate]:
    """For each box of the shared record, where and when another member was.

    Two rates are shares of boxes for which that is right, and one is the share of the victim's samples that
    are named so. Beside them stand the median errors over all samples of the victims that a box holds.

    members: who collude, drawn at random from the victim's class. Against the control group they do the same,
    and what they name is held against somebody who is in no class. A raw record is of one person alone. Where
    people hide each other, the boxes are those of a window of time in which somebody hides the victim.
    """
    classes, claim, inside = Classes.of(evaluation), evaluation.around.claim, evaluation.around.inside
    hiders = Hiders(evaluation, claim, inside) if inside and isinstance(claim, KteAnonymity) else None
    readings: list[Reading] = []
    for victim, own in zip(evaluation.victims.tolist(), evaluation.own.tolist(), strict=True):
        boxes, samples = evaluation.target.record(own), np.column_stack(evaluation.known.samples_of(victim))
        if hiders is None:
            others = classes.members(own)
            others = others[others != victim] if evaluation.label != "control" else others[1:]
            readings.append(Reading(boxes=boxes, true=samples, known=rng.permutation(others)[:members]))
            continue
        shared = hiders.drawn(own, -1 if evaluation.label == "control" else victim, rng)
        known = np.append(rng.permutation(shared.through), rng.permutation(shared.beside))[:members]
        then = (samples[:, 0] >= shared.begin) & (samples[:, 0] < shared.end)
        samples = samples[then] if then.any() else samples
        readings.append(Reading(boxes=boxes, true=samples, known=known, rows=shared.rows))
    found = read_all(evaluation, classes, readings)
    who = "a member" if members == 1 else "all other members" if members == ALL else f"{members} members"
    of, whom, has = "the class", "another member", "the record of an equivalence class"
    if hiders is not None:
        who, of, whom = who.replace("member", "hider"), "the record", "its person"
        has = "a record, a window of time through which others hide its person,"
    told = {
        "insider-exact": (0, f"in which cell and slot {whom} was"),
        "insider-place": (1, f"in which cell {whom} was"),
        "insider-samples": (
            _SAMPLES,
            f"in which cell and slot {whom} was, and so has the share of the person's samples for which that "
            "is right",
        ),
    }
    rates = [
        Rate.best_of(
            [
                Rule(
                    name=rule,
                    does=f"has {has} and the raw samples of {who}, and says for each of its boxes {says}, "
                    f"{by}",
                    chances=found.shares[number, :, row],
                )
                for number, (rule, by) in enumerate(_RULES.items())
            ],
            name=name,
            knowledge=f"what {who} of {of} know{'s' * (members == 1)}",
            target=evaluation.label,
            baseline=float(found.shares[0, :, row + (1 if row == _SAMPLES else 2)].mean()),
            clusters=evaluation.clusters,
        )
        for name, (row, says) in told.items()
    ]
    held = (one[np.isfinite(one[:, 0])] for one in found.errors)
    away = [median_error(one, evaluation.target.grid) for one in held]
    of_rule = dict(zip(_RULES, away, strict=True))
    return [replace(rate, error=of_rule[str(rate.rule).split(" or ")[0]]) for rate in rates]


def median_error(errors: Floats, grid: Grid) -> Error | None:
    """The median over samples of the error in place and of that in time; None without any.

    errors: [s, 2], in cells and slots.
    """
    if not len(errors):
        return None
    cells, slots = np.median(errors, axis=0).tolist()
    return Error(space_m=cells * grid.cell_m, time_s=slots * grid.slot_s)
