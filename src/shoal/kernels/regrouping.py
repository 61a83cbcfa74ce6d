"""Local search over classes: people swap, move, and leave for new classes; expensive ones close.

Decisions depend only on exact integer costs and, of equals, on the order of people. A bound selects
changes: a person's cost is at least that of its samples with the worst companion there, by nearest places
and times (``companion_cost_bound``).
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.companions import Squares, companion_cost_bound
from shoal.kernels.k_merge import IMPOSSIBLE, NONE
from shoal.kernels.weighed_runs import Tracks, Weights, class_cost
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled

_NOBODY = NONE
_LIKELY = 2  # the cost of a person in a class is typically twice the bound
_PROPOSALS = 6  # most promising swaps and moves to compute for a person


class Classes(NamedTuple):
    """Classes of n people, with space for more."""

    members: Integers  # [c, most] of class d the first size[d]
    size: Integers
    of: Integers  # [n] class of each person
    cost: Integers  # [c]
    saves: Integers  # [n] reduction of the class's cost without this person
    exact: Flags  # [n] false = before the class last changed
    changed: Integers  # [c] clock of the last change
    examined: Integers  # [n] clock of the last examination


class CostMemo(NamedTuple):
    """Costs of groups: both sides of a swap ask for the same."""

    marks: Integers  # [n] random bits of each person; a group's mark is the exclusive or of its members'
    groups: Integers  # [m] mark in each place, 0 = none; m is a power of 2, more than needed
    costs: Integers  # [m] the cost, or -c if it is at least c


class Regrouping(NamedTuple):
    """Inputs, workspace and memo of a search."""

    tracks: Tracks
    squares: Squares  # of the tracks
    weights: Weights
    k: int
    least: Integers  # [n, n], lower bound of p's cost with q
    room: Integers  # for class_cost of the largest class
    memo: CostMemo


class Proposals(NamedTuple):
    """The best changes for one person: swap partner (or _NOBODY) and target class."""

    gain: Integers
    other: Integers
    into: Integers


@compiled
def _fill_least(search: Regrouping, limits: Integers) -> None:
    # limits[p] + 1 stands for larger values
    offsets = search.squares.offsets
    bounds = np.empty(np.max(offsets[1:] - offsets[:-1]), dtype=np.int64)
    for p in range(len(search.least)):
        for q in range(len(search.least)):
            cost = 0
            if q != p:
                cost = companion_cost_bound(
                    search.tracks, search.squares, p, q, search.weights, limits[p], bounds
                )
            search.least[p, q] = cost


@compiled
def _members_without(classes: Classes, c: int, p: int, chosen: Integers) -> Any:
    count = 0
    for place in range(classes.size[c]):
        if classes.members[c, place] != p:
            chosen[count] = classes.members[c, place]
            count += 1
    return count


@compiled
def _place_of(memo: CostMemo, mark: int) -> Any:
    last = len(memo.groups) - 1
    place = mark & last
    while memo.groups[place] not in (0, mark):
        place = (place + 1) & last
    return place


@compiled
def cost_of(search: Regrouping, chosen: Integers, limit: int) -> Any:
    """Cost of a class, 0 if empty; above ``limit`` it may be IMPOSSIBLE."""
    if len(chosen) == 0:
        return 0
    memo, mark = search.memo, 0
    for p in chosen:
        mark ^= memo.marks[p]
    place = _place_of(memo, mark)
    cost = memo.costs[place] if memo.groups[place] == mark else -1
    if cost >= 0:
        return cost
    if limit < -cost:
        return IMPOSSIBLE
    cost = class_cost(search.tracks, chosen, search.weights, search.room, limit)
    memo.groups[place], memo.costs[place] = mark, cost if cost < IMPOSSIBLE else -limit - 1
    return cost


@compiled
def _set_members(classes: Classes, c: int, chosen: Integers, cost: int, clock: int) -> None:
    for place in range(len(chosen)):
        classes.members[c, place] = chosen[place]
        classes.of[chosen[place]] = c
        classes.exact[chosen[place]] = False
    classes.size[c], classes.cost[c], classes.changed[c] = len(chosen), cost, clock


@compiled
def _compute_saving(search: Regrouping, classes: Classes, p: int) -> Any:
    if classes.exact[p]:
        return 0
    c = classes.of[p]
    rest = np.empty(classes.size[c], dtype=np.int64)
    cost = cost_of(search, rest[: _members_without(classes, c, p, rest)], IMPOSSIBLE)
    classes.saves[p], classes.exact[p] = classes.cost[c] - cost, True
    return 1


@compiled
def _class_cost_bound(search: Regrouping, classes: Classes, p: int, c: int, but: int) -> Any:
    most = 0
    for place in range(classes.size[c]):
        q = classes.members[c, place]
        if q not in (p, but):
            most = max(most, search.least[p, q])
    return most


@compiled
def _insert_proposal(proposals: Proposals, count: int, gain: int, other: int, into: int) -> Any:
    if gain <= 0 or (count == len(proposals.gain) and gain <= proposals.gain[count - 1]):
        return count
    place = min(count, len(proposals.gain) - 1)
    while place > 0 and proposals.gain[place - 1] < gain:
        proposals.gain[place], proposals.other[place], proposals.into[place] = (
            proposals.gain[place - 1],
            proposals.other[place - 1],
            proposals.into[place - 1],
        )
        place -= 1
    proposals.gain[place], proposals.other[place], proposals.into[place] = gain, other, into
    return min(count + 1, len(proposals.gain))


@compiled
def _find_changes(search: Regrouping, classes: Classes, p: int, back: Integers, proposals: Proposals) -> Any:
    own_class, count, examined = classes.of[p], 0, classes.examined[p]
    for r in range(len(back)):
        back[r] = _class_cost_bound(search, classes, r, own_class, p)
    may_leave = classes.size[own_class] > search.k
    for d in range(len(classes.size)):
        if (
            d == own_class
            or classes.size[d] == 0
            or examined > max(classes.changed[d], classes.changed[own_class])
        ):
            continue
        for place in range(classes.size[d]):
            r = classes.members[d, place]
            most = classes.saves[p] + classes.saves[r] - back[r] * _LIKELY
            if most > 0:
                gain = most - _class_cost_bound(search, classes, p, d, r) * _LIKELY
                count = _insert_proposal(proposals, count, gain, r, d)
        if may_leave and classes.size[d] < classes.members.shape[1]:
            gain = classes.saves[p] - _class_cost_bound(search, classes, p, d, _NOBODY) * _LIKELY
            count = _insert_proposal(proposals, count, gain, _NOBODY, d)
    return count


@compiled
def _try_change(
    search: Regrouping, classes: Classes, p: int, r: int, d: int, back: Integers, clock: int
) -> tuple[Any, Any]:
    own_class = classes.of[p]
    now = classes.cost[own_class] + classes.cost[d]
    new_members = np.empty(classes.size[d] + 1, dtype=np.int64)
    own_members = np.empty(classes.size[own_class] + 1, dtype=np.int64)
    n_new = _members_without(classes, d, r, new_members)
    new_members[n_new] = p
    rest = classes.cost[own_class] - classes.saves[p] + (0 if r == _NOBODY else back[r] * _LIKELY)
    new_cost = cost_of(search, new_members[: n_new + 1], now - rest - 1)
    if new_cost + rest >= now:
        return False, 1
    n_own = _members_without(classes, own_class, p, own_members)
    own_cost = now - new_cost
    if r == _NOBODY:
        own_cost = classes.cost[own_class] - classes.saves[p]
    else:
        own_members[n_own] = r
        n_own += 1
        own_cost = cost_of(search, own_members[:n_own], now - new_cost - 1)
    if own_cost + new_cost >= now:
        return False, 2
    own_cost_without_p = classes.cost[own_class] - classes.saves[p]
    exact = r == _NOBODY or classes.exact[r]
    fewer = classes.cost[d] - (0 if r == _NOBODY else classes.saves[r])
    _set_members(classes, own_class, own_members[:n_own], own_cost, clock)
    _set_members(classes, d, new_members[: n_new + 1], new_cost, clock)
    classes.saves[p], classes.exact[p] = new_cost - fewer, exact
    if r != _NOBODY:
        classes.saves[r], classes.exact[r] = own_cost - own_cost_without_p, True
    return True, 2


@compiled
def _nearest_spare(
    search: Regrouping, classes: Classes, p: int, spare: Integers, chosen: Integers, count: int
) -> Any:
    best, least = _NOBODY, IMPOSSIBLE
    for q in range(len(classes.of)):
        if spare[classes.of[q]] > 0 and not np.any(chosen[:count] == q):
            both = search.least[p, q] + search.least[q, p]
            if both < least:
                best, least = q, both
    return best


@compiled
def _try_new_class(search: Regrouping, classes: Classes, p: int, clock: int) -> tuple[Any, Any]:
    k, spare = search.k, np.maximum(classes.size - search.k, 0)
    if np.sum(spare) < k or spare[classes.of[p]] == 0 or np.all(classes.size > 0):
        return False, 0
    chosen = np.empty(k, dtype=np.int64)
    count, q = 0, p
    while count < k:
        chosen[count] = q
        spare[classes.of[q]] -= 1
        count += 1
        q = _nearest_spare(search, classes, p, spare, chosen, count)
        if q == _NOBODY and count < k:
            return False, 0
    touched = np.unique(classes.of[chosen])
    now = int(np.sum(classes.cost[touched]))
    total, spent = cost_of(search, chosen, now), 1
    rest = np.empty((len(touched), classes.members.shape[1]), dtype=np.int64)
    sizes, costs = np.zeros(len(touched), dtype=np.int64), np.zeros(len(touched), dtype=np.int64)
    cost_of_new = total
    for i in range(len(touched)):
        for place in range(classes.size[touched[i]]):
            q = classes.members[touched[i], place]
            if not np.any(chosen == q):
                rest[i, sizes[i]] = q
                sizes[i] += 1
        if total < now:
            costs[i] = cost_of(search, rest[i, : sizes[i]], IMPOSSIBLE)
            total += costs[i]
            spent += 1
    if total >= now:
        return False, spent
    for i in range(len(touched)):
        _set_members(classes, touched[i], rest[i, : sizes[i]], costs[i], clock)
    _set_members(classes, np.flatnonzero(classes.size == 0)[0], chosen, cost_of_new, clock)
    return True, spent


@compiled
def _try_closing_class(search: Regrouping, classes: Classes, c: int, clock: int) -> tuple[Any, Any]:
    most, spent, total = classes.members.shape[1], 0, 0
    into = np.empty(classes.size[c], dtype=np.int64)
    size = classes.size.copy()
    for place in range(classes.size[c]):
        p, best, least = classes.members[c, place], NONE, IMPOSSIBLE
        for d in range(len(classes.size)):
            if d != c and classes.size[d] > 0 and size[d] < most:
                bound = _class_cost_bound(search, classes, p, d, _NOBODY)
                if bound < least:
                    best, least = d, bound
        into[place] = best
        total += least
        if best == NONE or total >= classes.cost[c]:
            return False, 0
        size[best] += 1
    touched, limit, total = np.unique(into), classes.cost[c], 0
    costs = np.zeros(len(touched), dtype=np.int64)
    grown = np.empty((len(touched), most), dtype=np.int64)
    for i in range(len(touched)):
        d = touched[i]
        grown[i, : classes.size[d]] = classes.members[d, : classes.size[d]]
        grown[i, classes.size[d] : size[d]] = classes.members[c, : classes.size[c]][into == d]
        costs[i] = cost_of(search, grown[i, : size[d]], limit - total + classes.cost[d])
        spent += 1
        total += costs[i] - classes.cost[d]
        if total >= limit:
            return False, spent
    classes.size[c], classes.cost[c] = 0, 0
    for i in range(len(touched)):
        _set_members(classes, touched[i], grown[i, : size[touched[i]]], costs[i], clock)
    return True, spent


@compiled
def regroup(search: Regrouping, classes: Classes, allowance: int) -> Any:
    """Change the classes until no change makes them cheaper, or the allowance is spent."""
    # allowance: most costs of classes to compute, checked before each person; returns their number
    n, clock, spent = len(classes.of), 1, 0
    back = np.empty(n, dtype=np.int64)
    proposals = Proposals(
        np.empty(_PROPOSALS, dtype=np.int64),
        np.empty(_PROPOSALS, dtype=np.int64),
        np.empty(_PROPOSALS, dtype=np.int64),
    )
    for c in range(len(classes.size)):
        members = classes.members[c, : classes.size[c]].copy()
        _set_members(classes, c, members, cost_of(search, members, IMPOSSIBLE), 0)
        spent += 1
    for p in range(n):
        spent += _compute_saving(search, classes, p)
    _fill_least(search, classes.saves)
    classes.examined[:] = NONE
    changed = True
    while changed and spent < allowance:
        changed = False
        for p in range(n):
            if spent >= allowance:
                break
            done, more = _try_new_class(search, classes, p, clock)
            spent += more
            if not done:
                spent += _compute_saving(search, classes, p)
                n_proposals = _find_changes(search, classes, p, back, proposals)
                classes.examined[p] = clock
                for i in range(n_proposals):
                    done, more = _try_change(
                        search, classes, p, proposals.other[i], proposals.into[i], back, clock
                    )
                    spent += more
                    if done:
                        break
            changed = changed or done
            clock += done
        for c in range(len(classes.size)):
            if classes.size[c] > 0 and spent < allowance:
                done, more = _try_closing_class(search, classes, c, clock)
                spent += more
                changed = changed or done
                clock += done
    return spent
