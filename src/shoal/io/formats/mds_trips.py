"""Trips and telemetry of the Mobility Data Specification, as operators of scooters and bicycles give them."""

from collections.abc import Iterator, Sequence
from typing import Any

from shoal.io.formats.json_text import text_of

Row = tuple[str | None, ...]


def holds(content: Any) -> bool:
    """Whether this is a page of trips or of telemetry, of version 1 or 2."""
    return _list(content) is not None


def rows(content: Any) -> tuple[Sequence[str], list[Row], list[str]]:
    """Names, rows and notes: a row for each point of a route, or of telemetry; the unit is the vehicle."""
    return (
        ("device_id", "trip", "t", "lat", "lon"),
        [row for one in _list(content) or () for row in _of(one)],
        [],
    )


def _list(content: Any) -> list[Any] | None:
    if not isinstance(content, dict):
        return None
    data = content.get("data") if isinstance(content.get("data"), dict) else content
    for name in ("trips", "telemetry"):
        found = data.get(name) if isinstance(data, dict) else None
        if isinstance(found, list) and all(isinstance(one, dict) and "device_id" in one for one in found):
            return found
    return None


def _of(one: dict[str, Any]) -> Iterator[Row]:
    who, trip = text_of(one.get("device_id")), text_of(one.get("trip_id"))
    route = one.get("route")
    if isinstance(route, dict):
        for feature in route.get("features") or ():
            place = (feature.get("geometry") or {}).get("coordinates") or (None, None)
            yield (
                who,
                trip,
                text_of((feature.get("properties") or {}).get("timestamp")),
                text_of(place[1]),
                text_of(place[0]),
            )
        return
    at: dict[str, Any] = next(
        (one[name] for name in ("location", "gps") if isinstance(one.get(name), dict)), {}
    )
    lat, lon = at.get("lat", at.get("latitude")), at.get("lng", at.get("longitude"))
    yield who, trip, text_of(one.get("timestamp")), text_of(lat), text_of(lon)
    if "start_location" in one and "end_location" in one:
        for place, time in (("start_location", "start_time"), ("end_location", "end_time")):
            ends = one.get(place) or {}
            yield who, trip, text_of(one.get(time)), text_of(ends.get("lat")), text_of(ends.get("lng"))
