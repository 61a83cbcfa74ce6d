"""Delimited text, plain or gzipped; its meaning is decided later.

Without a header, the caller names the columns, or the lines match a known data set.
"""

import csv
import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from shoal.errors import InputError, MisuseError
from shoal.io.columns import presets
from shoal.io.columns.column_names import RECOGNIZED
from shoal.io.formats import nmea_files
from shoal.io.formats.input_table import WRONG_FIELDS, Account, Table
from shoal.io.formats.row_files import explain_damage, open_bytes
from shoal.io.toml_tables import recognize
from shoal.messages import say
from shoal.model.intake import Reading

DELIMITERS: Final = ",;\t|"
SAMPLE_BYTES: Final = 1 << 18
BLOCK_BYTES: Final = 1 << 22
_LOOKED_AT: Final = 20
_LEAST_LINES: Final = 10  # to compare the last value with: a whole one is rarely the shortest of so many
_NAMES_AGAIN: Final = say("row.names_again", "line that repeats the names of the columns")
_VALUE: Final = re.compile(r"\s*[-+]?\d[\d.,:/TZ+\s-]*")  # no name of a column: a number, a date or a time


def open_table(path: Path, reading: Reading) -> Table:
    """Columns and rows; the delimiter splits the header into most fields, other lines are left out."""
    if nmea_files.holds(path):
        return nmea_files.open_table(path, reading)
    sample, whole, is_utf16 = _beginning(path)
    before = _lines_before_header(sample)
    layout = _layout(path.name, sample.split(b"\n", before)[-1], reading)
    if is_utf16:
        layout = replace(layout, encoding="utf-16")
    header, delimiter, account = layout.names, layout.delimiter, Account()
    rows = _Rows(name=path.name, layout=layout, account=account)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        if whole and not layout.has_rows:
            return
        size = max(path.stat().st_size, 1)
        names = None if layout.has_header else header
        once = [name for name in header if header.count(name) == 1]
        looked_at = once if _may_hold_line_ends(path) else list(columns)
        # named this way, the encoding is checked everywhere, not only in the columns and lines that are kept
        encoded = arrow_csv.ReadOptions(
            block_size=BLOCK_BYTES, encoding=layout.encoding, skip_rows=before, column_names=names
        )
        lines = arrow_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=rows.skip)
        types = dict.fromkeys(looked_at, pa.string())
        texts = arrow_csv.ConvertOptions(
            include_columns=looked_at, column_types=types, strings_can_be_null=False
        )
        with _opened(path) as (file, stream):
            stored = arrow_csv.open_csv(stream, encoded, lines, texts)
            for batch in stored:
                named = rows.whole(batch).select(list(columns))
                yield min(file.tell() / size, 1.0), rows.without_names(named)
        if account.unreadable[WRONG_FIELDS]:
            places = [header.index(name) for name in looked_at]
            account.first_lines[WRONG_FIELDS] = _first_broken_line(path, before, layout, places)

    if before:
        text = "lines of {file} before its column names that were not read, as comments: {lines}"
        account.notes.append(say("reading.comments", text, file=path.name, lines=before))
    if _may_be_cut_off(path, layout):
        text = "the last line of {file} has no end and is too short; the file may be cut off: copy it again"
        account.notes.append(say("reading.cut_off", text, file=path.name))
    settings, named = layout.settings, tuple(header)
    return Table(**vars(account), name=path.name, columns=named, batches=batches, settings=settings)


def _may_be_cut_off(path: Path, layout: "_Layout") -> bool:
    """Whether the last line has no end, and misses fields or has a shorter last value than 95 % of others."""
    with path.open("rb") as file:
        file.seek(-min(path.stat().st_size, SAMPLE_BYTES), SEEK_END)
        lines = file.read().translate(None, b"\0\r").decode("latin-1").split("\n")[1:]  # \0: of UTF-16
    if not lines or not lines[-1] or path.name.lower().endswith(".gz"):
        return False
    *widths, last = [len(line.rpartition(layout.delimiter)[2]) for line in lines if line]
    is_short = len(widths) >= _LEAST_LINES and 20 * sum(width <= last for width in widths) <= len(widths)
    return is_short or lines[-1].count(layout.delimiter) < len(layout.names) - 1


def _may_hold_line_ends(path: Path) -> bool:
    """Whether a line ends between two quotation marks, so that a value may have taken lines into it."""
    odd = False  # the number of marks in the last line so far
    with _opened(path) as (_, stream):
        while block := stream.read(BLOCK_BYTES):
            if odd or b'"' in block:
                signs = np.frombuffer(block, dtype=np.uint8)
                lines = np.append(0, np.flatnonzero(signs == ord("\n")))
                are_odd = np.bitwise_xor.reduceat((signs == ord('"')).view(np.uint8), lines)
                are_odd[0] ^= odd
                if are_odd[:-1].any():
                    return True
                odd = bool(are_odd[-1])
    return False


def _first_broken_line(path: Path, before: int, layout: "_Layout", places: Sequence[int]) -> int:
    """The first line with other fields than named, or with a value that holds lines; 0 if none is found."""
    line, n_fields = before + 1, len(layout.names)
    with open_bytes(path) as file, io.TextIOWrapper(file, layout.encoding, newline="") as text:
        rows = csv.reader(islice(text, before, None), delimiter=layout.delimiter)
        with suppress(csv.Error):  # a value that is longer than any
            for row in rows:
                if len(row) not in (0, n_fields):
                    break
                if before + rows.line_num > line and any(
                    "\n" in row[place] and row[place].count(layout.delimiter) >= n_fields - 1
                    for place in places
                ):
                    break
                line = before + rows.line_num + 1
            else:
                return 0
    return line


@dataclass(frozen=True, kw_only=True)
class _Layout:
    names: list[str]
    delimiter: str
    has_rows: bool
    has_header: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    encoding: str = "utf-8-sig"


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Lines of a file that are rows, and the account of the others."""

    name: str
    layout: _Layout
    account: Account

    def skip(self, row: Any) -> str:
        """The handler of lines with too many or too few fields."""
        lines = max(1, sum(1 for line in row.text.splitlines() if line.strip()))
        self.account.unreadable[WRONG_FIELDS] += lines
        if lines > 1:
            text = (
                "a quotation mark in {file} is not closed; the {lines} lines after it count as one broken "
                "line each"
            )
            self.account.notes.append(say("reading.open_quote", text, file=self.name, lines=lines))
        return "skip"

    def whole(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without rows that took lines into a value, which then holds as many fields as a line."""
        ends = np.zeros(len(batch))
        for column in batch.columns:
            lines = pc.count_substring(column, "\n").to_numpy(zero_copy_only=False)
            if lines.any():
                delimiters = pc.count_substring(column, self.layout.delimiter).to_numpy(zero_copy_only=False)
                ends += np.where(delimiters >= len(self.layout.names) - 1, lines, 0)
        broken = ends > 0
        if not broken.any():
            return batch
        n_lines = int((ends + broken).sum())
        self.account.unreadable[WRONG_FIELDS] += n_lines
        text = "quotation marks in {file} span several lines; these {lines} lines count as broken"
        self.account.notes.append(say("reading.long_quotes", text, file=self.name, lines=n_lines))
        return batch.filter(pa.array(~broken))

    def without_names(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without the first lines of files that were joined."""
        repeats = pc.equal(batch.column(0), batch.schema.names[0])
        if not self.layout.has_header or not pc.any(repeats).as_py():
            return batch
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            repeats = pc.and_(repeats, pc.equal(column, name))
        self.account.unreadable[_NAMES_AGAIN] += pc.sum(repeats).as_py()
        return batch.filter(pc.invert(repeats))


def _lines_before_header(sample: bytes) -> int:
    """The number of lines, such as comments or a title, before one with the names of columns."""
    lines = sample.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")[:_LOOKED_AT]
    fields = [re.split(f"[{DELIMITERS}]", line) for line in lines]
    named = [sum(field.strip(' "\r').lower() in RECOGNIZED for field in some) > 1 for some in fields]
    first = named.index(True) if True in named else 0
    return first if any(line.strip() for line in lines[:first]) else 0


def _layout(name: str, sample: bytes, reading: Reading) -> _Layout:
    if reading.columns is not None:
        return _without_header(name, sample, _split_names(reading.columns))
    if reading.preset is not None and presets.get_preset(reading.preset).fields:
        preset = presets.get_preset(reading.preset)
        encoding = "utf-8-sig" if preset.encoding == "utf-8" else preset.encoding
        layout = _without_header(name, sample, list(preset.fields))
        return replace(layout, settings={"preset": reading.preset}, encoding=encoding)
    lines = [line.strip("\r") for line in sample.decode("latin-1").split("\n")[:_LOOKED_AT]]
    if len(lines) == _LOOKED_AT or len(sample) == SAMPLE_BYTES:
        lines = lines[:-1]
    recognized = presets.without_header([line for line in lines if line.strip()], DELIMITERS + " ")
    if recognized is not None:
        return _layout(name, sample, replace(reading, preset=recognized[0]))
    header, delimiter, has_rows = _header(name, sample)
    names = {field.strip().lower() for field in header}
    if sum(_VALUE.fullmatch(field) is not None for field in header) >= 2 and not RECOGNIZED & names:
        raise InputError(
            f"the first line of {name} holds values, not column names; add a header line, for example "
            "id,t,lat,lon, or name the columns with --columns id,t,lat,lon"
        )
    rows = [line for line in lines[1:] if line.strip()]
    with suppress(csv.Error):
        if rows and all(len(some) == len(header) + 1 for some in csv.reader(rows, delimiter=delimiter)):
            raise InputError(
                f"every line of {name} but the first has one field more than there are names of columns; add "
                "a name, at the end if lines end with a delimiter, or at the beginning if they begin with "
                "names of rows (in R: col.names = NA); or put values with a delimiter in quotation marks"
            )
    return _Layout(names=header, delimiter=delimiter, has_rows=has_rows)


def _without_header(name: str, sample: bytes, names: list[str]) -> _Layout:
    first, _ = _first_line(sample)
    unread = f"the first line of {name} cannot be read as delimited text"
    fields = _fields(first.decode("latin-1"), unread)
    fit = next((delimiter for delimiter, some in fields.items() if len(some) == len(names)), None)
    if fit is None:
        raise InputError(
            f"the first line of {name} has {max(map(len, fields.values()))} fields, but {len(names)} columns "
            "are named; name every column, with _ for those that are not needed"
        )
    return _Layout(names=names, delimiter=fit, has_rows=True, has_header=False)


def _first_line(sample: bytes) -> tuple[bytes, bytes]:
    """The first line with text, and what follows it."""
    first, _, rest = sample.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")
    return first.strip(b"\r"), rest


def _fields(line: str, unread: str) -> dict[str, list[str]]:
    """The fields of a first line, by delimiter."""
    with explain_damage(unread, csv.Error):
        return {one: next(csv.reader([line], delimiter=one), []) for one in DELIMITERS + " "}


def _split_names(text: str) -> list[str]:
    """Columns called _ get different names."""
    names = [name.strip() for name in text.split(",")]
    named = [name for name in names if name not in {"", "_"}]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None or not named:
        raise MisuseError(
            f"columns = '{text}' names {'nothing' if twice is None else f'{twice} twice'}; give each column "
            "its name, and _ to those that are not needed"
        )
    return [name if name not in {"", "_"} else f"_{position}" for position, name in enumerate(names)]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.NativeFile, pa.NativeFile]]:
    """The file, and its text."""
    why = partial(_why, path.name)
    with explain_damage(why, pa.ArrowInvalid, UnicodeDecodeError, OSError), pa.OSFile(str(path)) as file:
        yield file, pa.CompressedInputStream(file, "gzip") if path.name.lower().endswith(".gz") else file


def _beginning(path: Path) -> tuple[bytes, bool, bool]:
    """The first bytes as UTF-8, whether these are all, and whether the file is UTF-16 with a mark."""
    with _opened(path) as (_, stream):
        sample = stream.read(SAMPLE_BYTES)
        whole, is_utf16 = len(sample) < SAMPLE_BYTES, sample.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
        if is_utf16:
            sample = sample.decode("utf-16", "ignore").encode()
    if not sample.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{path.name} is empty")
    if packed := recognize("packed", sample):
        raise InputError(
            f"{path.name} holds {packed} data, not text; give it the ending of what it is, or unpack it"
        )
    if b"\n" not in sample and b"\r" in sample.rstrip(b"\r"):
        raise InputError(
            f"the lines of {path.name} end as on old Macintoshes (CR); convert it, for example with "
            "tr '\\r' '\\n'"
        )
    return sample, whole, is_utf16


def _header(name: str, sample: bytes) -> tuple[list[str], str, bool]:
    first, rest = _first_line(sample)
    with explain_damage(_not_utf8(name), UnicodeDecodeError):
        line = first.decode("utf-8")
    if "\0" in line:  # UTF-16 without a mark
        raise InputError(_not_utf8(name))
    unread = "has no readable header line; it should begin with column names, for example id,t,lat,lon"
    fields = _fields(line, f"{name} {unread}")
    delimiter = max(DELIMITERS, key=lambda candidate: len(fields[candidate]))
    if len(fields[delimiter]) == 1:
        delimiter = " "
    return fields[delimiter], delimiter, bool(rest.strip())


def _not_utf8(name: str) -> str:
    return (
        f"{name} is not UTF-8 text; save it again as UTF-8 (spreadsheets call that CSV UTF-8), or convert "
        "it, for example a file of Windows in Western Europe with: iconv -f CP1252 -t UTF-8 FILE > NEW"
    )


def _why(name: str, error: Exception) -> str:
    """Without the values that Arrow may quote."""
    text = str(error)
    if isinstance(error, UnicodeDecodeError) or "UTF8" in text:
        return _not_utf8(name)
    if "Truncated compressed stream" in text:
        return f"{name} is cut off in the middle of its gzip data; copy it again"
    if "inflate" in text:
        return f"{name} is not gzip data although its name ends in .gz; rename or copy it again"
    return f"{name} cannot be read as delimited text; look for a broken quotation mark or a very long line"
