"""The numbers of a release report, computed before anything is drawn.

Aggregates only: nothing here belongs to one subject.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.report.facts.curves import Curve, curve_of_people, quantile_of_people
from shoal.report.facts.density import Density, density_map, some_boxes
from shoal.report.words.wording import meters, percent, seconds
from shoal.runtime.arrays import Integers
from shoal.units import DAY_S
from shoal.utility.accuracy import Accuracy, Extents, measure_accuracy

_A_DATE_S: Final = 315_532_800  # 1980; smaller times are steps counted from zero, not dates
_NEAR_THE_MIDDLE: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time that some samples cover: its length in seconds, and the dates when the times are dates."""

    seconds: float
    first_day: str | None
    last_day: str | None


@dataclass(frozen=True, kw_only=True)
class GapFacts:
    """One k-gap in a few numbers.

    cost_space_m, cost_time_s: mean stretch per sample of the tenth of people around the median gap.

    hidden: people whose gap is 0. upper: what 95 in 100 people stay below, None for fewer than 200 people.
    """

    k: int
    people: int
    median: float
    mean: float
    upper: float | None
    hidden: int
    cost_space_m: float
    cost_time_s: float
    curve: Curve


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseFacts:
    """What the page of a release says of release and raw data. crowds: number of crowds by their size.

    median_samples: of a person, None for fewer than twenty people. samples_per_day: of a person, on average
    over the days of the data.
    """

    subjects: int
    samples: int
    median_samples: float | None
    samples_per_day: float
    rows_read: int
    accuracy: Accuracy
    crowds: Mapping[int, int]
    span: Span
    density: Density
    outlines: Boxes
    gaps: tuple[GapFacts, ...]

    @property
    def width_m(self) -> float:
        """Of the map, from west to east."""
        return self.density.window.columns * self.density.window.side * self.accuracy.published.grid.cell_m

    @property
    def height_m(self) -> float:
        """Of the map, from south to north."""
        return self.density.window.rows * self.density.window.side * self.accuracy.published.grid.cell_m

    @property
    def n_crowds(self) -> int:
        """How many crowds there are."""
        return sum(self.crowds.values())


@dataclass(frozen=True, kw_only=True)
class AccuracyRow:
    """One line of the table of accuracy: a number for each reading, and how such a number is written."""

    name: str
    words: str
    raw: float
    published: float
    text: Callable[[float], str]


def accuracy_rows(accuracy: Accuracy) -> list[AccuracyRow]:
    """The figures that the paper quotes (Sec. 7), for both readings."""
    lines: list[tuple[str, str, Callable[[Extents], float], Callable[[float], str]]] = [
        (
            "position-kept",
            "original position kept (one cell)",
            lambda extents: extents.share_position_kept,
            percent,
        ),
        ("time-kept", "original time kept (one slot)", lambda extents: extents.share_time_kept, percent),
        ("within-2km", "area within 2 km", lambda extents: extents.share_within(space_m=2000), percent),
        ("within-2h", "interval within 2 h", lambda extents: extents.share_within(time_s=7200), percent),
        (
            "within-both",
            "within 2 km and 2 h",
            lambda extents: extents.share_within(space_m=2000, time_s=7200),
            percent,
        ),
        ("median-space", "median extent in place", lambda extents: extents.median_space_m, meters),
        ("mean-space", "mean extent in place", lambda extents: extents.mean_space_m, meters),
        ("median-time", "median extent in time", lambda extents: extents.median_time_s, seconds),
        ("mean-time", "mean extent in time", lambda extents: extents.mean_time_s, seconds),
    ]
    return [
        AccuracyRow(
            name=name, words=words, raw=value(accuracy.raw), published=value(accuracy.published), text=text
        )
        for name, words, value, text in lines
    ]


def release_facts(
    original: Trajectories, release: Release, linkage: Linkage, gaps: Sequence[KGap]
) -> ReleaseFacts:
    """The numbers of a release and its original; raises MisuseError when they do not belong together."""
    crowd_of = crowds_of(release)
    sizes = Counter(np.bincount(crowd_of).tolist())
    return ReleaseFacts(
        subjects=original.n_subjects,
        samples=original.n_samples,
        median_samples=quantile_of_people(original.lengths.astype(np.float64), 0.5),
        samples_per_day=original.n_samples / original.n_subjects / days_of(original),
        rows_read=original.intake.rows_read,
        accuracy=measure_accuracy(original, release, linkage),
        crowds=dict(sorted(sizes.items())),
        span=span_of(release.boxes.t_start, release.boxes.t_end, release.grid.slot_s),
        density=density_map(release.boxes),
        outlines=some_boxes(release.boxes),
        gaps=tuple(gap_facts(original, gap) for gap in gaps),
    )


def days_of(original: Trajectories) -> int:
    """How many UTC days lie between the first and the last sample, both counted."""
    return days_between(int(original.t.min()), int(original.t.max()), original.snapped_grid().slot_s)


def days_between(first_slot: int, last_slot: int, slot_s: float) -> int:
    """How many UTC days two slots span, the days of both counted."""
    return int(last_slot * slot_s // DAY_S) - int(first_slot * slot_s // DAY_S) + 1


def crowds_of(release: Release) -> Integers:
    """int64 [records]: the number of each record's crowd; records with the same boxes are one crowd."""
    table = np.column_stack(release.boxes.columns())
    numbers: dict[bytes, int] = {}
    edges = release.offsets.tolist()
    crowds = [numbers.setdefault(table[a:b].tobytes(), len(numbers)) for a, b in pairwise(edges)]
    return np.array(crowds, dtype=np.int64)


def span_of(first_slots: Integers, end_slots: Integers, slot_s: float) -> Span:
    """From the first of these slots to the end of the last."""
    if not len(first_slots):
        return Span(seconds=0.0, first_day=None, last_day=None)
    first_s, end_s = float(first_slots.min()) * slot_s, float(end_slots.max()) * slot_s
    if first_s < _A_DATE_S:
        return Span(seconds=end_s - first_s, first_day=None, last_day=None)
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in (first_s, end_s - slot_s)]
    return Span(seconds=end_s - first_s, first_day=days[0], last_day=days[1])


def gap_facts(original: Trajectories, gap: KGap) -> GapFacts:
    """One k-gap in a few numbers; raises MisuseError when it is of other people."""
    if len(gap.gap) != original.n_subjects:
        raise MisuseError(
            f"the k-gap is of {len(gap.gap)} people and the data of {original.n_subjects}; compute it from "
            "the same data"
        )
    near = _around_the_median(gap)
    return GapFacts(
        k=gap.k,
        people=len(gap.gap),
        median=float(np.median(gap.gap)),
        mean=float(gap.gap.mean()),
        upper=quantile_of_people(gap.gap, 0.95),
        hidden=int(np.count_nonzero(gap.gap == 0)),
        cost_space_m=float(gap.space[near].mean() * 2 * gap.space_cap_m),
        cost_time_s=float(gap.time[near].mean() * 2 * gap.time_cap_s),
        curve=curve_of_people(gap.gap),
    )


def _around_the_median(gap: KGap) -> Integers:
    """The tenth of the people around the median gap, ten at least (or all there are)."""
    n = len(gap.gap)
    size = min(n, max(10, round(n * _NEAR_THE_MIDDLE)))
    start = (n - size) // 2
    return np.argsort(gap.gap, kind="stable")[start : start + size]
