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


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Successes of an attack in a number of tries.

    successes: expected ones, as a tie among c equally good answers counts 1/c when the right one is among
    them. baseline: the rate of guessing without what is attacked. knowledge: in short; attacker: who knows
    what and does what, in one sentence. worst: the greatest chance of success that any one of the victims
    had, None where it was not kept.
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
                f"{self.successes} successes in {self.tries} tries are no rate; there must be a try, and no "
                "more successes"
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
        """One entry of ``attacks``; successes are a whole number where no tie was counted in parts."""
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

    def _repr_html_(self) -> str:
        return rates_in_html([self])


def rates_in_html(rates: Iterable[Rate], notes: Iterable[str] = ()) -> str:
    """A row for each rate; nobody is named and no draw can be repeated from it."""
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


def wilson(successes: float, tries: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a rate."""
    share = min(successes / tries, 1.0)
    spread = Z_95 * math.sqrt(share * (1 - share) / tries + Z_95**2 / (4 * tries**2))
    middle, scale = share + Z_95**2 / (2 * tries), 1 + Z_95**2 / tries
    return max(0.0, min((middle - spread) / scale, share)), min(1.0, max((middle + spread) / scale, share))
