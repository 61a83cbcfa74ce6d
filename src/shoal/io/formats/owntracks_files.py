"""Recordings of the OwnTracks recorder: a time, a kind and a message in JSON, with tabs between.

Files are ``rec/USER/DEVICE/YYYY-MM.rec``. The person is USER; ``--person device`` takes DEVICE.
"""

from collections.abc import Iterator
from pathlib import Path

from shoal.io.formats.input_table import WRONG_FIELDS, Owner, Table
from shoal.io.formats.json_values import object_in, text_of
from shoal.io.formats.row_files import Account, Row, explain_damage, table_of_rows
from shoal.messages import say
from shoal.model.intake import Reading


def open_table(path: Path, _reading: Reading) -> Table:
    """Positions; other messages are left out with a note."""
    device = path.resolve().parent
    damaged = f"{path.name} is not UTF-8 text, so no OwnTracks recording"

    def read(account: Account) -> Iterator[Row]:
        others = 0
        with explain_damage(damaged, UnicodeDecodeError), path.open(encoding="utf-8") as file:
            for line in filter(str.strip, file):
                message = object_in(line.rstrip("\n").split("\t")[-1])
                if message is None:
                    account.unreadable[WRONG_FIELDS] += 1
                elif message.get("_type") == "location":
                    position = (text_of(message.get(name)) for name in ("tst", "lat", "lon"))
                    yield device.parent.name, device.name, *position
                else:
                    others += 1
        if others:
            text = "{number} messages of {file} tell no position and were left out"
            account.notes.append(say("reading.without_position", text, number=f"{others:,}", file=path.name))

    owners = (
        Owner(column="uid", value=device.parent.name, place=str(device.parent), what="folder"),
        Owner(column="device", value=device.name, place=str(device)),
    )
    return table_of_rows(
        path, ("uid", "device", "t", "lat", "lon"), read, owners=owners, settings={"id": "uid"}
    )
