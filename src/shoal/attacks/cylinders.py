"""The cylinders of a (k, delta)-co-located release, seen in its points alone.

Who was outside a cylinder was moved straight toward its middle and stands at its edge. Three such people show
where the middle is, and two of a crowd of two. So a point that is known of somebody says where in each
cylinder that person would stand. And where a record has been several times, its own points say where that
was: the lines through them cross there.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.target import BoxTarget, PointTarget
from shoal.kernels.cylinder_middles import find_middles
from shoal.kernels.moved_inward import Errors, link_moved_points_with_errors
from shoal.kernels.passing import KnownPoints, Lines
from shoal.kernels.undone_moves import undo_moves
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Points, Release
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

PARTS: Final = 10  # of victims, where rules on cells and on moved points win about as much
_RECORDS: Final = 20  # undone at once
_VICTIMS: Final = 50
_SLACK_M: Final = 0.01  # what writing a place as degrees may move it


class Cylinders(NamedTuple):
    """Published records, and for each point the middle of the cylinder that it seems to stand in.

    middles: float64 [m, 2]. radius: of all cylinders, in meters.
    """

    lines: Lines
    middles: Floats
    radius: float


def cylinders_of(evaluation: Evaluation[PointTarget] | None) -> Cylinders | None:
    """Those of the records; None = this is no release of cylinders."""
    claim = None if evaluation is None else evaluation.around.claim
    if evaluation is None or not isinstance(claim, KDeltaAnonymity):
        return None
    target = evaluation.target
    return Cylinders(
        Lines(target.offsets, target.t, target.x, target.y),
        middles_of(target, claim.delta_m),
        claim.delta_m / 2,
    )


def in_parts(
    evaluation: Evaluation[Any], known: KnownPoints, work: Callable[[slice, KnownPoints], None]
) -> None:
    """Give ``work`` which victims, and what is known of them, a part at a time, on all threads."""
    n = len(known.own_record)

    def part(begin: int) -> None:
        mine = slice(begin, min(begin + _VICTIMS, n))
        work(
            mine,
            known._replace(offsets=known.offsets[begin : mine.stop + 1], own_record=known.own_record[mine]),
        )

    label = f"measuring distances ({evaluation.label})"
    for _ in evaluation.run.map(part, range(0, n, _VICTIMS), label=label):
        pass


def name_moved(
    evaluation: Evaluation[BoxTarget], offsets: Integers, seen: Floats, errors: Errors
) -> tuple[Floats, Integers] | None:
    """(chances [v] to name the own record, int64 [v] the record named) by what is known with errors.

    Named is whose points stand where those seen [m, 3], in slots and cells, would be moved to. None = nobody
    was moved.
    """
    moved = cylinders_of(evaluation.as_given)
    if moved is None:
        return None
    grid, n = evaluation.target.grid, len(evaluation.victims)
    t, x, y = (seen * [grid.slot_s, grid.cell_m, grid.cell_m]).T
    won, named = np.zeros(n), np.zeros(n, dtype=np.int64)

    def part(mine: slice, known: KnownPoints) -> None:
        link_moved_points_with_errors(known, *moved, errors, won[mine], named[mine])

    in_parts(evaluation, KnownPoints(offsets, t, x, y, evaluation.own), part)
    return won, named


def middles_of(target: PointTarget, delta_m: float) -> Floats:
    """float64 [m, 2]: for each published point the middle of the cylinder that it seems to stand in.

    Parameters
    ----------
    delta_m
        The diameter of all cylinders.
    """
    if delta_m not in target.middles:
        target.middles[delta_m], target.others[delta_m] = _middles(target, delta_m)
    return target.middles[delta_m]


def undone_places(target: PointTarget, delta_m: float, run: Run) -> Floats:
    """float64 [m, 2]: where each published point most likely was before it was moved into its cylinder."""
    if delta_m not in target.undone:
        lines = Lines(target.offsets, target.t, target.x, target.y)
        middles, undone = middles_of(target, delta_m), np.empty((len(target.t), 2))
        told = np.empty(len(target.t))

        def part(begin: int) -> None:
            end = min(begin + _RECORDS, target.n_records)
            undo_moves(lines, middles, delta_m / 2, _SLACK_M, begin, end, undone, told)

        for _ in run.map(part, range(0, target.n_records, _RECORDS), label="undoing moves"):
            pass
        target.undone[delta_m] = _told_by_two(undone, told, middles, target.others[delta_m])
    return target.undone[delta_m]


def _told_by_two(undone: Floats, told: Floats, middles: Floats, others: Integers) -> Floats:
    """Places [m, 2] where those of a crowd of two are as far from the middle, as whoever tells more says.

    told: float64 [m], how much speaks for each. others: int64 [m], the point of the other one, -1 = there is
    none or there are more.
    """
    rows = np.flatnonzero(others >= 0)
    by_other = rows[told[others[rows]] > told[rows]]
    found = undone.copy()
    found[by_other] = 2 * middles[by_other] - undone[others[by_other]]
    return found


def undone_cells(evaluation: Evaluation[BoxTarget], first_slot: int | None = None) -> BoxTarget | None:
    """The same records in the cells that their points most likely came from; None = nobody was moved.

    first_slot: nothing is seen of records before it; None = they are seen from their beginning.
    """
    given, claim = evaluation.as_given, evaluation.around.claim
    if given is None or not isinstance(claim, KDeltaAnonymity):
        return None
    target, grid = given.target, evaluation.target.grid
    if first_slot is not None:
        target = target.since(first_slot * grid.slot_s)
    places = undone_places(target, claim.delta_m, evaluation.run)
    return BoxTarget.of_places(target.offsets, target.t, places, grid)


def undone_release(release: Release, run: Run) -> Release | None:
    """A release with its points where they most likely came from; None = nobody was moved."""
    if release.kind != "points" or not isinstance(release.claim, KDeltaAnonymity):
        return None
    target = PointTarget.of_release(release)
    x, y = undone_places(target, release.claim.delta_m, run).T
    return replace(release, payload=Points(t=target.t, x=x, y=y))


def _middles(target: PointTarget, delta_m: float) -> tuple[Floats, Integers]:
    """The middles, and int64 [m] the point of the other one in a crowd of two, -1 elsewhere."""
    same_times: dict[bytes, list[int]] = {}
    for record in range(target.n_records):
        own = target.t[target.offsets[record] : target.offsets[record + 1]]
        same_times.setdefault(own.tobytes(), []).append(record)
    middles, others = np.column_stack([target.x, target.y]), np.full(len(target.t), -1, dtype=np.int64)
    for records in same_times.values():
        steps = int(target.offsets[records[0] + 1] - target.offsets[records[0]])
        rows = target.offsets[records][:, None] + np.arange(steps)
        for crowd in _together(target.x, target.y, rows, delta_m):
            x, y = target.x[crowd], target.y[crowd]
            found = find_middles(x, y, x.mean(axis=0), y.mean(axis=0), delta_m / 2, _SLACK_M)
            middles[crowd, 0], middles[crowd, 1] = found
            if len(crowd) == 2:
                others[crowd] = crowd[::-1]
    return middles, others


def _together(x: Floats, y: Floats, rows: Integers, delta_m: float) -> Iterator[Integers]:
    """Groups of the records [n, s] that are within delta of their first one all along."""
    while len(rows):
        near = np.arange(len(rows))
        for part in (slice(0, 1), slice(1, None)):  # most are far away at once
            away = np.hypot(x[rows[near, part]] - x[rows[0, part]], y[rows[near, part]] - y[rows[0, part]])
            near = near[(away <= delta_m + _SLACK_M).all(axis=1)]
        yield rows[near]
        rows = np.delete(rows, near, axis=0)
