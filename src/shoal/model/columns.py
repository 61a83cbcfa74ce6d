"""The columns of Trajectories: types, units and meanings, as construction checks them."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Column:
    """What one column of Trajectories holds, and what construction checks of it.

    of: what it has one value for. snapped, given: its type on a grid and as given, None = absent there. unit:
    on a grid; as_given: the unit without one. place: its place in the order of a subject's samples. pair:
    the column that must be there with it.
    """

    of: Literal["offset", "subject", "sample"]
    snapped: type[np.generic] | None
    given: type[np.generic] | None
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
        given=np.int64,
        meaning="subject i owns samples offsets[i] to offsets[i + 1], at least one",
    ),
    "t": Column(
        of="sample",
        snapped=np.int64,
        given=np.float64,
        unit="slots of slot_s seconds since 1970-01-01 UTC",
        as_given="seconds since then, or since step 0",
        meaning="when the subject was seen",
        place=0,
    ),
    "x": Column(
        of="sample",
        snapped=np.int64,
        given=np.float64,
        unit="cells of cell_m meters, by their lower corner",
        as_given="meters",
        meaning="where the subject was seen, eastward",
        place=1,
    ),
    "y": Column(
        of="sample",
        snapped=np.int64,
        given=np.float64,
        unit="cells of cell_m meters, by their lower corner",
        as_given="meters",
        meaning="where the subject was seen, northward",
        place=2,
    ),
    "input_rank": Column(
        of="subject",
        snapped=np.int64,
        given=np.int64,
        meaning="the subject's place in the order of first appearance in the input",
        required=False,
    ),
    "lat": Column(
        of="sample",
        snapped=None,
        given=np.float64,
        as_given="degrees",
        meaning="latitude, to the last digit of the input",
        required=False,
        pair="lon",
    ),
    "lon": Column(
        of="sample",
        snapped=None,
        given=np.float64,
        as_given="degrees",
        meaning="longitude, to the last digit of the input",
        required=False,
        pair="lat",
    ),
}
"""The columns of Trajectories; construction checks types, lengths, pairs and order by this table."""
