"""Check swapped points from raw data and, for origins and swap sets, the run's trace."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.model.claims import LocationPrivacy, TrajectoryPrivacy
from shoal.model.finding_kinds import FindingKind
from shoal.model.release import Release
from shoal.model.streets import StreetGraph
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.run import Run
from shoal.units import states
from shoal.verification.examination import Examination, duplicate_pseudonyms
from shoal.verification.points.draws import number_clusters, sets_by_size
from shoal.verification.points.records import findings_per_point, malformed_points, plane_mismatch
from shoal.verification.points.shuffle import judge_fairness
from shoal.verification.points.street_paths import path_findings

Swapped = TrajectoryPrivacy | LocationPrivacy
Paths = Callable[[Trace, StreetGraph, list[str]], Iterable[Finding]]

NOT_COMPARED: Final = "the points were not compared with the raw data"


def examine_trajectory_privacy(claim: TrajectoryPrivacy, case: Examination[Trajectories], _run: Run) -> None:
    """Check a TrajectoryPrivacy claim (SwapLocations)."""
    _examine(claim, case, times_stay=False, paths=None)


def examine_location_privacy(claim: LocationPrivacy, case: Examination[Trajectories], _run: Run) -> None:
    """Check a LocationPrivacy claim (ReachLocations)."""
    paths = partial(path_findings, claim, case.original, case.release)
    _examine(claim, case, times_stay=True, paths=paths)


def _examine(
    claim: Swapped, case: Examination[Trajectories], *, times_stay: bool, paths: Paths | None
) -> None:
    original, release = case.original, case.release
    apart = plane_mismatch(original, release)
    case.add(malformed_points(release, repeats=True))
    case.add(duplicate_pseudonyms(release))
    case.add(apart)
    if apart or any(finding.kind == "malformed-point" for finding in case.findings):
        case.notes.append(NOT_COMPARED)
        return
    case.compare_accounts()
    case.add(_losses_differ(original, release))
    case.add(_invented_or_doubled(claim, original, release, times_stay=times_stay))
    case.mark_checked("true-points")
    links = case.link()
    case.count_subjects(links)
    if links is None or case.linkage is None:
        return
    if times_stay:
        case.add(_times_changed(original, release, links.subject_of))
        case.mark_checked("own-times")
    if case.linkage.trace is None:
        return
    trace = case.linkage.trace.in_order_of(release.trajectory_ids, release.offsets)
    against = list(_trace_faults(claim, original, release, links.subject_of, trace, times_stay=times_stay))
    case.add(against)
    case.mark_checked("swap-sets")
    if against:
        return  # paths and shuffle need a sound trace
    if paths is not None and trace.streets is not None:
        case.add(paths(trace, trace.streets, case.notes))
        case.mark_checked("paths")
    fairness = judge_fairness(original, release, links.subject_of, trace, times_stay=times_stay)
    case.add(fairness.findings())
    case.notes.extend(fairness.notes)
    if fairness.enough:
        case.mark_checked("shuffle")


def _losses_differ(original: Trajectories, release: Release) -> Iterator[Finding]:
    losses = release.losses
    lost = original.n_samples - release.n_samples
    if not states(losses.samples_suppressed, lost):
        message = f"{lost} raw samples are not published; the losses say {losses.samples_suppressed}"
        yield Finding("lost-samples-not-counted", message)
    if losses.samples_created:
        message = f"the losses speak of {losses.samples_created} created points; expected none"
        yield Finding("lost-samples-not-counted", message)
    n_with_reason = sum(losses.subjects_by_reason.values())
    if n_with_reason != losses.subjects_suppressed:
        message = (
            f"{n_with_reason} suppressed subjects have a reason; the losses say that "
            f"{losses.subjects_suppressed} were suppressed"
        )
        yield Finding("lost-subjects-not-counted", message)


def _row_codes(
    columns: list[npt.NDArray[np.float64]], others: list[npt.NDArray[np.float64]]
) -> tuple[Integers, Integers, int]:
    both = np.column_stack([np.concatenate(pair) for pair in zip(columns, others, strict=True)])
    different, code = np.unique(both, axis=0, return_inverse=True)
    code = code.ravel()
    return code[: len(columns[0])], code[len(columns[0]) :], len(different)


def _invented_or_doubled(
    claim: Swapped, original: Trajectories, release: Release, *, times_stay: bool
) -> Iterator[Finding]:
    points, tell = release.points, partial(findings_per_point, release)
    released = {name: column for name, column in points.columns().items() if name != "t" or not times_stay}
    had, published, n = _row_codes([getattr(original, name) for name in released], [*released.values()])
    count_had, count_published = np.bincount(had, minlength=n), np.bincount(published, minlength=n)
    what = "place" if times_stay else "triple"
    yield from tell(
        count_had[published] == 0, "invented-point", f"shows a {what} that stands nowhere in the raw data"
    )
    yield from tell(
        (count_had[published] > 0) & (count_published[published] > count_had[published]),
        "doubled-point",
        f"shows a {what} that is published more often than it occurs in the raw data",
    )
    if times_stay:
        near = np.zeros(len(published), dtype=np.bool_)
        order = np.lexsort((original.t, had))
        codes, times = had[order], original.t[order]
        begin, end = np.searchsorted(codes, published), np.searchsorted(codes, published, side="right")
        for i in np.flatnonzero(end > begin).tolist():
            near[i] = bool((np.abs(times[begin[i] : end[i]] - points.t[i]) <= claim.time_threshold_s).any())
        yield from tell(
            ~near & (count_had[published] > 0),
            "beyond-threshold",
            "shows a place where nobody was within the time threshold",
        )


def _times_changed(original: Trajectories, release: Release, subject_of: Integers) -> Iterator[Finding]:
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    had, published, n = _row_codes(
        [owner.astype(np.float64), original.t], [subject_of[record].astype(np.float64), release.points.t]
    )
    wrong = (np.bincount(published, minlength=n) > np.bincount(had, minlength=n))[published] & (
        subject_of[record] >= 0
    )
    fault = "has a time that its subject does not have, or has it too often"
    yield from findings_per_point(release, wrong, "time-changed", fault)


def _trace_faults(
    claim: Swapped,
    original: Trajectories,
    release: Release,
    subject_of: Integers,
    trace: Trace,
    *,
    times_stay: bool,
) -> Iterator[Finding]:
    columns = (trace.time_from, trace.place_from, trace.swap_set)
    complete = all(len(column) == release.n_samples for column in columns)
    rows = np.concatenate([trace.time_from, trace.place_from, trace.set_rows])
    if not complete or (len(rows) and (rows.min() < 0 or rows.max() >= original.n_samples)):
        yield Finding(
            "trace-mismatch",
            "the trace speaks of other points or raw samples than there are; use the one made with this "
            "release",
        )
        return
    points, tell = release.points, partial(findings_per_point, release)
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    as_told = (
        (points.t == original.t[trace.time_from])
        & (points.x == original.x[trace.place_from])
        & (points.y == original.y[trace.place_from])
    )
    yield from tell(~as_told, "trace-mismatch", "is not what the trace says it came from")
    for rows_used, what in ((trace.place_from, "place"), (trace.time_from, "time")):
        twice = np.bincount(rows_used, minlength=original.n_samples)[rows_used] > 1
        yield from tell(
            twice, "doubled-point", f"has its {what} from a raw sample that another point has it from"
        )
    if not times_stay:
        yield from tell(
            trace.time_from != trace.place_from,
            "time-changed",
            "has its time and its place from different raw samples",
        )
    sizes, leaders = np.diff(trace.set_offsets), trace.leaders
    set_of_row = np.repeat(np.arange(trace.n_sets), sizes)
    yield from _bad_sets(claim, original, trace, owner, set_of_row, times_stay=times_stay)
    if not times_stay:
        yield from _mixed_clusters(trace, owner)
    inside = (trace.swap_set >= 0) & (trace.swap_set < trace.n_sets)
    pairs = set_of_row * original.n_samples + trace.set_rows
    member = inside & np.isin(trace.swap_set * original.n_samples + trace.place_from, pairs)
    member &= np.isin(trace.swap_set * original.n_samples + trace.time_from, pairs)
    yield from tell(~member, "unswapped-point", "was in no swap set")
    if not member.all():
        return
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    holder = subject_of[record]
    if times_stay:
        home = (holder == owner[trace.time_from]) | (holder < 0)
        yield from tell(~home, "time-changed", "has the time of another subject")
        partner = np.full(original.n_samples, -1, dtype=np.int64)
        partner[trace.time_from] = trace.place_from
        traded = partner[trace.place_from] == trace.time_from
        leads = leaders[trace.swap_set]
        involved = (trace.time_from == leads) | (trace.place_from == leads)
        yield from tell(
            ~(traded & involved),
            "wrong-exchange",
            "did not trade places with the one that led its set, or only one of the two did",
        )
    else:
        yield from _not_exchanged(original, release, trace, owner, holder, sizes, set_of_row)


def _bad_sets(
    claim: Swapped,
    original: Trajectories,
    trace: Trace,
    owner: Integers,
    set_of_row: Integers,
    *,
    times_stay: bool,
) -> Iterator[Finding]:
    sizes, rows, leader = np.diff(trace.set_offsets), trace.set_rows, trace.leaders[set_of_row]
    yield from _set_finding(sizes < claim.k, "small-swap-set", f"has fewer than k = {claim.k} points")
    repeats = partial(_sets_with_repeats, set_of_row, n_sets=trace.n_sets)
    one_person = repeats([owner[rows]])
    yield from _set_finding(one_person, "small-swap-set", "holds two points of one trajectory")
    if times_stay:
        one_place = repeats([original.x[rows], original.y[rows]])
        yield from _set_finding(one_place, "small-swap-set", "holds the same place twice")
    beyond = {"time": np.abs(original.t[rows] - original.t[leader]) > claim.time_threshold_s}
    if not times_stay:
        away_m = np.hypot(original.x[rows] - original.x[leader], original.y[rows] - original.y[leader])
        beyond["space"] = away_m > claim.space_threshold_m
    for what, far in beyond.items():
        sets = np.bincount(set_of_row[far], minlength=trace.n_sets) > 0
        yield from _set_finding(sets, "beyond-threshold", f"holds a point beyond the {what} threshold")


def _mixed_clusters(trace: Trace, owner: Integers) -> Iterator[Finding]:
    """Their records keep more than 1 / c of their points."""
    clusters, members, n_clusters = [], [], 0
    for c, _, rows in sets_by_size(trace):
        trajectories = np.sort(owner[rows], axis=1)
        number = number_clusters(trajectories)
        clusters.append(np.repeat(n_clusters + number, c))
        members.append(trajectories.ravel())
        n_clusters += int(number.max(initial=-1)) + 1
    if members:
        pairs = np.unique(np.column_stack([np.concatenate(members), np.concatenate(clusters)]), axis=0)
        changing = int(np.count_nonzero(np.unique(pairs[:, 0], return_counts=True)[1] > 1))
        if changing:
            message = (
                f"{changing} trajectories swap now with some and now with others; expected the same in each "
                "set"
            )
            yield Finding("mixed-clusters", message)


def _not_exchanged(
    original: Trajectories,
    release: Release,
    trace: Trace,
    owner: Integers,
    holder: Integers,
    sizes: Integers,
    set_of_row: Integers,
) -> Iterator[Finding]:
    published = np.bincount(trace.swap_set, minlength=trace.n_sets)
    yield from _set_finding(
        published != sizes, "wrong-exchange", "has other points in the release than in the trace"
    )
    linked = holder >= 0
    came = np.unique(set_of_row * original.n_subjects + owner[trace.set_rows])
    ended = trace.swap_set * original.n_subjects + holder
    strange = linked & ~np.isin(ended, came)
    twice = np.zeros(len(ended), dtype=np.bool_)
    order = np.argsort(ended, kind="stable")
    twice[order[1:]] = np.diff(ended[order]) == 0
    fault = "ended with a trajectory that gave its set no point, or that got two"
    yield from findings_per_point(release, (strange | twice) & linked, "wrong-exchange", fault)


def _sets_with_repeats(
    set_of_row: Integers, columns: list[npt.NDArray[np.float64]] | list[Integers], n_sets: int
) -> Flags:
    order = np.lexsort((*columns, set_of_row))
    same = np.diff(set_of_row[order]) == 0
    for column in columns:
        same &= np.diff(column[order]) == 0
    return np.bincount(set_of_row[order[1:][same]], minlength=n_sets) > 0


def _set_finding(bad: Flags, kind: FindingKind, fault: str) -> Iterator[Finding]:
    """Sets have no name that may be shown."""
    count = int(np.count_nonzero(bad))
    if count:
        yield Finding(
            kind,
            f"{count} swap set{'s' * (count > 1)}, number {int(np.argmax(bad)) + 1} the first: each {fault}",
        )
