"""Vehicles of GTFS-realtime (protobuf), through gtfs-realtime-bindings (extra ``vehicles``).

A file is one moment of a fleet. The person is the vehicle, by its id, label or plate; ``--person trip``
takes the trip of a day. A position without a time gets its snapshot's, and is counted.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MissingExtraError
from shoal.io.formats.input_table import Table, text_batch
from shoal.io.formats.xml_files import BROKEN_GZIP, open_bytes
from shoal.messages import say
from shoal.model.intake import Reading

COLUMNS: Final = ("vehicle", "trip", "t", "lat", "lon")
TIME_OF_SNAPSHOT: Final = say(
    "row.time_of_snapshot", "positions without a time of their own, which got that of their snapshot"
)


def open_table(path: Path, _reading: Reading) -> Table:
    """Vehicles of a whole snapshot."""
    try:
        from google.protobuf.message import DecodeError
        from google.transit.gtfs_realtime_pb2 import FeedMessage
    except ImportError as error:
        raise MissingExtraError(
            "GTFS-realtime needs gtfs-realtime-bindings; install it with: pip install 'shoal[vehicles]'"
        ) from error
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    notes: list[str] = []
    repaired: dict[str, int] = {}

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        feed = FeedMessage()
        try:
            with open_bytes(path) as file:
                feed.ParseFromString(file.read())
        except (DecodeError, *BROKEN_GZIP) as error:
            raise InputError(
                f"{path.name} is not a whole GTFS-realtime feed; it may be cut off: copy it again"
            ) from error
        snapshot_s = feed.header.timestamp if feed.header.HasField("timestamp") else 0
        vehicles = [entity.vehicle for entity in feed.entity if entity.HasField("vehicle")]
        untimed = sum(not vehicle.timestamp for vehicle in vehicles)
        if len(vehicles) < len(feed.entity):
            text = "trip updates and alerts tell no position, and were left out"
            notes.append(say("reading.trip_updates", text))
        if untimed and snapshot_s:
            repaired[TIME_OF_SNAPSHOT] = untimed
        yield 1.0, text_batch([_row(vehicle, snapshot_s) for vehicle in vehicles], COLUMNS, columns)

    return Table(
        name=path.name,
        columns=COLUMNS,
        batches=batches,
        notes=notes,
        repaired=repaired,
        settings={"id": "vehicle", "time_unit": "s"},
    )


def _row(one: Any, snapshot_s: int) -> tuple[str, ...]:
    vehicle, trip = one.vehicle, one.trip
    lat = lon = ""
    if one.HasField("position"):  # numbers of 32 bits, in as few digits as tell them
        lat, lon = (str(np.float32(value)) for value in (one.position.latitude, one.position.longitude))
    moment = one.timestamp or snapshot_s
    on_day = f"{trip.trip_id} {trip.start_date}".strip() if trip.trip_id else ""
    return (
        vehicle.id or vehicle.label or vehicle.license_plate,
        on_day,
        str(moment) if moment else "",
        lat,
        lon,
    )
