"""Games of membership: is somebody in the table? Each beside guessing, and beside the promise's bound.

For each victim, one of two tables is played: the published one, or it without the victim's contribution. The
adversary sees one number, large where the victim looks present, and says "in" above a threshold.
"""

from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from scipy import stats

from shoal.runtime.arrays import Floats

_SURE = 0.95


@dataclass(frozen=True)
class Game:
    """How often an adversary is right about membership.

    Parameters
    ----------
    name
        The adversary.
    words
        What they know, in a sentence.
    tries
        Victims.
    success, low, high
        The share of right answers where half of the victims are in, with its 95 % interval.
    bound
        What the promise allows; None where nothing is promised.
    epsilon
        The least epsilon that the rates of this adversary show, 95 % sure; 0 where they show none.
    """

    name: str
    words: str
    tries: int
    success: float
    low: float
    high: float
    bound: float | None
    epsilon: float

    @property
    def breaks_promise(self) -> bool:
        """Whether the adversary is right more often than promised, beyond chance."""
        return self.bound is not None and self.low > self.bound

    def to_json(self) -> dict[str, Any]:
        """As ``shoal attack --json`` prints it."""
        return {**vars(self), "guessing": 0.5, "breaks_promise": self.breaks_promise}


def allowed_success(epsilon: float, delta: float) -> float:
    """The largest share of right answers that a promise allows where half are in.

    Examples
    --------
    >>> from shoal_tables.attacks.games import allowed_success
    >>> round(allowed_success(1.0, 0.0), 3)
    0.731
    """
    return min((exp(epsilon) + delta) / (1 + exp(epsilon)), 1.0)


def play(name: str, words: str, present: Floats, absent: Floats, bound: float | None, delta: float) -> Game:
    """Score an adversary by the numbers that victims get who are in, and the same victims when they are not.

    The threshold is chosen on every second victim and judged on the others.
    """
    chosen, judged = slice(0, None, 2), slice(1, None, 2)
    thresholds = np.unique(np.concatenate([present[chosen], absent[chosen]]))
    hits = np.searchsorted(np.sort(present[chosen]), thresholds, side="right")
    passes = np.searchsorted(np.sort(absent[chosen]), thresholds, side="right")
    threshold = thresholds[np.argmax(passes - hits)]
    rng = np.random.default_rng(len(present))  # which victims are in
    is_in = rng.random(len(present[judged])) < 0.5
    says_in = np.where(is_in, present[judged], absent[judged]) > threshold
    right = int((says_in == is_in).sum())
    interval = stats.binomtest(right, len(is_in)).proportion_ci(_SURE, method="exact")
    return Game(
        name=name,
        words=words,
        tries=len(is_in),
        success=right / len(is_in),
        low=float(interval.low),
        high=float(interval.high),
        bound=bound,
        epsilon=shown_epsilon(present[judged] > threshold, absent[judged] > threshold, delta),
    )


def shown_epsilon(present: Any, absent: Any, delta: float) -> float:
    """The epsilon that rates show, 95 % sure: from Clopper and Pearson's bounds of both rates.

    Parameters
    ----------
    present, absent
        Whether the adversary says "in", of victims who are in and of victims who are not [n].
    delta
        Of the promise.
    """
    best = 0.0
    for yes, no in ((present, absent), (~absent, ~present)):
        least = stats.binomtest(int(yes.sum()), len(yes), alternative="greater").proportion_ci(0.975).low
        most = stats.binomtest(int(no.sum()), len(no), alternative="less").proportion_ci(0.975).high
        if least > delta and most > 0:
            best = max(best, log((least - delta) / most))
    return best
