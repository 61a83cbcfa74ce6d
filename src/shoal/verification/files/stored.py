"""Check how a table stores rows: last digits could tell members of a class apart."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from shoal.model.names import Pseudonyms
from shoal.model.release import BOX_COLUMNS, DEGREE_COLUMNS, POINT_COLUMNS
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Integers
from shoal.units import counted

_DIGEST_BYTES: Final = 16
_ROWS_AT_ONCE: Final = 1 << 18
_KEY: Final = os.urandom(32)  # of this process; secret
NUMBERS: Final = (pa.int64(), pa.float64())
TEXTS: Final = (pa.string(), pa.large_string())
BYTES: Final = (pa.binary(), pa.large_binary())


def wrong_types(schema: pa.Schema) -> Iterator[Finding]:
    """Columns of another type than a release has."""
    for field in schema:
        if field.name == "trajectory_id":
            right, expected = field.type in TEXTS, "text"
        elif field.name == "geometry":
            right, expected = field.type in BYTES, "bytes"
        elif field.name in (*BOX_COLUMNS, *POINT_COLUMNS, *DEGREE_COLUMNS):
            instant = field.name.startswith("t") and pa.types.is_timestamp(field.type)
            # 64-bit seconds resolve microseconds, not nanoseconds
            right = field.type in NUMBERS or (instant and field.type.unit != "ns")
            expected = "numbers of 64 bits"
        else:
            continue  # another check finds it
        if not right:
            # a time zone's name may be any text
            kind = f"timestamp[{field.type.unit}]" if pa.types.is_timestamp(field.type) else field.type
            message = f"the column {field.name} is stored as {kind}; expected {expected}"
            yield Finding("unexpected-type", message)


def unexpected_pseudonyms(names: Iterable[str]) -> Iterator[Finding]:
    """Pseudonyms of another form, which could say anything."""
    if n := len(Pseudonyms.of(names).irregular):
        yield Finding(
            "unexpected-pseudonym",
            f"{counted(n, 'pseudonym is', 'pseudonyms are')} not 16 hexadecimal digits",
        )


def stored_bytes(table: pa.Table, key: bytes = _KEY) -> Integers:
    """int64 [rows, c]: numbers and times of rows as bits, and keyed 128-bit digests of outlines; no text."""
    columns: list[Integers] = []
    for name in table.column_names:
        values = table[name]
        if values.type in NUMBERS or pa.types.is_timestamp(values.type):
            parts = [
                part.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) for part in values.chunks
            ]
            columns.append(np.concatenate([*parts, np.empty(0, dtype=np.int64)]))
        elif values.type in BYTES:
            columns += list(_digests(values, key).T)
    return np.column_stack(columns) if columns else np.empty((len(table), 0), dtype=np.int64)


def record_digest(stored: bytes, key: bytes = b"") -> bytes:
    """16 bytes for a record, or an outline."""
    return hashlib.blake2b(stored, digest_size=_DIGEST_BYTES, key=key).digest()


def stored_differently(differing: int) -> Iterator[Finding]:
    """At most one finding for the number of differing records."""
    if differing:
        message = (
            f"{counted(differing, 'record is', 'records are')} stored otherwise, in the last digits or the "
            "outlines, than another with the same boxes"
        )
        yield Finding("stored-differently", message)


def records_stored_differently(
    table: pa.Table, boxes: Integers, offsets: Integers, order: Integers | None
) -> Iterator[Finding]:
    """Compare the bytes of records with equal boxes, int64 [rows, 6]; order: rows by record."""
    stored, cells = stored_bytes(table), boxes
    if order is not None:
        stored, cells = stored[order], cells[order]
    first_digest: dict[int, bytes] = {}
    differing = 0
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        digest = record_digest(stored[start:end].tobytes())
        differing += first_digest.setdefault(hash(cells[start:end].tobytes()), digest) != digest
    yield from stored_differently(differing)


def _digests(column: pa.ChunkedArray, key: bytes) -> Integers:
    """int64 [rows, 2]: of equal outlines the same, each made once."""
    parts = [np.empty((0, 2), dtype=np.int64)]
    for chunk in column.cast(pa.large_binary()).chunks:
        for start in range(0, len(chunk), _ROWS_AT_ONCE):
            coded = chunk.slice(start, _ROWS_AT_ONCE).fill_null(b"").dictionary_encode()
            content = b"".join(record_digest(text, key) for text in coded.dictionary.to_pylist())
            parts.append(np.frombuffer(content, dtype=np.int64).reshape(-1, 2)[coded.indices.to_numpy()])
    return np.concatenate(parts)
