"""What of a manifest is compared with identifiers, and orders and pieces of words at the bounds of chance."""

import json
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naive_release import small_city
from shoal.verification.leaks import lint
from shoal.verification.leaks.digests import at_least, hash_like
from shoal.verification.leaks.glued import glued, kinds_of
from shoal.verification.leaks.identifiers import Names, is_telling
from shoal.verification.leaks.lint import _LONGEST_SHOWN, _extra_file, _manifest, _private_paths, _shown
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
    place = _manifest(tmp_path / "m")
    assert (set(place.alone), set(place.strings), place.seeds) == (alone, strings, seeds)
    assert set(place.text.split("\n")) - {""} == strings | numbers


@pytest.mark.parametrize(
    ("text", "found"),
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
def test_paths_that_begin_like_a_home_folder(text: str, found: bool, tmp_path: Path) -> None:
    assert bool(_private_paths(tmp_path / "release").search(text)) is found


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("n" * _LONGEST_SHOWN, True),
        ("n" * (_LONGEST_SHOWN + 1), False),
        ("two\nlines", False),
        ("ann-0007", False),
        ("ann-0007.csv", False),
        ("of ann-0007", False),
    ],
)
def test_names_are_shown_where_they_are_short_plain_and_tell_nobody(name: str, shown: bool) -> None:
    assert (_shown(name, Names.of(["ann-0007"])) == f"'{name}'") is shown


@pytest.mark.parametrize(("bytes_", "places"), [(9, 2), (10, 2), (11, 1)])
def test_a_strange_file_is_read_up_to_a_size_and_of_a_larger_one_the_name(
    bytes_: int, places: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lint, "_LARGEST_READ", 10)
    (tmp_path / "notes").write_text("n" * bytes_)
    assert len(list(_extra_file(tmp_path / "notes"))) == places


# --- order --------------------------------------------------------------------------------------------------


def orders(subjects: Any, names: Any = None) -> list[str]:
    n = len(subjects)
    original = small_city(max(subjects) + 1, 1)
    shuffled = np.random.default_rng(1).permutation(n)
    told = [f"{number:04d}" for number in shuffled] if names is None else names
    own = type(original)(**{**vars(original), "input_rank": None})
    return [
        finding.message.removeprefix("the order of the ").removesuffix("; expected a random one")
        for finding in order_findings(own, np.array(subjects, dtype=np.int64), told)
    ]


def test_orders_repeat_from_four_records_and_ten_pseudonyms_on() -> None:
    assert (FEWEST_RECORDS, FEWEST_PSEUDONYMS, WIDEST_Z) == (4, 10, 4.5)
    assert orders(range(4), list("bdac")) == ["records repeats the order of the raw identifiers"]
    assert orders(range(3, -1, -1), list("bdac")) == ["records reverses the order of the raw identifiers"]
    assert orders(range(3), list("bca")) == orders([2, 1, 0], list("bca")) == []
    mixed = [3, 0, 7, 9, 1, 5, 8, 2, 6, 4]
    for n, found in ((9, False), (10, True)):
        some = [number for number in mixed if number < n]
        ascending = [f"{number:04d}" for number in some]
        descending = [f"{99 - number:04d}" for number in some]
        assert orders(some, ascending) == ["pseudonyms repeats the order of the raw identifiers"] * found
        assert orders(some, descending) == ["pseudonyms reverses the order of the raw identifiers"] * found


def test_one_step_in_the_other_direction_is_no_repetition() -> None:
    assert orders([0, 1, 3, 2], list("bdac")) == []
    assert orders([3, 2, 0, 1], list("bdac")) == []
    assert orders([0], ["a"]) == []


@pytest.mark.parametrize(
    ("turned", "found"),
    [
        (13, ["records is correlated (z = 4.5) with the order of the raw identifiers"]),  # 4.513
        (14, []),  # 4.295
    ],
)
def test_an_order_that_resembles_another_is_told_by_its_z(turned: int, found: list[str]) -> None:
    """Thirty people, of whom the first so many stand the other way round."""
    subjects = [*range(turned - 1, -1, -1), *range(turned, 30)]
    assert [message for message in orders(subjects) if message.startswith("records")] == found


# --- pieces of words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uid", "found"),
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
def test_how_long_an_identifier_must_be_to_be_looked_for_inside_words(uid: str, found: bool) -> None:
    inside = f"0{uid}0" if uid.isdigit() else f"z{uid}z"
    assert glued(kinds_of([uid]), [inside]) == [int(found)]


@pytest.mark.parametrize(("alphabet", "length", "hidden"), [(16, 6, "ab12xy"), (10, 9, "123456789")])
def test_pieces_count_where_chance_explains_so_many_in_fewer_than_one_of_a_million(
    alphabet: int, length: int, hidden: str
) -> None:
    """Of so many pieces, one is expected to be it by chance just so often, and a few more are too many."""
    least = 1e-6 * float(alphabet) ** length
    for n_pieces, found in ((ceil(least) - 1, True), (ceil(least), False)):
        pad = "q9" * 500 if alphabet == 16 else "8" * 1000
        longest = len(pad) - length + 1
        words, left = [hidden], n_pieces - 1
        while left:
            here = min(left, longest)
            words.append(pad[: here + length - 1])
            left -= here
        assert glued(kinds_of([hidden]), [" ".join(words)]) == [int(found)]


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
    assert is_telling(name) is telling


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
    ("text", "found"),
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
def test_what_is_long_enough_to_be_a_hash(text: str, found: list[str]) -> None:
    assert list(hash_like(text)) == found


def test_the_chance_of_any_is_one_less_that_of_none() -> None:
    assert at_least(0, 2.0) == 1.0
    assert at_least(1, 2.0) == pytest.approx(1 - np.exp(-2.0))
    assert at_least(2, 2.0) == pytest.approx(1 - 3 * np.exp(-2.0))
