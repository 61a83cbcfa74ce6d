"""The columns of Trajectories: types, units and meanings."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of Trajectories, as construction checks it."""

    of: Literal["offset", "subject", "sample"]  # what has one value each
    snapped: type[np.generic] | None  # its type on a grid, None = absent
    unsnapped: type[np.generic] | None  # its type without one, None = absent
    meaning: str
    unit: str = ""  # on a grid
    as_given: str = ""  # unit without a grid
    required: bool = True
    place: int | None = None  # in the order of a subject's samples
    pair: str | None = None  # the column that comes with it


COLUMNS: Final[dict[str, Column]] = {
    "offsets": Column(
        of="offset",
        snapped=np.int64,
        unsnapped=np.int64,
        meaning="subject i owns samples offsets[i] to offsets[i + 1], at least one",
    ),
    "t": Column(
        of="sample",
        snapped=np.int64,
        unsnapped=np.float64,
        unit="slots of slot_s seconds since 1970-01-01 UTC",
        as_given="seconds since then, or since step 0",
        meaning="when the subject was seen",
        place=0,
    ),
    "x": Column(
        of="sample",
        snapped=np.int64,
        unsnapped=np.float64,
        unit="cells of cell_m meters, by their lower corner",
        as_given="meters",
        meaning="where the subject was seen, eastward",
        place=1,
    ),
    "y": Column(
        of="sample",
        snapped=np.int64,
        unsnapped=np.float64,
        unit="cells of cell_m meters, by their lower corner",
        as_given="meters",
        meaning="where the subject was seen, northward",
        place=2,
    ),
    "input_rank": Column(
        of="subject",
        snapped=np.int64,
        unsnapped=np.int64,
        meaning="the subject's place in the order of first appearance in the input",
        required=False,
    ),
    "lat": Column(
        of="sample",
        snapped=None,
        unsnapped=np.float64,
        as_given="degrees",
        meaning="latitude, to the last digit of the input",
        required=False,
        pair="lon",
    ),
    "lon": Column(
        of="sample",
        snapped=None,
        unsnapped=np.float64,
        as_given="degrees",
        meaning="longitude, to the last digit of the input",
        required=False,
        pair="lat",
    ),
}
"""The columns of Trajectories; construction checks types, lengths, pairs and order by this table."""
