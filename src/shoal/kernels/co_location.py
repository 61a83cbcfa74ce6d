"""Greedy clusters around pivots, edit distance on real sequences (EDR), and alignment with the fewest edits.

Two samples match when they differ by at most ``match_m`` in x and in y and by at most ``match_s`` in t.
Each sample inserted, deleted or replaced counts 1 (Chen, Oezsu and Oria 2005, Def. 4).

A script is a path through the table of i samples of one trajectory and j of the other. An alignment first
finds, 62 cells at a time, the rows of each column that an optimal script passes: where the edits before a
cell and after it add up to the whole. Only these cells are filled in. Clusters are those of NWA (Abul,
Bonchi and Nanni 2008).
"""

import math
from typing import Final, NamedTuple

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers, Numbers
from shoal.runtime.compiled import compiled

BITS: Final = 62  # of an int64, so that a sum of two words stays one
FULL: Final = (1 << BITS) - 1


@compiled
def edit_distances(
    t: Floats,
    x: Floats,
    y: Floats,
    offsets: Integers,
    first: int,
    match_m: float,
    match_s: float,
    distances: Integers,
) -> None:
    """Set distances [n] to later trajectories, 62 cells at once (Myers 1999; Hyyroe 2003)."""
    start, end = offsets[first], offsets[first + 1]
    words = (end - start + BITS - 1) // BITS
    plus, minus, equal = np.empty(words, np.int64), np.empty(words, np.int64), np.empty(words, np.int64)
    last_bit = (end - start - 1) % BITS
    for other in range(first + 1, len(offsets) - 1):
        plus[:] = FULL
        minus[:] = 0
        score = end - start
        low = start
        for j in range(offsets[other], offsets[other + 1]):
            while low < end and t[low] < t[j] - match_s:
                low += 1
            beyond = low
            while beyond < end and t[beyond] <= t[j] + match_s:
                beyond += 1
            _mark_matches(x, y, start, (low, beyond), (x[j], y[j]), match_m, equal)
            score += _next_column(equal, plus, minus, last_bit)
        distances[other] = score


@compiled
def _mark_matches(
    x: Floats,
    y: Floats,
    start: int,
    rows: tuple[int, int],
    at: tuple[float, float],
    match_m: float,
    equal: Integers,
) -> None:
    equal[:] = 0
    for i in range(rows[0], rows[1]):
        if abs(x[i] - at[0]) <= match_m and abs(y[i] - at[1]) <= match_m:
            equal[(i - start) // BITS] |= 1 << ((i - start) % BITS)


@compiled
def _next_column(equal: Integers, plus: Integers, minus: Integers, last_bit: int) -> int:
    """Where the next column rises (plus) and falls (minus) by row."""
    # equal: the rows that match the next column. Returns the rise of the row of ``last_bit`` in the last
    # word.
    carry = 1
    for word in range(len(equal)):
        same, up, down = equal[word], plus[word], minus[word]
        vertical = same | down
        if carry < 0:
            same |= 1
        across = ((((same & up) + up) ^ up) | same) & FULL
        rises = down | (FULL & ~(across | up))
        falls = up & across
        top = last_bit if word == len(equal) - 1 else BITS - 1
        coming = carry
        carry = ((rises >> top) & 1) - ((falls >> top) & 1)
        rises = (rises << 1) & FULL
        falls = (falls << 1) & FULL
        if coming > 0:
            rises |= 1
        elif coming < 0:
            falls |= 1
        plus[word] = falls | (FULL & ~(vertical | rises))
        minus[word] = rises & vertical
    return carry


_REPLACED: Final = 0
_DELETED: Final = 1
_CREATED: Final = 2
_MANY: Final = 1 << 60  # more edits than possible


class TimedPath(NamedTuple):
    """Samples in seconds and meters, ascending by t."""

    t: Floats
    x: Floats
    y: Floats


class Tolerance(NamedTuple):
    """What matches: m meters in x and in y, and s seconds."""

    m: float
    s: float


@compiled
def align(path: TimedPath, target: TimedPath, tolerance: Tolerance, speed_m_s: float) -> Integers:
    """The sample of ``path`` that becomes each of ``target``: int64 [n], -1 = a new one."""
    # An optimal edit script. Among those with fewest edits it moves the samples least, where a second counts
    # ``speed_m_s`` meters. Then, from the end, replacing comes before deleting before creating.
    (t, x, y), (at_t, at_x, at_y), (match_m, match_s) = path, target, tolerance
    m, n = len(t), len(at_t)
    low, high = _optimal_rows(path, target, tolerance)
    begin = np.zeros(n + 2, dtype=np.int64)  # of each column's steps, four per byte
    for j in range(n + 1):
        begin[j + 1] = begin[j] + (high[j] - low[j]) // 4 + 1
    steps = np.zeros(begin[n + 1], dtype=np.uint8)
    edits, moved = np.full(m + 1, _MANY), np.zeros(m + 1)
    for i in range(high[0] + 1):
        edits[i] = i
        steps[begin[0] + i // 4] |= _DELETED << 2 * (i % 4)
    for j in range(1, n + 1):
        first = low[j]
        inside = first > low[j - 1]
        corner_edits, corner_moved = (edits[first - 1], moved[first - 1]) if inside else (_MANY, 0.0)
        above_edits, above_moved = _MANY, 0.0
        for i in range(first, high[j] + 1):
            best_edits, best_moved, chosen = corner_edits + 1, corner_moved, _REPLACED
            if i > 0:
                aside, along = abs(x[i - 1] - at_x[j - 1]), abs(y[i - 1] - at_y[j - 1])
                late = abs(t[i - 1] - at_t[j - 1])
                if aside <= match_m and along <= match_m and late <= match_s:
                    best_edits = corner_edits
                best_moved = corner_moved + np.hypot(aside, along) + speed_m_s * late
            for came, edits_before, moved_before in (
                (_DELETED, above_edits, above_moved),
                (_CREATED, edits[i], moved[i]),
            ):
                if edits_before + 1 < best_edits or (
                    edits_before + 1 == best_edits and moved_before < best_moved
                ):
                    best_edits, best_moved, chosen = edits_before + 1, moved_before, came
            corner_edits, corner_moved = edits[i], moved[i]
            edits[i], moved[i] = best_edits, best_moved
            above_edits, above_moved = best_edits, best_moved
            steps[begin[j] + (i - first) // 4] |= chosen << 2 * ((i - first) % 4)
    source = np.full(n, -1)
    i, j = m, n
    while i > 0 or j > 0:
        step = steps[begin[j] + (i - low[j]) // 4] >> 2 * ((i - low[j]) % 4) & 3
        if step == _REPLACED:
            i, j = i - 1, j - 1
            source[j] = i
        elif step == _DELETED:
            i -= 1
        else:
            j -= 1
    return source


@compiled
def _optimal_rows(path: TimedPath, target: TimedPath, tolerance: Tolerance) -> tuple[Integers, Integers]:
    """First and last row of each column that an optimal script passes: two of int64 [n + 1].

    The table from its end is stored at every sqrt(n)-th column, and computed again between.
    """
    t, x, y = path
    m, n = len(t), len(target.t)
    words = (m + BITS - 1) // BITS
    forward = TimedPath(t.copy(), x.copy(), y.copy())  # writable like ``back``: one compiled form
    back = TimedPath(-t[::-1], x[::-1].copy(), y[::-1].copy())
    back_target = TimedPath(-target.t[::-1], target.x[::-1].copy(), target.y[::-1].copy())
    every = int(math.sqrt(n)) + 1
    suffix = np.empty((every + 1, 2, words), np.int64)
    stored = np.empty((n // every + 1, 2, words), np.int64)
    prefix = np.empty((2, 2, words), np.int64)
    suffix[0, 0], suffix[0, 1] = FULL, 0
    prefix[0] = suffix[0]
    for column in range(0, n, every):
        stored[column // every] = suffix[0]
        count = min(every, n - column)
        _columns(back, back_target, tolerance, column, suffix[: count + 1])
        suffix[0] = suffix[count]
    fewest = n + _rise(suffix[0], m)
    low, high = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    low_before = high_before = 0
    if n == 0:
        high[0] = m
    for column in range((n - 1) // every * every, -1, -every):
        suffix[0] = stored[column // every]
        count = min(every, n - column)
        _columns(back, back_target, tolerance, column, suffix[: count + 1])
        for place in range(count, -1 if column == 0 else 0, -1):
            j = n - column - place
            if j > 0:
                _columns(forward, target, tolerance, j - 1, prefix)
                prefix[0] = prefix[1]
            i, rest = low_before, suffix[place]
            surplus = n + _rise(prefix[0], i) + _rise(rest, m - i) - fewest
            while surplus != 0:
                surplus += _slope(prefix[0], i) - _slope(rest, m - i - 1)
                i += 1
            low[j] = low_before = i
            if high_before > i:
                i = high_before
                surplus = n + _rise(prefix[0], i) + _rise(rest, m - i) - fewest
            if surplus != 0:  # then it is the next row: a script enters a column at most one row further
                surplus += _slope(prefix[0], i) - _slope(rest, m - i - 1)
                i += 1
            while surplus == 0 and i < m:
                surplus += _slope(prefix[0], i) - _slope(rest, m - i - 1)
                i += 1
            high[j] = high_before = i if surplus == 0 else i - 1
    return low, high


@compiled
def _columns(path: TimedPath, target: TimedPath, tolerance: Tolerance, begin: int, columns: Integers) -> None:
    """Bits [c, 2, words] of where each column rises and falls, after columns[0]."""
    t, at_t, match_s = path.t, target.t, tolerance.s
    equal = np.empty(columns.shape[2], np.int64)
    first = end = 0
    for place in range(1, len(columns)):
        j = begin + place - 1
        while first < len(t) and t[first] - at_t[j] < -match_s:
            first += 1
        end = max(end, first)
        while end < len(t) and t[end] - at_t[j] <= match_s:
            end += 1
        _mark_matches(path.x, path.y, 0, (first, end), (target.x[j], target.y[j]), tolerance.m, equal)
        columns[place] = columns[place - 1]
        _next_column(equal, columns[place, 0], columns[place, 1], 0)


@compiled
def _rise(column: Integers, rows: int) -> int:
    total = 0
    for word in range(rows // BITS):
        total += _count(column[0, word]) - _count(column[1, word])
    if rows % BITS:
        some = (1 << rows % BITS) - 1
        total += _count(column[0, rows // BITS] & some) - _count(column[1, rows // BITS] & some)
    return total


@compiled
def _slope(column: Integers, row: int) -> int:
    word, bit = row // BITS, row % BITS
    return int((column[0, word] >> bit & 1) - (column[1, word] >> bit & 1))


@compiled
def _count(word: Numbers) -> int:
    word = word - (word >> 1 & 0x5555555555555555)
    word = (word & 0x3333333333333333) + (word >> 2 & 0x3333333333333333)
    word = word + (word >> 4) & 0x0F0F0F0F0F0F0F0F
    word = word + (word >> 8)
    word = word + (word >> 16)
    return int(word + (word >> 32) & 0x7F)


@compiled
def cluster_within(distances: Floats, k: int, radius: float) -> Integers:
    """The pivot of each person's cluster: int64 [n], -1 = unclustered."""
    # distances: [n, n], symmetric. The first pivot is farthest from the person with the least sum of
    # distances; each next pivot is farthest from the previous one, among unclustered people that have not
    # failed. A pivot and its k - 1 nearest unclustered people form a cluster unless the last lies beyond
    # ``radius``. The rest join the nearest pivot within ``radius``, the earliest of equals. Other ties go to
    # the lowest number.
    n = len(distances)
    pivot_of = np.full(n, -1)
    failed = np.zeros(n, np.bool_)
    pivots = np.empty(n, np.int64)
    n_pivots = 0
    before = int(np.argmin(distances.sum(axis=1)))
    near = np.empty(k - 1, np.int64)
    while n - n_pivots * k >= k:
        pivot = _farthest(distances[before], pivot_of, failed)
        if pivot < 0:
            break
        before = pivot
        _nearest(distances[pivot], pivot, pivot_of, near)
        if distances[pivot, near[k - 2]] > radius:
            failed[pivot] = True
            continue
        pivot_of[pivot] = pivot
        pivot_of[near] = pivot
        pivots[n_pivots] = pivot
        n_pivots += 1
    for i in range(n):
        if pivot_of[i] < 0:
            for pivot in pivots[:n_pivots]:
                if distances[i, pivot] <= radius and (
                    pivot_of[i] < 0 or distances[i, pivot] < distances[i, pivot_of[i]]
                ):
                    pivot_of[i] = pivot
    return pivot_of


@compiled
def _farthest(distance: Floats, pivot_of: Integers, failed: Flags) -> int:
    chosen = -1
    for i in range(len(distance)):
        if pivot_of[i] < 0 and not failed[i] and (chosen < 0 or distance[i] > distance[chosen]):
            chosen = i
    return chosen


@compiled
def _nearest(distance: Floats, pivot: int, pivot_of: Integers, near: Integers) -> None:
    count = 0
    for i in range(len(distance)):
        if (
            i == pivot
            or pivot_of[i] >= 0
            or (count == len(near) and distance[i] >= distance[near[count - 1]])
        ):
            continue
        place = min(count, len(near) - 1)
        while place > 0 and distance[near[place - 1]] > distance[i]:
            near[place] = near[place - 1]
            place -= 1
        near[place] = i
        count = min(count + 1, len(near))
