"""Local search over classes: people trade places, move, and leave for new classes.

What a trade brings is estimated before it is computed: the boxes of each class without each of its members
are kept, and a person is put into them without a new cut. That takes a sixtieth of the time of the exact cost
and is close to it. The search goes over a neighborhood in sweeps. In each sweep the trades that promise most
are computed first, and a class changes at most once. Then only the boxes and estimates of the changed classes
are made again. Decisions depend only on integers and, of equals, on the order of people.
"""

from typing import Any, NamedTuple

import numpy as np

from shoal.kernels.k_merge import IMPOSSIBLE, NONE
from shoal.kernels.weighed_runs import (
    BOX,
    Tracks,
    Weights,
    added_without_cuts,
    boxes_without,
    class_cost,
    joined_tracks,
)
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.compiled import compiled

_NOBODY = NONE
_UNKNOWN = -1  # of what a person adds: at least 0 (see Regrouping.added)
_LEAST_SHARE = 2  # no one adds less to another class than their own saves without them, divided by this
_LIKELY = 9  # tenths of the estimate that a person typically adds
_SPARSE = 4  # with more boxes than this times a person's samples, the exact cost is quicker than the estimate


class Classes(NamedTuple):
    """Classes of n people, with space for more."""

    members: Integers  # [c, most] of class d the first size[d]
    size: Integers
    of: Integers  # [n] class of each person
    cost: Integers  # [c]
    changed: Integers  # [c] sweep of the last change


class Regrouping(NamedTuple):
    """Inputs, workspace and estimates of a search.

    Each of n people has a seat: their place in their class. Each class has one more seat.
    """

    tracks: Tracks
    weights: Weights
    k: int
    room: Integers  # for class_cost of the largest class
    known: Flags  # [n + c] false = before the seat's class last changed
    rest: Integers  # [n + c] cost of the others in a seat's class
    added: Integers  # [n, n + c] what a person is likely to add in a seat, or -1 - a if that is at least a


@compiled
def _others(classes: Classes, c: int, p: int, more: int) -> Any:
    """The members of a class without ``p`` and with ``more``, each of whom may be _NOBODY."""
    others = np.empty(classes.size[c] + 1, dtype=np.int64)
    count = 0
    for place in range(classes.size[c]):
        if classes.members[c, place] != p:
            others[count] = classes.members[c, place]
            count += 1
    if more != _NOBODY:
        others[count] = more
        count += 1
    return others[:count]


@compiled
def cost_of(search: Regrouping, people: Integers, limit: int) -> Any:
    """Cost of a class, 0 if empty; above ``limit`` it may be IMPOSSIBLE."""
    if len(people) == 0:
        return 0
    return class_cost(search.tracks, people, search.weights, search.room, limit)


@compiled
def _set_members(
    search: Regrouping, classes: Classes, c: int, people: Integers, cost: int, sweep: int
) -> None:
    for place in range(len(people)):
        classes.members[c, place] = people[place]
        classes.of[people[place]] = c
        search.known[people[place]] = False
    search.known[len(classes.of) + c] = False
    classes.size[c], classes.cost[c], classes.changed[c] = len(people), cost, sweep


@compiled
def _box_seats(search: Regrouping, classes: Classes, boxes: list[Integers]) -> Any:
    """Boxes of the others for all seats that are not known; returns how many costs were computed."""
    n, spent, may_move = len(classes.of), 0, np.any(classes.size > search.k)
    for c in range(len(classes.size)):
        people = classes.members[c, : classes.size[c]]
        if len(people) == 0 or (np.all(search.known[people]) and not may_move):
            continue
        joined = joined_tracks(search.tracks, people, search.room)
        for place in range(NONE, len(people)):
            seat = people[place] if place != NONE else n + c
            if not search.known[seat] and (place != NONE or may_move):
                boxes[seat], search.rest[seat] = boxes_without(
                    joined, len(people), place, search.weights, search.room
                )
                search.known[seat] = True
                search.added[:, seat] = _UNKNOWN
                spent += 1
    return spent


@compiled
def _likely_added(
    search: Regrouping, classes: Classes, boxes: list[Integers], p: int, seat: int, limit: int
) -> Any:
    """What a person is likely to add in a seat; above ``limit`` perhaps less."""
    added = search.added[p, seat]
    if added >= 0 or -added - 1 > limit:
        return max(added, -added - 1)
    n, samples = len(classes.of), search.tracks.offsets[p + 1] - search.tracks.offsets[p]
    if boxes[seat].shape[1] > _SPARSE * samples:
        c, left_out = (classes.of[seat], seat) if seat < n else (seat - n, _NOBODY)
        most = search.rest[seat] + limit
        cost = cost_of(search, _others(classes, c, left_out, p), most)
        added = min(cost, most + 1) - search.rest[seat]
    else:
        most = limit * 10 // _LIKELY + 1
        added = added_without_cuts(search.tracks, p, boxes[seat], search.weights, search.room, most)
        added = added * _LIKELY // 10
    search.added[p, seat] = added if added <= limit else -added - 1
    return added


@compiled
def _likely_gain(
    search: Regrouping, classes: Classes, boxes: list[Integers], saved: Integers, p: int, seat: int
) -> Any:
    if seat >= len(saved):
        return saved[p] - _likely_added(search, classes, boxes, p, seat, saved[p])
    gain = saved[p] + saved[seat]
    gain -= _likely_added(search, classes, boxes, p, seat, gain)
    if gain > saved[seat] // _LEAST_SHARE:
        return gain - _likely_added(search, classes, boxes, seat, p, gain)
    return 0


@compiled
def _promising_trades(
    search: Regrouping, classes: Classes, boxes: list[Integers], sweep: int
) -> tuple[Any, Any]:
    """People and seats of the trades that are likely to pay, those that bring most first."""
    # only between classes that have not changed in this sweep
    n, most = len(classes.of), classes.members.shape[1]
    gains, people, seats = [0 for _ in range(0)], [0 for _ in range(0)], [0 for _ in range(0)]
    saved = classes.cost[classes.of] - search.rest[:n]
    for p in range(n):
        c = classes.of[p]
        if classes.changed[c] == sweep:
            continue
        for seat in range(p + 1, n + len(classes.size) * (classes.size[c] > search.k)):
            d = classes.of[seat] if seat < n else seat - n
            if d == c or classes.changed[d] == sweep or (seat >= n and not 0 < classes.size[d] < most):
                continue
            gain = _likely_gain(search, classes, boxes, saved, p, seat)
            if gain > 0:
                gains.append(-gain)
                people.append(p)
                seats.append(seat)
    order = np.argsort(np.array(gains), kind="mergesort")
    return np.array(people)[order], np.array(seats)[order]


@compiled
def _cost_in_seat(search: Regrouping, p: int, seat: int, people: Integers, limit: int) -> Any:
    """Cost of a class with p in a seat, which corrects the estimate; may be IMPOSSIBLE above ``limit``."""
    cost = cost_of(search, people, limit)
    known = max(limit + 1, search.rest[seat] + search.added[p, seat]) if cost > limit else cost
    search.added[p, seat] = known - search.rest[seat]
    return cost


@compiled
def _try_trade(
    search: Regrouping, classes: Classes, boxes: list[Integers], p: int, r: int, sweep: int
) -> tuple[Any, Any]:
    c, d = classes.of[p], classes.of[r]
    saved_p, saved_r = classes.cost[c] - search.rest[p], classes.cost[d] - search.rest[r]
    now = classes.cost[c] + classes.cost[d]
    with_p, with_r = _others(classes, d, r, p), _others(classes, c, p, r)
    cost_with_p = _cost_in_seat(search, p, r, with_p, now - search.rest[p] - 1)
    if cost_with_p + search.rest[p] >= now:
        return False, 1
    cost_with_r = _cost_in_seat(search, r, p, with_r, now - cost_with_p - 1)
    if cost_with_p + cost_with_r >= now:
        return False, 2
    _set_members(search, classes, c, with_r, cost_with_r, sweep)
    _set_members(search, classes, d, with_p, cost_with_p, sweep)
    # the others of both seats are the same as before
    boxes[p], boxes[r] = boxes[r], boxes[p]
    for q in range(len(classes.of)):
        search.added[q, p], search.added[q, r] = search.added[q, r], search.added[q, p]
    search.rest[p], search.rest[r] = search.rest[r], search.rest[p]
    search.added[p, r], search.added[r, p] = saved_p, saved_r
    search.known[p], search.known[r] = True, True
    return True, 2


@compiled
def _try_move(search: Regrouping, classes: Classes, p: int, d: int, sweep: int) -> tuple[Any, Any]:
    c, seat = classes.of[p], len(classes.of) + d
    now = classes.cost[c] + classes.cost[d]
    with_p = _others(classes, d, _NOBODY, p)
    cost = _cost_in_seat(search, p, seat, with_p, now - search.rest[p] - 1)
    if cost + search.rest[p] >= now:
        return False, 1
    _set_members(search, classes, c, _others(classes, c, p, _NOBODY), search.rest[p], sweep)
    _set_members(search, classes, d, with_p, cost, sweep)
    return True, 1


@compiled
def _gather(search: Regrouping, classes: Classes, p: int) -> Any:
    """``p`` and k - 1 others whom their classes can spare, by what they are likely to add and save."""
    spare = np.maximum(classes.size - search.k, 0)
    chosen = np.full(search.k, p)
    spare[classes.of[p]] -= 1
    for count in range(1, search.k):
        joined = joined_tracks(search.tracks, chosen[:count], search.room)
        boxes, _ = boxes_without(joined, count, NONE, search.weights, search.room)
        best, least = _NOBODY, IMPOSSIBLE
        for q in range(len(classes.of)):
            c = classes.of[q]
            if spare[c] > 0 and not np.any(chosen[:count] == q):
                more = added_without_cuts(search.tracks, q, boxes, search.weights, search.room, IMPOSSIBLE)
                more -= classes.cost[c] - search.rest[q]
                if more < least:
                    best, least = q, more
        chosen[count] = best
        spare[classes.of[best]] -= 1
    return chosen


@compiled
def _try_new_class(search: Regrouping, classes: Classes, p: int, sweep: int) -> tuple[Any, Any]:
    chosen = _gather(search, classes, p)
    touched = np.unique(classes.of[chosen])
    now = int(np.sum(classes.cost[touched]))
    cost_of_new, spent = cost_of(search, chosen, now), search.k
    total = cost_of_new
    rest = np.empty((len(touched), classes.members.shape[1]), dtype=np.int64)
    sizes, costs = np.zeros(len(touched), dtype=np.int64), np.zeros(len(touched), dtype=np.int64)
    for i in range(len(touched)):
        for q in classes.members[touched[i], : classes.size[touched[i]]]:
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
        _set_members(search, classes, touched[i], rest[i, : sizes[i]], costs[i], sweep)
    _set_members(search, classes, np.flatnonzero(classes.size == 0)[0], chosen, cost_of_new, sweep)
    return True, spent


@compiled
def _try_new_classes(search: Regrouping, classes: Classes, sweep: int) -> Any:
    """A new class around the member that costs most in each class that can spare someone."""
    spent = 0
    for c in range(len(classes.size)):
        if classes.changed[c] != sweep - 1 or classes.size[c] <= search.k:
            continue
        spare = np.sum(np.maximum(classes.size - search.k, 0))
        if spare < search.k or np.all(classes.size > 0):
            break
        people = _others(classes, c, _NOBODY, _NOBODY)
        _, more = _try_new_class(search, classes, people[np.argmin(search.rest[people])], sweep)
        spent += more
    return spent


@compiled
def regroup(search: Regrouping, classes: Classes, allowance: int) -> Any:
    """Change the classes until no change makes them cheaper, or the allowance is spent."""
    # allowance: most costs of classes to compute, checked before each trade; returns their number
    n, sweep, spent = len(classes.of), 0, 0
    boxes = [np.empty((BOX, 0), dtype=np.int64) for _ in search.known]
    for c in range(len(classes.size)):
        people = classes.members[c, : classes.size[c]].copy()
        _set_members(search, classes, c, people, cost_of(search, people, IMPOSSIBLE), sweep)
        spent += 1
    while np.any(classes.changed == sweep) and spent < allowance:
        spent += _box_seats(search, classes, boxes)
        sweep += 1
        spent += _try_new_classes(search, classes, sweep)
        people, seats = _promising_trades(search, classes, boxes, sweep)
        for i in range(len(people)):
            p, seat = people[i], seats[i]
            d = classes.of[seat] if seat < n else seat - n
            if max(classes.changed[classes.of[p]], classes.changed[d]) == sweep or spent >= allowance:
                continue
            if seat < n:
                _, more = _try_trade(search, classes, boxes, p, seat, sweep)
            else:
                _, more = _try_move(search, classes, p, d, sweep)
            spent += more
    return spent
