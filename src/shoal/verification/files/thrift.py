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
