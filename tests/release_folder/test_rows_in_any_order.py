"""Rows of a table are put in order, whatever order a file has them in; where they are in order, they stay."""

import numpy as np
import pyarrow as pa
import pytest

from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS
from shoal.release_folder.tables import decode_records

GRID = Grid(cell_m=1, slot_s=1)
NAMES = ["b", "b", "b", "a", "a"]
BOXES = np.array(
    [(0, 9, 0, 0, 5, 5), (0, 9, 0, 0, 5, 6), (1, 2, 0, 0, 1, 1), (0, 1, 3, 3, 4, 4), (0, 1, 3, 3, 4, 4)]
)


def table_of(rows: list[int]) -> pa.Table:
    columns = {name: BOXES[rows, place] for place, name in enumerate(BOX_COLUMNS)}
    return pa.table({"trajectory_id": [NAMES[row] for row in rows], **columns})


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ([0, 1, 2, 3, 4], ("b", "a")),
        ([1, 0, 2, 3, 4], ("b", "a")),  # only the last column tells
        ([2, 0, 1, 3, 4], ("b", "a")),
        ([0, 3, 1, 4, 2], ("b", "a")),  # the rows of a record are apart
        ([3, 2, 1, 0, 4], ("a", "b")),
        ([0], ("b",)),
        ([], ()),
    ],
)
def test_rows_come_in_order(rows: list[int], ids: tuple[str, ...]) -> None:
    result, offsets, payload = decode_records(table_of(rows), "boxes", GRID, "a table")
    assert result == ids
    own_items = [sorted(BOXES[row].tolist() for row in rows if NAMES[row] == name) for name in ids]
    assert offsets.tolist() == np.cumsum([0, *map(len, own_items)]).tolist()
    assert np.array(payload.columns()).T.tolist() == [box for boxes in own_items for box in boxes]
