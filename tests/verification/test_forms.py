"""Identifiers side by side are found where each by itself would be, and names as numbers as their strings."""

import hashlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms
from shoal.model.release import Linkage
from shoal.verification.leaks import forms
from shoal.verification.leaks.digests import search_hashes
from shoal.verification.leaks.forms import Characters, is_among, split_identifiers
from shoal.verification.leaks.glued import count_glued, identifier_kinds
from shoal.verification.leaks.identifiers import Names
from shoal.verification.leaks.look_alikes import _appearance, look_alikes
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.verification.linking import link_records
from small_data import people

PIECES = st.sampled_from(
    [
        "caller",
        "0007",
        "12",
        "123456789",
        "-",
        "_",
        " ",
        ".",
        "é",
        "ﬀ",
        "ß",
        "A",
        "abc",
        "harold",
        "٣",
        "\u200b",
    ]
)
ID = st.one_of(
    st.lists(PIECES, min_size=1, max_size=5).map("".join),
    st.text("0123456789abcdef", min_size=16, max_size=16),
)
IDS = st.lists(ID, min_size=1, max_size=20, unique=True)


@given(IDS, st.lists(st.lists(st.one_of(ID, PIECES), max_size=6).map(" ".join), max_size=3))
def test_what_is_left_out_is_in_no_text(ids: list[str], texts: list[str]) -> None:
    every, some = Names.of(ids), RawIdentifiers(tuple(ids)).relevant_names(texts, texts)
    assert [some.in_text(text) for text in texts] == [every.in_text(text) for text in texts]
    assert [text in some.whole for text in texts] == [text in every.whole for text in texts]


@given(IDS)
def test_identifiers_that_read_as_pseudonyms(ids: list[str]) -> None:
    names = [name for number in RawIdentifiers(tuple(ids)).numbers.tolist() if (name := f"{number:016x}")]
    every = Names.of(ids)
    assert all(every.in_text(name) or name in every.whole for name in names)
    folded = [uid.casefold() for uid in ids if uid.isalnum()]
    assert {uid for uid in folded if len(uid) == 16 and set(uid) <= set("0123456789abcdef")} <= set(names)


@given(IDS)
def test_faces_side_by_side_are_those_of_each(ids: list[str]) -> None:
    alone: dict[str, int] = {}
    for uid in ids:
        alone[_appearance(uid)] = alone.get(_appearance(uid), 0) + 1
    are_alike = [number for number in alone.values() if number > 1]
    _, notes = look_alikes(people(*ids), Reading(ids_as_they_are=True))
    by_appearance = [note for note in notes if "only by case" in note]
    assert len(by_appearance) == bool(are_alike)
    assert all(note.startswith(f"{sum(are_alike)} identifiers") for note in by_appearance)


def test_the_hash_of_a_span_is_that_of_its_characters_alone() -> None:
    text = Characters("anna ben anna \udc80é0anna")
    starts = np.array([0, 5, 9, 17, 3, 3])
    ends = np.array([4, 8, 13, 21, 3, 4])
    first, ben, repeated, last, nothing, letter = text.hashes(starts, ends).tolist()
    assert first == repeated == last
    assert len({first, ben, nothing, letter}) == 4
    assert Characters("ben").hashes(np.array([0]), np.array([3])).tolist() == [ben]


def test_numbers_among_others() -> None:
    linkage_or_none = np.array([2, 5, 9], dtype=np.uint64)
    numbers = np.array([[0, 2], [9, 10]], dtype=np.uint64)
    assert is_among(numbers, linkage_or_none).tolist() == [[False, True], [True, False]]
    assert not is_among(numbers, linkage_or_none[:0]).any()


def test_parts_hold_every_identifier_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "AT_ONCE", 3)
    ids = ["a", "é", "b", "c", "", "ß", "d"]
    parts = list(split_identifiers(ids))
    assert [(list(part.plain), list(part.others)) for part in parts] == [
        (["a", "b"], ["é"]),
        (["c", ""], ["ß"]),
        (["d"], []),
    ]


@pytest.mark.parametrize("length", [6, 7, 9, 15, 16])
def test_pieces_of_pseudonyms_are_found_as_pieces_of_texts(length: int) -> None:
    digests = [hashlib.md5(str(number).encode()).hexdigest()[:16] for number in range(300)]
    names = [*digests[:150], "not-a-pseudonym", *("12345678901234ab", "1234567890123456", "0" * 16)]
    for ids in (
        [name[16 - length :] for name in digests[:100]],
        [f"{number:0{length}d}" for number in range(10 ** (length - 1), 10 ** (length - 1) + 50)],
        ["1234567890123456"[:length], "12345678901234ab"[-length:]],
    ):
        assert count_glued(identifier_kinds(ids), Pseudonyms.of(names)) == count_glued(
            identifier_kinds(ids), names
        )
    result = count_glued(
        identifier_kinds([name[16 - length :] for name in digests[:100]]), Pseudonyms.of(names)
    )
    assert sum(map(bool, result)) >= (90 if length > 8 else 0)


@given(
    st.lists(st.integers(0, 7), max_size=8),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9),
)
def test_a_linkage_is_followed_as_pair_by_pair(records: list[int], pairs: list[tuple[int, int]]) -> None:
    names = [f"{number:016x}" for number in records]
    ids = tuple("abcdefgh")
    release: Any = SimpleNamespace(trajectory_ids=names, n_records=len(names))
    original: Any = SimpleNamespace(ids=ids)
    messages = [("abcdefghij"[subject], f"{number:016x}") for subject, number in pairs]
    links = link_records(
        original, release, Linkage([uid for uid, _ in messages], [name for _, name in messages])
    )
    place = {name: at for at, name in enumerate(names)}
    good = {(uid, name) for uid, name in messages if uid in ids and name in place}
    for at, name in enumerate(names):
        uids_linked = [uid for uid, linked in good if linked == name and place[name] == at]
        assert links.subject_of[at] == (ids.index(uids_linked[0]) if len(uids_linked) == 1 else -1)
    assert links.n_subjects_with_record == len({uid for uid, _ in good})
    kinds = [finding.kind for finding in links.findings]
    different = set(messages)
    assert kinds.count("unknown-record") == sum(name not in place for _, name in different)
    assert kinds.count("unknown-subject") == sum(name in place and uid not in ids for uid, name in different)
    alone = [at for at, name in enumerate(names) if not any(n == name and place[n] == at for _, n in good)]
    assert kinds.count("record-without-subject") == len(alone)


def test_names_as_numbers_meet_the_same_hashes() -> None:
    ids = [f"caller-{number:05d}" for number in range(50)]
    hashed = [hashlib.sha256(uid.encode()).hexdigest() for uid in ids]
    names = [*(digest[:16] for digest in hashed[:10]), *(digest[20:36] for digest in hashed[10:20]), "0" * 16]
    strange = [digest[3:30] for digest in hashed[20:25]] + [hashed[30][:8]]
    result = search_hashes(ids, Pseudonyms.of([*names, *strange])).names
    assert result == {*names, *strange} - {"0" * 16}
