"""How often an adversary is right, with interval, baseline and words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.model.frames import frame_of_rows
from shoal.model.html_table import html_table
from shoal.runtime.arrays import Floats, Integers
from shoal.units import counted, percent, show_m

if TYPE_CHECKING:
    from pandas import DataFrame

Z_95: Final = 1.959963984540054


def wilson(successes: float, tries: float) -> tuple[float, float]:
    """The 95 % Wilson score interval (low, high) of a rate; successes may hold parts of one, tries >= 1.

    >>> [round(end, 3) for end in wilson(5, 10)]
    [0.237, 0.763]
    """
    share = min(successes / tries, 1.0)
    spread = Z_95 * math.sqrt(share * (1 - share) / tries + Z_95**2 / (4 * tries**2))
    middle, scale = share + Z_95**2 / (2 * tries), 1 + Z_95**2 / tries
    return max(0.0, min((middle - spread) / scale, share)), min(1.0, max((middle + spread) / scale, share))


def interval_of(chances: Floats, clusters: Integers, max_chance: float = 1.0) -> tuple[float, float]:
    """A 95 % interval (low, high) for the mean of chances [v] of success, each 0 to ``max_chance``.

    Victims who share a record (clusters, int64 [v]) win and lose together, and a part of a success varies
    less. So the spread is measured over clusters, with half a cluster at 0 and half a one at ``max_chance``
    added for the unseen. The interval is Wilson's, for independent tries with this mean and spread.
    Sources: Kish, Survey sampling, 1965, Sec. 6.3 and 8.2; Korn and Graubard, Confidence intervals for
    proportions with small expected number of positive counts, 1998.

    >>> import numpy as np
    >>> won = np.array([1.0, 0.0, 0.0, 0.0] * 50)
    >>> [round(end, 3) for end in interval_of(won, np.arange(200))]
    [0.195, 0.314]
    >>> [round(end, 3) for end in interval_of(np.sort(won), np.arange(200) // 4)]
    [0.153, 0.38]
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    sizes = np.bincount(cluster)
    groups, typical = len(sizes), float(sizes.mean())
    n = len(chances) + typical
    mean = (float(chances.sum()) + typical * max_chance / 2) / n
    apart = np.bincount(cluster, weights=chances - mean)
    unseen = typical**2 * ((max_chance - mean) ** 2 + mean**2) / 2
    variance = (float((apart**2).sum()) + unseen) / n**2 * (groups + 1) / (groups + 2)
    share = mean / max_chance
    tries = share * (1 - share) / (variance / max_chance**2)
    seen = min(float(chances.mean()) / max_chance, 1.0)
    low, high = wilson(seen * tries, tries)
    return max_chance * low, max_chance * high


TargetName = Literal["raw", "release", "control"]


def gain(rate: float, baseline: float) -> float:
    """The advantage over guessing: 0 for a guess, 1 for always right."""
    return (rate - baseline) / (1 - baseline) if baseline < 1 else 0.0


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One way to answer from the same knowledge."""

    name: str  # in two or three words: ``tightest boxes``
    does: str  # the adversary's behavior, after "Someone who": ``knows ... and names ...``
    chances: npt.ArrayLike  # float [v]: the chance of success against each victim

    @classmethod
    def of_each(cls, begin: str, words: Iterable[tuple[str, str]], chances: Floats) -> "list[Rule]":
        """A rule for each name and end of the sentence, with its column of chances [v, rules]."""
        return [
            cls(name=name, does=f"{begin} {end}", chances=won)
            for (name, end), won in zip(words, chances.T, strict=False)
        ]


@dataclass(frozen=True, kw_only=True)
class Error:
    """The median error of answers, in meters and seconds."""

    space_m: float
    time_s: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Rate:
    """Successes of one attack on one target.

    Parameters
    ----------
    name
        The rate, such as ``linkage``; `shoal.attacks.questions` says which question it answers.
    knowledge
        The adversary's knowledge, in short.
    attacker
        The adversary's knowledge and behavior, in one sentence.
    target
        ``raw``, ``release`` or ``control``.
    tries
        Victims, at least 1.
    successes
        Expected successes: a tie among c equally good answers counts 1/c if the right one is among them.
    baseline
        The rate of guessing: of the best blind reader, who has the same public and own knowledge, and reads
        neither the sides of boxes nor whose record is whose; where nothing beats chance, of chance.
    chance
        The rate of a random answer; None = the baseline is one.
    worst
        The greatest chance of success against any one victim; None if it was not kept.
    rule
        The rule that the adversary answered by; None where it has only one.
    interval
        The 95 % interval; None = Wilson's, for tries that are each won or lost.
    error
        The median error of named places and times; else None.
    asked
        The knowledge as it was requested, such as ``points:4``; None without a request.
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
    chance: float | None = None

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
        clusters: Integers,
        max_chance: float = 1.0,
    ) -> "Rate":
        """The rate of chances, one a victim; victims of equal cluster share a record.

        Without clusters, the interval would be too narrow: people of one crowd win and lose together.
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
            interval=interval_of(chances, clusters, max_chance) if len(chances) else None,
        )

    @classmethod
    def best_of(cls, rules: Sequence[Rule], *, clusters: Integers, parts: int = 2, **facts: Any) -> "Rate":
        """The rate of the best rule, without the luck of having chosen it. facts: as of ``of``.

        Clusters of victims are dealt out to parts. Against each part the adversary uses the rule that wins
        most against all others; of equals the first. Where there is one cluster, it knows the best rule.
        """
        chances = np.array([rule.chances for rule in rules], dtype=np.float64)
        _, cluster = np.unique(clusters, return_inverse=True)
        groups = int(cluster.max(initial=-1)) + 1
        # shuffled, always in the same way: every other cluster could be every other member of a couple
        side = np.random.default_rng(groups).permutation(groups)[cluster] % parts
        used = np.empty(len(side), dtype=np.int64)
        for part in range(parts):
            others = chances[:, side != part]
            used[side == part] = np.argmax((others if others.size else chances).mean(axis=1))
        named = [rules[number] for number in np.unique(used).tolist()]
        against = " against other victims" * (groups > 1)
        tried = f"; of {len(rules)} rules, this one wins most{against}" if rules[1:] else ""
        rate = cls.of(
            chances[used, np.arange(len(side))],
            attacker=f"Someone who {', or '.join(rule.does for rule in named)}{tried}.",
            clusters=clusters,
            **facts,
        )
        return replace(rate, rule=" or ".join(rule.name for rule in named)) if rules[1:] else rate

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
        """The advantage over guessing."""
        return gain(self.rate, self.baseline)

    def beats(self, k: int) -> bool:
        """Whether it wins more often than 1 in k, beyond chance."""
        return gain(self.low, self.baseline) > 1 / k

    @property
    def low(self) -> float:
        """Lower end of the 95 % interval."""
        return (self.interval or wilson(self.successes, self.tries))[0]

    @property
    def high(self) -> float:
        """Upper end of the 95 % interval."""
        return (self.interval or wilson(self.successes, self.tries))[1]

    def to_json(self) -> dict[str, Any]:
        """An entry of ``attacks``; a tie counts in parts."""
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
            "chance": self.baseline if self.chance is None else self.chance,
            "worst": self.worst,
            "rule": self.rule,
            "median_error_m": None if self.error is None else self.error.space_m,
            "median_error_s": None if self.error is None else self.error.time_s,
            "attacker": self.attacker,
            "asked": self.asked,
        }

    def __repr__(self) -> str:
        return (
            f"Rate({self.name} on {self.target} with {self.knowledge}: {percent(self.rate, 2)} "
            f"({percent(self.low, 2)} to {percent(self.high, 2)}), guessing {percent(self.baseline, 2)}, "
            + ("" if self.chance is None else f"chance {percent(self.chance, 2)}, ")
            + f"{counted(self.tries, 'try', 'tries')}"
            + (f", median error {show_m(self.error.space_m)}, {self.error.time_s:g} s" if self.error else "")
            + ")"
        )

    def _repr_html_(self) -> str:
        return _html_of([self])


_COLUMNS: Final = (
    *("name", "knowledge", "target", "tries", "successes", "rate", "low", "high", "baseline", "chance"),
    *("worst", "rule", "median_error_m", "median_error_s", "attacker", "asked"),
)


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackResult:
    """What ``attack`` measured.

    Parameters
    ----------
    rates
        How often each kind of knowledge names the right record, on every target.
    notes
        What could not be tried, and why.
    """

    rates: tuple[Rate, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``shoal attack --json`` prints it."""
        return {"attacks": [rate.to_json() for rate in self.rates], "notes": list(self.notes)}

    def to_dataframe(self) -> "DataFrame":
        """A row for each rate, with the entries of ``to_json``; needs pandas."""
        return frame_of_rows([rate.to_json() for rate in self.rates], _COLUMNS)

    def __repr__(self) -> str:
        lines = [*map(repr, self.rates), *(f"note: {note}" for note in self.notes)]
        return "\n".join([f"AttackResult({len(self.rates)} rates)", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return _html_of(self.rates, self.notes)


def _html_of(rates: Iterable[Rate], notes: Iterable[str] = ()) -> str:
    """A table that names no one, and from which no draw can be repeated."""
    rows = [
        (
            item.name,
            item.knowledge,
            item.target,
            percent(item.rate),
            f"{percent(item.low)} to {percent(item.high)}",
            percent(item.baseline, 2),
            percent(item.baseline if item.chance is None else item.chance, 2),
            f"{item.tries:,}",
        )
        for item in rates
    ]
    header = ("attack", "knowledge", "target", "rate", "95 % interval", "by guessing", "by chance", "tries")
    return html_table("Attacks", rows, header=header, notes=notes)
