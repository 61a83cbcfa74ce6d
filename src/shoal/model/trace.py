"""What a run of swapping did, point by point.

It undoes the release, so it stays in memory and is written only on request: per published point, in the
release's order, the record, the raw samples (positions as read) of its time and of its place, the person of
the place, the swap set, and the rows of the set where it first appears.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.model.streets import StreetGraph
from shoal.runtime.arrays import Integers, offsets_of
from shoal.units import counted

TRACE_FILE: Final = "origin.parquet"
TRACE_FILES: Final = f"{TRACE_FILE} beside the linkage, or NAME-{TRACE_FILE} beside NAME.parquet"
_COLUMNS: Final = ("time_from", "place_from", "swap_set", "set_rows")


def trace_path(linkage_file: Path) -> Path:
    """``origin.parquet`` beside ``linkage.parquet``, ``NAME-origin.parquet`` beside ``NAME.parquet``."""
    plain = linkage_file.name == "linkage.parquet"
    return linkage_file.with_name(TRACE_FILE if plain else f"{linkage_file.stem}-{TRACE_FILE}")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trace:
    """Rows are positions of samples in the original; points are those of the release."""

    time_from: Integers  # [p], the row of each point's time
    place_from: Integers  # [p], the row of its place
    swap_set: Integers  # [p], its set
    set_offsets: Integers  # [s + 1]
    set_rows: Integers  # rows of each set, the leader first, sets in the order of the run
    place_of: tuple[str, ...]  # [p], the subject of each point's place
    facts: Mapping[str, Any] = field(default_factory=dict)  # figures of the run
    streets: StreetGraph | None = None  # the graph of ReachLocations, needed to check paths
    records: tuple[Integers, tuple[str, ...]] | None = None  # of a file: numbers and names

    def in_order_of(self, trajectory_ids: Sequence[str], offsets: Integers) -> "Trace":
        """The trace in the order of a release, if its records are the release's."""
        if self.records is None:
            return self
        record, names = self.records
        place_of = {name: position for position, name in enumerate(trajectory_ids)}
        places = np.array([place_of.get(name, -1) for name in names], dtype=np.int64)[record]
        points = np.bincount(places[places >= 0], minlength=len(trajectory_ids))
        if (places < 0).any() or not np.array_equal(points, np.diff(offsets)):
            return self
        order = np.argsort(places, kind="stable")
        if (order[1:] > order[:-1]).all():
            return self
        return replace(
            self,
            time_from=self.time_from[order],
            place_from=self.place_from[order],
            swap_set=self.swap_set[order],
            place_of=tuple(self.place_of[row] for row in order.tolist()),
            records=None,
        )

    @property
    def n_sets(self) -> int:
        """Number of swap sets."""
        return len(self.set_offsets) - 1

    @property
    def leaders(self) -> Integers:
        """int64 [s]: the row that led each set."""
        return self.set_rows[self.set_offsets[:-1]]

    def table(self, trajectory_ids: Sequence[str], offsets: Integers) -> pa.Table:
        """The table of the file. trajectory_ids, offsets: of the records."""
        first = np.zeros(len(self.swap_set), dtype=np.bool_)
        first[np.unique(self.swap_set, return_index=True)[1]] = True
        sets = [
            self.set_rows[self.set_offsets[s] : self.set_offsets[s + 1]].tolist() if begins else None
            for s, begins in zip(self.swap_set.tolist(), first.tolist(), strict=True)
        ]
        columns = {
            "trajectory_id": pa.array(np.repeat(np.array(trajectory_ids), np.diff(offsets)), pa.string()),
            **{name: pa.array(getattr(self, name)) for name in _COLUMNS[:3]},
            "set_rows": pa.array(sets, pa.list_(pa.int64())),
            "place_of": pa.array(self.place_of, pa.string()),
        }
        return pa.table(columns)

    @classmethod
    def of_table(cls, table: pa.Table, where: str) -> "Trace":
        """The trace of a ``table``."""
        try:
            time_from, place_from, swap_set = (
                table[name].to_numpy().astype(np.int64) for name in _COLUMNS[:3]
            )
            rows_of_set = {
                int(s): rows
                for s, rows in zip(swap_set, table["set_rows"].to_pylist(), strict=True)
                if rows is not None
            }
            numbers = np.unique(swap_set)
            parts = [np.array(rows_of_set.get(s, []), dtype=np.int64) for s in numbers.tolist()]
            if any(part.ndim != 1 or not part.size for part in parts):
                raise ValueError("a swap set has no rows")
            place_of = tuple(table["place_of"].cast(pa.string()).to_pylist())
            record = table["trajectory_id"].cast(pa.string()).combine_chunks().dictionary_encode()
        except (pa.ArrowException, KeyError, ValueError, TypeError) as error:
            raise InputError(
                f"{where} cannot be read as the origins of swapped points; use the file written with this "
                "release"
            ) from error
        return cls(
            time_from=time_from,
            place_from=place_from,
            swap_set=np.searchsorted(numbers, swap_set).astype(np.int64),
            set_offsets=offsets_of(map(len, parts)),
            set_rows=np.concatenate([*parts, np.empty(0, dtype=np.int64)]),
            place_of=place_of,
            records=(record.indices.to_numpy(), tuple(record.dictionary.to_pylist())),
        )

    def __repr__(self) -> str:
        return f"Trace({counted(len(self.place_from), 'point')}, {counted(self.n_sets, 'set')})"
