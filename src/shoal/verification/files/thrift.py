"""Read footers and page headers of Parquet (Thrift, Apache Parquet 2.12)."""

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


def _int(name: str) -> Field:
    return Field(name=name, kind="i32")


def _long(name: str) -> Field:
    return Field(name=name, kind="i64")


def _bytes(name: str) -> Field:
    return Field(name=name, kind="bytes")


def _bool(name: str) -> Field:
    return Field(name=name, kind="bool")


def _struct(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="struct", of=shape)


def _struct_list(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="list", of=shape)


def _plain_list(name: str, items: str) -> Field:
    return Field(name=name, kind="list", items=items)


_NOTHING: Final = Shape(name="mark", fields={})
_UNIT: Final = Shape(
    name="unit of time",
    fields={
        1: _struct("milliseconds", _NOTHING),
        2: _struct("microseconds", _NOTHING),
        3: _struct("nanoseconds", _NOTHING),
    },
)
_INSTANT: Final = Shape(name="type of times", fields={1: _bool("utc"), 2: _struct("unit", _UNIT)})
_WHOLE: Final = Shape(
    name="type of whole numbers", fields={1: Field(name="bits", kind="i8"), 2: _bool("signed")}
)
_LOGICAL: Final = Shape(
    name="type of a column",
    fields={
        1: _struct("text", _NOTHING),
        2: _struct("map", _NOTHING),
        3: _struct("list", _NOTHING),
        8: _struct("instant", _INSTANT),
        10: _struct("whole", _WHOLE),
    },
)
_SCHEMA: Final = Shape(
    name="schema",
    fields={
        1: _int("type"),
        2: _int("type_length"),
        3: _int("repetition"),
        4: _bytes("name"),
        5: _int("children"),
        6: _int("converted_type"),
        7: _int("scale"),
        8: _int("precision"),
        9: _int("field_id"),
        10: _struct("logical_type", _LOGICAL),
    },
)
_STATISTICS: Final = Shape(
    name="statistics",
    fields={
        1: _bytes("max"),
        2: _bytes("min"),
        3: _long("nulls"),
        4: _long("distinct"),
        5: _bytes("max_value"),
        6: _bytes("min_value"),
        7: _bool("max_exact"),
        8: _bool("min_exact"),
    },
)
_PAIR: Final = Shape(name="metadata", fields={1: _bytes("key"), 2: _bytes("value")})
_SIZES: Final = Shape(
    name="statistics of sizes",
    fields={
        1: _long("bytes"),
        2: _plain_list("repetition_levels", "i64"),
        3: _plain_list("definition_levels", "i64"),
    },
)
_ENCODING_COUNT: Final = Shape(
    name="count of encodings", fields={1: _int("page_type"), 2: _int("encoding"), 3: _int("pages")}
)
_CHUNK_DATA: Final = Shape(
    name="metadata of a column",
    fields={
        1: _int("type"),
        2: _plain_list("encodings", "i32"),
        3: _plain_list("path", "bytes"),
        4: _int("codec"),
        5: _long("values"),
        6: _long("uncompressed"),
        7: _long("compressed"),
        8: _struct_list("pairs", _PAIR),
        9: _long("data_page_offset"),
        10: _long("index_page_offset"),
        11: _long("dictionary_page_offset"),
        12: _struct("statistics", _STATISTICS),
        13: _struct_list("encoding_counts", _ENCODING_COUNT),
        14: _long("bloom_filter_offset"),
        15: _int("bloom_filter_length"),
        16: _struct("sizes", _SIZES),
    },
)
_CHUNK: Final = Shape(
    name="column",
    fields={
        1: _bytes("file_path"),
        2: _long("file_offset"),
        3: _struct("data", _CHUNK_DATA),
        4: _long("offset_index_offset"),
        5: _int("offset_index_length"),
        6: _long("column_index_offset"),
        7: _int("column_index_length"),
        9: _bytes("encrypted"),
    },
)
_SORTING: Final = Shape(
    name="order of rows", fields={1: _int("column"), 2: _bool("descending"), 3: _bool("nulls_first")}
)
_ROW_GROUP: Final = Shape(
    name="group of rows",
    fields={
        1: _struct_list("chunks", _CHUNK),
        2: _long("bytes"),
        3: _long("rows"),
        4: _struct_list("sorting", _SORTING),
        5: _long("file_offset"),
        6: _long("compressed"),
        7: Field(name="ordinal", kind="i16"),
    },
)
_ORDER: Final = Shape(name="order of values", fields={1: _struct("by_type", _NOTHING)})
FOOTER: Final = Shape(
    name="footer",
    fields={
        1: _int("version"),
        2: _struct_list("schema", _SCHEMA),
        3: _long("rows"),
        4: _struct_list("row_groups", _ROW_GROUP),
        5: _struct_list("pairs", _PAIR),
        6: _bytes("created_by"),
        7: _struct_list("orders", _ORDER),
    },
)
_DATA_PAGE: Final = Shape(
    name="header of a data page",
    fields={
        1: _int("values"),
        2: _int("encoding"),
        3: _int("definition_levels"),
        4: _int("repetition_levels"),
        5: _struct("statistics", _STATISTICS),
    },
)
_DICTIONARY_PAGE: Final = Shape(
    name="header of a dictionary", fields={1: _int("values"), 2: _int("encoding"), 3: _bool("sorted")}
)
PAGE: Final = Shape(
    name="header of a page",
    fields={
        1: _int("type"),
        2: _int("uncompressed"),
        3: _int("compressed"),
        4: _int("crc"),
        5: _struct("data", _DATA_PAGE),
        7: _struct("dictionary", _DICTIONARY_PAGE),
    },
)
