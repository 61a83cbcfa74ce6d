"""Metrics and measurements."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from shoal.errors import MisuseError
from shoal.messages import name_text
from shoal.model.claims import PayloadKind
from shoal.model.frames import frame_of_rows
from shoal.model.html_table import html_table
from shoal.runtime.files import null_for_nan
from shoal.runtime.registry import require_row_name
from shoal.utility.facts import Facts, Value

if TYPE_CHECKING:
    from pandas import DataFrame

Better = Literal["higher", "lower"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A row of METRICS: everything that the project knows about a metric.

    Parameters
    ----------
    name
        Its name on the command line and in JSON.
    question
        The measured quantity, in words for a reader.
    unit
        Of the value: "m", "s", "share" (from 0 to 1) or "1" (a plain number).
    better
        The better direction.
    function
        Computes the value from the facts of a release.
    source
        Where the definition comes from.
    takes
        The payloads that it can be asked of.
    as_given
        True for a metric of points as given. Every other one reads cells and slots, for points those that
        hold them.
    question_of_points
        The question for releases of points, if other words are better.
    in_record_of
        The payloads in whose report it stands.
    people_behind
        The number of people behind the value; a report omits values of fewer than ten. None = all published.
    key
        The name of the value in the ``points`` object of the JSON; None = it stands in ``measurements``.
    """

    name: str
    question: str
    unit: str
    better: Better
    function: Callable[[Facts], Value]
    source: str = "not published"
    takes: tuple[PayloadKind, ...] = ("boxes", "points")
    as_given: bool = False
    question_of_points: str | None = None
    in_record_of: tuple[PayloadKind, ...] = ()
    people_behind: Callable[[Facts], int] | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "question", name_text(f"metric.{self.name}.question", self.question))

    def question_of(self, kind: PayloadKind) -> str:
        """The question, in words that fit the payload."""
        return self.question_of_points or self.question if kind == "points" else self.question


def require_complete(row: Metric) -> None:
    """Raise MisuseError for a row that ``measure`` or a report could not use."""
    if not isinstance(row, Metric):
        raise MisuseError("a metric is a Metric; write register_metric(shoal.Metric(name=...))")
    require_row_name(row.name, "metric")
    if not row.question:
        raise MisuseError(f"{row.name}: question is empty; say what it measures, for a reader")
    if row.better not in get_args(Better):
        raise MisuseError(f"{row.name}: better = '{row.better}' must be {' or '.join(get_args(Better))}")
    kinds = get_args(PayloadKind)
    if not row.takes or not {*row.takes, *row.in_record_of} <= set(kinds):
        raise MisuseError(f"{row.name}: takes and in_record_of are tuples of {' and '.join(kinds)}")
    if not callable(row.function):
        raise MisuseError(f"{row.name}: function must be a function of Facts that returns a Value")


def people_behind(facts: Facts, metric: Metric) -> int:
    """The number of people behind the value of a metric."""
    seen = facts if metric.as_given else facts.on_grid
    return seen.n_published if metric.people_behind is None else metric.people_behind(seen)


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """A metric with its result.

    Parameters
    ----------
    metric
        The row of the table of metrics.
    result
        The value, with further numbers where the metric has some.
    """

    metric: Metric
    result: Value

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def to_json(self) -> dict[str, Any]:
        """Name, value, unit, better direction and other numbers; nan becomes null."""
        entries = {
            key: number for key, number in vars(self.result).items() if key == "value" or number is not None
        }
        return {
            "name": self.name,
            **null_for_nan(entries),
            "unit": self.metric.unit,
            "better": self.metric.better,
            "words": self.metric.question,
        }


_COLUMNS: Final = ("name", "value", "unit", "better", "words")  # of every row


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """The result of ``measure``.

    Parameters
    ----------
    measurements
        One for each metric, in the order of the table of metrics.
    """

    measurements: tuple[Measurement, ...]

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def to_dataframe(self) -> "DataFrame":
        """A row for each metric, with the entries of its ``to_json``; needs pandas."""
        return frame_of_rows([one.to_json() for one in self], _COLUMNS)

    def _repr_html_(self) -> str:
        rows = [
            (one.name, f"{one.result.value:.6g} {one.metric.unit}", one.metric.better, one.metric.question)
            for one in self
        ]
        return html_table("Measurements", rows, header=("metric", "value", "better", "question"))

    def to_json(self) -> dict[str, Any]:
        """As ``shoal measure --json``; only points have ``points``."""
        as_given = {
            one.metric.key: null_for_nan(one.result.value if one.result.count is None else one.result.count)
            for one in self
            if one.metric.key is not None
        }
        return {
            "measurements": [one.to_json() for one in self if one.metric.key is None],
            **({"points": as_given} if as_given else {}),
        }
