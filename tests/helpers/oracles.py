"""Slow, obvious versions of what the paper says, sharing only the data model with the product.

All arithmetic is exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from shoal.model.trajectories import Trajectories

SPACE_CAP_CELLS = 200  # 20 km in cells of 100 m
TIME_CAP_SLOTS = 480  # 8 h in slots of one minute

Sample = tuple[int, int, int]  # t, x, y
Box = tuple[
    int, int, int, int, int, int
]  # t_start, t_end, x_min, y_min, x_max, y_max: also the canonical order of boxes


@dataclass(frozen=True)
class Group:
    members: tuple[int, ...]
    boxes: tuple[Box, ...]


def singles(original: Trajectories) -> list[Group]:
    return [
        Group(
            (i,),
            tuple(
                sorted(
                    (int(t), int(t) + 1, int(x), int(y), int(x) + 1, int(y) + 1)
                    for t, x, y in zip(*rows, strict=True)
                )
            ),
        )
        for i, rows in enumerate(original)
    ]


def paper_axis_stretch(a: int, d_a: int, n_a: int, b: int, d_b: int, n_b: int) -> Fraction:
    """Left and right stretches as Eq. 4-9 write them, one axis."""

    def left(p: int, q: int) -> int:
        return p - min(p, q)

    def right(p: int, d_p: int, q: int, d_q: int) -> int:
        return max(p + d_p, q + d_q) - p - d_p

    of_a = left(a, b) + right(a, d_a, b, d_b)
    of_b = left(b, a) + right(b, d_b, a, d_a)
    return of_a * Fraction(n_a, n_a + n_b) + of_b * Fraction(n_b, n_a + n_b)


def sample_stretch(a: Box, n_a: int, b: Box, n_b: int) -> tuple[Fraction, Fraction]:
    """Spatial and temporal part of the sample stretch effort, Eq. 1-3."""
    space = paper_axis_stretch(a[2], a[4] - a[2], n_a, b[2], b[4] - b[2], n_b) + paper_axis_stretch(
        a[3], a[5] - a[3], n_a, b[3], b[5] - b[3], n_b
    )
    time = paper_axis_stretch(a[0], a[1] - a[0], n_a, b[0], b[1] - b[0], n_b)
    return min(space / SPACE_CAP_CELLS, Fraction(1)) / 2, min(time / TIME_CAP_SLOTS, Fraction(1)) / 2


def stretch(a: Box, n_a: int, b: Box, n_b: int) -> Fraction:
    """The sample stretch effort, Eq. 1."""
    space, time = sample_stretch(a, n_a, b, n_b)
    return space + time


def directed_effort(a: Group, b: Group) -> Fraction:
    """Mean over a's samples of the least stretch to any of b's."""
    least = [min(stretch(p, len(a.members), q, len(b.members)) for q in b.boxes) for p in a.boxes]
    return sum(least, start=Fraction(0)) / len(a.boxes)


def effort(a: Group, b: Group) -> Fraction:
    """Fingerprint stretch effort, Eq. 10; with equal lengths the larger direction."""
    if len(a.boxes) != len(b.boxes):
        return directed_effort(a, b) if len(a.boxes) > len(b.boxes) else directed_effort(b, a)
    return max(directed_effort(a, b), directed_effort(b, a))


def hull(boxes: list[Box]) -> Box:
    low = [min(box[i] for box in boxes) for i in (0, 2, 3)]
    high = [max(box[i] for box in boxes) for i in (1, 4, 5)]
    return (low[0], high[0], low[1], low[2], high[1], high[2])


def nearest(p: Box, n_p: int, among: list[Box], n_among: int) -> int:
    """Position of the least-stretch box, the first of equals in canonical order (``among`` is sorted)."""
    costs = [stretch(p, n_p, q, n_among) for q in among]
    return costs.index(min(costs))


def near(p: Box, q: Box, most: tuple[float, float] | None) -> bool:
    """Whether dx + dy of the hull of two boxes, and its length, are at most so many cells and slots."""
    around = hull([p, q])
    wide = around[4] - around[2] + around[5] - around[3]
    return most is None or (wide <= most[0] and around[1] - around[0] <= most[1])


def merge(a: Group, b: Group, most: tuple[float, float] | None = None) -> Group:
    """The two-stage merge of Sec. 6.2; a stands before b in canonical order.

    most: cells and slots beyond which a box and its partner are not merged, and the box is left out.
    """
    longer, shorter = a, b
    if len(b.boxes) > len(a.boxes) or (
        len(a.boxes) == len(b.boxes) and directed_effort(b, a) > directed_effort(a, b)
    ):
        longer, shorter = b, a
    n_long, n_short = len(longer.members), len(shorter.members)
    chosen_by: dict[int, list[Box]] = {}
    for p in longer.boxes:
        j = nearest(p, n_long, list(shorter.boxes), n_short)
        if near(p, shorter.boxes[j], most):
            chosen_by.setdefault(j, []).append(p)
    results = sorted(hull([shorter.boxes[j], *group]) for j, group in chosen_by.items())
    joined: list[list[Box]] = [[result] for result in results]
    for j, q in enumerate(shorter.boxes):
        if j not in chosen_by and results:
            place = nearest(q, n_short, results, n_long + n_short)
            if near(q, results[place], most):
                joined[place].append(q)
    return Group(tuple(sorted(a.members + b.members)), tuple(sorted(hull(group) for group in joined)))


def unite_overlaps(boxes: tuple[Box, ...]) -> tuple[Box, ...]:
    """Replace any two boxes that overlap in time by their hull until none do."""
    current = list(boxes)
    while True:
        for i in range(len(current)):
            for j in range(i + 1, len(current)):
                if current[i][0] < current[j][1] and current[j][0] < current[i][1]:
                    both = hull([current[i], current[j]])
                    current = [box for place, box in enumerate(current) if place not in (i, j)] + [both]
                    break
            else:
                continue
            break
        else:
            return tuple(sorted(current))


def glove(
    original: Trajectories,
    k: int,
    *,
    reshape_each: bool = False,
    most: tuple[float, float] | None = None,
) -> tuple[list[tuple[int, int]], list[Group]]:
    """The greedy loop of Alg. 1 with the leftover merged.

    The sequence of merges, and the finished groups, reshaped. Groups that lose all boxes are left out.
    """
    alive = {group.members[0]: group for group in singles(original)}
    efforts = {(a, b): effort(alive[a], alive[b]) for a in alive for b in alive if a < b}
    sequence: list[tuple[int, int]] = []
    finished: list[Group] = []

    def join(a: Group, b: Group) -> Group:
        merged = merge(a, b, most)
        return Group(merged.members, unite_overlaps(merged.boxes)) if reshape_each else merged

    while len(alive) > 1:
        a, b = min(
            (pair for pair in efforts if pair[0] in alive and pair[1] in alive),
            key=lambda pair: (efforts[pair], pair),
        )
        sequence.append((a, b))
        merged = join(alive.pop(a), alive.pop(b))
        efforts = {pair: value for pair, value in efforts.items() if not {a, b} & set(pair)}
        if not merged.boxes:
            continue
        if len(merged.members) >= k:
            finished.append(merged)
        else:
            for c, group in alive.items():
                efforts[min(a, c), max(a, c)] = effort(merged, group)
            alive[a] = merged
    for leftover in alive.values() if finished else ():
        best = min(finished, key=lambda group: (effort(leftover, group), group.members[0]))
        first, second = sorted((leftover, best), key=lambda group: group.members[0])
        grown = join(first, second)
        if grown.boxes:
            finished[finished.index(best)] = grown
    return sequence, [Group(group.members, unite_overlaps(group.boxes)) for group in finished]


def tail_weight_index(values: list[float]) -> float:
    """((Q99 - Q50) / (Q75 - Q50)) / ((z99 - z50) / (z75 - z50)), by linear interpolation."""

    def quantile(q: float) -> float:
        ordered = sorted(values)
        place = q * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    return ((quantile(0.99) - quantile(0.5)) / (quantile(0.75) - quantile(0.5))) / (
        2.3263478740408408 / 0.6744897501960817
    )


def brute_force_cost(trajectories: list[list[Sample]]) -> int:
    """The least cost over every way to cut the different times into runs with a sample of each trajectory."""
    tagged = sorted((*sample, owner) for owner, samples in enumerate(trajectories) for sample in set(samples))
    times = sorted({sample[0] for sample in tagged})
    best: int | None = None
    for choice in range(2 ** (len(times) - 1)):
        cuts = [0, *(i + 1 for i in range(len(times) - 1) if choice >> i & 1), len(times)]
        total = 0
        for low, high in pairwise(cuts):
            run = [sample for sample in tagged if times[low] <= sample[0] <= times[high - 1]]
            if len({sample[3] for sample in run}) < len(trajectories):
                break
            t, x, y, _ = zip(*run, strict=True)
            total += (max(t) - min(t) + 1) * (max(x) - min(x) + 1 + max(y) - min(y) + 1)
        else:
            best = total if best is None else min(best, total)
    assert best is not None
    return best
