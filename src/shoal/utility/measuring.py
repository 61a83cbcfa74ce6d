"""What a metric is, what it found, and how both are written as JSON."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal.model.claims import PayloadKind
from shoal.model.html_table import html_table
from shoal.runtime.json_values import null_for_nan

if TYPE_CHECKING:
    from shoal.utility.facts import Facts

Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Value:
    """What one metric found.

    Parameters
    ----------
    value
        In the metric's unit; nan where it is unknown.
    low, high
        The least and the greatest value that the boxes allow; None where they leave nothing open.
    raw, minimum, expected, maximum
        The quantity itself, in the raw data and as the release lets it be estimated, where it is one number.
    count
        How many things a share counts, where the paper states the count.
    drawn_low, drawn_high
        The 95 % interval of everybody's value, where only some people drawn at random were asked; else None.
    """

    value: float
    low: float | None = None
    high: float | None = None
    raw: float | None = None
    minimum: float | None = None
    expected: float | None = None
    maximum: float | None = None
    count: int | None = None
    drawn_low: float | None = None
    drawn_high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A row of METRICS: everything that is known of a metric, so that no other table names it.

    Parameters
    ----------
    question
        What the metric says, in words for a reader.
    unit
        Of the value: "m", "s", "share" (from 0 to 1) or "1" (a plain number).
    better
        The direction that is better.
    source
        Where the definition comes from.
    function
        Computes the value from the facts of a release.
    takes
        The payloads that it can be asked of.
    as_given
        True for a metric that reads points as they were given. Every other one reads cells and slots, and
        meets points as those that hold them.
    question_of_points
        The same question where the release holds points, if it reads better in other words.
    in_record_of
        The payloads in whose record the metric stands.
    people_behind
        How many people the value speaks of; a record leaves out what speaks of fewer than ten. None counts
        everybody who is published.
    key
        The name of the value in the ``points`` object of the JSON; None = the metric stands in
        ``measurements``.
    """

    question: str
    unit: str
    better: Better
    source: str
    function: "Callable[[Facts], Value]"
    takes: tuple[PayloadKind, ...] = ("boxes", "points")
    as_given: bool = False
    question_of_points: str | None = None
    in_record_of: tuple[PayloadKind, ...] = ()
    people_behind: "Callable[[Facts], int] | None" = None
    key: str | None = None

    def question_of(self, kind: PayloadKind) -> str:
        """The question, in words that fit the payload."""
        return self.question_of_points or self.question if kind == "points" else self.question


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A metric with what it found."""

    name: str
    metric: Metric
    found: Value

    def to_json(self) -> dict[str, Any]:
        """Name, value, unit and better direction, and whatever else is known; nan becomes null."""
        known = {
            key: number for key, number in vars(self.found).items() if key == "value" or number is not None
        }
        return {
            "name": self.name,
            **null_for_nan(known),
            "unit": self.metric.unit,
            "better": self.metric.better,
            "words": self.metric.question,
        }


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What ``measure`` found: one measurement for each metric, in the order of the table.

    Parameters
    ----------
    measurements
        All of them; iterating over the result gives the same.
    """

    measurements: tuple[Measurement, ...]

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def _repr_html_(self) -> str:
        rows = [
            (one.name, f"{one.found.value:.6g} {one.metric.unit}", one.metric.better, one.metric.question)
            for one in self
        ]
        return html_table("Measured", rows, header=("metric", "value", "better", "question"))

    def to_json(self) -> dict[str, Any]:
        """As ``shoal measure --json`` prints it; ``points`` is there for a release of points alone."""
        as_given = {
            one.metric.key: _null_for_nan(one.found.value if one.found.count is None else one.found.count)
            for one in self
            if one.metric.key is not None
        }
        return {
            "measurements": [one.to_json() for one in self if one.metric.key is None],
            **({"points": as_given} if as_given else {}),
        }


def _null_for_nan(number: float) -> float | None:
    """JSON has no nan."""
    return None if isinstance(number, float) and math.isnan(number) else number
