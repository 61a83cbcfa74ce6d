"""Delimited text, plain or gzipped; its meaning is decided later.

Without a header, the caller names the columns, or the lines match a known data set.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
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
from shoal.io.formats.input_table import WRONG_FIELDS, Table
from shoal.io.formats.row_files import open_bytes
from shoal.messages import say
from shoal.model.intake import Reading

DELIMITERS: Final = ",;\t|"
SAMPLE_BYTES: Final = 1 << 18
BLOCK_BYTES: Final = 1 << 22
_LOOKED_AT: Final = 20
_VALUE: Final = re.compile(r"\s*[-+]?\d[\d.,:/TZ+\s-]*")  # no name of a column: a number, a date or a time
# fmt: off
_PACKED: Final = {
    "gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bzip2": b"BZh9",
    "zip": b"PK\x03\x04", "Parquet": b"PAR1",
}
# fmt: on


def open_table(path: Path, reading: Reading) -> Table:
    """Columns and rows; the delimiter splits the header into most fields.

    Lines with another number of fields are counted and left out.
    """
    if nmea_files.holds(path):
        return nmea_files.open_table(path, reading)
    sample, whole = _beginning(path)
    before = _lines_before_header(sample)
    layout = _layout(path.name, sample.split(b"\n", before)[-1], reading)
    header, delimiter, has_rows = layout.names, layout.delimiter, layout.has_rows
    unreadable, first_texts, first_lines = Counter[str](), dict[str, str](), dict[str, int]()
    text = "lines of {file} before its column names that were not read, as comments: {lines}"
    notes: list[str] = [say("reading.comments", text, file=path.name, lines=before)] if before else []

    def skip(row: Any) -> str:
        lines = max(1, sum(1 for line in row.text.splitlines() if line.strip()))
        unreadable[WRONG_FIELDS] += lines
        first_texts.setdefault(WRONG_FIELDS, row.text)
        if lines > 1:
            notes.append(
                say(
                    "reading.open_quote",
                    "a quotation mark in {file} is not closed; the {lines} lines after it count as one "
                    "broken line each",
                    file=path.name,
                    lines=lines,
                )
            )
        return "skip"

    def whole_lines(batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop rows where an open quotation mark swallowed lines: a value holds as many fields."""
        ends = np.zeros(len(batch))
        for column in batch.columns:
            lines = pc.count_substring(column, "\n").to_numpy(zero_copy_only=False)
            if lines.any():
                fields = pc.count_substring(column, delimiter).to_numpy(zero_copy_only=False)
                ends += np.where(fields >= len(header) - 1, lines, 0)
        broken = ends > 0
        if not broken.any():
            return batch
        lines = int((ends + broken).sum())
        unreadable[WRONG_FIELDS] += lines
        text = "quotation marks in {file} span several lines; these {lines} lines count as broken"
        notes.append(say("reading.long_quotes", text, file=path.name, lines=lines))
        return batch.filter(pa.array(~broken))

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        if whole and not has_rows:
            return
        size = max(path.stat().st_size, 1)
        try:
            with pa.OSFile(str(path)) as file:
                stream = pa.CompressedInputStream(file, "gzip") if path.name.lower().endswith(".gz") else file
                # Named this way, the encoding is checked everywhere, and not only in the columns and lines
                # that are kept.
                rows = arrow_csv.open_csv(
                    stream,
                    read_options=arrow_csv.ReadOptions(
                        block_size=BLOCK_BYTES,
                        encoding=layout.encoding,
                        column_names=None if layout.has_header else header,
                        skip_rows=before,
                    ),
                    parse_options=arrow_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip),
                    convert_options=arrow_csv.ConvertOptions(
                        include_columns=list(columns),
                        column_types=dict.fromkeys(columns, pa.string()),
                        strings_can_be_null=False,
                    ),
                )
                for batch in rows:
                    yield min(file.tell() / size, 1.0), whole_lines(batch)
        except (pa.ArrowInvalid, UnicodeDecodeError, OSError) as error:
            raise InputError(_why(path.name, error)) from error
        first_lines.update((reason, _line_of(path, some)) for reason, some in first_texts.items())

    return Table(
        name=path.name,
        columns=tuple(header),
        batches=batches,
        settings={"preset": layout.preset} if layout.preset else {},
        unreadable=unreadable,
        first_lines=first_lines,
        notes=notes,
    )


def _line_of(path: Path, text: str) -> int:
    """The number of the first line of a file with which a text begins; 0 if it is in another encoding."""
    first = text.partition("\n")[0].rstrip("\r").encode()
    with open_bytes(path) as file:
        return next((number for number, line in enumerate(file, 1) if line.rstrip(b"\r\n") == first), 0)


@dataclass(frozen=True, kw_only=True)
class _Layout:
    names: list[str]
    delimiter: str
    has_rows: bool
    has_header: bool = True
    preset: str | None = None
    encoding: str = "utf-8-sig"


def _lines_before_header(sample: bytes) -> int:
    """The number of lines before the names of columns that begin with #, or tell Excel the separator."""
    lines = sample.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")[:_LOOKED_AT]
    n = sum(1 for _ in takewhile(lambda line: line.startswith("#"), lines)) or int(
        re.fullmatch("sep=.\r?", lines[0], re.IGNORECASE) is not None
    )
    names = re.split(f"[{DELIMITERS}]", lines[n]) if n < len(lines) else []
    return n if sum(name.strip(' "\r').lower() in RECOGNIZED for name in names) > 1 else 0


def _layout(name: str, sample: bytes, reading: Reading) -> _Layout:
    if reading.columns is not None:
        names = _split_names(reading.columns)
        return _without_header(name, sample, names)
    if reading.preset is not None and presets.get_preset(reading.preset).fields:
        preset = presets.get_preset(reading.preset)
        encoding = "utf-8-sig" if preset.encoding == "utf-8" else preset.encoding
        return _without_header(name, sample, list(preset.fields), preset=reading.preset, encoding=encoding)
    lines = [line.strip("\r") for line in sample.decode("latin-1").split("\n")[:_LOOKED_AT]]
    if len(lines) == _LOOKED_AT or len(sample) == SAMPLE_BYTES:
        lines = lines[:-1]
    recognized = presets.without_header([line for line in lines if line.strip()], DELIMITERS + " ")
    if recognized is not None:
        return _layout(name, sample, replace(reading, preset=recognized[0]))
    header, delimiter, has_rows = _header(name, sample)
    if sum(_VALUE.fullmatch(field) is not None for field in header) >= 2 and not RECOGNIZED & {
        field.strip().lower() for field in header
    }:
        raise InputError(
            f"the first line of {name} holds values, not column names; add a header line, for example "
            "id,t,lat,lon, or name the columns with --columns id,t,lat,lon"
        )
    rows = [line for line in lines[1:] if line.strip()]
    longer = [line for line in rows if line.endswith(delimiter) and line.count(delimiter) == len(header)]
    if rows and len(longer) == len(rows) and '"' not in "".join(rows):
        raise InputError(
            f"every line of {name} but the first ends with a delimiter ({delimiter}), so that it has a field "
            "without a name; add one to the end of the first line, or take it off the others"
        )
    return _Layout(names=header, delimiter=delimiter, has_rows=has_rows)


def _without_header(
    name: str, sample: bytes, names: list[str], *, preset: str | None = None, encoding: str = "utf-8-sig"
) -> _Layout:
    first = sample.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")[0]
    line = first.decode("latin-1").strip("\r")
    try:
        counts = {
            delimiter: len(next(csv.reader(io.StringIO(line), delimiter=delimiter), []))
            for delimiter in DELIMITERS + " "
        }
    except csv.Error as error:
        raise InputError(f"the first line of {name} cannot be read as delimited text") from error
    fit = next((delimiter for delimiter, count in counts.items() if count == len(names)), None)
    if fit is None:
        raise InputError(
            f"the first line of {name} has {max(counts.values())} fields, but {len(names)} columns are "
            "named; name every column, with _ for those that are not needed"
        )
    return _Layout(
        names=names, delimiter=fit, has_rows=True, has_header=False, preset=preset, encoding=encoding
    )


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
    return [name if name not in {"", "_"} else f"_{place}" for place, name in enumerate(names)]


def _beginning(path: Path) -> tuple[bytes, bool]:
    try:
        with pa.OSFile(str(path)) as file:
            stream = pa.CompressedInputStream(file, "gzip") if path.name.lower().endswith(".gz") else file
            sample = stream.read(SAMPLE_BYTES)
    except OSError as error:
        raise InputError(_why(path.name, error)) from error
    if not sample.removeprefix(b"\xef\xbb\xbf").strip():
        raise InputError(f"{path.name} is empty")
    packed = next((kind for kind, magic in _PACKED.items() if sample.startswith(magic)), None)
    if packed is not None:
        raise InputError(
            f"{path.name} holds {packed} data, not text; give it the ending of what it is, or unpack it"
        )
    if b"\n" not in sample and b"\r" in sample.rstrip(b"\r"):
        raise InputError(
            f"the lines of {path.name} end as on old Macintoshes (CR); convert it, for example with "
            "tr '\\r' '\\n'"
        )
    return sample, len(sample) < SAMPLE_BYTES


def _header(name: str, sample: bytes) -> tuple[list[str], str, bool]:
    first, _, rest = sample.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")
    try:
        line = first.decode("utf-8").strip("\r")
        if "\0" in line:  # UTF-16 without a mark
            raise InputError(_not_utf8(name))
    except UnicodeDecodeError as error:
        raise InputError(_not_utf8(name)) from error

    def fields(delimiter: str) -> list[str]:
        return next(csv.reader(io.StringIO(line), delimiter=delimiter), [])

    try:
        delimiter = max(DELIMITERS, key=lambda candidate: len(fields(candidate)))
        if len(fields(delimiter)) == 1:
            delimiter = " "
        return fields(delimiter), delimiter, bool(rest.strip())
    except csv.Error as error:
        raise InputError(
            f"{name} has no readable header line; it should begin with column names, for example id,t,lat,lon"
        ) from error


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
    if isinstance(error, PermissionError):
        return f"{name} cannot be opened: no permission to read it"
    return f"{name} cannot be read as delimited text; look for a broken quotation mark or a very long line"
