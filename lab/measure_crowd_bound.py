"""How low the refinement's cost can go, whatever it tries; for lab/notes/0106.

python lab/measure_crowd_bound.py [--input FILE | --subjects 200 --days 14 --layout city] [--k 5] [--steps 40]

Every person gets a worth. Crowds of k cost at least all worths together and, for each person, a k-th of what
the cheapest crowd around them costs above the worth of its members, which is negative: a Lagrangian bound of
set partitioning. People who are wanted too often are worth less at the next step. The cheapest crowd around a
person is found by a local search over everybody, so the bound is an estimate.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

import shoal
from measure_refinement import geometric_ratio
from shoal.kernels.k_merge import IMPOSSIBLE
from shoal.kernels.weighed_runs import (
    ROOM,
    Tracks,
    Weights,
    added_without_cuts,
    boxes_without,
    class_cost,
    joined_tracks,
)
from shoal.measures.least_extents import even_weights
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import merge_by_weights, search_neighborhood, weights_of
from shoal.model.trajectories import Trajectories
from shoal.report.facts.omission import extents_of_classes
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

TRIED: Final = 4  # others who are computed exactly for each place in a crowd, by their estimates
LIKELY: Final = 0.9  # of the estimate that a person typically adds
CUTS: Final = 3  # each in units of the means after the one before


class Search:
    """Costs of crowds of k among all people."""

    def __init__(self, original: Trajectories, weights: Weights, k: int) -> None:
        self.tracks = Tracks(original.offsets, original.t, original.x, original.y)
        self.weights, self.n = weights, original.n_subjects
        longest = int(np.sort(original.lengths)[-k - 1 :].sum())
        self.room = np.empty((ROOM, longest + 1), dtype=np.int64)

    def cost(self, crowd: Integers, limit: int = IMPOSSIBLE) -> int:
        return int(class_cost(self.tracks, crowd, self.weights, self.room, limit))

    def cheapest_around(self, crowd: Integers, worth: Integers) -> tuple[Integers, int]:
        """A crowd with this one's first member, cheap against its members' worth; and the difference."""
        best = self.cost(crowd) - int(worth[crowd].sum())
        better = True
        while better:
            better = False
            for place in range(1, len(crowd)):
                for q in self._likeliest(crowd, place, worth):
                    other = crowd.copy()
                    other[place] = q
                    value = int(worth[other].sum())
                    cost = self.cost(other, best + value - 1)
                    if cost - value < best:
                        crowd, best, better = other, cost - value, True
        return crowd, best

    def _likeliest(self, crowd: Integers, place: int, worth: Integers) -> list[int]:
        joined = joined_tracks(self.tracks, crowd, self.room)
        boxes, _ = boxes_without(joined, len(crowd), place, self.weights, self.room)
        added = [
            added_without_cuts(self.tracks, q, boxes, self.weights, self.room, IMPOSSIBLE)
            for q in range(self.n)
        ]
        likely = LIKELY * np.array(added) - worth
        likely[crowd] = np.inf
        return [int(q) for q in np.argsort(likely, kind="stable")[:TRIED]]


def bounds(search: Search, crowds: Sequence[Integers], k: int, steps: int) -> Iterator[int]:
    """The best bound so far, after each step, of the cost of any crowds of k; crowds: of k, to start from."""
    worth: Floats = np.zeros(search.n)
    around = [crowds[0]] * search.n
    total = sum(search.cost(crowd) for crowd in crowds)
    for crowd in crowds:
        samples = np.diff(search.tracks.offsets)[crowd]
        worth[crowd] = search.cost(crowd) * samples / samples.sum()
        for place, p in enumerate(crowd.tolist()):
            around[p] = np.roll(crowd, -place)
    best, pace = -IMPOSSIBLE, 1.0
    for _ in range(steps):
        whole = np.rint(worth).astype(np.int64)
        found = [search.cheapest_around(crowd, whole) for crowd in around]
        around = [crowd for crowd, _ in found]
        bound = int(whole.sum()) + sum(above for _, above in found) // k
        pace = pace if bound > best else pace * 0.7
        best = max(best, bound)
        yield best
        wanted = 1 - np.bincount(np.concatenate(around), minlength=search.n) / k
        worth = worth + pace * max(0, total - bound) * wanted / max(1e-9, float(wanted @ wanted))


def cut(original: Trajectories, crowds: Sequence[Integers], weights: Weights) -> list[EquivalenceClass]:
    return [
        EquivalenceClass(members=crowd, boxes=merge_by_weights(original, crowd, weights)[0])
        for crowd in crowds
    ]


def lines(original: Trajectories, k: int, steps: int) -> Iterator[str]:
    everybody = original.n_subjects
    if everybody % k:
        original = original.keep(np.arange(everybody - everybody % k))
    greedy = shoal.Glove(k=k).classes(original, Run())
    weights = weights_of(original, greedy, ramp=True)
    search = Search(original, weights, k)
    before = sum(search.cost(crowd.members) for crowd in greedy)
    start = [crowd.members for crowd in greedy]
    swapped = search_neighborhood(original, start, k, weights, 1000 * original.n_subjects)
    kept = np.sort(np.concatenate([crowd for crowd in swapped if len(crowd) == k]))
    at_first = extents_of_classes(original, greedy)
    after = extents_of_classes(original, cut(original, swapped, weights))
    cost = sum(search.cost(crowd) for crowd in swapped)
    yield (
        f"{original.n_subjects} people, k = {k}: trades among all of them lower the cost to "
        f"{cost / before:.4f} of greedy, extents to {geometric_ratio(after, at_first):.3f}"
    )
    grid, best = original.snapped_grid(), after
    for _ in range(CUTS):
        even = even_weights(original, best.mean_space_m / grid.cell_m, best.mean_time_s / grid.slot_s)
        best = extents_of_classes(original, cut(original, swapped, even))
    yield f"the same crowds, cut for the least mean extents: {geometric_ratio(best, at_first):.3f}"
    if not steps:
        return
    left = original.keep(kept)
    crowds = [np.searchsorted(kept, crowd) for crowd in swapped if len(crowd) == k]
    search = Search(left, weights, k)
    cost = sum(search.cost(crowd) for crowd in crowds)
    yield f"{len(kept)} of them are in crowds of exactly {k}, of which no others cost less than, of these:"
    for step, bound in enumerate(bounds(search, crowds, k, steps), start=1):
        if step % 10 == 0 or step == steps:
            yield f"after {step} steps {bound / cost:.4f}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=200)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--steps", type=int, default=40)
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    for line in lines(original, asked.k, asked.steps):
        print(line, flush=True)


if __name__ == "__main__":
    main()
