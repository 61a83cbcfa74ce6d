"""Groupings that need no greedy loop, and k-scale's, beside GLOVE: accuracy, time, and the tightest record.

python lab/measure_grouping.py [--input FILE | --subjects 2000 --days 14 --layout city] [--k 5] [--rounds 3]
    [--crowds GLOVE neighbors halves k-scale] [--blocks 20000] [--neighbors 100] [--victims 100]
    [--units GLOVE|halves]

k-scale is as ``k_scale.py`` reads it. Its records are not alike, so it is also shown with classes made of its
neighbors and costs, which promise what GLOVE's do. One thread does all the work. GLOVE works on at most
--blocks people at once. A refinement counts in units of the means of its start, or of that which --units
names.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

import shoal
from k_scale import Near, classes_of_neighbors, costs_beside, nearest, records_of, squares_of
from shoal.attacks.rate import wilson
from shoal.kernels.box_measures import BoxColumns, Points, count_covered
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import halve_people, refine_classes, weights_of
from shoal.methods.k_merge import merge_members
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.report.facts.omission import extents_of_classes
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.scale.blocks import split_into_blocks
from shoal.utility.accuracy import Extents

CROWDS: Final = ("GLOVE", "neighbors", "halves", "k-scale")
CLASSES_AT_ONCE: Final = 5000


def published(original: Trajectories, members: Sequence[Integers]) -> list[EquivalenceClass]:
    """Each with k-merge's boxes."""
    return [EquivalenceClass(members=own, boxes=merge_members(original, own)[0]) for own in members]


def tightest(original: Trajectories, records: Sequence[EquivalenceClass], victims: int) -> float:
    """How often the smallest record that holds all of a victim's samples is the own, or one of equal ones.

    Smallest by dx + dy times duration on average over the victim's samples, then by its place. Of a class
    that shares one record, each of these is the own with the same chance.
    """
    hulls = np.array([hull_of(record.boxes) for record in records])
    right = 0.0
    chosen = np.random.default_rng(1).permutation(original.n_subjects)[:victims].tolist()
    for victim in chosen:
        t, x, y = original.samples_of(victim)
        low = np.array([t[0], x.min(), y.min()])
        high = np.array([t[-1], x.max(), y.max()])
        around = (hulls[:, :3] <= low).all(axis=1) & (high < hulls[:, 3:]).all(axis=1)
        least, smallest = np.inf, None
        for place in np.flatnonzero(around).tolist():
            record = records[place]
            if count_covered(Points(t, x, y), BoxColumns(*record.boxes.columns())) == len(t):
                size = size_over(record.boxes, t)
                if size < least:
                    least, smallest = size, record
        if smallest is not None and victim in smallest.members:
            right += 1 / len(smallest.members)
    return right / len(chosen)


def hull_of(boxes: Boxes) -> list[int]:
    """Where these boxes begin and where they end, in time and place."""
    low = (boxes.t_start, boxes.x_min, boxes.y_min)
    high = (boxes.t_end, boxes.x_max, boxes.y_max)
    return [*(int(side.min()) for side in low), *(int(side.max()) for side in high)]


def size_over(boxes: Boxes, t: Integers) -> float:
    """dx + dy times duration of the box of each of these times, on average; boxes are disjoint in time."""
    own = boxes.take(np.searchsorted(boxes.t_end, t, side="right"))
    sides = own.x_max - own.x_min + own.y_max - own.y_min
    return float(np.mean(sides * (own.t_end - own.t_start)))


def in_blocks(original: Trajectories, k: int, size: int, run: Run) -> list[EquivalenceClass]:
    """GLOVE's classes of so many people at once, parted as ``shoal anonymize --blocks`` parts them."""
    method, grid = shoal.Glove(k=k), original.snapped_grid()
    if original.n_subjects <= size:
        return method.classes(original, run)
    cells = method.space_cap_m / grid.cell_m
    caps = (method.time_cap_s / grid.slot_s, cells, cells)
    middles = np.array([[np.median(column) for column in own] for own in original], dtype=np.int64)
    found = []
    for people in split_into_blocks(middles, caps, size, k):
        own = method.classes(original.keep(people), run)
        found += [EquivalenceClass(members=people[each.members], boxes=each.boxes) for each in own]
    return found


def extents_of(original: Trajectories, classes: Sequence[EquivalenceClass]) -> Extents:
    """The extents of the box that holds each raw sample, some classes after the others."""
    parts = [
        extents_of_classes(original, classes[first : first + CLASSES_AT_ONCE])
        for first in range(0, len(classes), CLASSES_AT_ONCE)
    ]
    return Extents.counted(
        np.concatenate([part.space_cells for part in parts]),
        np.concatenate([part.time_slots for part in parts]),
        np.concatenate([part.count for part in parts]),
        original.snapped_grid(),
    )


def row(
    name: str,
    k: int,
    original: Trajectories,
    classes: Sequence[EquivalenceClass],
    best: Extents | None,
    cpu_s: float,
    victims: int,
) -> str:
    """A line of the table. best: GLOVE's, refined, to which the ratio is."""
    raw = extents_of(original, classes)
    ratio = ""
    if best is not None:
        of_means = raw.mean_space_m / best.mean_space_m * raw.mean_time_s / best.mean_time_s
        ratio = f"{of_means**0.5:.2f}"
    named = tightest(original, classes, victims)
    told = f"{100 * named:.1f} %"
    if len(classes) == original.n_subjects:  # else a victim is named in part, and nothing is won or lost
        low, high = wilson(named * victims, victims)
        told += f" ({100 * low:.0f} to {100 * high:.0f})"
    cells = [
        str(k),
        name,
        f"{raw.mean_space_m / 1000:.2f} km",
        f"{raw.mean_time_s / 60:.0f} min",
        f"{raw.median_space_m / 1000:.1f} km",
        f"{raw.median_time_s / 60:.0f} min",
        f"{100 * raw.share_position_kept:.1f} %",
        f"{100 * raw.share_within(space_m=2000):.1f} %",
        f"{100 * raw.share_within(time_s=7200):.1f} %",
        ratio,
        told,
        f"{cpu_s:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def lines(
    original: Trajectories,
    k: int,
    rounds: Sequence[int],
    neighbors: int,
    victims: int,
    crowds: Sequence[str] = CROWDS,
    blocks: int = 20_000,
    units: str | None = None,
) -> Iterator[str]:
    """A Markdown table: each grouping as it is, and refined in its own units, or in those of a start."""
    run, clock = Run(threads=1), time.process_time
    yield f"{original.n_subjects} people, {original.n_samples} samples, k = {k}\n"
    yield (
        "| k | crowds | mean dx + dy | mean duration | medians | | position kept | within 2 km | within 2 h "
        "| to GLOVE refined | tightest record | CPU |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    best: Extents | None = None
    found = Near(people=np.empty((0, 0), dtype=np.int64), costs=np.empty((0, 0), dtype=np.int64))
    seen = looked = 0.0
    if {"neighbors", "k-scale"} & set(crowds):
        began = clock()
        people = nearest(squares_of(original), min(neighbors * k, original.n_subjects - 1), run)
        seen = clock() - began
        found = Near(people=people, costs=costs_beside(original, people, run))
        looked = clock() - began
    starts: Mapping[str, Callable[[], list[EquivalenceClass]]] = {
        "GLOVE": partial(in_blocks, original, k, blocks, run),
        "neighbors": lambda: published(original, classes_of_neighbors(found, k)),
        "halves": partial(halve_people, original, k, run),
    }
    weights = None if units is None else weights_of(original, starts[units](), ramp=True)
    for name, make in starts.items():
        if name not in crowds:
            continue
        words = "k-scale's neighbors, in classes" if name == "neighbors" else name
        began = clock()
        classes = make()
        spent = clock() - began + (looked if name == "neighbors" else 0)
        yield row(words, k, original, classes, best, spent, victims)
        for turns in rounds:
            began = clock()
            better = refine_classes(original, classes, k, turns, run, weights=weights)
            more = clock() - began
            best = extents_of(original, better) if best is None else best
            yield row(f"{words}, {turns} rounds", k, original, better, best, spent + more, victims)
    if "k-scale" in crowds:
        began = clock()
        records = published(original, records_of(found, k))
        spent = looked + clock() - began
        alone = [EquivalenceClass(members=np.array([p]), boxes=each.boxes) for p, each in enumerate(records)]
        yield row("k-scale as published", k, original, alone, best, spent, victims)
        yield f"\nof k-scale's time: {seen:.1f} s for neighbors, {looked - seen:.1f} s for costs"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=2000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", default="city")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--rounds", type=int, nargs="*", default=[3])
    options.add_argument("--crowds", nargs="+", choices=CROWDS, default=CROWDS)
    options.add_argument("--blocks", type=int, default=20_000, help="of how many people GLOVE works")
    options.add_argument("--neighbors", type=int, default=100, help="of each person, times k")
    options.add_argument("--victims", type=int, default=100)
    options.add_argument("--units", choices=("GLOVE", "halves"), help="of every refinement; else the own")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    given = (asked.k, asked.rounds, asked.neighbors, asked.victims, asked.crowds, asked.blocks, asked.units)
    for _ in lines(shoal.read(shoal.synthesize(60, 2, 1, layout="nation")), *given):
        pass  # so that nothing is compiled below
    for line in lines(original, *given):
        print(line, flush=True)


if __name__ == "__main__":
    main()
