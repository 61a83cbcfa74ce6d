"""Names as arrays do what the strings would."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model import names as home
from shoal.model.names import Pseudonyms, TextNames, column, positions_among

REGULAR = st.text("0123456789abcdef", min_size=16, max_size=16)
ZERO = "0" * 16
ANY = st.lists(st.one_of(REGULAR, st.sampled_from([ZERO, "f" * 16, "", "x", "A" * 16, "é"])), max_size=12)


@given(ANY)
def test_pseudonyms_are_a_sequence_of_their_strings(strings: list[str]) -> None:
    names = Pseudonyms.of(strings)
    assert list(names) == strings
    assert names == tuple(strings)
    assert [names[place] for place in range(-len(strings), len(strings))] == strings * 2
    assert list(names[1:7:2]) == strings[1:7:2]
    assert list(names[:3]) == strings[:3]
    assert column(names).to_pylist() == column(strings).to_pylist() == strings
    assert Pseudonyms.concatenate([names[:2], Pseudonyms.of([]), names[2:]]) == strings
    assert sorted(names.distinct()) == sorted(set(strings))


@given(ANY, ANY)
def test_pseudonyms_are_found_as_their_strings_are(strings: list[str], wanted: list[str]) -> None:
    names, last = Pseudonyms.of(strings), {name: place for place, name in enumerate(strings)}
    assert names.positions_of(Pseudonyms.of(wanted)).tolist() == [last.get(name, -1) for name in wanted]
    assert names.duplicate_positions() == [
        place for place, name in enumerate(strings) if name in strings[:place]
    ]


@given(st.lists(st.text(max_size=3), unique=True, max_size=8), st.lists(st.text(max_size=3), max_size=8))
def test_texts_are_found_wherever_they_are_kept(strings: list[str], wanted: list[str]) -> None:
    expected = [strings.index(name) if name in strings else -1 for name in wanted]
    here, there = TextNames(column(strings)), TextNames(column(wanted))
    for among in (strings, here):
        for asked in (wanted, there):
            assert positions_among(among, asked).tolist() == expected


def test_texts_are_a_sequence_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "AT_ONCE", 2)
    texts = TextNames(pa.array(["a", "b", "", "d", "é"]))
    assert list(texts) == ["a", "b", "", "d", "é"]
    assert list(texts[1:]) == ["b", "", "d", "é"]
    assert texts[-1] == "é"
    assert texts.take(np.array([4, 0])) == ("é", "a")
    assert texts != ("a", "b", "", "d", "e")
    assert texts != ("a",)
    names = [f"{number:016x}" for number in range(5)] + ["x"]
    assert list(Pseudonyms.of(names)) == names
