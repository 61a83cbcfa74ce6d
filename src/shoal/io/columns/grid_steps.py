"""Data sets that number their days, slots and cells instead of giving times and places."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from shoal.io.columns.columns import named_in
from shoal.io.columns.values import numbers
from shoal.io.formats.tables import Table, reshaped
from shoal.runtime.arrays import Floats
from shoal.units import DAY_S

_SLOT_S: Final = 1800
_CELL_M: Final = 500.0


def yjmob(table: Table) -> Table:
    """YJMob100K: days from 0, half hours from 0 to 47, cells of 500 m; 999 stands for what is withheld.

    Times become seconds since the start of day 0; positions the meters of the cells' centers.
    """
    day, slot, x, y = (named_in(table, name) for name in ("d", "t", "x", "y"))

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        def values(name: str) -> tuple[Floats, Any]:
            return numbers(batch.column(name), f"column '{name}' of {table.name}")

        (days, day_known), (slots, slot_known) = values(day), values(slot)
        known = day_known & slot_known & (slots >= 0) & (slots < DAY_S // _SLOT_S) & (days >= 0)
        seconds = np.where(known, days, 0) * DAY_S + np.where(known, slots, 0) * _SLOT_S
        columns = {name: batch.column(name) for name in batch.schema.names if name not in {"t", "x", "y"}}
        columns["t"] = pa.array(seconds.astype(np.int64), mask=~known)
        for name, cell in (("x", x), ("y", y)):
            cells, cell_known = values(cell)
            cell_known &= cells < 999
            columns[name] = pa.array((np.where(cell_known, cells, 0) + 0.5) * _CELL_M, mask=~cell_known)
        return pa.record_batch(columns)

    return reshaped(table, ("t", "x", "y"), (day, slot, x, y), change)
