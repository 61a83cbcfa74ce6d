"""JSON Lines, plain or gzipped; also GeoJSON, one feature a line."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats import json_files
from shoal.io.formats.input_table import NO_OBJECT, Table
from shoal.io.formats.json_values import flat, object_in, text_of
from shoal.io.formats.row_files import explain_damage, open_bytes, text_batches
from shoal.model.intake import Reading

_LOOKED_AT: Final = 1000


def open_table(path: Path, _reading: Reading) -> Table:
    """Objects of one file; the first thousand decide the columns."""
    first = list(islice(_objects(path, Counter()), _LOOKED_AT))
    if not first:
        raise InputError(f"{path.name} is empty, or no line of it is a JSON object")
    unreadable: Counter[str] = Counter()
    if all(value.get("type") == "Feature" for value in first):
        features = list(_objects(path, unreadable))
        table = json_files.table_of(path, {"type": "FeatureCollection", "features": features})
        table.unreadable.update(unreadable)
        return table
    names = list(dict.fromkeys(name for value in first for name in flat(value)))

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        values = map(flat, _objects(path, unreadable))
        rows = ([text_of(value.get(name)) for name in columns] for value in values)
        return text_batches(rows, columns, columns)

    return Table(name=path.name, columns=tuple(names), batches=batches, unreadable=unreadable)


def _objects(path: Path, unreadable: Counter[str]) -> Iterator[dict[str, Any]]:
    damaged = f"{path.name} is not whole gzip data; copy it again"
    with explain_damage(damaged), open_bytes(path) as file:
        for line in file:
            text = line.strip(b"\x1e \t\r\n\xef\xbb\xbf")  # a record may begin with its own separator
            if text:
                value = object_in(text)
                if value is None:
                    unreadable[NO_OBJECT] += 1
                else:
                    yield value
