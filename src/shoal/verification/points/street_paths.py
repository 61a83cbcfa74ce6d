"""Check paths along streets: required short paths, and the published steps."""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

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

_ROUNDING = 1e-9  # of sums in another order


class Graph(NamedTuple):
    """Node i has neighbor[first[i]] to neighbor[first[i + 1]], at these lengths in meters."""

    first: Integers
    neighbor: Integers
    length: Floats


class Starts(NamedTuple):
    """Node i is asked question[offsets[i]] to question[offsets[i + 1]], each so far from its start."""

    offsets: Integers
    question: Integers
    to_node_m: Floats


class Goals(NamedTuple):
    """For each question, the nodes at the goal's edge, and its distances from them."""

    u: Integers
    v: Integers
    to_u_m: Floats
    to_v_m: Floats


class SwapRun(NamedTuple):
    """Set s holds set_rows[set_offsets[s]:set_offsets[s + 1]], its leader first."""

    set_offsets: Integers
    set_rows: Integers
    took: Integers  # [sets] the row whose place the leader took
    offsets: Integers  # [subjects + 1]
    owner: Integers  # owner, on_street, published: [samples]
    on_street: Flags
    published: Flags


class PathLengths:
    """Path lengths between raw samples."""

    def __init__(self, streets: StreetGraph, x: Floats, y: Floats, most_m: float) -> None:
        self.streets = streets
        pieces, edge_of_piece = _pieces(streets)
        self.edge, share = np.full(len(x), -1, dtype=np.int64), np.zeros(len(x))
        widest_m = float(np.abs(pieces[:, 2] - pieces[:, 0]).max(initial=0))
        nearest_edges(x, y, most_m, pieces, edge_of_piece, widest_m, self.edge, share)
        self.from_u = share * streets.length_m[self.edge]
        self.from_v = streets.length_m[self.edge] - self.from_u

    def between(self, start: Integers, goal: Integers, bound_m: float) -> Floats:
        """[q] path lengths, inf beyond the bound."""
        u, v, length = self.streets.u, self.streets.v, self.streets.length_m
        ends = np.concatenate([u, v])
        order = np.argsort(ends, kind="stable")
        first = np.searchsorted(ends[order], np.arange(self.streets.n_nodes + 1)).astype(np.int64)
        e, f, numbers = self.edge[start], self.edge[goal], np.arange(len(start))
        lengths = np.where(e == f, np.abs(self.from_u[start] - self.from_u[goal]), np.inf)
        source, query = np.concatenate([u[e], v[e]]), np.concatenate([numbers, numbers])
        to_source = np.concatenate([self.from_u[start], self.from_v[start]])
        by_node = np.argsort(source, kind="stable")
        offsets = np.searchsorted(source[by_node], np.arange(self.streets.n_nodes + 1)).astype(np.int64)
        find_path_lengths(
            Graph(first, np.concatenate([v, u])[order], np.tile(length, 2)[order]),
            bound_m,
            Starts(offsets, query[by_node], to_source[by_node]),
            Goals(u[f], v[f], self.from_u[goal], self.from_v[goal]),
            lengths,
        )
        return lengths


def path_findings(
    claim: LocationPrivacy,
    original: Trajectories,
    release: Release,
    trace: Trace,
    streets: StreetGraph,
    notes: list[str],
) -> Iterator[Finding]:
    """Sets with a point far from streets, or a path above the claim's threshold."""
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
    run = SwapRun(
        trace.set_offsets, trace.set_rows, took[trace.leaders], original.offsets, owner, on_street, published
    )
    n = list_path_questions(run, claim.both_sides, start, goal, set_of)
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
    rows, edges = [], []
    for e in range(streets.n_edges):
        shape = slice(streets.shape_offsets[e], streets.shape_offsets[e + 1])
        x, y = streets.shape_x[shape], streets.shape_y[shape]
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
    """Set edge and share [m] of the nearest point on an edge within ``most_m`` (ties: lower), -1 = none."""
    least_x = np.minimum(pieces[:, 0], pieces[:, 2])
    for i in range(len(x)):
        best = most_m * most_m
        begin = np.searchsorted(least_x, x[i] - most_m - widest_m)
        for p in range(begin, len(least_x)):
            if least_x[p] > x[i] + most_m:
                break
            x0, y0, x1, y1, from_share, to_share = pieces[p]
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2
            along = 0.0
            if length > 0:
                along = max(0.0, min(1.0, ((x[i] - x0) * (x1 - x0) + (y[i] - y0) * (y1 - y0)) / length))
            square = (x0 + along * (x1 - x0) - x[i]) ** 2 + (y0 + along * (y1 - y0) - y[i]) ** 2
            if square < best or (square == best and (edge[i] < 0 or edge_of_piece[p] < edge[i])):
                best, edge[i] = square, edge_of_piece[p]
                share[i] = from_share + along * (to_share - from_share)


@compiled
def find_path_lengths(graph: Graph, bound_m: float, starts: Starts, goals: Goals, answers: Floats) -> None:
    """Lower answers [q] to path lengths through each node, up to a bound."""
    distance = np.full(len(graph.first) - 1, np.inf)
    for source in range(len(graph.first) - 1):
        if starts.offsets[source] == starts.offsets[source + 1]:
            continue
        distance[:] = np.inf
        distance[source] = 0.0
        waiting = [(0.0, source)]
        while len(waiting) > 0:
            reached, node = heapq.heappop(waiting)
            if reached > distance[node]:
                continue
            for i in range(graph.first[node], graph.first[node + 1]):
                next_distance = reached + graph.length[i]
                if next_distance <= bound_m and next_distance < distance[graph.neighbor[i]]:
                    distance[graph.neighbor[i]] = next_distance
                    heapq.heappush(waiting, (next_distance, graph.neighbor[i]))
        for position in range(starts.offsets[source], starts.offsets[source + 1]):
            q = starts.question[position]
            onward = min(distance[goals.u[q]] + goals.to_u_m[q], distance[goals.v[q]] + goals.to_v_m[q])
            answers[q] = min(answers[q], starts.to_node_m[position] + onward)


@compiled
def list_path_questions(
    run: SwapRun, both_sides: bool, start: Integers, goal: Integers, set_of: Integers
) -> int:
    """Replay the run and list every path that Alg. 4 had to find short; return their number.

    Rows before a set's leader are settled at its turn; all others on a street are still there.
    """
    place = np.arange(len(run.owner))
    n = 0
    for s in range(len(run.set_offsets) - 1):
        leader = run.set_rows[run.set_offsets[s]]
        for i in range(run.set_offsets[s] + 1, run.set_offsets[s + 1]):
            member = run.set_rows[i]
            start[n], goal[n], set_of[n] = leader, member, s
            n += 1
            for row, other in ((leader, member), (member, leader)):
                if row == member and not both_sides:
                    continue
                for step in (-1, 1):
                    at = row + step
                    while run.offsets[run.owner[row]] <= at < run.offsets[run.owner[row] + 1]:
                        if run.on_street[at] and (run.published[at] or row == member or step == 1):
                            start[n], goal[n], set_of[n] = place[at], other, s
                            n += 1
                            break
                        at += step
        if run.took[s] != leader:
            place[leader], place[run.took[s]] = run.took[s], leader
    return n
