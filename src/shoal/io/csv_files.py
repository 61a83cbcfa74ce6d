"""Delimited text: .csv, .tsv and .txt, plain or gzipped, read as text; what it means is decided later."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from shoal.errors import InputError
from shoal.io.columns import RECOGNIZED
from shoal.io.tables import Table

WRONG_FIELDS: Final = "line with the wrong number of fields"
DELIMITERS: Final = ",;\t|"
SAMPLE_BYTES: Final = 1 << 18
BLOCK_BYTES: Final = 1 << 22


def open_table(path: Path) -> Table:
    """The columns and rows of one file; the delimiter is the one that splits the header into most fields.

    Lines with another number of fields than the header are counted and left out. Raises InputError for an
    empty file, one that is not UTF-8, that has no header, or that is cut.
    """
    sample, whole = _beginning(path)
    header, delimiter, has_rows = _header(path.name, sample)
    if sum(_is_number(name) for name in header) >= 2 and not RECOGNIZED & {
        name.strip().lower() for name in header
    }:
        raise InputError(
            f"the first line of {path.name} holds values, not column names; add a header line, for example "
            "id,t,lat,lon"
        )
    unreadable: dict[str, int] = {}
    notes: list[str] = []

    def skip(row: Any) -> str:
        lines = max(1, sum(1 for line in row.text.splitlines() if line.strip()))
        unreadable[WRONG_FIELDS] = unreadable.get(WRONG_FIELDS, 0) + lines
        if lines > 1:
            notes.append(
                f"a quotation mark in {path.name} is not closed; the {lines} lines after it count as one "
                "broken line each"
            )
        return "skip"

    def whole_lines(batch: pa.RecordBatch) -> pa.RecordBatch:
        """Without rows whose values hold line ends: an open quotation mark swallowed them."""
        ends = sum(
            (pc.count_substring(column, "\n").to_numpy(zero_copy_only=False) for column in batch.columns),
            np.zeros(len(batch)),
        )
        broken = ends > 0
        if not broken.any():
            return batch
        lines = int((ends + broken).sum())
        unreadable[WRONG_FIELDS] = unreadable.get(WRONG_FIELDS, 0) + lines
        notes.append(
            f"quotation marks in {path.name} span several lines; these {lines} lines count as broken"
        )
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
                    read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES, encoding="utf-8-sig"),
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

    return Table(name=path.name, columns=tuple(header), batches=batches, unreadable=unreadable, notes=notes)


def _beginning(path: Path) -> tuple[bytes, bool]:
    """The first bytes of the text, and whether they are all of it."""
    try:
        with pa.OSFile(str(path)) as file:
            stream = pa.CompressedInputStream(file, "gzip") if path.name.lower().endswith(".gz") else file
            sample = stream.read(SAMPLE_BYTES)
    except OSError as error:
        raise InputError(_why(path.name, error)) from error
    if not sample.strip():
        raise InputError(f"{path.name} is empty")
    return sample, len(sample) < SAMPLE_BYTES


def _header(name: str, sample: bytes) -> tuple[list[str], str, bool]:
    """The column names, the delimiter, and whether the sample holds anything after them."""
    first, _, rest = sample.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").partition(b"\n")
    try:
        line = first.decode("utf-8").strip("\r")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text; convert it, for example with iconv -t UTF-8") from error

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


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _why(name: str, error: Exception) -> str:
    """A failure of Arrow in one line, without the values it may quote."""
    text = str(error)
    if isinstance(error, UnicodeDecodeError) or "UTF8" in text:
        return f"{name} is not UTF-8 text; convert it, for example with iconv -t UTF-8"
    if "Truncated compressed stream" in text:
        return f"{name} is cut off in the middle of its gzip data; copy it again"
    if "inflate" in text:
        return f"{name} is not gzip data although its name ends in .gz; rename or copy it again"
    if isinstance(error, PermissionError):
        return f"{name} cannot be opened: no permission to read it"
    return f"{name} cannot be read as delimited text; look for a broken quotation mark or a very long line"
