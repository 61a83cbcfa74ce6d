"""What a run of swapping did, point by point. It undoes the release: it is kept in memory, and written only when asked for.

The file holds one row for each published point, in the release's order: the record, the raw samples (positions in the raw data as read)
whose time and place the point has, the person the place was taken from, the swap set, and the whole set where it first appears.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError
from shoal.streets import StreetGraph
from shoal.trajectories import Integers

TRACE_FILE = "origin.parquet"
_COLUMNS = ("time_from", "place_from", "swap_set", "set_rows")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Trace:
    """Rows are positions of samples in the original, points those of the release.

    time_from, place_from: int64 [p], the rows whose time and whose place each point has. swap_set: int64 [p], the set it was swapped in.
    set_offsets: int64 [s + 1]; set_rows: the rows of each set, the leading one first, sets in the order of the run.
    facts: figures of the run that no release holds, such as what was measured on the way. streets: the graph of
    ReachLocations, without which paths cannot be checked.
    """

    time_from: Integers
    place_from: Integers
    swap_set: Integers
    set_offsets: Integers
    set_rows: Integers
    facts: Mapping[str, Any] = field(default_factory=dict)
    streets: StreetGraph | None = None

    @property
    def n_sets(self) -> int:
        """How many swap sets there were."""
        return len(self.set_offsets) - 1

    @property
    def leaders(self) -> Integers:
        """int64 [s]: the row that led each set."""
        return self.set_rows[self.set_offsets[:-1]]

    def write(self, path: Path, trajectory_ids: Sequence[str], offsets: Integers, person_of_row: Sequence[str]) -> None:
        """Write the file. trajectory_ids, offsets: of the release's records. person_of_row: [samples of the original] whose each is."""
        first = np.zeros(len(self.swap_set), dtype=np.bool_)
        first[np.unique(self.swap_set, return_index=True)[1]] = True
        sets = [self.set_rows[self.set_offsets[s] : self.set_offsets[s + 1]].tolist() if led else None for s, led in zip(self.swap_set, first, strict=True)]
        table = {
            "trajectory_id": pa.array(np.repeat(np.array(trajectory_ids), np.diff(offsets)), pa.string()),
            "place_of": pa.array([person_of_row[row] for row in self.place_from], pa.string()),
            **{name: pa.array(getattr(self, name)) for name in _COLUMNS[:3]},
            "set_rows": pa.array(sets, pa.list_(pa.int64())),
        }
        pq.write_table(pa.table(table), path, compression="zstd", store_schema=False)

    @classmethod
    def read(cls, path: Path) -> "Trace":
        """What ``write`` wrote; raises InputError when it cannot be that."""
        try:
            table = pq.read_table(path, columns=list(_COLUMNS))
            time_from, place_from, swap_set = (table[name].to_numpy().astype(np.int64) for name in _COLUMNS[:3])
            sets = table["set_rows"].to_pylist()
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
            raise InputError(f"{path} cannot be read as the origins of swapped points; use the file written with this release") from error
        known = {int(s): rows for s, rows in zip(swap_set, sets, strict=True) if rows is not None}
        numbers = sorted(set(known) | set(swap_set.tolist()))
        parts = [np.array(known.get(s, []), dtype=np.int64) for s in numbers]
        return cls(
            time_from=time_from,
            place_from=place_from,
            swap_set=np.searchsorted(np.array(numbers), swap_set).astype(np.int64),
            set_offsets=np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64),
            set_rows=np.concatenate([*parts, np.empty(0, dtype=np.int64)]),
        )

    def __repr__(self) -> str:
        return f"Trace({len(self.place_from)} points, {self.n_sets} sets)"
