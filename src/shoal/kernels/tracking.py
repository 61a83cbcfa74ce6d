"""Cluster similar swapped records, and join points into tracks of one body.

Records are compared at equal shares of their points. Tracks are a least-cost assignment of followers
(Gruteser and Hoh 2005).
"""

import math
from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled

FAR = 1e18  # larger than any path
LEAST_M = 1e-3  # resolution of points
ROUNDING = 1e-12  # relative tolerance, far above the rounding of some dozens of sums


@compiled
def make_outlines(offsets: Integers, t: Floats, x: Floats, y: Floats, shares: int) -> Floats:
    """[r, shares, 3]: t, x, y at equal shares of a record's points, interpolated."""
    n = len(offsets) - 1
    outlines = np.empty((n, shares, 3))
    for record in range(n):
        first, last = offsets[record], offsets[record + 1] - 1
        for share in range(shares):
            at = first + (last - first) * share / (shares - 1)
            below = min(int(at), last)
            above, part = min(below + 1, last), at - below
            for axis, column in enumerate((t, x, y)):
                outlines[record, share, axis] = column[below] + part * (column[above] - column[below])
    return outlines


@compiled
def outline_difference(outlines: Floats, a: int, b: int, at_most: float, per_s: float, per_m: float) -> float:
    """Mean of seconds * per_s + meters * per_m; infinite once above ``at_most``."""
    shares = outlines.shape[1]
    most = at_most * shares
    total = 0.0
    for share in range(shares):
        total += per_s * abs(outlines[a, share, 0] - outlines[b, share, 0])
        total += per_m * math.hypot(
            outlines[a, share, 1] - outlines[b, share, 1], outlines[a, share, 2] - outlines[b, share, 2]
        )
        if total > most:
            return np.inf
    return float(total / shares)


@compiled
def _centers(outlines: Floats, per_s: float, per_m: float) -> tuple[Floats, int, float]:
    # [r, 3]: mean t, x, y of each, scaled; the axis along which they differ most; tolerance for rounding
    centers = np.empty((len(outlines), 3))
    largest = 0.0
    for axis, scale in enumerate((per_s, per_m, per_m)):
        for record in range(len(outlines)):
            total = 0.0
            for share in range(outlines.shape[1]):
                total += outlines[record, share, axis]
                largest = max(largest, scale * abs(outlines[record, share, axis]))
            centers[record, axis] = scale * (total / outlines.shape[1])
    widest, most = 0, -1.0
    for axis in range(3):
        spread = float(np.std(centers[:, axis])) if len(centers) else 0.0
        if spread > most:
            widest, most = axis, spread
    return centers, widest, ROUNDING * largest


@compiled
def _insert(a: int, b: int, value: float, names: Integers, values: Floats) -> None:
    place = names.shape[1] - 1
    while place > 0 and (
        values[a, place - 1] > value or (values[a, place - 1] == value and names[a, place - 1] > b)
    ):
        values[a, place], names[a, place] = values[a, place - 1], names[a, place - 1]
        place -= 1
    values[a, place], names[a, place] = value, b


@compiled
def find_most_similar(
    outlines: Floats, kind: Integers, per_s: float, per_m: float, names: Integers, values: Floats
) -> None:
    """Fill names and values [r, l]: each record's l least different ones of its kind.

    Ties go to the lower number. Else -1 and infinity. Outlines differ by at least the difference of their
    means, so the search goes outward along one axis of them.
    """
    most = names.shape[1] - 1
    names[:] = -1
    values[:] = np.inf
    centers, axis, slack = _centers(outlines, per_s, per_m)
    by_center = np.argsort(centers[:, axis], kind="mergesort")
    order = by_center[np.argsort(kind[by_center], kind="mergesort")]
    for at in range(len(order)):
        a = order[at]
        for step in (-1, 1):
            near = at + step
            while 0 <= near < len(order) and kind[order[near]] == kind[a]:
                b = order[near]
                near += step
                limit = values[a, most] * (1 + ROUNDING) + slack
                if abs(centers[a, axis] - centers[b, axis]) > limit:
                    break
                least = abs(centers[a, 0] - centers[b, 0])
                least += math.hypot(centers[a, 1] - centers[b, 1], centers[a, 2] - centers[b, 2])
                if least > limit:
                    continue
                value = outline_difference(outlines, a, b, limit, per_s, per_m)
                if value < values[a, most] or (value == values[a, most] and b < names[a, most]):
                    _insert(a, b, value, names, values)


@compiled
def _closest(outlines: Floats, names: Integers, members: Integers, cluster: Integers, scales: Floats) -> int:
    best, least = -1, np.inf
    for member in members:
        for other in names[member]:
            if other < 0 or cluster[other] >= 0:
                continue
            mean = 0.0
            for record in members:
                mean += outline_difference(outlines, record, other, np.inf, scales[0], scales[1]) / len(
                    members
                )
            if mean < least:
                best, least = other, mean
    return best


@compiled
def form_clusters(
    outlines: Floats, names: Integers, values: Floats, size: int, per_s: float, per_m: float
) -> Integers:
    """int64 [r]: clusters of about ``size``."""
    # Records are taken by their smallest difference. Each adds the free records with the least mean
    # difference from its members. Remaining records join the cluster of their most similar record.
    cluster = np.full(len(outlines), -1, dtype=np.int64)
    members = np.empty(size, dtype=np.int64)
    scales = np.array([per_s, per_m])
    n_clusters = 0
    order = np.argsort(values[:, 0], kind="mergesort")
    for record in order:
        if cluster[record] >= 0:
            continue
        members[0], cluster[record], count = record, n_clusters, 1
        while count < size:
            best = _closest(outlines, names, members[:count], cluster, scales)
            if best < 0:
                break
            members[count], cluster[best] = best, n_clusters
            count += 1
        if count < size:  # too few remain
            cluster[members[:count]] = -1
        else:
            n_clusters += 1
    for record in order:
        if cluster[record] < 0:
            for other in names[record]:
                if other >= 0 and cluster[other] >= 0:
                    cluster[record] = cluster[other]
                    break
            if cluster[record] < 0:
                cluster[record] = n_clusters
                n_clusters += 1
    return cluster


@compiled
def _link_costs(
    t: Floats, x: Floats, y: Floats, following: Integers, preceding: Integers, scale_m: float, band: int
) -> Floats:
    # Constant velocity: both predictions' errors by the current links, or else the distance. scale_m: the
    # usual error after one second, 0 = distance; one large error counts less than two.
    n = len(t)
    cost = np.full((n, band), FAR)
    for i in range(n):
        back = preceding[i]
        for column in range(min(band, n - 1 - i)):
            j = i + 1 + column
            lasts = t[j] - t[i]
            if lasts <= 0:
                continue
            on, dx, dy = following[j], x[j] - x[i], y[j] - y[i]
            forward = backward = math.hypot(dx, dy)
            if back >= 0:
                share = lasts / (t[i] - t[back])
                forward = math.hypot(dx - share * (x[i] - x[back]), dy - share * (y[i] - y[back]))
            if on >= 0:
                share = lasts / (t[on] - t[j])
                backward = math.hypot(dx - share * (x[on] - x[j]), dy - share * (y[on] - y[j]))
            if scale_m > 0:
                common_m = scale_m * math.sqrt(lasts)
                cost[i, column] = (
                    math.log1p(forward / common_m) + math.log1p(backward / common_m) + math.log1p(lasts)
                )
            else:
                cost[i, column] = forward
    return cost


class Search(NamedTuple):
    """The least augmenting path. Columns: n points, free ends, an extra end of each point."""

    price: Floats  # [columns]
    own_price: Floats  # [n]
    row_of: Integers  # [columns] point of a column, -1 = none
    column_of: Integers  # [n] the reverse
    reached: Floats  # [columns] distance
    via: Integers  # [columns] previous point
    done: Flags  # [columns] whether the distance is final
    touched: Integers  # reached columns in order
    place: Integers  # [columns] position in touched
    heap: Integers  # positions in touched that are not final, the nearest first
    in_heap: Integers  # [columns] position in the heap, -1 = not in it


@compiled
def _sift_up(reached: Floats, touched: Integers, heap: Integers, in_heap: Integers, at: int) -> None:
    # of equals the one that was reached first leads
    mine = heap[at]
    far = reached[touched[mine]]
    while at > 0:
        above = heap[(at - 1) // 2]
        other = reached[touched[above]]
        if other < far or (other == far and above < mine):
            break
        heap[at], in_heap[above] = above, at
        at = (at - 1) // 2
    heap[at], in_heap[mine] = mine, at


@compiled
def _pop_nearest(search: Search, size: int) -> None:
    heap, in_heap, touched = search.heap, search.in_heap, search.touched
    mine, at = heap[size - 1], 0
    far = search.reached[touched[mine]]
    while 2 * at + 1 < size - 1:
        least = 2 * at + 1
        near = search.reached[touched[heap[least]]]
        if least + 1 < size - 1:
            other = search.reached[touched[heap[least + 1]]]
            if other < near or (other == near and heap[least + 1] < heap[least]):
                least, near = least + 1, other
        if far < near or (far == near and mine < heap[least]):
            break
        heap[at], in_heap[heap[least]] = heap[least], at
        at = least
    heap[at], in_heap[mine] = mine, at


@compiled
def _relax(
    cost: Floats,
    tracks: int,
    dear: float,
    row: int,
    far: float,
    sizes: tuple[int, int],
    bound: float,
    search: Search,
) -> tuple[int, int, float]:
    # Columns farther than ``bound``, the nearest free column, stay out of the heap. sizes: touched, and in
    # it.
    n, band = cost.shape
    n_touched, size = sizes
    reached, touched, heap, in_heap = search.reached, search.touched, search.heap, search.in_heap
    via, done, place, price = search.via, search.done, search.place, search.price
    own_price = search.own_price[row]
    for step in range(band + tracks + 1):
        if step < band:
            column, asked = row + 1 + step, cost[row, step]
            if asked >= FAR:
                continue
        else:
            free = step < band + tracks
            column, asked = (n + step - band, 0.0) if free else (n + tracks + row, dear)
        if done[column]:
            continue
        length = far + asked - own_price - price[column]
        if length >= reached[column]:
            continue
        if reached[column] == np.inf:
            touched[n_touched], place[column], in_heap[n_touched] = column, n_touched, -1
            n_touched += 1
        reached[column], via[column] = length, row
        if length <= bound:
            if search.row_of[column] < 0:
                bound = length
            mine = place[column]
            if in_heap[mine] < 0:
                heap[size], in_heap[mine] = mine, size
                size += 1
            _sift_up(reached, touched, heap, in_heap, in_heap[mine])
    return n_touched, size, bound


@compiled
def _augment(cost: Floats, tracks: int, dear: float, start: int, search: Search) -> None:
    row_of, reached, touched = search.row_of, search.reached, search.touched
    n_touched, size, row, far, bound = 0, 0, start, 0.0, np.inf
    while True:
        n_touched, size, bound = _relax(cost, tracks, dear, row, far, (n_touched, size), bound, search)
        end = touched[search.heap[0]]
        far = reached[end]
        if row_of[end] < 0:
            break
        _pop_nearest(search, size)
        size -= 1
        search.done[end] = True
        row = row_of[end]
    search.own_price[start] += far
    for column in touched[:n_touched]:
        if search.done[column]:
            search.own_price[row_of[column]] += far - reached[column]
            search.price[column] -= far - reached[column]
    while True:
        row = search.via[end]
        row_of[end] = row
        end, search.column_of[row] = search.column_of[row], end
        if row == start:
            break
    for column in touched[:n_touched]:
        reached[column], search.done[column] = np.inf, False


@compiled
def assign_followers(cost: Floats, tracks: int) -> Integers:
    """int64 [n]: each point's follower, -1 = last of its track, at the least sum."""
    # cost: [n, band] of point i and point i + 1 + column. No point follows two, at most ``tracks`` ends are
    # free, and each further end costs more than all links. Shortest augmenting paths with prices.
    n, band = cost.shape
    dear = 1.0
    for i in range(n):
        for column in range(band):
            if cost[i, column] < FAR:
                dear += cost[i, column]
    columns = n + tracks + n
    search = Search(
        np.zeros(columns),
        np.zeros(n),
        np.full(columns, -1, dtype=np.int64),
        np.full(n, -1, dtype=np.int64),
        np.full(columns, np.inf),
        np.full(columns, -1, dtype=np.int64),
        np.zeros(columns, dtype=np.bool_),
        np.empty(columns, dtype=np.int64),
        np.empty(columns, dtype=np.int64),
        np.empty(columns, dtype=np.int64),
        np.empty(columns, dtype=np.int64),
    )
    for start in range(n):
        _augment(cost, tracks, dear, start, search)
    return np.where(search.column_of < n, search.column_of, -1)


@compiled
def join_points(t: Floats, x: Floats, y: Floats, tracks: int, rounds: int) -> Integers:
    """int64 [n]: the track of each point, in ascending time."""
    # first by distance, then ``rounds`` times by speed and heading of the current links
    n = len(t)
    following, preceding = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    scale_m = 0.0
    for _ in range(rounds + 1):
        cost = _link_costs(t, x, y, following, preceding, scale_m, band_width(n, tracks))
        following = assign_followers(cost, tracks)
        preceding = reverse_links(following)
        scale_m = max(_common_error_m(t, x, y, following, preceding), LEAST_M)
    return number_tracks(preceding)


@compiled
def band_width(n: int, tracks: int) -> int:
    """How many later points may follow a point."""
    return min(max(n - 1, 1), 8 * tracks + 8)


@compiled
def reverse_links(links: Integers) -> Integers:
    """int64 [n]: the point before each, -1 = none."""
    reverse = np.full(len(links), -1, dtype=np.int64)
    for i in range(len(links)):
        if links[i] >= 0:
            reverse[links[i]] = i
    return reverse


@compiled
def number_tracks(preceding: Integers) -> Integers:
    """int64 [n]: each point's track. preceding: -1 = none."""
    track = np.full(len(preceding), -1, dtype=np.int64)
    count = 0
    for i in range(len(preceding)):
        if preceding[i] >= 0:
            track[i] = track[preceding[i]]
        else:
            track[i] = count
            count += 1
    return track


@compiled
def _common_error_m(t: Floats, x: Floats, y: Floats, following: Integers, preceding: Integers) -> float:
    errors = np.empty(len(t))
    count = 0
    for i in range(len(t)):
        back, on = preceding[i], following[i]
        if back >= 0 and on >= 0:
            lasts = t[on] - t[i]
            share = lasts / (t[i] - t[back])
            errors[count] = math.hypot(
                x[on] - x[i] - share * (x[i] - x[back]), y[on] - y[i] - share * (y[i] - y[back])
            ) / math.sqrt(lasts)
            count += 1
    return float(np.median(errors[:count])) if count else 0.0
