"""How often an adversary wins: a rate with everything needed to judge it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.model.summaries import table

TargetName = Literal["raw", "release", "control"]
Z_95: Final = 1.959963984540054


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
    """

    name: str
    knowledge: str
    attacker: str
    target: TargetName
    tries: int
    successes: float
    baseline: float
    worst: float | None = None

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
    ) -> "Rate":
        """The rate of these chances of success, one for each victim."""
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
    def low(self) -> float:
        """Lower end of the 95 % Wilson interval."""
        return wilson(self.successes, self.tries)[0]

    @property
    def high(self) -> float:
        """Upper end of the 95 % Wilson interval."""
        return wilson(self.successes, self.tries)[1]

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
            "attacker": self.attacker,
        }

    def __repr__(self) -> str:
        return (
            f"Rate({self.name} on {self.target} with {self.knowledge}: {self.rate:.2%} "
            f"({self.low:.2%} to {self.high:.2%}), guessing {self.baseline:.2%}, {self.tries} tries)"
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


def wilson(successes: float, tries: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a rate.

    Parameters
    ----------
    successes
        0 to ``tries``; may hold parts of a success.
    tries
        At least 1.

    Returns
    -------
    tuple of float
        The lower and the upper end, as fractions.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(5, 10)]
    [0.237, 0.763]
    """
    share = min(successes / tries, 1.0)
    spread = Z_95 * math.sqrt(share * (1 - share) / tries + Z_95**2 / (4 * tries**2))
    middle, scale = share + Z_95**2 / (2 * tries), 1 + Z_95**2 / tries
    return max(0.0, min((middle - spread) / scale, share)), min(1.0, max((middle + spread) / scale, share))


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
    return table("Attacks", rows, header=header, notes=notes)
