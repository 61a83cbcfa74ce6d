"""Games of membership: is a person in the table? Each is compared with guessing and with the promise's bound.

For each victim, one of two tables is played: the published one, or it without the victim's contribution. The
adversary sees one number, and says "in" where it is above zero. All victims see one draw of noise, so those
who share cells are right or wrong together: intervals count as many victims as are independent.
"""

from dataclasses import dataclass
from math import log
from typing import Any

from scipy import stats

from shoal.runtime.arrays import Floats

_SURE = 0.95


@dataclass(frozen=True)
class Game:
    """How often an adversary is right, with a 95 % interval, and the epsilon that this shows, 95 % sure."""

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


def play(
    name: str,
    words: str,
    present: Floats,
    absent: Floats,
    bound: float | None,
    delta: float,
    independent: float,
) -> Game:
    """Score an adversary by the numbers that victims get who are in, and the same victims when they are not.

    ``independent`` is how many independent victims tell as much as these do.
    """
    hits, passes = float((present > 0).mean()), float((absent <= 0).mean())
    success, tries = (hits + passes) / 2, max(round(min(independent, len(present))), 1)
    interval = stats.binomtest(round(success * tries), tries).proportion_ci(_SURE, method="exact")
    return Game(
        name=name,
        words=words,
        tries=tries,
        success=success,
        low=float(interval.low),
        high=float(interval.high),
        bound=bound,
        epsilon=shown_epsilon(hits, 1 - passes, tries, delta),
    )


def shown_epsilon(hits: float, false_alarms: float, tries: int, delta: float) -> float:
    """The epsilon that rates show, 95 % sure: from Clopper and Pearson's bounds of both rates.

    Parameters
    ----------
    hits, false_alarms
        How often the adversary says "in", of victims who are in and of victims who are not.
    tries
        Of each.
    delta
        Of the promise.
    """
    best = 0.0
    for yes, no in ((hits, false_alarms), (1 - false_alarms, 1 - hits)):
        least = stats.binomtest(round(yes * tries), tries, alternative="greater").proportion_ci(0.975).low
        most = stats.binomtest(round(no * tries), tries, alternative="less").proportion_ci(0.975).high
        if least > delta and most > 0:
            best = max(best, log((least - delta) / most))
    return best
