"""What a person's samples cost at least in any class: beside the companions that suit them best."""

from shoal.kernels.k_merge import IMPOSSIBLE
from shoal.kernels.weighed_runs import Tracks, Weights, beside
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled


@compiled
def gap_between(a: Integers, b: Integers) -> int:
    """Cells between two rectangles, along both axes together: first and last x, first and last y."""
    along_x = max(a[0] - b[1], b[0] - a[1], 0)
    along_y = max(a[2] - b[3], b[2] - a[3], 0)
    return int(along_x + along_y)


@compiled
def companion_costs(
    tracks: Tracks, around: Integers, p: int, others: Integers, weights: Weights, costs: Integers
) -> None:
    """Fill costs [count] with what p's samples cost beside each of the ``count`` others that suit them best.

    around: [n, 4] a rectangle around each person's samples. others: who is looked at, the likeliest first,
    which makes the search short.
    """
    costs[:] = IMPOSSIBLE
    widest = len(weights.place) - 1
    samples = tracks.offsets[p + 1] - tracks.offsets[p]
    for q in others:
        most = costs[-1]
        if q == p or samples * weights.place[min(gap_between(around[p], around[q]) + 2, widest)] >= most:
            continue
        cost = beside(tracks, p, q, weights, most)
        place = len(costs) - 1
        if cost < most:
            while place > 0 and costs[place - 1] > cost:
                costs[place] = costs[place - 1]
                place -= 1
            costs[place] = cost
