"""The cost of hiding at each k and the traits of the tail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.report.facts.curves import LEAST_PEOPLE, Curve, GapFacts, curve_of_people, gap_facts
from shoal.report.facts.release import Span, span_of
from shoal.report.words.numbers import meters, number, seconds
from shoal.runtime.arrays import Floats
from shoal.units import percent
from shoal.utility.mobility import gyration_of

_TAIL: Final = 0.05
_QUIET_HOURS: Final = 8
_NOTICEABLE: Final = 1.15


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A median over the tail against everybody's."""

    name: str
    what: str
    tail: float
    everybody: float
    tail_text: str
    everybody_text: str
    verdict: str


@dataclass(frozen=True, kw_only=True)
class ExposureFacts:
    """The numbers of an assessment.

    tail_*: of the 5 % with the largest gap at the smallest k; empty below 200 people. time_shares,
    tail_weights: of the smallest k. mostly_time: share of people for whom time costs more than place.
    """

    subjects: int
    samples: int
    median_samples: float
    span: Span
    gaps: tuple[GapFacts, ...]
    time_shares: Curve
    median_time_share: float
    mostly_time: float
    tail_weights: tuple[tuple[str, Curve], ...]
    heavy_in_time: float
    heavy_in_space: float
    tail_people: int
    tail_threshold: float | None
    tail: tuple[Comparison, ...]


def exposure_facts(original: Trajectories, gaps: Sequence[KGap]) -> ExposureFacts:
    """The numbers of an assessment; raises MisuseError without a k-gap of these people."""
    if not gaps:
        raise MisuseError("there is no k-gap to show; assess at least one k, for example k = 2")
    first = min(gaps, key=lambda gap: gap.k)
    shares = np.divide(first.time, first.gap, out=np.full(len(first.gap), np.nan), where=first.gap > 0)
    finite = shares[np.isfinite(shares)]
    tail = tail_of(first)
    measured = original if first.subjects is None else original.keep(first.subjects)
    return ExposureFacts(
        subjects=original.n_subjects,
        samples=original.n_samples,
        median_samples=float(np.median(original.lengths)),
        span=span_of(original.t, original.t + 1, original.snapped_grid().slot_s),
        gaps=tuple(gap_facts(original.n_subjects, gap) for gap in sorted(gaps, key=lambda gap: gap.k)),
        time_shares=curve_of_people(shares),
        median_time_share=float(np.median(finite)) if len(finite) else float("nan"),
        mostly_time=_share_above(shares, 0.5),
        tail_weights=(
            ("place and time", curve_of_people(first.tail_weight)),
            ("place alone", curve_of_people(first.tail_weight_space)),
            ("time alone", curve_of_people(first.tail_weight_time)),
        ),
        heavy_in_time=_share_above(first.tail_weight_time, 1.5, or_at=True),
        heavy_in_space=_share_above(first.tail_weight_space, 1.5, or_at=True),
        tail_people=int(tail.sum()),
        tail_threshold=float(np.quantile(first.gap, 1 - _TAIL)) if tail.any() else None,
        tail=compare_tail(measured, first, tail) if tail.any() else (),
    )


def tail_of(gap: KGap) -> npt.NDArray[np.bool_]:
    """People above the gap's 95th percentile; none if fewer than ten."""
    above = gap.gap > np.quantile(gap.gap, 1 - _TAIL)
    return above if np.count_nonzero(above) >= LEAST_PEOPLE else np.zeros_like(above)


def compare_tail(original: Trajectories, gap: KGap, tail: npt.NDArray[np.bool_]) -> tuple[Comparison, ...]:
    """Activity, radius of gyration, distance to others, and unusual hours."""
    rows: list[tuple[str, str, Floats, Callable[[float], str], str, str]] = [
        (
            "samples",
            "samples of a person",
            original.lengths.astype(np.float64),
            number,
            "more samples",
            "fewer samples",
        ),
        (
            "reach",
            "spread of a person's places around their middle",
            gyration_m(original),
            meters,
            "they move further",
            "they move less far",
        ),
        (
            "space",
            "how far in place each sample is from the nearest others",
            gap.space * 2 * gap.space_cap_m,
            meters,
            "they are where fewer others are",
            "they are where more others are",
        ),
        (
            "time",
            "how far in time each sample is from the nearest others",
            gap.time * 2 * gap.time_cap_s,
            seconds,
            "they are active when fewer others are",
            "they are active when more others are",
        ),
        (
            "quiet",
            f"share of a person's samples in the {_QUIET_HOURS} quietest hours of the day",
            share_in_quiet_hours(original),
            percent,
            "they are active at odd hours",
            "they keep to the usual hours",
        ),
    ]
    comparisons = []
    for name, what, values, text, more, less in rows:
        inside, everybody = float(np.median(values[tail])), float(np.median(values))
        comparisons.append(
            Comparison(
                name=name,
                what=what,
                tail=inside,
                everybody=everybody,
                tail_text=text(inside),
                everybody_text=text(everybody),
                verdict=_verdict(inside, everybody, more, less),
            )
        )
    return tuple(comparisons)


def gyration_m(original: Trajectories) -> Floats:
    """float64 [n]: the root mean square distance of samples from their mean."""
    cells = Boxes.of_samples(original.t, original.x, original.y)
    radii: Floats = gyration_of(cells, original.offsets, original.snapped_grid().cell_m)[1]
    return radii


def share_in_quiet_hours(original: Trajectories) -> Floats:
    """float64 [n]: the share of samples in the data's eight quietest hours."""
    hour = (original.t * original.snapped_grid().slot_s // 3600 % 24).astype(np.int64)
    quiet = np.argsort(np.bincount(hour, minlength=24), kind="stable")[:_QUIET_HOURS]
    return np.asarray(
        np.add.reduceat(np.isin(hour, quiet).astype(np.float64), original.offsets[:-1]) / original.lengths,
        dtype=np.float64,
    )


def _verdict(inside: float, everybody: float, more: str, less: str) -> str:
    if everybody <= 0 or not np.isfinite(inside / everybody):
        return more if inside > everybody else ""
    ratio = inside / everybody
    if ratio >= _NOTICEABLE:
        return f"{more} ({number(ratio)} times the median)"
    if ratio <= 1 / _NOTICEABLE:
        return f"{less} ({number(ratio)} times the median)"
    return ""


def _share_above(values: Floats, bound: float, *, or_at: bool = False) -> float:
    finite = values[np.isfinite(values)]
    above = finite >= bound if or_at else finite > bound
    return float(above.mean()) if len(finite) else float("nan")
