"""The precision of kte-hide for several tau: Fig. 6, 8 and 9 for the user's data."""

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.figures import axes
from shoal.report.figures.axes import Axis
from shoal.report.figures.drawing import Drawing, Line
from shoal.report.pages.frame import page
from shoal.units import show_s

_SPREADS = (
    ("three_quarters", "three quarters"),
    ("mean", "mean"),
    ("median", "median"),
    ("quarter", "a quarter"),
)


def granularity_page(study: Mapping[str, Any]) -> str:
    """The page of a study (JSON)."""
    settings = study["settings"]
    drawings = {
        "space": _against_tau(settings, "space_m", "dx + dy", "m"),
        "time": _against_tau(settings, "time_s", "duration", "s"),
        "suppressed": _suppressed(settings),
        "hour-space": _by_hour(study, "mean_space_m", "mean dx + dy", "m"),
        "hour-time": _by_hour(study, "mean_time_s", "mean duration", "s"),
        "hour-suppressed": _by_hour(study, "suppressed", "samples suppressed", "share"),
    }
    return page("granularity.html.j2", drawings, found=study, settings=settings)


def _against_tau(settings: Sequence[Mapping[str, Any]], name: str, title: str, unit: str) -> Drawing:
    """Mean, median and quartiles (Fig. 6)."""
    lines = [
        Line(
            name=words,
            x=range(len(settings)),
            y=[setting[name][part] for setting in settings],
            number=number,
            marked=True,
        )
        for number, (part, words) in enumerate(_SPREADS)
    ]
    return _drawing(axes.of_names("tau = epsilon", _taus(settings)), title, unit, lines)


def _suppressed(settings: Sequence[Mapping[str, Any]]) -> Drawing:
    """Fig. 8."""
    shares = [setting["suppressed"] for setting in settings]
    lines = [Line(name="suppressed", x=range(len(settings)), y=shares, number=0, marked=True)]
    return _drawing(axes.of_names("tau = epsilon", _taus(settings)), "samples suppressed", "share", lines)


def _by_hour(study: Mapping[str, Any], name: str, title: str, unit: str) -> Drawing:
    """Fig. 9."""
    lines = [
        Line(
            name=show_s(setting["tau_s"]),
            x=[hour["hour"] for hour in setting["by_hour"]],
            y=[hour[name] for hour in setting["by_hour"]],
            number=number,
        )
        for number, setting in enumerate(study["settings"])
    ]
    return _drawing(axes.of_hours(f"hour of the day ({study['time_zone']})"), title, unit, lines)


def _drawing(x: Axis, title: str, unit: str, lines: Sequence[Line]) -> Drawing:
    y = axes.from_zero(title, [value for line in lines for value in line.y], unit=unit)
    return Drawing(x=x, y=y, layers=lines, legend=len(lines) > 1, numbers="each")


def _taus(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [show_s(setting["tau_s"]) for setting in settings]
