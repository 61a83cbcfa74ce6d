"""ReachLocations (Alg. 4): each location trades places, one after the other, with one of the nearest that keep everybody's way short."""

from typing import NamedTuple

import numpy as np

from shoal.kernels.streets import Heap, Roads, drop_top, node_distances, push
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

UNSWAPPED, SWAPPED, REMOVED = 0, 1, 2


class Locations(NamedTuple):
    """All samples. owner: [m] whose. edge, along: [m] where on the graph, meters from the edge's end u.

    x, y: [m] exact places.
    """

    offsets: Integers
    owner: Integers
    t: Floats
    x: Floats
    y: Floats
    edge: Integers
    along: Floats


class State(NamedTuple):
    """What has happened so far. status, place: [m] of each sample, and the sample whose place it has now.

    waiting: [m] samples not swapped yet, those of edge e from edge_offsets[e] on, waiting_count[e] of them;
    waiting_at: [m] where each is.
    """

    status: Integers
    place: Integers
    edge_offsets: Integers
    waiting_count: Integers
    waiting: Integers
    waiting_at: Integers


class Cache(NamedTuple):
    """Path lengths from some nodes to all. rows: [slots, n]. slot_of: [n] -1 = none.

    node_in: [slots] -1 = free. oldest: [1].
    """

    rows: Floats
    slot_of: Integers
    node_in: Integers
    oldest: Integers


class Room(NamedTuple):
    """Work space. nodes, places: heaps. reached: [n] distances, touched: [n + 1] nodes to clear.

    tried: [m] who last tried a sample.
    """

    path_heap: Heap
    nodes: Heap
    places: Heap
    reached: Floats
    touched: Integers
    tried: Integers


@compiled
def settle(state: State, edge: Integers, row: int, status: int) -> None:
    """Give a waiting sample its last status and take it off its edge's list."""
    state.status[row] = status
    e = edge[row]
    state.waiting_count[e] -= 1
    last = state.waiting[state.edge_offsets[e] + state.waiting_count[e]]
    state.waiting[state.waiting_at[row]] = last
    state.waiting_at[last] = state.waiting_at[row]


@compiled
def neighbor(locations: Locations, state: State, row: int, step: int) -> int:
    """The sample before (step -1) or after (step 1) in the same trajectory that is not removed; -1 = none."""
    own = locations.owner[row]
    at = row + step
    while locations.offsets[own] <= at < locations.offsets[own + 1]:
        if state.status[at] != REMOVED:
            return at
        at += step
    return -1


@compiled
def fetch(roads: Roads, cache: Cache, bound_m: float, heap: Heap, node: int) -> int:
    """1 when the node's row had to be computed, which overwrote the oldest one; 0 when it was there."""
    if cache.slot_of[node] >= 0:
        return 0
    slot = cache.oldest[0]
    cache.oldest[0] = (slot + 1) % len(cache.node_in)
    if cache.node_in[slot] >= 0:
        cache.slot_of[cache.node_in[slot]] = -1
    cache.node_in[slot], cache.slot_of[node] = node, slot
    node_distances(roads, node, bound_m, heap, cache.rows[slot])
    return 1


@compiled
def fetch_ends(roads: Roads, cache: Cache, bound_m: float, heap: Heap, edges: Integers) -> None:
    """Have the rows of both ends of these edges (-1 = none) at hand at once.

    The cache holds more than twice as many.
    """
    missed = 1
    while missed > 0:
        missed = 0
        for e in edges:
            if e >= 0:
                missed += fetch(roads, cache, bound_m, heap, roads.u[e]) + fetch(
                    roads, cache, bound_m, heap, roads.v[e]
                )


@compiled
def path_length(roads: Roads, cache: Cache, locations: Locations, a: int, b: int) -> float:
    """Path length between the original places of samples a, whose ends are in the cache, and b.

    Inf beyond the bound of the rows.
    """
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
def offer(
    roads: Roads,
    locations: Locations,
    state: State,
    room: Room,
    e: int,
    node: int,
    base: float,
    wanted: tuple[int, float, float],
    size: int,
) -> int:
    """Push the waiting samples of an edge that the leader may take, at ``base`` from its end ``node``.

    The new size of the heap.

    wanted: the leading sample, the largest difference in time, the longest path.
    """
    leader, time_threshold_s, bound_m = wanted
    for i in range(state.edge_offsets[e], state.edge_offsets[e] + state.waiting_count[e]):
        row = state.waiting[i]
        if (
            locations.owner[row] != locations.owner[leader]
            and abs(locations.t[row] - locations.t[leader]) <= time_threshold_s
        ):
            from_u, from_v = locations.along[row], roads.length[e] - locations.along[row]
            if roads.u[e] == roads.v[e]:
                from_u = from_v = min(from_u, from_v)
            distance = base + (from_u if roads.u[e] == node else from_v)
            if distance <= bound_m:
                size = push(room.places, size, distance, row)
    return size


@compiled
def suits(
    roads: Roads,
    cache: Cache,
    locations: Locations,
    state: State,
    leader: int,
    row: int,
    around: Integers,
    both_sides: bool,
    bound_m: float,
) -> bool:
    """Whether leader and row may trade places.

    (3) (b) to (d) of Alg. 4, and the same for the row's own neighbors if both sides count.
    """
    for beside in around:
        if beside >= 0 and path_length(roads, cache, locations, state.place[beside], row) > bound_m:
            return False
    if both_sides:
        for step in (-1, 1):
            beside = neighbor(locations, state, row, step)
            if beside >= 0 and path_length(roads, cache, locations, leader, state.place[beside]) > bound_m:
                return False
    return True


@compiled
def begin_search(
    roads: Roads, locations: Locations, state: State, room: Room, wanted: tuple[int, float, float]
) -> tuple[int, int, int]:
    """Push the ends of the leader's own edge and what waits on it.

    The sizes of both heaps and how many nodes were touched.
    """
    leader, time_threshold_s, bound_m = wanted
    e, along = locations.edge[leader], locations.along[leader]
    n_nodes = n_places = n_touched = 0
    for node, distance in ((roads.u[e], along), (roads.v[e], roads.length[e] - along)):
        if distance < room.reached[node] and distance <= bound_m:
            room.reached[node] = distance
            room.touched[n_touched] = node
            n_touched += 1
            n_nodes = push(room.nodes, n_nodes, distance, node)
    for i in range(state.edge_offsets[e], state.edge_offsets[e] + state.waiting_count[e]):
        row = state.waiting[i]
        direct = abs(locations.along[row] - along)
        in_time = abs(locations.t[row] - locations.t[leader]) <= time_threshold_s
        if in_time and direct <= bound_m and locations.owner[row] != locations.owner[leader]:
            n_places = push(room.places, n_places, direct, row)
    return n_nodes, n_places, n_touched


@compiled
def is_new(locations: Locations, leader: int, members: Integers, row: int) -> bool:
    """Conditions (1) and (2): a place unlike the leader's and the members', of a trajectory unlike theirs."""
    if locations.x[row] == locations.x[leader] and locations.y[row] == locations.y[leader]:
        return False
    for other in members:
        if locations.owner[row] == locations.owner[other]:
            return False
        if locations.x[row] == locations.x[other] and locations.y[row] == locations.y[other]:
            return False
    return True


@compiled
def settle_node(
    roads: Roads,
    locations: Locations,
    state: State,
    room: Room,
    wanted: tuple[int, float, float],
    n_nodes: int,
    n_places: int,
    n_touched: int,
) -> tuple[int, int, int]:
    """Take the nearest node off its heap, offer what waits beside it and push its neighbors.

    The three sizes as they are then.
    """
    distance, node = room.nodes.distance[0], room.nodes.name[0]
    n_nodes = drop_top(room.nodes, n_nodes)
    if distance > room.reached[node]:
        return n_nodes, n_places, n_touched
    for i in range(roads.beside_offsets[node], roads.beside_offsets[node + 1]):
        edge, other = roads.beside[i], roads.across[i]
        n_places = offer(roads, locations, state, room, edge, node, distance, wanted, n_places)
        reached = distance + roads.length[edge]
        if reached <= wanted[2] and reached < room.reached[other]:
            if room.reached[other] == np.inf:
                room.touched[n_touched] = other
                n_touched += 1
            room.reached[other] = reached
            n_nodes = push(room.nodes, n_nodes, reached, other)
    return n_nodes, n_places, n_touched


@compiled
def nearest_partners(
    roads: Roads,
    cache: Cache,
    locations: Locations,
    state: State,
    room: Room,
    leader: int,
    time_threshold_s: float,
    bound_m: float,
    both_sides: bool,
    members: Integers,
) -> bool:
    """Fill members [k - 1] with the waiting samples nearest to the leader by path that satisfy (1) to (3) of Alg. 4; False = too few.

    Nodes come in the order of their distance; a sample on an edge is offered once from each end, and is final when no node that is
    still to come is nearer than it.
    """
    around = np.array([neighbor(locations, state, leader, -1), neighbor(locations, state, leader, 1)])
    edges = np.full(3, -1, dtype=np.int64)
    edges[0] = locations.edge[leader]
    for i in range(2):
        if around[i] >= 0:
            edges[1 + i] = locations.edge[state.place[around[i]]]
    fetch_ends(roads, cache, bound_m, room.path_heap, edges)
    wanted = (leader, time_threshold_s, bound_m)
    n_nodes, n_places, n_touched = begin_search(roads, locations, state, room, wanted)
    n_found = 0
    while (n_nodes > 0 or n_places > 0) and n_found < len(members):
        if n_places == 0 or (n_nodes > 0 and room.nodes.distance[0] < room.places.distance[0]):
            n_nodes, n_places, n_touched = settle_node(
                roads, locations, state, room, wanted, n_nodes, n_places, n_touched
            )
            continue
        row = room.places.name[0]
        n_places = drop_top(room.places, n_places)
        if room.tried[row] != leader:
            room.tried[row] = leader
            if is_new(locations, leader, members[:n_found], row) and suits(
                roads, cache, locations, state, leader, row, around, both_sides, bound_m
            ):
                members[n_found] = row
                n_found += 1
    for i in range(n_touched):
        room.reached[room.touched[i]] = np.inf
    return n_found == len(members)


@compiled
def trade_places(
    roads: Roads,
    cache: Cache,
    locations: Locations,
    state: State,
    room: Room,
    subjects: Integers,
    draws: Integers,
    time_threshold_s: float,
    bound_m: float,
    both_sides: bool,
    n_sets: int,
    leaders: Integers,
    members: Integers,
) -> int:
    """Let these trajectories lead in turn; the new number of sets.

    draws: [m] uniform in 0..k-1, 0 = the leader keeps its place.

    Set: leaders [m], members [m, k - 1] of each set in the order of the run, and the state.
    """
    for subject in subjects:
        for row in range(locations.offsets[subject], locations.offsets[subject + 1]):
            if state.status[row] != UNSWAPPED:
                continue
            if not nearest_partners(
                roads,
                cache,
                locations,
                state,
                room,
                row,
                time_threshold_s,
                bound_m,
                both_sides,
                members[n_sets],
            ):
                settle(state, locations.edge, row, REMOVED)
                continue
            settle(state, locations.edge, row, SWAPPED)
            leaders[n_sets] = row
            if draws[row] > 0:
                partner = members[n_sets, draws[row] - 1]
                settle(state, locations.edge, partner, SWAPPED)
                state.place[row], state.place[partner] = partner, row
            n_sets += 1
    return n_sets
