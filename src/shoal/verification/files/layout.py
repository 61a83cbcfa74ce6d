"""Check that every byte of a Parquet file is structure or a value of a row that readers see.

Readers ignore unused dictionary values, statistics, indexes and bytes between pages: these could hold
anything. Stated sizes are compared with the bytes first.
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
from shoal.release_folder.packing import geometry_pairs
from shoal.runtime.run import Run
from shoal.verification.files.pages import (
    PHYSICAL,
    Chunk,
    column_faults,
    decompress,
    page_faults,
    schema_faults,
    unreadable_table,
)
from shoal.verification.files.thrift import FOOTER, PAGE, Source, read_struct

_MAGIC: Final = b"PAR1"
_TAIL: Final = 8  # the footer's length and the magic number
_CODECS: Final = {0: None, 1: "snappy", 6: "zstd"}
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_FREE_ROWS: Final = 1 << 20
_ROWS_PER_BYTE: Final = 8  # sound releases need two bytes a row
_FREE_BYTES: Final = 1 << 28
_BYTES_PER_BYTE: Final = 256  # more than sound pages are compressed
_WRITER: Final = re.compile(rb"[A-Za-z0-9 .()_+-]{0,100}")
# entries that point elsewhere in the file, which shoal does not write
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
    """Row groups as the footer describes them, with faults so far."""

    columns: dict[str, bool]  # name -> may have gaps
    groups: list[dict[str, Any]]
    number: int  # of the first group
    start: int  # of their pages
    end: int  # of all pages
    faults: tuple[str, ...]

    def of(self, first: int, stop: int) -> "Layout":
        """Some groups, without the faults."""
        groups = self.groups[first:stop]
        try:
            start = _first_page(groups[0]["chunks"][0]["data"])
        except (KeyError, IndexError) as error:
            raise unreadable_table() from error
        if not isinstance(start, int) or not len(_MAGIC) <= start < self.end:
            raise unreadable_table()
        return replace(self, groups=groups, number=first, start=start, faults=())


@dataclass(frozen=True, kw_only=True)
class GroupWalk:
    """Bytes start to end of walked groups, with faults. text_bytes: of all texts."""

    start: int
    end: int
    faults: tuple[str, ...]
    text_bytes: int


def layout_findings(content: Any, run: Run | None = None) -> list[Finding]:
    """What the bytes of a table file (in memory or mapped) hold apart from its rows."""
    layout = read_layout(content)
    if run is None or run.threads == 1 or len(layout.groups) < 2:
        return hidden_bytes([walk_groups(content, layout)], layout)
    parts = [layout.of(group, group + 1) for group in range(len(layout.groups))]
    return hidden_bytes(run.map(partial(walk_groups, content), parts), layout)


def read_layout(content: Any) -> Layout:
    """Read and check the footer."""
    walk = _Walker(content)
    footer = walk.read_footer()
    columns = _columns(footer)
    if not _WRITER.fullmatch(footer.get("created_by", b"")):
        walk.note("more under the name of its writer than a name")
    for what in schema_faults(footer, len(columns)):
        walk.note(what)
    _require_honest_size(len(content), footer)
    walk.check_metadata(footer, drawn="geometry" in columns)
    return Layout(
        columns=columns,
        groups=footer.get("row_groups", []),
        number=0,
        start=len(_MAGIC),
        end=walk.end,
        faults=tuple(walk.faults),
    )


def walk_groups(content: Any, layout: Layout) -> GroupWalk:
    """Walk the groups from their first byte to their last."""
    walk = _Walker(content, at=layout.start, end=layout.end)
    for number, group in enumerate(layout.groups, start=layout.number):
        if len(group.get("chunks", [])) != len(layout.columns):
            raise unreadable_table()
        first = walk.at
        for (name, optional), chunk in zip(layout.columns.items(), group["chunks"], strict=True):
            walk.walk_chunk(name, chunk, int(group.get("rows", -1)), optional=optional)
        walk.check_group(number, group, first)
    return GroupWalk(start=layout.start, end=walk.at, faults=tuple(walk.faults), text_bytes=walk.text_bytes)


def hidden_bytes(parts: Iterable[GroupWalk], layout: Layout) -> list[Finding]:
    """The findings of a file; raises InputError when its parts do not join."""
    faults, at, text_bytes = list(layout.faults), layout.start, 0
    for part in parts:
        if part.start != at:
            raise _gap_between_pages()
        faults += part.faults
        at = part.end
        text_bytes += part.text_bytes
    _require_honest_texts(layout.end, text_bytes)
    if at != layout.end:
        faults.append(f"{layout.end - at} bytes between its pages and its footer")
    return [Finding("hidden-bytes", f"{RELEASE_FILE} holds {what}") for what in dict.fromkeys(faults)]


def _first_page(data: dict[str, Any]) -> Any:
    return data.get("dictionary_page_offset", data.get("data_page_offset"))


def _gap_between_pages() -> InputError:
    return InputError(f"the pages of {RELEASE_FILE} do not follow each other; write the release again")


def _columns(footer: dict[str, Any]) -> dict[str, bool]:
    schema = footer.get("schema", [])
    try:
        names = [column.get("name", b"").decode() for column in schema]
        footer.get("created_by", b"").decode()
    except UnicodeDecodeError as error:  # readers would fail at it, each in its own way
        raise unreadable_table() from error
    columns = {
        name: column.get("repetition") == 1
        for name, column in zip(names[1:], schema[1:], strict=True)
        if not column.get("children") and column.get("repetition") in {0, 1}
    }
    if len(columns) != len(schema) - 1 or schema[0].get("children") != len(columns):
        raise InputError(
            f"{RELEASE_FILE} has columns inside columns, or two columns of one name; write the release again"
        )
    return columns


def _require_honest_size(size: int, footer: dict[str, Any]) -> None:
    rows, groups = footer.get("rows", -1), footer.get("row_groups", [])
    rows_of = [group.get("rows", -1) for group in groups]
    sizes = [
        chunk.get("data", {}).get("uncompressed", 0) for group in groups for chunk in group.get("chunks", [])
    ]
    if rows != sum(rows_of) or min((rows, *rows_of, *sizes)) < 0:
        raise unreadable_table()
    unpacked = sum(sizes)
    if rows > _FREE_ROWS + _ROWS_PER_BYTE * size or unpacked > _most_bytes(size):
        raise InputError(
            f"{RELEASE_FILE} has {size:,} bytes and would unpack to {rows:,} rows, more than such a file can "
            "honestly hold; write the release again"
        )


def _require_honest_texts(size: int, text_bytes: int) -> None:
    if text_bytes > _most_bytes(size):
        raise InputError(
            f"{RELEASE_FILE} would unpack to texts of {text_bytes:,} bytes, more than such a file can "
            "honestly hold; write the release again"
        )


def _most_bytes(size: int) -> int:
    return _FREE_BYTES + _BYTES_PER_BYTE * size


@dataclass(eq=False)
class _Walker:
    content: Any
    at: int = len(_MAGIC)
    end: int = 0
    faults: list[str] = field(default_factory=list)
    text_bytes: int = 0

    def note(self, what: str) -> None:
        if what not in self.faults:
            self.faults.append(what)

    def read_footer(self) -> dict[str, Any]:
        """It must reach to the end of the file."""
        size = len(self.content)
        ends = {bytes(self.content[:4]), bytes(self.content[-4:])}
        if size < len(_MAGIC) + _TAIL or ends != {_MAGIC}:
            raise unreadable_table()
        length = int.from_bytes(self.content[-_TAIL:-4], "little")
        self.end = size - _TAIL - length
        if self.end < len(_MAGIC):
            raise unreadable_table()
        source = Source(bytes(self.content[self.end : -_TAIL]), RELEASE_FILE)
        fields = read_struct(source, FOOTER)
        if source.at != length:
            self.note(f"{length - source.at} bytes behind its footer")
        return fields

    def check_metadata(self, footer: dict[str, Any], *, drawn: bool) -> None:
        """Only the description of the geometries, as GeoParquet fixes it, belongs there."""
        keys = [pair.get("key") for pair in footer.get("pairs", [])]
        if [key for key in keys if key != b"geo"] or len(set(keys)) < len(keys):
            self.note("metadata other than that of the geometries")
        for pair in footer.get("pairs", []):
            if pair.get("key") == b"geo" and not (drawn and _is_geo(pair.get("value", b""))):
                self.note("more in the description of its geometries than GeoParquet asks for")

    def check_group(self, number: int, group: dict[str, Any], first: int) -> None:
        """Stated sizes and offsets must match the pages; shoal writes no sort order."""
        if "sorting" in group or group.get("ordinal", number) != number:
            self.note("an order of rows, or numbers of groups, that nobody needs")
        chunks = [chunk["data"] for chunk in group["chunks"]]
        sizes = group.get("bytes"), group.get("compressed", sum(data["compressed"] for data in chunks))
        in_all = tuple(sum(data[name] for data in chunks) for name in ("uncompressed", "compressed"))
        if sizes != in_all or (chunks and group.get("file_offset", first) not in {0, first}):
            self.note("sizes that are not those of its pages")

    def walk_chunk(self, name: str, chunk: dict[str, Any], rows: int, *, optional: bool) -> None:
        """At most one dictionary, then pages with all rows."""
        data = chunk.get("data", {})
        if any(part in chunk or part in data for part in _ELSEWHERE):
            self.note("an index, a filter, metadata of a column or other parts that hold no rows")
        codec = data.get("codec")
        physical = PHYSICAL.get(data.get("type"))
        if codec not in _CODECS or physical is None or data.get("path") != [name.encode()]:
            raise InputError(
                f"a column of {RELEASE_FILE} is stored in a way that shoal does not write; write the release "
                "again"
            )
        first = _first_page(data)
        if chunk.get("file_offset", 0) not in {0, first}:
            self.note("sizes that are not those of its pages")
        if first != self.at:
            raise _gap_between_pages()
        end = self.at + data.get("compressed", -1)
        if not self.at < end <= self.end:
            raise unreadable_table()
        pages = Chunk(physical, optional=optional, stated_values=_statistics_values(data), tell=self.note)
        self._walk_pages(end, pages, _CODECS[codec], data, rows)
        self.text_bytes += pages.n_bytes
        _require_honest_texts(data["compressed"], pages.n_bytes)
        for what in column_faults(data, pages):
            self.note(what)

    def _walk_pages(self, end: int, chunk: Chunk, codec: str | None, data: dict[str, Any], rows: int) -> None:
        size = 0
        while self.at < end:
            source = Source(self.content, RELEASE_FILE, self.at)
            head = read_struct(source, PAGE)
            packed, unpacked_size = head.get("compressed", -1), head.get("uncompressed", -1)
            size += unpacked_size + source.at - self.at
            if not 0 <= packed <= end - source.at or unpacked_size < 0 or size > data.get("uncompressed", -1):
                raise unreadable_table()
            body = decompress(
                bytes(self.content[source.at : source.at + packed]), unpacked_size, codec, self.note
            )
            self.at = source.at + packed
            if "crc" in head:
                self.note("checks of single pages")
            about = head.get("data", {})
            chunk.stated_values |= _statistics_values(about)
            if head.get("type") == _DICTIONARY_PAGE and chunk.counts is None and not chunk.n_values:
                chunk.take_dictionary(body, head.get("dictionary", {}))
            elif head.get("type") == _DATA_PAGE and chunk.n_values < rows:
                n_gaps = chunk.take_page(body, about, rows - chunk.n_values)
                for what in page_faults(about, n_gaps):
                    self.note(what)
            else:
                self.note("pages that hold no rows")
        if chunk.n_values != rows or data.get("values") != rows or size != data.get("uncompressed"):
            raise unreadable_table()
        chunk.finish()


def _statistics_values(account: dict[str, Any]) -> set[bytes]:
    statistics = account.get("statistics", {})
    return {statistics[name] for name in ("max", "min", "max_value", "min_value") if name in statistics}


def _is_geo(text: bytes) -> bool:
    """Exactly as shoal writes it, bounds in their one spelling."""
    try:
        about = json.loads(text)["columns"]["geometry"]
        kinds, bounds = about["geometry_types"], about["bbox"]
        several = ["MultiPolygon"] * (bounds[::2] == [-180.0, 180.0])  # only there is an outline cut
        return (
            text == geometry_pairs(kinds, bounds)[b"geo"]
            and kinds in (["Point"], ["Polygon", *several])
            and [type(bound) for bound in bounds] == [float] * 4
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False
