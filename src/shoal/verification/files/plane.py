"""Check whether the plane of a release counts in meters."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.model.grid import Grid
from shoal.model.intake import DEGREES_IGNORED
from shoal.model.population import Population
from shoal.model.projection import MOST_WRONG, PlaneLengths, error_in_words
from shoal.model.release import Boxes, Points
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Floats, Integers
from shoal.units import percent

LOCAL_METERS: Final = (
    "the coordinates are local meters: nothing ties them to the earth, so nothing shows that they are meters"
)
_CODE: Final = re.compile(r"[A-Za-z]{2,20}:[0-9]{1,10}")
_PARAMETER: Final = re.compile(
    r"\+(no_defs|south|type=crs|zone=[0-9]{1,2}|(proj|datum|ellps|units|pm)=[A-Za-z][A-Za-z0-9_]{0,15}"
    r"|(lat_[012]|lat_ts|lon_[0-2]|lonc|alpha|gamma|k|k_0|x_0|y_0|a|b|rf|towgs84)=[0-9.,e+-]{1,80})"
)


class PlaneCheck:
    """Collects places and checks their plane; None = local meters."""

    def __init__(self, crs: str | None) -> None:
        self._text = crs or ""
        self._lengths = None if crs is None else PlaneLengths(crs)

    def add_points(self, points: Points) -> None:
        """Add the places of points."""
        self._add_places(points.x, points.y)

    def add_boxes(self, boxes: Boxes, grid: Grid) -> None:
        """Add two corners of each box."""
        if self._lengths is not None and len(boxes):
            x, y = _different((boxes.x_min, boxes.x_max), (boxes.y_min, boxes.y_max))
            self._add_places(*((column * grid.cell_m).astype(np.float64) for column in (x, y)))

    def merge(self, later: "PlaneCheck") -> None:
        """Add the places of another check."""
        if self._lengths is not None and later._lengths is not None:
            self._lengths.add(later._lengths)

    def findings(self) -> Iterator[Finding]:
        """A finding when the plane's distances are wrong although a plane around the data has them right."""
        if self._lengths is not None:
            places, wrong, worst, _ = self._lengths.errors()
            if wrong:
                yield Finding(
                    "plane-not-in-meters",
                    f"at {wrong:,} of {places:,} places of the release, distances in the manifest's plane "
                    f"differ from true ones, {error_in_words(worst)} at worst; {percent(MOST_WRONG, 0)} is "
                    "allowed",
                )

    def notes(self, original: Population) -> Iterator[str]:
        """Notes where nothing shows that lengths are meters."""
        if self._lengths is None:
            yield LOCAL_METERS
            yield from (note for note in original.intake.notes if note.startswith(DEGREES_IGNORED))
        else:
            if not (_CODE.fullmatch(self._text) or all(map(_PARAMETER.fullmatch, self._text.split(" ")))):
                yield (
                    f"the manifest describes the plane in {len(self._text):,} characters that are neither a "
                    "code nor parameters of PROJ alone: what else they say was not looked at"
                )
            places, _, _, far = self._lengths.errors()
            if far:
                yield (
                    f"{far:,} of {places:,} places of the release lie so far from its middle that distances "
                    f"there differ from true ones by more than {percent(MOST_WRONG, 0)}, as in any plane "
                    "around all of them; publish each region on its own"
                )

    def _add_places(self, x: Floats, y: Floats) -> None:
        if self._lengths is not None and len(x):
            self._lengths.measure(x, y)


def _different(x: Sequence[Integers], y: Sequence[Integers]) -> tuple[Integers, Integers]:
    """All cells, where one number cannot tell them apart."""
    west, south = (min(int(column.min()) for column in columns) for columns in (x, y))
    east, north = (max(int(column.max()) for column in columns) for columns in (x, y))
    rows, n_cells = north - south + 1, sum(map(len, x))
    n_places = (east - west + 1) * rows
    if n_places >= 1 << 63:
        return np.concatenate(x), np.concatenate(y)
    every = ((across - west) * rows + (up - south) for across, up in zip(x, y, strict=True))
    if n_places <= n_cells:  # a flag for each place fits into memory
        occupied = np.zeros(n_places, dtype=np.bool_)
        for cells in every:
            occupied[cells] = True
        different = np.flatnonzero(occupied)
    else:
        different = pc.unique(pa.array(np.concatenate(list(every)))).to_numpy()
    return different // rows + west, different % rows + south
