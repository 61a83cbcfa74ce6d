"""The adversary who knows p true points of a person and names the record that passes nearest to them.

For releases of moved points.
"""

import numpy as np

from shoal.attacks.rate import Rate
from shoal.attacks.target_points import GivenScene
from shoal.runtime.arrays import Floats


def attack_nearest(scene: GivenScene, p: int, rng: np.random.Generator) -> Rate:
    """Linkage by the least sum of distances at p known times, records being on straight lines between their points.

    A record counts only if it is there at all known times; a tie among c records counts 1/c if the right one is among them. Of a person
    with fewer than p points all are known. (k, delta)-co-location with delta > 0 leaves most people where they were in relation to the
    others of their cylinder, which this uses (semantics 3.9). Of several points of a record at one moment the nearest counts.
    """
    shown, victims = scene.shown, scene.victims
    known = np.zeros((len(victims), p), dtype=np.int64)
    counted = np.zeros((len(victims), p), dtype=np.bool_)
    for place, victim in enumerate(victims.tolist()):
        rows = scene.rows_known(victim, p, rng)
        known[place, : len(rows)], counted[place, : len(rows)] = rows, True
    t, x, y = scene.known.t[known], scene.known.x[known], scene.known.y[known]
    nearest, equally, own = (
        np.full(len(victims), np.inf),
        np.zeros(len(victims)),
        np.full(len(victims), np.inf),
    )
    scene.run.progress(f"measuring distances ({scene.label})", 0, shown.n_records)
    for record in range(shown.n_records):
        points = slice(shown.offsets[record], shown.offsets[record + 1])
        away = _distances(shown.t[points], shown.x[points], shown.y[points], t, x, y)
        apart = np.where(counted, away, 0.0).sum(axis=1)
        equally = np.where(apart < nearest, 1, equally + ((apart == nearest) & np.isfinite(apart)))
        nearest = np.minimum(nearest, apart)
        own = np.where(scene.own == record, apart, own)
    scene.run.progress(f"measuring distances ({scene.label})", shown.n_records, shown.n_records)
    return Rate.of(
        np.where(np.isfinite(own) & (own == nearest), 1 / np.maximum(equally, 1), 0),
        name="nearest-linkage",
        knowledge=f"{p} true point{'s' * (p > 1)}",
        attacker=f"Someone who knows {p} random point{'s' * (p > 1)} of a person exactly and names the "
        "record that passes nearest to them.",
        target=scene.label,
        baseline=scene.guess,
    )


def _distances(at: Floats, east: Floats, north: Floats, t: Floats, x: Floats, y: Floats) -> Floats:
    """How far each (x, y) is from the broken line through (east, north) at its time t.

    Inf before its first and after its last point.
    """
    beside_x, beside_y = (np.interp(t, at, column, left=np.inf, right=np.inf) for column in (east, north))
    away = np.hypot(beside_x - x, beside_y - y)
    first, end = np.searchsorted(at, t), np.searchsorted(at, t, side="right")
    for step in range(
        int((end - first).max()) - 1
    ):  # the last of several points at one moment is what np.interp gives
        there = first + step < end
        row = np.where(there, first + step, 0)
        away = np.where(there, np.minimum(away, np.hypot(east[row] - x, north[row] - y)), away)
    return away
