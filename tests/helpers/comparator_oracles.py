"""Slow, obvious counterparts of the comparators' kernels and of their verifier's search for company."""

import itertools
import math
from collections.abc import Sequence

Sample = tuple[float, float, float]


def matches(a: Sample, b: Sample, match_m: float, match_s: float) -> bool:
    return abs(a[0] - b[0]) <= match_s and abs(a[1] - b[1]) <= match_m and abs(a[2] - b[2]) <= match_m


def edits(a: Sequence[Sample], b: Sequence[Sample], match_m: float, match_s: float) -> int:
    """EDR by its definition (Chen, Oezsu and Oria 2005)."""
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        replaced = table[i - 1][j - 1] + (not matches(a[i - 1], b[j - 1], match_m, match_s))
        table[i][j] = min(replaced, table[i - 1][j] + 1, table[i][j - 1] + 1)
    return table[-1][-1]


def best_alignment(
    a: Sequence[Sample], b: Sequence[Sample], match_m: float, match_s: float, speed: float
) -> tuple[int, float]:
    """(fewest edits, least movement with so few) over all ways to pair some of a with some of b in order."""
    ways = []
    for size in range(min(len(a), len(b)) + 1):
        for left in itertools.combinations(a, size):
            for right in itertools.combinations(b, size):
                replaced = sum(not matches(p, q, match_m, match_s) for p, q in zip(left, right, strict=True))
                moved = sum(
                    math.hypot(p[1] - q[1], p[2] - q[2]) + speed * abs(p[0] - q[0])
                    for p, q in zip(left, right, strict=True)
                )
                ways.append((len(a) + len(b) - 2 * size + replaced, moved))
    return min(ways)


def alignment(
    a: Sequence[Sample], b: Sequence[Sample], match_m: float, match_s: float, speed: float
) -> list[int]:
    """Which sample of a becomes each of b, -1 = one is created: the whole table of (edits, movement)."""
    table: list[list[tuple[int, float, str]]] = [[(j, 0.0, "create") for j in range(len(b) + 1)]]
    for i, p in enumerate(a, start=1):
        table.append([(i, 0.0, "delete")])
        for j, q in enumerate(b, start=1):
            replaced, deleted, created = table[i - 1][j - 1], table[i - 1][j], table[i][j - 1]
            moved = math.hypot(p[1] - q[1], p[2] - q[2]) + speed * abs(p[0] - q[0])
            ways = [(replaced[0] + (not matches(p, q, match_m, match_s)), replaced[1] + moved, "replace")]
            ways += [(deleted[0] + 1, deleted[1], "delete"), (created[0] + 1, created[1], "create")]
            table[i].append(min(ways, key=lambda way: way[:2]))
    source, i, j = [-1] * len(b), len(a), len(b)
    while i or j:
        step = table[i][j][2]
        if step == "replace":
            source[j - 1] = i - 1
        i, j = i - (step != "create"), j - (step != "delete")
    return source


def clusters_within(distances: Sequence[Sequence[float]], k: int, radius: float) -> list[int]:
    """The greedy clusters around pivots, as the kernel's docstring tells it."""
    n = len(distances)
    pivot_of = [-1] * n
    failed: set[int] = set()
    pivots: list[int] = []
    before = min(range(n), key=lambda i: sum(distances[i]))
    while (
        (free := [i for i in range(n) if pivot_of[i] < 0])
        and len(free) >= k
        and (able := [i for i in free if i not in failed])
    ):
        pivot = max(able, key=lambda i: (distances[before][i], -i))
        before = pivot
        near = sorted((i for i in free if i != pivot), key=lambda i: (distances[pivot][i], i))[: k - 1]
        if distances[pivot][near[-1]] > radius:
            failed.add(pivot)
        else:
            pivots.append(pivot)
            for i in (pivot, *near):
                pivot_of[i] = pivot
    for i in range(n):
        if pivot_of[i] < 0:
            close = [pivot for pivot in pivots if distances[i][pivot] <= radius]
            pivot_of[i] = min(close, key=lambda pivot: distances[i][pivot], default=-1)
    return pivot_of


def has_company(records: Sequence[Sequence[Sample]], own: int, k: int, delta: float) -> bool:
    """Whether k - 1 others stay, at the same times, within delta of this record and of each other.

    By trying all.
    """

    def together(a: Sequence[Sample], b: Sequence[Sample]) -> bool:
        return [p[0] for p in a] == [q[0] for q in b] and all(
            math.hypot(p[1] - q[1], p[2] - q[2]) <= delta for p, q in zip(a, b, strict=True)
        )

    near = [other for other in range(len(records)) if other != own and together(records[own], records[other])]
    return any(
        all(together(records[a], records[b]) for a, b in itertools.combinations(some, 2))
        for some in itertools.combinations(near, k - 1)
    )
