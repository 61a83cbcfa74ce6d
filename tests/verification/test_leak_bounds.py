"""What of a manifest is compared with identifiers, and orders and pieces of words at the bounds of chance."""

import json
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naive_release import small_city
from shoal.verification.leaks import lint
from shoal.verification.leaks.digests import chance_of_at_least, hash_like_words
from shoal.verification.leaks.glued import count_glued, identifier_kinds
from shoal.verification.leaks.identifiers import Names, is_distinctive
from shoal.verification.leaks.lint import (
    _LONGEST_SHOWN,
    _extra_file_places,
    _manifest_place,
    _private_paths,
    _safe_name,
)
from shoal.verification.leaks.order import FEWEST_PSEUDONYMS, FEWEST_RECORDS, WIDEST_Z, order_findings

# --- the manifest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entries", "alone", "strings", "numbers", "seeds"),
    [
        # words of the format, and what it fixes, say nothing
        ({"format_version": 2, "method": "glove", "publishable": True}, set(), set(), set(), 0),
        ({"crs": "EPSG:32610"}, set(), {"EPSG:32610"}, set(), 0),
        ({"method": "glove7"}, set(), {"glove7"}, set(), 0),
        ({"claim": {"type": "k-anonymity", "k": 5}}, set(), {"k"}, set(), 0),
        # names of parameters may be anybody's; their values only where they are no plain words
        ({"parameters": {"merge": "leftover"}}, set(), {"leftover"}, set(), 0),
        ({"parameters": {"merge": "ann 7"}}, {"ann 7"}, {"ann 7"}, set(), 0),
        ({"parameters": {"ann7": 5}}, set(), {"ann7"}, {"5"}, 0),
        ({"parameters": {"k": 7.0, "share": 0.25}}, set(), set(), {"7", "0.25"}, 0),
        ({"parameters": {"seed": 7}}, set(), set(), {"7"}, 0),  # refused where parameters are read
        # keys and values under prose and under strange entries are compared whole
        ({"losses": {"rows": {"ann": 3}}}, {"ann"}, {"ann"}, set(), 0),
        ({"rows_repaired": {"ann": 3}}, {"ann"}, {"ann"}, set(), 0),
        ({"verdict": {"notes": ["ann"]}}, {"ann"}, {"ann"}, set(), 0),
        ({"unit_of_protection": "ann"}, {"ann"}, {"ann"}, set(), 0),
        ({"note": "ann"}, {"note", "ann"}, {"note", "ann"}, set(), 0),
        ({"note": {"ann": 33}}, {"note", "ann"}, {"note", "ann"}, {"33"}, 0),
        ({"note": [[33, "ann"]]}, {"note", "ann"}, {"note", "ann"}, {"33"}, 0),
        ({"reading": {"ann": 3}}, set(), {"ann"}, set(), 0),
        ({"Seed": 1, "reading": {"the_seeds": 1}}, {"Seed"}, {"Seed", "the_seeds"}, {"1"}, 2),
    ],
    ids=lambda one: str(sorted(one) if isinstance(one, set) else one),
)
def test_what_of_a_manifest_is_compared(
    entries: dict[str, Any], alone: set[str], strings: set[str], numbers: set[str], seeds: int, tmp_path: Path
) -> None:
    (tmp_path / "m").write_text(json.dumps(entries))
    place = _manifest_place(tmp_path / "m")
    assert (set(place.alone), set(place.strings), place.seeds) == (alone, strings, seeds)
    assert set(place.text.split("\n")) - {""} == strings | numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"/{folder}/a", True) for folder in ("home", "Users", "root")),
        ("see /Users/a/b", True),
        ("C:\\Users\\a", True),
        ("/home/ ", False),
        ("/home/<name>", False),
        ("/homes/a", False),
        ("a/home/b", False),
        (".../home/a", False),
    ],
)
def test_paths_that_begin_like_a_home_folder(text: str, expected: bool, tmp_path: Path) -> None:
    assert bool(_private_paths(tmp_path / "release").search(text)) is expected


@pytest.mark.parametrize(
    ("name", "examined"),
    [
        ("n" * _LONGEST_SHOWN, True),
        ("n" * (_LONGEST_SHOWN + 1), False),
        ("two\nlines", False),
        ("ann-0007", False),
        ("ann-0007.csv", False),
        ("of ann-0007", False),
    ],
)
def test_names_are_shown_where_they_are_short_plain_and_tell_nobody(name: str, examined: bool) -> None:
    assert (_safe_name(name, Names.of(["ann-0007"])) == f"'{name}'") is examined


@pytest.mark.parametrize(("bytes_", "places"), [(9, 2), (10, 2), (11, 1)])
def test_a_strange_file_is_read_up_to_a_size_and_of_a_larger_one_the_name(
    bytes_: int, places: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "_LARGEST_READ", 10)
    (tmp_path / "notes").write_text("n" * bytes_)
    assert len(list(_extra_file_places(tmp_path / "notes"))) == places


# --- order --------------------------------------------------------------------------------------------------


def orders(subjects: Any, names: Any = None) -> list[str]:
    n = len(subjects)
    original = small_city(max(subjects) + 1, 1)
    shuffled = np.random.default_rng(1).permutation(n)
    messages = [f"{number:04d}" for number in shuffled] if names is None else names
    people_only = type(original)(**{**vars(original), "input_rank": None})
    return [
        finding.message.removeprefix("the order of the ").removesuffix("; expected a random one")
        for finding in order_findings(people_only, np.array(subjects, dtype=np.int64), messages)
    ]


def test_orders_repeat_from_four_records_and_ten_pseudonyms_on() -> None:
    assert (FEWEST_RECORDS, FEWEST_PSEUDONYMS, WIDEST_Z) == (4, 10, 4.5)
    assert orders(range(4), list("bdac")) == ["records repeats the order of the raw identifiers"]
    assert orders(range(3, -1, -1), list("bdac")) == ["records reverses the order of the raw identifiers"]
    assert orders(range(3), list("bca")) == orders([2, 1, 0], list("bca")) == []
    mixed = [3, 0, 7, 9, 1, 5, 8, 2, 6, 4]
    for n, result in ((9, False), (10, True)):
        some = [number for number in mixed if number < n]
        ascending = [f"{number:04d}" for number in some]
        descending = [f"{99 - number:04d}" for number in some]
        assert orders(some, ascending) == ["pseudonyms repeats the order of the raw identifiers"] * result
        assert orders(some, descending) == ["pseudonyms reverses the order of the raw identifiers"] * result


def test_one_step_in_the_other_direction_is_no_repetition() -> None:
    assert orders([0, 1, 3, 2], list("bdac")) == []
    assert orders([3, 2, 0, 1], list("bdac")) == []
    assert orders([0], ["a"]) == []


@pytest.mark.parametrize(
    ("seed", "expected"),
    [
        (357, ["records is correlated (z = 4.5) with the order of the raw identifiers"]),  # 4.501
        (19_427, []),  # 4.499
    ],
)
def test_an_order_that_resembles_another_is_told_by_its_z(seed: int, expected: list[str]) -> None:
    """Thirty people in their order, with noise."""
    noise = np.random.default_rng(seed).normal(0, 6, 30)
    subjects = np.argsort(np.arange(30) + noise).tolist()
    assert [message for message in orders(subjects) if message.startswith("records")] == expected


# --- pieces of words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        ("ab12x", False),
        ("ab12xy", True),  # six letters and digits
        ("12345678", False),
        ("123456789", True),  # nine digits
        ("x1" * 32, True),
        ("x1" * 32 + "x", False),
        ("1" * 64, True),
        ("1" * 65, False),
        ("abcdefgh", False),
    ],
)
def test_how_long_an_identifier_must_be_to_be_looked_for_inside_words(uid: str, expected: bool) -> None:
    inside = f"0{uid}0" if uid.isdigit() else f"z{uid}z"
    assert count_glued(identifier_kinds([uid]), [inside]) == [int(expected)]


@pytest.mark.parametrize(("alphabet", "length", "hidden"), [(16, 6, "ab12xy"), (10, 9, "123456789")])
def test_pieces_count_where_chance_explains_so_many_in_fewer_than_one_of_a_million(
    alphabet: int, length: int, hidden: str
) -> None:
    """Of so many pieces, one is expected to be it by chance just so often, and a few more are too many."""
    least = 1e-6 * float(alphabet) ** length
    for n_pieces, result in ((ceil(least) - 1, True), (ceil(least), False)):
        pad = "q9" * 500 if alphabet == 16 else "8" * 1000
        longest = len(pad) - length + 1
        words, remaining = [hidden], n_pieces - 1
        while remaining:
            here_box = min(remaining, longest)
            words.append(pad[: here_box + length - 1])
            remaining -= here_box
        assert count_glued(identifier_kinds([hidden]), [" ".join(words)]) == [int(result)]


# --- words of a text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("12345678", False),
        ("123456789", True),
        ("abcd1", False),
        ("abcde1", True),
        ("abcdxyz", False),
        ("abcdwxyz", True),
        ("passenger", False),
        ("", False),
        ("a-b-c-d-1-2", True),
    ],
)
def test_how_long_a_telling_name_is(name: str, telling: bool) -> None:
    assert is_distinctive(name) is telling


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("of ann-lee-07 alone", 1),
        ("ann-lee-07", 1),
        ("ann-lee-07 ann-lee-07", 1),
        ("xann-lee-07", 0),
        ("ann-lee-071", 0),
        ("ann lee 07", 0),
        ("123456789", 1),
        ("0.123456789", 0),
        ("123456789.5", 0),
        ("123456789.", 1),
        ("#1a2b3c4d", 0),
        ("1a2b3c4d", 1),
        ("#123456789", 1),  # too long for a color
        ("'harold'", 1),
        ("harold", 0),
        ("ann-lee-07 123456789 >harold<", 3),
    ],
)
def test_names_in_a_text(text: str, n: int) -> None:
    assert Names.of(["ann-lee-07", "123456789", "harold", "1a2b3c4d", "ben", ""]).in_text(text) == n


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0123456789abcde", []),
        ("0123456789abcdef", ["0123456789abcdef"] * 2),
        ("g123456789ABCDE-", ["g123456789ABCDE-"]),
        ("f" * 128, ["f" * 128] * 2),
        ("f" * 129, ["f" * 129]),
        ("z" * 160, ["z" * 160]),
        ("z" * 161, []),
    ],
)
def test_what_is_long_enough_to_be_a_hash(text: str, expected: list[str]) -> None:
    assert list(hash_like_words(text)) == expected


def test_the_chance_of_any_is_one_less_that_of_none() -> None:
    assert chance_of_at_least(0, 2.0) == 1.0
    assert chance_of_at_least(1, 2.0) == pytest.approx(1 - np.exp(-2.0))
    assert chance_of_at_least(2, 2.0) == pytest.approx(1 - 3 * np.exp(-2.0))
