"""Compare the pages of a Parquet column (PLAIN or dictionary) with what the file states."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.runtime.arrays import Integers
from shoal.verification.files.loops import BITS_BEHIND, BROKEN, BYTES_BEHIND, count_numbers
from shoal.verification.files.thrift import not_readable

_BY_RUNS: Final = 3  # encoding of levels
_MOST_ENCODINGS: Final = 6
_NEEDLESS: Final = frozenset({"type_length", "scale", "precision", "field_id"})
TEXT: Final = "text"
PHYSICAL: Final = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8", 6: TEXT}
_PLAIN, _BY_DICTIONARY = 0, frozenset({2, 8})
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LENGTH: Final = 4
_WIDEST: Final = 32
_ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")
Report = Callable[[str], None]


class Values:
    """Values of one column as stored."""

    def __init__(self, body: bytes, n: int, physical: str, tell: Report) -> None:
        self._texts: frozenset[bytes] = frozenset()
        self.lengths: Integers = np.zeros(n, dtype=np.int64)
        self._step = 0  # bytes of each text with its length prefix, if all are equal
        self._numbers: npt.NDArray[Any] = np.empty(0)
        self.n = n
        if physical != TEXT:
            size = n * np.dtype(physical).itemsize
            if size > len(body):
                raise unreadable_table()
            self._numbers, at = np.frombuffer(body, dtype=physical, count=n), size
        else:
            self._step = _step_of_one_length(body, n)
            if self._step:
                self.lengths[:] = self._step - _LENGTH
            else:
                self._texts, self.lengths = _read_texts(body, n)
            at = n * _LENGTH + int(self.lengths.sum())
        if at != len(body):
            tell("bytes behind the values of a page")
        self._physical, self._body = physical, body[:at] if self._step else b""

    def holds(self, value: bytes) -> bool:
        """Whether a value from a statistic occurs."""
        if self._step:
            pattern = len(value).to_bytes(_LENGTH, "little") + value
            at = self._body.find(pattern)
            while at % self._step and at >= 0:  # a match across two texts
                at = self._body.find(pattern, at + 1)
            return at >= 0
        if self._physical == TEXT:
            return value in self._texts
        if len(value) != np.dtype(self._physical).itemsize:
            return False
        return bool((self._numbers == np.frombuffer(value, dtype=self._physical)[0]).any())


@dataclass(eq=False)
class Chunk:
    """The pages of one column and row group so far."""

    physical: str
    optional: bool
    stated_values: set[bytes]  # from statistics, not yet seen in a page
    tell: Report
    dictionary: Values | None = None
    counts: Integers | None = None  # rows with each dictionary entry
    order: Integers = field(default_factory=lambda: np.array([-1, 0]))  # as ``note_order``
    pages: Counter[tuple[int, int]] = field(default_factory=Counter)  # number of each type and encoding
    n_values: int = 0  # n_values, n_gaps, n_bytes: rows, empty rows, bytes of texts
    n_gaps: int = 0
    n_bytes: int = 0

    def take_dictionary(self, body: bytes, head: dict[str, Any]) -> None:
        """Read the first page."""
        n = head.get("values", -1)
        if not 0 <= n <= len(body) or head.get("encoding") not in {_PLAIN, 2}:
            raise unreadable_table()
        self.order[1] |= bool(head.get("sorted"))
        self.pages[_DICTIONARY_PAGE, head["encoding"]] += 1
        self.dictionary = Values(body, n, self.physical, self.tell)
        self.counts = np.zeros(n, dtype=np.int64)

    def take_page(self, body: bytes, head: dict[str, Any], most: int) -> int:
        """Read a page of at most ``most`` rows; returns how many have no value."""
        n = int(head.get("values", -1))
        if not 0 <= n <= most:
            raise unreadable_table()
        at, filled = 0, n
        if self.optional:
            length = int.from_bytes(body[:_LENGTH], "little")
            at = _LENGTH + length
            if at > len(body):
                raise unreadable_table()
            filled = int(count_hybrid(body[_LENGTH:at], n, 1, 2, self.tell)[1])
        if head.get("encoding") == _PLAIN:
            values = Values(body[at:], filled, self.physical, self.tell)
            self._seen(values)
            self.n_bytes += int(values.lengths.sum())
        elif head.get("encoding") in _BY_DICTIONARY and not (self.dictionary is None or self.counts is None):
            if filled or at < len(body):
                width = body[at] if at < len(body) else -1
                if not 0 <= width <= _WIDEST:
                    raise unreadable_table()
                before = self._bytes_by_dictionary()
                size = len(self.counts)
                count_hybrid(
                    body[at + 1 :], filled, width, size, self.tell, order=self.order, counts=self.counts
                )
                self.n_bytes += self._bytes_by_dictionary() - before
        else:
            raise InputError(
                f"{RELEASE_FILE} has pages in an encoding that shoal does not write; write the release again"
            )
        self.pages[_DATA_PAGE, head["encoding"]] += 1
        self.n_values += n
        self.n_gaps += n - filled
        return n - filled

    def finish(self) -> None:
        """Report dictionary entries and statistics without a row."""
        if self.dictionary is not None and self.counts is not None:
            if not self.counts.all():
                self.tell("values in a dictionary that no row has")
            if self.order[1]:
                self.tell("a dictionary in another order than that of its rows")
            self._seen(self.dictionary)
        if self.stated_values:
            self.tell("statistics that are values of no row")

    def _bytes_by_dictionary(self) -> int:
        if self.physical != TEXT or self.dictionary is None or self.counts is None:
            return 0
        return int(self.counts @ self.dictionary.lengths)

    def _seen(self, values: Values) -> None:
        self.stated_values = {value for value in self.stated_values if not values.holds(value)}


def decompress(body: bytes, size: int, codec: str | None, tell: Report) -> bytes:
    """The content of a page, of exactly the stated size."""
    if codec is None:
        if len(body) != size:
            raise unreadable_table()
        return body
    if codec == "zstd" and body and _frame_end(body) != len(body):
        tell("bytes beside the packed content of a page")
    try:
        content: bytes = (
            pa.Codec(codec).decompress(body, decompressed_size=size, asbytes=True) if body else b""
        )
    except (pa.ArrowException, OSError) as error:
        raise unreadable_table() from error
    if len(content) != size:
        raise unreadable_table()
    return content


def count_hybrid(
    body: bytes,
    n: int,
    width: int,
    size: int,
    tell: Report,
    *,
    order: Integers | None = None,
    counts: Integers | None = None,
) -> Integers:
    """How often each of n packed numbers occurs, int64 [size]."""
    counts = np.zeros(size, dtype=np.int64) if counts is None else counts
    order = np.array([size, 0]) if order is None else order
    result = count_numbers(np.frombuffer(body, dtype=np.uint8), n, width, counts, order)
    if result == BROKEN:
        raise unreadable_table()
    if result & BITS_BEHIND:
        tell("bits behind the values of a page")
    if result & BYTES_BEHIND:
        tell("bytes behind the values of a page")
    return counts


def unreadable_table() -> InputError:
    """The error for bytes that are no pages."""
    return not_readable(RELEASE_FILE)


def _step_of_one_length(body: bytes, n: int) -> int:
    """Each text with its length, where all are equal; else 0."""
    step = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    if n and n * step <= len(body):
        rows = np.frombuffer(body, dtype=np.uint8, count=n * step).reshape(n, step)
        if (rows[:, :_LENGTH] == rows[0, :_LENGTH]).all():
            return step
    return 0


def _read_texts(body: bytes, n: int) -> tuple[frozenset[bytes], Integers]:
    at, texts, lengths = 0, set(), []
    for _ in range(n):
        end = at + _LENGTH + int.from_bytes(body[at : at + _LENGTH], "little")
        if end > len(body):
            raise unreadable_table()
        texts.add(bytes(body[at + _LENGTH : end]))
        lengths.append(end - at - _LENGTH)
        at = end
    return frozenset(texts), np.array(lengths, dtype=np.int64)


def _frame_end(body: bytes) -> int | None:
    """RFC 8878, Sec. 3.1.1; None = no plain frame."""
    if body[:4] != _ZSTD_MAGIC or len(body) < 6:
        return None
    about = body[4]
    single, checked, dictionary = bool(about & 0x20), bool(about & 0x04), about & 0x03
    if dictionary or about & 0x18:
        return None
    size_of_content = {0: int(single), 1: 2, 2: 4, 3: 8}[about >> 6]
    at = 5 + (not single) + size_of_content
    while at + 3 <= len(body):
        head = int.from_bytes(body[at : at + 3], "little")
        kind, size = head >> 1 & 3, head >> 3
        at += 3 + (1 if kind == 1 else size)
        if head & 1:
            return at + 4 * checked
    return None


def schema_faults(footer: Mapping[str, Any], n_columns: int) -> Iterator[str]:
    """What schema and footer hold besides the columns."""
    root, *columns = footer["schema"]
    if {"repetition": 0, **root} != {"name": b"schema", "children": n_columns, "repetition": 0}:
        yield "more in the root of its schema than the number of columns"
    if any(_NEEDLESS & column.keys() or "children" in column for column in columns):
        yield "numbers in its schema that nobody needs"
    if footer.get("version") not in {1, 2}:
        yield "a version of the format that there is not"
    if len(footer.get("orders", ())) not in {0, n_columns}:
        yield "orders of values for columns that there are not"


def column_faults(data: Mapping[str, Any], chunk: Chunk) -> Iterator[str]:
    """What the footer says of a chunk that its pages do not show."""
    encodings = data.get("encodings", [])
    used = {encoding for _, encoding in chunk.pages} | {_BY_RUNS}
    if len(encodings) > _MOST_ENCODINGS or not used.issuperset(encodings):
        yield "encodings that no page has"
    counts = [
        ((entry.get("page_type"), entry.get("encoding")), entry.get("pages", 0))
        for entry in data.get("encoding_counts", [])
    ]
    if counts and (Counter(dict(counts)) != chunk.pages or len(dict(counts)) != len(counts)):
        yield "encodings that no page has"
    yield from statistics_faults(data.get("statistics", {}), chunk.n_gaps)
    sizes = data.get("sizes", {})
    filled = chunk.n_values - chunk.n_gaps
    levels = [chunk.n_gaps, filled] if chunk.optional else [filled]
    if (
        sizes.get("bytes") not in {None, chunk.n_bytes if chunk.physical == TEXT else None}
        or sizes.get("repetition_levels", []) not in ([], [chunk.n_values])
        or sizes.get("definition_levels", []) not in ([], levels)
    ):
        yield "statistics of sizes that are not those of its pages"


def page_faults(head: Mapping[str, Any], n_gaps: int) -> Iterator[str]:
    """What a page's header says that the page does not show; n_gaps: in the page."""
    if {head.get("definition_levels"), head.get("repetition_levels")} != {_BY_RUNS}:
        yield "encodings that no page has"
    yield from statistics_faults(head.get("statistics", {}), n_gaps)


def statistics_faults(statistics: Mapping[str, Any], n_gaps: int) -> Iterator[str]:
    """Wrong counts and flags; values are checked elsewhere."""
    if statistics.get("nulls", n_gaps) != n_gaps or "distinct" in statistics:
        yield "statistics that count what is not there"
    if not (statistics.get("max_exact", True) and statistics.get("min_exact", True)):
        yield "statistics that count what is not there"
