"""The adversary who knows true points of a person and names the record that passes nearest to them.

Meant for releases of moved points: (k, delta)-co-location with delta > 0 leaves most people where they were
in relation to the others of their cylinder, which this adversary uses (semantics 3.9).
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget
from shoal.runtime.arrays import Floats


def attack_nearest(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the least sum of distances at p known times; records move in straight lines between points.

    A record counts only if it exists at all known times; if it has several points at one moment, the nearest
    counts. A tie among c records counts 1/c if the right one is among them. Of a person with fewer than p
    points all are known.
    """
    target, victims, people = evaluation.target, evaluation.victims, evaluation.known
    known = np.zeros((len(victims), p), dtype=np.int64)
    counted = np.zeros((len(victims), p), dtype=np.bool_)
    for place, victim in enumerate(victims.tolist()):
        rows = evaluation.draw_rows(victim, p, rng)
        known[place, : len(rows)], counted[place, : len(rows)] = rows, True
    t, x, y = people.t[known], people.x[known], people.y[known]
    nearest, ties, own = np.full(len(victims), np.inf), np.zeros(len(victims)), np.full(len(victims), np.inf)
    label = f"measuring distances ({evaluation.label})"
    evaluation.run.progress(label, 0, target.n_records)
    for record in range(target.n_records):
        points = slice(target.offsets[record], target.offsets[record + 1])
        distances_m = _distances_m(target.t[points], target.x[points], target.y[points], t, x, y)
        sums_m = np.where(counted, distances_m, 0.0).sum(axis=1)
        ties = np.where(sums_m < nearest, 1, ties + ((sums_m == nearest) & np.isfinite(sums_m)))
        nearest = np.minimum(nearest, sums_m)
        own = np.where(evaluation.own == record, sums_m, own)
    evaluation.run.progress(label, target.n_records, target.n_records)
    points_known = f"{p} {{}}point{'s' * (p > 1)}"
    return [
        Rate.of(
            np.where(np.isfinite(own) & (own == nearest), 1 / np.maximum(ties, 1), 0),
            name="nearest-linkage",
            knowledge=points_known.format("true "),
            attacker=f"Someone who knows {points_known.format('random ')} of a person exactly and names the "
            "record that passes nearest to them.",
            target=evaluation.label,
            baseline=evaluation.guess,
        )
    ]


def _distances_m(at: Floats, east: Floats, north: Floats, t: Floats, x: Floats, y: Floats) -> Floats:
    """How far each (x, y) is from the broken line through (east, north) at its time t.

    Infinite before the line's first point and after its last.
    """
    beside_x, beside_y = (np.interp(t, at, column, left=np.inf, right=np.inf) for column in (east, north))
    away = np.hypot(beside_x - x, beside_y - y)
    first, end = np.searchsorted(at, t), np.searchsorted(at, t, side="right")
    # np.interp gives the last of several points at one moment; the others are looked at one by one
    for step in range(int((end - first).max()) - 1):
        there = first + step < end
        row = np.where(there, first + step, 0)
        away = np.where(there, np.minimum(away, np.hypot(east[row] - x, north[row] - y)), away)
    return away
