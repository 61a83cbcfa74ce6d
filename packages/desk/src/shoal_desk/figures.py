"""Drawings as SVG: no script, no inline style."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from shoal.local_pages.drawing import svg


def clock(samples_by_hour: Sequence[int], label: str) -> str:
    """A bar for each hour."""
    top = max([*samples_by_hour, 1])
    heights = [28 * n / top for n in samples_by_hour]
    parts = [
        f'<rect class="s4" x="{hour * 4 + 2}" y="{30 - high:.2f}" width="3" height="{high:.2f}"/>'
        for hour, high in enumerate(heights)
    ]
    parts += [
        f'<text class="small" x="{hour * 4 + 3.5}" y="35" text-anchor="middle">{hour}</text>'
        for hour in (0, 6, 12, 18, 23)
    ]
    parts.append('<path class="bar" d="M1 30H99"/>')
    return svg(100, 37, label, parts)


def frontier(
    points: Sequence[Mapping[str, Any]], better: str, label: str, axis: str, written: Callable[[float], str]
) -> str:
    """Each release by risk and utility, numbered.

    better: "higher" or "lower" utility; good is up. written: formats a utility.
    """
    values = [point["utility"] for point in points if point["utility"] is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = (high - low) or 1.0
    parts = [
        '<path class="bar" d="M16 2V48H98"/>',
        *(
            f'<text class="small" x="{16 + 0.78 * share:g}" y="53" text-anchor="middle">{share} %</text>'
            for share in (0, 25, 50, 75, 100)
        ),
        f'<text class="small" x="55" y="59" text-anchor="middle">{escape(axis)}</text>',
    ]
    top, bottom = (low, high) if better == "lower" else (high, low)
    ends = ((top, 4), (bottom, 44)) if values else ()
    parts += [
        f'<text class="small" x="15" y="{y + 1:g}" text-anchor="end">{escape(written(value))}</text>'
        for value, y in ends
    ]
    for number, point in enumerate(points, start=1):
        if point["utility"] is None or point["worst"] is None:
            continue
        share = (point["utility"] - low) / room
        y = 44 - 40 * (1 - share if better == "lower" else share)
        x = 16 + 78 * point["worst"]
        parts.append(f'<circle class="mark m{(number - 1) % 6}" cx="{x:.2f}" cy="{y:.2f}" r="2.4"/>')
        parts.append(
            f'<text class="number" x="{x:.2f}" y="{y + 0.9:.2f}" text-anchor="middle">{number}</text>'
        )
    return svg(100, 61, label, parts)
