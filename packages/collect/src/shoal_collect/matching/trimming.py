"""The points that a person keeps (Romero-Tris and Megías 2018, Sec. 3.3.6)."""

from collections.abc import Collection, Mapping
from typing import Final, Literal

from shoal.errors import MisuseError
from shoal_collect.matching.subtrajectories import Places

Trimming = Literal["verified-pairs", "strict"]
DEFAULT: Final[Trimming] = "verified-pairs"
Reading = Literal["others", "self-included"]
_STEPS: Final = 20_000  # of a search, which then takes the best that it found


def required_phi(k: int, reading: Reading = "others") -> int:
    """The required phi: k, or k - 1 when the owner counts among the k (Sec. 5.1)."""
    if k < 0:
        raise MisuseError(f"k = {k} is no crowd; choose k >= 1, or 0 to share without one")
    return k if reading == "others" else max(0, k - 1)


def trim(n_points: int, phi: Mapping[Places, int], least: int, how: Trimming = DEFAULT) -> Places:
    """The points to keep, ascending; a remainder without a checked sub-trajectory is dropped.

    ``phi``: by places; below ``least`` is rare. ``how``: "verified-pairs": the most points such that each
    pair is in a common checked sub-trajectory and no rare one stays whole; so ``least`` others hold for each
    pair, not for the whole. "strict": all points of each rare one go (Algorithm 2); nothing is promised about
    unchecked sub-trajectories.
    """
    if least == 0:
        return tuple(range(n_points))
    rare = [frozenset(places) for places, count in phi.items() if count < least]
    if how == "verified-pairs":
        return _largest_verified(phi, least, rare)
    gone = frozenset[int]().union(*rare)
    rest = tuple(place for place in range(n_points) if place not in gone)
    return rest if any(set(places) <= set(rest) for places in phi) else ()


def _largest_verified(phi: Mapping[Places, int], least: int, rare: Collection[frozenset[int]]) -> Places:
    """After ``_STEPS`` steps, the best so far: verified, perhaps not the largest."""
    near: dict[int, set[int]] = {}
    for places, count in phi.items():
        # a rare part of a common one would be a contradiction; then neither is trusted
        if count >= least and not any(rare_set <= set(places) for rare_set in rare):
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
        if not any(rare_set <= set(further) for rare_set in rare):
            waiting.append((further, [place for place in later if place in near[first]]))
    return best if len(best) > 1 else ()
