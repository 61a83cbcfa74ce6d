"""Ways to break a sound release of points in memory, in one literal table.

What needs no boxes is shared with damages.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import damages as of_boxes
from shoal.model.claims import Claim, KDeltaAnonymity
from shoal.model.release import Linkage, Points, Release
from shoal.model.trajectories import Trajectories

Case = tuple[Trajectories, Release, Linkage]
Record = list[tuple[float, float, float]]


@dataclass(frozen=True)
class PointDamage:
    """A way to break a release of points.

    claims: the types of claim that speak of what it breaks, none = all.
    """

    name: str
    break_it: Callable[..., Any]
    expected_kind: str
    claims: tuple[type[Claim], ...] = ()

    def concerns(self, claim: Claim) -> bool:
        return not self.claims or isinstance(claim, self.claims)

    def applied_to(self, original: Trajectories, release: Release, linkage: Linkage) -> Case:
        broken: Case = self.break_it(original, release, linkage)
        return broken


def records_of(release: Release) -> list[Record]:
    """Every record as a list of (t, x, y)."""
    records = (release.record(position) for position in range(release.n_records))
    return [list(zip(own.t.tolist(), own.x.tolist(), own.y.tolist(), strict=True)) for own in records]


def with_records(release: Release, records: list[Record], **changes: Any) -> Release:
    """The release with other records, each in the order of time."""
    t, x, y = (
        np.array([point for record in records for point in sorted(record)], dtype=np.float64)
        .reshape(-1, 3)
        .T.copy()
    )
    return replace(
        release,
        payload=Points(t=t, x=x, y=y),
        offsets=np.cumsum([0, *(len(record) for record in records)], dtype=np.int64),
        **changes,
    )


def in_records(change: Callable[[list[Record], float], None]) -> Callable[..., Case]:
    """A damage done to the records in place; the number is delta."""

    def break_it(original: Trajectories, release: Release, linkage: Linkage) -> Case:
        records = records_of(release)
        change(records, getattr(release.claim, "delta_m", 1000.0))
        return original, with_records(release, records), linkage

    return break_it


def move_one_point(records: list[Record], delta_m: float) -> None:
    t, x, y = records[0][-1]
    records[0][-1] = (t, x + 1_000 * delta_m + 1_000, y)


def move_just_out(records: list[Record], delta_m: float) -> None:
    """To the north of everybody who is there at that time, by little more than delta."""
    t, x, _ = records[0][0]
    north = max(y for record in records for at, _, y in record if at == t)
    records[0][0] = (t, x, north + delta_m * (1 + 1e-9) + 1e-6)


def another_time(records: list[Record], _delta_m: float) -> None:
    t, x, y = records[0][-1]
    records[0][-1] = (t + 0.125, x, y)


def one_more_time(records: list[Record], _delta_m: float) -> None:
    t, x, y = records[0][-1]
    records[0].append((t + 1e6, x, y))


def empty_one(records: list[Record], _delta_m: float) -> None:
    records[0] = []


def repeat_one(records: list[Record], _delta_m: float) -> None:
    records[0].append(records[0][0])


def counted(**differences: int) -> Callable[..., Case]:
    def break_it(original: Trajectories, release: Release, linkage: Linkage) -> Case:
        changes = {name: getattr(release.losses, name) + more for name, more in differences.items()}
        return original, replace(release, losses=replace(release.losses, **changes)), linkage

    return break_it


def least_losses(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    """As few suppressed and created as make the sum right."""
    lost = max(0, original.n_samples - release.n_samples)
    created = release.n_samples - original.n_samples + lost
    losses = replace(release.losses, samples_suppressed=lost, samples_created=created)
    return original, replace(release, losses=losses), linkage


def a_row_twice(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    uids, names = (*linkage.uids, linkage.uids[0]), (*linkage.trajectory_ids, linkage.trajectory_ids[0])
    return original, release, replace(linkage, uids=uids, trajectory_ids=names)


def delta_of(release: Release) -> float:
    assert isinstance(release.claim, KDeltaAnonymity)
    return release.claim.delta_m


def claimed(change: Callable[[Release], dict[str, Any]]) -> Callable[..., Case]:
    def break_it(original: Trajectories, release: Release, linkage: Linkage) -> Case:
        return original, replace(release, claim=replace(release.claim, **change(release))), linkage

    return break_it


def reordered(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    """By raw identifier."""
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    order = sorted(range(release.n_records), key=lambda position: uid_of[release.trajectory_ids[position]])
    names = tuple(release.trajectory_ids[position] for position in order)
    records = records_of(release)
    return (
        original,
        with_records(release, [records[position] for position in order], trajectory_ids=names),
        linkage,
    )


def another_plane(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, replace(release, crs="EPSG:3035"), linkage


K_DELTA = (KDeltaAnonymity,)
POINT_DAMAGES = (
    PointDamage("a point moved far away", in_records(move_one_point), "alone-at-a-time", K_DELTA),
    PointDamage(
        "a point moved just out of delta of everybody", in_records(move_just_out), "alone-at-a-time", K_DELTA
    ),
    PointDamage("a point at a time of its own", in_records(another_time), "alone-at-a-time", K_DELTA),
    PointDamage("a point more, where nobody else is", in_records(one_more_time), "alone-at-a-time", K_DELTA),
    PointDamage(
        "larger k than there are records",
        claimed(lambda release: {"k": release.n_records + 1}),
        "alone-at-a-time",
        K_DELTA,
    ),
    PointDamage(
        "smaller delta",
        claimed(lambda release: {"delta_m": delta_of(release) / 1e6}),
        "alone-at-a-time",
        K_DELTA,
    ),
    PointDamage("a created point not counted", counted(samples_created=1), "points-not-accounted", K_DELTA),
    PointDamage(
        "a suppressed sample too many", counted(samples_suppressed=1), "points-not-accounted", K_DELTA
    ),
    PointDamage(
        "counts below zero",
        counted(samples_suppressed=-(10**6), samples_created=-(10**6)),
        "points-not-accounted",
        K_DELTA,
    ),
    PointDamage("the least losses that add up", least_losses, "lost-samples-not-counted", K_DELTA),
    PointDamage("a pair of the linkage twice", a_row_twice, "doubled-link"),
    PointDamage(
        "suppressed subjects not counted", counted(subjects_suppressed=1), "lost-subjects-not-counted"
    ),
    PointDamage("a record emptied", in_records(empty_one), "empty-record"),
    PointDamage("a point twice", in_records(repeat_one), "malformed-point"),
    PointDamage("another plane", another_plane, "grid-mismatch"),
    PointDamage("records in the order of the ids", reordered, "record-order"),
    PointDamage("record without a subject", of_boxes.record_without_subject, "record-without-subject"),
    PointDamage("record with two subjects", of_boxes.record_with_two_subjects, "record-with-two-subjects"),
    PointDamage("linkage names an unknown record", of_boxes.unknown_record, "unknown-record"),
    PointDamage("linkage names an unknown subject", of_boxes.unknown_subject, "unknown-subject"),
    PointDamage("pseudonym used twice", of_boxes.same_pseudonym, "duplicate-pseudonym"),
    PointDamage("raw identifier as pseudonym", of_boxes.identifier_as_pseudonym, "raw-identifier"),
    PointDamage("hashed identifier as pseudonym", of_boxes.hash_as_pseudonym, "raw-identifier"),
    PointDamage("dropped rows not counted", of_boxes.dropped_rows_not_counted, "lost-rows-not-counted"),
    PointDamage("a seed among the parameters", of_boxes.seed_in_parameters, "seed"),
    PointDamage("another unit of protection", of_boxes.another_unit, "unit-mismatch"),
)
