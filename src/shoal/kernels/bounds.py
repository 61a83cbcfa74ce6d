"""The bounds that rule out most pairs, for a block of people at once (docs/bounds.md derives them)."""

from typing import Any, NamedTuple

import numpy as np

from shoal.compiled import compiled
from shoal.kernels.stretch import Integers, Numbers

LANES = 64  # as many as fill the registers; with half as many the same loop takes five times as long a pair
_FEW = 4  # lanes; the temporal bound of so few is cheaper one by one
_STEP = 8  # places or bins that are added before it is looked whether anybody is still in question


class Ranked(NamedTuple):
    """What the bounds need, in ascending order of length: so it is read from front to back, not here and there.

    lengths: [n] samples of each rank. The rest: the places and bins of each rank, as in Places and Hours.
    """

    lengths: Integers
    place_offsets: Integers
    places: Numbers
    place_weights: Numbers
    bin_offsets: Integers
    bins: Numbers
    bin_weights: Numbers


@compiled
def add_least_costs(
    offsets: Integers, own: Numbers, weights: Numbers, r: int, table: Numbers, limit: Any, enough: int, sums: Numbers
) -> Any:
    """Add to sums[lane] the weighted least costs of a rank's places, or bins, to the subject of each lane. table: int16 [P, LANES].

    Returns how many lanes stay below the limit; ends early once they are ``enough`` or fewer, since sums only grow.
    """
    passing = np.int32(LANES)
    for first in range(offsets[r], offsets[r + 1], _STEP):
        for position in range(first, min(first + _STEP, offsets[r + 1])):
            weight, row = np.int32(weights[position]), table[np.uint32(own[position])]
            for lane in range(LANES):
                sums[lane] = np.int32(sums[lane] + np.int32(weight * np.int32(row[lane])))
        passing = count_below(sums, limit)
        if passing <= enough:
            break
    return passing


@compiled
def in_order(offsets: Integers, own: Numbers, weights: Numbers, order: Integers) -> tuple[Integers, Numbers, Numbers]:
    """The lists of these subjects, in this order."""
    starts = np.zeros(len(order) + 1, dtype=np.int64)
    for r in range(len(order)):
        starts[r + 1] = starts[r] + offsets[order[r] + 1] - offsets[order[r]]
    some, heavy = np.empty(starts[-1], dtype=own.dtype), np.empty(starts[-1], dtype=weights.dtype)
    for r in range(len(order)):
        some[starts[r] : starts[r + 1]] = own[offsets[order[r]] : offsets[order[r] + 1]]
        heavy[starts[r] : starts[r + 1]] = weights[offsets[order[r]] : offsets[order[r] + 1]]
    return starts, some, heavy


@compiled
def pass_bounds(
    ranked: Ranked, begin: int, shift: int, threshold: float, near: Numbers, soon: Numbers, rank: Numbers, found: Integers
) -> None:
    """Fill rank[lane, : found[lane]] with the ranks behind begin + lane whose bound with it is below the threshold."""
    lengths = ranked.lengths
    lanes = min(LANES, len(lengths) - begin)
    sums = np.empty(LANES, dtype=np.int32)
    found[:] = 0
    for r in range(begin + 1, len(lengths)):
        limit = np.int32(min(threshold * lengths[r] / (1 << shift) * 1.000001 + 1, (1 << 31) - 1))
        sums[:] = 0
        passing = add_least_costs(ranked.place_offsets, ranked.places, ranked.place_weights, r, near, limit, 0, sums)
        if passing > _FEW:
            passing = add_least_costs(ranked.bin_offsets, ranked.bins, ranked.bin_weights, r, soon, limit, _FEW, sums)
        if passing == 0:
            continue
        for lane in range(min(lanes, r - begin)):
            if sums[lane] < limit:  # a store only where needed: the rows of lanes lie on pages of their own
                rank[lane, found[lane]] = r
                found[lane] += 1


@compiled
def count_below(sums: Numbers, limit: Any) -> Any:
    """How many lanes are below the limit."""
    count = np.int32(0)
    for lane in range(LANES):
        count = np.int32(count + np.int32(sums[lane] < limit))
    return count
