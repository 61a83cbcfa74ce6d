"""From Arrow columns to NumPy arrays."""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.columns.counting import Counting
from shoal.io.columns.look_alikes import EXACT, has_lost_digits, has_lost_letters, may_be_shared, names_nobody
from shoal.runtime.arrays import Flags, Floats, Integers, Numbers

Codes = npt.NDArray[np.int32]

NUMBER: Final = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$|^[+-]?(?i:nan|inf|infinity)$"
# kinds of ids; spreadsheets write zeros for the digits of a long number behind the first 15
LOST_DIGITS, ZEROS, ALL_DIGITS = "numbers that lost digits", "zeros at the end", "digits to the end"
LOST_LETTERS: Final = "texts that lost letters"
SHEET_DIGITS: Final = 15
COMMA: Final = r"^[+-]?[0-9]+,[0-9]+$"
_GROUPS: Final = r"^[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+$"  # of digits, or a number with three decimals
_SEVERAL: Final = r"^[+-]?[0-9]{1,3}(\.[0-9]{3}){2,}$"
_UNGROUPED: Final = r"^[+-]?[0-9]{3,}$"
WKB_POINT_BYTES: Final = 21
_WITHOUT_VIEW: Final = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def plain(column: pa.Array) -> pa.Array:
    """The column without dictionary, extension or view; text is trimmed."""
    column = stored(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string_view(column.type) or is_bytes(column.type):
        try:
            column = column.cast(pa.large_string())
        except pa.ArrowInvalid:  # a server's own type, such as point, comes as its bytes
            return column
    return pc.utf8_trim_whitespace(column) if is_text(column.type) else column


def stored(column: pa.Array) -> pa.Array:
    """The column without its extension type, which some versions of pyarrow do not know."""
    return column.storage if isinstance(column.type, pa.BaseExtensionType) else column


def is_bytes(kind: pa.DataType) -> bool:
    """Whether a column holds bytes of different lengths."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column holds whole, floating or decimal numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def numbers(column: pa.Array, where: str) -> tuple[Floats, Flags]:
    """float64 [n] and whether each is readable (else nan)."""
    column = plain(column)
    if pa.types.is_float16(column.type):
        raise InputError(
            f"{where} holds 16-bit numbers, which keep three digits: of degrees, kilometers; write it "
            "again from its source as float64"
        )
    if is_text(column.type):
        column = numbers_in_text(column)
    elif pa.types.is_null(column.type) or is_number(column.type):
        column = column.cast(pa.float64(), safe=False)
    else:
        raise InputError(f"{where} holds {column.type}, not numbers; name another column or convert it")
    return column.to_numpy(zero_copy_only=False), has_value(column)


def numbers_in_text(text: pa.Array) -> pa.Array:
    """Trimmed text as float64, null where it is no number."""
    try:
        return text.cast(pa.float64())
    except pa.ArrowInvalid:
        return pc.if_else(pc.match_substring_regex(text, NUMBER), text, None).cast(pa.float64())


class DecimalCommas(Counting):
    """Columns of numbers with a decimal comma (48,85): the first rows with either sign decide for each."""

    def __init__(self) -> None:
        self._has: dict[str, bool] = {}
        self._begin_counts()

    def _begin_counts(self) -> None:
        self.rows = 0

    @property
    def decided(self) -> dict[str, bool]:
        """Whether each column has them, as far as known."""
        return dict(self._has)

    def replaced(self, batch: pa.RecordBatch, name: str, *, angle: bool) -> pa.Array:
        """The column with points for commas.

        angle: it holds degrees, in which each comma is decimal. A length such as 652,000 may mean
        thousands: it is read where all have commas, and not all have three digits after them.
        """
        column = plain(batch.column(name))
        if not is_text(column.type):
            return column
        commas = pc.fill_null(pc.match_substring_regex(column, COMMA), False)
        if not angle and name not in self._has:
            points = bool(pc.any(pc.match_substring(column, ".")).as_py())
            decimal = pc.invert(pc.match_substring_regex(column.filter(commas), r",[0-9]{3}$"))
            if points or pc.any(decimal).as_py():
                self._has[name] = not points
        if not angle and not self._has.get(name):
            return column
        self.rows += int(pc.sum(commas).as_py() or 0)
        return pc.if_else(commas, pc.replace_substring(column, ",", "."), column)


def may_be_thousands(column: pa.Array) -> bool:
    """Whether points in a column of lengths may part thousands: 652.000 beside 652100, or 6.862.000."""
    column = plain(column)
    if not is_text(column.type):
        return False

    def some(shape: str) -> bool:
        return bool(pc.any(pc.match_substring_regex(column, shape)).as_py())

    if not some(_GROUPS):
        return False
    other = pc.and_(pc.match_substring(column, "."), pc.invert(pc.match_substring_regex(column, _GROUPS)))
    return not pc.any(other).as_py() and (some(_SEVERAL) or some(_UNGROUPED))


def with_columns(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """The rows with these columns, in place of others of their names."""
    others = {name: batch.column(name) for name in batch.schema.names if name not in columns}
    return pa.record_batch({**others, **columns})


def has_value(column: pa.Array) -> Flags:
    """Whether each value is present."""
    return np.asarray(column.is_valid())


def points(column: pa.Array) -> tuple[Floats, Floats, Flags]:
    """Coordinates from well-known binary, nan of an empty point, and whether each is a point."""
    column = stored(column).cast(pa.large_binary())
    offsets = np.frombuffer(column.buffers()[1], np.int64, len(column) + 1, 8 * column.offset)
    data = np.frombuffer(column.buffers()[2] or b"", dtype=np.uint8)
    lengths = np.diff(offsets)
    rows = np.flatnonzero(has_value(column) & (lengths >= WKB_POINT_BYTES))
    rows = rows[data[offsets[rows]] <= 1]
    big_endian = data[offsets[rows]] == 0
    kind = _gather(data, offsets[rows] + 1, "<u4", big_endian)
    start = offsets[rows] + 5 + 4 * ((kind & 0x20000000) != 0)
    # 1, 1001, 2001, 3001 are points with or without Z and M; EWKB marks Z, M and an SRID in the top bits
    fits = start + 16 <= offsets[rows] + lengths[rows]
    is_point = np.isin(kind & 0x0FFFFFFF, (1, 1001, 2001, 3001)) & fits
    rows, start, big_endian = rows[is_point], start[is_point], big_endian[is_point]
    x, y = np.full(len(column), np.nan), np.full(len(column), np.nan)
    x[rows], y[rows] = (_gather(data, at, "<f8", big_endian) for at in (start, start + 8))
    readable = np.zeros(len(column), dtype=np.bool_)
    readable[rows] = True
    return x, y, readable


def _gather(data: npt.NDArray[np.uint8], start: Integers, kind: str, big_endian: Flags) -> Numbers:
    little: Numbers = data[start[:, None] + np.arange(np.dtype(kind).itemsize)].reshape(-1).view(kind)
    return np.asarray(np.where(big_endian, little.byteswap(), little))


class Names:
    """A code for each different id, in the order of first appearance; 7 and 7.0 are both "7"."""

    def __init__(self, *, people: bool = False) -> None:
        self.texts: list[str] = []
        self.kinds: dict[str, str] = {}  # of ids, and the first of each that may have lost something
        self.shared: dict[int, str] = {}  # of people, by code: ids that may stand for many, such as "guest"
        self.rows_with_blanks = 0
        self.rows = 0
        self.first_rows: list[Integers] = []  # where each code appears first, batch after batch
        self._people = people  # texts such as "null" name no person
        self._code_of: dict[str, int] = {}

    def codes(self, column: pa.Array, where: str) -> Codes:
        """int32 [n]: the code of each id, -1 if empty, -2 for a text that names no person."""
        column = stored(column)
        if pa.types.is_nested(column.type):
            raise InputError(f"{where} holds {column.type}, not ids; name another column")
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values, indices = column.dictionary, column.indices
        if not pa.types.is_null(values.type):
            self.kinds["numbers" if is_number(values.type) else "text"] = ""
        rows = pc.fill_null(indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)
        # A dictionary may list values in any order, or values that no row has: codes follow the rows.
        first = np.full(len(values) + 1, len(rows))
        first[rows[::-1]] = np.arange(len(rows) - 1, -1, -1)
        present = np.flatnonzero(first[:-1] < len(rows))
        present = present[np.argsort(first[present])]
        values = values.cast(_WITHOUT_VIEW.get(values.type, values.type))  # there is no take for views
        values_present = values.take(pa.array(present))
        texts = _id_texts(values_present)
        code_of_value = np.full(len(values) + 1, -1, dtype=np.int32)
        known = len(self.texts)
        code_of_value[present] = [self.code(text) for text in texts]
        if len(self.texts) > known:
            new, place = np.unique(code_of_value[present], return_index=True)
            self.first_rows.append(self.rows + first[present[place[new >= known]]])
        self.rows += len(rows)
        if is_text(values.type):
            trimmed = pc.not_equal(values_present, pc.utf8_trim_whitespace(values_present))
            with_blanks = present[trimmed.fill_null(False).to_numpy(zero_copy_only=False)]
            if len(with_blanks):
                self.rows_with_blanks += int(np.isin(rows, with_blanks).sum())
        elif pa.types.is_floating(values.type):  # of its width, the number cannot be told from its neighbors
            size = np.abs(values_present.cast(pa.float64()).to_numpy(zero_copy_only=False))
            lost = np.flatnonzero(np.isfinite(size) & (size >= EXACT[values.type.bit_width]))
            if lost.size:
                self.kinds.setdefault(LOST_DIGITS, str(texts[lost[0]]))
        codes: Codes = code_of_value[rows]
        return codes

    def first_rows_of(self, texts: Iterable[str], most: int) -> list[int]:
        """The rows where the first of some ids appear first; those that were forgotten are left out."""
        codes = sorted(code for text in texts if (code := self._code_of.get(text)) is not None)
        rows: list[int] = np.concatenate(self.first_rows)[codes[:most]].tolist() if codes else []
        return rows

    def code(self, text: str | None) -> int:
        """The code of one id, -1 if empty, -2 for a text that names no person."""
        if not text:
            return -1
        code = self._code_of.get(text)
        if code is None:
            code = self._code_of[text] = self._new_code(text)
        return code

    def _new_code(self, text: str) -> int:
        if self._people and names_nobody(text):
            return -2
        if self._people and has_lost_digits(text):
            self.kinds.setdefault(LOST_DIGITS, text)
        if self._people and has_lost_letters(text):
            self.kinds.setdefault(LOST_LETTERS, text)
        if self._people and len(text) > SHEET_DIGITS and text.isdigit():
            self.kinds.setdefault(ALL_DIGITS if text[SHEET_DIGITS:].strip("0") else ZEROS, text)
        if self._people and may_be_shared(text):
            self.shared[len(self.texts)] = text
        self.texts.append(text)
        return len(self.texts) - 1


def _id_texts(values: pa.Array) -> list[str | None]:
    values = stored(values)
    if is_bytes(values.type) or pa.types.is_fixed_size_binary(values.type):
        return [_bytes_text(value) for value in values.to_pylist()]
    values = plain(values)
    if is_text(values.type) or pa.types.is_integer(values.type):
        texts: list[str | None] = values.cast(pa.large_string()).to_pylist()
        return texts
    return [_id_text(value) for value in values.to_pylist()]


def _bytes_text(value: bytes | None) -> str | None:
    """An id is the same text in every batch."""
    if value is None:
        return None
    try:
        text = value.decode().strip()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"
    return text if text.isprintable() else f"0x{value.hex()}"


def _id_text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float | Decimal) and value == int(value):
        return str(int(value))
    return str(value).strip()
