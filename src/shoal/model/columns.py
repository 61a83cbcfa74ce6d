"""The columns of Trajectories: types, units and meanings."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of Trajectories, as construction checks it.

    of: what has one value each. snapped, unsnapped: its type on a grid and without one, None = absent. unit:
    on a grid; as_given: without one. place: in the order of a subject's samples. pair: the column that comes
    with it.
    """

    of: Literal["offset", "subject", "sample"]
    snapped: type[np.generic] | None
    unsnapped: type[np.generic] | None
    meaning: str
    unit: str = ""
    as_given: str = ""
    required: bool = True
    place: int | None = None
    pair: str | None = None


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
