"""Groupings that need no greedy loop, and k-scale's, beside GLOVE: accuracy, time, and the tightest record.

python bench/measure_grouping.py [--input FILE | --subjects 2000 --days 14 --layout city] [--k 5] [--rounds 3]
    [--neighbors 10] [--victims 100] [--units GLOVE|halves]

k-scale is Mishra and Fiore, INFOCOM 2026, as far as its text says how; its program is not published.
Neighbors are looked for among all pairs here, where it has a ball tree, and each person has --neighbors times
k of them, where it has 100. Its records are not alike, so it is also shown with classes made of its neighbors
and costs, which promise what GLOVE's do. A refinement counts in units of the means of its start, or
of that which --units names.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import shoal
from shoal.kernels.covering import BoxColumns, Points, count_covered
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import halved, refined, weights_of
from shoal.methods.k_merge import merge_members
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.report.facts.omission import extents_of_classes
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run
from shoal.utility.accuracy import Extents


@dataclass(frozen=True, eq=False, kw_only=True)
class Near:
    """Neighbors of each person by k-scale's distance, and what both cost together. [people, neighbors]."""

    people: Integers
    costs: Integers


def distances(original: Trajectories) -> Floats:
    """[n, n] k-scale's: of squares around the centers of mass with sides of twice the radius of gyration.

    Of squares that overlap (1 - c) / (1 + c) with c = 2 |A and B| / |A or B|, else 1 and the Manhattan
    distance of the centers in cells.
    """
    starts, counts = original.offsets[:-1], original.lengths
    places = np.stack([original.x, original.y]).astype(np.float64)
    centers = np.add.reduceat(places, starts, axis=1) / counts
    off = ((places - np.repeat(centers, counts, axis=1)) ** 2).sum(axis=0)
    half = np.maximum(np.sqrt(np.add.reduceat(off, starts) / counts), 0.5)
    both = np.ones((len(half), len(half)))
    for center in centers:
        low = np.maximum.outer(center - half, center - half)
        both *= np.clip(np.minimum.outer(center + half, center + half) - low, 0, None)
    area = 4 * half**2
    c = 2 * both / (area[:, None] + area - both)
    apart = np.abs(centers[:, :, None] - centers[:, None, :]).sum(axis=0)
    return np.asarray(np.where(both > 0, (1 - c) / (1 + c), 1 + apart))


def near(original: Trajectories, count: int) -> Near:
    """The nearest by that distance, with k-merge costs."""
    apart = distances(original)
    np.fill_diagonal(apart, np.inf)
    people = np.argsort(apart, axis=1, kind="stable")[:, :count]
    known: dict[tuple[int, int], int] = {}
    for p, row in enumerate(people.tolist()):
        for q in row:
            pair = (min(p, q), max(p, q))
            if pair not in known:
                known[pair] = merge_members(original, np.array(pair))[1]
    costs = [[known[min(p, q), max(p, q)] for q in row] for p, row in enumerate(people.tolist())]
    return Near(people=people, costs=np.array(costs))


def k_scale_records(found: Near, k: int) -> list[Integers]:
    """Whose samples the record of each person holds: the own, and of everybody who was assigned to it.

    Everybody is assigned to the k - 1 others with whom a record costs least, and so is in k records. Whom
    nobody is assigned to shares a record with one neighbor.
    """
    own: list[list[int]] = [[p] for p in range(len(found.people))]
    for q, order in enumerate(np.argsort(found.costs, axis=1, kind="stable")[:, : k - 1].tolist()):
        for place in order:
            own[int(found.people[q, place])].append(q)
    for p, members in enumerate(own):
        if len(members) == 1:
            members.append(int(found.people[p, np.argmin(found.costs[p])]))
    return [np.sort(members) for members in own]


def classes_of_neighbors(found: Near, k: int) -> list[Integers]:
    """Classes of k: who is hardest to hide chooses first among the neighbors that are left.

    Whoever finds too few of them goes to the class of the neighbor with the least cost that has one, or, in
    the order of people, to a class of those that are left over.
    """
    n, order = len(found.people), np.argsort(found.costs, axis=1, kind="stable")
    hardest = np.argsort(-np.sort(found.costs, axis=1)[:, k - 2], kind="stable")
    class_of = np.full(n, -1)
    count = 0
    for p in hardest.tolist():
        free = [q for q in found.people[p, order[p]].tolist() if class_of[q] < 0][: k - 1]
        if class_of[p] < 0 and len(free) == k - 1:
            class_of[[p, *free]] = count
            count += 1
    for p in np.flatnonzero(class_of < 0).tolist():
        settled = [q for q in found.people[p, order[p]].tolist() if class_of[q] >= 0]
        class_of[p] = class_of[settled[0]] if settled else count - 1
    return [np.flatnonzero(class_of == one) for one in range(count)]


def published(original: Trajectories, members: Sequence[Integers]) -> list[EquivalenceClass]:
    """Each with k-merge's boxes."""
    return [EquivalenceClass(members=own, boxes=merge_members(original, own)[0]) for own in members]


def tightest(original: Trajectories, records: Sequence[EquivalenceClass], victims: int) -> float:
    """How often the smallest record that holds all of a victim's samples is the own; record p is person p's.

    Smallest by dx + dy times duration on average over the victim's samples, then by its place.
    """
    right = 0
    chosen = np.random.default_rng(1).permutation(original.n_subjects)[:victims].tolist()
    for victim in chosen:
        t, x, y = original.samples_of(victim)
        sizes = []
        for record in records:
            own = record.boxes
            inside = own.t_start[0] <= t[0] and t[-1] < own.t_end[-1]
            if inside and count_covered(Points(t, x, y), BoxColumns(*own.columns())) == len(t):
                sizes.append(size_over(own, t))
            else:
                sizes.append(np.inf)
        right += int(np.argmin(sizes)) == victim
    return right / len(chosen)


def size_over(boxes: Boxes, t: Integers) -> float:
    """dx + dy times duration of the box of each of these times, on average; boxes are disjoint in time."""
    own = boxes.take(np.searchsorted(boxes.t_end, t, side="right"))
    sides = own.x_max - own.x_min + own.y_max - own.y_min
    return float(np.mean(sides * (own.t_end - own.t_start)))


def row(name: str, k: int, raw: Extents, best: Extents | None, cpu_s: float, named: float) -> str:
    """A line of the table. best: GLOVE's, refined, to which the ratio is."""
    ratio = 1.0
    if best is not None:
        ratio = (raw.mean_space_m / best.mean_space_m * raw.mean_time_s / best.mean_time_s) ** 0.5
    cells = [
        str(k),
        name,
        f"{raw.mean_space_m / 1000:.2f} km",
        f"{raw.mean_time_s / 60:.0f} min",
        f"{raw.median_space_m / 1000:.1f} km",
        f"{raw.median_time_s / 60:.0f} min",
        f"{ratio:.2f}",
        f"{100 * named:.1f} %",
        f"{cpu_s:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def lines(
    original: Trajectories,
    k: int,
    rounds: Sequence[int],
    neighbors: int,
    victims: int,
    units: str | None = None,
) -> Iterator[str]:
    """A Markdown table: each grouping as it is, and refined in its own units, or in those of a start."""
    run, clock = Run(threads=1), time.process_time
    yield f"{original.n_subjects} people, {original.n_samples} samples, k = {k}\n"
    yield (
        "| k | crowds | mean dx + dy | mean duration | medians | | to GLOVE refined | tightest record | "
        "CPU |\n|---|---|---|---|---|---|---|---|---|"
    )
    began = clock()
    found = near(original, min(neighbors * k, original.n_subjects - 1))
    looked = clock() - began
    starts: Mapping[str, Callable[[], list[EquivalenceClass]]] = {
        "GLOVE": partial(shoal.Glove(k=k).classes, original, run),
        "k-scale's neighbors, in classes": lambda: published(original, classes_of_neighbors(found, k)),
        "halves": partial(halved, original, k, run),
    }
    weights = None if units is None else weights_of(original, starts[units](), ramp=True)
    best: Extents | None = None
    for name, make in starts.items():
        began = clock()
        classes = make()
        spent = clock() - began + (looked if "k-scale" in name else 0)
        shown = [(name, classes, spent)]
        for turns in rounds:
            began = clock()
            better = refined(original, classes, k, turns, run, weights=weights)
            shown.append((f"{name}, {turns} rounds", better, spent + clock() - began))
            best = extents_of_classes(original, better) if best is None else best
        for words, made, cpu_s in shown:
            chance = len(made) / original.n_subjects
            yield row(words, k, extents_of_classes(original, made), best, cpu_s, chance)
    began = clock()
    records = published(original, k_scale_records(found, k))
    spent = looked + clock() - began
    alone = [EquivalenceClass(members=np.array([p]), boxes=each.boxes) for p, each in enumerate(records)]
    named = tightest(original, records, victims)
    yield row("k-scale as published", k, extents_of_classes(original, alone), best, spent, named)


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
    options.add_argument("--neighbors", type=int, default=10, help="of each person, times k")
    options.add_argument("--victims", type=int, default=100)
    options.add_argument("--units", choices=("GLOVE", "halves"), help="of every refinement; else the own")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    for line in lines(original, asked.k, asked.rounds, asked.neighbors, asked.victims, asked.units):
        print(line, flush=True)


if __name__ == "__main__":
    main()
