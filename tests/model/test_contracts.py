"""The data model and its smallest parts: what they refuse, what they keep, what they never show."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import units
from shoal.errors import InputError, MisuseError
from shoal.model.claims import KAnonymity, claim_from_json, claim_to_json
from shoal.model.columns import COLUMNS
from shoal.model.grid import Grid
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.runtime.randomness import Randomness


@pytest.mark.parametrize(
    ("text", "meters"),
    [("500m", 500), ("2km", 2000), ("1.5 km", 1500), ("2KM", 2000), (12.5, 12.5), ("1e3m", 1000)],
)
def test_lengths(text: str | float, meters: float) -> None:
    assert units.length_m(text) == meters


@pytest.mark.parametrize(("text", "seconds"), [("100s", 100), ("30min", 1800), ("1h", 3600), ("2d", 172800)])
def test_durations(text: str, seconds: float) -> None:
    assert units.duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "km", "15", "5 miles", "-2km", "0m", "1h", "nanm", "2km2"])
def test_bad_lengths_say_how_to_write_one(text: str) -> None:
    with pytest.raises(MisuseError, match="for example 500m or 2km"):
        units.length_m(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(45, "45 s"), (1800, "30 min"), (28800, "8 h"), (86400 * 14, "14 d"), (100_000, "27.78 h")],
)
def test_durations_shown(seconds: float, text: str) -> None:
    assert units.show_s(seconds) == text


rows = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 5), st.integers(-3, 3), st.integers(-3, 3)),
    min_size=1,
    max_size=40,
)


@given(rows, st.randoms(use_true_random=False))
def test_rows_become_sorted_distinct_samples(
    given_rows: list[tuple[str, int, int, int]], random: object
) -> None:
    random.shuffle(given_rows)  # type: ignore[attr-defined]  # hypothesis hands out random.Random
    ids, t, x, y = zip(*given_rows, strict=True)
    built = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    expected = sorted(set(given_rows))
    flat = [
        (uid, *map(int, sample))
        for uid, samples in zip(built.ids, built, strict=True)
        for sample in zip(*samples, strict=True)
    ]
    assert flat == expected
    appearance = list(dict.fromkeys(ids))
    assert built.input_rank is not None
    assert [appearance[rank] for rank in built.input_rank] == list(built.ids)


@given(rows, st.sets(st.integers(0, 3)))
def test_keeping_some_subjects(given_rows: list[tuple[str, int, int, int]], chosen: set[int]) -> None:
    ids, t, x, y = zip(*given_rows, strict=True)
    built = Trajectories.from_rows(ids, t, x, y, grid=Grid())
    kept = sorted(place for place in chosen if place < built.n_subjects)
    part = built.keep(kept)
    assert part.ids == tuple(built.ids[place] for place in kept)
    for own, place in zip(part, kept, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(own, built.samples_of(place), strict=True))


def built(ids: tuple[str, ...], offsets: list[int], t: list[Any], x: list[Any], y: list[Any]) -> Trajectories:
    return Trajectories(ids=ids, offsets=np.array(offsets), t=np.array(t), x=np.array(x), y=np.array(y))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((("a",), [0, 2], [1], [1], [1]), "offsets must rise"),
        ((("a", "b"), [0, 1, 1], [1], [1], [1]), "at least one sample for each subject"),
        ((("a",), [0, 1], [1], [1, 2], [1]), "differ in length"),
        ((("a",), [0, 1], [1.0], [1], [1]), "must all be int64"),
        ((("b", "a"), [0, 1, 2], [1, 1], [1, 1], [1, 1]), "ids must be different and ascending"),
        ((("a", "a"), [0, 1, 2], [1, 1], [1, 1], [1, 1]), "ids must be different and ascending"),
        ((("a",), [0, 2], [1, 1], [1, 1], [1, 1]), "must ascend"),
        ((("a",), [0, 2], [2, 1], [1, 1], [1, 1]), "must ascend"),
    ],
)
def test_contradicting_arrays_are_refused(arrays: tuple[Any, ...], message: str) -> None:
    built(("a", "b"), [0, 1, 2], [1, 1], [1, 1], [1, 1])
    with pytest.raises(MisuseError, match=message):
        built(*arrays)
    with pytest.raises(MisuseError, match="ids, t, x, y differ in length: 2, 1, 1, 1"):
        Trajectories.from_rows(["a", "b"], [1], [1], [1])


def test_arrays_cannot_be_changed_afterwards() -> None:
    built = Trajectories.from_rows(["a"], [1], [2], [3], grid=Grid())
    with pytest.raises(ValueError, match="read-only"):
        built.t[0] = 5
    Trajectories(**SOUND)
    assert all(SOUND[name].flags.writeable for name in "txy")  # the caller's own arrays stay as they were


def test_secrets_are_not_in_what_is_shown() -> None:
    built = Trajectories.from_rows(["secret-name"], [1], [2], [3], grid=Grid())
    assert "secret-name" not in repr(built)
    assert "secret-name" not in repr(Linkage(("secret-name",), ("x",)))
    assert "424242" not in repr(Randomness.for_research(424242))


SOUND: dict[str, Any] = {
    "ids": ("a", "b"),
    "offsets": np.array([0, 2, 3]),
    "t": np.array([1, 1, 1]),
    "x": np.array([4, 5, 6]),
    "y": np.array([9, 8, 7]),
    "input_rank": np.array([1, 0]),
}
AS_GIVEN: dict[str, Any] = {
    **SOUND,
    **{name: SOUND[name].astype(float) for name in "txy"},
    "lat": np.array([1.0, 2.0, 3.0]),
    "lon": np.array([1.0, 2.0, 3.0]),
    "grid": None,
}


@pytest.mark.parametrize("held", [SOUND, AS_GIVEN])
def test_every_column_is_checked_by_its_row_of_the_table(held: dict[str, Any]) -> None:
    """Each is refused with another type, another length, and, where the table asks for it, missing."""
    Trajectories(**held)
    checked = 0
    for name in COLUMNS:
        if name not in held:
            continue
        for wrong in (held[name].astype(np.float32), np.append(held[name], held[name][-1] + 1)):
            with pytest.raises(MisuseError, match=name):
                Trajectories(**{**held, name: wrong})
            checked += 1
        if COLUMNS[name].required or COLUMNS[name].comes_with:
            with pytest.raises(MisuseError, match=f"{name} is missing"):
                Trajectories(**{**held, name: None})
            checked += 1
    assert checked >= 14
    with pytest.raises(MisuseError, match="lat belongs to points as given only"):
        Trajectories(**{**SOUND, "lat": AS_GIVEN["lat"], "lon": AS_GIVEN["lon"]})


@pytest.mark.parametrize(
    ("column", "change", "message"),
    [
        ("t", {"snapped": np.int32}, "t must all be int32, not int64"),
        ("t", {"of": "subject"}, "t, input_rank differ in length: 3, 2; each needs 2"),
        ("x", {"sort_rank": 3}, r"must ascend by \(t, y, x\)"),
        ("input_rank", {"snapped": None}, "input_rank belongs to points as given only"),
        ("lat", {"required": True}, "lat is missing; it holds latitude"),
        ("lat", {"comes_with": "input_rank"}, "lat is missing; lat and input_rank come together"),
    ],
)
def test_a_column_changed_in_the_table_changes_what_construction_refuses(
    column: str, change: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Trajectories(**SOUND)
    monkeypatch.setitem(COLUMNS, column, replace(COLUMNS[column], **change))
    with pytest.raises(MisuseError, match=message):
        Trajectories(**SOUND)


def test_points_as_given_are_refused_where_boxes_are_made() -> None:
    with pytest.raises(MisuseError, match="without snap=False"):
        Trajectories.from_rows(["a"], [1.5], [2.5], [3.5]).snapped_grid()


def test_permutations_are_uniform() -> None:
    """Each of the six orders of three, in 6,000 draws.

    A chi-squared statistic with 5 degrees of freedom passes 30 once in 70,000 tries.
    """
    rng = Randomness.for_research(3)
    orders = [tuple(rng.permutation(3)) for _ in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 30


def test_pseudonyms_are_different_and_fresh() -> None:
    names = Randomness.from_system().pseudonyms(1000)
    assert len(set(names)) == 1000
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in names)
    assert not set(names) & set(Randomness.from_system().pseudonyms(1000))


def test_claims_survive_json_and_unknown_ones_are_named() -> None:
    claim = KAnonymity(k=4, truthful=False)
    assert claim_from_json(claim_to_json(claim)) == claim
    with pytest.raises(InputError, match="'magic', which this version cannot check"):
        claim_from_json({"type": "magic"})
    with pytest.raises(InputError, match="claim cannot be read"):
        claim_from_json({"type": "k-anonymity", "q": 2})


def test_nothing_checked_is_a_failure() -> None:
    assert not Verdict.of([], checked=0).holds
    assert Verdict.of([], checked=0).kinds == {"nothing-checked"}
    assert Verdict.of([], checked=1).holds
    assert not Verdict.of([Finding("bad", "it is")], checked=9).holds


def test_a_verdict_is_true_where_the_release_holds() -> None:
    assert Verdict.of([], checked=1)
    assert not Verdict.of([], checked=0)
    assert not Verdict.of([Finding("bad", "it is")], checked=9)


def test_a_verdict_is_true_where_it_holds_and_only_there() -> None:
    broken = Verdict.of([Finding("bad", "a sentence", None)], checked=5)
    assert [bool(verdict) for verdict in (Verdict.of([], checked=5), Verdict.of([], checked=0), broken)] == [
        True,
        False,
        False,
    ]
