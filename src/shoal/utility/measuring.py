"""What a measurement is, and the raw data and release that it compares."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from shoal.measures.query import Zones
from shoal.model.linked import records_that_belong
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.json_values import null_for_nan
from shoal.utility.accuracy import Accuracy, measure_accuracy

Better = Literal["higher", "lower"]
ZONES_ACROSS: Final = 16


@dataclass(frozen=True, kw_only=True)
class Value:
    """What one metric found.

    low, high: where the value lies at least and at most, None where a box leaves nothing open.

    raw, minimum, expected, maximum: the quantity itself, in the raw data and as the release lets it be
    estimated, where it is one number.
    """

    value: float
    low: float | None = None
    high: float | None = None
    raw: float | None = None
    minimum: float | None = None
    expected: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What a figure says and how it is read. unit: of the value ("share" runs from 0 to 1)."""

    words: str
    unit: str
    better: Better


@dataclass(frozen=True, kw_only=True)
class Metric(Scale):
    """A row of METRICS."""

    function: "Callable[[Pair], Value]"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A metric with what it found."""

    name: str
    metric: Scale
    found: Value

    def to_json(self) -> dict[str, Any]:
        """Name, value, unit and better-direction, and whatever else is known; nan becomes null."""
        known = {
            key: number for key, number in vars(self.found).items() if key == "value" or number is not None
        }
        return {
            "name": self.name,
            **null_for_nan(known),
            "unit": self.metric.unit,
            "better": self.metric.better,
            "words": self.metric.words,
        }


class Pair:
    """Raw data and a release of it; what several metrics need is computed once.

    Raises InputError when they do not belong together.
    """

    def __init__(self, original: Trajectories, release: Release, linkage: Linkage) -> None:
        self.original, self.release, self.linkage = original, release, linkage
        self.records: Integers = records_that_belong(original, release, linkage)

    @cached_property
    def accuracy(self) -> Accuracy:
        """The extents of the boxes."""
        return measure_accuracy(self.original, self.release, self.linkage)

    @cached_property
    def zones(self) -> Zones:
        """Square zones over the raw data, about 16 on its longer side, at least one cell wide and of whole cells."""
        x, y, cell_m = self.original.x, self.original.y, self.original.snapped_grid().cell_m
        side_cells = max(int(x.max() - x.min()) + 1, int(y.max() - y.min()) + 1)
        return Zones.over(self.original, max(1, -(-side_cells // ZONES_ACROSS)) * cell_m)

    def linked(self) -> "list[tuple[int, Boxes]]":
        """(subject, boxes of the record) of everybody who is in the release."""
        return [
            (subject, self.release.record(record))
            for subject, record in enumerate(self.records.tolist())
            if record >= 0
        ]
