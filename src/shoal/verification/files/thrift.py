"""The compact protocol of Apache Thrift, as far as the footer and the page headers of a Parquet file use it.

Every structure is read by a literal list of the fields that it may have. What stands there besides is told
and not skipped, so that nothing can hide in a field that readers pass over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.errors import InputError

_MOST_DIGITS: Final = 10  # bytes of a whole number of 64 bits
_TRUE, _FALSE = 1, 2
_LONG_LIST: Final = 15
_FARTHEST_STEP: Final = 15  # from the number of one field to that of the next, in one byte with its type
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
    """One field that a structure may have.

    kind, items: of the value, and of the items of a list, a key of CODES. of: the structure of a struct, or
    of the items of a list.
    """

    name: str
    kind: str
    of: "Shape | None" = None
    items: str = "struct"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The fields of a structure by their number."""

    name: str
    fields: Mapping[int, Field]


@dataclass(eq=False)
class Source:
    """Bytes under examination and the place reached in them.

    Raises InputError where they end early or are no such structure.
    """

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

    def whole(self) -> int:
        """A number of 64 bits without sign; raises for one that is written longer than it must be."""
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
        """A number with sign, in zigzag order."""
        value = self.whole()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> bytes:
        """Bytes after their length."""
        length = self.whole()
        if length > len(self.content) - self.at:
            raise self.broken()
        self.at += length
        return bytes(self.content[self.at - length : self.at])

    def broken(self) -> InputError:
        """The error to raise here."""
        return not_readable(self.where)


def read_struct(source: Source, shape: Shape) -> dict[str, Any]:
    """The fields of a structure by name; a field that its list lacks ends the reading with an error."""
    found: dict[str, Any] = {}
    number = 0
    while (head := source.byte()) != 0:
        before = number
        number = before + (head >> 4) if head >> 4 else source.signed()
        if number <= before or (not head >> 4 and number - before <= _FARTHEST_STEP):
            raise source.broken()  # out of order, or written longer than it must be
        known = shape.fields.get(number)
        if known is None:
            raise InputError(
                f"{source.where} has a field {number} in its {shape.name}, which shoal does not know "
                "and does not write; write the release again"
            )
        if head & 0x0F not in CODES[known.kind]:
            raise source.broken()
        found[known.name] = _value(source, known, head & 0x0F)
    return found


def _value(source: Source, known: Field, code: int) -> Any:
    match known.kind:
        case "bool":
            return code == _TRUE
        case "i8":
            return source.byte()
        case "i16" | "i32" | "i64":
            return source.signed()
        case "bytes":
            return source.text()
        case "list":
            return _items(source, known)
        case _:
            assert known.of is not None  # noqa: S101  (the lists of fields say so)
            return read_struct(source, known.of)


def _items(source: Source, known: Field) -> list[Any]:
    head = source.byte()
    size = head >> 4 if head >> 4 != _LONG_LIST else source.whole()
    if head >> 4 == _LONG_LIST and size < _LONG_LIST:
        raise source.broken()
    if head & 0x0F not in CODES[known.items]:
        raise source.broken()
    # however many there are said to be, each takes a byte at least, and reading ends with the bytes
    if known.of is not None:
        return [read_struct(source, known.of) for _ in range(size)]
    return [source.text() if known.items == "bytes" else source.signed() for _ in range(size)]


def _int(name: str) -> Field:
    return Field(name=name, kind="i32")


def _long(name: str) -> Field:
    return Field(name=name, kind="i64")


def _bytes(name: str) -> Field:
    return Field(name=name, kind="bytes")


def _bool(name: str) -> Field:
    return Field(name=name, kind="bool")


def _one(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="struct", of=shape)


def _some(name: str, shape: Shape) -> Field:
    return Field(name=name, kind="list", of=shape)


def _plain(name: str, items: str) -> Field:
    return Field(name=name, kind="list", items=items)


_NOTHING: Final = Shape(name="mark", fields={})
_UNIT: Final = Shape(
    name="unit of time",
    fields={
        1: _one("milliseconds", _NOTHING),
        2: _one("microseconds", _NOTHING),
        3: _one("nanoseconds", _NOTHING),
    },
)
_INSTANT: Final = Shape(name="type of times", fields={1: _bool("utc"), 2: _one("unit", _UNIT)})
_WHOLE: Final = Shape(
    name="type of whole numbers", fields={1: Field(name="bits", kind="i8"), 2: _bool("signed")}
)
_LOGICAL: Final = Shape(
    name="type of a column",
    fields={
        1: _one("text", _NOTHING),
        2: _one("map", _NOTHING),
        3: _one("list", _NOTHING),
        8: _one("instant", _INSTANT),
        10: _one("whole", _WHOLE),
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
        10: _one("logical_type", _LOGICAL),
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
    fields={1: _long("bytes"), 2: _plain("repetition_levels", "i64"), 3: _plain("definition_levels", "i64")},
)
_ENCODING_COUNT: Final = Shape(
    name="count of encodings", fields={1: _int("page_type"), 2: _int("encoding"), 3: _int("pages")}
)
_CHUNK_DATA: Final = Shape(
    name="metadata of a column",
    fields={
        1: _int("type"),
        2: _plain("encodings", "i32"),
        3: _plain("path", "bytes"),
        4: _int("codec"),
        5: _long("values"),
        6: _long("uncompressed"),
        7: _long("compressed"),
        8: _some("pairs", _PAIR),
        9: _long("data_page_offset"),
        10: _long("index_page_offset"),
        11: _long("dictionary_page_offset"),
        12: _one("statistics", _STATISTICS),
        13: _some("encoding_counts", _ENCODING_COUNT),
        14: _long("bloom_filter_offset"),
        15: _int("bloom_filter_length"),
        16: _one("sizes", _SIZES),
    },
)
_CHUNK: Final = Shape(
    name="column",
    fields={
        1: _bytes("file_path"),
        2: _long("file_offset"),
        3: _one("data", _CHUNK_DATA),
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
        1: _some("chunks", _CHUNK),
        2: _long("bytes"),
        3: _long("rows"),
        4: _some("sorting", _SORTING),
        5: _long("file_offset"),
        6: _long("compressed"),
        7: Field(name="ordinal", kind="i16"),
    },
)
_ORDER: Final = Shape(name="order of values", fields={1: _one("by_type", _NOTHING)})
FOOTER: Final = Shape(
    name="footer",
    fields={
        1: _int("version"),
        2: _some("schema", _SCHEMA),
        3: _long("rows"),
        4: _some("row_groups", _ROW_GROUP),
        5: _some("pairs", _PAIR),
        6: _bytes("created_by"),
        7: _some("orders", _ORDER),
    },
)
_DATA_PAGE: Final = Shape(
    name="header of a data page",
    fields={
        1: _int("values"),
        2: _int("encoding"),
        3: _int("definition_levels"),
        4: _int("repetition_levels"),
        5: _one("statistics", _STATISTICS),
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
        5: _one("data", _DATA_PAGE),
        7: _one("dictionary", _DICTIONARY_PAGE),
    },
)
