"""What SwapLocations and ReachLocations publish: true times and places under other people's records.

The release goes with a trace of which raw sample gave the time and which the place of each point.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.methods.assembly import assemble_points
from shoal.model.claims import Claim
from shoal.model.omission import NOTHING_SWAPPED
from shoal.model.release import Linkage, Points, Release
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness


@dataclass(frozen=True, eq=False, kw_only=True)
class Exchange:
    """The outcome of swapping.

    record_of: int64 [p], ascending, the subject whose record each point is in; time_from, place_from: int64
    [p], the raw samples that gave its time and its place. swap_set: int64 [m], the set in which a raw sample
    was swapped, -1 = none. Set s has the raw samples set_rows[set_offsets[s]:set_offsets[s + 1]], the leading
    one first.
    """

    record_of: Integers
    time_from: Integers
    place_from: Integers
    swap_set: Integers
    set_offsets: Integers
    set_rows: Integers


def publish_exchange(
    original: Trajectories,
    exchange: Exchange,
    *,
    claim: Claim,
    method: str,
    parameters: Mapping[str, Any],
    facts: Mapping[str, float],
    left_out: Mapping[str, int],
    rng: Randomness,
    streets: StreetGraph | None = None,
) -> tuple[Release, Linkage]:
    """The release, and the linkage with its trace.

    left_out: subjects suppressed before anything was swapped, by reason; other suppressed subjects had no
    swapped point. Raises NothingLeftError when nothing was swapped.
    """
    members, counts = np.unique(exchange.record_of, return_counts=True)
    release, linkage, rows = assemble_points(
        original,
        members,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        _points_of(original, exchange.time_from, exchange.place_from),
        claim=claim,
        method=method,
        parameters=parameters,
        stands_for=exchange.time_from,
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
        facts=facts,
        streets=streets,
    )
    return _with_reasons(release, left_out), replace(linkage, trace=trace)


def _people_at(original: Trajectories, rows: Integers) -> tuple[str, ...]:
    """The subject of each of these raw samples."""
    owners = np.searchsorted(original.offsets, rows, side="right") - 1
    return tuple(original.ids[i] for i in owners.tolist())


def _points_of(original: Trajectories, time_from: Integers, place_from: Integers) -> Points:
    """Points with the times of some raw samples and the places of others."""
    degrees = (
        {}
        if original.lat is None or original.lon is None
        else {"lat": original.lat[place_from], "lon": original.lon[place_from]}
    )
    return Points(t=original.t[time_from], x=original.x[place_from], y=original.y[place_from], **degrees)


def _with_reasons(release: Release, left_out: Mapping[str, int]) -> Release:
    """The release with its suppressed subjects by reason."""
    rest = release.losses.subjects_suppressed - sum(left_out.values())
    reasons = {reason: count for reason, count in {**left_out, NOTHING_SWAPPED: rest}.items() if count}
    return replace(release, losses=replace(release.losses, subjects_by_reason=reasons))
