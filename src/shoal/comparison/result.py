"""The result of a study."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shoal.attacks.knowledge import is_to_the_point, no_rate, rates_alike
from shoal.attacks.rate import gain
from shoal.comparison.study import Study
from shoal.methods import METHODS
from shoal.model.frames import frame_of_rows
from shoal.model.html_table import html_table
from shoal.runtime.json_values import null_for_nan
from shoal.utility import METRICS
from shoal.utility.frontier import LEVELS, STRONGEST, Better, Point, Recommendation, at_equal_risk, frontier

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The result of a study.

    results: one JSON document for each release. failed: settings without a release, with the reason.
    """

    results: tuple[Mapping[str, Any], ...]
    failed: Mapping[str, str]
    points: tuple[Point, ...]
    better: Better
    recommendation: Recommendation
    study: Study

    @property
    def ranking(self) -> tuple[Point, ...]:
        """By each strongest adversary, the safest first."""
        return tuple(sorted(self.points, key=lambda point: (point.worst_gain, point.label)))

    def to_dataframe(self) -> "DataFrame":
        """A row for each release, in the order of ``points``; needs pandas."""
        return frame_of_rows(asdict(point) for point in self.points)

    def _repr_html_(self) -> str:
        metric = METRICS[self.study.budget.utility]
        best = {point.label for point in frontier(self.points, self.better)}
        rows = [
            (
                point.label,
                "" if math.isnan(point.worst) else f"{point.worst:.1%} ({point.worst_by})",
                "" if math.isnan(point.utility) else f"{point.utility:.4g} {metric.unit}",
                "no other is better in both" if point.label in best else "",
            )
            for point in self.ranking
        ]
        rows += [(label, "no release", "", reason) for label, reason in self.failed.items()]
        header = ("release", "strongest adversary right in", metric.question, "")
        return html_table("Comparison", rows, header=header, notes=self.recommendation.reasons)

    def to_json(self) -> dict[str, Any]:
        """Everything, with frontier and table at equal risk."""
        rows = at_equal_risk(self.points, (*LEVELS, self.study.budget.at_most), self.better)
        return {
            "budget": {**asdict(self.study.budget), "words": self.study.budget.words},
            "recommendation": {
                "release": self.recommendation.label,
                "reasons": list(self.recommendation.reasons),
            },
            "frontier": [point.label for point in frontier(self.points, self.better)],
            "points": [null_for_nan(asdict(point)) for point in self.points],
            "ranking": [point.label for point in self.ranking],
            "at_equal_risk": [
                {
                    "risk_at_most": level,
                    "best": {method: None if point is None else point.label for method, point in row.items()},
                }
                for level, row in rows
            ],
            "failed": dict(self.failed),
            "releases": list(self.results),
        }


def point_of(result: Mapping[str, Any], study: Study) -> Point:
    """By the budget's metric and adversary."""
    budget = study.budget
    played = [*result["attacks"].values(), result["attacks_of_its_claim"]]
    kind = METHODS[result["method"]].about.publishes
    worst = max(
        (one for rates in played for one in rates if one["target"] == "release"),
        key=lambda one: (is_to_the_point(one["name"], kind), gain_of(one)),
    )
    risk, low, high = _risk(result, study, worst)
    value = next(entry["value"] for entry in result["measurements"] if entry["name"] == budget.utility)
    return Point(
        label=result["label"],
        method=result["method"],
        risk=risk,
        risk_low=low,
        risk_high=high,
        utility=math.nan if value is None else value,
        worst=worst["rate"],
        worst_by=f"{worst['name']}, {worst['knowledge']}",
        worst_gain=gain_of(worst),
    )


def _risk(result: Mapping[str, Any], study: Study, worst: Mapping[str, Any]) -> tuple[float, float, float]:
    budget = study.budget
    if budget.attack == STRONGEST:
        risk, low, high = (max(gain(worst[end], worst["baseline"]), 0.0) for end in ("rate", "low", "high"))
        return risk, low, high
    names = [entry["name"] for entry in result["attacks"][budget.knowledge] if entry["target"] == "release"]
    if budget.attack not in names:
        raise no_rate(budget.knowledge, budget.attack, names, or_else=STRONGEST)
    rate_names = rates_alike(
        budget.knowledge, budget.attack
    )  # the adversary who wins most with this knowledge
    tried = [
        e for e in result["attacks"][budget.knowledge] if e["name"] in rate_names and e["target"] == "release"
    ]
    most = max(tried, key=lambda entry: entry["rate"])
    return most["rate"], most["low"], most["high"]


def gain_of(entry: Mapping[str, Any]) -> float:
    """An entry's advantage over guessing."""
    return gain(float(entry["rate"]), float(entry["baseline"]))
