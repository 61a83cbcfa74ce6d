"""Spreadsheets (.xlsx, .xls, .ods) through python-calamine (extra ``excel``): one sheet with a header."""

import re
import struct
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from functools import reduce
from pathlib import Path
from typing import IO, Any, Final
from xml.parsers import expat

import pyarrow as pa

from shoal.errors import InputError, requiring_extra
from shoal.io.columns.time_numbers import SERIAL_DAYS
from shoal.io.formats.input_table import Table, choose_part
from shoal.io.formats.row_files import BROKEN_ARCHIVE, text_batches
from shoal.model.intake import Reading

_MOST_UNPACKED_BYTES: Final = 1 << 30
_MOST_UNPACKED: Final = 100  # times the size of the file
_CELLS: Final = 1 << 22
_NARROW: Final = 26  # columns, up to Z: all rows of a sheet are no more than 27 million cells
# LookupError, ValueError: of an encoding that the parser does not know, or that is not of single bytes
_NO_XML: Final = (expat.ExpatError, LookupError, ValueError)
_NO_ROW: Final = 1_100_000  # behind the last that a sheet has
_REFERENCE: Final = re.compile(r"([A-Za-z]*)(\d+)")
_MISPLACED: Final = (
    "{name}: row {row} of {sheet} holds a cell that calls itself {cell}, and would be read as one of another "
    "row; let the program that wrote the file write it again, or save the sheet as CSV"
)
_BLOCK_BYTES: Final = 1 << 20
_FAR: Final = (
    "{name} has a cell so far from the others that the sheet between them fills the memory; delete the empty "
    "rows and columns behind the data, or save the sheet as CSV"
)
_WORKBOOK: Final = bytes.fromhex("0908100000060500")  # the record that begins one of Excel 97 and later
_DATE_1904: Final = 0x22
_END: Final = 0x0A
_FROM_1904: Final = (
    ("xl/workbook.xml", re.compile(rb"date1904\s*=\s*[\"'](1|true)[\"']")),
    ("content.xml", re.compile(rb"null-date\b[^>]*date-value\s*=\s*[\"']1904-")),
)

_EXACT: Final = 1e15


def open_table(path: Path, reading: Reading) -> Table:
    """Rows of one sheet."""
    with requiring_extra("spreadsheets need python-calamine", "excel"):
        from python_calamine import CalamineError, CalamineWorkbook
    if reading.time_unit == SERIAL_DAYS and _counts_from_1904(path):
        raise InputError(
            f"{path.name} counts its days from 1904 and not from 1900, so that they mean other dates; give "
            "the cells of its times the format of a date and time, and leave out --time-unit serial-days"
        )
    try:
        _require_near_cells(path)
        book = CalamineWorkbook.from_path(str(path))
        sheets = {
            name: sheet
            for name in (book.sheet_names if reading.table is None else ())
            if (sheet := book.get_sheet_by_name(name)).height > 1 and sheet.width > 1
        }
        chosen = choose_part(path.name, "sheet", reading.table, book.sheet_names, sheets)
        sheet = sheets.get(chosen) or book.get_sheet_by_name(chosen)
    except (CalamineError, *_NO_XML, *BROKEN_ARCHIVE, OSError) as error:
        if "Cell limit" in str(error):
            raise InputError(_FAR.format(name=path.name)) from error
        raise InputError(
            f"{path.name} is no whole spreadsheet, or needs a password; save it again"
        ) from error
    # one at a time: as objects of Python they take most memory
    rows = (row for row in sheet.iter_rows() if any(value not in ("", None) for value in row))
    names = [str(value).strip() for value in next(rows, [])]

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        places = [names.index(name) for name in columns]
        return text_batches((tuple(_text(row[place]) for place in places) for row in rows), columns)

    return Table(name=path.name, columns=tuple(names), batches=batches)


def _require_near_cells(path: Path) -> None:
    """Refuse a sheet around whose cells the library would reserve more memory than there is."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as book:
        unpacked = sum(part.file_size for part in book.infolist())
        if unpacked > max(_MOST_UNPACKED_BYTES, _MOST_UNPACKED * path.stat().st_size):
            raise InputError(
                f"{path.name} unpacks to {unpacked / 2**20:,.0f} MiB, which no spreadsheet needs"
            )
        for part in book.namelist():
            most, is_open_document = max(_CELLS, book.getinfo(part).file_size), part == "content.xml"
            try:
                with book.open(part) as file:
                    if is_open_document:
                        _require_few_cells(path.name, _elements(file), most)
                    else:
                        _require_small_sheet(path.name, Path(part).stem, _elements(file), most)
            except _NO_XML:  # the workbook tells which part is a sheet; a picture is none
                if is_open_document or b"sheetData" in book.read(part):
                    raise


def _elements(file: IO[bytes]) -> Iterator[tuple[str, dict[str, str]]]:
    """The name of each element of XML, without its namespace, and its attributes."""
    parser, found = expat.ParserCreate(), list[tuple[str, dict[str, str]]]()
    parser.StartElementHandler = lambda name, attributes: found.append((name.rpartition(":")[2], attributes))
    while block := file.read(_BLOCK_BYTES):
        parser.Parse(block)
        yield from found
        found.clear()


def _require_small_sheet(
    name: str, sheet: str, elements: Iterable[tuple[str, dict[str, str]]], most: int
) -> None:
    width = height = 0
    has_rows, row = False, None  # other parts list cells in any order
    for kind, attributes in elements:
        if kind == "row":
            has_rows, row = True, None
        match = _REFERENCE.fullmatch(attributes.get("r", "")) if kind in ("row", "c") else None
        if match is None:
            continue
        column = reduce(lambda number, letter: number * 26 + ord(letter) - 64, match[1].upper(), 0)  # A is 1
        width, height = max(width, column), max(height, int(match[2]))
        if height >= _NO_ROW or (width > _NARROW and width * height > most):
            raise InputError(_FAR.format(name=name))
        if has_rows and row not in (None, match[2]):
            raise InputError(_MISPLACED.format(name=name, row=row, sheet=sheet, cell=match[0]))
        row = match[2]


def _require_few_cells(name: str, elements: Iterable[tuple[str, dict[str, str]]], most: int) -> None:
    """The same for an .ods, of which one element may stand for many cells with content."""
    total, rows = 0, 1
    for kind, attributes in elements:
        values = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        if kind == "table-row":
            rows = int(values.get("number-rows-repeated", 1))
        elif kind.endswith("table-cell") and "value-type" in values:
            total += rows * int(values.get("number-columns-repeated", 1))
        if total > most:
            raise InputError(_FAR.format(name=name))


def _counts_from_1904(path: Path) -> bool:
    if path.suffix.lower() == ".xls" and _says_1904(path.read_bytes()):
        return True
    # .xls is no archive; what is damaged is told by whoever opens it
    with suppress(*BROKEN_ARCHIVE, OSError), zipfile.ZipFile(path) as book:
        inside = set(book.namelist())
        return any(pattern.search(book.read(part)) for part, pattern in _FROM_1904 if part in inside)
    return False


def _says_1904(content: bytes) -> bool:
    """[MS-XLS] 2.4.77, Date1904."""
    at = content.find(_WORKBOOK)
    while 0 <= at < len(content) - 4:
        kind, length = struct.unpack_from("<HH", content, at)
        if kind in (_DATE_1904, _END):
            return kind == _DATE_1904 and content[at + 4 : at + 6] == b"\1\0"
        at += 4 + length
    return False


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        # a cell holds 15 digits: a longer number has lost the others
        return str(int(value)) if abs(value) < _EXACT else f"{value:.14e}"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)
