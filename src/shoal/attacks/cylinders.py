"""Infer the cylinders of a (k, delta)-co-located release from its points alone.

A person outside a cylinder was moved straight toward its middle and stands at its edge: three such people
determine the middle, and two of a crowd of two. Lines through a record's points at one place cross there.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget, PointTarget
from shoal.kernels.cylinder_middles import find_middles
from shoal.kernels.moved_inward import Errors, link_moved_points_with_errors, undo_moves
from shoal.kernels.passing import KnownPoints, Lines
from shoal.model.claims import KDeltaAnonymity
from shoal.model.grid import snap_points
from shoal.model.release import Points, Release
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

PARTS: Final = 10  # of victims, where rules on cells and on moved points win about as much
_RECORDS: Final = 20  # undone at once
_VICTIMS: Final = 50
_SLACK_M: Final = 0.01  # what writing a place as degrees may move it


class Cylinders(NamedTuple):
    """Records and the middle of each point's cylinder: float64 [m, 2]; radius in meters."""

    lines: Lines
    middles: Floats
    radius: float


def cylinders_of(evaluation: Evaluation[PointTarget] | None) -> Cylinders | None:
    """The cylinders of the records, if any."""
    claim = None if evaluation is None else evaluation.context.claim
    if evaluation is None or not isinstance(claim, KDeltaAnonymity):
        return None
    target = evaluation.target
    return Cylinders(target.lines, middles_of(target, claim.delta_m), claim.delta_m / 2)


def in_parts(
    evaluation: Evaluation[Any], points: KnownPoints, work: Callable[[slice, KnownPoints], None]
) -> None:
    """Call ``work`` with some victims at a time, on all threads."""

    def part(mine: slice) -> None:
        offsets = points.offsets[mine.start : mine.stop + 1]
        work(mine, points._replace(offsets=offsets, own_record=points.own_record[mine]))

    label = f"measuring distances ({evaluation.label})"
    evaluation.run.each_part(part, len(points.own_record), _VICTIMS, label=label)


def link_to_moved_records(
    evaluation: Evaluation[BoxTarget], offsets: Integers, seen: Floats, errors: Errors
) -> tuple[Floats, Integers] | None:
    """(chances [v] to be right, int64 [v] the record named) from observations [m, 3]; None = none moved."""
    moved = cylinders_of(evaluation.as_given)
    if moved is None:
        return None
    grid, n = evaluation.target.grid, len(evaluation.victims)
    t, x, y = (seen * [grid.slot_s, grid.cell_m, grid.cell_m]).T
    won, named = np.zeros(n), np.zeros(n, dtype=np.int64)

    def part(mine: slice, points: KnownPoints) -> None:
        link_moved_points_with_errors(points, *moved, errors, won[mine], named[mine])

    in_parts(evaluation, KnownPoints(offsets, t, x, y, evaluation.records), part)
    return won, named


def middles_of(target: PointTarget, delta_m: float) -> Floats:
    """float64 [m, 2]: the middle of each point's cylinder, of diameter ``delta_m``."""
    if delta_m not in target.middles:
        target.middles[delta_m], target.others[delta_m] = _middles_and_partners(target, delta_m)
    return target.middles[delta_m]


def undone_places(target: PointTarget, delta_m: float, run: Run) -> Floats:
    """float64 [m, 2]: where each point most likely was before it was moved."""
    if delta_m not in target.undone:
        lines, middles = target.lines, middles_of(target, delta_m)
        undone, certainty = np.empty((len(target.t), 2)), np.empty(len(target.t))

        def part(mine: slice) -> None:
            undo_moves(lines, middles, delta_m / 2, _SLACK_M, mine.start, mine.stop, undone, certainty)

        run.each_part(part, target.n_records, _RECORDS, label="undoing moves")
        others = target.others[delta_m]  # of a crowd of two the less certain point lies opposite the other
        rows = np.flatnonzero(others >= 0)
        rows = rows[certainty[others[rows]] > certainty[rows]]
        undone[rows] = 2 * middles[rows] - undone[others[rows]]
        target.undone[delta_m] = undone
    return target.undone[delta_m]


def undone_cells(evaluation: Evaluation[BoxTarget], first_slot: int | None = None) -> BoxTarget | None:
    """The records in the cells of their likeliest origins; None = no point was moved."""
    points_as_given, claim = evaluation.as_given, evaluation.context.claim
    if points_as_given is None or not isinstance(claim, KDeltaAnonymity):
        return None
    target, grid = points_as_given.target, evaluation.target.grid
    if first_slot is not None:
        target = target.since(first_slot * grid.slot_s)
    places = undone_places(target, claim.delta_m, evaluation.run)
    return BoxTarget.of_samples(
        *snap_points(target.offsets, target.t, places[:, 0], places[:, 1], grid), grid
    )


def undone_release(release: Release, run: Run) -> Release | None:
    """The release at its points' likeliest origins; None = no point was moved."""
    if release.kind != "points" or not isinstance(release.claim, KDeltaAnonymity):
        return None
    target = PointTarget.of_release(release)
    x, y = undone_places(target, release.claim.delta_m, run).T
    return replace(release, payload=Points(t=target.t, x=x, y=y))


def _middles_and_partners(target: PointTarget, delta_m: float) -> tuple[Floats, Integers]:
    same_times: dict[bytes, list[int]] = {}
    for record in range(target.n_records):
        times = target.t[target.offsets[record] : target.offsets[record + 1]]
        same_times.setdefault(times.tobytes(), []).append(record)
    middles, others = np.column_stack([target.x, target.y]), np.full(len(target.t), -1, dtype=np.int64)
    for records in same_times.values():
        steps = int(target.offsets[records[0] + 1] - target.offsets[records[0]])
        rows = target.offsets[records][:, None] + np.arange(steps)
        for crowd in _together(target.x, target.y, rows, delta_m):
            x, y = target.x[crowd], target.y[crowd]
            center = find_middles(x, y, x.mean(axis=0), y.mean(axis=0), delta_m / 2, _SLACK_M)
            middles[crowd, 0], middles[crowd, 1] = center
            if len(crowd) == 2:
                others[crowd] = crowd[::-1]
    return middles, others


def _together(x: Floats, y: Floats, rows: Integers, delta_m: float) -> Iterator[Integers]:
    while len(rows):
        near = np.arange(len(rows))
        for part in (slice(0, 1), slice(1, None)):  # most are far away at once
            away = np.hypot(x[rows[near, part]] - x[rows[0, part]], y[rows[near, part]] - y[rows[0, part]])
            near = near[(away <= delta_m + _SLACK_M).all(axis=1)]
        yield rows[near]
        rows = np.delete(rows, near, axis=0)
