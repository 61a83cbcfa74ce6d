"""GeoJSON: points with properties, and lines with an array of times."""

import re
from itertools import chain, zip_longest
from typing import Any, Final

from shoal.errors import InputError
from shoal.io.formats.json_values import Content, flat, records
from shoal.messages import say_number

_TIMES: Final = ("times", "coordTimes", "timestamps", "datetimes")
_TIME: Final = ("time", "t", "timestamp", "datetime")
_WGS84: Final = ("crs84", "4326")
_PLACE: Final = ("lat", "lon", "latitude", "longitude", "lng", "long")
_FEATURES: Final = "features"
_MOVING: Final = "MovingPoint"  # alone, as MobilityDB writes it
_OVERLAND: Final = "locations"  # features of the app Overland, and of its servers
_OF_GOOGLE: Final = frozenset({"google_maps_url", "google maps url"})
_FIRST_TIME: Final = 1e8  # the fourth number of a position is a time from this on
_DATE: Final = re.compile(r"\d{4}[-/]\d{1,2}[-/]\d")


def read(content: Any) -> Content | None:
    """A row for each point, and for each moment of a line with times; None for other content."""
    listed = records(content)
    if listed and all(one.get("type") == "Feature" for one in listed):
        content = {"type": "FeatureCollection", "features": content}
    features = _features(content)
    if features is None:
        return None
    crs = str(content.get("crs") or "")
    if crs and not any(system in crs.lower() for system in _WGS84):
        raise InputError(
            "the GeoJSON states another reference system than WGS 84, which the format no longer allows; "
            "convert it to longitude and latitude"
        )
    samples: list[tuple[dict[str, Any], Any, Any, Any]] = []
    shapes, timed = 0, False
    entries = [_unmoved(feature) for feature in records(features)]
    numbered = len({str(entry.get("id")) for entry in entries}) == len(entries)  # one feature, one id
    for entry in entries:
        shape = entry.get("geometry")
        geometry: dict[str, Any] = shape if isinstance(shape, dict) else {}
        properties = flat(entry["properties"]) if isinstance(entry.get("properties"), dict) else {}
        if _OF_GOOGLE & {name.lower() for name in properties}:
            raise InputError(
                "the GeoJSON lists places that an account at Google saved or reviewed, and no movement: of "
                "an export, Records.json holds where its owner was, and of a phone, Timeline.json"
            )
        kind, places = str(geometry.get("type")), geometry.get("coordinates")
        if entry.get("id") is not None and not (numbered and kind == "Point"):
            properties = {"feature_id": entry["id"], **properties}
        if kind == "Point" or not geometry:  # it has one time, among its properties
            time = next((value for name, value in properties.items() if _last(name) in _TIME), None)
            samples.append((properties, time, *pair(places)))
            continue
        lists = (value for name, value in properties.items() if name.rpartition(".")[2] in _TIMES)
        moments = next((value for value in lists if isinstance(value, list)), None)
        moments = moments or (_fourth(places) if kind == "LineString" else None)
        if kind in {"LineString", "MultiPoint", "MultiLineString"} and moments is not None:
            lines = _lines(places, moments) if kind == "MultiLineString" else [(_listed(places), moments)]
            for along, times in lines:
                for place, time in zip_longest(along, times):
                    timed |= time is not None
                    samples.append((properties, time, *pair(place)))
        else:
            shapes += 1
    if shapes and not samples:
        raise InputError("the GeoJSON holds no point, and no line with times for its positions")
    skipped = {name.lower() for name in (*_TIMES, *(_TIME if timed else ()))}
    names = dict.fromkeys(chain.from_iterable(properties for properties, *_ in samples))
    kept = [name for name in names if name.lower() not in _PLACE and _last(name) not in skipped]
    rows = [
        (*map(properties.get, kept), *([time] if timed else []), lat, lon)
        for properties, time, lon, lat in samples
    ]
    one, more = (
        f"left out: {{number}} {features} without times for the positions"
        for features in ("feature", "features")
    )
    notes: list[str] = [say_number("reading.features", shapes, one, more)] if shapes else []
    return [*kept, *(["datetime"] if timed else []), "lat", "lon"], rows, notes


def _features(content: Any) -> list[Any] | None:
    if not isinstance(content, dict):
        return None
    kind, features, batch = content.get("type"), content.get(_FEATURES), records(content.get(_OVERLAND))
    if kind == "FeatureCollection" and isinstance(features, list):
        return features
    if kind == _MOVING or (kind == "Feature" and ("geometry" in content or "temporalGeometry" in content)):
        return [content]
    return batch if batch and all("geometry" in one for one in batch) else None


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _unmoved(feature: dict[str, Any]) -> dict[str, Any]:
    """Moving points of OGC Moving Features JSON as lines with times; other features as they are."""
    moving = feature.get("temporalGeometry", feature)
    if not isinstance(moving, dict) or not str(moving.get("type")).startswith("Moving"):
        return feature
    parts = records(moving.get("prisms", moving.get("sequences", [moving])))
    points = all(part.get("type", "MovingPoint") == "MovingPoint" for part in parts)
    properties = feature["properties"] if isinstance(feature.get("properties"), dict) else {}
    kind, places = "MultiLineString" if points else "Polygon", [part.get("coordinates") for part in parts]
    times = [_listed(part.get("datetimes")) for part in parts]
    geometry = {"type": kind, "coordinates": places}
    return {**feature, "geometry": geometry, "properties": {**properties, "times": times}}


def _fourth(places: Any) -> list[Any] | None:
    """The times of the positions of a trip of kepler.gl: longitude, latitude, altitude, time."""
    moments = [place[3] if len(_listed(place)) > 3 else None for place in _listed(places)]
    are_times = (
        moment >= _FIRST_TIME if isinstance(moment, int | float) else _DATE.match(str(moment))
        for moment in moments
    )
    return moments if moments and all(are_times) else None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _lines(places: Any, moments: list[Any]) -> list[tuple[list[Any], list[Any]]]:
    """Times in one list go along all parts; a part with too few, or too many, takes none of the next one."""
    parts = [_listed(part) for part in _listed(places)]
    if any(isinstance(some, list) for some in moments):
        return [(_listed(part), _listed(times)) for part, times in zip_longest(parts, moments)]
    return [([place for part in parts for place in part], moments)]


def pair(place: Any) -> tuple[Any, Any]:
    """The first two numbers of a position; nothing of another value."""
    first, second, *_ = [*_listed(place), None, None]
    is_pair = None not in (first, second) and not any(isinstance(one, list | dict) for one in (first, second))
    return (first, second) if is_pair else (None, None)
