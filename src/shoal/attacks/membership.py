"""Membership: is a person in the data? Table linkage (Fiore et al., arXiv 1903.12211); guessing: one half."""

import numpy as np
import numpy.typing as npt

from shoal.attacks.cylinders import PARTS, Cylinders, cylinders_of, in_parts
from shoal.attacks.evaluation import Evaluation, Victims
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.likelihood import strongest_evidence
from shoal.kernels.moved_inward import N_SUMS, link_moved_points
from shoal.kernels.passing import KnownPoints
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of

_INWARD = "whether a record stands where they would be, moved into its cylinder,"
_RULES = (
    ("cells", "cells alone"),
    ("moved inward", f"{_INWARD} at their times"),
    ("moved inward, any time", f"{_INWARD} at any time"),
)
_FEWEST = 4  # people of each kind, so that a bound can be chosen on half of them


def attack_membership(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Say of people, with p samples known, whether they are in the release.

    Yes above a bound of evidence, chosen on one half of the people and tried on the other. Control: people
    outside against people outside.
    """
    outside = evaluation.context.outside
    if outside is None or min(len(outside.subjects), len(evaluation.victims)) < _FEWEST:
        raise MisuseError(
            f"membership needs {_FEWEST} people in the release and {_FEWEST} who are not; give --control"
        )
    inside = Victims(
        label=evaluation.label,
        people=evaluation.people,
        subjects=evaluation.victims,
        records=evaluation.records,
    )
    yes, no = rng.permutation(inside.subjects), rng.permutation(outside.subjects)
    if evaluation.label == "control":
        yes, no = yes[: len(yes) // 2], yes[len(yes) // 2 :]
        if len(yes) < _FEWEST:
            raise MisuseError(f"a control group of fewer than {2 * _FEWEST} cannot be held against itself")
    size = min(len(yes), len(no))
    people = ((inside.people, yes[:size]), (outside.people, no[:size]))
    strengths = np.concatenate([_strengths(evaluation.target, *those, p, rng) for those in people])
    member = np.arange(2 * size) < size
    knows = (
        f"knows {p} random sample{'s' * (p > 1)} of a person exactly, "
        "and says whether the person is in the data"
    )
    right = says_rightly(strengths, member)
    points = f"{p} exact point{'s' * (p > 1)}"
    half = "Half of those asked about are; guessing is right for half."
    moved, as_given = cylinders_of(evaluation.as_given), evaluation.as_given
    if moved is None or as_given is None or as_given.context.outside is None:
        return [
            evaluation.rate_of(
                right,
                name="membership",
                knowledge=points,
                attacker=f"Someone who {knows}. {half}",
                baseline=0.5,
                clusters=np.arange(2 * size),
            )
        ]
    outside_people = as_given.context.outside.people if evaluation.label == "control" else as_given.people
    people_as_given = ((outside_people, yes[:size]), (as_given.context.outside.people, no[:size]))
    off = np.concatenate([_off(evaluation, moved, *those, p, rng) for those in people_as_given])
    won = np.column_stack([right, *(says_rightly(-sums, member) for sums in off.T)])
    return [
        evaluation.best_rate(
            Rule.of_each(f"{knows}, by", _RULES, won),
            name="membership",
            knowledge=points,
            baseline=0.5,
            clusters=np.arange(2 * size),
            parts=PARTS,
        )
    ]


def says_rightly(strengths: Floats, member: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """[v]: whether answers are right, by a bound from the other half (even, odd)."""
    right = np.zeros(len(strengths), dtype=np.bool_)
    half = np.arange(len(strengths)) % 2 == 0
    for learned, tried in ((half, ~half), (~half, half)):
        bound = best_bound(strengths[learned], member[learned])
        right[tried] = (strengths[tried] >= bound) == member[tried]
    return right


def best_bound(strengths: Floats, member: npt.NDArray[np.bool_]) -> float:
    """Where a yes is right most often, both kinds counting alike; the lowest of equals."""
    bounds = np.append(np.unique(strengths), np.inf)
    says_member = strengths[None, :] >= bounds[:, None]
    share = (says_member & member).sum(axis=1) / max(int(member.sum()), 1)
    wrong = (says_member & ~member).sum(axis=1) / max(int((~member).sum()), 1)
    return float(bounds[np.argmax(share - wrong)])


def _strengths(
    target: BoxTarget, data: Trajectories, people: Integers, p: int, rng: np.random.Generator
) -> Floats:
    offsets, sample_rows = _rows(data, people, p, rng)
    columns = (data.t[sample_rows], data.x[sample_rows], data.y[sample_rows])
    samples, strengths = np.column_stack(columns).astype(np.int64), np.zeros(len(people))
    starts, ends, *corners = (target.boxes[:, column].astype(np.int64) for column in range(6))
    widest = float(((ends - starts) * (corners[2] - corners[0]) * (corners[3] - corners[1])).max())
    strongest_evidence(offsets, samples, target.by_time, target.n_records, widest, strengths)
    return strengths


def _off(
    evaluation: Evaluation[BoxTarget],
    moved: Cylinders,
    data: Trajectories,
    people: Integers,
    p: int,
    rng: np.random.Generator,
) -> Floats:
    """[v, rules]: distance of the nearest record from where the person would stand."""
    offsets, sample_rows = _rows(data, people, p, rng)
    nobody = np.zeros(len(people), dtype=np.int64)
    points = KnownPoints(offsets, data.t[sample_rows], data.x[sample_rows], data.y[sample_rows], nobody)
    chances, least = np.empty((2, len(people), N_SUMS))

    def part(mine: slice, chunk: KnownPoints) -> None:
        link_moved_points(chunk, *moved, chances[mine], least[mine])

    in_parts(evaluation, points, part)
    return least / np.maximum(np.diff(offsets), 1)[:, None]


def _rows(
    data: Trajectories, people: Integers, p: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    rows = [
        data.offsets[person]
        + rng.choice(int(data.lengths[person]), size=min(p, int(data.lengths[person])), replace=False)
        for person in people.tolist()
    ]
    return offsets_of(map(len, rows)), np.concatenate(rows)
