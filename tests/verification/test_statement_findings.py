"""What a manifest states, held against what is derived: each statement true, and just false."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from claim_check import verdict_on_claim
from shoal.errors import InputError
from shoal.model.intake import OUT_OF_ORDER, Intake, Reading
from shoal.model.omission import NO_DURATION, OUTSIDE_ALL_BOXES, PERSON_LEFT_OUT
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    build_manifest,
    write_manifest,
)
from shoal.release_folder.tables import write_table
from shoal.runtime.files import sha256_of
from shoal.verification.files.stated import false_statements, manifest_mismatches
from told_points import PAIR, linked, published, raw

READ = Intake(rows_read=4, dropped={"gone": 0}, repaired={"mended": 2, "whole": 0})
RELEASE = published(PAIR, parameters={"k": 2, "delta_m": 10.0, "seen": 7}, rows_repaired={"mended": 2})


def stating(
    folder: Path, losses: dict[str, Any] | None = None, **entries: Any
) -> tuple[Trajectories, Manifest, Verdict]:
    """People, the manifest of a sound release with other entries, and the verdict."""
    original = replace(raw(PAIR), intake=READ)
    verdict = verdict_on_claim(original, RELEASE, linked(2))
    assert verdict.holds
    write_table(RELEASE, folder / RELEASE_FILE)
    manifest = build_manifest(RELEASE, verdict, folder / RELEASE_FILE)
    changed = manifest.losses.model_copy(update=losses or {})
    return original, manifest.model_copy(update={"losses": changed, **entries}), verdict


ROWS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    ({}, {}, []),
    (
        {},
        {"rows_repaired": {"mended": 3}},
        ["its rows repaired are not those that reading the raw data repairs"],
    ),
    ({}, {"rows_repaired": {"mended": 2, "whole": 0}}, []),
    ({}, {"rows_repaired": {"mended": 2, OUT_OF_ORDER: 5}}, []),
    (
        {},
        {"rows_repaired": {"mended": 2, OUT_OF_ORDER: 1 << 40}},
        ["its rows repaired are not those that reading the raw data repairs"],
    ),
    ({}, {"rows_repaired": {"mended": 2, OUT_OF_ORDER: 0}}, []),
    ({}, {"rows_repaired": {"mended": 2, "other": 0}}, ["rows_repaired gives a reason that counts nothing"]),
    ({"rows": {"gone": 0}}, {}, []),
    ({"rows": {"went": 0}}, {}, ["losses.rows gives a reason that counts nothing"]),
    ({"rows": {"went": 1}}, {}, []),
    ({}, {"parameters": {"k": 3, "delta_m": 10.0}}, ["the parameter k is not that of the claim"]),
    ({}, {"parameters": {"seen": 8}}, []),
    ({"samples_created": 1}, {}, []),
    (
        {"samples_created": 1},
        {"cell_m": 100.0, "slot_s": 60.0},
        ["it counts created samples, and areas with intervals have none"],
    ),
    ({}, {"reading": {**asdict(Reading()), "not_after_s": 1e9, "lose_people": True}}, []),
    *(
        (
            {},
            {"reading": asdict(Reading()) | {name: value}},
            [f"its reading has another {name} than the raw data was read with"],
        )
        for name, value in [("time", "when"), ("slot_s", 61.0), ("snap", False), ("working_crs", "EPSG:3857")]
    ),
    ({"subjects_suppressed": 2}, {}, []),
    ({"subjects_suppressed": 2, "subjects_by_reason": {NO_DURATION: 2}}, {}, []),
    (
        {"subjects_suppressed": 2, "subjects_by_reason": {NO_DURATION: 1}},
        {},
        ["the subjects suppressed by reason are not as many as those suppressed"],
    ),
    (
        {"subjects_suppressed": 2, "subjects_by_reason": {"shy": 2}},
        {},
        ["losses.subjects_by_reason gives reasons that no method has"],
    ),
    (
        {"subjects_by_reason": {NO_DURATION: 0}},
        {},
        ["losses.subjects_by_reason gives a reason that counts nothing"],
    ),
    ({"samples_suppressed": 2}, {}, []),
    ({"samples_suppressed": 2, "samples_by_reason": {PERSON_LEFT_OUT: 2}}, {}, []),
    (
        {"samples_suppressed": 2, "samples_by_reason": {PERSON_LEFT_OUT: 1}},
        {},
        ["the samples suppressed by reason are not as many as those suppressed"],
    ),
    (
        {"samples_suppressed": 2, "samples_by_reason": {PERSON_LEFT_OUT: 2, OUTSIDE_ALL_BOXES: 0}},
        {},
        ["losses.samples_by_reason gives a reason that no release has, or that counts nothing"],
    ),
    (
        {"samples_suppressed": 2, "samples_by_reason": {"lost": 2}},
        {},
        ["losses.samples_by_reason gives a reason that no release has, or that counts nothing"],
    ),
]


@pytest.mark.parametrize(("losses", "entries", "expected"), ROWS, ids=str)
def test_what_can_be_derived_again_is_derived_and_compared(
    losses: dict[str, Any], entries: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    original, manifest, verdict = stating(tmp_path, losses, **entries)
    messages = list(false_statements(manifest, verdict, original, linked=True))
    assert messages == [Finding("false-statement", f"{MANIFEST_FILE}: {words}") for words in expected]


def test_rows_repaired_are_compared_where_rows_were_counted(tmp_path: Path) -> None:
    original, manifest, verdict = stating(tmp_path, rows_repaired={"mended": 3})
    for rows, n in ((0, 0), (1, 1)):
        original_read = replace(original, intake=replace(READ, rows_read=rows))
        assert len(list(false_statements(manifest, verdict, original_read, linked=True))) == n


def test_the_verdict_is_compared_where_the_claim_holds_and_its_notes_with_a_linkage(tmp_path: Path) -> None:
    original, manifest, verdict = stating(tmp_path)
    for name, value in (("checked", 9), ("notes", ["all is well"]), ("holds", False)):
        lying = manifest.model_copy(update={"verdict": {**manifest.verdict, name: value}})
        words = f"{MANIFEST_FILE}: its verdict has other {name} than the check comes to"
        for with_linkage in (True, False):
            findings = [
                finding.message for finding in false_statements(lying, verdict, original, linked=with_linkage)
            ]
            hint = "; another version of shoal may have: write the release again" * (name == "notes")
            assert findings == [words + hint] * (with_linkage or name != "notes")
        failed = verdict.with_findings([Finding("x", "y")])
        assert not list(false_statements(lying, failed, original, linked=True))


def test_digests_and_counts_are_those_of_the_files(tmp_path: Path) -> None:
    _, manifest, _ = stating(tmp_path)
    page, digest = tmp_path / REPORT_FILE, sha256_of(tmp_path / RELEASE_FILE)

    def told(
        manifest: Manifest = manifest, sha256: str = digest, records: int = 2, samples: int = 4
    ) -> list[str]:
        write_manifest(manifest, tmp_path / MANIFEST_FILE)
        return [
            finding.message for finding in manifest_mismatches(tmp_path, manifest, sha256, records, samples)
        ]

    other = f"{REPORT_FILE} has another SHA-256 than the manifest gives; "
    assert told() == []
    assert told(sha256="0" * 64) == [
        f"{RELEASE_FILE} has another SHA-256 than the manifest gives; it has 0000000000000000..."
    ]
    assert told(records=3) == [f"{RELEASE_FILE} holds 3 records; the manifest says 2"]
    assert told(samples=3) == [f"{RELEASE_FILE} holds 3 samples; the manifest says 4"]
    assert told(manifest.model_copy(update={"report_sha256": "0" * 64})) == [other + "there is none"]
    page.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError):
        told()
    page.unlink()
    page.write_text("a page")
    assert told() == [f"{other}it has {sha256_of(page)[:16]}..."]
    assert told(manifest.model_copy(update={"report_sha256": sha256_of(page)})) == []
    page.unlink()
    page.mkdir()
    with pytest.raises(InputError):
        told()


def test_a_manifest_is_spelled_in_one_way(tmp_path: Path) -> None:
    _, manifest, _ = stating(tmp_path)
    path = tmp_path / MANIFEST_FILE
    digest = sha256_of(tmp_path / RELEASE_FILE)
    write_manifest(manifest, path)
    content = path.read_text()
    for text, kinds in ((content, []), (content + "\n", ["respelled"]), (" " + content, ["respelled"])):
        path.write_text(text)
        assert [finding.kind for finding in manifest_mismatches(tmp_path, manifest, digest, 2, 4)] == kinds
    for name in ("claim", "verdict", "reading"):
        backwards = dict(reversed(getattr(manifest, name).items()))
        turned = manifest.model_copy(update={name: backwards})
        write_manifest(turned, path)
        assert [finding.kind for finding in manifest_mismatches(tmp_path, turned, digest, 2, 4)] == [
            "respelled"
        ]
