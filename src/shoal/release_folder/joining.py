"""Join Parquet files to the bytes of one writer: pages are copied, offsets moved."""

import struct
from collections.abc import Iterator, Sequence
from os import SEEK_END
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from shoal.errors import InputError

GROUPS_PER_PART: Final = 4  # some four million rows
_NO_FILE: Final = (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError, AssertionError)
MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the footer's length and the magic number
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12
# fields of the footer, of its schema, of a group of rows, of a column's chunk and of its metadata
# (parquet.thrift)
_SCHEMA, _ROWS, _GROUPS, _PAIRS, _ORDERS = 2, 3, 4, 5, 7
_CHILDREN = 5
_COLUMNS, _SIZE, _GROUP_ROWS, _GROUP_OFFSET, _PACKED_SIZE, _ORDINAL = 1, 2, 3, 5, 6, 7
_CHUNK_OFFSET, _CHUNK_DATA = 2, 3
_DATA, _INDEX, _DICTIONARY = 9, 10, 11
_PAGE_OFFSETS: Final = (_DATA, _INDEX, _DICTIONARY)


class Value(NamedTuple):
    """A number, bytes, a dict of fields, or a list; with its type."""

    kind: int
    value: Any
    inner: int = 0


def join_files(parts: Sequence[Path], target: BinaryIO, pairs: dict[bytes, bytes]) -> None:
    """Join row groups of equal columns into one file with metadata ``pairs``."""
    target.write(MAGIC)
    at, groups, n_rows = len(MAGIC), list[Value](), 0
    footer: dict[int, Value] = {}
    for part in parts:
        pages, code = split_file(memoryview(part.read_bytes()))
        footer = _Reader(code, 0).struct()
        for group in footer[_GROUPS].value:
            groups.append(_move_group(group, at - len(MAGIC), len(groups)))
        n_rows += footer[_ROWS].value
        target.write(pages)
        at += len(pages)
    footer[_ROWS] = Value(_I64, n_rows)
    footer[_GROUPS] = Value(_LIST, groups, _STRUCT)
    target.write(file_tail(_encode_footer(footer, pairs)))


class Piece(NamedTuple):
    """Row groups of a file: pages from begin to before end, and a tail that makes them a file."""

    begin: int
    end: int
    tail: bytes


def split_pieces(whole: Path, n_groups: int) -> Iterator[Piece]:
    """Split a file into pieces of n_groups row groups, which ``join_files`` joins."""
    with whole.open("rb") as file:
        ending = file.seek(max(file.seek(0, SEEK_END) - _TAIL, 0))
        size = int.from_bytes(file.read(4), "little")
        file.seek(max(ending - size, 0))
        footer = _Reader(file.read(size), 0).struct()
    groups = footer[_GROUPS].value
    starts = [*map(_first_page, groups), ending - size]
    for first in range(0, len(groups), n_groups):
        piece_groups = groups[first : first + n_groups]
        begin, end = starts[first], starts[first + len(piece_groups)]
        moved = [_move_group(group, len(MAGIC) - begin, number) for number, group in enumerate(piece_groups)]
        n_rows = sum(group.value[_GROUP_ROWS].value for group in piece_groups)
        fields = footer | {_ROWS: Value(_I64, n_rows), _GROUPS: Value(_LIST, moved, _STRUCT)}
        yield Piece(begin, end, file_tail(_encode_footer(fields, {})))


def _first_page(group: Value) -> int:
    data = group.value[_COLUMNS].value[0].value[_CHUNK_DATA].value
    where: int = data[_DICTIONARY if _DICTIONARY in data else _DATA].value
    return where


def split_file(content: memoryview) -> tuple[memoryview, bytes]:
    """(pages, footer) of a file."""
    end = len(content) - _TAIL - int.from_bytes(content[-_TAIL:-4], "little")
    return content[len(MAGIC) : end], bytes(content[end:-_TAIL])


def file_tail(footer: bytes) -> bytes:
    """A footer and what follows it in a file."""
    return footer + len(footer).to_bytes(4, "little") + MAGIC


class ColumnFile(NamedTuple):
    """A file of one column and at most one row group: its footer, and how far its pages move."""

    footer: bytes
    moved: int


def footer_of_columns(groups: Sequence[Sequence[ColumnFile]], pairs: dict[bytes, bytes]) -> bytes:
    """The footer of a file with the pages of all columns."""
    footers = [[_Reader(file.footer, 0).struct() for file in files] for files in groups]
    first = footers[0]
    footer = dict(first[0])
    root = dict(footer[_SCHEMA].value[0].value)
    root[_CHILDREN] = Value(_I32, len(first))
    below = [element for one in first for element in one[_SCHEMA].value[1:]]
    footer[_SCHEMA] = Value(_LIST, [Value(_STRUCT, root), *below], _STRUCT)
    footer[_ROWS] = Value(_I64, sum(files[0][_ROWS].value for files in footers))
    together = []
    for number, (files, read) in enumerate(zip(groups, footers, strict=True)):
        for parts in zip(*(one[_GROUPS].value for one in read), strict=True):
            parts_and_files = zip(parts, files, strict=True)
            together.append(
                _join_columns([_move_group(part, file.moved, number) for part, file in parts_and_files])
            )
    footer[_GROUPS] = Value(_LIST, together, _STRUCT)
    footer[_ORDERS] = Value(_LIST, [order for one in first for order in one[_ORDERS].value], _STRUCT)
    return _encode_footer(footer, pairs)


def _join_columns(parts: Sequence[Value]) -> Value:
    fields = dict(parts[0].value)
    chunks = [chunk for part in parts for chunk in part.value[_COLUMNS].value]
    fields[_COLUMNS] = Value(_LIST, chunks, _STRUCT)
    for size in (_SIZE, _PACKED_SIZE):
        fields[size] = Value(_I64, sum(part.value[size].value for part in parts))
    return Value(_STRUCT, fields)


def _encode_footer(footer: dict[int, Value], pairs: dict[bytes, bytes]) -> bytes:
    if pairs:
        texts = [{1: Value(_BINARY, key), 2: Value(_BINARY, text)} for key, text in pairs.items()]
        footer[_PAIRS] = Value(_LIST, [Value(_STRUCT, pair) for pair in texts], _STRUCT)
    written = bytearray()
    _write(written, Value(_STRUCT, footer))
    return bytes(written)


def _move_group(group: Value, by: int, ordinal: int) -> Value:
    fields = dict(group.value)
    chunks = []
    for chunk in fields[_COLUMNS].value:
        chunk_fields = dict(chunk.value)
        _move_offset(chunk_fields, _CHUNK_OFFSET, by)
        chunk_fields[_CHUNK_DATA] = Value(_STRUCT, dict(chunk_fields[_CHUNK_DATA].value))
        for field in _PAGE_OFFSETS:
            _move_offset(chunk_fields[_CHUNK_DATA].value, field, by)
        chunks.append(Value(_STRUCT, chunk_fields))
    fields[_COLUMNS] = Value(_LIST, chunks, _STRUCT)
    _move_offset(fields, _GROUP_OFFSET, by)
    if _ORDINAL in fields:
        fields[_ORDINAL] = Value(_I16, ordinal)
    return Value(_STRUCT, fields)


def _move_offset(fields: dict[int, Value], field: int, by: int) -> None:
    if field in fields and fields[field].value:  # 0 is no offset
        fields[field] = Value(_I64, fields[field].value + by)


class _Reader:
    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def struct(self) -> dict[int, Value]:
        fields: dict[int, Value] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._signed()
            fields[field] = self._value(head & 15)
        return fields

    def _value(self, kind: int) -> Value:
        value: Any = None  # booleans are encoded in their type
        inner = 0
        if kind == _BYTE:
            value = self._byte()
        elif kind in {_I16, _I32, _I64}:
            value = self._signed()
        elif kind == _DOUBLE:
            value = self._bytes(8)
        elif kind == _BINARY:
            value = self._bytes(self._number())
        elif kind == _STRUCT:
            value = self.struct()
        elif kind == _LIST:
            head = self._byte()
            n, inner = head >> 4 if head >> 4 < 15 else self._number(), head & 15
            item_kind = _BYTE if inner in {_TRUE, _FALSE} else inner
            value = [self._value(item_kind) for _ in range(n)]
        elif kind not in {_TRUE, _FALSE}:
            raise AssertionError(f"a footer that pyarrow wrote holds no values of type {kind}")
        return Value(kind, value, inner)

    def _bytes(self, n: int) -> bytes:
        self._at += n
        if self._at > len(self._content):
            raise ValueError("a footer ends amid a value")
        return self._content[self._at - n : self._at]

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _number(self) -> int:
        number, shift = 0, 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def _signed(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)


def _write(out: bytearray, value: Value) -> None:
    kind, content = value.kind, value.value
    if kind == _BYTE:
        out.append(content)
    elif kind in {_I16, _I32, _I64}:
        _write_number(out, content << 1 if content >= 0 else ~(content << 1))
    elif kind == _DOUBLE:
        out += content
    elif kind == _BINARY:
        _write_number(out, len(content))
        out += content
    elif kind == _LIST:
        out.append(min(len(content), 15) << 4 | value.inner)
        if len(content) >= 15:
            _write_number(out, len(content))
        for item in content:
            _write(out, item)
    elif kind == _STRUCT:
        before = 0
        for field in sorted(content):
            if field - before < 16:
                out.append((field - before) << 4 | content[field].kind)
            else:
                out.append(content[field].kind)
                _write(out, Value(_I16, field))
            _write(out, content[field])
            before = field
        out.append(0)


def _write_number(out: bytearray, number: int) -> None:
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def split_table(table: Path, folder: Path) -> None:
    """Write the parts of a table into a new folder; always the same parts."""
    folder.mkdir()
    for name, content in _parts_of(table):
        (folder / name).write_bytes(content)


def join_table(folder: Path, table: Path) -> list[str]:
    """Join the parts in a folder; return the names of other files."""
    parts = sorted(folder.glob("part-*.parquet"))
    if not parts:
        raise InputError(f"{folder} holds no part of a table; fetch or write it again")
    try:
        with table.open("wb") as target:
            join_files(parts, target, {})
    except (*_NO_FILE, RecursionError, MemoryError, struct.error) as error:
        raise _not_a_table(folder) from error
    right = {name for name, content in _parts_of(table) if _has_content(folder / name, content)}
    return sorted(path.name for path in folder.iterdir() if path.name not in right)


def _parts_of(table: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with table.open("rb") as file:
            for number, piece in enumerate(split_pieces(table, GROUPS_PER_PART)):
                file.seek(piece.begin)
                yield f"part-{number:05}.parquet", MAGIC + file.read(piece.end - piece.begin) + piece.tail
    except (*_NO_FILE, RecursionError, MemoryError, struct.error) as error:
        raise _not_a_table(table) from error


def _has_content(path: Path, content: bytes) -> bool:
    return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content


def _not_a_table(path: Path) -> InputError:
    return InputError(f"{path} is not the table of a release; fetch or write it again")
