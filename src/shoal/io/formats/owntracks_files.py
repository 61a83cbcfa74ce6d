"""Recordings of the OwnTracks recorder: a time, a kind and a message in JSON, with tabs between.

Files are ``rec/USER/DEVICE/YYYY-MM.rec``. The person is USER; ``--person device`` takes DEVICE.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats.input_table import WRONG_FIELDS, Owner, Table, text_batch
from shoal.messages import say
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "device", "t", "lat", "lon")


def open_table(path: Path, _reading: Reading) -> Table:
    """Positions; other messages are left out with a note."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    device = path.resolve().parent
    unreadable: dict[str, int] = {}
    notes: list[str] = []

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        rows: list[tuple[str | None, ...]] = []
        others = broken = 0
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    if not line.strip():
                        continue
                    message = message_of(line.rstrip("\n").split("\t")[-1])
                    if message is None:
                        broken += 1
                    elif message.get("_type") == "location":
                        rows.append((device.parent.name, device.name, *position_of(message)))
                    else:
                        others += 1
        except UnicodeDecodeError as error:
            raise InputError(f"{path.name} is not UTF-8 text, so no OwnTracks recording") from error
        if broken:
            unreadable[WRONG_FIELDS] = broken
        if others:
            text = "{number} messages of {file} tell no position and were left out"
            notes.append(say("reading.without_position", text, number=f"{others:,}", file=path.name))
        yield 1.0, text_batch(rows, COLUMNS, columns)

    owners = (
        Owner(column="uid", value=device.parent.name, place=str(device.parent), what="folder"),
        Owner(column="device", value=device.name, place=str(device)),
    )
    return Table(
        name=path.name,
        columns=COLUMNS,
        batches=batches,
        owners=owners,
        settings={"id": "uid"},
        unreadable=unreadable,
        notes=notes,
    )


def message_of(text: str) -> dict[str, Any] | None:
    """A JSON object, None for another text."""
    try:
        message = json.loads(text)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def position_of(message: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Time, latitude and longitude of a message, as text."""
    time, lat, lon = (message.get(name) for name in ("tst", "lat", "lon"))
    return (
        None if time is None else str(time),
        None if lat is None else str(lat),
        None if lon is None else str(lon),
    )
