"""Google's Timeline: the account's export, and the phone's.

Layouts by locationhistoryformat.com, and as phones write them. A stay becomes two rows, at its start and
its end; a path one for each point.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from shoal.io.formats.json_values import Content, flat, records

Row = tuple[str | None, str | None, str | None]
Values = Mapping[str, Any]

_PER_DEGREE: Final = 1e7
_PAIR: Final = re.compile(r"^(?:geo:)?\s*([-+]?\d+(?:\.\d+)?)\s*°?\s*,\s*([-+]?\d+(?:\.\d+)?)\s*°?$")
_PHONE_PARTS: Final = ("visit", "activity", "timelinePath", "timelineMemory")


def read(content: Any) -> Content | None:
    """Names, rows and notes; None for other content."""
    entries = records(content)
    rows_of: Callable[[dict[str, Any]], Iterator[Row]] = _segment
    if isinstance(content, dict):
        name = next((name for name in _OF_AN_ACCOUNT if isinstance(content.get(name), list)), None)
        if name is None:
            return None
        entries, rows_of = records(content[name]), _OF_AN_ACCOUNT[name]
    elif not any(part in entry for entry in entries for part in _PHONE_PARTS) or not all(
        "startTime" in entry for entry in entries
    ):
        return None
    signals = _signals(content) if isinstance(content, dict) else ()
    return ["datetime", "lat", "lon"], [*chain.from_iterable(map(rows_of, entries)), *signals], []


def _record(entry: dict[str, Any]) -> Iterator[Row]:
    yield _time(entry, "timestamp"), *_degrees_of_e7(entry, "latitude", "longitude")


def _signals(content: dict[str, Any]) -> Iterator[Row]:
    """Positions of a phone beside its segments."""
    for signal in records(content.get("rawSignals")):
        if isinstance(signal.get("position"), dict):
            values = flat(signal)
            yield _time(values, "position.timestamp"), *_place(values, "position.LatLng")


def _object(entry: dict[str, Any]) -> Iterator[Row]:
    values = flat(entry)
    if isinstance(entry.get("placeVisit"), dict):
        for end in ("start", "end"):
            yield _end(values, "placeVisit", end, "location")
    if isinstance(entry.get("activitySegment"), dict):
        yield _end(values, "activitySegment", "start", "startLocation")
        for point in records(values.get("activitySegment.simplifiedRawPath.points")):
            yield _time(point, "timestamp"), *_degrees_of_e7(point, "lat", "lng")
        yield _end(values, "activitySegment", "end", "endLocation")


def _end(values: Values, kind: str, end: str, place: str) -> Row:
    where = f"{kind}.{place}"
    time = _time(values, f"{kind}.duration.{end}Timestamp")
    return time, *_degrees_of_e7(values, f"{where}.latitude", f"{where}.longitude")


def _segment(segment: dict[str, Any]) -> Iterator[Row]:
    values = flat(segment)
    start, end = _time(values, "startTime"), _time(values, "endTime")
    if isinstance(segment.get("visit"), dict):
        for time in (start, end):
            yield time, *_place(values, "visit.topCandidate.placeLocation")
    if isinstance(segment.get("activity"), dict):
        yield start, *_place(values, "activity.start")
        yield end, *_place(values, "activity.end")
    for point in map(flat, records(segment.get("timelinePath"))):
        time = _time(point, "time")
        if "time" not in point and start is not None:
            time = _later(start, point.get("durationMinutesOffsetFromStartTime"))
        yield time, *_place(point, "point")


def _place(values: Values, name: str) -> tuple[str | None, str | None]:
    """From ``48.85°, 2.35°``, ``geo:48.85,2.35``, or an object with one."""
    place = values.get(name, values.get(f"{name}.latLng"))
    match = _PAIR.match(place.strip()) if isinstance(place, str) else None
    return (match[1], match[2]) if match else (None, None)


def _degrees_of_e7(values: Values, lat: str, lon: str) -> tuple[str | None, str | None]:
    north, east = values.get(f"{lat}E7"), values.get(f"{lon}E7")
    if not isinstance(north, int | float) or not isinstance(east, int | float):
        return None, None
    north, east = (value - 2**32 if 180 * _PER_DEGREE < value < 2**32 else value for value in (north, east))
    return repr(north / _PER_DEGREE), repr(east / _PER_DEGREE)


def _time(values: Values, name: str) -> str | None:
    """As text, or from milliseconds in older exports."""
    time = values.get(name)
    if time is None:
        try:
            milliseconds = int(str(values.get(f"{name}Ms", "")))
            return f"{(datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)).isoformat()}Z"
        except (OverflowError, ValueError):
            return None
    return time if isinstance(time, str) else None


def _later(start: str, minutes: Any) -> str | None:
    try:
        return (datetime.fromisoformat(start) + timedelta(minutes=float(minutes))).isoformat()
    except (ValueError, TypeError, OverflowError):
        return None


_OF_AN_ACCOUNT: Final = {"locations": _record, "timelineObjects": _object, "semanticSegments": _segment}
