"""The map's density: expected boxes per pixel, each spread over its area."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.kernels.box_measures import add_density_changes
from shoal.model.release import Boxes
from shoal.runtime.arrays import Floats, Integers

PIXELS: Final = 150
_MOST_EXAMPLES: Final = 80
_FAR_OUT: Final = 3.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """Square pixels. x, y: lower corner in cells; side: in cells."""

    x: float
    y: float
    side: float
    columns: int
    rows: int

    def bounds_m(self, cell_m: float) -> tuple[float, float, float, float]:
        """West, south, east and north in meters."""
        east, north = self.x + self.columns * self.side, self.y + self.rows * self.side
        return self.x * cell_m, self.y * cell_m, east * cell_m, north * cell_m


@dataclass(frozen=True, eq=False, kw_only=True)
class Density:
    """Expected boxes per pixel, and the share beyond the window."""

    window: Window
    expected: Floats
    share_outside: float


def density_map(boxes: Boxes) -> Density:
    """The density over a window with nearly all boxes."""
    window = window_around(boxes)
    return density_in(window, expected_density(boxes, window), len(boxes))


def comparable_densities(of: Mapping[str, Boxes], pixels: int) -> dict[str, Density]:
    """The densities of several tables over the window of the first."""
    window = window_around(next(iter(of.values())), pixels)
    return {
        name: density_in(window, expected_density(boxes, window), len(boxes)) for name, boxes in of.items()
    }


def density_in(window: Window, expected: Floats, n_boxes: int) -> Density:
    """``n_boxes`` boxes, some perhaps outside the window."""
    return Density(
        window=window, expected=expected, share_outside=max(0.0, 1 - float(expected.sum()) / n_boxes)
    )


def window_around(boxes: Boxes, pixels: int = PIXELS) -> Window:
    """All boxes; if a few lie far out, the middle 98 % with a margin."""
    lows, highs = zip(
        _shown_range(boxes.x_min, boxes.x_max), _shown_range(boxes.y_min, boxes.y_max), strict=True
    )
    side = max(1.0, max(high - low for low, high in zip(lows, highs, strict=True)) / (pixels - 2))
    columns, rows = (int(np.ceil((high - low) / side)) + 2 for low, high in zip(lows, highs, strict=True))
    middle = [(low + high) / 2 for low, high in zip(lows, highs, strict=True)]
    return Window(
        x=middle[0] - columns * side / 2, y=middle[1] - rows * side / 2, side=side, columns=columns, rows=rows
    )


def expected_density(boxes: Boxes, window: Window) -> Floats:
    """float64 [rows, columns]: the sum over boxes of the share of their area in the pixel.

    Each box is 4 x 4 changes at its edges, all summed once.
    """
    corners = np.zeros((16, window.rows + 2, window.columns + 2))
    add_density_changes(
        boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max, (window.x, window.y), window.side, corners
    )
    total = np.zeros(corners.shape[1:])
    for kind in corners:
        total += kind
    summed = total.cumsum(axis=0).cumsum(axis=1)[:-2, :-2]
    summed[summed < 1e-12 * len(boxes)] = 0.0  # what rounding leaves where no box is
    return np.asarray(summed, dtype=np.float64)


def some_boxes(boxes: Boxes) -> Boxes:
    """At most eighty different areas, spaced by size."""
    areas = _first_of_each((boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max))
    size = (boxes.x_max - boxes.x_min)[areas] * (boxes.y_max - boxes.y_min)[areas]
    chosen = np.unique(np.linspace(0, len(areas) - 1, min(_MOST_EXAMPLES, len(areas))).astype(np.int64))
    return boxes.take(areas[np.argsort(size, kind="stable")[chosen]])


def _first_of_each(columns: Sequence[Integers]) -> Integers:
    least = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
    keys = list(columns)
    if math.prod(spans) <= np.iinfo(np.int64).max:  # then one number tells rows apart, and sorts faster
        number = np.zeros(len(columns[0]), dtype=np.int64)
        for column, low, span in zip(columns, least, spans, strict=True):
            number *= span
            number += column - low
        keys = [number]
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    return order[new]


def _shown_range(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> tuple[float, float]:
    middle = (low + high) / 2
    near, far = np.quantile(middle, [0.01, 0.99])
    room = (far - near) / 4 + 1
    if high.max() - low.min() <= _FAR_OUT * (far - near + 2):
        return float(low.min()), float(high.max())
    return max(float(near - room), float(low.min())), min(float(far + room), float(high.max()))
