"""Cumulative distributions of people and of samples."""

from collections.abc import Sequence
from typing import Final

from shoal.report.facts.curves import Curve, GapFacts, curve_of_extents
from shoal.report.facts.omission import OmissionFrontier
from shoal.report.figures import axes
from shoal.report.figures.drawing import Drawing, Line
from shoal.utility.accuracy import Accuracy

_OMISSION_LINES: Final = {
    "mean_space_m": "mean in place",
    "median_space_m": "median in place",
    "mean_time_s": "mean in time",
    "median_time_s": "median in time",
}


def gap_cdfs(gaps: Sequence[GapFacts]) -> Drawing:
    """One line per k (Fig. 3)."""
    return cdfs([(f"k = {gap.k}", gap.curve) for gap in gaps], "k-gap", unit_range=True)


def cdfs(curves: Sequence[tuple[str, Curve]], x_title: str, *, unit_range: bool = False) -> Drawing:
    """Over people, from 0. unit_range: the axis ends at 1."""
    end = max((curve.value[-1] for _, curve in curves if curve.value), default=1.0) * 1.08 or 1.0
    return Drawing(
        x=axes.linear(x_title, 0.0, min(end, 1.0) if unit_range else end),
        y=axes.of_shares("share of people"),
        layers=[
            Line(name=name, x=curve.value, y=curve.share, number=number)
            for number, (name, curve) in enumerate(curves)
        ],
        legend=len(curves) > 1,
        numbers="levels",
    )


def extents(accuracy: Accuracy, *, spatial: bool) -> Drawing:
    """Extents or durations over raw and published samples (Gramaglia, Fiore 2015, Fig. 7)."""
    grid = accuracy.raw.grid
    curves = [
        ("the box of each raw sample", curve_of_extents(accuracy.raw, spatial=spatial)),
        ("each published box", curve_of_extents(accuracy.published, spatial=spatial)),
    ]
    reference = 2000.0 if spatial else 7200.0
    low = (2 * grid.cell_m if spatial else grid.slot_s) / 1.25
    high = max([reference, low * 10, *(curve.value[-1] for _, curve in curves if curve.value)]) * 1.25
    title = "spatial extent dx + dy" if spatial else "temporal extent"
    return Drawing(
        x=axes.of_extents(title, low, high, reference, spatial=spatial),
        y=axes.of_shares("share of samples"),
        layers=[
            Line(name=name, x=curve.value, y=curve.share, number=number, steps=True)
            for number, (name, curve) in enumerate(curves)
        ],
        legend=True,
        at=reference if low < reference else None,
        numbers="levels",
    )


def omission(frontier: OmissionFrontier) -> Drawing:
    """Extents relative to full coverage, by missing samples."""
    whole = frontier.rows[0]
    missing = [row.samples_missing for row in frontier.rows]
    lines = [
        Line(
            name=words,
            x=missing,
            y=[getattr(row, name) / getattr(whole, name) for row in frontier.rows],
            number=number,
            marked=True,
        )
        for number, (name, words) in enumerate(_OMISSION_LINES.items())
    ]
    return Drawing(
        x=axes.from_zero("samples that are suppressed", missing, unit="share"),
        y=axes.from_zero("extents, where 1 = all covered", [y for line in lines for y in line.y]),
        layers=lines,
        legend=True,
        numbers="each",
    )
