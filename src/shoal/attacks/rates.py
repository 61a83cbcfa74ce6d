"""How often an attack succeeds, with the interval that the number of tries allows and what guessing would reach."""

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any, Final

from shoal.errors import MisuseError

_Z: Final = 1.959963984540054  # two-sided 95 %


@dataclass(frozen=True, kw_only=True)
class Rate:
    """successes of tries. baseline: the share that guessing reaches. target: raw, release or control."""

    name: str
    knowledge: str
    target: str
    tries: int
    successes: float
    baseline: float

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.tries or self.tries < 1:
            raise MisuseError(f"{self.successes} successes of {self.tries} tries cannot be; there must be at least one try")

    @property
    def rate(self) -> float:
        """The share of tries that succeeded."""
        return self.successes / self.tries

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson (1927), which stays inside 0 to 1 and holds for rare successes, too."""
        middle = (self.rate + _Z**2 / (2 * self.tries)) / (1 + _Z**2 / self.tries)
        half = _Z / (1 + _Z**2 / self.tries) * sqrt(self.rate * (1 - self.rate) / self.tries + _Z**2 / (4 * self.tries**2))
        return max(0.0, min(middle - half, self.rate)), min(1.0, max(middle + half, self.rate))

    def to_json(self) -> dict[str, Any]:
        """One entry of the JSON of ``shoal attack``."""
        low, high = self.interval
        return {**asdict(self), "rate": self.rate, "low": low, "high": high}
