"""Shortest paths with symmetric lengths, by resumable Dijkstra searches."""

from typing import NamedTuple

import numpy as np

from shoal.runtime.arrays import Floats, Integers, Numbers
from shoal.runtime.compiled import compiled


class Edges(NamedTuple):
    """Both directions; node i has offsets[i] to offsets[i + 1]. to: int32."""

    offsets: Integers
    to: Numbers
    length: Floats


class Distances(NamedTuple):
    """The length of an edge where it counts directly, else of the shortest path."""

    direct: Edges  # all edges
    needed: Edges  # edges that shortest paths use
    keeps_direct: bool  # edges count directly


class Searches(NamedTuple):
    """Simultaneous searches, one a row; [s, n]."""

    value: Floats  # final distance from the search's node, inf = unknown
    away: Floats  # the shortest path so far
    waiting: Integers  # a heap of reached nodes
    place: Integers  # of each node in the heap, -1 = never reached, -2 = done
    size: Integers  # [s], of the heaps


@compiled
def symmetric_edges(counts: Integers, to: Numbers, length: Floats) -> Edges:
    """Both directions of edges that lead only to later nodes."""
    n = len(counts)
    offsets = np.zeros(n + 1, dtype=np.int64)
    edge = 0
    for i in range(n):
        offsets[i + 1] += counts[i]
        for _ in range(counts[i]):
            offsets[to[edge] + 1] += 1
            edge += 1
    offsets = np.cumsum(offsets)
    filled, edge = offsets[:-1].copy(), 0
    whole_to, whole_length = np.empty(2 * len(to), dtype=np.int32), np.empty(2 * len(to))
    for i in range(n):
        for _ in range(counts[i]):
            j = to[edge]
            whole_to[filled[i]], whole_length[filled[i]] = j, length[edge]
            whole_to[filled[j]], whole_length[filled[j]] = i, length[edge]
            filled[i] += 1
            filled[j] += 1
            edge += 1
    return Edges(offsets, whole_to, whole_length)


@compiled
def components(edges: Edges) -> Integers:
    """Components, numbered by their first nodes."""
    n = len(edges.offsets) - 1
    component, waiting, count = np.full(n, -1), np.empty(n, dtype=np.int64), 0
    for first in range(n):
        if component[first] >= 0:
            continue
        component[first], waiting[0], size = count, first, 1
        while size > 0:
            size -= 1
            node = waiting[size]
            for neighbor in edges.to[edges.offsets[node] : edges.offsets[node + 1]]:
                if component[neighbor] < 0:
                    component[neighbor], waiting[size] = count, neighbor
                    size += 1
        count += 1
    return component


@compiled
def shortest_path_edges(edges: Edges, begin: int, end: int) -> tuple[Integers, Numbers, Floats]:
    """The edges of nodes begin to end that no path of two edges undercuts, by length."""
    # Counts, targets, lengths. A dropped edge is longer than a path of remaining edges.
    counts = np.zeros(end - begin, dtype=np.int64)
    room = edges.offsets[end] - edges.offsets[begin]
    to, length = np.empty(room, dtype=np.int32), np.empty(room)
    least = np.empty(len(edges.offsets) - 1)
    filled = 0
    for i in range(begin, end):
        first = edges.offsets[i]
        least[:] = np.inf  # of paths through a nearer node
        for position in np.argsort(edges.length[first : edges.offsets[i + 1]]):
            near, apart = edges.to[first + position], edges.length[first + position]
            if least[near] < apart:
                continue
            to[filled], length[filled] = near, apart
            filled += 1
            counts[i - begin] += 1
            for onward in range(edges.offsets[near], edges.offsets[near + 1]):
                least[edges.to[onward]] = min(least[edges.to[onward]], apart + edges.length[onward])
    return counts, to[:filled].copy(), length[:filled].copy()


@compiled
def begin_search(distances: Distances, searches: Searches, row: int, node: int) -> None:
    """Begin a search; edges that count directly are known at once."""
    searches.value[row] = np.inf
    searches.away[row] = np.inf
    searches.place[row] = -1
    searches.away[row, node] = 0.0
    searches.waiting[row, 0], searches.place[row, node], searches.size[row] = node, 0, 1
    if distances.keeps_direct:
        direct = distances.direct
        for edge in range(direct.offsets[node], direct.offsets[node + 1]):
            searches.value[row, direct.to[edge]] = direct.length[edge]


@compiled
def search_radius(searches: Searches, row: int) -> float:
    """Distance of the next node of a search, inf = none."""
    if searches.size[row] == 0:
        return np.inf
    return float(searches.away[row, searches.waiting[row, 0]])


@compiled
def settle_next(distances: Distances, searches: Searches, row: int) -> int:
    """The next node of a search; its distance is final."""
    away, waiting, place = searches.away[row], searches.waiting[row], searches.place[row]
    node = waiting[0]
    searches.size[row] -= 1
    size = searches.size[row]
    if size > 0:
        last, at = waiting[size], 0
        while 2 * at + 1 < size:
            below = 2 * at + 1
            if below + 1 < size and away[waiting[below + 1]] < away[waiting[below]]:
                below += 1
            if away[waiting[below]] >= away[last]:
                break
            waiting[at], place[waiting[below]] = waiting[below], at
            at = below
        waiting[at], place[last] = last, at
    place[node] = -2
    if searches.value[row, node] == np.inf:
        searches.value[row, node] = away[node]
    needed = distances.needed
    for edge in range(needed.offsets[node], needed.offsets[node + 1]):
        neighbor, far = needed.to[edge], away[node] + needed.length[edge]
        if far < away[neighbor]:
            away[neighbor] = far
            at = place[neighbor]
            if at < 0:
                at = searches.size[row]
                searches.size[row] += 1
            while at > 0 and away[waiting[(at - 1) // 2]] > far:
                waiting[at] = waiting[(at - 1) // 2]
                place[waiting[at]] = at
                at = (at - 1) // 2
            waiting[at], place[neighbor] = neighbor, at
    return int(node)


@compiled
def empty_searches(count: int, n: int) -> Searches:
    """Space for ``count`` searches among n nodes."""
    numbers, places = np.empty((count, n)), np.empty((count, n), dtype=np.int64)
    return Searches(numbers, numbers.copy(), places, places.copy(), np.zeros(count, dtype=np.int64))


@compiled
def distances_among(distances: Distances, nodes: Integers) -> Floats:
    """[m, m] distances between these nodes."""
    searches = empty_searches(1, len(distances.direct.offsets) - 1)
    matrix, value = np.zeros((len(nodes), len(nodes))), searches.value[0]
    for i in range(len(nodes)):
        begin_search(distances, searches, 0, nodes[i])
        for j in range(i + 1, len(nodes)):
            while value[nodes[j]] == np.inf and searches.size[0] > 0:
                settle_next(distances, searches, 0)
            matrix[i, j] = matrix[j, i] = value[nodes[j]]
    return matrix


@compiled
def distances_from(distances: Distances, begin: int, end: int) -> Floats:
    """[end - begin, n] distances to all."""
    n = len(distances.direct.offsets) - 1
    rows, searches = np.empty((end - begin, n)), empty_searches(1, n)
    for node in range(begin, end):
        begin_search(distances, searches, 0, node)
        while searches.size[0] > 0:
            settle_next(distances, searches, 0)
        rows[node - begin] = searches.value[0]
        rows[node - begin, node] = 0.0
    return rows
