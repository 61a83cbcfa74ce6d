"""FlatGeobuf (https://flatgeobuf.org), written so that the same rows always give the same bytes.

A file is a mark, a header and one feature after the other, each a FlatBuffers table behind its size. All
features of a release have the same columns and number of corners, so each is a NumPy record of one type.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, MisuseError
from shoal.release_folder.packing import GEOMETRY

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
