"""The criterion of (k, delta)-co-location, from the published points alone, and the accounts of what was lost and made (semantics 3.9).

Every record has k - 1 others with points at the same times, and all k are within delta of each other at each of these times: a set of
k trajectories in which any two are co-localised (Abul, Bonchi and Nanni 2008, Def. 3 and 4, as we know them). Who was put into which
cylinder is not asked: any such others will do.
"""

from collections.abc import Callable, Iterator

import numpy as np

from shoal.errors import MisuseError
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Linkage, PointRelease
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.arrays import Floats, Integers
from shoal.units import show_m
from shoal.verification.boxes.loops import farthest_apart
from shoal.verification.boxes.records import NO_ACCOUNT, account_differs, lost_subjects, pseudonyms_used_twice
from shoal.verification.linking import links_of
from shoal.verification.points.records import malformed_points, off_plane

_WITHOUT_LINKAGE = (
    "checked without a linkage table: not that each subject has exactly one record, nor "
    "whether the records follow the order of the input"
)
NOT_K_ANONYMITY = (
    "this is not k-anonymity of trajectories: who knows true points of a person can often tell the record "
    "that was moved from them "
    "(Trujillo-Rasua and Domingo-Ferrer 2013); measure it with shoal attack"
)


def check_company(original: Trajectories, release: PointRelease, linkage: Linkage | None) -> Verdict:
    """The verdict on a KDeltaAnonymity claim; raises MisuseError when the raw data is snapped."""
    findings = [
        *off_plane(original, release, moved=True),
        *pseudonyms_used_twice(release),
        *malformed_points(release),
        *_points_not_accounted(original, release),
        *_without_company(release),
    ]
    notes = [NOT_K_ANONYMITY] if _claim(release).delta_m else []
    if original.intake.rows_read:
        findings += account_differs(original, release)
    else:
        notes.append(NO_ACCOUNT)
    n_published = release.n_records
    if linkage is None:
        notes.append(_WITHOUT_LINKAGE)
    else:
        links = links_of(original, release, linkage)
        findings += links.findings
        n_published = links.n_subjects_with_record
    findings += lost_subjects(original.n_subjects - n_published, release)
    return Verdict.of(findings, checked=release.n_records, notes=notes)


def company_of(release: PointRelease) -> Callable[[int], Integers]:
    """A function of a record: the records with points at the same times that are within delta of it at each, itself among them, ascending.

    Raises MisuseError for another claim than KDeltaAnonymity.
    """
    if not isinstance(release.claim, KDeltaAnonymity):
        raise MisuseError(f"a claim of {release.claim.type} speaks of no company")
    delta_m = release.claim.delta_m
    row_of: dict[int, tuple[int, tuple[Integers, Floats, Floats]]] = {}
    for group in _records_of_one_time_line(release):
        beside = _side_by_side(release, group)
        row_of |= {record: (row, beside) for row, record in enumerate(beside[0].tolist())}

    def company(record: int) -> Integers:
        row, (group, x, y) = row_of[record]
        apart = np.empty(len(group))
        farthest_apart(x, y, row, delta_m, apart)
        return np.sort(group[apart <= delta_m])

    return company


def _claim(release: PointRelease) -> KDeltaAnonymity:
    assert isinstance(release.claim, KDeltaAnonymity)  # noqa: S101  # CHECKS maps no other claim here
    return release.claim


def _points_not_accounted(original: Trajectories, release: PointRelease) -> Iterator[Finding]:
    """A finding when raw samples, less the suppressed, and created ones do not add up to the published points."""
    lost, made = release.losses.samples_suppressed, release.losses.samples_created
    if release.n_samples != original.n_samples - lost + made or min(lost, made, release.n_samples - made) < 0:
        message = (
            f"{original.n_samples} raw samples less {lost} suppressed and with {made} created are not "
            f"{release.n_samples} points"
        )
        yield Finding("points-not-accounted", message)


def _without_company(release: PointRelease) -> Iterator[Finding]:
    """Records that are not in a set of k that keep together, and at which time, if it can be said of one."""
    points, k, delta_m = release.points, release.claim.k, _claim(release).delta_m
    by_time: tuple[Integers, Floats] | None = None
    for group in _records_of_one_time_line(release):
        records, x, y = _side_by_side(release, group)
        for alone in _outside_sets(x, y, k, delta_m):
            if by_time is None:
                order = np.argsort(points.t, kind="stable")
                by_time = order, points.t[order]
            yield _explained(release, int(records[alone]), *by_time)


def _side_by_side(release: PointRelease, group: Integers) -> tuple[Integers, Floats, Floats]:
    """(records, x, y): records of one time line by their first x, and their places [n, s]."""
    x, y = (
        np.stack([column[release.offsets[r] : release.offsets[r + 1]] for r in group.tolist()])
        for column in (release.points.x, release.points.y)
    )
    order = np.argsort(x[:, 0], kind="stable")
    return group[order], x[order], y[order]


def _records_of_one_time_line(release: PointRelease) -> list[Integers]:
    """The records, put together by the times of their points; those without a point are in none."""
    alike: dict[bytes, list[int]] = {}
    for record in range(release.n_records):
        own = release.points.t[release.offsets[record] : release.offsets[record + 1]]
        if len(own):
            alike.setdefault(own.tobytes(), []).append(record)
    return [np.array(records) for records in alike.values()]


def _outside_sets(x: Floats, y: Floats, k: int, delta_m: float) -> Iterator[int]:
    """Which of these rows are in no set of k that are all within delta of each other in every column.

    x, y: [n, s]; the first column of x ascends. Nearest others are tried first, which decides most; then
    every set, which takes long only where many are near one and few of these near each other.
    """
    in_a_set = np.zeros(len(x), dtype=np.bool_)
    apart, between = np.empty(len(x)), np.empty(len(x))
    for row in range(len(x)):
        if in_a_set[row]:
            continue
        farthest_apart(x, y, row, delta_m, apart)
        near = np.flatnonzero(apart <= delta_m)
        near = near[np.argsort(apart[near], kind="stable")]
        near = near[near != row]
        joined, possible = [row], near
        while len(joined) < k and len(possible):
            joined.append(int(possible[0]))
            farthest_apart(x, y, joined[-1], delta_m, between)
            possible = possible[1:][between[possible[1:]] <= delta_m]
        if len(joined) == k:
            in_a_set[joined] = True
        elif len(near) < k - 1 or not _any_set(x, y, near, k - 1, delta_m):
            yield row


def _any_set(x: Floats, y: Floats, near: Integers, size: int, delta_m: float) -> bool:
    """Whether ``size`` of these rows are all within delta of each other: every set is tried."""
    beside: dict[int, frozenset[int]] = {}
    apart = np.empty(len(x))
    for row in near.tolist():
        farthest_apart(x, y, row, delta_m, apart)
        beside[row] = frozenset(near[apart[near] <= delta_m].tolist()) - {row}

    def found(among: frozenset[int], missing: int) -> bool:
        if missing == 0:
            return True
        left = {row for row in among if len(beside[row] & among) >= missing - 1}
        while len(left) >= missing:
            row = left.pop()
            if found(frozenset(left & beside[row]), missing - 1):
                return True
        return False

    return found(frozenset(beside), size)


def _explained(release: PointRelease, record: int, by_time: Integers, time_sorted: Floats) -> Finding:
    """What is wrong with a record in no set of k."""
    points, k, delta_m = release.points, release.claim.k, _claim(release).delta_m
    start, end = int(release.offsets[record]), int(release.offsets[record + 1])
    for row in range(start, end):
        rows = by_time[
            np.searchsorted(time_sorted, points.t[row], "left") : np.searchsorted(
                time_sorted, points.t[row], "right"
            )
        ]
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
