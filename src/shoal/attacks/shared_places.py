"""What a whole crowd has in common: a sensitive place that all its members were near (homogeneity)."""

from collections.abc import Iterable
from functools import reduce
from typing import Final

import numpy as np

from shoal.attacks.downcoding import PeopleByClass
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.measures.near_places import cells_near, require_sensitive
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers

_DRAWS: Final = 20  # of all people into random groups


def attack_shared_place(evaluation: Evaluation[BoxTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Name a sensitive place that every member of the person's crowd was near, if there is one."""
    people = evaluation.people
    near = places_near(people)
    classes = PeopleByClass.of(evaluation)
    inside = evaluation.context.inside
    of_members = near if inside is None or inside.people is people else places_near(inside.people)
    crowds = [classes.members(record) for record in evaluation.records.tolist()]
    won = [
        bool(near[victim] & shared_by(of_members[member] for member in crowd.tolist()))
        for victim, crowd in zip(evaluation.victims.tolist(), crowds, strict=True)
    ]
    size = int(np.median([len(crowd) for crowd in crowds]))
    return [
        evaluation.rate_of(
            won,
            name="shared-place",
            knowledge="the person's record and a list of sensitive places",
            attacker="Someone who knows which record is the person's and names a sensitive place that all "
            "people with such a record were near.",
            baseline=share_by_chance(of_members, max(size, 1), rng),
        )
    ]


def places_near(people: Trajectories) -> list[frozenset[int]]:
    """The sensitive places that each person was near."""
    x, y, row = cells_near(require_sensitive(people), people.snapped_grid().cell_m)
    order = np.lexsort((y, x))
    cells, row = (x + 1j * y)[order], row[order]
    at = people.x + 1j * people.y
    first, end = (np.searchsorted(cells, at, side=side) for side in ("left", "right"))
    samples = np.flatnonzero(end > first)
    person = np.searchsorted(people.offsets, samples, side="right") - 1
    near: list[set[int]] = [set() for _ in range(people.n_subjects)]
    for one, low, high in zip(person.tolist(), first[samples].tolist(), end[samples].tolist(), strict=True):
        near[one].update(row[low:high].tolist())
    return [frozenset(places) for places in near]


def shared_by(places: Iterable[frozenset[int]]) -> frozenset[int]:
    """What all of these have in common; nothing of nobody."""
    return reduce(frozenset[int].__and__, [*places] or [frozenset()])


def share_by_chance(near: list[frozenset[int]], size: int, rng: np.random.Generator) -> float:
    """The share of people in random groups of this size who all were near one place."""
    whole = len(near) // size * size
    groups: list[Integers] = [
        group for _ in range(_DRAWS) for group in rng.permutation(len(near))[:whole].reshape(-1, size)
    ]
    return float(np.mean([bool(shared_by(near[one] for one in group.tolist())) for group in groups]))
