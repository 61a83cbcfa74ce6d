"""Paths along streets in a release of ReachLocations: those that must be short, and the published steps."""

import heapq
from collections.abc import Iterator

import numpy as np

from shoal.model.claims import LocationPrivacy
from shoal.model.release import Release
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled
from shoal.units import counted

_ROUNDING = 1e-9  # sums along a path in another order differ in the last digits


class PathLengths:
    """Path lengths between raw samples along a street graph in their plane.

    most_m: how far from a street a sample may lie, in meters; edge: [samples] the nearest edge, -1 = none so
    near.
    """

    def __init__(self, streets: StreetGraph, x: Floats, y: Floats, most_m: float) -> None:
        self.streets = streets
        pieces, edge_of_piece = _pieces(streets)
        self.edge, share = np.full(len(x), -1, dtype=np.int64), np.zeros(len(x))
        widest_m = float(np.abs(pieces[:, 2] - pieces[:, 0]).max(initial=0))
        nearest_edges(x, y, most_m, pieces, edge_of_piece, widest_m, self.edge, share)
        self.from_u = share * streets.length_m[self.edge]
        self.from_v = streets.length_m[self.edge] - self.from_u

    def between(self, start: Integers, goal: Integers, bound_m: float) -> Floats:
        """[q] path lengths from sample to sample, inf beyond the bound."""
        u, v, length = self.streets.u, self.streets.v, self.streets.length_m
        ends = np.concatenate([u, v])
        order = np.argsort(ends, kind="stable")
        first = np.searchsorted(ends[order], np.arange(self.streets.n_nodes + 1)).astype(np.int64)
        e, f, numbers = self.edge[start], self.edge[goal], np.arange(len(start))
        found = np.where(e == f, np.abs(self.from_u[start] - self.from_u[goal]), np.inf)
        source, query = np.concatenate([u[e], v[e]]), np.concatenate([numbers, numbers])
        to_source = np.concatenate([self.from_u[start], self.from_v[start]])
        by_node = np.argsort(source, kind="stable")
        offsets = np.searchsorted(source[by_node], np.arange(self.streets.n_nodes + 1)).astype(np.int64)
        answer_paths(
            first,
            np.concatenate([v, u])[order],
            np.tile(length, 2)[order],
            bound_m,
            offsets,
            query[by_node],
            to_source[by_node],
            u[f],
            v[f],
            self.from_u[goal],
            self.from_v[goal],
            found,
        )
        return found


def path_findings(
    claim: LocationPrivacy,
    original: Trajectories,
    release: Release,
    trace: Trace,
    streets: StreetGraph,
    notes: list[str],
) -> Iterator[Finding]:
    """Sets with a point too far from every street, or with a path longer than the claim's threshold.

    trace: found sound. notes: gain how many published steps are longer.
    """
    lengths_of = PathLengths(streets.on_plane(original.crs), original.x, original.y, claim.most_off_street_m)
    on_street = lengths_of.edge >= 0
    if not on_street[trace.set_rows].all():
        count = int(np.count_nonzero(~on_street[trace.set_rows]))
        yield Finding(
            "off-street",
            f"{counted(count, 'point of a swap set is', 'points of swap sets are')} farther from every "
            f"street than the {claim.most_off_street_m:g} m claimed",
        )
        return
    published = np.zeros(original.n_samples, dtype=np.bool_)
    published[trace.time_from] = True
    took = np.arange(original.n_samples)
    took[trace.time_from] = trace.place_from
    most = 5 * len(trace.set_rows)
    start, goal, set_of = (np.empty(most, dtype=np.int64) for _ in range(3))
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    n = questions_of_run(
        trace.set_offsets,
        trace.set_rows,
        took[trace.leaders],
        original.offsets,
        owner,
        on_street,
        published,
        claim.both_sides,
        start,
        goal,
        set_of,
    )
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    step = np.flatnonzero(np.diff(record) == 0)
    bound_m = claim.space_threshold_m * (1 + _ROUNDING)
    lengths = lengths_of.between(
        np.concatenate([start[:n], trace.place_from[step]]),
        np.concatenate([goal[:n], trace.place_from[step + 1]]),
        bound_m,
    )
    too_long = lengths > bound_m
    bad = np.unique(set_of[:n][too_long[:n]])
    if len(bad):
        yield Finding(
            "path-too-long",
            f"{len(bad)} swap sets, number {bad[0] + 1} the first, need a path along the streets beyond the "
            "space threshold",
        )
    notes.append(
        f"{np.count_nonzero(too_long[n:]):,} of {len(step):,} published steps are longer along the streets "
        "than the space threshold: neighbors that were removed, or traded on, later are not looked at again"
    )


def _pieces(streets: StreetGraph) -> tuple[Floats, Integers]:
    """All straight pieces by their least x, [p, 6] with shares of their edge at both ends; their edges."""
    rows, edges = [], []
    for e in range(streets.n_edges):
        own = slice(streets.shape_offsets[e], streets.shape_offsets[e + 1])
        x, y = streets.shape_x[own], streets.shape_y[own]
        reached = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        shares = reached / reached[-1] if reached[-1] > 0 else np.zeros(len(x))
        rows.append(np.column_stack([x[:-1], y[:-1], x[1:], y[1:], shares[:-1], shares[1:]]))
        edges.append(np.full(len(x) - 1, e))
    pieces, edge_of_piece = np.concatenate(rows), np.concatenate(edges)
    order = np.argsort(np.minimum(pieces[:, 0], pieces[:, 2]), kind="stable")
    return np.ascontiguousarray(pieces[order]), edge_of_piece[order].astype(np.int64)


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
