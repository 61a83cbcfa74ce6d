"""Everybody's nearest others, found without looking at every pair in full (docs/bounds.md derives each bound).

People are taken in blocks of the shorter fingerprint ("b"), and all that are at least as long ("a") are put through a sieve: the
bounds of kernels/bounds.py for a whole block at once; then the field of b, a table of the least cost from each place at each of b's
times, which gives the cost of one sample of a by two look-ups; the sum ends where it reaches what the pair must stay below.
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bounds import LANES, Ranked, lay_across, least_of_all, pass_bounds
from shoal.kernels.stretch import Raw, Scale, raw_sum
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled

_NO_LIMIT = 1 << 62
_AT_ONCE = 256  # compared before the lists are looked at again


class Places(NamedTuple):
    """Places of all subjects: cells where few enough are in use, else squares of several cells.

    costs: [P, P] least spatial cost between two places, at most half. x, y: [P] lower corners; side: cells
    along each, 1 = exact costs. of_sample: [m]. offsets [n + 1], own, weights: the distinct places of each
    subject and how many of its samples are at each.
    """

    costs: Numbers
    x: Integers
    y: Integers
    side: int
    of_sample: Numbers
    offsets: Integers
    own: Numbers
    weights: Numbers


class Hours(NamedTuple):
    """When subjects are active, in bins of 1 << shift slots from first_t on, n_bins of them.

    slot: [m] of each sample, counted from first_t.
    offsets [n + 1], own, weights: the bins of each subject and how many of its samples are in each.
    """

    first_t: int
    shift: int
    n_bins: int
    slot: Numbers
    offsets: Integers
    own: Numbers
    weights: Numbers


class People(NamedTuple):
    """What is known about everybody."""

    raw: Raw
    places: Places
    hours: Hours


class Field(NamedTuple):
    """Room for the field of one subject, and the span of time it stands in.

    table, rows: room for [samples of b + 2, width] and [places of b, width], which lie close together,
    however many places there are. column: [P] of each place; place: [P + 1] of each column; width: [1]
    columns in use. A place from which all of b is too far costs half wherever b is: all such share column 0.
    position: [P] of b's places. events: slots of the table's rows; row_at: the first row not before the start
    of each bin of 1 << shift slots. longest: most samples of one subject; least_spaces: room for raw_sum.
    """

    table: Numbers
    column: Numbers
    place: Integers
    rows: Numbers
    position: Integers
    events: Numbers
    row_at: Numbers
    last_slot: int
    shift: int
    longest: int
    least_spaces: Integers
    width: Integers
    half: int


class Nearest(NamedTuple):
    """The nearest others of each subject found so far, [n, c], least effort first, of equals the first.

    Count: [n] how many.

    wanted: [n] whose nearest are asked for. tally: [2] pairs that passed the spatial bound, pairs evaluated
    to the end.
    """

    partner: Numbers
    effort: Floats
    known: Numbers
    wanted: Numbers
    tally: Integers


@compiled
def accepts(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> Any:
    """Whether j, at this effort, would enter the list of i; a bound below the effort may stand for it."""
    if not nearest.wanted[i] or effort >= threshold:
        return False
    last = nearest.partner.shape[1] - 1
    if nearest.known[i] <= last or effort < nearest.effort[i, last]:
        return True
    return effort == nearest.effort[i, last] and j < nearest.partner[i, last]


@compiled
def offer(nearest: Nearest, i: int, j: int, effort: float, threshold: float) -> None:
    """Put j into the list of i if it belongs there."""
    if not accepts(nearest, i, j, effort, threshold):
        return
    place = min(nearest.known[i], nearest.partner.shape[1] - 1)
    while place > 0:
        before, holder = nearest.effort[i, place - 1], nearest.partner[i, place - 1]
        if before < effort or (before == effort and holder < j):
            break
        nearest.effort[i, place], nearest.partner[i, place] = before, holder
        place -= 1
    nearest.effort[i, place], nearest.partner[i, place] = effort, j
    nearest.known[i] = min(nearest.known[i] + 1, nearest.partner.shape[1])


@compiled
def ceiling(nearest: Nearest, i: int, threshold: float) -> float:
    """The effort that nothing entering the list of i exceeds."""
    if not nearest.wanted[i]:
        return 0.0
    last = nearest.partner.shape[1] - 1
    return threshold if nearest.known[i] <= last else min(threshold, nearest.effort[i, last])


@compiled
def least_costs(places: Places, b: int, least: Numbers) -> None:
    """Fill least[p] with the least spatial cost from each place to any place of b."""
    own = places.own[places.offsets[b] : places.offsets[b + 1]]
    least[:] = places.costs[own[0]]
    for q in own[1:]:
        row = places.costs[q]
        for p in range(len(least)):
            least[p] = min(least[p], row[p])


@compiled
def choose_columns(places: Places, chosen: Integers, least: Numbers, room: Field) -> None:
    """Give a column to each place of these subjects that is within reach of b."""
    room.column[:] = 0
    width = 1
    for a in chosen:
        for p in places.own[places.offsets[a] : places.offsets[a + 1]]:
            if room.column[p] == 0 and least[p] < room.half:
                room.column[p] = width
                room.place[width] = p
                width += 1
    room.width[0] = width


@compiled
def field_of(people: People, b: int, least: Numbers, room: Field, scale: Scale) -> None:
    """Fill ``room`` with what a sample at each chosen place and each time costs beyond least[place], given by b alone.

    cost(p, t) = min over b's samples of min(space, half) + min(time, half), and the first min never is below least[p]; what lies
    beyond the cap in time costs least[p] + half. Between two of b's times the excess is reached from one of both, at per_slot a slot.
    """
    places, hours = people.places, people.hours
    half, per_slot = scale.half, scale.per_slot
    far = half // per_slot + 1
    kind = least.dtype.type
    width, events, table, rows = np.uint64(room.width[0]), room.events, room.table, room.rows
    own = places.own[places.offsets[b] : places.offsets[b + 1]]
    for q in range(np.uint64(len(own))):
        room.position[own[q]] = q
        rows[q * width] = 0
        row = places.costs[own[q]]
        for c in range(np.uint64(1), width):
            rows[q * width + c] = row[room.place[c]] - least[room.place[c]]

    last = np.uint64(0)
    table[:width] = half
    events[0] = -far  # nothing is earlier than slot 0, nor later than the last one
    for i in range(np.uint64(people.raw.offsets[b]), np.uint64(people.raw.offsets[b + 1])):
        slot = hours.slot[i]
        fresh = not last or slot != events[last]
        step = kind(min(per_slot * min(slot - events[last], far), half)) if fresh else kind(0)
        before = last * width
        last += np.uint64(fresh)
        here, row = last * width, np.uint64(room.position[places.of_sample[i]]) * width
        for c in range(width):
            reached = kind(table[before + c] + step)
            table[here + c] = min(reached, rows[row + c])
        events[last] = slot
    for j in range(np.int64(last) - 1, 0, -1):
        step = kind(min(per_slot * min(events[j + 1] - events[j], far), half))
        here, after = np.uint64(j) * width, (np.uint64(j) + np.uint64(1)) * width
        for c in range(width):
            reached = kind(table[after + c] + step)
            table[here + c] = min(reached, table[here + c])
    end = last + np.uint64(1)
    table[end * width : (end + np.uint64(1)) * width] = half
    events[end] = room.last_slot + far
    filled: Any = 0
    for j in range(1, end):
        stop = (events[j] >> room.shift) + 1
        room.row_at[filled:stop] = j
        filled = max(filled, stop)
    room.row_at[filled:] = end


@compiled
def least_gaps(raw: Raw, hours: Hours, b: int, scale: Scale, gaps: Numbers) -> None:
    """Fill gaps[bin] with the least temporal cost from any slot of the bin to any sample of b."""
    kind = gaps.dtype.type
    far, width, shift, n_bins = (
        int(scale.half // scale.per_slot) + 1,
        1 << hours.shift,
        hours.shift,
        hours.n_bins,
    )
    filled: Any = 0
    earlier: Any = -2 * far - width  # so long before the first bin that nobody gains by it
    first, last = raw.offsets[b], raw.offsets[b + 1]
    for i in range(first, last + 1):
        later: Any = np.int64(hours.slot[i]) if i < last else np.int64((n_bins << shift) + far)
        own = int(min(later >> shift, n_bins))
        for h in range(filled, own):
            begin = h << shift
            gap = min(begin - earlier, later - begin - width + 1, far)
            gaps[h] = kind(min(scale.per_slot * gap, scale.half))
        if own < n_bins:
            gaps[own] = 0
        filled, earlier = max(filled, own + 1), later


@compiled
def field_sum(
    people: People, a: int, room: Field, gaps: Numbers, lowest: Any, limit: Any, scale: Scale
) -> Any:
    """Eq. 10 before division from the field of b; a sum above ``limit`` may be any sum above it.

    lowest: the sum of a's least spatial and temporal costs. Each sample replaces its share of it by its cost.
    """
    place, slot, column, row_at = people.places.of_sample, people.hours.slot, room.column, room.row_at
    events, table, half, per_slot = room.events, room.table, scale.half, scale.per_slot
    width, bin_shift, index_shift = np.uint64(room.width[0]), people.hours.shift, room.shift
    total = lowest
    for i in range(np.uint64(people.raw.offsets[a]), np.uint64(people.raw.offsets[a + 1])):
        t, c = slot[i], np.uint64(column[np.uint64(place[i])])
        j = np.uint64(row_at[np.uint64(t >> index_shift)])
        while events[j] < t:
            j += np.uint64(1)
        before = j - np.uint64(1)
        later = table[j * width + c] + per_slot * (events[j] - t)
        earlier = table[before * width + c] + per_slot * (t - events[before])
        total += min(later, earlier, half) - gaps[np.uint64(t >> bin_shift)]
        if total > limit:
            break
    return total


@compiled
def pair_sum(raw: Raw, a: int, b: int, limit: float, least_spaces: Integers, scale: Scale) -> Any:
    """Eq. 10 before division, a at least as long as b; a sum above ``limit`` may be any sum above it."""
    total = raw_sum(raw, a, b, least_spaces, scale, limit)
    if raw.offsets[a + 1] - raw.offsets[a] == raw.offsets[b + 1] - raw.offsets[b] and total <= limit:
        total = max(total, raw_sum(raw, b, a, least_spaces, scale, limit))
    return total


@compiled
def sieve(
    people: People,
    ranked: Ranked,
    order: Integers,
    begin: int,
    limits: Numbers,
    shift: int,
    threshold: float,
    nearest: Nearest,
    room: Field,
    scale: Scale,
) -> None:
    """Offer to each other all pairs of a block and those behind it with an effort below ``threshold``, as far as the lists reach.

    order: subjects by rank; the block is the LANES of them from ``begin`` on. limits: [2, n] what the bounds of each rank must stay below
    beside a block in which nobody's nearest are wanted, and beside one in which somebody's are. shift: bits that least costs lose for the
    bounds. threshold: in units of 1 / (2 * half).
    """
    n_places, n_bins = len(people.places.costs), people.hours.n_bins
    least = np.empty((LANES, n_places), dtype=people.places.costs.dtype)
    gaps = np.empty((LANES, n_bins), dtype=people.places.costs.dtype)
    near = np.zeros((n_places, LANES), dtype=np.int16)
    soon = np.zeros((n_bins, LANES), dtype=np.int16)
    least_near = np.empty(n_places, dtype=least.dtype)
    rank = np.empty((LANES, len(order) - begin + begin % ranked.stratum), dtype=np.int32)
    bound = np.empty(rank.shape, dtype=np.int32)
    found = np.empty(LANES, dtype=np.int64)
    half = int(scale.half)
    lanes = min(LANES, len(order) - begin)
    somebody = np.any(nearest.wanted[order[begin : begin + lanes]])
    for lane in range(lanes):
        least_costs(people.places, order[begin + lane], least[lane])
        least_gaps(people.raw, people.hours, order[begin + lane], scale, gaps[lane])
    least_of_all(least[:lanes], least_near)
    lay_across(least[:lanes], least_near, half, shift, near)
    lay_across(gaps[:lanes], np.zeros(n_bins, dtype=gaps.dtype), half, shift, soon)
    pass_bounds(ranked, begin, limits[int(somebody)], near, soon, least_near, shift, found, rank, bound)
    for lane in range(lanes):
        for first in range(0, found[lane], _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, found[lane]))
            ranks, bounds = rank[lane, some], bound[lane, some]
            evaluate(
                people,
                order,
                begin + lane,
                ranks,
                bounds,
                shift == 0,
                least[lane],
                gaps[lane],
                threshold,
                nearest,
                room,
                scale,
            )


@compiled
def lowest_sum(people: People, a: int, least: Numbers, gaps: Numbers, limit: float) -> Any:
    """The sum of a's least spatial and temporal costs; ends early above ``limit``."""
    places, hours = people.places, people.hours
    total = np.int64(0)
    for own in range(places.offsets[a], places.offsets[a + 1]):
        total += np.int64(places.weights[own]) * np.int64(least[places.own[own]])
    for own in range(hours.offsets[a], hours.offsets[a + 1]):
        total += np.int64(hours.weights[own]) * np.int64(gaps[hours.own[own]])
        if total > limit:
            break
    return total


@compiled
def evaluate(
    people: People,
    order: Integers,
    rank_of_b: int,
    ranks: Numbers,
    bounds: Numbers,
    bounds_are_whole: bool,
    least: Numbers,
    gaps: Numbers,
    threshold: float,
    nearest: Nearest,
    room: Field,
    scale: Scale,
) -> None:
    """Compare b with a few that passed the bounds, each no further than needed to know that neither wants the other."""
    raw, places = people.raw, people.places
    b = order[rank_of_b]
    m_b = raw.offsets[b + 1] - raw.offsets[b]
    chosen = np.empty(len(ranks), dtype=np.int64)
    sums = np.empty(len(ranks), dtype=np.int64)
    count = 0
    for position in range(len(ranks)):
        a = order[ranks[position]]
        if accepts(nearest, a, b, 0.0, threshold) or accepts(nearest, b, a, 0.0, threshold):
            m = raw.offsets[a + 1] - raw.offsets[a]
            limit = max(ceiling(nearest, a, threshold), ceiling(nearest, b, threshold)) * m * (1 + 1e-12)
            lowest = (
                np.int64(bounds[position]) if bounds_are_whole else lowest_sum(people, a, least, gaps, limit)
            )
            if lowest <= limit:
                chosen[count], sums[count] = a, lowest
                count += 1
    if count:
        choose_columns(places, chosen[:count], least, room)
        field_of(people, b, least, room, scale)
    for position in range(count):
        a, lowest = chosen[position], sums[position]
        m = raw.offsets[a + 1] - raw.offsets[a]
        if not (
            accepts(nearest, a, b, lowest / m, threshold) or accepts(nearest, b, a, lowest / m, threshold)
        ):
            continue
        nearest.tally[0] += 1
        limit = max(ceiling(nearest, a, threshold), ceiling(nearest, b, threshold)) * m * (1 + 1e-12)
        total = field_sum(people, a, room, gaps, lowest, np.int64(min(limit, _NO_LIMIT)), scale)
        if total <= limit and (places.side > 1 or m == m_b):
            total = pair_sum(raw, a, b, limit, room.least_spaces, scale)
        if total <= limit:
            nearest.tally[1] += 1
            offer(nearest, a, b, total / m, threshold)
            offer(nearest, b, a, total / m, threshold)
