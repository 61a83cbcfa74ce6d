"""Exact nearest others without every pair (docs/bounds.md): "b" is the shorter fingerprint, "a" another."""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.bounds import (
    LANES,
    BlockCosts,
    PassedPairs,
    RankedPeople,
    find_passing_pairs,
    minimum_over_lanes,
    transpose_costs,
)
from shoal.kernels.nearest_lists import Nearest, accepts, ceiling, offer
from shoal.kernels.nearest_samples import raw_sum
from shoal.kernels.people import Hours, People, Places
from shoal.kernels.stretch import Raw, Scale
from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Workspace(NamedTuple):
    """Workspace of one subject b; each thread needs its own."""

    table: Numbers  # [samples of b + 2, width] flat
    column: Numbers  # [P] of each place; 0 = too far from all of b, half everywhere
    place: Integers  # [P + 1] of each column
    rows: Numbers  # [places of b, width] flat
    position: Integers  # [P] of b's places
    events: Numbers  # slots of the table's rows
    row_at: Numbers  # the first row not before the start of each bin of 1 << shift slots
    last_slot: int
    shift: int
    longest: int  # most samples of one subject
    least_spaces: Integers  # space for raw_sum
    width: Integers  # [1] columns in use
    half: int


@compiled
def choose_columns(places: Places, chosen: Integers, least: Numbers, workspace: Workspace) -> None:
    """A column for each place that is near enough to b to matter."""
    workspace.column[:] = 0
    width = 1
    for a in chosen:
        for p in places.distinct[places.offsets[a] : places.offsets[a + 1]]:
            if workspace.column[p] == 0 and least[p] < workspace.half:
                workspace.column[p] = width
                workspace.place[width] = p
                width += 1
    workspace.width[0] = width


@compiled
def fill_cost_table(people: People, b: int, least: Numbers, workspace: Workspace, scale: Scale) -> None:
    """Fill the table with a sample's cost, beyond least[place], at each chosen place and time."""
    # cost(p, t) = min over b's samples of min(space, half) + min(time, half). The first min is at least
    # least[p]; beyond the cap in time the cost is least[p] + half. Between two of b's times, the least excess
    # comes from one of the two, at per_slot a slot.
    places, hours = people.places, people.hours
    half, per_slot = scale.half, scale.per_slot
    far = half // per_slot + 1
    kind = least.dtype.type
    width, events = np.uint64(workspace.width[0]), workspace.events
    table, rows = workspace.table, workspace.rows
    places_of_b = places.distinct[places.offsets[b] : places.offsets[b + 1]]
    for q in range(np.uint64(len(places_of_b))):
        workspace.position[places_of_b[q]] = q
        rows[q * width] = 0
        row = places.costs[places_of_b[q]]
        for c in range(np.uint64(1), width):
            rows[q * width + c] = row[workspace.place[c]] - least[workspace.place[c]]

    last = np.uint64(0)
    table[:width] = half
    events[0] = -far  # sentinels before slot 0 and after the last one
    for i in range(np.uint64(people.raw.offsets[b]), np.uint64(people.raw.offsets[b + 1])):
        slot = hours.slot[i]
        fresh = not last or slot != events[last]
        step = kind(min(per_slot * min(slot - events[last], far), half)) if fresh else kind(0)
        before = last * width
        last += np.uint64(fresh)
        row_start, row = last * width, np.uint64(workspace.position[places.of_sample[i]]) * width
        for c in range(width):
            reached = kind(table[before + c] + step)
            table[row_start + c] = min(reached, rows[row + c])
        events[last] = slot
    for j in range(np.int64(last) - 1, 0, -1):
        step = kind(min(per_slot * min(events[j + 1] - events[j], far), half))
        row_start, after = np.uint64(j) * width, (np.uint64(j) + np.uint64(1)) * width
        for c in range(width):
            reached = kind(table[after + c] + step)
            table[row_start + c] = min(reached, table[row_start + c])
    end = last + np.uint64(1)
    table[end * width : (end + np.uint64(1)) * width] = half
    events[end] = workspace.last_slot + far
    filled: Any = 0
    for j in range(1, end):
        stop = (events[j] >> workspace.shift) + 1
        workspace.row_at[filled:stop] = j
        filled = max(filled, stop)
    workspace.row_at[filled:] = end


@compiled
def sum_by_cost_table(
    people: People, a: int, workspace: Workspace, gaps: Numbers, lowest: Any, limit: Any, scale: Scale
) -> Any:
    """Sum over a's samples of the least cost to any of b, whose table this is; inexact above ``limit``.

    Source: Gramaglia and Fiore 2015, Eq. 10 before division.
    """
    # each sample replaces its share of ``lowest``, the sum of a's least costs, by its cost
    place, slot = people.places.of_sample, people.hours.slot
    column, row_at = workspace.column, workspace.row_at
    events, table, half, per_slot = workspace.events, workspace.table, scale.half, scale.per_slot
    width, bin_shift, index_shift = np.uint64(workspace.width[0]), people.hours.shift, workspace.shift
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


_NO_LIMIT = 1 << 62
_AT_ONCE = 256  # compared between two checks of the lists
_MOST = (1 << 31) - 1
_FEW = 16  # the longest of a neighborhood have too few longer neighbors
SLACK = 1.000001  # on limits, for rounding


class PairSearch(NamedTuple):
    """Inputs that stay the same for all blocks."""

    people: People
    ranked: RankedPeople
    order: Integers  # subjects by rank
    below: Floats  # [n], only lower efforts enter a list, in units of 1 / (2 * half); 0 = no list requested
    limits: Numbers  # [n], the resulting limits of bounds by rank
    shift: int  # bits dropped from least costs in bounds
    scale: Scale


@compiled
def least_costs(places: Places, b: int, least: Numbers) -> None:
    """Fill least[p] with the least spatial cost to any place of b."""
    places_of_b = places.distinct[places.offsets[b] : places.offsets[b + 1]]
    for p in range(len(least)):
        least[p] = places.costs[places_of_b[0], p]
    for q in places_of_b[1:]:
        row = places.costs[q]
        for p in range(len(least)):
            least[p] = min(least[p], row[p])


@compiled
def _least_gaps(raw: Raw, hours: Hours, b: int, scale: Scale, gaps: Numbers) -> None:
    kind = gaps.dtype.type
    far, width = int(scale.half // scale.per_slot) + 1, 1 << hours.shift
    shift, n_bins = hours.shift, hours.n_bins
    filled: Any = 0
    earlier: Any = -2 * far - width  # too long before the first bin to matter
    first, last = raw.offsets[b], raw.offsets[b + 1]
    for i in range(first, last + 1):
        later: Any = np.int64(hours.slot[i]) if i < last else np.int64((n_bins << shift) + far)
        own_bin = int(min(later >> shift, n_bins))
        for h in range(filled, own_bin):
            begin = h << shift
            gap = min(begin - earlier, later - begin - width + 1, far)
            gaps[h] = kind(min(scale.per_slot * gap, scale.half))
        if own_bin < n_bins:
            gaps[own_bin] = 0
        filled, earlier = max(filled, own_bin + 1), later


@compiled
def pair_sum(raw: Raw, a: int, b: int, limit: float, least_spaces: Integers, scale: Scale) -> Any:
    """Eq. 10 before division, a at least as long as b; sums above ``limit`` may be inexact."""
    total = raw_sum(raw, a, b, least_spaces, scale, limit)
    if raw.offsets[a + 1] - raw.offsets[a] == raw.offsets[b + 1] - raw.offsets[b] and total <= limit:
        total = max(total, raw_sum(raw, b, a, least_spaces, scale, limit))
    return total


@compiled
def compare_block(
    search: PairSearch, begin: int, nearest: Nearest, workspace: Workspace, passed: PassedPairs
) -> None:
    """Offer to each other all pairs of a block and later ranks below either limit."""
    # the block is the LANES ranks from ``begin`` on; passed: room for all pairs
    people, ranked, order, scale = search.people, search.ranked, search.order, search.scale
    kind = people.places.costs.dtype
    n_places, n_bins = len(people.places.costs), people.hours.n_bins
    least = np.empty((LANES, n_places), dtype=kind)
    gaps = np.empty((LANES, n_bins), dtype=kind)
    costs = BlockCosts(
        near=np.zeros((n_places, LANES), dtype=np.int16),
        soon=np.zeros((n_bins, LANES), dtype=np.int16),
        least=np.empty(n_places, dtype=least.dtype),
        shift=search.shift,
    )
    half = int(scale.half)
    lanes = min(LANES, len(order) - begin)
    for lane in range(lanes):
        least_costs(people.places, order[begin + lane], least[lane])
        _least_gaps(people.raw, people.hours, order[begin + lane], scale, gaps[lane])
    minimum_over_lanes(least[:lanes], costs.least)
    transpose_costs(least[:lanes], costs.least, half, search.shift, costs.near)
    transpose_costs(gaps[:lanes], np.zeros(n_bins, dtype=gaps.dtype), half, search.shift, costs.soon)
    find_passing_pairs(ranked, begin, _block_limits(search, begin, lanes), costs, passed)
    for lane in range(lanes):
        for first in range(0, passed.counts[lane], _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, passed.counts[lane]))
            ranks, bounds = passed.rank[lane, some], passed.bound[lane, some]
            _compare_ranks(search, begin + lane, ranks, bounds, least[lane], gaps[lane], nearest, workspace)


@compiled
def _block_limits(search: PairSearch, begin: int, lanes: int) -> Numbers:
    most: Any = 0.0
    for subject in search.order[begin : begin + lanes]:
        most = max(most, search.below[subject])
    if most == 0.0:
        return search.limits
    lengths, limits = search.ranked.lengths, np.empty_like(search.limits)
    factor = most / (1 << search.shift) * SLACK
    for r in range(len(limits)):
        limits[r] = max(search.limits[r], np.int32(min(factor * lengths[r] + 1.0, _MOST)))
    return limits


@compiled
def offer_neighbors(search: PairSearch, ranks: Numbers, nearest: Nearest, workspace: Workspace) -> None:
    """Offer neighbors to each other: limits become low early."""
    # people with a requested list meet all longer ones, and the longest meet each other
    people, order, scale = search.people, search.order, search.scale
    kind = people.places.costs.dtype
    least = np.empty(len(people.places.costs), dtype=kind)
    gaps = np.empty(people.hours.n_bins, dtype=kind)
    for i in range(len(ranks) - 1):
        b = order[ranks[i]]
        others = ranks[i + 1 :]
        if search.below[b] == 0 and (len(others) >= _FEW or not np.any(search.below[order[others]])):
            continue
        least_costs(people.places, b, least)
        _least_gaps(people.raw, people.hours, b, scale, gaps)
        bounds = np.empty(len(others), dtype=np.int32)
        for j in range(len(others)):
            bounds[j] = _lowest_sum(people, order[others[j]], least, gaps, np.inf)
        _compare_ranks(search, np.int64(ranks[i]), others, bounds, least, gaps, nearest, workspace)


@compiled
def _lowest_sum(people: People, a: int, least: Numbers, gaps: Numbers, limit: float) -> Any:
    places, hours = people.places, people.hours
    total = np.int64(0)
    for position in range(places.offsets[a], places.offsets[a + 1]):
        total += np.int64(places.weights[position]) * np.int64(least[places.distinct[position]])
    for position in range(hours.offsets[a], hours.offsets[a + 1]):
        total += np.int64(hours.weights[position]) * np.int64(gaps[hours.distinct[position]])
        if total > limit:
            break
    return total


@compiled
def _compare_ranks(
    search: PairSearch,
    rank_of_b: int | np.int64,
    ranks: Numbers,
    bounds: Numbers,
    least: Numbers,
    gaps: Numbers,
    nearest: Nearest,
    workspace: Workspace,
) -> None:
    people, order, below, scale = search.people, search.order, search.below, search.scale
    raw, places = people.raw, people.places
    b = order[rank_of_b]
    m_b = raw.offsets[b + 1] - raw.offsets[b]
    chosen = np.empty(len(ranks), dtype=np.int64)
    sums = np.empty(len(ranks), dtype=np.int64)
    count = 0
    for position in range(len(ranks)):
        a = order[ranks[position]]
        if accepts(nearest, a, b, 0.0, below[a]) or accepts(nearest, b, a, 0.0, below[b]):
            m = raw.offsets[a + 1] - raw.offsets[a]
            limit = max(ceiling(nearest, a, below[a]), ceiling(nearest, b, below[b])) * m * (1 + 1e-12)
            lowest = (
                np.int64(bounds[position])
                if search.shift == 0
                else _lowest_sum(people, a, least, gaps, limit)
            )
            if lowest <= limit:
                chosen[count], sums[count] = a, lowest
                count += 1
    if count:
        choose_columns(places, chosen[:count], least, workspace)
        fill_cost_table(people, b, least, workspace, scale)
    for position in range(count):
        a, lowest = chosen[position], sums[position]
        m = raw.offsets[a + 1] - raw.offsets[a]
        if not (accepts(nearest, a, b, lowest / m, below[a]) or accepts(nearest, b, a, lowest / m, below[b])):
            continue
        nearest.tally[0] += 1
        limit = max(ceiling(nearest, a, below[a]), ceiling(nearest, b, below[b])) * m * (1 + 1e-12)
        total = sum_by_cost_table(people, a, workspace, gaps, lowest, np.int64(min(limit, _NO_LIMIT)), scale)
        if total <= limit and (places.side > 1 or m == m_b):
            total = pair_sum(raw, a, b, limit, workspace.least_spaces, scale)
        if total <= limit:
            nearest.tally[1] += 1
            offer(nearest, a, b, total / m, below[a])
            offer(nearest, b, a, total / m, below[b])
