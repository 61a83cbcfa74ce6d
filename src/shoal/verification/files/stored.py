"""How a table stores what it says: the types of its columns, and equal records byte for byte alike.

Boxes are compared in cells and slots. What is beyond that, the last digits of a number or of an outline, or
zeros at the end of a number written as text, could still tell the members of a class apart.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.model.names import Pseudonyms
from shoal.model.release import BOX_COLUMNS, DEGREE_COLUMNS, POINT_COLUMNS
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.units import counted

_DIGEST_BYTES: Final = 16
_ROWS_AT_ONCE: Final = 1 << 18
_KEY: Final = os.urandom(32)  # of this process; never shown
_NUMBERS: Final = (pa.int64(), pa.float64())
_TEXTS: Final = (pa.string(), pa.large_string())
_BYTES: Final = (pa.binary(), pa.large_binary())


def wrong_types(schema: pa.Schema) -> Iterator[Finding]:
    """Columns that are stored in another type than a release has."""
    for field in schema:
        if field.name == "trajectory_id":
            right, expected = field.type in _TEXTS, "text"
        elif field.name == "geometry":
            right, expected = field.type in _BYTES, "bytes"
        elif field.name in (*BOX_COLUMNS, *POINT_COLUMNS, *DEGREE_COLUMNS):
            instant = field.name.startswith("t") and pa.types.is_timestamp(field.type)
            # seconds in 64 bits tell microseconds apart, and no nanoseconds
            right = field.type in _NUMBERS or (instant and field.type.unit != "ns")
            expected = "numbers of 64 bits"
        else:
            continue  # it does not belong there at all
        if not right:
            # the name of a zone may be any text
            kind = f"timestamp[{field.type.unit}]" if pa.types.is_timestamp(field.type) else field.type
            message = f"the column {field.name} is stored as {kind}; expected {expected}"
            yield Finding("unexpected-type", message)


def strange_pseudonyms(names: Iterable[str]) -> Iterator[Finding]:
    """Pseudonyms that are not what releases have, and so could say anything in plain words."""
    if n := len(Pseudonyms.of(names).irregular):
        yield Finding(
            "unexpected-pseudonym",
            f"{counted(n, 'pseudonym is', 'pseudonyms are')} not 16 hexadecimal digits",
        )


def stored_bytes(table: pa.Table, key: bytes = _KEY) -> Integers:
    """int64 [rows, c]: what is stored of each row beside its pseudonym; equal where the bytes are.

    Numbers by their bits, outlines by a digest of 128 bits whose key (32 bytes) nobody knows. Columns of a
    wrong type, and outlines of different lengths, are found elsewhere and left out.
    """
    columns: list[Integers] = []
    for name in table.column_names:
        values = table[name]
        if values.type in _NUMBERS or pa.types.is_timestamp(values.type):
            parts = [
                part.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) for part in values.chunks
            ]
            columns.append(np.concatenate([*parts, np.empty(0, dtype=np.int64)]))
        elif values.type in _BYTES:
            columns += _digests(values, np.frombuffer(key, dtype=np.uint64).reshape(2, 2))
    return np.column_stack(columns) if columns else np.empty((len(table), 0), dtype=np.int64)


class EqualRecords:
    """Records that hold the same boxes, and whether they are stored alike."""

    def __init__(self) -> None:
        self._stored: dict[int, bytes] = {}
        self._differing = 0

    def look_at(self, boxes: bytes, stored: bytes) -> None:
        """Take in one record: its boxes in cells and slots, and what is stored of it."""
        digest = digest_of(stored)
        if self._stored.setdefault(hash(boxes), digest) != digest:
            self._differing += 1

    def findings(self) -> Iterator[Finding]:
        """One for all records that are stored differently than the first with the same boxes."""
        return differing_findings(self._differing)


def digest_of(stored: bytes) -> bytes:
    """16 bytes for what is stored of a record."""
    return hashlib.blake2b(stored, digest_size=_DIGEST_BYTES).digest()


def differing_findings(differing: int) -> Iterator[Finding]:
    """One for so many records that are stored differently than the first with the same boxes."""
    if differing:
        message = (
            f"{counted(differing, 'record is', 'records are')} stored otherwise, in the last digits or the "
            "outlines, than another with the same boxes"
        )
        yield Finding("stored-differently", message)


def records_stored_differently(
    table: pa.Table, boxes: Integers, offsets: Integers, order: Integers | None
) -> Iterator[Finding]:
    """Records of a whole table with the same boxes [rows, 6] and other bytes.

    order: the rows, by record; None = as they stand.
    """
    stored, cells = stored_bytes(table), boxes
    if order is not None:
        stored, cells = stored[order], cells[order]
    equal = EqualRecords()
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        equal.look_at(cells[start:end].tobytes(), stored[start:end].tobytes())
    yield from equal.findings()


def _digests(column: pa.ChunkedArray, keys: npt.NDArray[np.uint64]) -> list[Integers]:
    """Two columns that are equal where the bytes of the values are; none where lengths differ."""
    lengths = pc.unique(pc.binary_length(column)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return []
    size, digests = lengths[0], []
    for chunk in column.cast(pa.large_binary()).chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            part = chunk.slice(start, _ROWS_AT_ONCE)
            _, ends, content = part.buffers()
            first = int(np.frombuffer(ends, dtype=np.int64)[part.offset])
            raw = np.frombuffer(content, dtype=np.uint8, count=len(part) * size, offset=first)
            words = np.zeros((len(part), -(-size // 8) * 8), dtype=np.uint8)
            words[:, :size] = raw.reshape(-1, size)
            digests.append(_mixed(words.view(np.uint64), keys))
    return list(np.concatenate(digests).T)


def _mixed(words: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> Integers:
    """int64 [rows, 2]: all words of each row, mixed with two keys."""
    found = np.empty((len(words), 2), dtype=np.uint64)
    for half, (start, factor) in enumerate(keys):
        state = np.full(len(words), start, dtype=np.uint64)
        for word in words.T:
            state = (state ^ word) * (factor | np.uint64(1))
            state ^= state >> np.uint64(29)
        found[:, half] = state
    return found.view(np.int64)
