"""The verifier's own compiled loops over streets: where points lie on the graph, and shortest paths."""

import heapq

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled


@compiled
def nearest_edges(
    x: Floats,
    y: Floats,
    most_m: float,
    pieces: Floats,
    edge_of_piece: Integers,
    widest_m: float,
    edge: Integers,
    share: Floats,
) -> None:
    """Set edge and share [m] of the nearest point on any edge within ``most_m``, -1 = none.

    Ties go to the smaller edge. pieces: [p, 6] by their least x: x0, y0, x1, y1 and the shares of their edge
    at both ends; edge_of_piece:
    [p].
    """
    left = np.minimum(pieces[:, 0], pieces[:, 2])
    for i in range(len(x)):
        best = most_m * most_m
        begin = np.searchsorted(left, x[i] - most_m - widest_m)
        for p in range(begin, len(left)):
            if left[p] > x[i] + most_m:
                break
            x0, y0, x1, y1, from_share, to_share = pieces[p]
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2
            along = 0.0
            if length > 0:
                along = max(0.0, min(1.0, ((x[i] - x0) * (x1 - x0) + (y[i] - y0) * (y1 - y0)) / length))
            square = (x0 + along * (x1 - x0) - x[i]) ** 2 + (y0 + along * (y1 - y0) - y[i]) ** 2
            if square < best or (square == best and (edge[i] < 0 or edge_of_piece[p] < edge[i])):
                best, edge[i], share[i] = (
                    square,
                    edge_of_piece[p],
                    from_share + along * (to_share - from_share),
                )


@compiled
def answer_paths(
    first: Integers,
    neighbor: Integers,
    length: Floats,
    bound_m: float,
    query_offsets: Integers,
    query: Integers,
    to_source: Floats,
    end_u: Integers,
    end_v: Integers,
    to_u: Floats,
    to_v: Floats,
    found: Floats,
) -> None:
    """Lower found [q] to the path lengths of questions that start through each node, as far as the bound.

    first: [n + 1], node i has neighbor[first[i]] to neighbor[first[i + 1]] at length. Node i is asked
    query[query_offsets[i]] to query[query_offsets[i + 1]]: question number, with to_source meters from the
    node to the start. end_u, end_v, to_u, to_v: [q], the nodes at both ends of the goal's edge and the goal's
    meters from them.
    """
    distance = np.full(len(first) - 1, np.inf)
    for source in range(len(first) - 1):
        if query_offsets[source] == query_offsets[source + 1]:
            continue
        distance[:] = np.inf
        distance[source] = 0.0
        waiting = [(0.0, source)]
        while len(waiting) > 0:
            here, node = heapq.heappop(waiting)
            if here > distance[node]:
                continue
            for i in range(first[node], first[node + 1]):
                there = here + length[i]
                if there <= bound_m and there < distance[neighbor[i]]:
                    distance[neighbor[i]] = there
                    heapq.heappush(waiting, (there, neighbor[i]))
        for place in range(query_offsets[source], query_offsets[source + 1]):
            q = query[place]
            onward = min(distance[end_u[q]] + to_u[q], distance[end_v[q]] + to_v[q])
            found[q] = min(found[q], to_source[place] + onward)


@compiled
def questions_of_run(
    set_offsets: Integers,
    set_rows: Integers,
    took: Integers,
    offsets: Integers,
    owner: Integers,
    on_street: Flags,
    published: Flags,
    both_sides: bool,
    start: Integers,
    goal: Integers,
    set_of: Integers,
) -> int:
    """Replay the run and ask for every path that Alg. 4 had to find short; returns how many.

    Sets start and goal (rows) and set_of (the set). took: [s], the row whose place the leader took. At a
    set's turn the rows before its leader are settled, so those not published are gone; all others on a street
    are still there.
    """
    place = np.arange(len(owner))
    n = 0
    for s in range(len(set_offsets) - 1):
        leader = set_rows[set_offsets[s]]
        for i in range(set_offsets[s] + 1, set_offsets[s + 1]):
            member = set_rows[i]
            start[n], goal[n], set_of[n] = leader, member, s
            n += 1
            for row, other in ((leader, member), (member, leader)):
                if row == member and not both_sides:
                    continue
                for step in (-1, 1):
                    at = row + step
                    while offsets[owner[row]] <= at < offsets[owner[row] + 1]:
                        if on_street[at] and (published[at] or row == member or step == 1):
                            start[n], goal[n], set_of[n] = place[at], other, s
                            n += 1
                            break
                        at += step
        if took[s] != leader:
            place[leader], place[took[s]] = took[s], leader
    return n
