"""The numbers of a record: aggregates only."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from shoal.io.screening import days_between
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.report.facts.curves import GapFacts, gap_facts, quantile_of_people
from shoal.report.facts.ground import Density, density_map, some_boxes
from shoal.report.words.numbers import meters, seconds, two_digits
from shoal.runtime.arrays import Integers
from shoal.units import percent
from shoal.utility import Facts
from shoal.utility.accuracy import Accuracy, Extents

_A_DATE_S: Final = 315_532_800  # 1980; smaller times are steps counted from zero, not dates


@dataclass(frozen=True, kw_only=True)
class Span:
    """Length in seconds, and dates when times are dates."""

    seconds: float
    first_day: str | None
    last_day: str | None


@dataclass(frozen=True, eq=False, kw_only=True)
class BoxFacts:
    """Facts of boxes.

    median_samples: per person, None below twenty people. samples_per_day: mean per person. crowds: by size;
    empty when the claim promises no equal records.
    """

    median_samples: float | None
    samples_per_day: float
    accuracy: Accuracy
    crowds: Mapping[int, int]

    @property
    def n_crowds(self) -> int:
        """The number of crowds."""
        return sum(self.crowds.values())


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseFacts:
    """Facts of release and raw data.

    grid: of the map and of the k-gaps. example_boxes: drawn on the map. boxes: None for points.
    """

    subjects: int
    samples: int
    rows_read: int
    people_read: int
    people_lost: int
    grid: Grid
    span: Span
    density: Density
    example_boxes: Boxes
    gaps: tuple[GapFacts, ...]
    boxes: BoxFacts | None

    @property
    def width_m(self) -> float:
        """From west to east."""
        return self.density.window.columns * self.density.window.side * self.grid.cell_m

    @property
    def height_m(self) -> float:
        """From south to north."""
        return self.density.window.rows * self.density.window.side * self.grid.cell_m


@dataclass(frozen=True, kw_only=True)
class AccuracyRow:
    """A line of the table of accuracy: a number per reading; of raw samples to a few digits."""

    name: str
    words: str
    raw: float
    published: float
    text: Callable[[float], str]


def accuracy_rows(accuracy: Accuracy) -> list[AccuracyRow]:
    """The paper's figures (Sec. 7), for both readings."""
    lines: list[tuple[str, str, Callable[[Extents], float], Callable[[float], str]]] = [
        ("position-kept", "box is one cell", lambda extents: extents.share_position_kept, percent),
        ("time-kept", "box is one slot", lambda extents: extents.share_time_kept, percent),
        ("within-2km", "box is at most 2 km", lambda extents: extents.share_within(space_m=2000), percent),
        ("within-2h", "box is at most 2 h", lambda extents: extents.share_within(time_s=7200), percent),
        (
            "within-both",
            "box is at most 2 km and 2 h",
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
            name=name,
            words=words,
            raw=two_digits(value(accuracy.raw)) if text is percent else float(f"{value(accuracy.raw):.3g}"),
            published=value(accuracy.published),
            text=text,
        )
        for name, words, value, text in lines
    ]


def release_facts(facts: Facts) -> ReleaseFacts:
    """The numbers of a release; raises MisuseError for a k-gap of other people."""
    on_grid = facts.on_grid
    boxes, grid = on_grid.release.boxes, on_grid.release.snapped_grid()
    of_boxes = facts.release.payload.on_grid
    return ReleaseFacts(
        subjects=facts.original.n_subjects,
        samples=facts.original.n_samples,
        rows_read=facts.original.intake.rows_read,
        people_read=facts.original.intake.people_read,
        people_lost=facts.original.intake.people_lost,
        grid=grid,
        span=span_of(boxes.t_start, boxes.t_end, grid.slot_s),
        density=density_map(boxes),
        example_boxes=some_boxes(boxes) if of_boxes else Boxes.concatenate([]),
        gaps=tuple(gap_facts(facts.original.n_subjects, gap) for gap in facts.gaps),
        boxes=_of_boxes(facts) if of_boxes else None,
    )


def _of_boxes(facts: Facts) -> BoxFacts:
    original, release = facts.original, facts.release
    days = days_between(int(original.t.min()), int(original.t.max()), original.snapped_grid().slot_s)
    return BoxFacts(
        median_samples=quantile_of_people(original.lengths.astype(np.float64), 0.5),
        samples_per_day=original.n_samples / original.n_subjects / days,
        accuracy=facts.accuracy,
        crowds=dict(sorted(Counter(np.bincount(facts.crowds).tolist()).items()))
        if release.claim.in_classes
        else {},
    )


def span_of(first_slots: Integers, end_slots: Integers, slot_s: float) -> Span:
    """From the first slot to the end of the last."""
    if not len(first_slots):
        return Span(seconds=0.0, first_day=None, last_day=None)
    first_s, end_s = float(first_slots.min()) * slot_s, float(end_slots.max()) * slot_s
    if first_s < _A_DATE_S:
        return Span(seconds=end_s - first_s, first_day=None, last_day=None)
    days = [datetime.fromtimestamp(moment, UTC).date().isoformat() for moment in (first_s, end_s - slot_s)]
    return Span(seconds=end_s - first_s, first_day=days[0], last_day=days[1])
