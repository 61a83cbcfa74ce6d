"""The columns of Trajectories: types, units and meanings."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np


@dataclass(frozen=True)
class Column:
    """A column, as construction checks it."""

    of: Literal["offset", "subject", "sample"]  # what has one value each
    snapped: type[np.generic] | None  # its type on a grid, None = absent
    unsnapped: type[np.generic] | None  # its type without one, None = absent
    meaning: str
    unit: str = ""  # on a grid
    as_given: str = ""  # unit without a grid
    required: bool = True
    sort_rank: int | None = None  # in the order of a subject's samples, by this column first, second, third
    comes_with: str | None = None  # the column without which it may not stand


_IN_CELLS: Final = ("cells of cell_m meters, by their lower corner", "meters")
_IN_SLOTS: Final = ("slots of slot_s seconds since 1970-01-01 UTC", "seconds since then, or since step 0")
_RANK: Final = "the subject's place in the order of first appearance in the input"
_LAT: Final = "latitude, to the last digit of the input"
_LON: Final = "longitude, to the last digit of the input"

COLUMNS: Final[dict[str, Column]] = {
    "offsets": Column(
        "offset", np.int64, np.int64, "subject i owns samples offsets[i] to offsets[i + 1], at least one"
    ),
    "t": Column("sample", np.int64, np.float64, "when the subject was seen", *_IN_SLOTS, sort_rank=0),
    "x": Column(
        "sample", np.int64, np.float64, "where the subject was seen, eastward", *_IN_CELLS, sort_rank=1
    ),
    "y": Column(
        "sample", np.int64, np.float64, "where the subject was seen, northward", *_IN_CELLS, sort_rank=2
    ),
    "input_rank": Column("subject", np.int64, np.int64, _RANK, required=False),
    "lat": Column("sample", None, np.float64, _LAT, as_given="degrees", required=False, comes_with="lon"),
    "lon": Column("sample", None, np.float64, _LON, as_given="degrees", required=False, comes_with="lat"),
}
"""The columns of Trajectories; construction checks types, lengths, pairs and order by this table."""
