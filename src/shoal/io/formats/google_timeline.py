"""Google's Timeline: the account's export, and the phone's.

Layouts by locationhistoryformat.com, and as phones write them. A stay becomes two rows, at its start and
its end; a path one for each point.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

Row = tuple[str | None, str | None, str | None]

COLUMNS: Final = ("datetime", "lat", "lon")
_PER_DEGREE: Final = 1e7
_PAIR: Final = re.compile(r"^(?:geo:)?\s*([-+]?\d+(?:\.\d+)?)\s*°?\s*,\s*([-+]?\d+(?:\.\d+)?)\s*°?$")
_PHONE_PARTS: Final = ("visit", "activity", "timelinePath", "timelineMemory")


def holds(content: Any) -> bool:
    """Whether this is one of the exports."""
    if isinstance(content, dict):
        return any(
            isinstance(content.get(name), list)
            for name in ("locations", "timelineObjects", "semanticSegments")
        )
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(segment, dict) and "startTime" in segment for segment in content)
        and any(part in segment for segment in content for part in _PHONE_PARTS)
    )


def rows(content: Any) -> tuple[Sequence[str], list[tuple[str | None, ...]], list[str]]:
    """Names, rows and notes."""
    if isinstance(content, list):
        phone_rows = [row for segment in content for row in _segment(segment)]
        return COLUMNS, list(phone_rows), []
    if "locations" in content:
        return COLUMNS, [_record(entry) for entry in content["locations"]], []
    if "timelineObjects" in content:
        return COLUMNS, [row for entry in content["timelineObjects"] for row in _object(entry)], []
    segments = [row for segment in content["semanticSegments"] for row in _segment(segment)]
    signals = [
        (_text(entry["position"].get("timestamp")), *_place(entry["position"].get("LatLng")))
        for entry in content.get("rawSignals", ())
        if isinstance(entry, dict) and isinstance(entry.get("position"), dict)
    ]
    return COLUMNS, [*segments, *signals], []


def _record(entry: Any) -> Row:
    if not isinstance(entry, dict):
        return None, None, None
    time = entry.get("timestamp")
    if time is None and str(entry.get("timestampMs", "")).lstrip("-").isdigit():
        time = _moment(int(entry["timestampMs"]))
    return (_text(time), *_e7(entry, "latitudeE7", "longitudeE7"))


def _object(entry: Any) -> Iterator[Row]:
    visit, way = (
        (entry.get(name) for name in ("placeVisit", "activitySegment"))
        if isinstance(entry, dict)
        else (None, None)
    )
    if isinstance(visit, dict):
        for time in _span(visit.get("duration")):
            yield (time, *_e7(visit.get("location"), "latitudeE7", "longitudeE7"))
    if isinstance(way, dict):
        start, end = _span(way.get("duration"))
        yield (start, *_e7(way.get("startLocation"), "latitudeE7", "longitudeE7"))
        for point in (way.get("simplifiedRawPath") or {}).get("points", ()):
            time = point.get("timestamp")
            if time is None and "timestampMs" in point:
                time = _moment(int(point["timestampMs"]))
            yield (_text(time), *_e7(point, "latE7", "lngE7"))
        yield (end, *_e7(way.get("endLocation"), "latitudeE7", "longitudeE7"))


def _segment(segment: Any) -> Iterator[Row]:
    if not isinstance(segment, dict):
        return
    start, end = _text(segment.get("startTime")), _text(segment.get("endTime"))
    visit, activity = segment.get("visit"), segment.get("activity")
    if isinstance(visit, dict):
        candidate = visit.get("topCandidate") or {}
        for time in (start, end):
            yield (time, *_place(candidate.get("placeLocation")))
    if isinstance(activity, dict):
        for time, name in ((start, "start"), (end, "end")):
            yield (time, *_place(activity.get(name)))
    for point in segment.get("timelinePath") or ():
        time = point.get("time")
        if time is None and start is not None:
            time = _later(start, point.get("durationMinutesOffsetFromStartTime"))
        yield (_text(time), *_place(point.get("point")))


def _place(place: Any) -> tuple[str | None, str | None]:
    """From ``48.85°, 2.35°``, ``geo:48.85,2.35``, or an object with one."""
    if isinstance(place, dict):
        place = place.get("latLng")
    match = _PAIR.match(place.strip()) if isinstance(place, str) else None
    return (match[1], match[2]) if match else (None, None)


def _e7(record: Any, lat: str, lon: str) -> tuple[str | None, str | None]:
    if not isinstance(record, Mapping):
        return None, None
    north, east = record.get(lat), record.get(lon)
    if not isinstance(north, int | float) or not isinstance(east, int | float):
        return None, None
    return repr(north / _PER_DEGREE), repr(east / _PER_DEGREE)


def _span(duration: Any) -> tuple[str | None, str | None]:
    if not isinstance(duration, dict):
        return None, None
    ends: list[str | None] = []
    for name in ("start", "end"):
        time = duration.get(f"{name}Timestamp")
        if time is None and str(duration.get(f"{name}TimestampMs", "")).isdigit():
            time = _moment(int(duration[f"{name}TimestampMs"]))
        ends.append(_text(time))
    return ends[0], ends[1]


def _later(start: str, minutes: Any) -> str | None:
    try:
        return (datetime.fromisoformat(start) + timedelta(minutes=float(minutes))).isoformat()
    except (ValueError, TypeError, OverflowError):
        return None


def _moment(milliseconds: int) -> str | None:
    try:
        return f"{(datetime(1970, 1, 1) + timedelta(milliseconds=milliseconds)).isoformat()}Z"
    except OverflowError:
        return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
