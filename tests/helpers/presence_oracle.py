"""Who was where, by tables of every box against every place: slow, and with nothing left out."""

import numpy as np

from shoal.measures.query import Estimates, Region, Zones, boxes_of
from shoal.model.grid import Grid
from shoal.model.release import Boxes, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, Numbers

ROUNDING = 1e-9


def share(low: Numbers, high: Numbers, edges: Floats) -> Floats:
    """[boxes, edges - 1]: the share of each interval between neighboring edges, 0 and 1 despite rounding."""
    inside = np.minimum(high[:, None], edges[None, 1:]) - np.maximum(low[:, None], edges[None, :-1])
    shares: Floats = np.clip(inside / (high - low)[:, None], 0.0, 1.0)
    shares[shares < ROUNDING], shares[shares > 1 - ROUNDING] = 0.0, 1.0
    return shares


def shares_in_zones(boxes: Boxes, grid: Grid, zones: Zones) -> Floats:
    """[boxes, zones]: the share of each box's area in each zone."""
    east = share(boxes.x_min * grid.cell_m, boxes.x_max * grid.cell_m, zones.x_m)
    north = share(boxes.y_min * grid.cell_m, boxes.y_max * grid.cell_m, zones.y_m)
    return (north[:, :, None] * east[:, None, :]).reshape(len(boxes), len(zones))


def present(shares: Floats, offsets: Integers) -> Estimates:
    """Sums over records of the chance that any of their boxes is inside; shares: [boxes, places]."""
    n = len(offsets) - 1
    inside, chance, touching = np.zeros((3, n, shares.shape[1]))
    for record in range(n):
        own = shares[offsets[record] : offsets[record + 1]]
        inside[record] = (own >= 1).any(axis=0)
        chance[record] = 1 - np.multiply.reduce(1 - own, axis=0)
        touching[record] = (own > 0).any(axis=0)
    return Estimates(minimum=inside.sum(axis=0), expected=chance.sum(axis=0), maximum=touching.sum(axis=0))


def people_in(data: Release | Trajectories, region: Region) -> tuple[float, float, float]:
    """How many records have a sample in the region: at least, expected, at most."""
    boxes, offsets, grid = boxes_of(data)
    shares = share(
        boxes.t_start * grid.slot_s, boxes.t_end * grid.slot_s, np.array([region.t_start_s, region.t_end_s])
    )
    shares *= share(
        boxes.x_min * grid.cell_m, boxes.x_max * grid.cell_m, np.array([region.x_min_m, region.x_max_m])
    )
    shares *= share(
        boxes.y_min * grid.cell_m, boxes.y_max * grid.cell_m, np.array([region.y_min_m, region.y_max_m])
    )
    found = present(shares, offsets)
    return float(found.minimum[0]), float(found.expected[0]), float(found.maximum[0])


def people_in_zones(data: Release | Trajectories, zones: Zones) -> Estimates:
    """[zones]: how many records have a sample in each zone."""
    boxes, offsets, grid = boxes_of(data)
    return present(shares_in_zones(boxes, grid, zones), offsets)


def time_profile(data: Release | Trajectories) -> Estimates:
    """[24]: the share of all boxes in each hour of the day, slot by slot; slots divide hours."""
    boxes, _, grid = boxes_of(data)
    inside, spread, touching = np.zeros((3, 24))
    for start, end in zip(boxes.t_start.tolist(), boxes.t_end.tolist(), strict=True):
        hours = np.arange(start, end) * grid.slot_s // 3600
        count = np.bincount(hours.astype(np.int64) % 24, minlength=24)
        spread += count / (end - start)
        touching += count > 0
        inside += (count > 0) * (len(np.unique(hours)) == 1)
    n = max(len(boxes), 1)
    return Estimates(minimum=inside / n, expected=spread / n, maximum=touching / n)


def likeliest_area(boxes: Integers, weights: Floats) -> Integers:
    """int64 [a, 4] (x_min, y_min, x_max, y_max): the rectangles of cells with the most expected presence.

    Each box spreads its weight evenly over its cells. The expected presence of a cell is the sum over the
    boxes that hold it. Empty when no box has a weight.
    """
    kept = weights > 0
    if not kept.any():
        return np.empty((0, 4), dtype=np.int64)
    x0, y0, x1, y1 = (boxes[kept, column] for column in (2, 3, 4, 5))
    density = weights[kept] / ((x1 - x0) * (y1 - y0))
    xs, ys = np.unique(np.r_[x0, x1]), np.unique(np.r_[y0, y1])
    corners = np.zeros((len(xs), len(ys)))
    for at_x, at_y, sign in ((x0, y0, 1), (x1, y0, -1), (x0, y1, -1), (x1, y1, 1)):
        np.add.at(corners, (np.searchsorted(xs, at_x), np.searchsorted(ys, at_y)), sign * density)
    presence = corners.cumsum(axis=0).cumsum(axis=1)
    i, j = np.nonzero(presence >= presence.max() * (1 - 1e-9))
    return np.column_stack([xs[i], ys[j], xs[i + 1], ys[j + 1]])


def cells_of(area: Integers) -> int:
    """How many cells these rectangles hold."""
    return int(((area[:, 2] - area[:, 0]) * (area[:, 3] - area[:, 1])).sum())


def holds(area: Integers, x: int, y: int) -> bool:
    """Whether a cell lies in one of these rectangles."""
    return bool(((area[:, 0] <= x) & (x < area[:, 2]) & (area[:, 1] <= y) & (y < area[:, 3])).any())
