"""Group trajectories, and publish the points that were exchanged in groups, with a trace of their sources.

Grouping is MDAV with medoids, or the greedy clustering of Sec. 7.1.1. Distances have no centroid, so the
middle is the medoid, with the least sum of distances. Up to k - 1 trajectories remain and join the group to
which they add least. Ties go to the first.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.kernels.shortest_paths import Distances, distances_among, distances_from
from shoal.kernels.swap_sets import form_groups
from shoal.methods.assembly import PointRecords, assemble_points
from shoal.methods.method import Method
from shoal.model.omission import NOTHING_SWAPPED
from shoal.model.release import Points, Released
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness

Clustering = Literal["greedy", "mdav"]
CLUSTERING: Final[tuple[str, ...]] = get_args(Clustering)


def microaggregate(distances: Floats, k: int) -> list[Integers]:
    """MDAV: groups of k to 2 k - 1 positions, each ascending, that cover everybody."""
    # distances: [n, n], symmetric, finite, with n >= k
    ungrouped = np.ones(len(distances), dtype=np.bool_)
    groups = _mdav(distances, k, ungrouped)
    return add_leftovers(groups, np.flatnonzero(ungrouped), lambda position: distances[position])


def microaggregate_graph(distances: Distances, members: Integers, k: int) -> list[Integers]:
    """As ``microaggregate``, but greedily, without a matrix, of ascending members joined by paths, >= k."""
    ungrouped = np.zeros(len(distances.direct.offsets) - 1, dtype=np.bool_)
    ungrouped[members] = True
    groups = list(form_groups(distances, k, ungrouped))
    return add_leftovers(
        groups,
        np.flatnonzero(ungrouped),
        lambda position: distances_from(distances, position, position + 1)[0],
    )


def add_leftovers(
    groups: list[Integers], leftover: Integers, distances: Callable[[int], Floats]
) -> list[Integers]:
    """The groups, each ascending, with each of the rest in the one to which it adds least."""
    grown = [[group] for group in groups]
    for position in leftover.tolist():
        apart = distances(position)
        grown[int(np.argmin([apart[group].sum() for group in groups]))].append(np.array([position]))
    return [np.sort(np.concatenate(parts)) for parts in grown]


def distances_within_graph(distances: Distances, groups: list[Integers]) -> float:
    """As ``distances_within``, without a matrix."""
    return float(sum(distances_among(distances, group).sum() for group in groups) / 2)


def distances_within(distances: Floats, groups: list[Integers]) -> float:
    """Sum of the distances of all pairs within a group."""
    return float(sum(distances[np.ix_(group, group)].sum() for group in groups) / 2)


def _mdav(distances: Floats, k: int, ungrouped: npt.NDArray[np.bool_]) -> list[Integers]:
    """The farthest from the medoid and its k - 1 nearest, then the farthest from it; clears ``ungrouped``."""
    groups: list[Integers] = []
    to_all = distances.sum(axis=0)
    extreme: int | None = None
    while np.count_nonzero(ungrouped) >= k:
        if extreme is None:
            extreme = int(np.argmin(np.where(ungrouped, to_all, np.inf)))
        seed = int(np.argmax(np.where(ungrouped, distances[extreme], -1.0)))
        to_seed = np.where(ungrouped, distances[seed], np.inf)
        to_seed[seed] = -1.0
        group = np.argsort(to_seed, kind="stable")[:k]
        groups.append(group)
        ungrouped[group] = False
        to_all -= distances[group].sum(axis=0)
        extreme = seed if len(groups) % 2 else None
    return groups


@dataclass(frozen=True, eq=False, kw_only=True)
class Exchange:
    """Set s is set_rows[set_offsets[s] : set_offsets[s + 1]], the leader first."""

    record_of: Integers  # [p] ascending, the subject whose record holds each point
    time_from: Integers  # [p], raw sample of its time
    place_from: Integers  # [p], raw sample of its place
    swap_set: Integers  # [m], the set of each raw sample, -1 = none
    set_offsets: Integers
    set_rows: Integers
    facts: Mapping[str, float]  # figures of the run
    left_out: Mapping[str, int]  # subjects suppressed before swapping, by reason
    streets: StreetGraph | None = None


def publish_exchange(method: Method, original: Trajectories, exchange: Exchange, rng: Randomness) -> Released:
    """The release, and its linkage with the trace."""
    members, counts = np.unique(exchange.record_of, return_counts=True)
    release, linkage, rows = assemble_points(
        original,
        PointRecords(
            members=members,
            offsets=offsets_of(counts),
            points=_points_of(original, exchange.time_from, exchange.place_from),
            stands_for=exchange.time_from,
        ),
        method,
        rng,
    )
    time_from, place_from = exchange.time_from[rows], exchange.place_from[rows]
    owners = np.searchsorted(original.offsets, place_from, side="right") - 1
    rest = release.losses.subjects_suppressed - sum(exchange.left_out.values())
    reasons = {
        reason: count for reason, count in {**exchange.left_out, NOTHING_SWAPPED: rest}.items() if count
    }
    trace = Trace(
        time_from=time_from,
        place_from=place_from,
        swap_set=exchange.swap_set[time_from],
        set_offsets=exchange.set_offsets,
        set_rows=exchange.set_rows,
        place_of=tuple(original.ids[owner] for owner in owners.tolist()),
        facts=exchange.facts,
        streets=exchange.streets,
    )
    losses = replace(release.losses, subjects_by_reason=reasons)
    return replace(release, losses=losses), replace(linkage, trace=trace)


def _points_of(original: Trajectories, time_from: Integers, place_from: Integers) -> Points:
    degrees = (
        {}
        if original.lat is None or original.lon is None
        else {"lat": original.lat[place_from], "lon": original.lon[place_from]}
    )
    return Points(t=original.t[time_from], x=original.x[place_from], y=original.y[place_from], **degrees)
