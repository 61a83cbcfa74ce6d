"""MobilityDB's text: boxes in space and time (``stbox``) and moving points (``tgeompoint``), both ways.

Grammar: MobilityDB 1.2, manual, chapters 3 and 4. MEOS, the library behind it, writes a comma between
``SRID=n;`` and ``Interp=Step;``; MEOS 1.3 read every form that is tested.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pyarrow as pa

from shoal.messages import say

COLUMN: Final = "tgeompoint"
BROKEN: Final = say("row.broken_moving_point", "moving point that cannot be read")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_INSTANT: Final = re.compile(
    rf"POINT(?:\s*Z)?\s*\(\s*({_NUMBER})\s+({_NUMBER})(?:\s+{_NUMBER})?\s*\)\s*@\s*"
    r"(\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?)\s*(Z|[-+]\d\d(?::?\d\d)?)?",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"\s*(?:SRID=(\d+)(?:;|,(?=Interp)))?\s*(?:Interp=(?:Step|Discrete|Linear);)?", re.IGNORECASE
)
_SHAPE: Final = re.compile(
    r"p|\{p(?:,p)*\}|[\[(]p(?:,p)*[\])]|\{[\[(]p(?:,p)*[\])](?:,[\[(]p(?:,p)*[\])])*\}"
)
_DEGREES: Final = ("", "0", "4326")


def instants(text: str | None) -> list[tuple[float, float, float]] | None:
    """(x, y, seconds since 1970) of each instant of a moving point; None if it is none, or not in degrees.

    Times without a zone are UTC.
    """
    head = _HEAD.match(text or "")
    if not text or head is None or (head[1] or "") not in _DEGREES:
        return None
    body = text[head.end() :]
    if _SHAPE.fullmatch(re.sub(r"\s+", "", _INSTANT.sub("p", body))) is None:
        return None
    try:
        return [(float(x), float(y), _seconds(day, zone)) for x, y, day, zone in _INSTANT.findall(body)]
    except (ValueError, OverflowError):
        return None


def _seconds(day: str, zone: str) -> float:
    offset = "+00:00" if zone in ("", "Z", "z") else zone if len(zone) > 3 else f"{zone}:00"
    return datetime.fromisoformat(f"{day}{offset}" if len(day) > 10 else f"{day}T00:00{offset}").timestamp()


def texts(table: pa.Table, shapes: Iterator[tuple[float, float, float, float]], srid: int) -> list[str]:
    """``stbox`` or ``tgeompoint`` of each row. shapes: bounds in degrees or meters."""
    system = f"SRID={srid};" if srid else ""
    if "t_start" not in table.column_names:
        points = zip(shapes, table["t"].to_pylist(), strict=True)
        return [f"{system}POINT({float(x)!r} {float(y)!r})@{_moment(t)}" for (x, y, *_), t in points]
    boxes = zip(shapes, table["t_start"].to_pylist(), table["t_end"].to_pylist(), strict=True)
    return [
        "{}STBOX XT((({!r},{!r}),({!r},{!r})),[{}, {}))".format(
            system, *map(float, bounds), _moment(start), _moment(end)
        )
        for bounds, start, end in boxes
    ]


def _moment(t_s: float) -> str:
    """Seconds since 1970 as PostgreSQL writes them in UTC, to the microsecond."""
    text = (_EPOCH + timedelta(microseconds=round(t_s * 1e6))).strftime("%Y-%m-%d %H:%M:%S.%f")
    return f"{text.rstrip('0').rstrip('.')}+00"
