"""The adversary who knows p true points of a person and names the record that passes nearest to them: for releases of moved points."""

import numpy as np

from shoal.attacks.rate import Rate
from shoal.linked import records_of
from shoal.release import Linkage, PointRelease
from shoal.trajectories import Trajectories


def attack_nearest(
    original: Trajectories, release: PointRelease, linkage: Linkage, p: int, rng: np.random.Generator, *, tries: int = 1000
) -> Rate:
    """Linkage by the least sum of distances at p known times, records being on straight lines between their points.

    A record counts only if it is there at all p times; a tie among c records counts 1/c if the right one is among them. Victims are
    published people, ``tries`` at random where there are more; of a person with fewer than p samples all are known. (k, delta)-co-location
    with delta > 0 leaves most people where they were in relation to the others of their cylinder, which this uses (semantics 3.9).
    """
    own_record = records_of(original, release, linkage)
    published = np.flatnonzero(own_record >= 0)
    victims = np.sort(rng.choice(published, tries, replace=False)) if len(published) > tries else published
    rows = [
        original.offsets[victim] + rng.choice(original.lengths[victim], p, replace=bool(original.lengths[victim] < p)) for victim in victims
    ]
    known = np.stack(rows)
    t, x, y = original.t[known], original.x[known], original.y[known]
    nearest, equally, own = np.full(len(victims), np.inf), np.zeros(len(victims)), np.full(len(victims), np.inf)
    for record in range(release.n_records):
        points = release.record(record)
        beside_x, beside_y = (np.interp(t, points.t, column, left=np.inf, right=np.inf) for column in (points.x, points.y))
        apart = np.hypot(beside_x - x, beside_y - y).sum(axis=1)
        equally = np.where(apart < nearest, 1, equally + ((apart == nearest) & np.isfinite(apart)))
        nearest = np.minimum(nearest, apart)
        own = np.where(own_record[victims] == record, apart, own)
    won = np.where(np.isfinite(own) & (own == nearest), 1 / np.maximum(equally, 1), 0)
    return Rate(
        name="linkage",
        knowledge=f"{p} true point{'s' * (p > 1)}",
        attacker=f"Someone who knows {p} random samples of a person exactly and names the record that passes nearest to them.",
        target="release",
        tries=len(victims),
        successes=float(won.sum()),
        baseline=1 / release.n_records,
    )
