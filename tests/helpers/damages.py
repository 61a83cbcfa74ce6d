"""Ways to break a sound release in memory, in one literal table.

Those of a written folder stand in folder_damages.py.

Each row says which kind of finding must be among those of the verdict. Damages touch all members of a class
alike where a single one would only make the class smaller, and an attacker's bookkeeping (counts, hash) is
done where it would be done. They work on the release of any method with at least two classes, four records
and a linkage.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.model.claims import Claim, KAnonymity, KteAnonymity
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories

Box = tuple[int, ...]
Case = tuple[Trajectories, Release, Linkage]


@dataclass(frozen=True)
class Damage:
    """A way to break a release in memory. claims: the types of claim that speak of what it breaks."""

    name: str
    break_it: Callable[[Trajectories, Release, Linkage], Case]
    expected_kind: str
    claims: tuple[type[Claim], ...] = (KAnonymity, KteAnonymity)

    def concerns(self, claim: Claim) -> bool:
        """Whether a release with this claim promises what the damage breaks."""
        if self.expected_kind == "overlap-in-time" and not claim.disjoint_in_time:
            return False
        if self.name == "shifted in space by one cell" and "outward" in getattr(claim, "hull", ""):
            return False  # a side may lie there by chance
        if self.expected_kind in ("sample-without-own-point", "box-not-tight") and not claim.truthful:
            return False
        return isinstance(claim, self.claims)

    def applied_to(self, original: Trajectories, release: Release, linkage: Linkage) -> Case:
        return self.break_it(original, release, linkage)


# --- a release as plain lists, and back ---------------------------------------------------------------------


def rows_of(release: Release) -> list[list[Box]]:
    """Every record as a list of boxes."""
    return [
        [tuple(box) for box in zip(*(c.tolist() for c in release.record(r).columns()), strict=True)]
        for r in range(release.n_records)
    ]


def with_records(
    release: Release, records: list[list[Box]], names: list[str] | None = None, **changes: Any
) -> Release:
    """The release with other records, each in the order of time."""
    flat = np.array([box for record in records for box in sorted(record)], dtype=np.int64).reshape(-1, 6)
    return replace(
        release,
        payload=Boxes(**dict(zip(BOX_COLUMNS, flat.T.copy(), strict=True))),
        offsets=np.cumsum([0, *(len(record) for record in records)], dtype=np.int64),
        trajectory_ids=release.trajectory_ids if names is None else tuple(names),
        **changes,
    )


def first_class(release: Release) -> list[int]:
    """The records of the smallest class, by brute comparison."""
    records = [tuple(record) for record in rows_of(release)]
    sizes = Counter(records)
    smallest = min(records, key=lambda record: (sizes[record], record))
    return [position for position, record in enumerate(records) if record == smallest]


def subject_positions(original: Trajectories, release: Release, linkage: Linkage) -> list[int]:
    """The subject of every record."""
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    return [original.ids.index(uid_of[name]) for name in release.trajectory_ids]


def in_whole_class(
    change: Callable[[list[Box], Trajectories], list[Box]],
) -> Callable[[Trajectories, Release, Linkage], Case]:
    """A damage that changes the boxes of every member of one class in the same way."""

    def break_it(original: Trajectories, release: Release, linkage: Linkage) -> Case:
        records = rows_of(release)
        for position in first_class(release):
            records[position] = change(records[position], original)
        return original, with_records(release, records), linkage

    return break_it


def without_records(original: Trajectories, release: Release, linkage: Linkage, gone: list[int]) -> Case:
    """The release without some records; their subjects and samples are honestly counted as suppressed."""
    records, subjects = rows_of(release), subject_positions(original, release, linkage)
    freed = 0
    for position in gone:
        t, x, y = original.samples_of(subjects[position])
        for at, east, north in zip(t, x, y, strict=True):
            freed += any(
                b[0] <= at < b[1] and b[2] <= east < b[4] and b[3] <= north < b[5] for b in records[position]
            )
    losses = release.losses
    losses = replace(
        losses,
        samples_suppressed=losses.samples_suppressed + freed,
        subjects_suppressed=losses.subjects_suppressed + len(gone),
    )
    kept = [position for position in range(release.n_records) if position not in gone]
    names = [release.trajectory_ids[position] for position in kept]
    pairs = [
        (uid, name) for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True) if name in names
    ]
    left = with_records(release, [records[position] for position in kept], names, losses=losses)
    return original, left, Linkage(tuple(uid for uid, _ in pairs), tuple(name for _, name in pairs))


def reordered(release: Release, order: list[int]) -> Release:
    records = rows_of(release)
    return with_records(
        release,
        [records[position] for position in order],
        [release.trajectory_ids[position] for position in order],
    )


def renamed(release: Release, linkage: Linkage, new: dict[str, str]) -> tuple[Release, Linkage]:
    return (
        replace(release, trajectory_ids=tuple(new.get(name, name) for name in release.trajectory_ids)),
        replace(linkage, trajectory_ids=tuple(new.get(name, name) for name in linkage.trajectory_ids)),
    )


# --- damages in memory --------------------------------------------------------------------------------------


def widened(record: list[Box], original: Trajectories) -> list[Box]:
    """To the east, beyond every raw sample."""
    t_start, t_end, x_min, y_min, _, y_max = record[0]
    return [(t_start, t_end, x_min, y_min, int(original.x.max()) + 10, y_max), *record[1:]]


def moved(record: list[Box], *, slots: int = 0, cells: int = 0) -> list[Box]:
    t_start, t_end, x_min, y_min, x_max, y_max = record[-1]
    return [*record[:-1], (t_start + slots, t_end + slots, x_min + cells, y_min, x_max + cells, y_max)]


def beyond(original: Trajectories) -> Box:
    """A box later than every raw sample, where the first one lay."""
    late, x, y = int(original.t.max()) + 10, int(original.x[0]), int(original.y[0])
    return (late, late + 1, x, y, x + 1, y + 1)


def both_first(record: list[Box]) -> Box:
    """The hull of the first two boxes (or of the only one).

    Tight and truthful, but at the same time as they are.
    """
    pair = np.array(record[:2])
    return (
        *pair.min(axis=0)[[0]].tolist(),
        pair[:, 1].max().item(),
        *pair.min(axis=0)[[2, 3]].tolist(),
        *pair.max(axis=0)[[4, 5]].tolist(),
    )


def one_member_changed(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    records = rows_of(release)
    records[0] = widened(records[0], original)
    return original, with_records(release, records), linkage


def class_of_k_minus_1(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    members = first_class(release)
    return without_records(original, release, linkage, members[release.claim.k - 1 :])


def with_k(release: Release, k: int) -> Any:
    """The same claim with another k, which all claims of crowds have."""
    claim: Any = release.claim
    return replace(claim, k=k)


def larger_k(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, replace(release, claim=with_k(release, len(first_class(release)) + 1)), linkage


def more_than_all(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, replace(release, claim=with_k(release, release.n_records + 1)), linkage


def one_left(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return without_records(original, release, linkage, list(range(1, release.n_records)))


def own_hulls(
    original: Trajectories, release: Release, linkage: Linkage, positions: list[int]
) -> list[list[Box]]:
    """The records, in some of which every box is only the hull of the own subject's samples in it."""
    records, subjects = rows_of(release), subject_positions(original, release, linkage)
    for position in positions:
        own = list(zip(*(column.tolist() for column in original.samples_of(subjects[position])), strict=True))
        inside = [
            [s for s in own if b[0] <= s[0] < b[1] and b[2] <= s[1] < b[4] and b[3] <= s[2] < b[5]]
            for b in records[position]
        ]
        records[position] = [
            (*_ends(t), *_corners(x, y)) for t, x, y in (zip(*samples, strict=True) for samples in inside)
        ]
    return records


def _ends(t: tuple[int, ...]) -> tuple[int, int]:
    return min(t), max(t) + 1


def _corners(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, int, int, int]:
    return min(x), min(y), max(x) + 1, max(y) + 1


def one_cover_gone(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    """No record but the first two holds anybody else's samples.

    Those who were hidden there have lost their cover.
    """
    records = own_hulls(original, release, linkage, list(range(2, release.n_records)))
    return original, with_records(release, records), linkage


def giant_boxes(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    """Boxes as wide as the data, each at one subject's own times.

    Everybody is covered, and silence gives them away.
    """
    west, east = int(original.x.min()), int(original.x.max()) + 1
    south, north = int(original.y.min()), int(original.y.max()) + 1
    records: list[list[Box]] = []
    for position in subject_positions(original, release, linkage):
        times = np.unique(original.samples_of(position)[0]).tolist()
        records.append([(t, t + 1, west, south, east, north) for t in times])
    return original, with_records(release, records), linkage


def record_without_subject(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, release, Linkage(linkage.uids[1:], linkage.trajectory_ids[1:])


def subject_in_two_classes(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    member = release.trajectory_ids[first_class(release)[0]]
    outsider = next(p for p in range(release.n_records) if p not in first_class(release))
    at = linkage.trajectory_ids.index(member)
    there = linkage.trajectory_ids.index(release.trajectory_ids[outsider])
    uids = list(linkage.uids)
    uids[there] = uids[at]
    return original, release, Linkage(tuple(uids), linkage.trajectory_ids)


def record_with_two_subjects(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return (
        original,
        release,
        Linkage((*linkage.uids, linkage.uids[0]), (*linkage.trajectory_ids, linkage.trajectory_ids[1])),
    )


def unknown_record(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, release, Linkage((*linkage.uids, linkage.uids[0]), (*linkage.trajectory_ids, "0" * 16))


def unknown_subject(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, release, Linkage(("nobody-0", *linkage.uids[1:]), linkage.trajectory_ids)


def same_pseudonym(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return (
        original,
        replace(release, trajectory_ids=(release.trajectory_ids[1], *release.trajectory_ids[1:])),
        linkage,
    )


def identifier_as_pseudonym(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, *renamed(release, linkage, {linkage.trajectory_ids[0]: linkage.uids[0]})


def hash_as_pseudonym(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    digest = hashlib.md5(linkage.uids[0].encode()).hexdigest()[:16]
    return original, *renamed(release, linkage, {linkage.trajectory_ids[0]: digest})


def hashes_as_pseudonyms(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    digests = [hashlib.sha256(uid.encode()).hexdigest()[:8].upper() for uid in linkage.uids]
    return original, *renamed(release, linkage, dict(zip(linkage.trajectory_ids, digests, strict=True)))


def suppressed_samples_not_counted(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    _, left, links = without_records(original, release, linkage, first_class(release))
    return (
        original,
        replace(left, losses=replace(left.losses, samples_suppressed=release.losses.samples_suppressed)),
        links,
    )


def suppressed_subjects_not_counted(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    _, left, links = without_records(original, release, linkage, first_class(release))
    return (
        original,
        replace(left, losses=replace(left.losses, subjects_suppressed=release.losses.subjects_suppressed)),
        links,
    )


def too_many_samples_counted(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    losses = replace(release.losses, samples_suppressed=release.losses.samples_suppressed + 1)
    return original, replace(release, losses=losses), linkage


def dropped_rows_not_counted(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    read = replace(original, intake=original.intake.with_dropped("an empty time", 3))
    return read, release, linkage


def in_input_order(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    assert original.input_rank is not None
    subjects = subject_positions(original, release, linkage)
    return original, reordered(release, np.argsort(original.input_rank[subjects]).tolist()), linkage


def in_reverse_order_of_ids(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return (
        original,
        reordered(release, np.argsort(subject_positions(original, release, linkage))[::-1].tolist()),
        linkage,
    )


def seed_in_parameters(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, replace(release, parameters={**release.parameters, "shuffle": {"Seed": None}}), linkage


def another_grid(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return (
        original,
        replace(release, grid=replace(release.snapped_grid(), cell_m=release.snapped_grid().cell_m / 2)),
        linkage,
    )


def another_unit(original: Trajectories, release: Release, linkage: Linkage) -> Case:
    return original, replace(release, unit_of_protection="each person"), linkage


DAMAGES = (
    Damage("sample removed", in_whole_class(lambda record, _: record[1:]), "lost-samples-not-counted"),
    Damage("all samples removed", in_whole_class(lambda _, __: []), "empty-record"),
    Damage(
        "sample added",
        in_whole_class(lambda record, original: [*record, beyond(original)]),
        "sample-without-own-point",
    ),
    Damage(
        "shifted in space",
        in_whole_class(lambda record, _: moved(record, cells=1_000_000)),
        "sample-without-own-point",
    ),
    Damage(
        "shifted in space by one cell",
        in_whole_class(lambda record, _: moved(record, cells=1)),
        "box-not-tight",
    ),
    Damage(
        "shifted in time",
        in_whole_class(lambda record, _: moved(record, slots=1_000_000)),
        "sample-without-own-point",
    ),
    Damage(
        "shifted in time by one slot",
        in_whole_class(lambda record, _: moved(record, slots=1)),
        "box-not-tight",
    ),
    Damage("widened beyond its hull", in_whole_class(widened), "box-not-tight"),
    Damage(
        "overlapping in time",
        in_whole_class(lambda record, _: [*record, both_first(record)]),
        "overlap-in-time",
    ),
    Damage(
        "turned inside out",
        in_whole_class(lambda record, _: [(record[0][1], record[0][0], *record[0][2:])]),
        "malformed-box",
    ),
    Damage("one member's record changed", one_member_changed, "class-below-k", (KAnonymity,)),
    Damage("class of k - 1", class_of_k_minus_1, "class-below-k", (KAnonymity,)),
    Damage("larger k than the data has", larger_k, "class-below-k", (KAnonymity,)),
    Damage(
        "more candidates claimed than there are records", more_than_all, "too-few-candidates", (KteAnonymity,)
    ),
    Damage("all but one record of others gone", one_left, "too-few-candidates", (KteAnonymity,)),
    Damage(
        "one hider's samples left out of one record", one_cover_gone, "too-few-candidates", (KteAnonymity,)
    ),
    Damage("one giant box for each record", giant_boxes, "too-few-candidates", (KteAnonymity,)),
    Damage("record without a subject", record_without_subject, "record-without-subject"),
    Damage("subject in two classes", subject_in_two_classes, "subject-in-two-classes"),
    Damage("record with two subjects", record_with_two_subjects, "record-with-two-subjects"),
    Damage("linkage names an unknown record", unknown_record, "unknown-record"),
    Damage("linkage names an unknown subject", unknown_subject, "unknown-subject"),
    Damage("pseudonym used twice", same_pseudonym, "duplicate-pseudonym"),
    Damage("raw identifier as pseudonym", identifier_as_pseudonym, "raw-identifier"),
    Damage("hashed identifier as pseudonym", hash_as_pseudonym, "raw-identifier"),
    Damage("eight digits of a hash as pseudonyms", hashes_as_pseudonyms, "raw-identifier"),
    Damage("suppressed samples not counted", suppressed_samples_not_counted, "lost-samples-not-counted"),
    Damage(
        "more suppressed samples counted than there are", too_many_samples_counted, "lost-samples-not-counted"
    ),
    Damage("suppressed subjects not counted", suppressed_subjects_not_counted, "lost-subjects-not-counted"),
    Damage("dropped rows not counted", dropped_rows_not_counted, "lost-rows-not-counted"),
    Damage("record order equal to input order", in_input_order, "record-order"),
    Damage("record order the reverse of the ids", in_reverse_order_of_ids, "record-order"),
    Damage("seed in the parameters", seed_in_parameters, "seed"),
    Damage("another grid", another_grid, "grid-mismatch"),
    Damage("another unit of protection", another_unit, "unit-mismatch"),
)
