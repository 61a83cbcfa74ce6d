"""Identifiers inside longer words, and what stands there by chance."""

from pathlib import Path

import numpy as np
import pytest

from folder_damages import edit_manifest, report_says
from naive_release import naive_release, small_city
from shoal.model.release import Linkage
from shoal.runtime.randomness import Randomness
from shoal.verification import verify, verify_files
from shoal.verification.leaks.glued import count_glued, identifier_kinds
from written_folders import written

IDS = ["caller-0007", "caller-0008", "k7", "margaret", "33123456789", "12345678", "a1b2c3d4e5"]


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("xcaller-0007y", 1),
        ("the caller0007.", 1),
        ("CALLER_0007_home", 1),
        ("a.caller.0007.b and zzcaller-0008zz", 2),
        ("tel0033123456789x", 1),
        ("0033123456789", 1),
        ("33123456789", 1),
        ("0.33123456789", 0),  # a fraction
        ("33123456789.25", 0),
        ("#33123456789", 0),
        ("4a1b2c3d4e5f", 1),
        ("caller-00 07", 0),
        ("caller-000", 0),
        ("k7k7k7k7", 0),  # short ones are in any word
        ("xmargarety", 0),  # letters alone are
        ("123456780", 0),
        ("", 0),
    ],
)
def test_what_counts_inside_a_word(text: str, n: int) -> None:
    assert count_glued(identifier_kinds(IDS), [text]) == [n]
    assert count_glued(identifier_kinds(IDS), ["nothing here", text, "nor here"]) == [0, n, 0]


def test_without_identifiers_or_texts_there_is_nothing() -> None:
    assert count_glued(identifier_kinds([]), ["xcaller-0007y"]) == [0]
    assert count_glued(identifier_kinds(IDS), []) == []
    assert count_glued(identifier_kinds(["", "-", "anna"]), ["anna anna"]) == [0]


def test_random_pseudonyms_and_digests_hold_pieces_by_chance() -> None:
    """Identifiers of six hexadecimal digits: dozens of them stand in so many digests, and none counts."""
    draw = np.random.default_rng(3)
    ids = [f"{number:06x}" for number in draw.integers(0, 1 << 24, 3000).tolist()]
    ids = [uid for uid in ids if any(c.isdigit() for c in uid) and any(c.isalpha() for c in uid)]
    names = Randomness.for_research(5).pseudonyms(3000)
    pieces = {name[at : at + 6] for name in names for at in range(11)}
    assert 2 <= len(pieces & set(ids)) <= 12
    assert count_glued(identifier_kinds(ids), names) == [0] * len(names)
    assert (
        sum(count_glued(identifier_kinds(ids), [f"u{uid}" for uid in ids])) >= len(ids) - 5
    )  # some are equal


def test_sequential_names_are_told_from_chance_among_twenty_thousand() -> None:
    ids = [f"user{number:06d}" for number in range(20_000)]
    page = " ".join(Randomness.for_research(6).pseudonyms(500))
    assert count_glued(identifier_kinds(ids), [page, f"{page} xuser000123x"]) == [0, 1]


def test_short_numbers_hide_no_identifier_of_their_length() -> None:
    """They are looked for in no word, so they are nothing that a word could hold by chance."""
    ids = [*(f"{number:07d}" for number in range(100_000)), "a1b2c3d"]
    assert count_glued(identifier_kinds(ids), ["xa1b2c3dy"]) == [1]
    assert count_glued(identifier_kinds(ids), ["x0012345y"]) == [0]


def test_words_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.verification.leaks.glued._CHARACTERS_AT_ONCE", 20)
    texts = ["xcaller-0007y", "some-longer-word-here", "zcaller-0008", "nothing", "", "0033123456789"]
    assert count_glued(identifier_kinds(IDS), texts) == [1, 0, 1, 0, 0, 1]


def test_pseudonyms_with_an_identifier_inside_refuse_a_release() -> None:
    original = small_city()
    release, linkage = naive_release(original)
    renamed = dict(zip(release.trajectory_ids, release.trajectory_ids, strict=True))
    first = release.trajectory_ids[0]
    renamed[first] = f"zz{linkage.uids[linkage.trajectory_ids.index(first)].replace('-', '')}9"
    renamed_linkage = Linkage(linkage.uids, tuple(renamed[name] for name in linkage.trajectory_ids))
    names = tuple(renamed[name] for name in release.trajectory_ids)
    verdict = verify(original, type(release)(**{**vars(release), "trajectory_ids": names}), renamed_linkage)
    assert verdict.kinds == {"raw-identifier"}
    assert renamed[first] not in str(verdict)


def test_pages_and_manifests_with_an_identifier_inside_a_word_do_not_hold(tmp_path: Path) -> None:
    original = small_city()
    folder, linkage = written(original, tmp_path / "release")
    report_says(lambda links: f"made by x{links.uids[0]}y")(folder, original, linkage)
    verdict = verify_files(original, folder, linkage)
    assert verdict.kinds == {"raw-identifier"}
    assert [finding.message for finding in verdict.findings] == [
        "report.html: 1 raw identifiers inside longer words"
    ]
    folder, linkage = written(original, tmp_path / "other")
    edit_manifest(folder, lambda m: m.update(method="glove" + linkage.uids[0].replace("-", "")))
    assert "raw-identifier" in verify_files(original, folder, linkage).kinds
