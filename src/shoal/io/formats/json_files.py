"""JSON files: GeoJSON, a layout of ``json_layouts``, Google's Timeline, or a list of objects.

The content decides. Also JSON Lines and GeoJSON with one feature a line, plain or gzipped; and recordings of
the OwnTracks recorder: a time, a kind and a message in JSON, with tabs between. These are
``rec/USER/DEVICE/YYYY-MM.rec``: the person is USER; ``--person device`` takes DEVICE.
"""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError
from shoal.io.columns.column_names import NAMES
from shoal.io.columns.owners import may_name_people
from shoal.io.formats import geojson, json_layouts, json_values
from shoal.io.formats.input_table import NO_OBJECT, WRONG_FIELDS, Account, Owner, Table
from shoal.io.formats.json_values import Content, flat, object_in, text_of
from shoal.io.formats.row_files import Row, beginning_of, explain_damage, open_bytes, table_of_rows
from shoal.model.intake import Reading

_BEGINNING_BYTES: Final = 1 << 16
_LOOKED_AT: Final = 100
_LINES_LOOKED_AT: Final = 1000
# each gives names, rows and notes, or None for other content
_LAYOUTS: Final[Sequence[Callable[[Any], Content | None]]] = (
    geojson.read,
    json_layouts.opensky,
    json_layouts.polarsteps,
    json_layouts.kepler,
    json_layouts.google_timeline,
    json_layouts.owntracks,
    json_layouts.mds,
    json_layouts.dawarich,
    json_layouts.objects,
)


def open_table(path: Path, _reading: Reading) -> Table:
    """Positions of one file; only a list of objects is read object by object."""
    beginning = beginning_of(path, _BEGINNING_BYTES).removeprefix(codecs.BOM_UTF8).lstrip()
    if beginning[:1] == b"[":
        first = list(islice(json_values.members(path), _LOOKED_AT))
        if next((layout for layout in _LAYOUTS if layout(first) is not None), None) is json_layouts.objects:
            return _streamed(path)
    why = "is not whole JSON; it may be cut off: copy it again"
    if object_in(beginning.partition(b"\n")[0]) is not None:
        why = "holds an object on each line; give it the ending .jsonl"
    with explain_damage(f"{path.name} {why}", ValueError, RecursionError), open_bytes(path) as file:
        content = json.loads(file.read())
    return table_of(path, content)


def table_of(path: Path, content: Any) -> Table:
    """The table of a JSON file's content."""
    for layout in _LAYOUTS:
        if (result := layout(content)) is not None:
            names, values, notes = result
            rows = [[text_of(value) for value in row] for row in values]
            columns = zip(names, zip(*rows, strict=True), strict=False)
            differing = {name for name, texts in columns if len({*texts} - {None, ""}) > 1}
            table = _table(path, names, partial(iter, rows), differing)
            table.notes.extend(notes)
            return table
    raise InputError(
        f"{path.name} is JSON, but of no kind that shoal knows: GeoJSON, Google's Timeline, OwnTracks, "
        "Dawarich, trips of MDS, or a list of objects with the same names"
    )


def _streamed(path: Path) -> Table:
    first: dict[str, Any] = {}  # value of each name
    differing: set[str] = set()
    for item in json_values.members(path):
        if not isinstance(item, dict):
            raise InputError(f"{path.name} is a list of objects that holds something else, too; leave it out")
        for name, value in flat(item).items():
            if first.setdefault(name, value) != value:
                differing.add(name)

    def rows() -> Iterator[Row]:
        for item in map(flat, json_values.members(path)):
            yield [text_of(item.get(name)) for name in first]

    return _table(path, list(first), rows, differing)


def _table(path: Path, names: list[str], rows: Callable[[], Iterable[Row]], differing: set[str]) -> Table:
    """The file is the person if no column is. differing: columns of several values."""
    has_person = any(name.strip().lower() in NAMES["id"] for name in names)
    table = table_of_rows(path, names, lambda _: rows(), owners=() if has_person else None)
    like_ids = () if has_person else tuple(one for one in names if one in differing and may_name_people(one))
    return replace(table, like_ids=like_ids)


def open_lines(path: Path, _reading: Reading) -> Table:
    """Objects of one file; the first thousand decide the columns."""
    first = list(islice(_objects(path, Account()), _LINES_LOOKED_AT))
    if not first:
        raise InputError(f"{path.name} is empty, or no line of it is a JSON object")
    if all(value.get("type") == "Feature" for value in first):
        account = Account()
        features = list(_objects(path, account))
        table = table_of(path, {"type": "FeatureCollection", "features": features})
        return replace(table, unreadable=account.unreadable, first_lines=account.first_lines)
    names = list(dict.fromkeys(name for value in first for name in flat(value)))

    def read(account: Account) -> Iterator[Row]:
        for value in map(flat, _objects(path, account)):
            yield [text_of(value.get(name)) for name in names]

    return table_of_rows(path, names, read, owners=())


def _objects(path: Path, account: Account) -> Iterator[dict[str, Any]]:
    damaged = f"{path.name} is not whole gzip data; copy it again"
    with explain_damage(damaged), open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            text = line.strip(b"\x1e \t\r\n\xef\xbb\xbf")  # a record may begin with its own separator
            if text:
                value = object_in(text)
                if value is None:
                    account.leave_out(NO_OBJECT, number)
                else:
                    yield value


def open_owntracks(path: Path, _reading: Reading) -> Table:
    """Positions; other messages are left out with a note."""
    device = path.resolve().parent
    damaged = f"{path.name} is not UTF-8 text, so no OwnTracks recording"

    def read(account: Account) -> Iterator[Row]:
        others = 0
        with explain_damage(damaged, UnicodeDecodeError), path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                message = object_in(line.rstrip("\n").split("\t")[-1])
                if message is None:
                    account.leave_out(WRONG_FIELDS, number)
                elif message.get("_type") == "location":
                    position = (text_of(message.get(name)) for name in ("tst", "lat", "lon"))
                    yield device.parent.name, device.name, *position
                else:
                    others += 1
        if others:
            account.notes.append(json_layouts.without_position(others))

    owners = (
        Owner(column="uid", value=device.parent.name, place=str(device.parent), what="folder"),
        Owner(column="device", value=device.name, place=str(device)),
    )
    columns = ("uid", "device", "t", "lat", "lon")
    return table_of_rows(path, columns, read, owners=owners, settings={"id": "uid"})
