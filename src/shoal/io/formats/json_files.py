"""JSON files: GeoJSON, Google's Timeline, OwnTracks, Dawarich, trips of MDS, or a list of objects.

The content decides.
"""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns.column_names import NAMES, RECOGNIZED
from shoal.io.columns.owners import may_name_people, owners_of_file
from shoal.io.formats import geojson, google_timeline, json_values, owntracks_files
from shoal.io.formats.input_table import Table, text_batch
from shoal.io.formats.json_values import flat, text_of
from shoal.io.formats.xml_files import BROKEN_GZIP, open_bytes
from shoal.messages import say_number
from shoal.model.intake import Reading

Rows = list[tuple[str | None, ...]]
OBJECTS: Final = 20_000  # at once
_LOOKED_AT: Final = 100
# answers of OpenSky, of all aircraft and of one: a time, lists, and where time, lat and lon are in each
_OPENSKY: Final = (("time", "states", (3, 6, 5)), ("startTime", "path", (0, 1, 2)))


def open_table(path: Path, _reading: Reading) -> Table:
    """Positions of one file; only a list of objects is read object by object."""
    if json_values.begins_as_list(path) and _is_plain(json_values.first_members(path, _LOOKED_AT)):
        return _streamed(path)
    try:
        with open_bytes(path) as file:
            content = json.loads(file.read())
    except (ValueError, RecursionError, *BROKEN_GZIP) as error:
        why = "is not whole JSON; it may be cut off: copy it again"
        if path.stat().st_size == 0:
            why = "is empty"
        elif json_values.begins_with_whole_line(path):
            why = "holds an object on each line; give it the ending .jsonl"
        raise InputError(f"{path.name} {why}") from error
    return table_of(path, content)


def _is_plain(first: list[Any]) -> bool:
    kind = next((take for holds, take in _KINDS if holds(first)), None)
    return kind is _objects


def _streamed(path: Path) -> Table:
    first: dict[str, Any] = {}  # value of each name
    differing: set[str] = set()
    for item in json_values.objects(path):
        if not isinstance(item, dict):
            raise InputError(f"{path.name} is a list of objects that holds something else, too; leave it out")
        for name, value in flat(item).items():
            if first.setdefault(name, value) != value:
                differing.add(name)
    names = tuple(first)
    owner = tuple(owner.value for owner in owners_of_file(path))
    added = _person_columns_to_add(names)
    columns = (*added, *(name for name in names if name not in added))

    def batches(requested: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        members = json_values.objects(path)
        while some := [flat(item) for item in islice(members, OBJECTS)]:
            rows = [(*owner[: len(added)], *(text_of(item.get(name)) for name in names)) for item in some]
            yield 0.0, text_batch(rows, (*added, *names), requested)

    return _of_file(Table(name=path.name, columns=columns, batches=batches), path, added, differing)


def _of_file(table: Table, path: Path, added: Sequence[str], differing: Collection[str]) -> Table:
    """The table with the file as its person, if columns were added. differing: columns of several values."""
    if not added:
        return table
    like_ids = tuple(name for name in table.columns if name in differing and may_name_people(name))
    return replace(table, owners=owners_of_file(path), added=frozenset(added), like_ids=like_ids)


def _person_columns_to_add(names: Collection[str]) -> tuple[str, ...]:
    return () if any(name.strip().lower() in NAMES["id"] for name in names) else ("uid", "folder")


def table_of(path: Path, content: Any) -> Table:
    """The table of a JSON file's content."""
    owner = tuple(owner.value for owner in owners_of_file(path))
    for holds, take in _KINDS:
        if holds(content):
            names, rows, notes = take(content)
            return _own_table(path, owner, names, rows, notes)
    raise InputError(
        f"{path.name} is JSON, but of no kind that shoal knows: GeoJSON, Google's Timeline, OwnTracks, "
        "Dawarich, trips of MDS, or a list of objects with the same names"
    )


def _own_table(
    path: Path, owner: tuple[str, ...], names: Sequence[str], rows: Rows, notes: Sequence[str]
) -> Table:
    added = _person_columns_to_add(names)
    columns = (*added, *(name for name in names if name not in added))

    def batches(requested: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        whole = [(*owner[: len(added)], *row) for row in rows] if added else rows
        yield 1.0, text_batch(whole, (*added, *names), requested)

    values = zip(*rows, strict=True) if rows else ()
    differing = {name for name, some in zip(names, values, strict=False) if len({*some} - {None, ""}) > 1}
    table = Table(name=path.name, columns=columns, batches=batches, notes=list(notes))
    return _of_file(table, path, added, differing)


def _is_objects(content: Any) -> bool:
    return isinstance(content, list) and bool(content) and all(isinstance(item, dict) for item in content)


def _objects(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    values = [flat(value) for value in content]
    names = list(dict.fromkeys(name for value in values for name in value))
    return names, [tuple(text_of(value.get(name)) for name in names) for value in values], []


def _is_owntracks(content: Any) -> bool:
    messages = _messages(content)
    return bool(messages) and all(isinstance(message, dict) and "_type" in message for message in messages)


def _messages(content: Any) -> list[Any]:
    if isinstance(content, dict):
        content = content.get("data", [content])
    return content if isinstance(content, list) else []


def _owntracks(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    positions = [message for message in _messages(content) if message["_type"] == "location"]
    others = len(_messages(content)) - len(positions)
    rows: Rows = [(text_of(one.get("tid")), *owntracks_files.position_of(one)) for one in positions]
    notes = [f"{others:,} messages tell no position and were left out"] if others else []
    return *_with_other_names(("tid", "t", "lat", "lon"), rows, positions), notes


def _is_dawarich(content: Any) -> bool:
    points = content.get("points") if isinstance(content, dict) and "counts" in content else None
    return isinstance(points, list) and all(isinstance(point, dict) for point in points)


def _dawarich(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    """Newer versions give the position as text alone: POINT (2.35 48.85)."""
    rows: list[tuple[str | None, ...]] = []
    for point in content["points"]:
        lon, lat = point.get("longitude"), point.get("latitude")
        if lon is None or lat is None:
            pair = str(point.get("lonlat") or "").upper().removeprefix("POINT").strip(" ()").split()
            lon, lat = pair if len(pair) == 2 else (None, None)
        rows.append((text_of(point.get("timestamp")), text_of(lat), text_of(lon)))
    return *_with_other_names(("t", "lat", "lon"), rows, content["points"]), []


def _with_other_names(names: Sequence[str], rows: Rows, records: list[Any]) -> tuple[Sequence[str], Rows]:
    """Add the values that the user may name; those of usual names have other meanings there."""
    flats = [flat(record) for record in records]
    others = [
        name for name in dict.fromkeys(chain(*flats)) if name.lower() not in RECOGNIZED and name not in names
    ]
    added = (
        (*row, *(text_of(values.get(name)) for name in others))
        for row, values in zip(rows, flats, strict=True)
    )
    return (*names, *others), list(added)


def _is_opensky(content: Any) -> bool:
    return _vectors(content) is not None


def _opensky(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    """State vectors and tracks; the time is that of the position, not of the answer."""
    rows = _vectors(content) or []
    located = [row for row in rows if row[2:] != (None, None)]
    one, more = "left out: {number} state without a position", "left out: {number} states without a position"
    lost = len(rows) - len(located)
    notes: list[str] = [say_number("reading.no_position", lost, one, more)] if lost else []
    return ("icao24", "t", "lat", "lon"), located, notes


def _vectors(content: Any) -> Rows | None:
    """Aircraft, time, latitude and longitude of one or several answers; None for other content."""
    rows: Rows = []
    with suppress(IndexError, KeyError, TypeError):
        for answer in content if isinstance(content, list) else [content]:
            time, name, places = _OPENSKY["icao24" in answer]
            vectors = answer[name] or []
            if time not in answer or not all(isinstance(one, list) for one in vectors):
                return None
            for one in vectors:
                rows.append((text_of(answer.get("icao24", one[0])), *(text_of(one[at]) for at in places)))
        return rows if content else None
    return None


def _polarsteps(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    return ("time", "lat", "lon"), _visits(content), []


def _visits(content: Any) -> Rows:
    """The steps of trip.json, or the positions of locations.json; empty for other content."""
    with suppress(AttributeError, KeyError, TypeError):
        visits = [(place["time"], place) for place in content.get("locations", ())]
        steps, nowhere = content.get("all_steps", ()), {"lat": None, "lon": None}
        visits += [(step["start_time"], step["location"] or nowhere) for step in steps]
        return [tuple(map(text_of, (time, place["lat"], place["lon"]))) for time, place in visits]
    return []


def _kepler(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    sets = _data_sets(content)
    if len(sets) > 1:
        raise InputError(f"the map of kepler.gl holds {len(sets)} data sets; export the one that is meant")
    cells = [cell for record in sets[0] for cell in record.values()]
    features = [cell for cell in cells if isinstance(cell, dict) and "geometry" in cell]
    return geojson.rows({"features": features}) if features else _objects(sets[0])


def _data_sets(content: Any) -> list[list[dict[str, Any]]]:
    """The rows of each data set of a map of kepler.gl, by name; empty for other content."""
    with suppress(AttributeError, KeyError, TypeError):
        sets = [one["data"] for one in content.get("datasets", [content])]
        names = [[field["name"] for field in one["fields"]] for one in sets]
        rows = [one.get("allData", one.get("rows")) for one in sets]
        pairs = zip(names, rows, strict=True)
        return [[dict(zip(of, row, strict=False)) for row in table] for of, table in pairs]
    return []


def _is_mds(content: Any) -> bool:
    return _mds_records(content) is not None


def _mds(content: Any) -> tuple[Sequence[str], Rows, list[str]]:
    """Of a route, or of telemetry (versions 1 and 2); the person is the vehicle."""
    rows = [row for record in _mds_records(content) or () for row in _mds_rows(record)]
    return ("device_id", "trip", "t", "lat", "lon"), rows, []


def _mds_records(content: Any) -> list[Any] | None:
    if not isinstance(content, dict):
        return None
    data = content.get("data") if isinstance(content.get("data"), dict) else content
    for name in ("trips", "telemetry"):
        records = data.get(name) if isinstance(data, dict) else None
        if isinstance(records, list) and all(isinstance(one, dict) and "device_id" in one for one in records):
            return records
    return None


def _mds_rows(record: dict[str, Any]) -> Iterator[tuple[str | None, ...]]:
    who, trip = text_of(record.get("device_id")), text_of(record.get("trip_id"))
    route = record.get("route")
    if isinstance(route, dict):
        for feature in route.get("features") or ():
            place = (feature.get("geometry") or {}).get("coordinates") or (None, None)
            time = (feature.get("properties") or {}).get("timestamp")
            yield who, trip, *map(text_of, (time, place[1], place[0]))
        return
    at: dict[str, Any] = next(
        (record[name] for name in ("location", "gps") if isinstance(record.get(name), dict)), {}
    )
    lat, lon = at.get("lat", at.get("latitude")), at.get("lng", at.get("longitude"))
    yield who, trip, text_of(record.get("timestamp")), text_of(lat), text_of(lon)
    if "start_location" in record and "end_location" in record:
        for place, time in (("start_location", "start_time"), ("end_location", "end_time")):
            ends = record.get(place) or {}
            yield who, trip, text_of(record.get(time)), text_of(ends.get("lat")), text_of(ends.get("lng"))


_KINDS: Final[
    Sequence[tuple[Callable[[Any], object], Callable[[Any], tuple[Sequence[str], Rows, list[str]]]]]
] = (
    (geojson.holds, geojson.rows),
    (_is_opensky, _opensky),
    (_visits, _polarsteps),
    (_data_sets, _kepler),
    (google_timeline.holds, google_timeline.rows),
    (_is_owntracks, _owntracks),
    (_is_mds, _mds),
    (_is_dawarich, _dawarich),
    (_is_objects, _objects),
)
