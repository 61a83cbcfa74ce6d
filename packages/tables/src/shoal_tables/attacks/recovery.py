"""Paths of people from counts of presence alone.

People move little from one hour to the next. So the people counted in one hour are matched with those of the
next by the least sum of distances; from the third hour on, from where each would be if it moved on half as
fast. After Xu, Tu, Li, Zhang, Fu and Jin 2017, "Trajectory recovery from ash".
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from shoal.errors import MisuseError
from shoal.runtime.arrays import Floats, Integers


@dataclass(frozen=True)
class Recovery:
    """The share of hours in which recovered, or guessed, paths are where people were, matched at best."""

    right: float
    guessing: float


def recover_paths(counts: Floats, places: Floats, n_people: int) -> Integers:
    """The zone of each person and hour [n, h], from counts by hour and zone [h, z], at meters [z, 2]."""
    if counts.ndim != 2 or len(places) != counts.shape[1]:
        raise MisuseError("counts need a row for each hour and a column for each place")
    hours = [_people(row, n_people) for row in counts]
    paths = [np.sort(hours[0])]
    for zones in hours[1:]:
        before = places[paths[-1]].astype(np.float64)
        expected = before if len(paths) == 1 else 1.5 * before - 0.5 * places[paths[-2]]
        distance = np.linalg.norm(expected[:, None, :] - places[zones][None, :, :], axis=2)
        _, matched = optimize.linear_sum_assignment(distance)
        paths.append(zones[matched])
    return np.stack(paths, axis=1)


def score_recovery(counts: Floats, places: Floats, truth: Integers, rng: np.random.Generator) -> Recovery:
    """Compare recovered paths and guesses with true zones [n, hours], -1 where nothing is counted."""
    n = len(truth)
    guesses = np.stack([rng.permutation(_people(row, n)) for row in counts], axis=1)
    return Recovery(_overlap(recover_paths(counts, places, n), truth), _overlap(guesses, truth))


def _people(counts: Floats, n: int) -> Integers:
    """The zones of n people, in the shares of the counts: whole parts, then the largest remainders."""
    positive = np.maximum(counts, 0).astype(np.float64)
    total = positive.sum()
    shares = positive * n / total if total > 0 else np.full(len(positive), n / len(positive))
    whole = np.floor(shares).astype(np.int64)
    rest = n - int(whole.sum())
    whole[np.argsort(whole - shares, kind="stable")[:rest]] += 1
    return np.repeat(np.arange(len(whole)), whole)


def _overlap(paths: Integers, truth: Integers) -> float:
    same = np.stack([(paths == path).sum(axis=1) for path in truth], axis=1)
    matched: Any = optimize.linear_sum_assignment(-same)
    return float(same[matched].sum() / max(np.count_nonzero(truth >= 0), 1))
