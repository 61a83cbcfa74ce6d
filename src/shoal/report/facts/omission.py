"""Extents of a release's crowds for several shares of omitted samples.

The crowds stay; only their boxes are chosen again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from shoal.kernels.box_measures import BoxColumns, Ownership, Points, covering_extents
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.omission import Budget, omit_for_budgets
from shoal.methods.glove.refine import merge_by_weights, weights_of
from shoal.methods.k_merge import merge_members, samples_by_time
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, offsets_of
from shoal.utility import Facts
from shoal.utility.accuracy import Extents

SHARES: Final = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2)
MOST_PEOPLE: Final = 500  # in whole crowds; of a larger release these stand for all
_DRAW_SEED: Final = 1  # of who is drawn


@dataclass(frozen=True, kw_only=True)
class OmissionRow:
    """The precision at one share; extents are those of raw samples."""

    may_be_missing: float
    samples_missing: float
    people_missing: float
    mean_space_m: float
    median_space_m: float
    mean_time_s: float
    median_time_s: float


@dataclass(frozen=True, kw_only=True)
class OmissionFrontier:
    """One row per share, from 0 up. people: in the crowds measured."""

    rows: tuple[OmissionRow, ...]
    people: int

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "OmissionFrontier":
        """Read the document of ``to_json``."""
        return cls(rows=tuple(OmissionRow(**row) for row in document["rows"]), people=document["people"])

    def to_json(self) -> dict[str, Any]:
        """The document in a comparison."""
        return {"people": self.people, "rows": [asdict(row) for row in self.rows]}


def omission_frontier(facts: Facts) -> OmissionFrontier | None:
    """The frontier of a release's crowds.

    None unless its boxes are k-merge's without bounds on their size.
    """
    release, settings = facts.release, facts.release.parameters
    bounded = ("extent_at_most", "suppress_space_m", "suppress_time_s")
    if (release.method, settings.get("generalize")) != ("glove", "k-merge") or any(
        map(settings.get, bounded)
    ):
        return None
    crowds = _draw_crowds(people_by_crowd(facts))
    start = _covering_all(
        facts.original, crowds, refined=bool(settings.get("refine") and settings.get("refine_rounds"))
    )
    shares = sorted({*SHARES, settings.get("omit_at_most") or 0.0})
    budgets = [Budget.of(share, settings.get("omit_of_one_at_most")) for share in shares]
    classes_by_budget = omit_for_budgets(facts.original, start, budgets, facts.run)
    people = sum(len(members) for members in crowds)
    samples = int(sum(facts.original.lengths[members].sum() for members in crowds))
    rows = []
    for share, classes in zip(shares, classes_by_budget, strict=True):
        extents = extents_of_classes(facts.original, classes)
        people_left = sum(len(group.members) for group in classes)
        rows.append(
            OmissionRow(
                may_be_missing=share,
                samples_missing=(samples - extents.n_samples) / samples,
                people_missing=(people - people_left) / people,
                mean_space_m=extents.mean_space_m,
                median_space_m=extents.median_space_m,
                mean_time_s=extents.mean_time_s,
                median_time_s=extents.median_time_s,
            )
        )
    return OmissionFrontier(rows=tuple(rows), people=people)


def people_by_crowd(facts: Facts) -> list[Integers]:
    """The subjects of each crowd, ascending; those without a record are in none."""
    people = np.flatnonzero(facts.records >= 0)
    crowds = facts.crowds[facts.records[people]]
    order = np.argsort(crowds, kind="stable")
    return np.split(people[order], np.flatnonzero(np.diff(crowds[order])) + 1)


def _draw_crowds(crowds: list[Integers]) -> list[Integers]:
    """Or a random part that holds MOST_PEOPLE."""
    sizes = np.array([len(members) for members in crowds])
    if sizes.sum() <= MOST_PEOPLE:
        return crowds
    order = np.random.default_rng(_DRAW_SEED).permutation(len(crowds))
    enough = int(np.searchsorted(np.cumsum(sizes[order]), MOST_PEOPLE)) + 1
    return [crowds[place] for place in np.sort(order[:enough]).tolist()]


def _covering_all(
    original: Trajectories, crowds: Sequence[Integers], *, refined: bool
) -> list[EquivalenceClass]:
    """As GLOVE chooses them before it omits any."""
    plain = [
        EquivalenceClass(members=members, boxes=merge_members(original, members)[0]) for members in crowds
    ]
    if not refined:
        return plain
    weights = weights_of(original, plain, ramp=True)
    return [
        EquivalenceClass(members=members, boxes=merge_by_weights(original, members, weights)[0])
        for members in crowds
    ]


def extents_of_classes(original: Trajectories, classes: Sequence[EquivalenceClass]) -> Extents:
    """The extents of each raw sample's box."""
    columns = [samples_by_time(original, group.members)[:3] for group in classes]
    t, x, y = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    owned = Ownership(
        offsets_of(len(sample_columns[0]) for sample_columns in columns),
        offsets_of(len(group.boxes) for group in classes),
        np.arange(len(classes)),
    )
    boxes = Boxes.concatenate([group.boxes for group in classes])
    slots, cells = np.empty(len(t), dtype=np.int64), np.empty(len(t), dtype=np.int64)
    covering_extents(Points(t, x, y), BoxColumns(*boxes.columns()), owned, slots, cells)
    return Extents.of(cells[slots >= 0], slots[slots >= 0], original.snapped_grid())


def made_with_omission(release: Release) -> bool:
    """Whether samples were omitted to shrink boxes."""
    return bool(release.parameters.get("omit_at_most"))
