"""Read footers and page headers of Parquet (Thrift, Apache Parquet 2.12)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.errors import InputError

_MOST_DIGITS: Final = 10  # bytes of a whole number of 64 bits
_TRUE, _FALSE = 1, 2
_LONG_LIST: Final = 15
_FARTHEST_STEP: Final = 15  # largest step between field numbers that fits into one byte with the type
CODES: Final[Mapping[str, frozenset[int]]] = {
    "bool": frozenset({_TRUE, _FALSE}),
    "i8": frozenset({3}),
    "i16": frozenset({4}),
    "i32": frozenset({5}),
    "i64": frozenset({6}),
    "bytes": frozenset({8}),
    "list": frozenset({9}),
    "struct": frozenset({12}),
}


def not_readable(where: str) -> InputError:
    """The error for bytes that are no Parquet file."""
    return InputError(
        f"{where} is not a readable Parquet file (truncated or another format); fetch or write it again"
    )


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field; kind, items: keys of CODES."""

    name: str
    kind: str
    of: "Shape | None" = None  # the structure of a struct or items
    items: str = "struct"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The fields of a structure by number."""

    name: str
    fields: Mapping[int, Field]


@dataclass(eq=False)
class Source:
    """Bytes and a place; raises InputError where they are cut or invalid."""

    content: Any
    where: str
    at: int = 0

    def byte(self) -> int:
        """The next byte."""
        if self.at >= len(self.content):
            raise self.broken()
        value: int = self.content[self.at]
        self.at += 1
        return value

    def unsigned(self) -> int:
        """An unsigned number of 64 bits, in its shortest form."""
        value = shift = 0
        for _ in range(_MOST_DIGITS):
            digit = self.byte()
            value |= (digit & 0x7F) << shift
            if digit < 0x80:
                if digit == 0 and shift:
                    raise self.broken()
                return value
            shift += 7
        raise self.broken()

    def signed(self) -> int:
        """A signed number (zigzag)."""
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)

    def byte_string(self) -> bytes:
        """Bytes after their length."""
        length = self.unsigned()
        if length > len(self.content) - self.at:
            raise self.broken()
        self.at += length
        return bytes(self.content[self.at - length : self.at])

    def broken(self) -> InputError:
        """The error to raise here."""
        return not_readable(self.where)


def read_struct(source: Source, shape: Shape) -> dict[str, Any]:
    """The fields by name; an unlisted one raises InputError."""
    values: dict[str, Any] = {}
    number = 0
    while (head := source.byte()) != 0:
        before = number
        number = before + (head >> 4) if head >> 4 else source.signed()
        if number <= before or (not head >> 4 and number - before <= _FARTHEST_STEP):
            raise source.broken()  # out of order, or longer than necessary
        field = shape.fields.get(number)
        if field is None:
            raise InputError(
                f"{source.where} has a field {number} in its {shape.name}, which shoal does not know "
                "and does not write; write the release again"
            )
        if head & 0x0F not in CODES[field.kind]:
            raise source.broken()
        values[field.name] = _value(source, field, head & 0x0F)
    return values


def _value(source: Source, field: Field, code: int) -> Any:
    match field.kind:
        case "bool":
            return code == _TRUE
        case "i8":
            return source.byte()
        case "i16" | "i32" | "i64":
            return source.signed()
        case "bytes":
            return source.byte_string()
        case "list":
            return _items(source, field)
        case _:
            assert field.of is not None  # noqa: S101  (the lists of fields say so)
            return read_struct(source, field.of)


def _items(source: Source, field: Field) -> list[Any]:
    head = source.byte()
    size = head >> 4 if head >> 4 != _LONG_LIST else source.unsigned()
    if head >> 4 == _LONG_LIST and size < _LONG_LIST:
        raise source.broken()
    if head & 0x0F not in CODES[field.items]:
        raise source.broken()
    # each item takes at least a byte, so a false size ends with the bytes
    if field.of is not None:
        return [read_struct(source, field.of) for _ in range(size)]
    return [source.byte_string() if field.items == "bytes" else source.signed() for _ in range(size)]


def _shape(name: str, fields: str, **structures: Shape) -> Shape:
    """Read ``1 i32 type, 2 [bytes] path, 3 data``: a number, a kind (none for a structure), and a name.

    Brackets mean a list; structures: the shapes of fields without a kind, by the field's name.
    """
    by_number = {}
    for text in fields.split(", "):
        number, *kind, field = re.sub(r"[\[\]]", "", text).split()
        by_number[int(number)] = Field(
            name=field,
            kind="list" if "[" in text else kind[0] if kind else "struct",
            of=None if kind else structures[field],
            items=kind[0] if kind else "struct",
        )
    return Shape(name=name, fields=by_number)


_NOTHING: Final = Shape(name="mark", fields={})
_UNIT: Final = _shape(
    "unit of time", "1 milliseconds, 2 microseconds, 3 nanoseconds",
    milliseconds=_NOTHING, microseconds=_NOTHING, nanoseconds=_NOTHING,
)  # fmt: skip
_INSTANT: Final = _shape("type of times", "1 bool utc, 2 unit", unit=_UNIT)
_WHOLE: Final = _shape("type of whole numbers", "1 i8 bits, 2 bool signed")
_LOGICAL: Final = _shape(
    "type of a column", "1 text, 2 map, 3 list, 8 instant, 10 whole",
    text=_NOTHING, map=_NOTHING, list=_NOTHING, instant=_INSTANT, whole=_WHOLE,
)  # fmt: skip
_SCHEMA: Final = _shape(
    "schema",
    "1 i32 type, 2 i32 type_length, 3 i32 repetition, 4 bytes name, 5 i32 children, 6 i32 converted_type, "
    "7 i32 scale, 8 i32 precision, 9 i32 field_id, 10 logical_type",
    logical_type=_LOGICAL,
)
_STATISTICS: Final = _shape(
    "statistics",
    "1 bytes max, 2 bytes min, 3 i64 nulls, 4 i64 distinct, 5 bytes max_value, 6 bytes min_value, "
    "7 bool max_exact, 8 bool min_exact",
)
_PAIR: Final = _shape("metadata", "1 bytes key, 2 bytes value")
_SIZES: Final = _shape(
    "statistics of sizes", "1 i64 bytes, 2 [i64] repetition_levels, 3 [i64] definition_levels"
)
_ENCODING_COUNT: Final = _shape("count of encodings", "1 i32 page_type, 2 i32 encoding, 3 i32 pages")
_CHUNK_DATA: Final = _shape(
    "metadata of a column",
    "1 i32 type, 2 [i32] encodings, 3 [bytes] path, 4 i32 codec, 5 i64 values, 6 i64 uncompressed, "
    "7 i64 compressed, 8 [pairs], 9 i64 data_page_offset, 10 i64 index_page_offset, "
    "11 i64 dictionary_page_offset, 12 statistics, 13 [encoding_counts], 14 i64 bloom_filter_offset, "
    "15 i32 bloom_filter_length, 16 sizes",
    pairs=_PAIR, statistics=_STATISTICS, encoding_counts=_ENCODING_COUNT, sizes=_SIZES,
)  # fmt: skip
_CHUNK: Final = _shape(
    "column",
    "1 bytes file_path, 2 i64 file_offset, 3 data, 4 i64 offset_index_offset, 5 i32 offset_index_length, "
    "6 i64 column_index_offset, 7 i32 column_index_length, 9 bytes encrypted",
    data=_CHUNK_DATA,
)
_SORTING: Final = _shape("order of rows", "1 i32 column, 2 bool descending, 3 bool nulls_first")
_ROW_GROUP: Final = _shape(
    "group of rows",
    "1 [chunks], 2 i64 bytes, 3 i64 rows, 4 [sorting], 5 i64 file_offset, 6 i64 compressed, 7 i16 ordinal",
    chunks=_CHUNK, sorting=_SORTING,
)  # fmt: skip
_ORDER: Final = _shape("order of values", "1 by_type", by_type=_NOTHING)
FOOTER: Final = _shape(
    "footer",
    "1 i32 version, 2 [schema], 3 i64 rows, 4 [row_groups], 5 [pairs], 6 bytes created_by, 7 [orders]",
    schema=_SCHEMA, row_groups=_ROW_GROUP, pairs=_PAIR, orders=_ORDER,
)  # fmt: skip
_DATA_PAGE: Final = _shape(
    "header of a data page",
    "1 i32 values, 2 i32 encoding, 3 i32 definition_levels, 4 i32 repetition_levels, 5 statistics",
    statistics=_STATISTICS,
)
_DICTIONARY_PAGE: Final = _shape("header of a dictionary", "1 i32 values, 2 i32 encoding, 3 bool sorted")
PAGE: Final = _shape(
    "header of a page",
    "1 i32 type, 2 i32 uncompressed, 3 i32 compressed, 4 i32 crc, 5 data, 7 dictionary",
    data=_DATA_PAGE, dictionary=_DICTIONARY_PAGE,
)  # fmt: skip
