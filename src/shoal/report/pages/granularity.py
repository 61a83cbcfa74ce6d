"""The page on what kte-hide leaves for several tau: the paper's Fig. 6, 8 and 9 for the user's own data."""

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.model.plotting import Drawing
from shoal.report.figures.style import line_style
from shoal.report.pages.frame import page
from shoal.units import show_s

_SPREADS = (
    ("three_quarters", "three quarters"),
    ("mean", "mean"),
    ("median", "median"),
    ("quarter", "a quarter"),
)


def granularity_page(found: Mapping[str, Any]) -> str:
    """found: the study as its JSON."""
    settings = found["settings"]
    drawings = {
        "space": _against_tau(settings, "space_m", "dx + dy, km", 1000),
        "time": _against_tau(settings, "time_s", "duration, min", 60),
        "suppressed": _suppressed(settings),
        "hour-space": _by_hour(settings, "mean_space_m", "mean dx + dy, km", 1000),
        "hour-time": _by_hour(settings, "mean_time_s", "mean duration, min", 60),
        "hour-suppressed": _by_hour(settings, "suppressed", "samples suppressed", 1),
    }
    return page("granularity.html.j2", drawings, found=found, settings=settings)


def _against_tau(settings: Sequence[Mapping[str, Any]], name: str, title: str, unit: float) -> Drawing:
    """Mean, median and quartiles over the raw samples, one place for each tau (Fig. 6)."""
    drawing = Drawing("tau = epsilon", title)
    for number, (part, words) in enumerate(_SPREADS):
        y = [None if one[name][part] is None else round(one[name][part] / unit, 4) for one in settings]
        drawing.add(
            "scatter",
            x=_taus(settings),
            y=y,
            mode="lines+markers",
            name=words,
            line=line_style(number),
            hovertemplate="%{x}: %{y:.3g}",
        )
    drawing.set_x_axis(type="category")
    drawing.set_y_axis(rangemode="tozero")
    return drawing


def _suppressed(settings: Sequence[Mapping[str, Any]]) -> Drawing:
    """The share of raw samples that is suppressed (Fig. 8)."""
    drawing = Drawing("tau = epsilon", "samples suppressed")
    drawing.add(
        "scatter",
        x=_taus(settings),
        y=[one["suppressed"] for one in settings],
        mode="lines+markers",
        line=line_style(0),
        name="suppressed",
    )
    drawing.set_x_axis(type="category")
    drawing.set_y_axis(rangemode="tozero", tickformat=".2~%")
    drawing.layout["showlegend"] = False
    drawing.set_margin(t=12)
    return drawing


def _by_hour(settings: Sequence[Mapping[str, Any]], name: str, title: str, unit: float) -> Drawing:
    """One line for each tau over the hours of the day (Fig. 9)."""
    drawing = Drawing("hour of the day, UTC", title)
    for number, one in enumerate(settings):
        y = [None if hour[name] is None else round(hour[name] / unit, 6) for hour in one["by_hour"]]
        hours = [hour["hour"] for hour in one["by_hour"]]
        drawing.add(
            "scatter",
            x=hours,
            y=y,
            mode="lines",
            name=show_s(one["tau_s"]),
            line=line_style(number),
            hovertemplate="%{x} h: %{y:.3g}",
        )
    drawing.set_x_axis(range=[-0.5, 23.5], tickvals=[0, 6, 12, 18, 23])
    drawing.set_y_axis(rangemode="tozero", tickformat=".2~%" if unit == 1 else None)
    return drawing


def _taus(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [show_s(one["tau_s"]) for one in settings]
