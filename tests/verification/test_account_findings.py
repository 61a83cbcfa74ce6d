"""By hand: who became which record, how the raw data was read, and what another tool's file shows."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from claim_check import verdict_on_claim
from shoal.errors import MisuseError
from shoal.model.claims import KAnonymity
from shoal.model.intake import Intake, Reading
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.verification import verify
from shoal.verification.boxes.loops import Samples
from shoal.verification.checks import seed_names
from shoal.verification.examination import NO_ACCOUNT, Examination
from shoal.verification.foreign import examine_file, file_findings, identifying_names
from shoal.verification.linking import link_records, too_many_records
from told_releases import Box, people, told

UNIT = (0, 1, 0, 0, 1, 1)
READ = Intake(rows_read=9, dropped={"empty time": 2, "latitude outside -90..90": 0})


def sound(*, intake: Intake = READ) -> tuple[Trajectories, Release, Linkage]:
    original = people({uid: [(0, 0, 0)] for uid in ("ann", "ben", "cho")}, intake=intake)
    return original, *told(original, [(uid, [UNIT]) for uid in original.ids], KAnonymity(k=3))


# --- the linkage --------------------------------------------------------------------------------------------

MANY = "the subject of this record is linked to 2 records; expected exactly 1"
NO_SUBJECT = "no subject is linked to this record; expected exactly 1"
LINKAGES: dict[str, tuple[list[tuple[str, str]], list[tuple[str, str | None, str]], list[int], int]] = {
    "sound": ([("ann", "r0"), ("ben", "r1"), ("cho", "r2")], [], [0, 1, 2], 3),
    "told twice": (
        [("ann", "r0"), ("ann", "r0"), ("ben", "r1"), ("cho", "r2")],
        [("doubled-link", None, "1 row of the linkage repeats another; expected each pair once")],
        [0, 1, 2],
        3,
    ),
    "another record": (
        [("ann", "r0"), ("ben", "r1"), ("cho", "r2"), ("cho", "r9")],
        [("unknown-record", None, "pair 4 of the linkage names a record that the release does not hold")],
        [0, 1, 2],
        3,
    ),
    "another subject": (
        [("ann", "r0"), ("ben", "r1"), ("dee", "r2")],
        [
            (
                "unknown-subject",
                "r2",
                "pair 3 of the linkage gives this record a subject that the raw data does not hold",
            ),
            ("record-without-subject", "r2", NO_SUBJECT),
        ],
        [0, 1, -1],
        2,
    ),
    "two subjects": (
        [("ann", "r0"), ("ben", "r1"), ("cho", "r1")],
        [
            ("record-with-two-subjects", "r1", "2 subjects are linked to this record; expected exactly 1"),
            ("record-without-subject", "r2", NO_SUBJECT),
        ],
        [0, -1, -1],
        3,
    ),
    "two records": (
        [("ann", "r0"), ("ann", "r1"), ("cho", "r2")],
        [("subject-in-two-classes", "r0", MANY), ("subject-in-two-classes", "r1", MANY)],
        [0, 0, 2],
        2,
    ),
}


@pytest.mark.parametrize("name", LINKAGES)
def test_each_subject_has_one_record(name: str) -> None:
    pairs, findings, subject_of, n_with_record = LINKAGES[name]
    original, release, _ = sound()
    linkage = Linkage(tuple(uid for uid, _ in pairs), tuple(name for _, name in pairs))
    links = link_records(original, release, linkage)
    assert [(finding.kind, finding.trajectory_id, finding.message) for finding in links.findings] == findings
    assert links.subject_of.tolist() == subject_of
    assert links.n_subjects_with_record == n_with_record
    assert verdict_on_claim(original, release, linkage).holds == (not findings)


@pytest.mark.parametrize(("records", "too_many"), [(1006, False), (1007, True)])
def test_records_are_not_far_more_than_people(records: int, too_many: bool) -> None:
    findings = [finding.message for finding in too_many_records(sound()[0], records)]
    assert findings == ["the release holds 1,007 records, and the raw data 3 subjects"] * too_many


# --- the account --------------------------------------------------------------------------------------------

ACCOUNTS: dict[str, tuple[dict[str, Any], str]] = {
    "fewer rows": ({"rows": {"empty time": 1}}, "lost-rows-not-counted"),
    "other reasons": ({"rows": {"empty id": 2}}, "lost-rows-not-counted"),
    "no rows": ({"rows": {}}, "lost-rows-not-counted"),
    "a unit": ({"unit_of_protection": "each trip"}, "unit-mismatch"),
    "days": ({"reading": Reading(per_day=True)}, "unit-mismatch"),
    "samples": ({"reading": Reading(min_samples_per_day=1.0)}, "unit-mismatch"),
    "active days": ({"reading": Reading(min_active_days=1)}, "unit-mismatch"),
}


@pytest.mark.parametrize("name", ACCOUNTS)
@pytest.mark.parametrize("read", [True, False])
def test_the_account_of_the_reading_is_compared(name: str, read: bool) -> None:
    """Where the raw data was not read from a file, another account is not checked and not refuted."""
    original, release, linkage = sound(intake=READ if read else Intake())
    honest = verdict_on_claim(original, release, linkage)
    assert honest.holds
    assert (NO_ACCOUNT in honest.notes) == (not read)
    zeros = replace(release.losses, rows={**release.losses.rows, "none": 0})
    assert verdict_on_claim(original, replace(release, losses=zeros), linkage).holds
    changes, kind = ACCOUNTS[name]
    if "rows" in changes:
        rows = changes["rows"] if read else {"empty time": 1}
        changes = {"losses": replace(release.losses, rows=rows)}
    verdict = verdict_on_claim(original, replace(release, **changes), linkage)
    assert verdict.kinds == ({kind} if read else set())
    assert verdict.word == ("DOES NOT HOLD" if read else "NOT CHECKED")


def test_the_words_about_rows_count_reasons_that_count_something() -> None:
    original, release, linkage = sound()
    losses = replace(release.losses, rows={"empty time": 1, "empty id": 4, "none": 0})
    (finding,) = verdict_on_claim(original, replace(release, losses=losses), linkage).findings
    assert finding.message == (
        "reading the raw data dropped 2 rows for 1 reason; the losses say 5 rows for 2 reasons, or give "
        "other reasons"
    )


@pytest.mark.parametrize("parts", [(), ("no such part",), ("account", "no such part")])
def test_an_examination_needs_parts_that_are_known(parts: tuple[str, ...]) -> None:
    with pytest.raises(MisuseError, match="a claim needs parts to be checked"):
        Examination(*sound(), parts)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_subjects_without_a_record_are_counted_with_a_linkage_and_without(lost: int) -> None:
    original, release, linkage = sound()
    losses = replace(release.losses, subjects_suppressed=lost)
    for linkage_or_none in (linkage, None):
        found = verdict_on_claim(original, replace(release, losses=losses), linkage_or_none).findings
        words = f"0 subjects have no record; the losses say {lost}"
        assert [finding.message for finding in found] == [words] * (lost > 0)


def test_every_later_use_of_a_pseudonym_is_found() -> None:
    original, release, _ = sound()
    names = ("r0", "r0", "r0")
    found = verdict_on_claim(original, replace(release, trajectory_ids=names), None).findings
    assert [finding.kind for finding in found] == ["duplicate-pseudonym"] * 2


# --- names and parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"k": 2}, []),
        ({"Seed": None}, ["Seed"]),
        ({"a": {"b": {"rng_seed": 1}}}, ["rng_seed"]),
        ({"a": [{"seed": 1}, 2, {"b": ({"SEEDS": 3},)}], "c": "seed"}, ["seed", "SEEDS"]),
    ],
)
def test_seeds_are_found_at_any_depth(settings: dict[str, Any], expected: list[str]) -> None:
    assert list(seed_names(settings)) == expected


def test_a_telling_pseudonym_is_found_and_shown_in_no_finding() -> None:
    original = people({f"caller-{i:04d}": [(0, 0, 0)] for i in range(3)})
    release, linkage = told(original, [(uid, [UNIT]) for uid in original.ids], KAnonymity(k=4))
    names = ("caller-0001", "x7", "x8")
    linkage = Linkage(linkage.uids, names)
    lie = replace(release, trajectory_ids=names, parameters={"caller-0002-seed": 1})
    found = verify(original, lie, linkage).findings
    kinds = {finding.kind: finding for finding in found}
    assert kinds["class-below-k"].trajectory_id is None
    assert kinds["raw-identifier"].message == (
        "1 pseudonym is or holds a raw identifier, or a plain hash of one"
    )
    assert kinds["seed"].message == "a parameter names a seed; leave it out"
    assert not any("caller" in f"{finding.trajectory_id} {finding.message}" for finding in found)


# --- files of other tools -----------------------------------------------------------------------------------


def foreign(records: list[list[Box]]) -> tuple[Trajectories, Samples, Release]:
    """Three people at the origin; the first two go on to the place (4, 4), the third to (8, 8)."""
    original = people(
        {
            "ann": [(0, 0, 0), (5, 4, 4)],
            "ben": [(0, 0, 0), (5, 4, 4)],
            "cho": [(0, 0, 0), (5, 8, 8)],
        }
    )
    release, _ = told(original, [("ann", boxes) for boxes in records], KAnonymity(k=2))
    return original, Samples(offsets=original.offsets, t=original.t, x=original.x, y=original.y), release


HERE, THERE, AWAY = (0, 1, 0, 0, 1, 1), (5, 6, 4, 4, 5, 5), (5, 6, 30, 30, 31, 31)


@pytest.mark.parametrize(
    ("records", "people_behind", "true_rows", "least"),
    [
        ([[HERE]] * 2, [3], [True] * 2, 2),
        ([[HERE]] * 4, [3], [True] * 4, 3),
        ([[HERE, THERE]] * 2, [2], [True] * 4, 2),
        ([[HERE, THERE], [HERE]], [2, 3], [True] * 3, 1),
        ([[HERE, AWAY]] * 2, [0], [True, False] * 2, 0),
        ([[HERE, AWAY], [HERE, THERE], [HERE, AWAY]], [0, 2], [True, False, True, True, True, False], 0),
    ],
)
def test_who_could_be_behind_a_class_when_nobody_says(
    records: list[list[Box]], people_behind: list[int], true_rows: list[bool], least: int
) -> None:
    _, samples, release = foreign(records)
    examined = examine_file(release, samples, None)
    assert (examined.linked, examined.covered) == (False, None)
    assert examined.people.tolist() == people_behind
    assert examined.true_rows.tolist() == true_rows
    assert examined.least == least


@pytest.mark.parametrize(
    ("person_of", "people_behind", "true_rows", "covered"),
    [
        ([0, 1], [2], [True] * 4, [True] * 4 + [False] * 2),
        ([0, 0], [1], [True] * 4, [True] * 2 + [False] * 4),
        ([2, 1], [2], [True, False, True, True], [False] * 2 + [True] * 3 + [False]),
        ([-1, 1], [1], [False, False, True, True], [False] * 2 + [True] * 2 + [False] * 2),
        ([-1, -1], [0], [False] * 4, [False] * 6),
    ],
)
def test_who_is_behind_a_class_when_it_is_known(
    person_of: list[int], people_behind: list[int], true_rows: list[bool], covered: list[bool]
) -> None:
    _, samples, release = foreign([[HERE, THERE]] * 2)
    examined = examine_file(release, samples, np.array(person_of))
    assert examined.linked
    assert examined.people.tolist() == people_behind
    assert examined.true_rows.tolist() == true_rows
    assert examined.covered is not None
    assert examined.covered.tolist() == covered


@pytest.mark.parametrize(
    ("person_of", "k", "kinds"),
    [
        ([0, 1], 2, []),
        ([0, 1], 3, [("class-below-k", "2 records are alike here, this one included; expected at least 3")]),
        ([0, 0], 2, [("class-below-k", "1 person is behind 2 records that are alike; expected at least 2")]),
        (None, 2, []),
    ],
)
def test_classes_are_held_to_k_in_records_and_in_people(
    person_of: list[int] | None, k: int, kinds: list[tuple[str, str]]
) -> None:
    _, samples, release = foreign([[HERE, THERE]] * 2)
    examined = examine_file(release, samples, None if person_of is None else np.array(person_of))
    findings = [
        (finding.kind, finding.message) for finding in file_findings(examined, release, k, truthful=True)
    ]
    assert findings == kinds


def test_rows_of_nobody_are_found_where_truth_is_claimed() -> None:
    _, samples, release = foreign([[HERE, AWAY]] * 2)
    examined = examine_file(release, samples, None)
    findings = [
        (finding.kind, finding.trajectory_id, finding.message)
        for finding in file_findings(examined, release, 2, truthful=True)
    ]
    people_behind = "0 people have a raw sample in every row of 2 records that are alike; expected at least 2"
    assert findings == [
        ("class-without-subjects", "r0", people_behind),
        ("sample-without-own-point", "r0", "box 2 of 2 holds no raw sample of anybody"),
        ("sample-without-own-point", "r1", "box 2 of 2 holds no raw sample of anybody"),
    ]
    assert len(list(file_findings(examined, release, 2, truthful=False))) == 1
    owned = examine_file(release, samples, np.array([0, 1]))
    words = [finding.message for finding in file_findings(owned, release, 2, truthful=True)]
    assert words == ["box 2 of 2 holds no raw sample of its own person"] * 2


def test_names_of_records_that_tell_are_counted() -> None:
    original = people({f"caller-{i:04d}": [(0, 0, 0)] for i in range(3)})
    assert identifying_names(original, ("x7", "x8")) == (0, [])
    count, (finding,) = identifying_names(original, ("x7", "caller-0002", "by caller-0001"))
    assert (count, finding.kind) == (2, "raw-identifier")
    assert finding.message == "2 of 3 records are named by a raw identifier or by a plain hash of one"
