"""JSON Lines, plain or gzipped; also GeoJSON, one feature a line."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats import json_files
from shoal.io.formats.input_table import NO_OBJECT, Table, text_batch
from shoal.io.formats.json_values import flat, text_of
from shoal.io.formats.xml_files import BROKEN_GZIP, open_bytes
from shoal.model.intake import Reading

_LINES: Final = 1 << 16
_LOOKED_AT: Final = 1000


def open_table(path: Path, _reading: Reading) -> Table:
    """Objects of one file; the first thousand decide the columns."""
    unreadable: dict[str, int] = {}
    first = [value for value in islice(_objects(path), _LOOKED_AT) if value is not None]
    if not first:
        raise InputError(f"{path.name} is empty, or no line of it is a JSON object")
    if all(value.get("type") == "Feature" for value in first):
        features = list(_objects(path))
        broken = features.count(None)
        table = json_files.table_of(
            path,
            {"type": "FeatureCollection", "features": [value for value in features if value is not None]},
        )
        table.unreadable.update({NO_OBJECT: broken} if broken else {})
        return table
    names = list(dict.fromkeys(name for value in first for name in flat(value)))

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        objects = _objects(path)
        while lines := list(islice(objects, _LINES)):
            values = [flat(value) for value in lines if value is not None]
            if len(values) < len(lines):
                unreadable[NO_OBJECT] = unreadable.get(NO_OBJECT, 0) + len(lines) - len(values)
            rows = [tuple(text_of(value.get(name)) for name in columns) for value in values]
            yield 0.0, text_batch(rows, columns, columns)

    return Table(name=path.name, columns=tuple(names), batches=batches, unreadable=unreadable)


def _objects(path: Path) -> Iterator[dict[str, Any] | None]:
    try:
        with open_bytes(path) as file:
            for line in file:
                text = line.strip(b"\x1e \t\r\n\xef\xbb\xbf")  # a record may begin with its own separator
                if text:
                    yield _object(text)
    except BROKEN_GZIP as error:
        raise InputError(f"{path.name} is not whole gzip data; copy it again") from error


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
