"""The page before anything is sent, with a local map."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.report.figures import axes
from shoal.report.figures.drawing import GRAY, Areas, Drawing, Marks
from shoal.report.pages.frame import page
from shoal.units import show_m, show_s
from shoal_collect.device.profile import ELSEWHERE, Applied, Profile
from shoal_collect.matching.cylinders import EARTH_M, MICRO, Cylinder
from shoal_collect.roles.consent import OPEN, describe_promise

_MOST_CIRCLES: Final = 300
_CORNERS: Final = 32


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """A rule: points met, left out, and in words."""

    name: str
    n_met: int
    left_out: int
    says: str


def preview_page(
    profile: Profile, applied: Applied, cylinders: Sequence[Cylinder], special: Sequence[str] = ()
) -> str:
    """Render the preview, one HTML file without requests; it holds her own points and is for her alone.

    Parameters
    ----------
    profile, applied
        Her profile, and its effect on her points.
    cylinders
        The remaining points, as they would be sent.
    special
        Sentences on the differences between collectors.

    Raises
    ------
    MisuseError
        If there are more cylinders than remaining points, or only one of the two.
    """
    if len(cylinders) > len(applied.points) or bool(cylinders) != bool(applied.points):
        raise MisuseError(
            f"{len(cylinders)} cylinders for {len(applied.points)} points that are left; blur what the "
            "profile leaves"
        )
    days = [point.t_min / 1440 for point in applied.original]
    return page(
        "preview.html.j2",
        {"map": preview_map(applied, cylinders)} if applied.original else {},
        profile=profile,
        applied=applied,
        n_shared=len(cylinders),
        n_dropped=len(applied.original) - len(applied.points),
        days=math.floor(max(days)) - math.floor(min(days)) + 1 if days else 0,
        radius_m=statistics.median(cylinder.radius_m for cylinder in cylinders) if cylinders else math.nan,
        gap_s=statistics.median(cylinder.gap_min * 60 for cylinder in cylinders) if cylinders else math.nan,
        rules=rule_rows(profile, applied),
        drawn=min(len(cylinders), _MOST_CIRCLES),
        promise=describe_promise(profile.k, profile.trimming),
        special=special,
        still_open=OPEN,
    )


def rule_rows(profile: Profile, applied: Applied) -> list[RuleRow]:
    """Every rule, and last the blur of all other places."""
    rules = {place.name: (profile.rule_at(place), place.within) for place in profile.places}
    rules = {
        **{
            kind: (profile.kinds[kind], profile.kinds[kind].within)
            for kind in ("home", "work")
            if kind in profile.kinds
        },
        **rules,
    }
    n_met, dropped = applied.by_rule, applied.dropped
    rows = []
    for name, (rule, within) in rules.items():
        blur = (show_m(rule.radius or profile.blur.radius), show_s((rule.gap or profile.blur.gap) * 60))
        says = (
            "not found in your data, so nothing was done"
            if name in applied.not_found
            else f"within {show_m(within)}: "
        )
        if name not in applied.not_found:
            says += "left out" if rule.drop else f"circles of {blur[0]}, intervals of {blur[1]}"
        rows.append(RuleRow(name=name, n_met=n_met.get(name, 0), left_out=dropped.get(name, 0), says=says))
    usual = f"circles of {show_m(profile.blur.radius)}, intervals of {show_s(profile.blur.gap * 60)}"
    return [*rows, RuleRow(name=ELSEWHERE, n_met=n_met.get(ELSEWHERE, 0), left_out=0, says=usual)]


def preview_map(applied: Applied, cylinders: Sequence[Cylinder]) -> Drawing:
    """The circles to send, her points, and the places of rules, in km around their middle."""
    middle = (
        statistics.median(p.lat_deg for p in applied.original),
        statistics.median(p.lon_deg for p in applied.original),
    )
    drawn_circles = (
        [cylinders[at * len(cylinders) // _MOST_CIRCLES] for at in range(_MOST_CIRCLES)]
        if len(cylinders) > _MOST_CIRCLES
        else cylinders
    )
    x: list[float | None] = []
    y: list[float | None] = []
    for cylinder in drawn_circles:
        _ring(x, y, _km(cylinder.lat_udeg / MICRO, cylinder.lon_udeg / MICRO, middle), cylinder.radius_m)
    layers: list[Areas | Marks] = [Areas(name="would be shared", x=x, y=y, number=0)]
    for stays, name, symbol, number in (
        (True, "your points", "circle", GRAY),
        (False, "left out", "cross", 1),
    ):
        points = [
            p
            for p, fate in zip(applied.original, applied.fates, strict=True)
            if (fate.blur is not None) == stays
        ]
        dots = [_km(p.lat_deg, p.lon_deg, middle) for p in points]
        layers.append(
            Marks(name=name, x=[e for e, _ in dots], y=[n for _, n in dots], number=number, symbol=symbol)
        )
    for number, circle in enumerate(applied.circles):
        x, y = [], []
        _ring(x, y, _km(circle.lat_deg, circle.lon_deg, middle), circle.within_m)
        layers.append(Areas(name=circle.name, x=x, y=y, number=2 + number % 4, filled=False, dashed=True))
    x_axis, y_axis, height = axes.of_a_map(
        "east, km",
        "north, km",
        axes.range_with_margin(*(layer.x for layer in layers)),
        axes.range_with_margin(*(layer.y for layer in layers)),
    )
    return Drawing(x=x_axis, y=y_axis, in_km=True, layers=layers, height=height, legend=True)


def _km(lat_deg: float, lon_deg: float, middle: tuple[float, float]) -> tuple[float, float]:
    """The shorter way around the earth."""
    per_degree = math.radians(1) * EARTH_M / 1000
    east = (lon_deg - middle[1] + 180) % 360 - 180
    return round(east * per_degree * math.cos(math.radians(middle[0])), 4), round(
        (lat_deg - middle[0]) * per_degree, 4
    )


def _ring(x: list[float | None], y: list[float | None], center: tuple[float, float], radius_m: float) -> None:
    for corner in range(_CORNERS + 1):
        angle = 2 * math.pi * corner / _CORNERS
        x.append(round(center[0] + radius_m / 1000 * math.cos(angle), 4))
        y.append(round(center[1] + radius_m / 1000 * math.sin(angle), 4))
    x.append(None)
    y.append(None)
