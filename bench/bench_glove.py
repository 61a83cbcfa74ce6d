"""How long GLOVE takes, how many pairs it looks at, and what its kernel is worth against the literal equation.

    python bench/bench_glove.py [--subjects 5000] [--days 14] [--layout nation] [--k 2 5]

Prints seconds by the clock, CPU seconds of all threads and peak memory; the ratios are taken in one process, one after the other, on the
same pairs of people who have 250 samples each, 25 more or fewer.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import shoal
from shoal.compiled import compiled
from shoal.kernels.near_pairs import Field, People, choose_columns, field_of, field_sum, least_costs
from shoal.kernels.stretch import Floats, Integers, Scale
from shoal.methods.banded_pairs import BandedPairs
from shoal.near_pairs import NearPairs
from shoal.randomness import Randomness
from shoal.run import Run
from shoal.stretch import Caps
from shoal.trajectories import Trajectories


@compiled
def literal_efforts(offsets: Integers, t: Integers, x: Integers, y: Integers, scale: Scale, efforts: Floats) -> None:
    """Eq. 10 as it stands: every sample of the longer against every sample of the shorter."""
    for i in range(len(offsets) - 1):
        for j in range(i + 1, len(offsets) - 1):
            p, q = (i, j) if offsets[i + 1] - offsets[i] >= offsets[j + 1] - offsets[j] else (j, i)
            total = 0 * scale.half
            for a in range(offsets[p], offsets[p + 1]):
                best = 2 * scale.half
                for b in range(offsets[q], offsets[q + 1]):
                    space = min(scale.per_cell * (abs(x[a] - x[b]) + abs(y[a] - y[b])), scale.half)
                    best = min(best, space + min(scale.per_slot * abs(t[a] - t[b]), scale.half))
                total += best
            efforts[i, j] = total / (offsets[p + 1] - offsets[p])


def numpy_efforts(original: Trajectories, scale: Scale, pairs: int) -> None:
    """The same with one NumPy matrix per pair, as a notebook would do it."""
    done = 0
    for i in range(original.n_subjects):
        for j in range(i + 1, original.n_subjects):
            (t_a, x_a, y_a), (t_b, x_b, y_b) = original.samples_of(i), original.samples_of(j)
            space = np.abs(x_a[:, None] - x_b) + np.abs(y_a[:, None] - y_b)
            cost = np.minimum(space * scale.per_cell, scale.half) + np.minimum(np.abs(t_a[:, None] - t_b) * scale.per_slot, scale.half)
            cost.min(axis=1).sum()
            done += 1
            if done == pairs:
                return


@compiled
def every_sum(people: People, order: Integers, room: Field, scale: Scale) -> Any:
    """Eq. 10 before division of all pairs by the field, none ended early or left out by a bound; returns their total."""
    places, total = people.places, np.int64(0)
    least = np.empty(len(places.costs), dtype=places.costs.dtype)
    nothing = np.zeros(people.hours.n_bins, dtype=places.costs.dtype)
    for i in range(len(order)):
        least_costs(places, order[i], least)
        for first in range(i + 1, len(order), 256):
            others = order[first : first + 256]
            choose_columns(places, others, least, room)
            field_of(people, order[i], least, room, scale)
            for a in others:
                lowest = np.int64(0)
                for own in range(places.offsets[a], places.offsets[a + 1]):
                    lowest += np.int64(places.weights[own]) * np.int64(least[places.own[own]])
                total += field_sum(people, a, room, nothing, lowest, 1 << 60, scale)
    return total


def all_pairs(original: Trajectories) -> Callable[[], object]:
    """Work that finds every effort by the field."""
    near = NearPairs(original, Caps(), Run(threads=1))
    order = np.argsort(original.lengths, kind="stable")
    room = near.room(order)
    return lambda: every_sum(near.people, order, room, near.scale)


def match_all(pairs: BandedPairs) -> None:
    while (pair := pairs.closest()) is not None:
        pairs.retire(*pair)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--subjects", type=int, default=5000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="nation")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    asked = options.parse_args()

    original = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    scale = Caps().scale_on(original.snapped_grid())
    print(f"{original.n_subjects} people, {original.n_samples} samples, {asked.layout}, {Run().threads} threads")

    few = original.keep(np.flatnonzero(np.abs(original.lengths - 250) <= 25)[:600])
    everybody, n_pairs = np.arange(few.n_subjects), few.n_subjects * (few.n_subjects - 1) // 2
    print(f"{few.n_subjects} of them have {few.n_samples / few.n_subjects:.0f} samples each, 25 more or fewer")
    out = np.zeros((few.n_subjects, few.n_subjects))
    tiny = few.keep(np.arange(12))
    print(f"compile: {seconds_of(all_pairs(tiny)):.2f} s (0.1 s or less when cached)")
    literal_efforts(tiny.offsets, tiny.t, tiny.x, tiny.y, scale, out)
    some = few.keep(everybody[:60])
    literal = 1770 / seconds_of(lambda: literal_efforts(some.offsets, some.t, some.x, some.y, scale, out))
    in_full = n_pairs / seconds_of(all_pairs(few))
    in_numpy = 200 / seconds_of(lambda: numpy_efforts(few, scale, 200))
    print(f"pairs a CPU second, evaluated in full: NumPy {in_numpy:,.0f}; literal kernel {literal:,.0f}; field {in_full:,.0f}")
    print(f"ratio: {in_full / literal:.1f} x the literal kernel, {in_full / in_numpy:.1f} x NumPy")

    pairs = BandedPairs(original, Caps(), Run())
    wall = time.perf_counter()
    searched = seconds_of(lambda: match_all(pairs))
    print(f"closest pairs at k = 2, no merging: {time.perf_counter() - wall:.1f} s, {searched:.1f} CPU s", flush=True)
    possible = original.n_subjects * (original.n_subjects - 1) / 2
    print(f"share of pairs begun {pairs.tally[0] / possible:.3%}, evaluated to the end {pairs.tally[1] / possible:.3%} (repeats counted)")
    for k in asked.k:
        began, wall = time.process_time(), time.perf_counter()
        crowds = shoal.Glove(k=k).crowds(original, Run())
        taken = f"{time.perf_counter() - wall:.1f} s, {time.process_time() - began:.1f} CPU s"
        print(f"from trajectories to {len(crowds)} finished crowds at k = {k}: {taken}", flush=True)
    release, linkage = shoal.Glove(k=asked.k[0]).anonymize(original, Randomness.from_system())
    print(f"verifying: {seconds_of(lambda: shoal.verify(original, release, linkage)):.1f} CPU s (compile included)")
    unit = 1 if sys.platform == "darwin" else 1024
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
