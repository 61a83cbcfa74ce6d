"""Cumulative distributions: of people by k-gap and other values, of samples by the extents of their boxes."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from shoal.model.plotting import INK, Drawing
from shoal.report.facts.curves import Curve, curve_of_extents
from shoal.report.facts.gaps import GapFacts
from shoal.report.facts.omission import OmissionFrontier
from shoal.report.figures.style import line_style, share_axis
from shoal.units import show_m, show_s
from shoal.utility.accuracy import Accuracy

_LENGTHS_M: Final = tuple(digit * 10.0**power for power in range(-2, 8) for digit in (1, 2, 5))
_DURATIONS_S: Final = (
    1.0,
    10.0,
    60.0,
    300.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    21600.0,
    43200.0,
    86400.0,
    172800.0,
    604800.0,
    2419200.0,
)

_OMISSION_LINES: Final = {
    "mean_space_m": "mean in place",
    "median_space_m": "median in place",
    "mean_time_s": "mean in time",
    "median_time_s": "median in time",
}


def gap_cdfs(gaps: Sequence[GapFacts]) -> Drawing:
    """CDF of the k-gap, one line per k (Fig. 3)."""
    curves = [(f"k = {gap.k}", gap.curve) for gap in gaps]
    return cdfs(curves, "k-gap", "share of people", unit_range=True)


def cdfs(
    curves: Sequence[tuple[str, Curve]], x_title: str, y_title: str, *, unit_range: bool = False
) -> Drawing:
    """Cumulative distributions over people, on a linear axis from 0 to the largest value.

    unit_range: the scale ends at 1.
    """
    drawing = Drawing(x_title, y_title)
    for number, (name, curve) in enumerate(curves):
        drawing.add(
            "scatter",
            x=curve.value,
            y=curve.share,
            mode="lines",
            name=name,
            line=line_style(number),
            hovertemplate="%{x:.3g}: %{y:.1%}",
        )
    end = max((curve.value[-1] for _, curve in curves if curve.value), default=1.0) * 1.08 or 1.0
    drawing.set_x_axis(range=[0, min(end, 1.0) if unit_range else end])
    if len(curves) == 1:
        drawing.set_margin(t=12)
    share_axis(drawing)
    return drawing


def extents(accuracy: Accuracy, *, spatial: bool) -> Drawing:
    """CDF of dx + dy, or of the durations, over raw and published samples.

    Source: Gramaglia and Fiore 2015, Fig. 7.
    """
    grid = accuracy.raw.grid
    curves = [
        ("the box of each raw sample", curve_of_extents(accuracy.raw, spatial=spatial)),
        ("each published box", curve_of_extents(accuracy.published, spatial=spatial)),
    ]
    drawing = Drawing("spatial extent dx + dy" if spatial else "temporal extent", "share of samples")
    for number, (name, curve) in enumerate(curves):
        line = {**line_style(number), "shape": "hv"}
        shown = [show_m(value) if spatial else show_s(value) for value in curve.value]
        drawing.add(
            "scatter",
            x=curve.value,
            y=curve.share,
            mode="lines",
            name=name,
            line=line,
            text=shown,
            hovertemplate="at most %{text}: %{y:.1%}",
        )
    reference = 2000.0 if spatial else 7200.0
    low = (2 * grid.cell_m if spatial else grid.slot_s) / 1.25
    high = max([reference, low * 10, *(curve.value[-1] for _, curve in curves if curve.value)]) * 1.25
    ticks = _log_ticks(_LENGTHS_M if spatial else _DURATIONS_S, reference, low, high)
    labels = [show_m(tick) if spatial else show_s(tick) for tick in ticks]
    drawing.set_x_axis(
        type="log", range=[np.log10(low), np.log10(high)], tickvals=ticks, ticktext=labels, tickangle=0
    )
    if low < reference:
        drawing.add_vertical_line(reference, {"color": INK, "width": 1, "dash": "dot"})
    share_axis(drawing)
    return drawing


def omission(frontier: OmissionFrontier) -> Drawing:
    """Extents over those with everything covered, by the share of samples that is missing."""
    drawing = Drawing("samples that are missing", "extents, where 1 = all covered")
    whole = frontier.rows[0]
    missing = [row.samples_missing for row in frontier.rows]
    for number, (name, words) in enumerate(_OMISSION_LINES.items()):
        drawing.add(
            "scatter",
            x=missing,
            y=[getattr(row, name) / getattr(whole, name) for row in frontier.rows],
            mode="lines+markers",
            name=words,
            line=line_style(number),
            hovertemplate="%{x:.1%} missing: %{y:.2f}",
        )
    drawing.set_x_axis(tickformat=".0%", rangemode="tozero")
    drawing.set_y_axis(rangemode="tozero")
    return drawing


def _log_ticks(candidates: Sequence[float], reference: float, low: float, high: float) -> list[float]:
    """The reference and, outwards from it, round values in the range, as many as a phone has room for."""
    apart = np.log10(high / low) / 5.5
    ticks = [reference] if low <= reference <= high else []
    for value in [
        *(value for value in reversed(candidates) if value < reference),
        *(value for value in candidates if value > reference),
    ]:
        if low <= value <= high and all(abs(np.log10(value / tick)) >= apart for tick in ticks):
            ticks.append(value)
    return sorted(ticks)
