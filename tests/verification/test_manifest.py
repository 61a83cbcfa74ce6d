"""A manifest says what its format knows, each thing once, and nothing that the check derives otherwise."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from folder_damages import edit_manifest, edit_page
from naive_release import naive_release, small_city
from shoal.errors import InputError, MisuseError
from shoal.model.intake import OUT_OF_ORDER, Intake
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.files import PRIVATE, PUBLIC
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    build_manifest,
    read_manifest,
)
from shoal.release_folder.tables import write_table
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.verification import verify, verify_files
from shoal.verification.files.stated import PAGE_NOT_CHECKED
from shoal.verification.files.streamed import verify_streamed_folder
from stored import stored
from written_folders import write_folder

Case = tuple[Trajectories, Path, Linkage]
Change = Callable[[dict[str, Any]], object]
PAGE = f"<!doctype html><head>{PUBLIC}</head><h1>A release</h1>"


def with_account(original: Trajectories) -> Trajectories:
    """The same people as if they had been read, with rows repaired."""
    intake = Intake(rows_read=500, repaired={"times without a zone": 3})
    return Trajectories(**{**vars(original), "intake": intake})


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Case:
    original = with_account(small_city())
    release, linkage = naive_release(original, n_boxes=3)
    release = type(release)(**{**vars(release), "rows_repaired": {"times without a zone": 3}})
    verdict = verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    folder = write_folder(tmp_path_factory.mktemp("folder") / "release", release, verdict, PAGE)
    return original, folder, linkage


@pytest.fixture
def case(sound: Case, tmp_path: Path) -> Case:
    original, folder, linkage = sound
    shutil.copytree(folder, tmp_path / "release")
    return original, tmp_path / "release", linkage


def both_verdicts(case: Case, tmp_path: Path) -> list[frozenset[str]]:
    """Kinds of findings, in memory and streamed."""
    original, folder, linkage = case
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    people = stored(original, tmp_path / "people")
    streamed = verify_streamed_folder(people, folder, linkage, scratch, Run())
    return [verify_files(original, folder, linkage).kinds, streamed.kinds]


def test_a_sound_folder_holds(case: Case, tmp_path: Path) -> None:
    assert both_verdicts(case, tmp_path) == [frozenset(), frozenset()]


ROWS = [["caller-0007", 37.774929, -122.419416], ["caller-0008", 37.77, -122.41]]
REFUSED: tuple[tuple[Change, str], ...] = (
    (lambda m: m.update(rows=ROWS), "the document: it has an entry that no manifest has"),
    (lambda m: m.update({"caller-0007": 1}), "the document: it has an entry that no manifest has"),
    (lambda m: m["losses"].update(who=ROWS), "losses: it has an entry that no manifest has"),
    (lambda m: m["verdict"].update(who=ROWS), "verdict: it must have the entries holds"),
    (lambda m: m["verdict"].pop("notes"), "verdict: it must have the entries holds"),
    (lambda m: m["verdict"].update(checked="12"), "verdict: it must have the entries holds"),
    (lambda m: m["parameters"].update(who=ROWS), "parameters: a value is no number"),
    (lambda m: m["parameters"].update(who="37.77 -122.41"), "parameters: a value is no number"),
    (lambda m: m["parameters"].update(who={"a": ROWS}), "parameters: a value is no number"),
    (lambda m: m["parameters"].update(who={"a b": 1}), "parameters: a value is no number"),
    (lambda m: m["parameters"].update({f"p{k}": k for k in range(99)}), "parameters: must have"),
    (lambda m: m["parameters"].update({"a b": 1}), "parameters: must match pattern"),
    (lambda m: m["reading"].update(columns="37.77," * 700), "reading: a setting has more than"),
    (lambda m: m["record"].update(purpose="maps", rows=ROWS), "record"),
    (lambda m: m["losses"]["rows"].update({"x" * 300: 1}), "losses.rows: must have at most 200"),
    (lambda m: m["losses"]["rows"].update(gap=-1), "losses.rows: must be at least 0"),
    (lambda m: m["losses"]["rows"].update(gap=1.5), "losses.rows: must be a whole number"),
    (lambda m: m.pop("losses"), "losses: it is missing"),
    (lambda m: m.pop("report_sha256"), "report_sha256: it is missing"),
    (lambda m: m.update(n_records=10**4400), "no JSON"),
    (lambda m: m.update(n_records=10**40), "n_records: must be at most"),
    (lambda m: m.update(n_samples="48"), "n_samples: must be a whole number"),
    (lambda m: m.update(publishable=1), "publishable: must be true or false"),
    (lambda m: m.update(method="gl\nove"), "method: must match pattern"),
    (lambda m: m.update(crs="x" * 5000), "crs: must have at most 4000 characters"),
    (lambda m: m.update(cell_m=float("nan")), "a number is not finite"),
    (lambda m: m.update(slot_s=float("inf")), "a number is not finite"),
    (lambda m: m.update(cell_m=-1.0), "cell_m: must be greater than 0"),
    (lambda m: m.update(cell_m=None), "the document: cell_m and slot_s are both numbers"),
    (lambda m: m.update(release_sha256="x"), "release_sha256: must match pattern"),
    (lambda m: m.update(format_version=3), "format_version: must be 2"),
    (lambda m: m.update(format_version=1), "is of format 1, which this version no longer reads; make the"),
)


@pytest.mark.parametrize(("change", "expected"), REFUSED)
def test_what_no_manifest_says_is_refused_in_words(change: Change, expected: str, case: Case) -> None:
    import sys

    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # to write what a reader cannot take
    try:
        edit_manifest(case[1], change)
    finally:
        sys.set_int_max_str_digits(most)
    with pytest.raises(InputError) as raised:
        verify_files(case[0], case[1], case[2])
    assert expected in str(raised.value)
    assert "caller" not in str(raised.value)
    assert "37.77" not in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"method"', '"method": "caller-0007", "method"'),
        ('"k": 2', '"k": 50, "k": 2'),
        ('"holds"', '"holds": false, "holds"'),
    ],
)
def test_an_entry_that_stands_there_twice_is_refused(before: str, after: str, case: Case) -> None:
    path = case[1] / MANIFEST_FILE
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    with pytest.raises(InputError, match="a key stands there twice"):
        verify_files(case[0], case[1], case[2])


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"7", b"\xff\xfe", b"[" * 200_000, b'{"a":' * 100_000, b"{}", b'{"format_version": 2}'],
)
def test_what_is_no_manifest_is_refused(content: bytes, case: Case) -> None:
    (case[1] / MANIFEST_FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"manifest\.json cannot be read"):
        read_manifest(case[1])


def test_a_giant_manifest_is_refused_before_it_is_read(case: Case) -> None:
    with (case[1] / MANIFEST_FILE).open("r+b") as file:
        file.truncate(1 << 34)  # sparse
    with pytest.raises(InputError, match="are read, so write the release again"):
        read_manifest(case[1])


# other false statements: test_statement_findings.py; these are found in the folder, in memory and streamed
FALSE: tuple[tuple[Change, str], ...] = (
    (lambda m: m["verdict"].update(notes=["audited by nobody"]), "its verdict has other notes than"),
    (
        lambda m: m["verdict"]["findings_by_kind"].update(metadata=1),
        "its verdict has other findings_by_kind than",
    ),
    (lambda m: m["rows_repaired"].update({"37.77 -122.41": 7}), "its rows repaired are not those"),
    (lambda m: m["parameters"].update(k=50), "the parameter k is not that of the claim"),
    (
        lambda m: m["losses"].update(subjects_by_reason={"37.77 -122.41": 0, "too few": 0}),
        "losses.subjects_by_reason gives reasons that no method has",
    ),
)


@pytest.mark.parametrize(("change", "expected"), FALSE)
def test_what_the_check_derives_otherwise_is_found(
    change: Change, expected: str, case: Case, tmp_path: Path
) -> None:
    edit_manifest(case[1], change)
    verdict = verify_files(case[0], case[1], case[2])
    assert any(expected in finding.message for finding in verdict.findings), verdict.findings
    assert both_verdicts(case, tmp_path) == [{"false-statement"}] * 2


def test_the_manifests_words_are_not_repeated(case: Case) -> None:
    edit_manifest(case[1], lambda m: m.update(unit_of_protection="each subject caller-0007"))
    verdict = verify_files(case[0], case[1], case[2])
    assert verdict.kinds >= {"unit-mismatch", "raw-identifier"}
    assert "caller" not in str(verdict)


def test_the_manifests_plane_is_not_repeated(case: Case) -> None:
    """Its text is the maker's, and no other finding shows an identifier."""
    edit_manifest(case[1], lambda m: m.update(crs="+proj=laea +lat_0=37.8 +lon_0=-122.4 caller-0007"))
    verdict = verify_files(case[0], case[1], case[2])
    assert verdict.kinds == {"grid-mismatch", "raw-identifier"}
    assert "caller-0007" not in str(verdict)


def test_how_many_rows_stood_out_of_order_says_nothing(case: Case) -> None:
    edit_manifest(case[1], lambda m: m["rows_repaired"].update({OUT_OF_ORDER: 9}))
    assert verify_files(case[0], case[1], case[2]).holds


def test_without_the_linkage_other_notes_are_no_false_statement(case: Case) -> None:
    assert "false-statement" not in verify_files(case[0], case[1]).kinds


# --- the page -----------------------------------------------------------------------------------------------


def test_the_output_says_that_the_page_was_not_held_against_the_data(case: Case) -> None:
    assert PAGE_NOT_CHECKED in verify_files(case[0], case[1], case[2]).notes
    edit_page(case[1], None)
    assert PAGE_NOT_CHECKED not in verify_files(case[0], case[1], case[2]).notes


@pytest.mark.parametrize(
    "text", ["<h1>A release</h1>", PRIVATE, PRIVATE + PUBLIC, PUBLIC + PUBLIC, PUBLIC.upper()]
)
def test_a_page_without_the_public_mark_alone_is_found(text: str, case: Case, tmp_path: Path) -> None:
    edit_page(case[1], text)
    assert both_verdicts(case, tmp_path) == [{"private-page"}] * 2


def test_the_private_page_over_the_public_one_is_found(tmp_path: Path) -> None:
    original = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    private, folder = tmp_path / "private.html", tmp_path / "release"
    rng = Randomness.from_system()
    options = shoal.PublishOptions(private_report=private)
    published = shoal.publish(original, shoal.Glove(k=2), folder, rng=rng, tries=0, options=options)
    assert verify_files(original, folder, published.linkage).holds
    edit_page(folder, private.read_text())
    assert "private-page" in verify_files(original, folder, published.linkage).kinds


def test_another_page_than_the_manifest_names_is_found(case: Case, tmp_path: Path) -> None:
    (case[1] / REPORT_FILE).write_text(PAGE + "37.774929 -122.419416")
    assert both_verdicts(case, tmp_path) == [{"wrong-hash"}] * 2
    (case[1] / REPORT_FILE).unlink()
    assert verify_files(case[0], case[1], case[2]).kinds == {"wrong-hash"}
    edit_manifest(case[1], lambda m: m.update(report_sha256=None))
    assert verify_files(case[0], case[1], case[2]).holds
    (case[1] / REPORT_FILE).write_text(PAGE)
    assert verify_files(case[0], case[1], case[2]).kinds == {"wrong-hash"}


# --- files that are none ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [MANIFEST_FILE, RELEASE_FILE, REPORT_FILE])
@pytest.mark.parametrize("what", ["link", "dangling link", "endless link", "pipe", "folder"])
def test_links_pipes_and_folders_are_not_opened(name: str, what: str, case: Case) -> None:
    path = case[1] / name
    elsewhere = case[1].parent / name
    shutil.move(path, elsewhere)
    match what:
        case "link":
            path.symlink_to(elsewhere)
        case "dangling link":
            path.symlink_to(case[1] / "nothing")
        case "endless link":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    with pytest.raises(InputError, match="is no plain file"):
        verify_files(case[0], case[1], case[2])


@pytest.mark.parametrize("what", ["link", "endless link", "pipe", "deep", "many", "not utf-8", "escapes"])
def test_strange_files_beside_are_found_and_not_opened(what: str, case: Case) -> None:
    folder = case[1]
    match what:
        case "link":
            (folder / "all").symlink_to("/")
        case "endless link":
            (folder / "loop").symlink_to(folder)
        case "pipe":
            os.mkfifo(folder / "pipe")
        case "deep":
            (folder / "/".join(["d"] * 200)).mkdir(parents=True)
        case "many":
            for number in range(1500):
                (folder / str(number)).touch()
        case "not utf-8":
            (folder / os.fsdecode(b"\xff\xfe")).touch()
        case _:
            (folder / "\x1b[2J\n").touch()
    verdict = verify_files(case[0], folder, case[2])
    assert verdict.kinds == {"unexpected-file"}
    assert len(verdict.findings) <= 1000
    assert all(finding.message.isprintable() for finding in verdict.findings)
    json.dumps(verdict.to_json()).encode()


def test_a_release_that_no_manifest_can_state_is_misuse(tmp_path: Path) -> None:
    original = small_city()
    release, linkage = naive_release(original)
    strange = type(release)(**{**vars(release), "parameters": {"who": ROWS}})
    write_table(release, tmp_path / RELEASE_FILE)
    with pytest.raises(MisuseError, match="no manifest can say this of a release: parameters"):
        build_manifest(strange, verify(original, release, linkage), tmp_path / RELEASE_FILE)


def test_a_file_that_the_manifest_does_not_name_is_said_first() -> None:
    of_claim, of_file = Finding("uncovered", "a box"), Finding("wrong-hash", "another SHA-256")
    verdict = Verdict.of([of_claim], checked=1).with_findings([of_claim, of_file])
    assert verdict.findings == (of_file, of_claim, of_claim)
    assert next(iter(verdict.to_json()["findings_by_kind"])) == "wrong-hash"
