"""The points that a person keeps when some sub-trajectories are rare.

Source: Romero-Tris and Megías 2018, Sec. 3.3.6.
"""

import heapq
from collections.abc import Collection, Mapping
from typing import Final, Literal

from shoal.errors import MisuseError
from shoal_collect.matching.subtrajectories import Places

Trimming = Literal["verified-pairs", "verified-only", "hitting-set", "strict"]
DEFAULT: Final[Trimming] = "verified-pairs"
Reading = Literal["others", "self-included"]
_STEPS: Final = 20_000  # of a search, which then takes the best that it found


def needed(k: int, reading: Reading = "others") -> int:
    """Return the phi that is needed: k, or k - 1 when the owner counts among the k (Sec. 5.1)."""
    if k < 0:
        raise MisuseError(f"k = {k} is no crowd; choose k >= 1, or 0 to share without one")
    return k if reading == "others" else max(0, k - 1)


def trim(n_points: int, phi: Mapping[Places, int], least: int, how: Trimming = DEFAULT) -> Places:
    """Choose the points that stay; a rest in which nothing was checked is not kept.

    Parameters
    ----------
    n_points
        The length of the trajectory.
    phi
        The count of each checked sub-trajectory, by its places.
    least
        A sub-trajectory with a smaller count is rare.
    how
        "verified-pairs": as many points as can stay when every two of them must stand in a checked one
        that is common, and no rare checked one may stay whole. "verified-only": only the longest checked
        one that is common stays. Whoever shares it shares all its parts: all is promised.
        "hitting-set": the least removal that leaves no rare checked one whole (the example of Sec. 3.4);
        nothing is promised of what was not checked. "strict": every point of every rare one goes
        (Algorithm 2); nothing is promised of what was not checked, either.

    Returns
    -------
    tuple of int
        The places that stay, ascending.
    """
    if least == 0:
        return tuple(range(n_points))
    rare = [frozenset(places) for places, count in phi.items() if count < least]
    if how == "verified-pairs":
        return _largest_verified(phi, least, rare)
    if how == "verified-only":
        # a rare part of a common one would be a contradiction; then neither is trusted
        common = [
            places
            for places, count in phi.items()
            if count >= least and not any(one <= set(places) for one in rare)
        ]
        return min(common, key=lambda places: (-len(places), places), default=())
    gone = frozenset[int]().union(*rare) if how == "strict" else smallest_hitting_set(rare)
    rest = tuple(place for place in range(n_points) if place not in gone)
    return rest if any(set(places) <= set(rest) for places in phi) else ()


def _largest_verified(phi: Mapping[Places, int], least: int, rare: Collection[frozenset[int]]) -> Places:
    """The most points of which every two were verified, none of the rare whole; the first in order of these.

    After ``_STEPS`` steps, the best that was found: still verified, perhaps not the most.
    """
    near: dict[int, set[int]] = {}
    for places, count in phi.items():
        # a rare part of a common one would be a contradiction; then neither is trusted
        if count >= least and not any(one <= set(places) for one in rare):
            for place in places:
                near.setdefault(place, set()).update(set(places) - {place})
    best: Places = ()
    waiting: list[tuple[Places, list[int]]] = [((), sorted(near))]
    for _ in range(_STEPS):
        if not waiting:
            break
        chosen, free = waiting.pop()
        if len(chosen) > len(best):
            best = chosen
        if len(chosen) + len(free) <= len(best):
            continue
        first, later = free[0], free[1:]
        waiting.append((chosen, later))
        further = (*chosen, first)
        if not any(one <= set(further) for one in rare):
            waiting.append((further, [place for place in later if place in near[first]]))
    return best if len(best) > 1 else ()


def smallest_hitting_set(sets: Collection[frozenset[int]], budget: int = _STEPS) -> frozenset[int]:
    """Find a smallest set that meets each of these sets, best first; after ``budget`` steps, a greedy one."""
    minimal = [one for one in set(sets) if not any(other < one for other in set(sets))]
    if not minimal:
        return frozenset()
    greedy = _greedy(minimal)
    waiting: list[tuple[int, tuple[int, ...]]] = [(0, ())]
    seen: set[tuple[int, ...]] = set()
    for _ in range(budget):
        if not waiting or waiting[0][0] >= len(greedy):
            return greedy
        size, chosen = heapq.heappop(waiting)
        unmet = next((one for one in minimal if one.isdisjoint(chosen)), None)
        if unmet is None:
            return frozenset(chosen)
        for place in sorted(unmet):
            further = tuple(sorted((*chosen, place)))
            if further not in seen:
                seen.add(further)
                heapq.heappush(waiting, (size + 1, further))
    return greedy


def _greedy(sets: Collection[frozenset[int]]) -> frozenset[int]:
    """A set that meets all of these; the place that meets most goes first."""
    left, chosen = list(sets), set[int]()
    while left:
        places = sorted({place for one in left for place in one})
        best = max(places, key=lambda place: sum(place in one for one in left))
        chosen.add(best)
        left = [one for one in left if best not in one]
    return frozenset(chosen)
