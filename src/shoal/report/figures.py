"""The drawings: scatter, bar and heatmap traces only, so that a page needs neither WebGL nor any request.

Colors are those of Okabe and Ito, told apart by people who see colors differently; lines differ in their
dashes too.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from shoal.model.release import Boxes
from shoal.model.trajectories import Grid
from shoal.report.facts.curves import Curve, curve_of_extents
from shoal.report.facts.density import Density
from shoal.report.facts.evidence import shown_shares
from shoal.report.facts.example import Example
from shoal.report.facts.release import GapFacts, ReleaseFacts
from shoal.units import show_m, show_s
from shoal.utility.vanished import Vanished

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_INK: Final = "#1b2733"
_FAINT: Final = "#dfe4ea"
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
_MOST_BARS_LABELED: Final = 16
_BAR_ABOVE: Final = {"orientation": "h", "thickness": 12, "len": 1.0, "y": 1.02, "yanchor": "bottom"}


def spatial_accuracy(facts: ReleaseFacts) -> "Figure":
    """CDF of dx + dy, both readings (Fig. 7, left)."""
    return _accuracy(facts, spatial=True)


def temporal_accuracy(facts: ReleaseFacts) -> "Figure":
    """CDF of the durations, both readings (Fig. 7, right)."""
    return _accuracy(facts, spatial=False)


def gap_cdfs(gaps: Sequence[GapFacts]) -> "Figure":
    """CDF of the k-gap, one line per k (Fig. 3)."""
    curves = [(f"k = {gap.k}", gap.curve) for gap in gaps]
    return cdfs(curves, "k-gap", "share of people", unit_range=True)


def cdfs(
    curves: Sequence[tuple[str, Curve]], x_title: str, y_title: str, *, unit_range: bool = False
) -> "Figure":
    """Cumulative distributions over people on a linear axis, from 0 to as far as they reach, to 1 where that is the end of the scale."""
    figure = _figure(x_title, y_title)
    for number, (name, curve) in enumerate(curves):
        figure.add_scatter(
            x=curve.value,
            y=curve.share,
            mode="lines",
            name=name,
            line=_line(number),
            hovertemplate="%{x:.3g}: %{y:.1%}",
        )
    reach = max((curve.value[-1] for _, curve in curves if curve.value), default=1.0) * 1.08 or 1.0
    figure.update_xaxes(range=[0, min(reach, 1.0) if unit_range else reach])
    if len(curves) == 1:
        figure.update_layout(margin={"t": 12})
    _share_axis(figure)
    return figure


def crowd_sizes(facts: ReleaseFacts) -> "Figure":
    """How many crowds there are of each size."""
    figure = _figure("people in a crowd", "number of crowds")
    sizes, numbers = list(facts.crowds), list(facts.crowds.values())
    figure.add_bar(
        x=sizes,
        y=numbers,
        marker_color=COLORS[0],
        width=0.7,
        hovertemplate="%{y:,} crowds of %{x}<extra></extra>",
    )
    low, high = max(0.0, min(sizes) - 2.5), max(sizes) + 2.5
    figure.update_xaxes(
        range=[low, high], tickformat="d", dtick=1 if high - low <= _MOST_BARS_LABELED else None
    )
    figure.update_yaxes(rangemode="tozero", tickformat=",d")
    figure.update_layout(showlegend=False, margin={"t": 12})
    return figure


def release_map(density: Density, outlines: Boxes, grid: Grid, *, projected: bool) -> "Figure":
    """Expected boxes per square kilometer as a heat map, with the outlines of some boxes."""
    plane = "km (projected)" if projected else "km (local)"
    figure = _figure(f"east, {plane}", f"north, {plane}")
    window, km = density.window, grid.cell_m / 1000
    area_km2 = (window.side * km) ** 2
    seen = np.where(density.expected > 0, density.expected / area_km2, np.nan)
    top = np.log10(np.nanmax(seen)) if np.isfinite(seen).any() else 0.0
    low = max(top - 4, float(np.log10(np.nanmin(seen)))) if np.isfinite(seen).any() else -1.0
    low = min(low, top - 1)
    ticks = np.arange(np.ceil(low), np.floor(top) + 1)
    figure.add_heatmap(
        z=_rows(np.log10(seen)),
        x0=_km((window.x + window.side / 2) * km),
        dx=window.side * km,
        y0=_km((window.y + window.side / 2) * km),
        dy=window.side * km,
        zmin=low,
        zmax=top,
        zsmooth=False,
        colorscale="YlGnBu",
        hovertemplate="x %{x:.1f} km, y %{y:.1f} km<extra></extra>",
        colorbar={
            **_BAR_ABOVE,
            "title": {"text": "boxes per km²", "side": "top", "font": {"size": 12}},
            "tickvals": ticks.tolist(),
            "ticktext": [f"{10**tick:,.0f}" if tick >= 0 else f"{10**tick:.4g}" for tick in ticks],
        },
    )
    x, y = _outline(outlines, km)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": COLORS[1], "width": 0.8},
        opacity=0.6,
        hoverinfo="skip",
        name="some boxes",
    )
    x_range = [window.x * km, (window.x + window.columns * window.side) * km]
    y_range = [window.y * km, (window.y + window.rows * window.side) * km]
    figure.update_xaxes(range=x_range, constrain="domain", showgrid=False, tickformat=",~r", nticks=6)
    figure.update_yaxes(
        range=y_range, constrain="domain", scaleanchor="x", showgrid=False, tickformat=",~r", nticks=6
    )
    figure.update_layout(showlegend=False, margin={"t": 62, "r": 8})
    return figure


def vanished_by_place(vanished: Vanished) -> "Figure":
    """The share of raw samples lost in each zone, in steps of 5 %.

    Zones with fewer than ten people are left blank.
    """
    zones = vanished.zones
    shape = (len(zones.y_m) - 1, len(zones.x_m) - 1)
    figure = _figure("east, km", "north, km")
    figure.add_heatmap(
        z=_rows(shown_shares(vanished.by_zone).reshape(shape)),
        x=_list(zones.x_m / 1000),
        y=_list(zones.y_m / 1000),
        zmin=0,
        zmax=1,
        zsmooth=False,
        xgap=1,
        ygap=1,
        colorscale="YlOrRd",
        hovertemplate="x %{x:.1f} km, y %{y:.1f} km: about %{z:.0%} lost<extra></extra>",
        colorbar={
            **_BAR_ABOVE,
            "title": {"text": "share of raw samples lost", "side": "top", "font": {"size": 12}},
            "tickformat": ".0%",
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
        },
    )
    figure.update_xaxes(constrain="domain", showgrid=False, tickformat=",~r", nticks=6)
    figure.update_yaxes(constrain="domain", scaleanchor="x", showgrid=False, tickformat=",~r", nticks=6)
    figure.update_layout(showlegend=False, margin={"t": 62, "r": 8})
    return figure


def vanished_by_hour(vanished: Vanished) -> "Figure":
    """The share of raw samples lost in each hour of the day (UTC), in steps of 5 %.

    Hours with fewer than ten people have no bar.
    """
    figure = _figure("hour of the day (UTC)", "share of raw samples lost")
    shares = [
        None if np.isnan(share) else round(share, 2) for share in shown_shares(vanished.by_hour).tolist()
    ]
    figure.add_bar(
        x=list(range(24)),
        y=shares,
        marker_color=COLORS[1],
        hovertemplate="%{x} to %{x}:59: about %{y:.0%}<extra></extra>",
    )
    figure.update_xaxes(range=[-0.6, 23.6], tickvals=[0, 6, 12, 18, 23])
    _share_axis(figure)
    figure.update_layout(showlegend=False, margin={"t": 12})
    return figure


def example_in_space(example: Example, grid: Grid) -> "Figure":
    """Each member's raw cells against the published boxes."""
    km = grid.cell_m / 1000
    figure = _figure("east, km", "north, km")
    x, y = _outline(example.boxes, km)
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor="rgba(90,100,110,0.10)",
        line={"color": "#5a646e", "width": 1},
        name="published",
    )
    for number, (_, cells_x, cells_y) in enumerate(example.members):
        figure.add_scatter(
            x=_list((cells_x + 0.5) * km),
            y=_list((cells_y + 0.5) * km),
            mode="markers",
            marker=_marker(number),
            name=f"member {number + 1}",
        )
    figure.update_xaxes(tickformat=",~r", nticks=6)
    figure.update_yaxes(scaleanchor="x", tickformat=",~r", nticks=6)
    return figure


def example_in_time(example: Example, grid: Grid) -> "Figure":
    """A row per member with the times of the raw samples, and the published intervals above them, in hours after the first."""
    figure = _figure("hours after the first sample", "")
    start = min([int(t[0]) for t, _, _ in example.members] + example.boxes.t_start.tolist()[:1])
    hours = grid.slot_s / 3600
    top = len(example.members)
    x: list[float | None] = []
    y: list[float | None] = []
    for begin, end in zip(example.boxes.t_start.tolist(), example.boxes.t_end.tolist(), strict=True):
        x += [
            (begin - start) * hours,
            (end - start) * hours,
            (end - start) * hours,
            (begin - start) * hours,
            (begin - start) * hours,
            None,
        ]
        y += [-0.45, -0.45, top - 0.55, top - 0.55, -0.45, None]
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        fill="toself",
        fillcolor="rgba(90,100,110,0.10)",
        line={"color": "#5a646e", "width": 0.6},
        name="published",
    )
    for number, (t, _, _) in enumerate(example.members):
        row = top - 1 - number
        marker = {
            "color": COLORS[number % len(COLORS)],
            "size": 11,
            "symbol": "line-ns",
            "line": {"color": COLORS[number % len(COLORS)], "width": 2},
        }
        figure.add_scatter(
            x=_list((t - start + 0.5) * hours),
            y=[row] * len(t),
            mode="markers",
            marker=marker,
            name=f"member {number + 1}",
        )
    figure.update_yaxes(
        tickvals=list(range(top)),
        ticktext=[f"member {top - row}" for row in range(top)],
        range=[-0.7, top - 0.3],
        showgrid=False,
    )
    figure.update_layout(showlegend=False, margin={"t": 12})
    return figure


def _accuracy(facts: ReleaseFacts, *, spatial: bool) -> "Figure":
    grid = facts.accuracy.raw.grid
    curves = [
        ("raw samples", curve_of_extents(facts.accuracy.raw, spatial=spatial)),
        ("published samples", curve_of_extents(facts.accuracy.published, spatial=spatial)),
    ]
    figure = _figure("spatial extent dx + dy" if spatial else "temporal extent", "share of samples")
    for number, (name, curve) in enumerate(curves):
        line = {**_line(number), "shape": "hv"}
        shown = [show_m(value) if spatial else show_s(value) for value in curve.value]
        figure.add_scatter(
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
    figure.update_xaxes(
        type="log", range=[np.log10(low), np.log10(high)], tickvals=ticks, ticktext=labels, tickangle=0
    )
    if low < reference:
        figure.add_vline(x=reference, line={"color": _INK, "width": 1, "dash": "dot"})
    _share_axis(figure)
    return figure


def _figure(x_title: str, y_title: str) -> "Figure":
    """An empty figure in the reports' dress.

    Reading it needs no dragging, so that a finger scrolls the page.
    """
    from plotly.graph_objects import Figure

    figure = Figure()
    axis: dict[str, Any] = {
        "gridcolor": _FAINT,
        "linecolor": "#8a96a3",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": "#8a96a3",
        "ticklen": 4,
        "fixedrange": True,
        "automargin": True,
    }
    figure.update_layout(
        template="none",
        font={"family": FONT, "size": 13, "color": _INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 56, "r": 24, "t": 34, "b": 48},
        legend={"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "xanchor": "left"},
        xaxis={**axis, "title": {"text": x_title, "standoff": 8, "font": {"size": 13}}},
        yaxis={**axis, "title": {"text": y_title, "standoff": 6, "font": {"size": 13}}},
        dragmode=False,
        hoverlabel={"font": {"family": FONT}},
    )
    return figure


def _share_axis(figure: "Figure") -> None:
    figure.update_yaxes(range=[0, 1.01], tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1], tickformat=".0%")


def _line(number: int) -> dict[str, Any]:
    return {"color": COLORS[number % len(COLORS)], "dash": DASHES[number % len(DASHES)], "width": 2.2}


def _marker(number: int) -> dict[str, Any]:
    symbols = ("circle", "diamond", "square", "cross", "triangle-up", "x", "star")
    return {
        "color": COLORS[number % len(COLORS)],
        "symbol": symbols[number % len(symbols)],
        "size": 7,
        "opacity": 0.8,
    }


def _log_ticks(candidates: Sequence[float], reference: float, low: float, high: float) -> list[float]:
    """The reference and, outwards from it, as many round values in the range as leave room for their labels on a phone."""
    apart = np.log10(high / low) / 5.5
    ticks = [reference] if low <= reference <= high else []
    for value in [
        *(value for value in reversed(candidates) if value < reference),
        *(value for value in candidates if value > reference),
    ]:
        if low <= value <= high and all(abs(np.log10(value / tick)) >= apart for tick in ticks):
            ticks.append(value)
    return sorted(ticks)


def _outline(boxes: Boxes, km: float) -> tuple[list[float | None], list[float | None]]:
    """Closed rectangles as one line, broken between them."""
    x: list[float | None] = []
    y: list[float | None] = []
    for x_min, y_min, x_max, y_max in zip(
        boxes.x_min.tolist(), boxes.y_min.tolist(), boxes.x_max.tolist(), boxes.y_max.tolist(), strict=True
    ):
        left, low, right, high = (_km(edge * km) for edge in (x_min, y_min, x_max, y_max))
        x += [left, right, right, left, left, None]
        y += [low, low, high, high, low, None]
    return x, y


def _km(value: float) -> float:
    return round(value, 4)


def _list(values: npt.NDArray[np.floating[Any]]) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def _rows(values: npt.NDArray[np.float64]) -> list[list[float | None]]:
    """A matrix as JSON can hold it: two decimals, nothing where there is no number."""
    return [[None if np.isnan(value) else round(value, 2) for value in row] for row in values.tolist()]
