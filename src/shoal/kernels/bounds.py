"""Cost bounds that rule out most pairs, 64 people at once (docs/bounds.md)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.runtime.arrays import Integers, Numbers
from shoal.runtime.compiled import compiled

LANES = 64  # fills the registers; with half as many the loop takes five times as long per pair
_STEP = 8  # places or bins between two checks whether any lane remains


class RankedPeople(NamedTuple):
    """Input of the bounds, by rank for sequential access."""

    stratum: int  # ranks per group; later groups are longer; inside, ranks are sorted by location
    lengths: Integers  # [n] samples
    main_place: Numbers  # [n] the most frequent place
    main_weight: Numbers  # [n] its samples
    place_offsets: Integers  # places of each rank, as in Places
    places: Numbers
    place_weights: Numbers
    bin_offsets: Integers  # bins of each rank, as in Hours
    bins: Numbers
    bin_weights: Numbers


class BlockCosts(NamedTuple):
    """Least costs to the person in each lane."""

    near: Numbers  # int16 [P, LANES] by place, >> shift
    soon: Numbers  # int16 [bins, LANES] by time, >> shift
    least: Numbers  # [P], minimum over all lanes, not shifted
    shift: int


class PassedPairs(NamedTuple):
    """Ranks that passed: rank[lane, : counts[lane]], with their bounds."""

    counts: Integers
    rank: Numbers
    bound: Numbers


def empty_passed_pairs(order: Integers) -> PassedPairs:
    """Room for all of ``order`` in each lane; each thread needs its own."""
    rank, bound = (np.empty((LANES, len(order)), dtype=np.int32) for _ in range(2))
    return PassedPairs(np.empty(LANES, dtype=np.int64), rank, bound)


@compiled
def add_least_costs(
    offsets: Integers, entries: Numbers, weights: Numbers, r: int, table: Numbers, limit: Any, sums: Numbers
) -> Any:
    """Add to sums[lane] the weighted least costs of rank r's places or bins to each lane's person."""
    # Returns the number of lanes below the limit; stops early at 0, since sums only grow.
    passing = np.int32(LANES)
    for first in range(offsets[r], offsets[r + 1], _STEP):
        for position in range(first, min(first + _STEP, offsets[r + 1])):
            weight, row = np.int32(weights[position]), table[np.uint32(entries[position])]
            for lane in range(LANES):
                sums[lane] = np.int32(sums[lane] + np.int32(weight * np.int32(row[lane])))
        passing = _count_below(sums, limit)
        if passing == 0:
            break
    return passing


@compiled
def reorder_lists(
    offsets: Integers, entries: Numbers, weights: Numbers, order: Integers
) -> tuple[Integers, Numbers, Numbers]:
    """The lists of these people in this order."""
    starts = np.zeros(len(order) + 1, dtype=np.int64)
    for r in range(len(order)):
        starts[r + 1] = starts[r] + offsets[order[r] + 1] - offsets[order[r]]
    new_entries = np.empty(starts[-1], dtype=entries.dtype)
    new_weights = np.empty(starts[-1], dtype=weights.dtype)
    for r in range(len(order)):
        for place in range(starts[r + 1] - starts[r]):
            new_entries[starts[r] + place] = entries[offsets[order[r]] + place]
            new_weights[starts[r] + place] = weights[offsets[order[r]] + place]
    return starts, new_entries, new_weights


@compiled
def minimum_over_lanes(costs: Numbers, least: Numbers) -> None:
    """Fill least[p] with the minimum of costs[:, p]."""
    for p in range(len(least)):
        least[p] = costs[0, p]
    for lane in range(1, len(costs)):
        for p in range(len(least)):
            least[p] = min(least[p], costs[lane, p])


@compiled
def transpose_costs(costs: Numbers, least: Numbers, half: Any, shift: int, across: Numbers) -> None:
    """Fill across[p, lane] with costs[lane, p] >> shift; rows whose minimum is ``half`` are constant."""
    most = np.int16(half >> shift)
    for p in range(len(across)):
        if least[p] == half:
            across[p] = most
        else:
            for lane in range(len(costs)):
                across[p, lane] = costs[lane, p] >> shift


@compiled
def possible_ranks(
    ranked: RankedPeople, begin: int, limits: Numbers, least: Numbers, shift: int, possible: Numbers
) -> Any:
    """Fill ``possible`` with ranks that places, heaviest first, do not rule out; count them."""
    count = 0
    for r in range(begin, len(limits)):
        possible[count] = r
        count += ranked.main_weight[r] * (least[ranked.main_place[r]] >> shift) < limits[r]
    remaining = 0
    for r in possible[:count]:
        total = np.int64(0)
        for position in range(ranked.place_offsets[r], ranked.place_offsets[r + 1]):
            total += ranked.place_weights[position] * (least[ranked.places[position]] >> shift)
        possible[remaining] = r
        remaining += total < limits[r]
    return remaining


@compiled
def find_passing_pairs(
    ranked: RankedPeople, begin: int, limits: Numbers, costs: BlockCosts, passed: PassedPairs
) -> None:
    """Fill ``passed`` with the ranks whose bound is below their limit."""
    # lane l is compared with ranks longer than begin + l, or equally long and later
    counts, rank, bound = passed
    lengths, stratum = ranked.lengths, ranked.stratum
    lanes = min(LANES, len(lengths) - begin)
    sums = np.empty(LANES, dtype=np.int32)
    counts[:] = 0
    # ranks below it may be shorter than some of the block
    mixed = (begin + lanes - 1) // stratum * stratum + stratum
    possible = np.empty(len(lengths) + 1, dtype=np.int32)
    count = possible_ranks(ranked, begin - begin % stratum, limits, costs.least, costs.shift, possible)
    for r in possible[:count]:
        limit = limits[r]
        sums[:] = 0
        passing = add_least_costs(
            ranked.place_offsets, ranked.places, ranked.place_weights, r, costs.near, limit, sums
        )
        if passing > 0:
            passing = add_least_costs(
                ranked.bin_offsets, ranked.bins, ranked.bin_weights, r, costs.soon, limit, sums
            )
        if passing == 0:
            continue
        for lane in range(lanes):
            if sums[lane] < limit:  # store only if needed: lanes lie on different pages
                subject = begin + lane
                if r < mixed and (
                    lengths[r] < lengths[subject] or (lengths[r] == lengths[subject] and r <= subject)
                ):
                    continue
                rank[lane, counts[lane]], bound[lane, counts[lane]] = r, sums[lane]
                counts[lane] += 1


@compiled
def _count_below(sums: Numbers, limit: Any) -> Any:
    count = np.int32(0)
    for lane in range(LANES):
        count = np.int32(count + np.int32(sums[lane] < limit))
    return count
