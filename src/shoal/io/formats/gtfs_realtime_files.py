"""Vehicles of GTFS-realtime (protobuf), through gtfs-realtime-bindings (extra ``vehicles``).

A file is one moment of a fleet. The person is the vehicle, by its id, label or plate; ``--person trip``
takes the trip of a day. A position without a time gets its snapshot's, and is counted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import requiring_extra
from shoal.io.formats.input_table import Account, Table
from shoal.io.formats.row_files import Row, explain_damage, open_bytes, table_of_rows
from shoal.messages import say
from shoal.model.intake import Reading

TIME_OF_SNAPSHOT: Final = say(
    "row.time_of_snapshot", "positions without a time of their own, which got that of their snapshot"
)


def open_table(path: Path, _reading: Reading) -> Table:
    """Vehicles of a whole snapshot."""
    with requiring_extra("GTFS-realtime needs gtfs-realtime-bindings", "vehicles"):
        from google.protobuf.message import DecodeError
        from google.transit.gtfs_realtime_pb2 import FeedMessage
    damaged = f"{path.name} is not a whole GTFS-realtime feed; it may be cut off: copy it again"

    def read(account: Account) -> Iterator[Row]:
        feed = FeedMessage()
        with explain_damage(damaged, DecodeError), open_bytes(path) as file:
            feed.ParseFromString(file.read())
        snapshot_s = feed.header.timestamp if feed.header.HasField("timestamp") else 0
        vehicles = [entity.vehicle for entity in feed.entity if entity.HasField("vehicle")]
        untimed = sum(not vehicle.timestamp for vehicle in vehicles)
        if len(vehicles) < len(feed.entity):
            text = "trip updates and alerts tell no position, and were left out"
            account.notes.append(say("reading.trip_updates", text))
        if untimed and snapshot_s:
            account.repaired[TIME_OF_SNAPSHOT] = untimed
        for one in vehicles:
            lat = lon = ""
            if one.HasField("position"):  # numbers of 32 bits, in as few digits as tell them
                place = (one.position.latitude, one.position.longitude)
                lat, lon = (str(np.float32(value)) for value in place)
            trip = f"{one.trip.trip_id} {one.trip.start_date}".strip() if one.trip.trip_id else ""
            vehicle = one.vehicle.id or one.vehicle.label or one.vehicle.license_plate
            yield vehicle, trip, str(one.timestamp or snapshot_s or ""), lat, lon

    settings = {"id": "vehicle", "time_unit": "s"}
    return table_of_rows(path, ("vehicle", "trip", "t", "lat", "lon"), read, owners=(), settings=settings)
