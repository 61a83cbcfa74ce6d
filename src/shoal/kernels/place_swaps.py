"""ReachLocations (Alg. 4): each location swaps with a random member of a set that keeps paths short.

Equally near candidates come in the order of their rows.
"""

import heapq
from typing import NamedTuple

import numpy as np

from shoal.kernels.streets import Roads, node_distances
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

UNSWAPPED, SWAPPED, REMOVED = 0, 1, 2

Waiting = list[tuple[float, int]]
"""A heap of (distance in meters, node or row)."""


class Locations(NamedTuple):
    """All m samples."""

    offsets: Integers
    owner: Integers  # trajectory
    t: Floats
    x: Floats  # exact places
    y: Floats
    edge: Integers  # [m], position on the graph
    along: Floats  # [m], meters from the edge's end u


class SwapState(NamedTuple):
    """Progress of the algorithm."""

    status: Integers  # [m]
    place: Integers  # [m] the sample whose place each has now
    edge_offsets: Integers  # first waiting sample of each edge
    waiting_count: Integers  # unswapped samples of each edge
    waiting: Integers  # [m] unswapped samples by edge
    waiting_at: Integers  # [m] position of each in ``waiting``


class Cache(NamedTuple):
    """Path lengths from some nodes to all."""

    rows: Floats  # [slots, n]
    slot_of: Integers  # [n], -1 = none
    node_in: Integers  # [slots], -1 = free
    oldest: Integers  # [1]


class Town(NamedTuple):
    """The streets, all locations on them, and a workspace."""

    roads: Roads
    cache: Cache
    locations: Locations
    state: SwapState
    nearest: Floats  # [n], least distance to each node, inf between searches
    tried: Integers  # [m], last leader to try a sample


class SwapRules(NamedTuple):
    """The largest difference in time, the longest path, and whose neighbors count."""

    time_threshold_s: float
    bound_m: float
    both_sides: bool
    least_sum: bool  # minimize the sum of paths within a set instead of distances from the leader
    rows_m: float  # radius of stored path lengths


@compiled
def _take_off_list(state: SwapState, edge: Integers, row: int, status: int) -> None:
    state.status[row] = status
    e = edge[row]
    state.waiting_count[e] -= 1
    last = state.waiting[state.edge_offsets[e] + state.waiting_count[e]]
    state.waiting[state.waiting_at[row]] = last
    state.waiting_at[last] = state.waiting_at[row]


@compiled
def _neighbor(locations: Locations, state: SwapState, row: int, step: int) -> int:
    subject = locations.owner[row]
    at = row + step
    while locations.offsets[subject] <= at < locations.offsets[subject + 1]:
        if state.status[at] != REMOVED:
            return at
        at += step
    return -1


@compiled
def _fetch_row(roads: Roads, cache: Cache, bound_m: float, node: int) -> int:
    # 1 if the row had to be computed, which overwrites the oldest one
    if cache.slot_of[node] >= 0:
        return 0
    slot = cache.oldest[0]
    cache.oldest[0] = (slot + 1) % len(cache.node_in)
    if cache.node_in[slot] >= 0:
        cache.slot_of[cache.node_in[slot]] = -1
    cache.node_in[slot], cache.slot_of[node] = node, slot
    node_distances(roads, node, bound_m, cache.rows[slot])
    return 1


@compiled
def _fetch_ends(roads: Roads, cache: Cache, bound_m: float, edges: Integers) -> None:
    missed = 1
    while missed > 0:
        missed = 0
        for e in edges:
            if e >= 0:
                missed += _fetch_row(roads, cache, bound_m, roads.u[e]) + _fetch_row(
                    roads, cache, bound_m, roads.v[e]
                )


@compiled
def _path_length(town: Town, a: int, b: int) -> float:
    roads, cache, locations = town.roads, town.cache, town.locations
    e, f = locations.edge[a], locations.edge[b]
    a_u, b_u = locations.along[a], locations.along[b]
    a_v, b_v = roads.length[e] - a_u, roads.length[f] - b_u
    from_u, from_v = cache.rows[cache.slot_of[roads.u[e]]], cache.rows[cache.slot_of[roads.v[e]]]
    to_u, to_v = roads.u[f], roads.v[f]
    best = min(
        a_u + min(from_u[to_u] + b_u, from_u[to_v] + b_v), a_v + min(from_v[to_u] + b_u, from_v[to_v] + b_v)
    )
    return float(min(best, abs(a_u - b_u)) if e == f else best)


@compiled
def _offer(
    town: Town, rules: SwapRules, leader: int, e: int, node: int, node_distance: float, places: Waiting
) -> None:
    roads, locations, state = town.roads, town.locations, town.state
    for i in range(state.edge_offsets[e], state.edge_offsets[e] + state.waiting_count[e]):
        row = state.waiting[i]
        if (
            locations.owner[row] != locations.owner[leader]
            and abs(locations.t[row] - locations.t[leader]) <= rules.time_threshold_s
        ):
            from_u, from_v = locations.along[row], roads.length[e] - locations.along[row]
            if roads.u[e] == roads.v[e]:
                from_u = from_v = min(from_u, from_v)
            distance = node_distance + (from_u if roads.u[e] == node else from_v)
            if distance <= rules.bound_m:
                heapq.heappush(places, (distance, row))


@compiled
def _can_swap(town: Town, rules: SwapRules, leader: int, row: int, around: Integers) -> bool:
    # (3) (b) to (d) of Alg. 4, for the row's neighbors too if both sides count
    place = town.state.place
    for neighbor_row in around:
        if neighbor_row >= 0 and _path_length(town, place[neighbor_row], row) > rules.bound_m:
            return False
    if rules.both_sides:
        for step in (-1, 1):
            neighbor_row = _neighbor(town.locations, town.state, row, step)
            if neighbor_row >= 0 and _path_length(town, leader, place[neighbor_row]) > rules.bound_m:
                return False
    return True


@compiled
def _begin_search(
    town: Town, rules: SwapRules, leader: int, nodes: Waiting, places: Waiting, touched: list[int]
) -> None:
    roads, locations, state = town.roads, town.locations, town.state
    e, along = locations.edge[leader], locations.along[leader]
    for node, distance in ((roads.u[e], along), (roads.v[e], roads.length[e] - along)):
        if distance < town.nearest[node] and distance <= rules.bound_m:
            town.nearest[node] = distance
            touched.append(node)
            heapq.heappush(nodes, (distance, node))
    for i in range(state.edge_offsets[e], state.edge_offsets[e] + state.waiting_count[e]):
        row = state.waiting[i]
        direct = abs(locations.along[row] - along)
        in_time = abs(locations.t[row] - locations.t[leader]) <= rules.time_threshold_s
        if in_time and direct <= rules.bound_m and locations.owner[row] != locations.owner[leader]:
            heapq.heappush(places, (direct, row))


@compiled
def _is_new(locations: Locations, leader: int, members: Integers, row: int) -> bool:
    # conditions (1) and (2) of Alg. 4
    if locations.x[row] == locations.x[leader] and locations.y[row] == locations.y[leader]:
        return False
    for other in members:
        if locations.owner[row] == locations.owner[other]:
            return False
        if locations.x[row] == locations.x[other] and locations.y[row] == locations.y[other]:
            return False
    return True


@compiled
def _settle_node(
    town: Town, rules: SwapRules, leader: int, nodes: Waiting, places: Waiting, touched: list[int]
) -> None:
    roads, nearest = town.roads, town.nearest
    distance, node = heapq.heappop(nodes)
    if distance > nearest[node]:
        return
    for i in range(roads.adjacent_offsets[node], roads.adjacent_offsets[node + 1]):
        edge, other = roads.adjacent[i], roads.across[i]
        _offer(town, rules, leader, edge, node, distance, places)
        onward = distance + roads.length[edge]
        if onward <= rules.bound_m and onward < nearest[other]:
            if nearest[other] == np.inf:
                touched.append(other)
            nearest[other] = onward
            heapq.heappush(nodes, (onward, other))


@compiled
def _next_place(
    town: Town, rules: SwapRules, leader: int, nodes: Waiting, places: Waiting, touched: list[int]
) -> tuple[float, int]:
    # A sample on an edge is offered once from each end, and is final when every node still to come is
    # farther; so equally near ones come in the order of their rows.
    while len(nodes) > 0 or len(places) > 0:
        if len(places) == 0 or (len(nodes) > 0 and nodes[0][0] <= places[0][0]):
            _settle_node(town, rules, leader, nodes, places, touched)
            continue
        distance, row = heapq.heappop(places)
        if town.tried[row] != leader:
            town.tried[row] = leader
            return distance, row
    return np.inf, -1


@compiled
def _edges_around(town: Town, leader: int, around: Integers) -> Integers:
    edges = np.full(4, -1, dtype=np.int64)
    edges[0] = town.locations.edge[leader]
    for i in range(2):
        if around[i] >= 0:
            edges[1 + i] = town.locations.edge[town.state.place[around[i]]]
    return edges


@compiled
def _least_sum_pair(
    town: Town,
    rules: SwapRules,
    leader: int,
    members: Integers,
    around: Integers,
    nodes: Waiting,
    places: Waiting,
    touched: list[int],
) -> bool:
    # The path between two is at least the difference of theirs to the leader. So two of which one lies d away
    # cost 2 d or more, and the search ends where that is no less than the best.
    locations = town.locations
    edges = _edges_around(town, leader, around)
    best = np.inf
    last = members[:1].copy()
    seen = [(0.0, leader) for _ in range(0)]
    while True:
        distance, row = _next_place(town, rules, leader, nodes, places, touched)
        if row < 0 or 2 * distance >= best:
            return best < np.inf
        if not _is_new(locations, leader, members[:0], row) or not _can_swap(
            town, rules, leader, row, around
        ):
            continue
        edges[3] = locations.edge[row]
        _fetch_ends(town.roads, town.cache, rules.rows_m, edges)
        last[0] = row
        for away, other in seen:
            if _is_new(locations, leader, last, other):
                cost = away + distance + _path_length(town, row, other)
                if cost < best:
                    best = cost
                    members[0], members[1] = other, row
        seen.append((distance, row))


@compiled
def _find_partners(town: Town, rules: SwapRules, leader: int, members: Integers) -> bool:
    locations, state = town.locations, town.state
    around = np.array([_neighbor(locations, state, leader, -1), _neighbor(locations, state, leader, 1)])
    _fetch_ends(town.roads, town.cache, rules.rows_m, _edges_around(town, leader, around))
    # the comprehensions tell the compiler the types of empty lists
    nodes = [(0.0, leader) for _ in range(0)]
    places = [(0.0, leader) for _ in range(0)]
    touched = [leader for _ in range(0)]
    _begin_search(town, rules, leader, nodes, places, touched)
    n_found = 0
    if rules.least_sum:
        if _least_sum_pair(town, rules, leader, members, around, nodes, places, touched):
            n_found = 2
    else:
        while n_found < len(members):
            _, row = _next_place(town, rules, leader, nodes, places, touched)
            if row < 0:
                break
            if _is_new(locations, leader, members[:n_found], row) and _can_swap(
                town, rules, leader, row, around
            ):
                members[n_found] = row
                n_found += 1
    for node in touched:
        town.nearest[node] = np.inf
    return n_found == len(members)


@compiled
def swap_places(
    town: Town,
    rules: SwapRules,
    subjects: Integers,
    draws: Integers,
    n_sets: int,
    leaders: Integers,
    members: Integers,
) -> int:
    """Let trajectories lead in turn; fill sets in order and return their number."""
    # draws: [m] uniform in 0..k-1, 0 = the leader keeps its place
    locations, state = town.locations, town.state
    for subject in subjects:
        for row in range(locations.offsets[subject], locations.offsets[subject + 1]):
            if state.status[row] != UNSWAPPED:
                continue
            if not _find_partners(town, rules, row, members[n_sets]):
                _take_off_list(state, locations.edge, row, REMOVED)
                continue
            _take_off_list(state, locations.edge, row, SWAPPED)
            leaders[n_sets] = row
            if draws[row] > 0:
                partner = members[n_sets, draws[row] - 1]
                _take_off_list(state, locations.edge, partner, SWAPPED)
                state.place[row], state.place[partner] = partner, row
            n_sets += 1
    return n_sets
