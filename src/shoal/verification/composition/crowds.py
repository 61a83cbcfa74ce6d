"""Who shares a crowd in a release: from its table and linkage, with memory for its people alone."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.model.claims import claim_from_json
from shoal.model.grid import Grid
from shoal.model.names import Pseudonyms, TextNames, column
from shoal.model.release import BOX_COLUMNS, Linkage
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import RELEASE_FILE, manifest_reading, read_manifest
from shoal.release_folder.tables import decode_boxes, number_records
from shoal.runtime.arrays import Integers, distinct
from shoal.runtime.files import sha256_of
from shoal.units import counted
from shoal.verification.boxes.loops import is_canonical

_ROWS_AT_ONCE: Final = 1 << 18
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, kw_only=True)
class SeriesEntry:
    """One release of a series."""

    label: str  # in words, for messages
    sha256: str  # of its table
    k: int  # of its claim
    unit_of_protection: str
    per_day: bool
    span_s: tuple[float, float]  # the first and the last second that its boxes touch


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseCrowds:
    """Who shares a crowd in one release."""

    about: SeriesEntry
    uids: TextNames  # the n people with a record
    crowd: Integers  # int64 [n], people of equal number share a crowd


def is_in_crowds(folder: Path) -> bool:
    """Whether the records of a release come in crowds, by its claim."""
    return claim_from_json(read_manifest(folder).claim).in_classes


def read_crowds(folder: Path, linkage: Linkage, label: str) -> ReleaseCrowds:
    """The crowds of a release folder; InputError for a changed table or the linkage of another release."""
    manifest = read_manifest(folder)
    claim = claim_from_json(manifest.claim)
    require_plain_file(folder / RELEASE_FILE)
    digest = sha256_of(folder / RELEASE_FILE)
    if digest != manifest.release_sha256:
        raise InputError(
            f"{label}: {RELEASE_FILE} was changed since it was published; use the folder as it was published"
        )
    grid = manifest.grid
    if grid is None or not claim.in_classes:
        raise InputError(
            f"{label} claims {claim.type}, whose records come in no crowds; leave it out, and measure with "
            "shoal attack --earlier what it reveals"
        )
    names: list[str] = []
    crowd_of_record: list[int] = []
    number_of: dict[bytes, int] = {}
    first, last = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    key = os.urandom(32)
    for name, boxes in _records(folder / RELEASE_FILE, grid):
        content = blake2b(boxes.tobytes(), digest_size=_DIGEST_BYTES, key=key).digest()
        names.append(name)
        crowd_of_record.append(number_of.setdefault(content, len(number_of)))
        first, last = min(first, int(boxes[:, 0].min())), max(last, int(boxes[:, 1].max()))
    record = _linked_records(Pseudonyms.of(names), linkage, label)
    return ReleaseCrowds(
        about=SeriesEntry(
            label=label,
            sha256=digest,
            k=claim.k,
            unit_of_protection=manifest.unit_of_protection,
            per_day=manifest_reading(folder, manifest).per_day,
            span_s=(first * grid.slot_s, last * grid.slot_s),
        ),
        uids=TextNames(column(linkage.uids)),
        crowd=np.array(crowd_of_record, dtype=np.int64)[record],
    )


def _linked_records(names: Pseudonyms, linkage: Linkage, label: str) -> Integers:
    """int64 [linkage]: the record of each person."""
    record = names.positions_of(Pseudonyms.of(linkage.trajectory_ids))
    unknown = int(np.count_nonzero(record < 0))
    without = len(names) - len(distinct(record[record >= 0]))
    repeated = len(record) - unknown - (len(names) - without)
    repeated += len(linkage.uids) - len(column(linkage.uids).unique())
    if not len(names) or names.duplicate_positions():
        fault = "the rows of one record do not stand together" if len(names) else "it holds no record"
        raise InputError(f"{label}: {fault}; look at it with shoal verify")
    if unknown or without or repeated:
        raise InputError(
            f"{label}: the linkage does not belong to it: {unknown:,} of its records are not in the release, "
            f"{counted(without, 'record')} of the release {'is' if without == 1 else 'are'} not in the "
            f"linkage, {repeated:,} names appear twice; use the linkage that was made with this release"
        )
    return record


def _records(path: Path, grid: Grid) -> Iterator[tuple[str, Integers]]:
    """Each record's pseudonym and boxes [b, 6], its rows ascending."""
    for name, pieces in groupby(_pieces(path, grid), key=itemgetter(0)):
        yield name, _ascending([boxes for _, boxes in pieces])


def _pieces(path: Path, grid: Grid) -> Iterator[tuple[str, Integers]]:
    for table in _tables(path):
        boxes = np.stack(decode_boxes(table, grid, str(path)).columns(), axis=1)
        code, names = number_records(table["trajectory_id"])
        cuts = np.flatnonzero(np.diff(code)) + 1
        for start, piece in zip([0, *cuts.tolist()], np.split(boxes, cuts), strict=True):
            yield names[code[start]], piece


def _ascending(pieces: list[Integers]) -> Integers:
    boxes = np.ascontiguousarray(np.concatenate(pieces), dtype=np.int64)
    if is_canonical(boxes, np.array([0, len(boxes)])):
        return boxes
    return np.ascontiguousarray(boxes[np.lexsort(boxes.T[::-1])])


def _tables(path: Path) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(path) as file:
            columns = [name for name in file.schema_arrow.names if name in ("trajectory_id", *BOX_COLUMNS)]
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
                if len(batch):
                    yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file; fetch or write it again") from error
