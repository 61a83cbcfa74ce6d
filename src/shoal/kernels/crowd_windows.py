"""Least costs to a merged crowd, by place and window of time (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.people import People, Places
from shoal.kernels.stretch import Raw, Samples, Scale
from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled

MOST = 1 << 16  # windows times places: numbers fit 16 bits, and costs fit the cache
MAIN = 8  # places compared before windows


class Visits(NamedTuple):
    """Samples by place and window of 1 << shift slots, counted from Hours.first_t."""

    shift: int
    n_windows: int
    main: Numbers  # [n, MAIN, 2], each person's heaviest places and their samples, padded with zero samples
    offsets: Integers  # person i owns counts from offsets[i] to offsets[i + 1]
    counts: Numbers  # [v, 2], window * places + place, and samples


def find_visits(people: People, last_slot: int) -> Visits:
    """The visits of all people, in the shortest possible windows."""
    raw, places = people.raw, people.places
    n_places, shift = len(places.costs), people.hours.shift
    while ((last_slot >> shift) + 1) * n_places > MOST and last_slot >> shift:
        shift += 1
    n_windows = (last_slot >> shift) + 1
    lengths = np.diff(raw.offsets)
    kind = np.uint16 if max(n_windows * n_places - 1, int(lengths.max())) < 1 << 16 else np.int64
    main = np.empty((len(lengths), MAIN, 2), dtype=kind)
    offsets = np.zeros(len(raw.offsets), dtype=np.int64)
    counts = np.empty((raw.offsets[-1], 2), dtype=kind)
    rows, last = places.offsets[:-1, None] + np.arange(MAIN), places.offsets[1:, None] - 1
    main[:, :, 0] = places.distinct[np.minimum(rows, last)]
    main[:, :, 1] = np.where(rows <= last, places.weights[np.minimum(rows, last)], 0)
    _fill_visits(raw, places, people.hours.slot, shift, n_windows * n_places, offsets, counts)
    return Visits(shift, n_windows, main, offsets, counts)


@compiled
def _fill_visits(
    raw: Raw, places: Places, slot: Numbers, shift: int, most: int, offsets: Integers, counts: Numbers
) -> None:
    place_of, n_places = np.full(most, -1, dtype=np.int64), len(places.costs)
    used = 0
    for i in range(len(offsets) - 1):
        offsets[i] = used
        for sample in range(raw.offsets[i], raw.offsets[i + 1]):
            visit = np.int64(slot[sample] >> shift) * n_places + np.int64(places.of_sample[sample])
            if place_of[visit] < offsets[i]:
                place_of[visit] = used
                counts[used, 0], counts[used, 1] = visit, 0
                used += 1
            counts[place_of[visit], 1] += 1
    offsets[-1] = used


@compiled
def fill_costs(
    places: Places,
    boxes: Samples,
    size: int,
    first_t: int,
    least: Integers,
    shift: int,
    scale: Scale,
    costs: Numbers,
) -> None:
    """Fill costs [n_windows, P] with a sample's least cost beyond ``least`` of its place."""
    # Costs are times size + 1. boxes: of a crowd of ``size``. least: [P] least spatial cost of a sample at
    # each place. A box is compared with the windows that it touches and one on either side; farther away its
    # cost grows by one window width per window.
    kind = costs.dtype.type
    n_windows, n_places = costs.shape
    both, extent, width = size + 1, places.side - 1, 1 << shift
    cap, step = kind(both * scale.half), kind(both * min(scale.per_slot * width, scale.half))
    most = kind(2 * cap - step)  # avoids overflow
    space = np.empty(n_places, dtype=costs.dtype)
    costs[:] = 2 * cap
    for j in range(len(boxes.t_start)):
        x_first, x_last = np.int64(boxes.x_min[j]), np.int64(boxes.x_max[j] - 1)
        y_first, y_last = np.int64(boxes.y_min[j]), np.int64(boxes.y_max[j] - 1)
        spread = x_last - x_first + y_last - y_first
        for p in range(n_places):
            x, y = places.x[p], places.y[p]
            gap = max(x_first - x - extent, x - x_last, 0) + max(y_first - y - extent, y - y_last, 0)
            space[p] = min(scale.per_cell * (both * gap + spread), cap)
        first, last = np.int64(boxes.t_start[j]) - first_t, np.int64(boxes.t_end[j]) - 1 - first_t
        first_window: Any = max((first >> shift) - 1, 0)
        last_window: Any = min((last >> shift) + 1, n_windows - 1)
        for w in range(first_window, last_window + 1):
            begin = w << shift
            wait: Any = max(first - begin - width + 1, begin - last, 0)
            time = kind(min(scale.per_slot * (both * wait + last - first), cap))
            row = costs[w]
            for p in range(n_places):
                row[p] = min(row[p], kind(space[p] + time))
    for w in range(1, n_windows):
        row, before = costs[w], costs[w - 1]
        for p in range(n_places):
            row[p] = min(row[p], kind(min(before[p], most) + step))
    for w in range(n_windows - 2, -1, -1):
        row, after = costs[w], costs[w + 1]
        for p in range(n_places):
            row[p] = min(row[p], kind(min(after[p], most) + step))
    for w in range(n_windows):
        row = costs[w]
        for p in range(n_places):
            row[p] = min(kind(row[p] - kind(least[p])), cap)
