"""The density on the map of a record: how many boxes are expected where, each spread over its area."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.model.release import Boxes
from shoal.runtime.arrays import Floats

PIXELS: Final = 150
_MOST_EXAMPLES: Final = 80
_FAR_OUT: Final = 3.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """A part of the plane as square pixels. x, y: its lower corner in cells; side: of a pixel, in cells."""

    x: float
    y: float
    side: float
    columns: int
    rows: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Density:
    """expected: [rows, columns] boxes expected in a pixel; share_outside: of all boxes, beyond the window."""

    window: Window
    expected: Floats
    share_outside: float


def density_map(boxes: Boxes) -> Density:
    """The expected density of at least one box over a window that shows nearly all of them."""
    window = window_around(boxes)
    return density_in(window, expected_density(boxes, window), len(boxes))


def density_in(window: Window, expected: Floats, n_boxes: int) -> Density:
    """The density of so many boxes, some of which may lie outside the window."""
    return Density(
        window=window, expected=expected, share_outside=max(0.0, 1 - float(expected.sum()) / n_boxes)
    )


def window_around(boxes: Boxes, pixels: int = PIXELS) -> Window:
    """All boxes; where a few lie far out, the part that holds the middle 98 in 100 and some room."""
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
    """float64 [rows, columns]: the sum over boxes of the share of each box's area that lies in the pixel.

    Each box is written as 4 x 4 changes at its edges, and all changes are summed up once. So the cost does
    not depend on the areas of the boxes.
    """
    at_x, by_x = _changes(boxes.x_min, boxes.x_max, window.x, window.side, window.columns)
    at_y, by_y = _changes(boxes.y_min, boxes.y_max, window.y, window.side, window.rows)
    shape = (window.rows + 2, window.columns + 2)
    total = np.zeros(shape[0] * shape[1])
    for i in range(4):
        for j in range(4):
            total += np.bincount(
                at_y[i] * shape[1] + at_x[j], weights=by_y[i] * by_x[j], minlength=len(total)
            )
    summed = total.reshape(shape).cumsum(axis=0).cumsum(axis=1)[:-2, :-2]
    summed[summed < 1e-12 * len(boxes)] = 0.0  # what rounding leaves where no box is
    return np.asarray(summed, dtype=np.float64)


def some_boxes(boxes: Boxes) -> Boxes:
    """At most eighty different areas, evenly spaced in order of size."""
    areas = np.unique(
        np.column_stack([boxes.x_min, boxes.y_min, boxes.x_max, boxes.y_max]), axis=0, return_index=True
    )[1]
    size = (boxes.x_max - boxes.x_min)[areas] * (boxes.y_max - boxes.y_min)[areas]
    chosen = np.unique(np.linspace(0, len(areas) - 1, min(_MOST_EXAMPLES, len(areas))).astype(np.int64))
    return boxes.take(areas[np.argsort(size, kind="stable")[chosen]])


def _shown_range(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64]) -> tuple[float, float]:
    """The range to show along one axis, in cells."""
    middle = (low + high) / 2
    near, far = np.quantile(middle, [0.01, 0.99])
    room = (far - near) / 4 + 1
    if high.max() - low.min() <= _FAR_OUT * (far - near + 2):
        return float(low.min()), float(high.max())
    return max(float(near - room), float(low.min())), min(float(far + room), float(high.max()))


def _changes(
    low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], start: float, side: float, pixels: int
) -> tuple[tuple[npt.NDArray[np.int64], ...], tuple[Floats, ...]]:
    """Where and by how much, along one axis, the share of a box in a pixel differs from the pixel before it.

    Both are four arrays: a box has a first pixel, a last one, and equal shares between. Parts outside the
    pixels are cut off.
    """
    length = (high - low) / side
    from_, to = np.clip((low - start) / side, 0, pixels), np.clip((high - start) / side, 0, pixels)
    first = np.minimum(np.floor(from_), pixels - 1).astype(np.int64)
    last = np.maximum(np.ceil(to).astype(np.int64) - 1, first)
    inside = to > from_
    alone = first == last
    middle = np.where(inside & ~alone, 1 / length, 0.0)
    share_first = np.where(inside, np.where(alone, to - from_, first + 1 - from_) / length, 0.0)
    share_last = np.where(inside & ~alone, (to - last) / length, 0.0)
    return (
        (first, first + 1, last, last + 1),
        (share_first, middle - share_first, share_last - middle, -share_last),
    )
