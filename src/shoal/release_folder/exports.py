"""EXPORTS, the formats of a release; geometry is not read back.

A FlatGeobuf file (https://flatgeobuf.org) is a mark, a header and one feature after the other, each a
FlatBuffers table behind its size. All features of a release have the same columns and number of corners, so
each is a NumPy record of one type, and the same rows always give the same bytes.
"""

import csv
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from shoal.errors import InputError, MisuseError
from shoal.release_folder.outlines import is_cut, polygons_of
from shoal.release_folder.packing import GEOMETRY, parquet_writer
from shoal.runtime.files import sha256_of
from shoal.units import DAY_S

_MARK: Final = b"fgb\x03fgb\x00"
_KINDS: Final = {"int64": 7, "double": 10, "string": 11}
_NUMBERS: Final = {"int64": "<i8", "double": "<f8"}
_NAME_BYTES: Final = 16  # of a pseudonym
_AT_ONCE: Final = 1 << 16
_POINT, _POLYGON = 1, 3
# the head of well-known binary by kind of shape
_WKB_HEADS: Final = {_POINT: struct.pack("<BI", 1, 1), _POLYGON: struct.pack("<BIII", 1, 3, 1, 5)}
_Value = bytes | str | list["_Value"] | dict[int, "_Value"]


def write_flatgeobuf(table: pa.Table, path: Path) -> None:
    """Write the rows of a release; raises MisuseError when they have no degrees, or other pseudonyms."""
    if GEOMETRY not in table.column_names:
        raise MisuseError("FlatGeobuf needs degrees, and this release is in local meters; choose csv")
    sizes = pc.min_max(pc.binary_length(table[GEOMETRY])).as_py()
    if sizes["min"] != sizes["max"]:
        raise MisuseError(
            "some areas cross the 180th meridian or hold a pole and are cut into parts, which "
            "FlatGeobuf is not written with here; choose geojsonl or parquet-parts"
        )
    names = table["trajectory_id"].cast(pa.binary()).combine_chunks()
    if set(map(len, names.unique().to_pylist())) - {_NAME_BYTES}:
        raise MisuseError(f"FlatGeobuf needs pseudonyms of {_NAME_BYTES} bytes; choose csv")
    columns = {field.name: str(field.type) for field in table.schema if field.name != GEOMETRY}
    shape = _POLYGON if "t_start" in columns else _POINT
    kind, head = _feature_type(columns, shape), _WKB_HEADS[shape]
    with path.open("wb") as file:
        file.write(_MARK + _header(columns, shape, len(table)))
        for rows in table.to_batches(_AT_ONCE):
            features = np.zeros(len(rows), dtype=kind)
            features["size"] = kind.itemsize - 4
            features["tables"] = np.void(_tables(shape))
            features["n_coordinates"] = features["coordinates"].shape[1]
            drawn = b"".join(rows[GEOMETRY].to_pylist())
            size = len(head) + 8 * features["coordinates"].shape[1]
            coordinates = np.frombuffer(drawn, dtype=np.uint8).reshape(-1, size)[:, len(head) :]
            features["coordinates"] = np.ascontiguousarray(coordinates).view("<f8")
            features["n_properties"] = kind.itemsize - kind.fields["n_properties"][1] - 4  # type: ignore[index]  # a structured type
            for number, (name, stored) in enumerate(columns.items()):
                features[f"number {name}"] = number
                if stored == "string":
                    features[f"length {name}"] = _NAME_BYTES
                    features[name] = np.array(rows[name].to_pylist(), dtype=f"S{_NAME_BYTES}")
                else:
                    features[name] = rows[name].to_numpy()
            file.write(features.tobytes())


def read_flatgeobuf(path: Path, schema: pa.Schema) -> pa.Table:
    """The rows of such a file, with their geometries; other bytes than those of rows are not looked at."""
    content = path.read_bytes()
    columns = {field.name: str(field.type) for field in schema}
    shape = _POLYGON if "t_start" in columns else _POINT
    kind = _feature_type(columns, shape)
    start = len(_MARK) + 4 + int.from_bytes(content[len(_MARK) : len(_MARK) + 4], "little")
    if content[: len(_MARK)] != _MARK or start > len(content) or (len(content) - start) % kind.itemsize:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again")
    features = np.frombuffer(content, dtype=kind, offset=start)
    heads = np.tile(np.frombuffer(_WKB_HEADS[shape], dtype=np.uint8), (len(features), 1))
    coordinates = np.ascontiguousarray(features["coordinates"]).view(np.uint8)
    drawn = np.hstack([heads, coordinates.reshape(len(features), -1)])
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(drawn.shape[1]), len(features), [None, pa.py_buffer(drawn.tobytes())]
    )
    arrays = []
    for name, stored in columns.items():
        values = np.ascontiguousarray(features[name])
        try:
            texts = pa.array(values.tolist(), pa.binary()).cast(pa.string()) if stored == "string" else values
        except pa.ArrowException as error:
            raise InputError(f"{path.name} holds text that is none; fetch or write it again") from error
        arrays.append(pa.array(texts, schema.field(name).type))
    return pa.table([*arrays, fixed.cast(pa.binary())], names=[*columns, GEOMETRY])


def _feature_type(columns: Mapping[str, str], shape: int) -> np.dtype[np.void]:
    parts: list[tuple[str, str] | tuple[str, str, tuple[int, ...]]] = [
        ("size", "<u4"),
        ("tables", "V44"),
        ("n_coordinates", "<u4"),
        ("coordinates", "<f8", (10 if shape == _POLYGON else 2,)),
        ("n_properties", "<u4"),
    ]
    for name, stored in columns.items():
        parts.append((f"number {name}", "<u2"))
        if stored == "string":
            parts += [(f"length {name}", "<u4"), (name, f"S{_NAME_BYTES}")]
        else:
            parts.append((name, _NUMBERS[stored]))
    return np.dtype(parts)


def _tables(shape: int) -> bytes:
    """The tables Feature (geometry, properties) and Geometry (no ends, coordinates) with their offsets."""
    properties = 48 + 8 * (10 if shape == _POLYGON else 2)
    feature = struct.pack("<I4HiII", 12, 8, 12, 4, 8, 8, 16, properties - 20)
    return feature + struct.pack("<4HiI4x", 8, 8, 0, 4, 8, 8)


def _header(columns: Mapping[str, str], shape: int, n_rows: int) -> bytes:
    described: list[_Value] = [{0: name, 1: bytes([_KINDS[stored]])} for name, stored in columns.items()]
    crs: _Value = {0: "EPSG", 1: struct.pack("<i", 4326)}
    header: _Value = {
        0: "release", 2: bytes([shape]), 7: described, 8: struct.pack("<Q", n_rows), 9: bytes(2), 10: crs,
    }  # fmt: skip
    content = bytearray(8)
    struct.pack_into("<I", content, 0, _append(content, header))
    return struct.pack("<I", len(content)) + bytes(content)


def _append(content: bytearray, value: _Value) -> int:
    """Append a text, a vector of tables or a table (values by number of field); return where it begins."""
    content += bytes(-len(content) % 8)
    at = len(content)
    if isinstance(value, str):
        content += struct.pack("<I", len(value)) + value.encode() + b"\x00"
    elif isinstance(value, dict):
        n = max(value) + 1
        content += struct.pack(
            f"<{n + 2}H", 4 + 2 * n, 8 + 8 * n, *(8 + 8 * i if i in value else 0 for i in range(n))
        )
        content += bytes(-len(content) % 8)
        table = len(content)
        content += struct.pack("<i", table - at) + bytes(4 + 8 * n)
        for number, one in value.items():
            _set_field(content, table + 8 + 8 * number, one)
        return table
    elif isinstance(value, list):
        content += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for number, one in enumerate(value):
            _set_field(content, at + 4 + 4 * number, one)
    return at


def _set_field(content: bytearray, where: int, value: _Value) -> None:
    if isinstance(value, bytes):
        content[where : where + len(value)] = value
    else:
        struct.pack_into("<I", content, where, _append(content, value) - where)


_DIGITS: Final = 7
_DELTA_PART: Final = "part-00000.parquet"
_DELTA_TYPES: Final = {"string": "string", "int64": "long", "double": "double", "binary": "binary"}
_NO_LINES: Final = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
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
        types = {field.name: field.type for field in schema}
        return arrow_csv.read_csv(path, convert_options=arrow_csv.ConvertOptions(column_types=types))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error


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
    except (OSError, pa.ArrowException, *_NO_LINES) as error:
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
    "csv": RowsExport(write=_write_csv, read=_read_csv, where="release.csv", mediatype="text/csv"),
    "geojsonl": RowsExport(
        write=_write_lines, read=_read_lines, where="release.geojsonl", mediatype="application/geo+json-seq"
    ),
    "parquet-by-day": RowsExport(
        write=_write_days,
        read=_read_parts,
        where=_DATA,
        mediatype="application/vnd.apache.parquet",
        arranged=lambda table: pa.concat_tables([rows for _, rows in _days(table)]) if len(table) else table,
        joined=_by_pseudonym,
    ),
    "parquet-parts": Export(where=_DATA, mediatype="application/vnd.apache.parquet"),
    "flatgeobuf": RowsExport(
        write=write_flatgeobuf, read=read_flatgeobuf, where="release.fgb", mediatype="application/flatgeobuf"
    ),
    "delta": RowsExport(
        write=_write_delta,
        read=_read_parts,
        where=_DATA,
        mediatype="application/vnd.apache.parquet",
        finish=_write_delta_log,
    ),
}
"""The formats of ``shoal publish``."""
