"""TABLES: the columns of each kind of payload, and how they are written and read."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError
from shoal.model.claims import PayloadKind
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, POINT_COLUMNS, Payload, Release
from shoal.release_folder.box_table import decode_boxes, write_boxes
from shoal.release_folder.point_table import decode_points, write_points
from shoal.runtime.arrays import Integers, Numbers


@dataclass(frozen=True, kw_only=True)
class Table:
    """A row of TABLES."""

    columns: tuple[str, ...]  # of every table of this kind; rows of a record ascend by them
    write: Callable[[Release, Path], None]
    read: Callable[[pa.Table, Grid | None, str], Payload]


def _boxes(table: pa.Table, grid: Grid | None, where: str) -> Payload:
    if grid is None:
        raise MisuseError("boxes are counted in cells and slots; give the manifest's grid")
    return decode_boxes(table, grid, where)


def _points(table: pa.Table, _grid: Grid | None, where: str) -> Payload:
    return decode_points(table, where)


TABLES: Final[Mapping[PayloadKind, Table]] = {
    "boxes": Table(columns=BOX_COLUMNS, write=write_boxes, read=_boxes),
    "points": Table(columns=POINT_COLUMNS, write=write_points, read=_points),
}


def write_table(release: Release, path: Path) -> None:
    """Write the payload as GeoParquet."""
    TABLES[release.kind].write(release, path)


def decode_records(
    table: pa.Table, kind: PayloadKind, grid: Grid | None, where: str
) -> tuple[tuple[str, ...], Integers, Payload]:
    """Pseudonyms, offsets [n + 1] and payload (boxes on the grid), in order of first rows."""
    payload = TABLES[kind].read(table, grid, where)
    record, ids = number_records(table["trajectory_id"])
    keys = [getattr(payload, name) for name in reversed(TABLES[kind].columns)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(record, minlength=len(ids)))]).astype(np.int64)
    return ids, offsets, payload if _ascend(record, keys) else payload.take(np.lexsort((*keys, record)))


def number_records(names: pa.ChunkedArray) -> tuple[Integers, tuple[str, ...]]:
    """(the record of each row, the pseudonym of each record), in order of first rows."""
    coded = names.combine_chunks().cast(pa.string()).dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):  # more text than fits one array
        coded = coded.combine_chunks()
    return coded.indices.to_numpy(), tuple(coded.dictionary.to_pylist())


def _ascend(record: Integers, keys: Sequence[Numbers]) -> bool:
    equal_so_far = np.ones(
        max(len(record) - 1, 0), dtype=np.bool_
    )  # rows equal to their next one in the columns so far
    for column in (record, *reversed(keys)):
        if (equal_so_far & ~(column[1:] >= column[:-1])).any():  # false for NaN, too
            return False
        equal_so_far &= column[1:] == column[:-1]
    return True


def require_places_on_earth(path: Path) -> None:
    """Raise InputError where a table reaches beyond its plane's places on the earth."""
    geo = (pq.read_schema(path).metadata or {}).get(b"geo")
    if geo is not None and not np.isfinite(json.loads(geo)["columns"]["geometry"]["bbox"]).all():
        raise InputError(
            "the release reaches beyond the edge of the plane: the data spans too much of the earth; publish "
            "each region on its own"
        )
