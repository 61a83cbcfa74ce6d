"""Maps: how densely a release lies on the plane, what was lost where, and boxes as rectangles."""

import numpy as np

from shoal.model.plotting import COLORS, Drawing, rectangles, short, short_list
from shoal.model.release import Boxes
from shoal.model.trajectories import Grid
from shoal.report.facts.density import Density
from shoal.report.facts.evidence import shown_shares
from shoal.report.figures.style import BAR_ABOVE, BLUES, REDS, short_rows
from shoal.utility.vanished import Vanished


def release_map(density: Density, examples: Boxes, grid: Grid, *, projected: bool) -> Drawing:
    """Expected boxes per square kilometer as a heat map, with the rectangles of some boxes."""
    plane = "km (projected)" if projected else "km (local)"
    drawing = Drawing(f"east, {plane}", f"north, {plane}")
    window, km = density.window, grid.cell_m / 1000
    area_km2 = (window.side * km) ** 2
    seen = np.where(density.expected > 0, density.expected / area_km2, np.nan)
    top = np.log10(np.nanmax(seen)) if np.isfinite(seen).any() else 0.0
    low = max(top - 4, float(np.log10(np.nanmin(seen)))) if np.isfinite(seen).any() else -1.0
    low = min(low, top - 1)
    ticks = np.arange(np.ceil(low), np.floor(top) + 1)
    drawing.add(
        "heatmap",
        z=short_rows(np.log10(seen)),
        x0=short((window.x + window.side / 2) * km),
        dx=window.side * km,
        y0=short((window.y + window.side / 2) * km),
        dy=window.side * km,
        zmin=low,
        zmax=top,
        zsmooth=False,
        colorscale=BLUES,
        hovertemplate="x %{x:.1f} km, y %{y:.1f} km<extra></extra>",
        colorbar={
            **BAR_ABOVE,
            "title": {"text": "boxes per km²", "side": "top", "font": {"size": 12}},
            "tickvals": ticks.tolist(),
            "ticktext": [f"{10**tick:,.0f}" if tick >= 0 else f"{10**tick:.4g}" for tick in ticks],
        },
    )
    x, y = rectangles(examples, km)
    drawing.add(
        "scatter",
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
    drawing.set_x_axis(range=x_range, constrain="domain", showgrid=False, tickformat=",~r", nticks=6)
    drawing.set_y_axis(
        range=y_range, constrain="domain", scaleanchor="x", showgrid=False, tickformat=",~r", nticks=6
    )
    drawing.layout["showlegend"] = False
    drawing.set_margin(t=62, r=8)
    return drawing


def vanished_by_place(vanished: Vanished) -> Drawing:
    """The share of raw samples lost in each zone, in steps of 5 %; blank where fewer than ten people were."""
    zones = vanished.zones
    shape = (len(zones.y_m) - 1, len(zones.x_m) - 1)
    drawing = Drawing("east, km", "north, km")
    drawing.add(
        "heatmap",
        z=short_rows(shown_shares(vanished.by_zone).reshape(shape)),
        x=short_list(zones.x_m / 1000),
        y=short_list(zones.y_m / 1000),
        zmin=0,
        zmax=1,
        zsmooth=False,
        xgap=1,
        ygap=1,
        colorscale=REDS,
        hovertemplate="x %{x:.1f} km, y %{y:.1f} km: about %{z:.0%} lost<extra></extra>",
        colorbar={
            **BAR_ABOVE,
            "title": {"text": "share of raw samples lost", "side": "top", "font": {"size": 12}},
            "tickformat": ".0%",
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
        },
    )
    drawing.set_x_axis(constrain="domain", showgrid=False, tickformat=",~r", nticks=6)
    drawing.set_y_axis(constrain="domain", scaleanchor="x", showgrid=False, tickformat=",~r", nticks=6)
    drawing.layout["showlegend"] = False
    drawing.set_margin(t=62, r=8)
    return drawing
