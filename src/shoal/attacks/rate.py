"""How often an adversary wins: a rate with everything needed to judge it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.attacks.intervals import interval_of, wilson
from shoal.errors import MisuseError
from shoal.model.html_table import html_table
from shoal.runtime.arrays import Integers
from shoal.units import counted, show_m

TargetName = Literal["raw", "release", "control"]


def gain(rate: float, baseline: float) -> float:
    """What an adversary wins of what guessing leaves: 0 for who guesses, 1 for who is always right.

    By this, attacks that answer different questions are compared with each other.

    Examples
    --------
    >>> gain(0.75, baseline=0.5), gain(0.5, baseline=0.0)
    (0.5, 0.5)
    """
    return (rate - baseline) / (1 - baseline) if baseline < 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One way to answer from the same knowledge.

    Parameters
    ----------
    name
        In two or three words: ``tightest boxes``.
    does
        What the adversary does, to follow "Someone who": ``knows ... and names ...``.
    chances
        float [v]: the chance of success against each victim.
    """

    name: str
    does: str
    chances: npt.ArrayLike


@dataclass(frozen=True, kw_only=True)
class Error:
    """How far what an adversary says is from the truth, in the median: in meters and in seconds."""

    space_m: float
    time_s: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Rate:
    """Successes of one attack on one target.

    Parameters
    ----------
    name
        Which attack, such as ``linkage``; `shoal.attacks.questions` says what it answers.
    knowledge
        What the adversary knows, in short.
    attacker
        Who knows what and does what, in one sentence.
    target
        ``raw``, ``release`` or ``control``.
    tries
        Victims, at least 1.
    successes
        Expected successes: a tie among c equally good answers counts 1/c if the right one is among them.
    baseline
        The rate of guessing without looking at the target.
    worst
        The greatest chance of success against any one victim; None if it was not kept.
    rule
        Which rule the adversary answered by; None where it has only one.
    interval
        Both ends of the 95 % interval; None = Wilson's, for tries that are each won or lost.
    error
        The median error of what the adversary says, where it says places and times; else None.
    asked
        The knowledge as it was asked for, such as ``points:4``; None where nobody asked by text.
    """

    name: str
    knowledge: str
    attacker: str
    target: TargetName
    tries: int
    successes: float
    baseline: float
    worst: float | None = None
    rule: str | None = None
    interval: tuple[float, float] | None = None
    error: Error | None = None
    asked: str | None = None

    @classmethod
    def of(
        cls,
        outcomes: npt.ArrayLike,
        *,
        name: str,
        knowledge: str,
        attacker: str,
        target: TargetName,
        baseline: float,
        clusters: Integers | None = None,
        most: float = 1.0,
        rule: str | None = None,
        error: Error | None = None,
    ) -> "Rate":
        """The rate of these chances of success, one for each victim.

        clusters: int64 [v], victims of equal number share a record; None = nobody does. most: the greatest
        chance that there can be against anybody.
        """
        chances = np.asarray(outcomes, dtype=np.float64)
        return cls(
            name=name,
            knowledge=knowledge,
            attacker=attacker,
            target=target,
            tries=len(chances),
            successes=math.fsum(chances.tolist()),
            baseline=baseline,
            worst=float(chances.max(initial=0.0)),
            rule=rule,
            interval=interval_of(chances, np.arange(len(chances)) if clusters is None else clusters, most)
            if len(chances)
            else None,
            error=error,
        )

    @classmethod
    def best_of(
        cls,
        rules: Sequence[Rule],
        *,
        name: str,
        knowledge: str,
        target: TargetName,
        baseline: float,
        clusters: Integers,
        most: float = 1.0,
        parts: int = 2,
    ) -> "Rate":
        """The rate of the rule that wins most, without the luck of having chosen it.

        Clusters of victims are dealt out to two halves, or more parts. Against each part the adversary uses
        the rule that wins most against all others; of equals the first. So every victim counts, and no rule
        is judged by the victims that it was chosen on.

        Parameters
        ----------
        rules
            At least one, each with the chances against the same victims.
        clusters
            int64 [v]: victims of equal number share a record.
        parts
            The more, the more victims choose for each part, and the seldomer the weaker of two rules that win
            about as much.
        """
        chances = np.array([rule.chances for rule in rules], dtype=np.float64)
        _, cluster = np.unique(clusters, return_inverse=True)
        groups = int(cluster.max(initial=-1)) + 1
        # shuffled, always in the same way: every other cluster could be every other member of a couple
        side = np.random.default_rng(groups).permutation(groups)[cluster] % parts
        used = np.empty(len(side), dtype=np.int64)
        for part in range(parts):
            others = chances[:, side != part]
            used[side == part] = np.argmax(others.mean(axis=1)) if others.size else 0
        named = [rules[number] for number in np.unique(used).tolist()]
        tried = f"; of {len(rules)} rules, this one wins most against other victims" if rules[1:] else ""
        return cls.of(
            chances[used, np.arange(len(side))],
            name=name,
            knowledge=knowledge,
            attacker=f"Someone who {', or '.join(rule.does for rule in named)}{tried}.",
            target=target,
            baseline=baseline,
            clusters=clusters,
            most=most,
            rule=" or ".join(rule.name for rule in named) if rules[1:] else None,
        )

    def __post_init__(self) -> None:
        if not (self.tries >= 1 and 0 <= self.successes <= self.tries * (1 + 1e-9)):
            raise MisuseError(
                f"{self.successes} successes in {self.tries} tries are not a rate; there must be at least "
                "one try, and no more successes than tries"
            )

    @property
    def rate(self) -> float:
        """Successes per try."""
        return min(self.successes / self.tries, 1.0)

    @property
    def gain(self) -> float:
        """What the adversary wins of what guessing leaves."""
        return gain(self.rate, self.baseline)

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return (self.interval or wilson(self.successes, self.tries))[0]

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return (self.interval or wilson(self.successes, self.tries))[1]

    def to_json(self) -> dict[str, Any]:
        """One entry of ``attacks``; successes are a whole number unless a tie was counted in parts."""
        whole = round(self.successes)
        return {
            "name": self.name,
            "knowledge": self.knowledge,
            "target": self.target,
            "tries": self.tries,
            "successes": whole if self.successes == whole else self.successes,
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "baseline": self.baseline,
            "worst": self.worst,
            "rule": self.rule,
            "median_error_m": None if self.error is None else self.error.space_m,
            "median_error_s": None if self.error is None else self.error.time_s,
            "attacker": self.attacker,
            "asked": self.asked,
        }

    def __repr__(self) -> str:
        return (
            f"Rate({self.name} on {self.target} with {self.knowledge}: {self.rate:.2%} "
            f"({self.low:.2%} to {self.high:.2%}), guessing {self.baseline:.2%}, "
            f"{counted(self.tries, 'try', 'tries')}"
            + (f", median error {show_m(self.error.space_m)}, {self.error.time_s:g} s" if self.error else "")
            + ")"
        )

    def _repr_html_(self) -> str:
        return _html_of([self])


@dataclass(frozen=True, kw_only=True, repr=False)
class Attacked:
    """Every rate that was measured, and notes on what could not be tried."""

    rates: tuple[Rate, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The document that ``shoal attack --json`` prints."""
        return {"attacks": [rate.to_json() for rate in self.rates], "notes": list(self.notes)}

    def __repr__(self) -> str:
        lines = [*map(repr, self.rates), *(f"note: {note}" for note in self.notes)]
        return "\n".join([f"Attacked({len(self.rates)} rates)", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return _html_of(self.rates, self.notes)


def _html_of(rates: Iterable[Rate], notes: Iterable[str] = ()) -> str:
    """A row for each rate; nobody is named, and no draw can be repeated from it."""
    rows = [
        (
            each.name,
            each.knowledge,
            each.target,
            f"{each.rate:.1%}",
            f"{each.low:.1%} to {each.high:.1%}",
            f"{each.baseline:.2%}",
            f"{each.tries:,}",
        )
        for each in rates
    ]
    header = ("attack", "knowledge", "target", "rate", "95 % interval", "by guessing", "tries")
    return html_table("Attacks", rows, header=header, notes=notes)
