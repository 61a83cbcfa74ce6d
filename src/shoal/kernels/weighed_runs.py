"""The k-merge with box extents as costs, summed over raw samples.

A run of n samples costs n (place[dx + dy] + per_slot dt). Splitting a run into two complete ones never
costs more, since neither is larger; so the optimum has only elementary runs, and the candidate ranges of
kernels/k_merge.py hold (Gramaglia et al. 2017, Eq. 7).
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE, NONE, ROWS, Stamps, best_partition, make_stamps
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled, compiled_for_many

# Rows of the room. The first are those of the stamps.
STARTS, T, X_LOW, X_HIGH, Y_LOW, Y_HIGH, LATEST = range(7)
COST, WEST, EAST, SOUTH, NORTH, PLACE, CANDIDATE = range(8, 15)
# By stamp: cost of all before it; hull of the run from it on, and spatial cost of one sample of that run.
# Then candidates, ascending: stamps at which the last run may begin.
SAMPLES = ROWS  # and three more rows: the samples of a class until its stamps are known
ROOM = SAMPLES + 4
# Then by candidate, in the same rows: COST; STARTS; cost of one sample except for the time until now.
BEFORE, SINCE, EACH = range(SAMPLES, SAMPLES + 3)

# Rows of boxes: their first sample, number of samples, first and last slot, and cells; cost up to their end
BOX = 9
FIRST, SAMPLES_IN, BEGIN, END, LEFT, RIGHT, LOW, HIGH, UNTIL = range(BOX)

_BRIEF = 16  # up to this many stamps all are evaluated, which is faster than dropping some
FEW = 8  # candidates are pruned once they exceed twice their last number by this many


class Tracks(NamedTuple):
    """Samples by time; person i has offsets[i] to offsets[i + 1]."""

    offsets: Integers
    t: Integers
    x: Integers
    y: Integers


class Weights(NamedTuple):
    """Cost of a sample for its box's extents."""

    place: Integers  # for each number of cells dx + dy, rising; wider boxes cost as much as the last
    per_slot: int  # for each slot of dt


@compiled
def _join_tracks(tracks: Tracks, members: Integers, room: Integers) -> Any:
    t, x, y, owner = room[SAMPLES], room[SAMPLES + 1], room[SAMPLES + 2], room[SAMPLES + 3]
    place, stop = np.empty(len(members), dtype=np.int64), np.empty(len(members), dtype=np.int64)
    when = np.empty(len(members), dtype=np.int64)
    total = 0
    for member in range(len(members)):
        place[member], stop[member] = tracks.offsets[members[member]], tracks.offsets[members[member] + 1]
        when[member] = tracks.t[place[member]]
        total += stop[member] - place[member]
    for row in range(total):
        first, soonest = 0, when[0]
        for member in range(1, len(members)):
            sooner = when[member] < soonest
            first, soonest = member if sooner else first, when[member] if sooner else soonest
        source = place[first]
        t[row], x[row], y[row], owner[row] = soonest, tracks.x[source], tracks.y[source], first
        source += 1
        place[first], when[first] = source, tracks.t[source] if source < stop[first] else IMPOSSIBLE
    return total


@compiled
def fill_hulls(room: Integers, first: int, h: int) -> None:
    """Fill in the hulls of stamps g to h, for each g from ``first`` on."""
    a, b, c, d = room[X_LOW, h], room[X_HIGH, h], room[Y_LOW, h], room[Y_HIGH, h]
    for g in range(h, first - 1, -1):
        a, b = min(a, room[X_LOW, g]), max(b, room[X_HIGH, g])
        c, d = min(c, room[Y_LOW, g]), max(d, room[Y_HIGH, g])
        room[WEST, g], room[EAST, g], room[SOUTH, g], room[NORTH, g] = a, b, c, d


@compiled
def _stretch_hull(room: Integers, i: int, a: int, b: int, c: int, d: int, weights: Weights) -> None:
    g = room[CANDIDATE, i]
    a, b = min(room[WEST, g], a), max(room[EAST, g], b)
    c, d = min(room[SOUTH, g], c), max(room[NORTH, g], d)
    room[WEST, g], room[EAST, g], room[SOUTH, g], room[NORTH, g] = a, b, c, d
    place = weights.place[min(b - a + d - c + 2, len(weights.place) - 1)]
    room[PLACE, g], room[EACH, i] = place, place - weights.per_slot * room[T, g]


@compiled
def _stretch_hulls(room: Integers, low: int, new: int, h: int, weights: Weights) -> None:
    a, b, c, d = room[X_LOW, h], room[X_HIGH, h], room[Y_LOW, h], room[Y_HIGH, h]
    for i in range(new - 1, low - 1, -1):
        g = room[CANDIDATE, i]
        if a >= room[WEST, g] and b <= room[EAST, g] and c >= room[SOUTH, g] and d <= room[NORTH, g]:
            break  # earlier hulls contain it, too
        _stretch_hull(room, i, a, b, c, d, weights)


@compiled
def take_candidates(
    room: Integers,
    window: tuple[int, int],
    lowest: int,
    added: int,
    last: int,
    sides: tuple[int, int, int, int],
    h: int,
    weights: Weights,
) -> tuple[Any, Any]:
    """The candidates without those before ``lowest``, with those after ``added``."""
    # window: begin and end before; all hulls are extended to stamp h; last: the last candidate
    low, high = window
    while low < high and room[CANDIDATE, low] < lowest:
        low += 1
    _stretch_hulls(room, low, high, h, weights)
    a, b, c, d = sides
    for g in range(max(added + 1, lowest), last + 1):
        room[CANDIDATE, high], room[BEFORE, high], room[SINCE, high] = g, room[COST, g], room[STARTS, g]
        _stretch_hull(room, high, a, b, c, d, weights)
        high += 1
    return low, high


@compiled
def weigh_candidates(room: Integers, low: int, high: int, end: int, time: int) -> Any:
    """The least cost with a last run from one of these candidates."""
    # time: cost of one sample for the time until now. Unsigned indexes need no sign check, so several
    # candidates are processed at once.
    best = IMPOSSIBLE
    for i in range(np.uint64(low), np.uint64(high)):
        best = min(best, room[BEFORE, i] + (end - room[SINCE, i]) * (room[EACH, i] + time))
    return best


@compiled
def forget_candidates(room: Integers, low: int, high: int, end: int, time: int) -> Any:
    """Drop candidates that can never be best again."""
    # Of two, the earlier has the larger run and never the smaller hull. While both cost the same for place it
    # loses more and more against the later, and even more once they do not.
    begin, level, least = high, NONE, IMPOSSIBLE
    for i in range(high - 1, low - 1, -1):
        place = room[PLACE, room[CANDIDATE, i]]
        whole = room[BEFORE, i] + (end - room[SINCE, i]) * (room[EACH, i] + time)
        if place == level and whole >= least:
            continue
        level, least = place, whole
        begin -= 1
        for row in (CANDIDATE, BEFORE, SINCE, EACH):
            room[row, begin] = room[row, i]
    return begin


@compiled
def _weigh_all(
    room: Integers, lowest: int, last: int, sides: tuple[int, int, int, int], h: int, weights: Weights
) -> Any:
    # sides: the hull of stamp h and of earlier stamps outside the stored hulls
    a, b, c, d = sides
    end, until, best = room[STARTS, h + 1], room[T, h] + 1, IMPOSSIBLE
    for g in range(lowest, last + 1):
        wide = max(b, room[EAST, g]) - min(a, room[WEST, g])
        cells = wide + max(d, room[NORTH, g]) - min(c, room[SOUTH, g]) + 2
        place = weights.place[min(cells, len(weights.place) - 1)]
        cost_of_sample = place + weights.per_slot * (until - room[T, g])
        best = min(best, room[COST, g] + (end - room[STARTS, g]) * cost_of_sample)
    return best


@compiled
def _cost_floor(room: Integers, lowest: int, h: int, samples: int, weights: Weights) -> Any:
    """A lower bound of the whole cost, from where the run of stamp h may begin, with samples alone."""
    alone, floor = weights.place[2] + weights.per_slot, IMPOSSIBLE
    for g in range(lowest, h + 1):
        floor = min(floor, room[COST, g] + (samples - room[STARTS, g]) * alone)
    return floor


@compiled
def _weighed_costs(n_stamps: int, weights: Weights, room: Integers, limit: int) -> Any:
    # Stops early, with IMPOSSIBLE, once the total must exceed ``limit``. Hulls back from stamp ``middle`` are
    # stored for new candidates. Short ranges are evaluated completely.
    samples = room[STARTS, n_stamps]
    room[COST, 0] = 0
    low, high, added, middle, brief, most = 0, 0, NONE, NONE, True, FEW
    a, b, c, d = room[X_LOW, 0], room[X_HIGH, 0], room[Y_LOW, 0], room[Y_HIGH, 0]
    for h in range(n_stamps):
        last = room[LATEST, h]
        if last == NONE:
            room[COST, h + 1] = IMPOSSIBLE
            continue
        lowest = 0 if last == 0 else room[LATEST, last - 1] + 1
        if last > middle:
            brief = h - lowest < _BRIEF
            if brief:
                low, high, added = 0, 0, lowest - 1
            fill_hulls(room, added + 1, h)
            middle = h
            a, b, c, d = room[X_LOW, h], room[X_HIGH, h], room[Y_LOW, h], room[Y_HIGH, h]
            if _cost_floor(room, lowest, h, samples, weights) > limit:
                return IMPOSSIBLE
        a, b = min(a, room[X_LOW, h]), max(b, room[X_HIGH, h])
        c, d = min(c, room[Y_LOW, h]), max(d, room[Y_HIGH, h])
        if brief:
            room[COST, h + 1] = _weigh_all(room, lowest, last, (a, b, c, d), h, weights)
            continue
        low, high = take_candidates(room, (low, high), lowest, added, last, (a, b, c, d), h, weights)
        added = last
        end, time = room[STARTS, h + 1], weights.per_slot * (room[T, h] + 1)
        room[COST, h + 1] = weigh_candidates(room, low, high, end, time)
        if high - low > most:
            low = forget_candidates(room, low, high, end, time)
            most = 2 * (high - low) + FEW
    return room[COST, n_stamps]


@compiled
def _make_stamps(m: int, k: int, room: Integers) -> Stamps:
    t, x, y, owner = room[SAMPLES], room[SAMPLES + 1], room[SAMPLES + 2], room[SAMPLES + 3]
    return make_stamps(t[:m], x[:m], y[:m], owner[:m], k, room)


@compiled
def class_cost(tracks: Tracks, members: Integers, weights: Weights, room: Integers, limit: int) -> Any:
    """The least cost of a record of these people; above ``limit`` it may be IMPOSSIBLE."""
    # room: int64 [ROOM, m + 1] or more, for m samples of all of them
    stamps = _make_stamps(_join_tracks(tracks, members, room), len(members), room)
    return _weighed_costs(len(stamps.t), weights, room, limit)


@compiled
def _trace_boxes(stamps: Stamps, weights: Weights, room: Integers) -> Integers:
    """[BOX, b]: the boxes of the cheapest partition, by time."""
    widest, h, first = len(weights.place) - 1, len(stamps.t) - 1, len(stamps.t)
    cost, boxes = room[COST], room[WEST : WEST + BOX]
    while h >= 0:
        a, b, c, d = stamps.x_low[h], stamps.x_high[h], stamps.y_low[h], stamps.y_high[h]
        g = h
        while True:
            a, b = min(a, stamps.x_low[g]), max(b, stamps.x_high[g])
            c, d = min(c, stamps.y_low[g]), max(d, stamps.y_high[g])
            n_samples = stamps.starts[h + 1] - stamps.starts[g]
            slots = stamps.t[h] + 1 - stamps.t[g]
            whole = cost[g] + n_samples * (
                weights.place[min(b - a + d - c + 2, widest)] + weights.per_slot * slots
            )
            if g <= stamps.latest[h] and whole == cost[h + 1]:
                break
            g -= 1
        first -= 1
        boxes[FIRST, first], boxes[SAMPLES_IN, first] = stamps.starts[g], n_samples
        boxes[BEGIN, first], boxes[END, first] = stamps.t[g], stamps.t[h]
        boxes[LEFT, first], boxes[RIGHT, first], boxes[LOW, first], boxes[HIGH, first] = a, b, c, d
        boxes[UNTIL, first] = cost[h + 1]
        h = g - 1
    return boxes[:, first : len(stamps.t)].copy()


@compiled
def joined_tracks(tracks: Tracks, members: Integers, room: Integers) -> Integers:
    """[4, m]: t, x, y and owner of the members' samples, by time."""
    return room[SAMPLES : SAMPLES + 4, : _join_tracks(tracks, members, room)].copy()


@compiled
def boxes_without(
    joined: Integers, k: int, left_out: int, weights: Weights, room: Integers
) -> tuple[Integers, int]:
    """[BOX, b]: the boxes of the cheapest record of k people without one (or NONE of them), and its cost."""
    m = 0
    for i in range(joined.shape[1]):
        if joined[3, i] != left_out:
            for row in range(3):
                room[SAMPLES + row, m] = joined[row, i]
            room[SAMPLES + 3, m] = joined[3, i] - (left_out != NONE and joined[3, i] > left_out)
            m += 1
    stamps = _make_stamps(m, k - (left_out != NONE), room)
    cost = _weighed_costs(len(stamps.t), weights, room, IMPOSSIBLE)
    return _trace_boxes(stamps, weights, room), cost


@compiled
def added_without_cuts(
    tracks: Tracks, p: int, boxes: Integers, weights: Weights, room: Integers, limit: int
) -> Any:
    """What p adds to the cost of a record with these boxes, if no new cut is made; early above ``limit``."""
    # Each of p's samples goes to the box nearest in time. Boxes without one are united with others.
    i, stop, widest = tracks.offsets[p], tracks.offsets[p + 1], len(weights.place) - 1
    count = boxes.shape[1]
    cost = room[COST]
    cost[0] = 0
    for h in range(count):
        begin, end, middle = boxes[BEGIN, h], boxes[END, h], IMPOSSIBLE
        a, b, c, d = boxes[LEFT, h], boxes[RIGHT, h], boxes[LOW, h], boxes[HIGH, h]
        if h + 1 < count:
            middle = (end + boxes[BEGIN, h + 1]) // 2
        first = i
        while i < stop and tracks.t[i] <= middle:
            x, y = tracks.x[i], tracks.y[i]
            a, b, c, d = min(a, x), max(b, x), min(c, y), max(d, y)
            i += 1
        if i > first:
            begin, end = min(begin, tracks.t[first]), max(end, tracks.t[i - 1])
        room[WEST, h], room[EAST, h], room[SOUTH, h], room[NORTH, h] = a, b, c, d
        room[T, h], room[STARTS, h], room[LATEST, h] = begin, boxes[SAMPLES_IN, h] + i - first, i > first
        least, complete, n_samples = IMPOSSIBLE, 0, 0
        for g in range(h, -1, -1):
            complete += room[LATEST, g]
            if complete > 1:
                break
            a, b = min(a, room[WEST, g]), max(b, room[EAST, g])
            c, d = min(c, room[SOUTH, g]), max(d, room[NORTH, g])
            n_samples += room[STARTS, g]
            if complete == 1:
                place = weights.place[min(b - a + d - c + 2, widest)]
                least = min(least, cost[g] + n_samples * (place + weights.per_slot * (end + 1 - room[T, g])))
        cost[h + 1] = min(least, IMPOSSIBLE)
        if cost[h + 1] < IMPOSSIBLE and cost[h + 1] - boxes[UNTIL, h] > limit:
            return cost[h + 1] - boxes[UNTIL, h]
    return cost[count] - boxes[UNTIL, count - 1]


@compiled
def weighed_partition(
    t: Integers, x: Integers, y: Integers, owner: Integers, k: int, weights: Weights
) -> tuple[Integers, int]:
    """First samples of the cheapest partition into complete runs, and its cost."""
    # t, x, y: [m] samples of all k trajectories by ascending time; owner: [m] in 0..k-1, all present. Ties
    # prefer the shortest last runs.
    room = np.empty((ROOM, len(t) + 1), dtype=np.int64)
    stamps = make_stamps(t, x, y, owner, k, room)
    least = _weighed_costs(len(stamps.t), weights, room, IMPOSSIBLE)
    boxes = _trace_boxes(stamps, weights, room)
    return boxes[FIRST].copy(), least


@compiled_for_many
def boxes_of_crowds(tracks: Tracks, members: Integers, begins: Integers) -> tuple[Integers, Integers]:
    """[6, b]: boxes of crowds, members begins[c] to begins[c + 1], and their offsets."""
    n_crowds, most_samples, most_boxes = len(begins) - 1, 0, 0
    for crowd in range(n_crowds):
        crowd_members = members[begins[crowd] : begins[crowd + 1]]
        lengths = tracks.offsets[crowd_members + 1] - tracks.offsets[crowd_members]
        most_samples = max(most_samples, lengths.sum())
        most_boxes += lengths.min()
    room = np.empty((ROOM, most_samples + 1), dtype=np.int64)
    boxes = np.empty((6, most_boxes), dtype=np.int64)
    starts = np.zeros(n_crowds + 1, dtype=np.int64)
    count = 0
    for crowd in range(n_crowds):
        crowd_members = members[begins[crowd] : begins[crowd + 1]]
        m = _join_tracks(tracks, crowd_members, room)
        t, x = room[SAMPLES, :m], room[SAMPLES + 1, :m]
        y, owner = room[SAMPLES + 2, :m], room[SAMPLES + 3, :m]
        first, final, _ = best_partition(t, x, y, owner, len(crowd_members))
        for run in range(len(first)):
            some = slice(first[run], final[run] + 1)
            boxes[0, count], boxes[1, count] = t[first[run]], t[final[run]] + 1
            boxes[2, count], boxes[3, count] = x[some].min(), y[some].min()
            boxes[4, count], boxes[5, count] = x[some].max() + 1, y[some].max() + 1
            count += 1
        starts[crowd + 1] = count
    return boxes[:, :count].copy(), starts
