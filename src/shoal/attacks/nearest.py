"""The adversary who knows true points of a person and names the record that passes nearest to them.

(k, delta)-co-location with delta > 0 leaves most people where they were in relation to the others of their
cylinder, which this adversary uses; a swapped record passes where its people live.
"""

from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import PointTarget
from shoal.kernels.passing import N_SUMS, KnownPoints, Lines, pass_nearest

_PART: Final = 50
_RULES: Final = (
    ("holding the ends", "passes nearest to them, standing still before its first point and after its last"),
    (
        "close to most",
        "passes close to most of them, standing still before its first point and after its last",
    ),
    ("whole time", "passes nearest to them, of those that exist at all of their times"),
)


def attack_nearest(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the distances at p known times; records move in straight lines between points.

    Rules name the record with the least sum of distances, or of their logarithms, where a record stands still
    before its first point and after its last; or with the least sum among those that exist at all known
    times. If a record has several points at one moment, the nearest counts. A tie among c records counts 1/c
    if the right one is among them. Of a person with fewer than p points all are known.
    """
    target, n, people = evaluation.target, len(evaluation.victims), evaluation.known
    rows = [evaluation.draw_rows(victim, p, rng) for victim in evaluation.victims.tolist()]
    offsets, taken = np.cumsum([0, *map(len, rows)], dtype=np.int64), np.concatenate(rows)
    t, x, y = people.t[taken], people.x[taken], people.y[taken]
    lines = Lines(target.offsets, target.t, target.x, target.y)
    chances = np.zeros((n, N_SUMS))

    def part(begin: int) -> None:
        end = min(begin + _PART, n)
        known = KnownPoints(offsets[begin : end + 1], t, x, y, evaluation.own[begin:end])
        pass_nearest(known, lines, chances[begin:end])

    for _ in evaluation.run.map(part, range(0, n, _PART), label=f"measuring distances ({evaluation.label})"):
        pass
    points_known = f"{p} {{}}point{'s' * (p > 1)}"
    knows = f"knows {points_known.format('random ')} of a person exactly and names the record that"
    return [
        Rate.best_of(
            [
                Rule(name=name, does=f"{knows} {does}", chances=chances[:, number])
                for number, (name, does) in enumerate(_RULES)
            ],
            name="nearest-linkage",
            knowledge=points_known.format("true "),
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
        )
    ]
