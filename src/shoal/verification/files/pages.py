"""The pages of a Parquet column: which values they hold, and whether they hold anything else.

A page is unpacked and walked to its end. Values are PLAIN, or numbers of entries of a dictionary in the
hybrid of runs and packed bits; other encodings are not written by shoal.
"""

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

_BY_RUNS: Final = 3  # how levels are stored
_MOST_ENCODINGS: Final = 6
_ROOT: Final = b"schema"
_NEEDLESS: Final = frozenset({"type_length", "scale", "precision", "field_id"})
TEXT: Final = "text"
PHYSICAL: Final = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8", 6: TEXT}
_PLAIN, _BY_DICTIONARY = 0, frozenset({2, 8})
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_LENGTH: Final = 4
_WIDEST: Final = 32
_ZSTD_MAGIC: Final = bytes.fromhex("28b52ffd")
Tell = Callable[[str], None]


class Values:
    """Values of one column as the file holds them: all numbers of one type, or texts.

    lengths: int64 [n], the bytes of each text.
    """

    def __init__(self, body: bytes, n: int, physical: str, tell: Tell) -> None:
        self._texts: frozenset[bytes] = frozenset()
        self.lengths: Integers = np.zeros(n, dtype=np.int64)
        self._step = 0  # bytes of each text and its length, where all are of one length
        self._numbers: npt.NDArray[Any] = np.empty(0)
        self.n = n
        if physical != TEXT:
            size = n * np.dtype(physical).itemsize
            if size > len(body):
                raise broken()
            self._numbers, at = np.frombuffer(body, dtype=physical, count=n), size
        else:
            self._step = _step_of_one_length(body, n)
            if self._step:
                self.lengths[:] = self._step - _LENGTH
            else:
                self._texts, self.lengths = _texts(body, n)
            at = n * _LENGTH + int(self.lengths.sum())
        if at != len(body):
            tell("bytes behind the values of a page")
        self._physical, self._body = physical, body[:at] if self._step else b""

    def holds(self, stated: bytes) -> bool:
        """Whether a value that a statistic states is one of them."""
        if self._step:
            wanted = len(stated).to_bytes(_LENGTH, "little") + stated
            at = self._body.find(wanted)
            while at % self._step and at >= 0:  # across two texts
                at = self._body.find(wanted, at + 1)
            return at >= 0
        if self._physical == TEXT:
            return stated in self._texts
        if len(stated) != np.dtype(self._physical).itemsize:
            return False
        return bool((self._numbers == np.frombuffer(stated, dtype=self._physical)[0]).any())


@dataclass(eq=False)
class Chunk:
    """What the pages of one column and group hold so far.

    stated: values that statistics give and that no page has shown yet. counts: how many rows have each entry
    of the dictionary; order: the last of them, which stand there in the order in which rows first have them,
    and whether one did not. pages: how many of each type and encoding. n_values, n_gaps, n_bytes: rows, those
    without a value, and the bytes of all texts.
    """

    physical: str
    optional: bool
    stated: set[bytes]
    tell: Tell
    dictionary: Values | None = None
    counts: Integers | None = None
    order: Integers = field(default_factory=lambda: np.array([-1, 0]))
    pages: Counter[tuple[int, int]] = field(default_factory=Counter)
    n_values: int = 0
    n_gaps: int = 0
    n_bytes: int = 0

    def take_dictionary(self, body: bytes, head: dict[str, Any]) -> None:
        """The first page: entries that rows refer to."""
        n = head.get("values", -1)
        if not 0 <= n <= len(body) or head.get("encoding") not in {_PLAIN, 2}:
            raise broken()
        self.order[1] |= bool(head.get("sorted"))
        self.pages[_DICTIONARY_PAGE, head["encoding"]] += 1
        self.dictionary = Values(body, n, self.physical, self.tell)
        self.counts = np.zeros(n, dtype=np.int64)

    def take_page(self, body: bytes, head: dict[str, Any], most: int) -> int:
        """A page of at most so many rows; returns how many of them have no value."""
        n = int(head.get("values", -1))
        if not 0 <= n <= most:
            raise broken()
        at, filled = 0, n
        if self.optional:
            length = int.from_bytes(body[:_LENGTH], "little")
            at = _LENGTH + length
            if at > len(body):
                raise broken()
            filled = int(hybrid(body[_LENGTH:at], n, 1, 2, self.tell)[1])
        if head.get("encoding") == _PLAIN:
            values = Values(body[at:], filled, self.physical, self.tell)
            self._seen(values)
            self.n_bytes += int(values.lengths.sum())
        elif head.get("encoding") in _BY_DICTIONARY and not (self.dictionary is None or self.counts is None):
            if filled or at < len(body):
                width = body[at] if at < len(body) else -1
                if not 0 <= width <= _WIDEST:
                    raise broken()
                before = self._bytes_by_dictionary()
                size = len(self.counts)
                hybrid(body[at + 1 :], filled, width, size, self.tell, order=self.order, counts=self.counts)
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
        """Tell what the dictionary and the statistics hold beside the values of rows."""
        if self.dictionary is not None and self.counts is not None:
            if not self.counts.all():
                self.tell("values in a dictionary that no row has")
            if self.order[1]:
                self.tell("a dictionary in another order than that of its rows")
            self._seen(self.dictionary)
        if self.stated:
            self.tell("statistics that are values of no row")

    def _bytes_by_dictionary(self) -> int:
        """The bytes of texts that rows have by their entry so far."""
        if self.physical != TEXT or self.dictionary is None or self.counts is None:
            return 0
        return int(self.counts @ self.dictionary.lengths)

    def _seen(self, values: Values) -> None:
        self.stated = {stated for stated in self.stated if not values.holds(stated)}


def unpacked(body: bytes, size: int, codec: str | None, tell: Tell) -> bytes:
    """The content of a page; raises InputError when it has another size than its header states."""
    if codec is None:
        if len(body) != size:
            raise broken()
        return body
    if codec == "zstd" and body and _frame_end(body) != len(body):
        tell("bytes beside the packed content of a page")
    try:
        found: bytes = pa.Codec(codec).decompress(body, decompressed_size=size, asbytes=True) if body else b""
    except (pa.ArrowException, OSError) as error:
        raise broken() from error
    if len(found) != size:
        raise broken()
    return found


def hybrid(
    body: bytes,
    n: int,
    width: int,
    size: int,
    tell: Tell,
    *,
    order: Integers | None = None,
    counts: Integers | None = None,
) -> Integers:
    """int64 [size]: how often each number stands among n, in runs and packed bits that fill the bytes.

    order: as ``count_numbers`` goes on with it. counts: what was counted before, which is added to. Raises
    InputError when the bytes hold other numbers, or end early.
    """
    counts = np.zeros(size, dtype=np.int64) if counts is None else counts
    order = np.array([size, 0]) if order is None else order
    found = count_numbers(np.frombuffer(body, dtype=np.uint8), n, width, counts, order)
    if found == BROKEN:
        raise broken()
    if found & BITS_BEHIND:
        tell("bits behind the values of a page")
    if found & BYTES_BEHIND:
        tell("bytes behind the values of a page")
    return counts


def broken() -> InputError:
    """The error for bytes that are no pages."""
    return not_readable(RELEASE_FILE)


def _step_of_one_length(body: bytes, n: int) -> int:
    """The bytes of each text with its length before it, where all have one, as pseudonyms and outlines do.

    0 where they differ in length.
    """
    step = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    if n and n * step <= len(body):
        rows = np.frombuffer(body, dtype=np.uint8, count=n * step).reshape(n, step)
        if (rows[:, :_LENGTH] == rows[0, :_LENGTH]).all():
            return step
    return 0


def _texts(body: bytes, n: int) -> tuple[frozenset[bytes], Integers]:
    """(the different texts among n that stand after their lengths, the length of each)."""
    at, found, lengths = 0, set(), []
    for _ in range(n):
        end = at + _LENGTH + int.from_bytes(body[at : at + _LENGTH], "little")
        if end > len(body):
            raise broken()
        found.add(bytes(body[at + _LENGTH : end]))
        lengths.append(end - at - _LENGTH)
        at = end
    return frozenset(found), np.array(lengths, dtype=np.int64)


def _frame_end(body: bytes) -> int | None:
    """Where the first frame of zstd ends, by its headers (RFC 8878, Sec. 3.1.1); None = no plain one."""
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
    """What stands in the footer around the columns, and is no column."""
    root, *columns = footer["schema"]
    if {"repetition": 0, **root} != {"name": _ROOT, "children": n_columns, "repetition": 0}:
        yield "more in the root of its schema than the number of columns"
    if any(_NEEDLESS & column.keys() or "children" in column for column in columns):
        yield "numbers in its schema that nobody needs"
    if footer.get("version") not in {1, 2}:
        yield "a version of the format that there is not"
    if len(footer.get("orders", ())) not in {0, n_columns}:
        yield "orders of values for columns that there are not"


def column_faults(data: Mapping[str, Any], chunk: Chunk) -> Iterator[str]:
    """What the footer tells of one column and group, and its pages do not show."""
    told = data.get("encodings", [])
    used = {encoding for _, encoding in chunk.pages} | {_BY_RUNS}
    if len(told) > _MOST_ENCODINGS or not used.issuperset(told):
        yield "encodings that no page has"
    counts = [(each.get("page_type"), each.get("encoding")) for each in data.get("encoding_counts", [])]
    pages = Counter(
        {
            pair: each.get("pages", 0)
            for pair, each in zip(counts, data.get("encoding_counts", []), strict=True)
        }
    )
    if counts and (pages != chunk.pages or len(set(counts)) != len(counts)):
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
    """What the header of a data page tells, and the page does not show; n_gaps: in the page."""
    if {head.get("definition_levels"), head.get("repetition_levels")} != {_BY_RUNS}:
        yield "encodings that no page has"
    yield from statistics_faults(head.get("statistics", {}), n_gaps)


def statistics_faults(statistics: Mapping[str, Any], n_gaps: int) -> Iterator[str]:
    """Counts and marks of statistics that are not so; their values are looked up elsewhere."""
    if statistics.get("nulls", n_gaps) != n_gaps or "distinct" in statistics:
        yield "statistics that count what is not there"
    if not (statistics.get("max_exact", True) and statistics.get("min_exact", True)):
        yield "statistics that count what is not there"
