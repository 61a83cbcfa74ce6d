"""Certify GLOVE's merges at k = 2 where no matrix fits: no pair is closer than both people's matches.

    python lab/certify_glove.py [--subjects 20000] [--days 14] [--layout nation]

Looks at every pair by other means than those that found the merges: no bands, no lists, no blocks, no
workspace and no bound in time. A pair is dismissed when its places alone cost more than both people's
matches; any other is evaluated sample by sample.
"""

import argparse
import sys
import time
from typing import Any

import numpy as np

import shoal
from shoal.kernels.near_pairs import least_costs, pair_sum
from shoal.kernels.people import Places
from shoal.kernels.stretch import Raw, Scale
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled
from shoal.runtime.run import Run


@compiled
def effort_of(raw: Raw, i: int, j: int, limit: float, room: Integers, scale: Scale) -> float:
    """Eq. 10 of two people; above ``limit`` it may be any effort above it."""
    m_i, m_j = raw.offsets[i + 1] - raw.offsets[i], raw.offsets[j + 1] - raw.offsets[j]
    a, b, m = (i, j, m_i) if m_i >= m_j else (j, i, m_j)
    return float(pair_sum(raw, a, b, limit * m * (1 + 1e-12), room, scale) / m)


@compiled
def count_closer(
    raw: Raw,
    places: Places,
    order: Integers,
    first: int,
    step: int,
    match: Floats,
    most_places: int,
    scale: Scale,
) -> tuple[Any, Any]:
    """Pairs closer than both matches, and pairs evaluated, of every step-th rank and those after it."""
    least = np.empty(len(places.costs), dtype=places.costs.dtype)
    room = np.empty(most_places, dtype=np.int64)
    closer = evaluated = 0
    for rank in range(first, len(order), step):
        b = order[rank]
        least_costs(places, b, least)
        for a in order[rank + 1 :]:
            limit = min(match[a], match[b])
            whole = limit * (raw.offsets[a + 1] - raw.offsets[a])
            total = np.int64(0)
            for own in range(places.offsets[a], places.offsets[a + 1]):
                total += np.int64(places.weights[own]) * np.int64(least[places.distinct[own]])
                if total > whole:
                    break
            if total <= whole:
                evaluated += 1
                closer += effort_of(raw, a, b, limit, room, scale) < limit
    return closer, evaluated


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    asked = options.parse_args()

    original = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    run, near = Run(), NearPairs(original, Caps(), Run())
    raw, places = near.people.raw, near.people.places
    most_places = int(np.diff(raw.place_offsets).max())
    pairs, match = BandedPairs(original, Caps(), run), np.full(original.n_subjects, np.inf)
    began = time.perf_counter()
    while (pair := pairs.closest()) is not None:
        pairs.retire(*pair)
        match[list(pair)] = effort_of(raw, *pair, np.inf, np.empty(most_places, dtype=np.int64), near.scale)
    print(f"{original.n_subjects} people matched in {time.perf_counter() - began:.1f} s", flush=True)

    began, order = time.perf_counter(), np.argsort(original.lengths, kind="stable")

    def part(first: int) -> tuple[int, int]:
        return count_closer(raw, places, order, first, 100, match, most_places, near.scale)

    counts = []
    for done, counted in enumerate(run.map(part, range(100)), start=1):
        counts.append(counted)
        if done % 10 == 0:
            print(f"  {done} % looked at, {time.perf_counter() - began:.0f} s", flush=True)
    closer, evaluated = np.sum(counts, axis=0)
    possible = original.n_subjects * (original.n_subjects - 1) // 2
    print(
        f"of {possible} pairs {evaluated} were evaluated; {closer} are closer than both matches, in "
        f"{time.perf_counter() - began:.1f} s"
    )
    sys.exit(int(closer > 0))


if __name__ == "__main__":
    main()
