"""Measured risk against utility: the best trade-offs, and a recommendation."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.utility.measuring import Better

STRONGEST: Final = "strongest"
LEVELS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release: risk with the 95 % interval, and utility, nan where unknown.

    worst: the strongest adversary's rate, and worst_by: its name.
    """

    label: str
    method: str
    risk: float
    risk_low: float
    risk_high: float
    utility: float
    worst: float = math.nan
    worst_by: str = ""
    worst_gain: float = math.nan  # its advantage over guessing, by which adversaries are compared


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The accepted risk, at most ``at_most``.

    attack: "strongest" = the largest advantage over guessing; or one rate by name, with this knowledge.
    """

    attack: str = STRONGEST
    knowledge: str = "points:4"
    at_most: float = 0.05
    utility: str = "range-error"  # the metric that chooses among releases within the budget

    @property
    def words(self) -> str:
        """What is compared with the budget."""
        if self.attack == STRONGEST:
            return "what the strongest adversary wins of what guessing leaves"
        return f"{self.attack} with {self.knowledge}"

    def __post_init__(self) -> None:
        if not 0 < self.at_most <= 1:
            raise MisuseError(
                f"the budget at_most = {self.at_most} must be a share above 0 and at most 1, for example 0.05"
            )


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The release to take, if any, and why."""

    label: str | None
    reasons: tuple[str, ...]


def frontier(points: Sequence[Point], better: Better) -> list[Point]:
    """The points that no other beats, by rising risk."""
    rated = [point for point in points if not math.isnan(point.utility)]
    unbeaten = [point for point in rated if not any(_beats(other, point, better) for other in rated)]
    return sorted(unbeaten, key=lambda point: (point.risk, point.label))


def best_within(points: Iterable[Point], risk: float, better: Better) -> Point | None:
    """The best utility up to this risk; of equals the least risk, then the label."""
    fitting = [point for point in points if point.risk <= risk and not math.isnan(point.utility)]
    return min(fitting, key=lambda point: (_cost(point, better), point.risk, point.label), default=None)


def recommend(
    points: Sequence[Point], budget: Budget, better: Better, failed: Iterable[str] = ()
) -> Recommendation:
    """The best utility among releases whose whole interval stays within the budget.

    failed: why settings have no release; where all failed, this is the recommendation.
    """
    if not points and (why := "; ".join(dict.fromkeys(failed))):
        return Recommendation(label=None, reasons=(f"No setting gave a release: {why}",))
    limit = f"{100 * budget.at_most:g} %"
    asked = budget.words
    sure = [point for point in points if point.risk_high <= budget.at_most]
    best = best_within(sure, budget.at_most, better)
    if best is None:
        near = [point for point in points if point.risk <= budget.at_most]
        least = min(points, key=lambda point: (point.risk_high, point.label), default=None)
        reasons = [f"No release keeps {asked} at or below {limit} with the upper end of its 95 % interval."]
        if near:
            reasons.append(
                f"{', '.join(sorted(point.label for point in near))} measure{'s' * (len(near) == 1)} no "
                "more than that, but the interval reaches above; more tries would narrow it."
            )
        if least is not None:
            reasons.append(
                f"The least risk measured is {_percent(least.risk)} (up to {_percent(least.risk_high)}): "
                f"{least.label}."
            )
        reasons.append("Add stronger settings to the study, or accept a larger budget.")
        return Recommendation(label=None, reasons=tuple(reasons))
    reasons = [
        f"{best.label} keeps {asked} at {_percent(best.risk)} (95 % interval up to "
        f"{_percent(best.risk_high)}; the budget is {limit}).",
        f"Within the budget with the upper end: {len(sure)} of {len(points)}; this one has the best "
        f"{budget.utility} of them, {best.utility:.4g}.",
    ]
    if best.worst_by:
        reasons.append(f"The strongest adversary against it wins {_percent(best.worst)}: {best.worst_by}.")
    over = [point for point in points if point not in sure]
    tempting = sorted(point.label for point in over if _cost(point, better) < _cost(best, better))
    if tempting:
        reasons.append(
            f"{len(tempting)} of the {len(over)} other{'s' * (len(over) > 1)} would be more useful: "
            f"{', '.join(tempting)}."
        )
    return Recommendation(label=best.label, reasons=tuple(reasons))


def at_equal_risk(
    points: Sequence[Point], levels: Iterable[float], better: Better
) -> list[tuple[float, dict[str, Point | None]]]:
    """The best release of each method at each level of risk; empty levels are omitted."""
    methods = sorted({point.method for point in points})
    rows = [
        (
            level,
            {
                method: best_within((point for point in points if point.method == method), level, better)
                for method in methods
            },
        )
        for level in sorted(set(levels))
    ]
    return [(level, row) for level, row in rows if any(row.values())]


def _beats(other: Point, point: Point, better: Better) -> bool:
    ours, theirs = (point.risk, _cost(point, better)), (other.risk, _cost(other, better))
    return theirs != ours and theirs[0] <= ours[0] and theirs[1] <= ours[1]


def _cost(point: Point, better: Better) -> float:
    if math.isnan(point.utility):
        return math.inf
    return point.utility if better == "lower" else -point.utility


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
