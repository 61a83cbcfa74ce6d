"""The adversary who knows true points of a person and names the record that passes nearest to them.

(k, delta)-co-location with delta > 0 leaves most people where they were in relation to the others of their
cylinder, which this adversary uses: also by where in each cylinder such a person would stand, since everybody
outside was moved straight toward its middle. A swapped record passes where its people live.
"""

from typing import Final

import numpy as np

from shoal.attacks.cylinders import cylinders_of, in_parts
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import PointTarget
from shoal.kernels import moved_inward
from shoal.kernels.passing import N_SUMS, KnownPoints, Lines, link_nearest_passing

_RULES: Final = (
    ("holding the ends", "passes nearest to them, standing still before its first point and after its last"),
    (
        "close to most",
        "passes close to most of them, standing still before its first point and after its last",
    ),
    ("whole time", "passes nearest to them, of those that exist at all of their times"),
)
_INWARD: Final = "passes near and stands where they would be, moved straight into its cylinder,"
_RULES_IN_CYLINDERS: Final = (
    *_RULES,
    ("moved inward", f"{_INWARD} at their times"),
    ("moved inward, any time", f"{_INWARD} at any time"),
)


def attack_nearest(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the distances at p known times; records move in straight lines between points.

    Rules name the record with the least sum of distances, or of their logarithms, where a record stands still
    before its first point and after its last; or with the least sum among those that exist at all known
    times. In a release of cylinders two more rules ask which record stands where these points would have been
    moved to. If a record has several points at one moment, the nearest counts. A tie among c records counts
    1/c if the right one is among them. Of a person with fewer than p points all are known.
    """
    target, n, people = evaluation.target, len(evaluation.victims), evaluation.known
    rows = [evaluation.draw_rows(victim, p, rng) for victim in evaluation.victims.tolist()]
    offsets, taken = np.cumsum([0, *map(len, rows)], dtype=np.int64), np.concatenate(rows)
    t, x, y = people.t[taken], people.x[taken], people.y[taken]
    lines = Lines(target.offsets, target.t, target.x, target.y)
    cylinders = cylinders_of(evaluation)
    rules = _RULES if cylinders is None else _RULES_IN_CYLINDERS
    chances, inward = np.zeros((n, N_SUMS)), np.zeros((n, len(rules) - N_SUMS))

    def part(mine: slice, known: KnownPoints) -> None:
        link_nearest_passing(known, lines, chances[mine])
        if cylinders is not None:
            least = np.empty((len(known.own_record), moved_inward.N_SUMS))
            moved_inward.link_moved_points(known, *cylinders, inward[mine], least)

    in_parts(evaluation, KnownPoints(offsets, t, x, y, evaluation.own), part)
    points_known = f"{p} {{}}point{'s' * (p > 1)}"
    knows = f"knows {points_known.format('random ')} of a person exactly and names the record that"
    return [
        Rate.best_of(
            [
                Rule(name=name, does=f"{knows} {does}", chances=won)
                for (name, does), won in zip(rules, np.hstack([chances, inward]).T, strict=True)
            ],
            name="nearest-linkage",
            knowledge=points_known.format("true "),
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
        )
    ]
