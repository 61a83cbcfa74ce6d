"""EXPORTS, the formats of a release; geometry is not read back."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.release_folder.flatgeobuf import read_flatgeobuf, write_flatgeobuf
from shoal.release_folder.outlines import is_cut, polygons_of
from shoal.release_folder.packing import GEOMETRY, parquet_writer
from shoal.runtime.files import sha256_of
from shoal.units import DAY_S

_DIGITS: Final = 7
_DELTA_PART: Final = "part-00000.parquet"
_DELTA_TYPES: Final = {"string": "string", "int64": "long", "double": "double", "binary": "binary"}
_DATA: Final = "data"  # folder of formats that need one


@dataclass(frozen=True, kw_only=True)
class Export:
    """A row of EXPORTS. where: the file or folder inside."""

    where: str
    mediatype: str


@dataclass(frozen=True, kw_only=True)
class RowsExport(Export):
    """A format whose rows are written and read."""

    write: Callable[[pa.Table, Path], None]
    read: Callable[[Path, pa.Schema], pa.Table]  # rows in the types of a schema, then all other columns
    text: bool = False  # the same rows always give the same bytes, so the files can hold nothing else
    arranged: Callable[[pa.Table], pa.Table] = lambda table: table  # the rows in the order of the format
    joined: Callable[[pa.Table], pa.Table] = lambda table: table  # rows of the format, each record together
    finish: Callable[[Path], None] | None = None  # write what follows from other files of the format


def _write_csv(table: pa.Table, path: Path) -> None:
    rows = table.drop_columns([GEOMETRY]) if GEOMETRY in table.column_names else table
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows.column_names)
        for batch in rows.to_batches(1 << 16):
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    import pyarrow.csv as arrow_csv

    try:
        table = arrow_csv.read_csv(
            path,
            convert_options=arrow_csv.ConvertOptions(
                column_types={field.name: field.type for field in schema}
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error
    return table


def _write_lines(table: pa.Table, path: Path) -> None:
    """RFC 8142 without record separators, degrees to seven decimals."""
    names = [name for name in table.column_names if name != GEOMETRY]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in table.to_batches(1 << 14):
            columns = [batch.column(name).to_pylist() for name in names]
            shapes: Iterator[Any] = iter([None] * batch.num_rows)
            if GEOMETRY in table.column_names:
                shapes = map(_shape, batch.column(GEOMETRY).to_pylist())
            for values, shape in zip(zip(*columns, strict=True), shapes, strict=True):
                feature = {
                    "type": "Feature",
                    "geometry": shape,
                    "properties": dict(zip(names, values, strict=True)),
                }
                file.write(json.dumps(feature, separators=(",", ":"), ensure_ascii=False) + "\n")


def _shape(wkb: bytes) -> dict[str, Any]:
    parts = [np.round(places, _DIGITS).tolist() for places in polygons_of(wkb)]
    if is_cut(wkb):
        return {"type": "MultiPolygon", "coordinates": [[places] for places in parts]}
    if int.from_bytes(wkb[1:5], "little") == 1:
        return {"type": "Point", "coordinates": parts[0][0]}
    return {"type": "Polygon", "coordinates": parts}


def _read_lines(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line)["properties"] for line in file]
        return pa.Table.from_pylist(rows, schema)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error


def _write_days(table: pa.Table, folder: Path) -> None:
    for day, rows in _days(table):
        day_folder = folder / f"day={day}"
        day_folder.mkdir(parents=True)
        pq.write_table(rows, day_folder / "part-0.parquet", compression="zstd", store_schema=False)


def _days(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each day, records by pseudonym, since no day knows the order of all records."""
    table = _by_pseudonym(table)
    start = table["t_start" if "t_start" in table.column_names else "t"].to_numpy()
    days = np.floor(start / DAY_S).astype(np.int64)
    for day in np.unique(days).tolist():
        yield str(np.datetime64(day, "D")), table.filter(pa.array(days == day))


def _by_pseudonym(table: pa.Table) -> pa.Table:
    return table.take(pc.sort_indices(table["trajectory_id"]))  # stable


def _in_days(table: pa.Table) -> pa.Table:
    return pa.concat_tables([rows for _, rows in _days(table)]) if len(table) else table


def _read_parts(folder: Path, _schema: pa.Schema) -> pa.Table:
    files = sorted([*folder.glob("day=*/part-0.parquet"), *folder.glob(_DELTA_PART)])
    if not files:
        raise InputError(f"{folder} holds no rows; fetch or write it again")
    try:
        return pa.concat_tables([_plain(pq.ParquetFile(file).read()) for file in files])
    except (pa.ArrowException, OSError, KeyError) as error:
        raise InputError(f"{folder} is not the table of a release; fetch or write it again") from error


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def _write_delta(table: pa.Table, folder: Path) -> None:
    folder.mkdir()
    with parquet_writer(folder / _DELTA_PART, _plain(table).schema) as writer:
        writer.write_table(_plain(table))
    _write_delta_log(folder)


def _write_delta_log(folder: Path) -> None:
    """The log of a Delta table of one version and one file (https://github.com/delta-io/delta)."""
    part = folder / _DELTA_PART
    with pq.ParquetFile(part) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    fields = [
        {"name": field.name, "type": _DELTA_TYPES.get(str(field.type), ""), "nullable": True, "metadata": {}}
        for field in schema
    ]
    actions: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {
            "id": str(UUID(sha256_of(part)[:32])),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [], "configuration": {}, "createdTime": 0,
        }},
        {"add": {
            "path": _DELTA_PART, "partitionValues": {}, "size": part.stat().st_size, "modificationTime": 0,
            "dataChange": True, "stats": json.dumps({"numRecords": n_rows}),
        }},
    ]  # fmt: skip
    (folder / "_delta_log").mkdir(exist_ok=True)
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")


EXPORTS: Final[Mapping[str, Export]] = {
    "csv": RowsExport(write=_write_csv, read=_read_csv, where="release.csv", mediatype="text/csv", text=True),
    "geojsonl": RowsExport(
        write=_write_lines,
        read=_read_lines,
        where="release.geojsonl",
        mediatype="application/geo+json-seq",
        text=True,
    ),
    "parquet-by-day": RowsExport(
        write=_write_days,
        read=_read_parts,
        where=_DATA,
        mediatype="application/vnd.apache.parquet",
        arranged=_in_days,
        joined=_by_pseudonym,
    ),
    "parquet-parts": Export(where=_DATA, mediatype="application/vnd.apache.parquet"),
    "flatgeobuf": RowsExport(
        write=write_flatgeobuf,
        read=read_flatgeobuf,
        where="release.fgb",
        mediatype="application/flatgeobuf",
        text=True,
    ),
    "delta": RowsExport(
        write=_write_delta,
        read=_read_parts,
        where=_DATA,
        mediatype="application/vnd.apache.parquet",
        finish=_write_delta_log,
    ),
}
"""The formats of ``shoal publish``; the checks of an exported folder follow from these rows."""
