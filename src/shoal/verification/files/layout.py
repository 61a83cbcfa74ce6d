"""Whether every byte of a Parquet file is accounted for by the rows that readers of it see.

A reader passes over much: values of a dictionary that no row uses, statistics, indexes, pages behind the last
row, bytes between pages and footer. Whatever stands there is published all the same. So the file is walked
from its first byte to its last, and what is neither structure nor a value of a row is a finding. Sizes that
the file states are held against the bytes that are there before anything is read by them.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from shoal.errors import InputError
from shoal.model.verdicts import Finding
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.runtime.json_values import require_unique_keys
from shoal.runtime.run import Run
from shoal.verification.files.pages import (
    PHYSICAL,
    Chunk,
    broken,
    column_faults,
    page_faults,
    schema_faults,
    unpacked,
)
from shoal.verification.files.thrift import FOOTER, PAGE, Source, read_struct

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the footer's length, and the mark again
_CODECS: Final = {0: None, 1: "snappy", 6: "zstd"}
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_FREE_ROWS: Final = 1 << 20
_ROWS_PER_BYTE: Final = 8  # a row of a sound release takes two bytes at least
_FREE_BYTES: Final = 1 << 28
_BYTES_PER_BYTE: Final = 256  # how far sound pages are compressed, and then some
_GEO_KEYS: Final = (["version", "primary_column", "columns"], ["encoding", "geometry_types", "bbox"])
_WRITER: Final = re.compile(rb"[A-Za-z0-9 .()_+-]{0,100}")
# parts of a column's account that readers find elsewhere in the file, and that shoal does not write
_ELSEWHERE: Final = (
    "file_path",
    "offset_index_offset",
    "offset_index_length",
    "column_index_offset",
    "column_index_length",
    "encrypted",
    "pairs",
    "index_page_offset",
    "bloom_filter_offset",
    "bloom_filter_length",
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Layout:
    """What a file's footer says of some of its groups of rows, and what was found beside them so far.

    columns: by name, and whether each may have gaps. groups: as the footer describes them; number: of the
    first. start, end: where their pages begin, and where those of the whole file end.
    """

    columns: dict[str, bool]
    groups: list[dict[str, Any]]
    number: int
    start: int
    end: int
    found: tuple[str, ...]

    def of(self, first: int, behind: int) -> "Layout":
        """Some groups alone, whose pages begin where the footer says; nothing was found there so far."""
        groups = self.groups[first:behind]
        try:
            start = _first_page(groups[0]["chunks"][0]["data"])
        except (KeyError, IndexError) as error:
            raise broken() from error
        if not isinstance(start, int) or not len(_MAGIC) <= start < self.end:
            raise broken()
        return replace(self, groups=groups, number=first, start=start, found=())


@dataclass(frozen=True, kw_only=True)
class Walked:
    """The bytes of some groups, from the first to behind the last, and what they hold beside rows.

    text_bytes: of all texts that their rows have, which a dictionary holds once.
    """

    start: int
    end: int
    found: tuple[str, ...]
    text_bytes: int


def layout_findings(content: Any, run: Run | None = None) -> list[Finding]:
    """What the bytes of a table's file hold beside its rows; content: all of them, as bytes or mapped.

    Raises InputError when it is no Parquet file, has nested columns, or would unpack to far more than such a
    file can honestly hold.
    """
    layout = layout_of(content)
    if run is None or run.threads == 1 or len(layout.groups) < 2:
        return hidden_in([walked(content, layout)], layout)
    parts = [layout.of(group, group + 1) for group in range(len(layout.groups))]
    return hidden_in(run.map(partial(walked, content), parts), layout)


def layout_of(content: Any) -> Layout:
    """What the footer says, and what it holds beside that; raises as ``layout_findings``."""
    walk = _Walk(content)
    footer = walk.footer()
    columns = _columns(footer)
    if not _WRITER.fullmatch(footer.get("created_by", b"")):
        walk.find("more under the name of its writer than a name")
    for what in schema_faults(footer, len(columns)):
        walk.find(what)
    _require_honest_size(len(content), footer)
    walk.about_metadata(footer, drawn="geometry" in columns)
    return Layout(
        columns=columns,
        groups=footer.get("row_groups", []),
        number=0,
        start=len(_MAGIC),
        end=walk.end,
        found=tuple(walk.found),
    )


def walked(content: Any, layout: Layout) -> Walked:
    """Walk the groups of a layout from their first byte to their last; raises as ``layout_findings``."""
    walk = _Walk(content, at=layout.start, end=layout.end)
    for number, group in enumerate(layout.groups, start=layout.number):
        if len(group.get("chunks", [])) != len(layout.columns):
            raise broken()
        first = walk.at
        for (name, optional), chunk in zip(layout.columns.items(), group["chunks"], strict=True):
            walk.chunk(name, chunk, int(group.get("rows", -1)), optional=optional)
        walk.about_group(number, group, first)
    return Walked(start=layout.start, end=walk.at, found=tuple(walk.found), text_bytes=walk.text_bytes)


def hidden_in(parts: Iterable[Walked], layout: Layout) -> list[Finding]:
    """What a whole file holds beside its rows, when these parts of it were walked, which must be all.

    Raises InputError when one does not begin where the one before has ended, or for texts as
    ``layout_findings``.
    """
    found, at, text_bytes = list(layout.found), layout.start, 0
    for part in parts:
        if part.start != at:
            raise _apart()
        found += part.found
        at = part.end
        text_bytes += part.text_bytes
    _require_honest_texts(layout.end, text_bytes)
    if at != layout.end:
        found.append(f"{layout.end - at} bytes between its pages and its footer")
    return [Finding("hidden-bytes", f"{RELEASE_FILE} holds {what}") for what in dict.fromkeys(found)]


def _first_page(data: dict[str, Any]) -> Any:
    """Where a column's pages begin, as its account says."""
    return data.get("dictionary_page_offset", data.get("data_page_offset"))


def _apart() -> InputError:
    return InputError(f"the pages of {RELEASE_FILE} do not follow each other; write the release again")


def _columns(footer: dict[str, Any]) -> dict[str, bool]:
    """The names of the columns, and whether each may have gaps; raises InputError for columns in columns."""
    schema = footer.get("schema", [])
    texts = [column.get("name", b"") for column in schema]
    if not all(_is_text(text) for text in (*texts, footer.get("created_by", b""))):
        raise broken()  # readers would fail at it, each in its own way
    columns = {
        column.get("name", b"").decode(): column.get("repetition") == 1
        for column in schema[1:]
        if not column.get("children") and column.get("repetition") in {0, 1}
    }
    if len(columns) != len(schema) - 1 or schema[0].get("children") != len(columns):
        raise InputError(
            f"{RELEASE_FILE} has columns inside columns, or two columns of one name; write the release again"
        )
    return columns


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _require_honest_size(size: int, footer: dict[str, Any]) -> None:
    """Raise InputError when rows or pages would unpack to far more than the file's bytes can hold."""
    rows, groups = footer.get("rows", -1), footer.get("row_groups", [])
    rows_of = [group.get("rows", -1) for group in groups]
    sizes = [
        chunk.get("data", {}).get("uncompressed", 0) for group in groups for chunk in group.get("chunks", [])
    ]
    if rows != sum(rows_of) or min((rows, *rows_of, *sizes)) < 0:
        raise broken()
    unpacked = sum(sizes)
    if rows > _FREE_ROWS + _ROWS_PER_BYTE * size or unpacked > _most_bytes(size):
        raise InputError(
            f"{RELEASE_FILE} has {size:,} bytes and would unpack to {rows:,} rows, more than such a file can "
            "honestly hold; write the release again"
        )


def _require_honest_texts(size: int, text_bytes: int) -> None:
    """The same of texts in so many bytes: each row gets one of its own once it is read."""
    if text_bytes > _most_bytes(size):
        raise InputError(
            f"{RELEASE_FILE} would unpack to texts of {text_bytes:,} bytes, more than such a file can "
            "honestly hold; write the release again"
        )


def _most_bytes(size: int) -> int:
    return _FREE_BYTES + _BYTES_PER_BYTE * size


@dataclass(eq=False)
class _Walk:
    """The place reached in a file, and what was found beside its rows, each kind once."""

    content: Any
    at: int = len(_MAGIC)
    end: int = 0
    found: list[str] = field(default_factory=list)
    text_bytes: int = 0

    def find(self, what: str) -> None:
        """Remember what was found."""
        if what not in self.found:
            self.found.append(what)

    def footer(self) -> dict[str, Any]:
        """What stands at the end of the file, which must be all of it."""
        size = len(self.content)
        if (
            size < len(_MAGIC) + _TAIL
            or bytes(self.content[:4]) != _MAGIC
            or bytes(self.content[-4:]) != _MAGIC
        ):
            raise broken()
        length = int.from_bytes(self.content[-_TAIL:-4], "little")
        self.end = size - _TAIL - length
        if self.end < len(_MAGIC):
            raise broken()
        source = Source(bytes(self.content[self.end : -_TAIL]), RELEASE_FILE)
        found = read_struct(source, FOOTER)
        if source.at != length:
            self.find(f"{length - source.at} bytes behind its footer")
        return found

    def about_metadata(self, footer: dict[str, Any], *, drawn: bool) -> None:
        """Only the description of the geometries, word for word as GeoParquet fixes it, belongs there.

        drawn: whether there are any.
        """
        keys = [pair.get("key") for pair in footer.get("pairs", [])]
        if [key for key in keys if key != b"geo"] or len(set(keys)) < len(keys):
            self.find("metadata other than that of the geometries")
        for pair in footer.get("pairs", []):
            if pair.get("key") == b"geo" and not (drawn and _is_geo(pair.get("value", b""))):
                self.find("more in the description of its geometries than GeoParquet asks for")

    def about_group(self, number: int, group: dict[str, Any], first: int) -> None:
        """Sizes are those of the pages, of which the first stands there; shoal writes no order of rows."""
        if "sorting" in group or group.get("ordinal", number) != number:
            self.find("an order of rows, or numbers of groups, that nobody needs")
        chunks = [chunk["data"] for chunk in group["chunks"]]
        told = group.get("bytes"), group.get("compressed", sum(data["compressed"] for data in chunks))
        if told != tuple(sum(data[name] for data in chunks) for name in ("uncompressed", "compressed")):
            self.find("sizes that are not those of its pages")
        if chunks and group.get("file_offset", first) not in {0, first}:
            self.find("sizes that are not those of its pages")

    def chunk(self, name: str, chunk: dict[str, Any], rows: int, *, optional: bool) -> None:
        """One column of one group of rows: a dictionary at most, then pages with so many rows."""
        data = chunk.get("data", {})
        if any(part in chunk or part in data for part in _ELSEWHERE):
            self.find("an index, a filter, metadata of a column or other parts that hold no rows")
        codec = data.get("codec")
        physical = PHYSICAL.get(data.get("type"))
        if codec not in _CODECS or physical is None or data.get("path") != [name.encode()]:
            raise InputError(
                f"a column of {RELEASE_FILE} is stored in a way that shoal does not write; write the release "
                "again"
            )
        first = _first_page(data)
        if chunk.get("file_offset", 0) not in {0, first}:
            self.find("sizes that are not those of its pages")
        if first != self.at:
            raise _apart()
        end = self.at + data.get("compressed", -1)
        if not self.at < end <= self.end:
            raise broken()
        pages = Chunk(physical, optional=optional, stated=_stated(data), tell=self.find)
        self._pages(end, pages, _CODECS[codec], data, rows)
        self.text_bytes += pages.n_bytes
        _require_honest_texts(data["compressed"], pages.n_bytes)
        for what in column_faults(data, pages):
            self.find(what)

    def _pages(self, end: int, chunk: Chunk, codec: str | None, data: dict[str, Any], rows: int) -> None:
        """All pages of a chunk, which must end where it says, with as many rows as its group has."""
        size = 0
        while self.at < end:
            source = Source(self.content, RELEASE_FILE, self.at)
            head = read_struct(source, PAGE)
            packed, unpacked_size = head.get("compressed", -1), head.get("uncompressed", -1)
            size += unpacked_size + source.at - self.at
            if not 0 <= packed <= end - source.at or unpacked_size < 0 or size > data.get("uncompressed", -1):
                raise broken()
            body = unpacked(
                bytes(self.content[source.at : source.at + packed]), unpacked_size, codec, self.find
            )
            self.at = source.at + packed
            if "crc" in head:
                self.find("checks of single pages")
            about = head.get("data", {})
            chunk.stated |= _stated(about)
            if head.get("type") == _DICTIONARY_PAGE and chunk.counts is None and not chunk.n_values:
                chunk.take_dictionary(body, head.get("dictionary", {}))
            elif head.get("type") == _DATA_PAGE and chunk.n_values < rows:
                n_gaps = chunk.take_page(body, about, rows - chunk.n_values)
                for what in page_faults(about, n_gaps):
                    self.find(what)
            else:
                self.find("pages that hold no rows")
        if chunk.n_values != rows or data.get("values") != rows or size != data.get("uncompressed"):
            raise broken()
        chunk.finish()


def _stated(account: dict[str, Any]) -> set[bytes]:
    """The values that statistics give."""
    statistics = account.get("statistics", {})
    return {statistics[name] for name in ("max", "min", "max_value", "min_value") if name in statistics}


def _is_geo(text: bytes) -> bool:
    """Whether a description of geometries is what shoal writes, to the letter; the bounds are any numbers.

    A number has one spelling there: behind the digits that count, any others could stand.
    """
    try:
        about = json.loads(text, object_pairs_hook=require_unique_keys)
        column = about["columns"]["geometry"]
        return (
            text == json.dumps(about).encode()
            and list(about) == _GEO_KEYS[0]
            and list(about["columns"]) == ["geometry"]
            and list(column) == _GEO_KEYS[1]
            and (about["version"], about["primary_column"]) == ("1.1.0", "geometry")
            and column["encoding"] == "WKB"
            and column["geometry_types"] in (["Polygon"], ["Point"])
            and [type(bound) for bound in column["bbox"]] == [float] * 4
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
