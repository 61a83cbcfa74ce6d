"""Publish swapped points, with a trace of their sources."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shoal.methods.assembly import PointRecords, assemble_points
from shoal.methods.method import Method
from shoal.model.omission import NOTHING_SWAPPED
from shoal.model.release import Linkage, Points, Release
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness


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


def publish_exchange(
    method: Method, original: Trajectories, exchange: Exchange, rng: Randomness
) -> tuple[Release, Linkage]:
    """The release, and its linkage with the trace."""
    members, counts = np.unique(exchange.record_of, return_counts=True)
    release, linkage, rows = assemble_points(
        original,
        PointRecords(
            members=members,
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            points=_points_of(original, exchange.time_from, exchange.place_from),
            stands_for=exchange.time_from,
        ),
        claim=method.claim(),
        method=method.about.name,
        parameters=method.parameters(),
        rng=rng,
    )
    time_from, place_from = exchange.time_from[rows], exchange.place_from[rows]
    trace = Trace(
        time_from=time_from,
        place_from=place_from,
        swap_set=exchange.swap_set[time_from],
        set_offsets=exchange.set_offsets,
        set_rows=exchange.set_rows,
        place_of=_people_at(original, place_from),
        facts=exchange.facts,
        streets=exchange.streets,
    )
    return _with_reasons(release, exchange.left_out), replace(linkage, trace=trace)


def _people_at(original: Trajectories, rows: Integers) -> tuple[str, ...]:
    owners = np.searchsorted(original.offsets, rows, side="right") - 1
    return tuple(original.ids[i] for i in owners.tolist())


def _points_of(original: Trajectories, time_from: Integers, place_from: Integers) -> Points:
    degrees = (
        {}
        if original.lat is None or original.lon is None
        else {"lat": original.lat[place_from], "lon": original.lon[place_from]}
    )
    return Points(t=original.t[time_from], x=original.x[place_from], y=original.y[place_from], **degrees)


def _with_reasons(release: Release, left_out: Mapping[str, int]) -> Release:
    rest = release.losses.subjects_suppressed - sum(left_out.values())
    reasons = {reason: count for reason, count in {**left_out, NOTHING_SWAPPED: rest}.items() if count}
    return replace(release, losses=replace(release.losses, subjects_by_reason=reasons))
