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
    """How much of true paths counts tell: the share of hours in which recovered paths are where people were.

    Paths and people are matched at best. guessing: the same for paths that draw each hour from the counts.
    """

    right: float
    guessing: float


def recover_paths(counts: Floats, places: Floats, n_people: int) -> Integers:
    """The zone of each person in each hour, int64 [n_people, h].

    counts: of people by hour and zone [h, z], negative ones count as none. places: middles in meters [z, 2].

    Examples
    --------
    >>> import numpy as np
    >>> from shoal_tables.attacks.recovery import recover_paths
    >>> counts = np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
    >>> places = np.array([[0, 0], [1, 0], [2, 0], [3, 0]])
    >>> recover_paths(counts, places, 2).tolist()
    [[0, 1, 1], [3, 3, 2]]
    """
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
    """Compare recovered paths with the true ones, and with guesses.

    truth: the zone of each person in each hour [n, h], -1 where it is not counted; others as
    ``recover_paths``.
    """
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
