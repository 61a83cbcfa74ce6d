"""The insider: a member of an equivalence class who subtracts the own samples from the shared boxes.

A member has the own raw data, and the class's record is the own record. In a class of two, whatever side of a
box the own samples do not touch, the partner's do.
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.hulls import Classes, judged, named_samples
from shoal.attacks.rate import Error, Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.model.trajectories import Grid
from shoal.runtime.arrays import Floats

ALL = 1_000_000  # more members than a class has: all but one


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
    and what they name is held against somebody who is in no class. A raw record is of one person alone.
    """
    classes = Classes.of(evaluation)
    outcomes = np.zeros((6, len(evaluation.victims)))
    errors: list[Floats] = []
    for place, (victim, own) in enumerate(
        zip(evaluation.victims.tolist(), evaluation.own.tolist(), strict=True)
    ):
        others = classes.members(own)
        others = rng.permutation(others[others != victim] if evaluation.label != "control" else others[1:])
        boxes = evaluation.target.record(own)
        named = named_samples(boxes, classes.samples(others[:members]))
        samples = np.column_stack(evaluation.known.samples_of(victim))
        found = judged(boxes, named, samples)
        outcomes[:, place] = np.concatenate([found.by_box, found.by_sample])
        errors.append(found.errors)
    exact, cell, lucky, lucky_cell, of_samples, lucky_sample = outcomes
    error = median_error(np.concatenate(errors), evaluation.target.grid)
    who = "a member" if members == 1 else "all other members" if members == ALL else f"{members} members"
    knowledge = f"what {who} of the class know{'s' * (members == 1)}"
    does = (
        f"Someone who has the record of an equivalence class and the raw samples of {who}, and says for each "
        "of its boxes"
    )
    told = {
        "insider-exact": (exact, f"{does} in which cell and slot another member was.", lucky),
        "insider-place": (cell, f"{does} in which cell another member was.", lucky_cell),
        "insider-samples": (
            of_samples,
            f"{does} in which cell and slot another member was, and so has the share of the person's samples "
            "for which that is right.",
            lucky_sample,
        ),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=knowledge,
            attacker=attacker,
            target=evaluation.label,
            baseline=float(chance.mean()),
            clusters=evaluation.clusters,
            error=error,
        )
        for name, (won, attacker, chance) in told.items()
    ]


def median_error(errors: Floats, grid: Grid) -> Error | None:
    """The median over samples of the error in place and of that in time; None without any.

    errors: [s, 2], in cells and slots.
    """
    if not len(errors):
        return None
    cells, slots = np.median(errors, axis=0).tolist()
    return Error(space_m=cells * grid.cell_m, time_s=slots * grid.slot_s)
