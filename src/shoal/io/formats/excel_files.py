"""Spreadsheets (.xlsx, .xls, .ods) through python-calamine (extra ``excel``): one sheet with a header."""

import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from shoal.errors import InputError, MissingExtraError
from shoal.io.columns.times import SERIAL_DAYS
from shoal.io.formats.tables import Table, text_batch
from shoal.io.formats.xml_files import BROKEN_ARCHIVE
from shoal.model.intake import Reading

_ROWS: Final = 1 << 14
_WORKBOOK: Final = bytes.fromhex("0908100000060500")  # the record that begins one of Excel 97 and later
_DATE_1904: Final = 0x22
_END: Final = 0x0A
_FROM_1904: Final = (
    ("xl/workbook.xml", re.compile(rb"date1904\s*=\s*[\"'](1|true)[\"']")),
    ("content.xml", re.compile(rb"null-date\b[^>]*date-value\s*=\s*[\"']1904-")),
)


def open_table(path: Path, reading: Reading) -> Table:
    """Rows of one sheet."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise MissingExtraError(
            "spreadsheets need python-calamine; install it with: pip install 'shoal[excel]'"
        ) from error
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    if reading.time_unit == SERIAL_DAYS and _counts_from_1904(path):
        raise InputError(
            f"{path.name} counts its days from 1904 and not from 1900, so that they mean other dates; give "
            "the cells of its times the format of a date and time, and leave out --time-unit serial-days"
        )
    try:
        sheet = _choose_sheet(path.name, reading.table, CalamineWorkbook.from_path(str(path)))
    except (CalamineError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path.name} is no whole spreadsheet, or needs a password; save it again"
        ) from error
    rows = filter(_is_filled, sheet.iter_rows())  # one at a time: as objects of Python they take most memory
    names = [str(value).strip() for value in next(rows, [])]

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        places = [names.index(name) for name in columns]
        while some := list(islice(rows, _ROWS)):
            part = [tuple(_text(row[place]) for place in places) for row in some]
            yield 0.0, text_batch(part, columns, columns)

    return Table(name=path.name, columns=tuple(names), batches=batches)


def _choose_sheet(name: str, requested: str | None, book: Any) -> Any:
    names: list[str] = book.sheet_names
    if requested is not None:
        if requested not in names:
            raise InputError(f"{name} has no sheet '{requested}'; it has {', '.join(names)}")
        return book.get_sheet_by_name(requested)
    filled, chosen = [], None
    for sheet_name in names:
        sheet = book.get_sheet_by_name(sheet_name)
        if sheet.height > 1 and sheet.width > 1:
            filled.append(sheet_name)
            chosen = chosen or sheet
    if len(filled) != 1:
        raise InputError(
            f"{name} has {len(filled)} sheets with rows and columns"
            + (f": {', '.join(filled)}; name one with --table" if filled else "; there is nothing to read")
        )
    return chosen


def _counts_from_1904(path: Path) -> bool:
    if path.suffix.lower() == ".xls" and _says_1904(path.read_bytes()):
        return True
    try:
        with zipfile.ZipFile(path) as book:
            inside = set(book.namelist())
            return any(
                bool(pattern.search(book.read(part))) for part, pattern in _FROM_1904 if part in inside
            )
    except (*BROKEN_ARCHIVE, OSError):
        return False  # .xls is no archive; what is damaged is told by whoever opens it


def _says_1904(content: bytes) -> bool:
    """[MS-XLS] 2.4.77, Date1904."""
    at = content.find(_WORKBOOK)
    while 0 <= at < len(content) - 4:
        kind, length = struct.unpack_from("<HH", content, at)
        if kind in (_DATE_1904, _END):
            return kind == _DATE_1904 and content[at + 4 : at + 6] == b"\1\0"
        at += 4 + length
    return False


def _is_filled(row: Sequence[Any]) -> bool:
    return any(value not in ("", None) for value in row)


def _text(value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return str(value)
