"""Check (k,delta)-anonymity of points, and the suppressed and created ones.

Any k records within delta at all times count (Abul, Bonchi and Nanni 2008, Def. 3 and 4).
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.compiled import compiled
from shoal.runtime.run import Run
from shoal.units import counted, least_of, percent, rounded_up, show_m, states
from shoal.verification.examination import Examination, duplicate_pseudonyms
from shoal.verification.points.records import malformed_points, plane_mismatch

_MOST_LOOKED_AT: Final = 20_000_000  # pairs; some seconds
_COMPARED: Final = 200_000_000  # points of all pairs of records at once
_FAR_NEARER: Final = 4  # times; 368 honest releases had people up to 2.1 times nearer to the other's record
NOT_K_ANONYMITY: Final = (
    "this is not k-anonymity of trajectories: whoever knows true points of a person can often tell which "
    "record was moved from them (Trujillo-Rasua and Domingo-Ferrer 2013); measure it with shoal attack"
)


def examine_co_location(claim: KDeltaAnonymity, case: Examination[Trajectories], _run: Run) -> None:
    """Check a KDeltaAnonymity claim; raises MisuseError for snapped data."""
    original, release = case.original, case.release
    case.add(plane_mismatch(original, release, moved=True))
    case.add(duplicate_pseudonyms(release))
    case.add(malformed_points(release))
    case.add(_points_not_accounted(original, release))
    case.add(_not_co_located(claim, release))
    case.mark_checked("counts", "near")
    if claim.delta_m:
        case.notes.append(NOT_K_ANONYMITY)
    case.compare_accounts()
    links = case.link()
    case.count_subjects(links)
    if links is not None:
        case.add(_too_few_lost(original, release, links.subject_of))
        if release.method == "nwa":
            case.add(_exchanged_people(claim, original, release, links.subject_of))
        case.notes.append(_exact_tracks(original, release))


def _too_few_lost(original: Trajectories, release: Release, subject_of: Integers) -> Iterator[Finding]:
    """No record keeps more samples than it has points, or (NWA, by a clock) points at its person's times."""
    linked = np.flatnonzero(subject_of >= 0)
    kept = np.minimum(original.lengths[subject_of[linked]], np.diff(release.offsets)[linked])
    if release.method == "nwa":
        kept = np.array(
            [
                len(np.intersect1d(original.samples_of(subject)[0], release.record(record).t))
                for record, subject in zip(linked.tolist(), subject_of[linked].tolist(), strict=True)
            ]
        )
    least = original.n_samples - int(kept.sum())
    lost = release.losses.samples_suppressed
    if 0 <= lost < least or (release.method == "nwa" and not states(lost, least)):
        more = "" if release.method == "nwa" else " or more"
        message = f"{least} raw samples{more} are not published; the losses say {lost}"
        yield Finding("lost-samples-not-counted", message)


def _exchanged_people(
    claim: KDeltaAnonymity, original: Trajectories, release: Release, subject_of: Integers
) -> Iterator[Finding]:
    """Records with times before or after their person's, or nearer to each other's person than to their own.

    NWA moves a point to the nearest one of its cylinder, so no exchange within a cylinder is shorter. Records
    of one cylinder stay within delta, and there are at least k: two are of one where one has no more near.
    """
    first, last = (original.t[ends] for ends in (original.offsets[:-1], original.offsets[1:] - 1))
    strange, near = set[int](), co_located_records(claim, release)
    for group in _records_of_one_time_line(release):
        linked = group[subject_of[group] >= 0]
        if not len(linked):
            continue
        records, x, y = _places_of_group(release, linked)
        t = release.record(int(group[0])).t
        people = subject_of[records]
        strange.update(records[(first[people] > t[0]) | (last[people] < t[-1])].tolist())
        alone = np.array([len(near(record)) <= claim.k for record in records.tolist()])
        at_once = max(2, math.isqrt(_COMPARED // len(t)))
        for start in range(0, len(records), at_once):
            part = slice(start, start + at_once)
            rows = _nearer_exchanged(claim.delta_m, original, people[part], alone[part], t, x[part], y[part])
            strange.update(records[part][rows].tolist())
    for record in sorted(strange):
        message = "the linkage gives the record to another person than it was moved from"
        yield Finding("exchanged-people", message, release.trajectory_ids[record])


def _nearer_exchanged(
    delta_m: float, original: Trajectories, people: Integers, alone: Flags, t: Floats, x: Floats, y: Floats
) -> Integers:
    away = np.empty((len(x), len(x)))  # meters from each record to each person, all times together
    for column, person in enumerate(people.tolist()):
        times, raw_x, raw_y = original.samples_of(person)
        away[:, column] = np.hypot(x - np.interp(t, times, raw_x), y - np.interp(t, times, raw_y)).sum(axis=1)
    together = away.diagonal()[:, None] + away.diagonal() - 1e-6 * len(t)  # less than a rounding
    exchanged = (away + away.T) * (1 + 1e-9)
    strange = _FAR_NEARER * exchanged < together
    for one, other in np.argwhere((exchanged < together) & (alone[:, None] | alone)).tolist():
        strange[one, other] |= np.hypot(x[one] - x[other], y[one] - y[other]).max() <= delta_m
    return np.flatnonzero(strange.any(axis=1))


def _exact_tracks(original: Trajectories, release: Release) -> str:
    raw = set(zip(original.t.tolist(), original.x.tolist(), original.y.tolist(), strict=True))
    points = release.points
    columns = (column.tolist() for column in (points.t, points.x, points.y))
    is_exact = [point in raw for point in zip(*columns, strict=True)]
    n_records = sum(all(is_exact[a:b]) for a, b in pairwise(release.offsets.tolist()))
    return (
        f"{counted(sum(is_exact), 'point is', 'points are')} an exact raw sample "
        f"({percent(sum(is_exact) / max(1, len(is_exact)))}), and "
        f"{counted(n_records, 'record consists', 'records consist')} of such points only: what lies within "
        "the cylinder of its crowd is not moved (honest runs: up to 2 % of points with NWA, 34 % with W4M)"
    )


def co_located_records(claim: KDeltaAnonymity, release: Release) -> Callable[[int], Integers]:
    """A function of a record: those within delta of it at the same times, ascending."""
    row_of: dict[int, tuple[int, tuple[Integers, Floats, Floats]]] = {}
    for group in _records_of_one_time_line(release):
        places = _places_of_group(release, group)
        row_of |= {record: (row, places) for row, record in enumerate(places[0].tolist())}

    def near(record: int) -> Integers:
        row, (group, x, y) = row_of[record]
        apart = np.empty(len(group))
        farthest_apart(x, y, row, float(claim.delta_m), apart)
        return np.sort(group[apart <= claim.delta_m])

    return near


def _points_not_accounted(original: Trajectories, release: Release) -> Iterator[Finding]:
    lost, created = release.losses.samples_suppressed, release.losses.samples_created
    least_lost, least_created = lost, created
    if (lost, created) == (rounded_up(lost), rounded_up(created)):
        least_lost, least_created = least_of(lost), least_of(created)
    least, most = original.n_samples - lost + least_created, original.n_samples - least_lost + created
    if not least <= release.n_samples <= most or min(lost, created, release.n_samples - least_created) < 0:
        message = (
            f"{original.n_samples} raw samples less {lost} suppressed and with {created} created are not "
            f"{release.n_samples} points"
        )
        yield Finding("points-not-accounted", message)


def _not_co_located(claim: KDeltaAnonymity, release: Release) -> Iterator[Finding]:
    budget, by_time = [_MOST_LOOKED_AT], np.argsort(release.points.t, kind="stable")
    for group in _records_of_one_time_line(release):
        records, x, y = _places_of_group(release, group)
        for alone, decided in _outside_sets(x, y, claim.k, claim.delta_m, budget):
            name = release.trajectory_ids[int(records[alone])]
            if not decided:
                yield Finding("not-decided", f"too many records are near to try every set of {claim.k}", name)
            else:
                yield _explain(claim, release, int(records[alone]), by_time)


def _places_of_group(release: Release, group: Integers) -> tuple[Integers, Floats, Floats]:
    x, y = (
        np.stack([column[release.offsets[r] : release.offsets[r + 1]] for r in group.tolist()])
        for column in (release.points.x, release.points.y)
    )
    order = np.argsort(x[:, 0], kind="stable")
    return group[order], x[order], y[order]


def _records_of_one_time_line(release: Release) -> list[Integers]:
    by_times: dict[bytes, list[int]] = {}
    for record in range(release.n_records):
        times = release.points.t[release.offsets[record] : release.offsets[record + 1]]
        if len(times):
            by_times.setdefault(times.tobytes(), []).append(record)
    return [np.array(records) for records in by_times.values()]


def _outside_sets(
    x: Floats, y: Floats, k: int, delta_m: float, budget: list[int]
) -> Iterator[tuple[int, bool]]:
    """Rows of x, y [n, s], ascending by x, in no set of k within delta_m; and whether the budget sufficed."""
    in_a_set = np.zeros(len(x), dtype=np.bool_)
    apart, between = np.empty(len(x)), np.empty(len(x))
    for row in range(len(x)):
        if in_a_set[row]:
            continue
        farthest_apart(x, y, row, float(delta_m), apart)
        near = np.flatnonzero(apart <= delta_m)
        near = near[np.argsort(apart[near], kind="stable")]
        near = near[near != row]
        joined, possible = [row], near
        while len(joined) < k and len(possible):
            joined.append(int(possible[0]))
            farthest_apart(x, y, joined[-1], float(delta_m), between)
            possible = possible[1:][between[possible[1:]] <= delta_m]
        if len(joined) == k:
            in_a_set[joined] = True
        elif len(near) < k:  # all of them were tried
            yield row, True
        else:
            is_in_set = _has_complete_set(x, y, near, k - 1, delta_m, budget)
            if not is_in_set:
                yield row, is_in_set is not None


def _has_complete_set(
    x: Floats, y: Floats, near: Integers, size: int, delta_m: float, budget: list[int]
) -> bool | None:
    if budget[0] < 0:
        return None
    neighbors: dict[int, frozenset[int]] = {}
    apart = np.empty(len(x))
    for row in near.tolist():
        farthest_apart(x, y, row, float(delta_m), apart)
        neighbors[row] = frozenset(near[apart[near] <= delta_m].tolist()) - {row}

    def extend(pool: frozenset[int], missing: int) -> bool:
        if missing == 0:
            return True
        budget[0] -= len(pool) ** 2
        if budget[0] < 0:
            return False
        remaining = {row for row in pool if len(neighbors[row] & pool) >= missing - 1}
        while len(remaining) >= missing:
            row = remaining.pop()
            if extend(frozenset(remaining & neighbors[row]), missing - 1):
                return True
        return False

    return extend(frozenset(neighbors), size) or (False if budget[0] >= 0 else None)


def _explain(claim: KDeltaAnonymity, release: Release, record: int, by_time: Integers) -> Finding:
    points, k, delta_m = release.points, claim.k, claim.delta_m
    start, end = int(release.offsets[record]), int(release.offsets[record + 1])
    for row in range(start, end):
        first = np.searchsorted(points.t, points.t[row], sorter=by_time)
        rows = by_time[first : np.searchsorted(points.t, points.t[row], "right", sorter=by_time)]
        near = rows[np.hypot(points.x[rows] - points.x[row], points.y[rows] - points.y[row]) <= delta_m]
        others = len(set((np.searchsorted(release.offsets, near, side="right") - 1).tolist()) - {record})
        if others < k - 1:
            message = (
                f"at point {row - start + 1} of {end - start}, {others} others are near; expected "
                f"{k - 1} within {show_m(delta_m)}"
            )
            return Finding("alone-at-a-time", message, release.trajectory_ids[record])
    message = (
        f"{k - 1} others are within {show_m(delta_m)} at each time, but no {k - 1} that stay with it "
        "and each other all along"
    )
    return Finding("company-changes", message, release.trajectory_ids[record])


@compiled
def farthest_apart(x: Floats, y: Floats, row: int, delta_m: float, apart: Floats) -> None:
    """Set apart [n] to the largest distance from ``row`` in any column, inf beyond delta_m."""
    apart[:] = np.inf
    for step in (-1, 1):
        other = row if step < 0 else row + 1
        while 0 <= other < len(x) and abs(x[other, 0] - x[row, 0]) <= delta_m:
            most = 0.0
            for column in range(x.shape[1]):
                most = max(
                    most, np.hypot(x[other, column] - x[row, column], y[other, column] - y[row, column])
                )
                if most > delta_m:
                    most = np.inf
                    break
            apart[other] = most
            other += step
