"""JSON of apps and services: OpenSky, Polarsteps, kepler.gl, Google's Timeline, and others, lists of objects.

Each function gives names, rows and notes, or None for other content.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain, zip_longest
from typing import Any, Final

from shoal.errors import InputError
from shoal.io.columns.column_names import RECOGNIZED
from shoal.io.formats import geojson
from shoal.io.formats.json_values import Content, flat, records
from shoal.messages import Message, say, say_number

# answers of OpenSky, of all aircraft and of one: a time, lists, and where time, lat and lon are in each
_OPENSKY: Final = (("time", "states", (3, 6, 5)), ("startTime", "path", (0, 1, 2)))

_ENOUGH_NAMES: Final = 2  # that tell movement from another list in an answer


def objects(content: Any) -> Content | None:
    """Objects with the values of all their names: a list, the only such one in an answer, or a frame."""
    fewest = _ENOUGH_NAMES if isinstance(content, dict) else 0
    tables = [[flat(value) for value in some] for some in _lists_in(content) if some]
    values = [some for some in tables if len(_known_names(some)) >= fewest]
    if len(values) != 1:
        return None
    names = list(dict.fromkeys(chain(*values[0])))
    return names, [[value.get(name) for name in names] for value in values[0]], []


def _known_names(values: Iterable[Mapping[str, Any]]) -> set[str]:
    return {name.partition(".$")[0].rpartition(".")[2].lower() for name in chain(*values)} & RECOGNIZED


def _lists_in(content: Any) -> Iterator[list[dict[str, Any]]]:
    """Lists of objects. Frames are written by columns, by rows, or as names and lists of values."""
    if _are_objects(content):
        yield content
    if not isinstance(content, dict):
        return
    inner = list(content.values())
    if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):
        names = [str(name) for name in content["columns"]]
        yield [dict(zip(names, row, strict=False)) for row in content["data"] if isinstance(row, list)]
    elif all(isinstance(one, list) for one in inner) and len(_known_names([content])) >= _ENOUGH_NAMES:
        yield [dict(zip(content, row, strict=True)) for row in zip_longest(*inner)]
    elif len(inner) > 1 and all(isinstance(one, dict) and one.keys() == inner[0].keys() for one in inner):
        by_columns = RECOGNIZED & {name.lower() for name in content}
        yield [{name: content[name][row] for name in content} for row in inner[0]] if by_columns else inner
    else:
        yield from chain.from_iterable(map(_lists_in, inner))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def owntracks(content: Any) -> Content | None:
    """Messages of OwnTracks, one or several."""
    messages = content.get("data", [content]) if isinstance(content, dict) else content
    if not messages or not _are_objects(messages) or not all("_type" in message for message in messages):
        return None
    positions = [message for message in messages if message["_type"] == "location"]
    names, rows, notes = _with_others({"tid": "tid", "t": "tst", "lat": "lat", "lon": "lon"}, positions)
    if others := len(messages) - len(positions):
        notes.append(without_position(others))
    return names, rows, notes


def without_position(messages: int) -> Message:
    """The note on messages of OwnTracks that are left out."""
    text = "{number} messages tell no position and were left out"
    return say("reading.without_position", text, number=f"{messages:,}")


def dawarich(content: Any) -> Content | None:
    """Points of Dawarich; newer versions give the position as text alone: POINT (2.35 48.85)."""
    points = content.get("points") if isinstance(content, dict) and "counts" in content else None
    if not _are_objects(points):
        return None
    for point in points or ():
        if point.get("longitude") is None or point.get("latitude") is None:
            pair = str(point.get("lonlat") or "").upper().removeprefix("POINT").strip(" ()").split()
            point["longitude"], point["latitude"] = pair if len(pair) == 2 else (None, None)
    return _with_others({"t": "timestamp", "lat": "latitude", "lon": "longitude"}, points or [])


def _with_others(columns: dict[str, str], content: list[dict[str, Any]]) -> Content:
    """The columns, by their names in the file, and others that the user may name, as usual ones mislead."""
    flats = [flat(record) for record in content]
    others = [name for name in dict.fromkeys(chain(*flats)) if name.lower() not in {*RECOGNIZED, *columns}]
    keys = [*columns.values(), *others]
    return [*columns, *others], [[values.get(key) for key in keys] for values in flats], []


def opensky(content: Any) -> Content | None:
    """State vectors and tracks; the time is that of the position, not of the answer."""
    rows: list[Sequence[Any]] = []
    try:
        for answer in content if isinstance(content, list) else [content]:
            time, name, places = _OPENSKY["icao24" in answer]
            vectors = answer[name] or []
            if time not in answer or not all(isinstance(one, list) for one in vectors):
                return None
            rows += [(answer.get("icao24", one[0]), *(one[at] for at in places)) for one in vectors]
    except (IndexError, KeyError, TypeError):
        return None
    if not content:
        return None
    located = [row for row in rows if row[2:] != (None, None)]
    one, more = "left out: {number} state without a position", "left out: {number} states without a position"
    lost = len(rows) - len(located)
    notes: list[str] = [say_number("reading.no_position", lost, one, more)] if lost else []
    return ["icao24", "t", "lat", "lon"], located, notes


def polarsteps(content: Any) -> Content | None:
    """The steps of trip.json, or the positions of locations.json."""
    if not isinstance(content, dict):
        return None
    try:
        visits = [(place["time"], place) for place in content.get("locations", ())]
        steps, nowhere = content.get("all_steps", ()), {"lat": None, "lon": None}
        visits += [(step["start_time"], step["location"] or nowhere) for step in steps]
        rows = [(time, place["lat"], place["lon"]) for time, place in visits]
    except (KeyError, TypeError):
        return None
    return (["time", "lat", "lon"], rows, []) if rows else None


def kepler(content: Any) -> Content | None:
    """The data set of a map of kepler.gl."""
    sets = _data_sets(content)
    if len(sets) > 1:
        raise InputError(f"the map of kepler.gl holds {len(sets)} data sets; export the one that is meant")
    if not sets:
        return None
    cells = [cell for record in sets[0] for cell in record.values()]
    features = [cell for cell in cells if isinstance(cell, dict) and "geometry" in cell]
    collection = {"type": "FeatureCollection", "features": features}
    return (geojson.read(collection) if features else objects(sets[0])) or ([], [], [])


def _data_sets(content: Any) -> list[list[dict[str, Any]]]:
    """The rows of each data set, by name; empty for other content."""
    with suppress(AttributeError, KeyError, TypeError):
        sets = [one["data"] for one in content.get("datasets", [content])]
        names = [[field["name"] for field in one["fields"]] for one in sets]
        rows = [one.get("allData", one.get("rows")) for one in sets]
        pairs = zip(names, rows, strict=True)
        return [[dict(zip(of, row, strict=False)) for row in table] for of, table in pairs]
    return []


def mds(content: Any) -> Content | None:
    """Trips with a route, or telemetry (versions 1 and 2); the person is the vehicle."""
    data = content.get("data", content) if isinstance(content, dict) else None
    data = data if isinstance(data, dict) else content
    for name in ("trips", "telemetry"):
        entries = data.get(name) if isinstance(data, dict) else None
        if isinstance(entries, list) and all(isinstance(one, dict) and "device_id" in one for one in entries):
            rows = [row for entry in entries for row in _mds_rows(entry)]
            return ["device_id", "trip", "t", "lat", "lon"], rows, []
    return None


def _mds_rows(record: dict[str, Any]) -> Iterator[Sequence[Any]]:
    values = flat(record)
    who, trip = values.get("device_id"), values.get("trip_id")
    if isinstance(record.get("route"), dict):
        for feature in map(flat, records(values.get("route.features"))):
            lon, lat = geojson.pair(feature.get("geometry.coordinates"))
            yield who, trip, feature.get("properties.timestamp"), lat, lon
        return
    axes = (("lat", "latitude"), ("lng", "longitude"))
    keys = [[f"{place}.{one}" for place in ("location", "gps") for one in axis] for axis in axes]
    place = (next((values[key] for key in of_axis if key in values), None) for of_axis in keys)
    yield who, trip, values.get("timestamp"), *place
    if "start_location" in record and "end_location" in record:
        for end in ("start", "end"):
            place = (values.get(f"{end}_location.{axis}") for axis in ("lat", "lng"))
            yield who, trip, values.get(f"{end}_time"), *place


Row = tuple[str | None, str | None, str | None]
Values = Mapping[str, Any]

_PER_DEGREE: Final = 1e7
_PAIR: Final = re.compile(r"^(?:geo:)?\s*([-+]?\d+(?:\.\d+)?)\s*°?\s*,\s*([-+]?\d+(?:\.\d+)?)\s*°?$")
_PHONE_PARTS: Final = frozenset({"visit", "activity", "timelinePath", "timelineMemory"})


def google_timeline(content: Any) -> Content | None:
    """Timeline: the export of an account (locationhistoryformat.com) and of a phone; a stay has two rows."""
    entries = records(content)
    rows_of: Callable[[dict[str, Any]], Iterator[Row]] = _segment
    if isinstance(content, dict):
        name = next((name for name in _OF_AN_ACCOUNT if isinstance(content.get(name), list)), None)
        if name is None or any("latitude" in entry for entry in records(content[name])):
            return None
        entries, rows_of = records(content[name]), _OF_AN_ACCOUNT[name]
    elif not all("startTime" in part for part in entries) or not any(map(_PHONE_PARTS.intersection, entries)):
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
