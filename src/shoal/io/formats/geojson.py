"""GeoJSON: points with properties, and lines with an array of times."""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from shoal.errors import InputError
from shoal.io.formats.json_values import flat, text_of
from shoal.messages import say_number

_TIMES: Final = ("times", "coordTimes", "timestamps")
_TIME: Final = ("time", "t", "timestamp", "datetime")
_WGS84: Final = ("crs84", "4326")
_PLACE: Final = ("lat", "lon", "latitude", "longitude", "lng", "long")
_FEATURES: Final = "features"
_MOVING: Final = "MovingPoint"  # alone, as MobilityDB writes it
_OVERLAND: Final = "locations"  # features of the app Overland, and of its servers
_FIRST_TIME: Final = 1e8  # the fourth number of a position is a time from this on
_DATE: Final = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d")


def holds(content: Any) -> bool:
    """Whether this is GeoJSON."""
    if not isinstance(content, dict):
        return False
    kind, batch = content.get("type"), content.get(_OVERLAND)
    if (
        isinstance(batch, list)
        and batch
        and all(isinstance(one, dict) and "geometry" in one for one in batch)
    ):
        return True
    return (
        kind == _MOVING
        or (kind == "FeatureCollection" and isinstance(content.get(_FEATURES), list))
        or (kind == "Feature" and ("geometry" in content or "temporalGeometry" in content))
    )


def rows(content: Mapping[str, Any]) -> tuple[Sequence[str], list[tuple[str | None, ...]], list[str]]:
    """Names, rows and notes: a row for a point, and for each moment of a line with times."""
    crs = str(content.get("crs") or "")
    if crs and not any(system in crs.lower() for system in _WGS84):
        raise InputError(
            "the GeoJSON states another reference system than WGS 84, which the format no longer allows; "
            "convert it to longitude and latitude"
        )
    features = (
        [content]
        if content.get("type") in {"Feature", _MOVING}
        else content.get(_FEATURES, content.get(_OVERLAND))
    )
    records: list[tuple[dict[str, Any], Any, Any, Any]] = []
    points: list[tuple[dict[str, Any], int]] = []
    shapes = 0
    entries = [_unmoved(feature) if isinstance(feature, dict) else {} for feature in features]
    numbered = len({str(entry.get("id")) for entry in entries}) == len(entries)  # one feature, one id
    for entry in entries:
        shape = entry.get("geometry")
        geometry: dict[str, Any] = shape if isinstance(shape, dict) else {}
        properties = flat(entry["properties"]) if isinstance(entry.get("properties"), dict) else {}
        kind, places = geometry.get("type"), geometry.get("coordinates")
        if entry.get("id") is not None and not (numbered and kind == "Point"):
            properties = {"feature_id": entry["id"], **properties}
        if kind == "Point" or not geometry:
            lon, lat = _pair(places)
            points.append((properties, len(records)))
            records.append((properties, None, lon, lat))
        elif kind in {"LineString", "MultiPoint", "MultiLineString"}:
            moments = _moments(properties) or (_fourth(places) if kind == "LineString" else None)
            if moments is None:
                shapes += 1
                continue
            lines = _lines(places, moments) if kind == "MultiLineString" else [(_listed(places), moments)]
            for along, times in lines:
                for place, time in zip_longest(along, times):
                    records.append((properties, time, *_pair(place)))
        else:
            shapes += 1
    timed = any(time is not None for _, time, _, _ in records)
    if timed:  # points have one time each, among their properties
        for properties, row in points:
            own_time = next((value for name, value in properties.items() if _last(name) in _TIME), None)
            records[row] = (properties, own_time, *records[row][2:])
    skipped = {*_PLACE, *(name.lower() for name in _TIMES)}
    names = [
        name
        for name in dict.fromkeys(name for properties, *_ in records for name in properties)
        if name.lower() not in skipped
        and not (timed and _last(name) in _TIME)
        and _last(name) not in {key.lower() for key in _TIMES}
    ]
    columns = (*names, *(("datetime",) if timed else ()), "lat", "lon")
    texts: list[tuple[str | None, ...]] = [
        (
            *(text_of(properties.get(name)) for name in names),
            *((text_of(time),) if timed else ()),
            text_of(lat),
            text_of(lon),
        )
        for properties, time, lon, lat in records
    ]
    if not shapes:
        return columns, texts, []
    one, more = (
        f"left out: {{number}} {features} without times for the positions"
        for features in ("feature", "features")
    )
    return columns, texts, [say_number("reading.features", shapes, one, more)]


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _moments(properties: Mapping[str, Any]) -> list[Any] | None:
    for name, value in properties.items():
        if name.rpartition(".")[2] in _TIMES and isinstance(value, list):
            return value
    return None


def _unmoved(feature: dict[str, Any]) -> dict[str, Any]:
    """Moving points of OGC Moving Features JSON as lines with times; other features as they are."""
    moving = feature.get("temporalGeometry", feature)
    if not isinstance(moving, dict) or not str(moving.get("type")).startswith("Moving"):
        return feature
    parts = [
        part
        for part in _listed(moving.get("prisms", moving.get("sequences", [moving])))
        if isinstance(part, dict)
    ]
    points = all(part.get("type", "MovingPoint") == "MovingPoint" for part in parts)
    properties = feature["properties"] if isinstance(feature.get("properties"), dict) else {}
    return {
        **feature,
        "geometry": {
            "type": "MultiLineString" if points else "Polygon",
            "coordinates": [part.get("coordinates") for part in parts],
        },
        "properties": {**properties, "times": [_listed(part.get("datetimes")) for part in parts]},
    }


def _fourth(places: Any) -> list[Any] | None:
    """The times of the positions of a trip of kepler.gl: longitude, latitude, altitude, time."""
    moments = [place[3] if len(_listed(place)) > 3 else None for place in _listed(places)]
    times = [
        moment
        for moment in moments
        if (moment >= _FIRST_TIME if isinstance(moment, int | float) else _DATE.match(str(moment)))
    ]
    return moments if len(times) == len(moments) > 0 else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lines(places: Any, moments: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Times in one list go along all parts; a part with too few, or too many, takes none of the next one."""
    parts = [_listed(part) for part in _listed(places)]
    if any(isinstance(some, list) for some in moments):
        return [(_listed(part), _listed(times)) for part, times in zip_longest(parts, moments)]
    return [([place for part in parts for place in part], moments)]


def _pair(place: Any) -> tuple[Any, Any]:
    if (
        isinstance(place, list)
        and len(place) >= 2
        and not any(isinstance(number, list | dict) for number in place[:2])
    ):
        return place[0], place[1]
    return None, None
