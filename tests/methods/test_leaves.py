"""Leaves of a public list: how they are cut, that boxes depend on nothing finer, and how the check looks."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from leaf_data import Cell, boxes_are_hulls_of_leaves, moved_within, with_places
from naive_release import small_city
from shoal.errors import InputError, MisuseError, NothingLeftError
from shoal.measures.leaves import part_places
from shoal.methods.glove.crowds_of_series import NEWCOMER, WAITING, classes_in_series
from shoal.model.claims.hull import HullRule, parse_hull
from shoal.model.places import PublicPlaces
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.scale.blocks import middles_of
from shoal.verification.boxes.leaves import cut_into_leaves
from small_data import populations
from stored import stored

pytestmark = pytest.mark.kernels

CELLS = st.dictionaries(st.tuples(st.integers(-9, 9), st.integers(-4, 4)), st.integers(0, 9), min_size=2)
HOUR = 3600
METHODS: dict[str, Callable[[str], shoal.Method]] = {
    "glove": lambda hull: shoal.Glove(k=2, hull=hull),
    "refined": lambda hull: shoal.Glove(k=2, hull=hull, refine=True),
    "halves": lambda hull: shoal.Glove(k=2, hull=hull, refine=True, start="halves"),
    "reshaped": lambda hull: shoal.Glove(k=2, hull=hull, generalize="reshape-each"),
    "kte-hide": lambda hull: shoal.KteHide(k=2, tau_s=4 * HOUR, epsilon_s=4 * HOUR, hull=hull),
    "static": lambda hull: shoal.StaticGeneralization(k=2, grid_m=100_000, slot_s=104 * HOUR, hull=hull),
}


def listed(use: dict[Cell, int], cell_m: float = 100.0) -> PublicPlaces:
    x, y = (np.array(list(use)) * cell_m).T + 3.0
    return PublicPlaces(x=x, y=y, busyness=np.array(list(use.values())) * 1.0)


def leaves_of(places: PublicPlaces, rule: HullRule) -> list[list[Cell]]:
    """As methods cut them."""
    leaves = part_places(places, 100.0, rule)
    cells = list(zip(leaves.x.tolist(), leaves.y.tolist(), strict=True))
    return [
        [cells[row] for row in np.flatnonzero(leaves.leaf_of == leaf)] for leaf in range(len(leaves.bounds))
    ]


@examples(0.5)
@given(use=CELLS, least=st.integers(2, 6), share=st.sampled_from([1.0, 0.6, 0.35]))
def test_methods_and_verifier_cut_the_same_sound_leaves(
    use: dict[Cell, int], least: int, share: float
) -> None:
    rule, total = HullRule(leaf_places=least, busiest_share=share), sum(use.values())
    if len(use) < least or (share < 1 and not 0 < max(use.values()) <= share * total):
        with pytest.raises(MisuseError):
            part_places(listed(use), 100.0, rule)
        return
    leaves = leaves_of(listed(use), rule)
    assert {frozenset(leaf) for leaf in leaves} == {
        frozenset(leaf) for leaf in cut_into_leaves({cell: float(use[cell]) for cell in use}, rule)
    }
    assert sorted(cell for leaf in leaves for cell in leaf) == sorted(use)
    for leaf in leaves:
        assert len(leaf) >= least
        assert share == 1 or max(use[cell] for cell in leaf) <= share * sum(use[cell] for cell in leaf)
        for other in leaves:
            apart = [
                max(cell[axis] for cell in one) < min(cell[axis] for cell in two)
                for axis in (0, 1)
                for one, two in ((leaf, other), (other, leaf))
            ]
            assert leaf is other or any(apart), "two leaves overlap"


def test_a_line_of_places_is_cut_in_the_middle() -> None:
    leaves = leaves_of(listed({(x, 0): 1 for x in range(8)}), HullRule(leaf_places=2))
    assert sorted(map(sorted, leaves)) == [[(x, 0), (x + 1, 0)] for x in (0, 2, 4, 6)]


def test_a_cut_keeps_neighbors_together_rather_than_halves() -> None:
    near, far = [(x, 0) for x in range(4)], [(x, 0) for x in range(100, 110)]
    leaves = leaves_of(listed(dict.fromkeys([*near, *far], 1)), HullRule(leaf_places=4))
    assert sorted(map(sorted, leaves)) == [near, far[:5], far[5:]]


def test_of_equal_cuts_a_column_goes_first_and_then_the_lowest() -> None:
    square = leaves_of(listed({(x, y): 1 for x in range(2) for y in range(2)}), HullRule(leaf_places=2))
    assert sorted(map(sorted, square)) == [[(0, 0), (0, 1)], [(1, 0), (1, 1)]]
    line = leaves_of(listed({(x, 0): 1 for x in range(5)}), HullRule(leaf_places=2))
    assert sorted(map(sorted, line)) == [[(0, 0), (1, 0)], [(2, 0), (3, 0), (4, 0)]]


@pytest.mark.parametrize(
    "hull", ["leaves:", "leaves:1", "leaves:x", "leaves:3:0", "leaves:3:50%", "leaves:2000000"]
)
def test_leaves_that_cannot_be_are_said(hull: str) -> None:
    with pytest.raises(MisuseError, match=r"write leaves:PLACES with 2 to"):
        parse_hull(hull)


def test_lists_that_make_no_leaves_are_said() -> None:
    original = with_places(small_city())
    assert original.places is not None
    without_use = replace(original, places=replace(original.places, busyness=None))
    few = replace(original, places=PublicPlaces(x=np.array([0.0, 1e3, 2e3, 3e3]), y=np.zeros(4)))
    for people, hull, words in (
        (small_city(), "leaves:5", "read the data with places FILE"),
        (few, "leaves:5", "has 4 cells with places"),
        (original, "leaves:5:0.001", "one place of the list of places has more than 0.1 %"),
        (without_use, "leaves:5:0.5", "does not say how busy"),
        (few, "leaves:2", "a sample is in a cell without a listed place"),
    ):
        with pytest.raises(MisuseError, match=words):
            shoal.Glove(k=2, hull=hull).anonymize(people, Randomness.from_system())
    with pytest.raises(MisuseError, match="before they become whole leaves"):
        shoal.Glove(hull="leaves:5", omit_at_most=0.1)


@pytest.mark.jit_only
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("hull", ["leaves:4", "leaves:4:0.5"])
def test_only_leaves_decide_what_is_published(name: str, hull: str) -> None:
    original, method = with_places(small_city()), METHODS[name](hull)
    assert original.places is not None
    leaves = leaves_of(original.places, parse_hull(hull))
    release, linkage = method.anonymize(original, Randomness.for_research(3))
    assert shoal.verify(original, release, linkage).holds
    assert "leaves of at least 4 places" in release.claim.promise
    for seed in range(3):
        moved = moved_within(original, leaves, seed=seed)
        assert not np.array_equal(moved.x, original.x)
        again, _ = method.anonymize(moved, Randomness.for_research(3))
        for one, other in zip(release.boxes.columns(), again.boxes.columns(), strict=True):
            assert np.array_equal(one, other)


def test_only_leaves_decide_the_blocks(tmp_path: Path) -> None:
    original = with_places(small_city())
    assert original.places is not None
    moved = moved_within(original, leaves_of(original.places, HullRule(leaf_places=4)), seed=1)
    one, other = (
        middles_of(replace(stored(people, tmp_path / name), places=original.places), "leaves:4")
        for name, people in (("a", original), ("b", moved))
    )
    assert np.array_equal(one, other)


def test_only_leaves_decide_the_crowds_of_a_series() -> None:
    original, method = with_places(small_city()), shoal.Glove(k=2, hull="leaves:4")
    assert original.places is not None
    moved = moved_within(original, leaves_of(original.places, HullRule(leaf_places=4)), seed=1)
    before = np.array([0, 0, 0, 0, 1, 1, 1, WAITING, NEWCOMER, NEWCOMER, 2, 2])
    for crowd_of in (before, np.full(12, NEWCOMER)):
        boxes = [
            [
                np.stack(crowd.boxes.columns())
                for crowd in classes_in_series(method, people, crowd_of, 1, Run())
            ]
            for people in (original, moved)
        ]
        assert all(np.array_equal(one, other) for one, other in zip(*boxes, strict=True))


def changed(release: Release, draw: np.random.Generator) -> Release:
    """One side of all copies of a box moved by some cells, or nothing."""
    side = str(draw.choice(["x_min", "y_min", "x_max", "y_max"]))
    rows = np.stack(release.boxes.columns(), axis=1)
    same = (rows == rows[draw.integers(len(rows))]).all(axis=1)
    steps = same * int(draw.integers(-12, 13)) * int(draw.integers(0, 2))
    return replace(release, payload=replace(release.boxes, **{side: getattr(release.boxes, side) + steps}))


@pytest.mark.parametrize("name", ["glove", "kte-hide"])
@examples(0.5)
@given(original=populations(least=4, most=6), seed=st.integers(0, 1 << 20))
def test_the_verifier_agrees_with_a_slow_look(name: str, original: Trajectories, seed: int) -> None:
    draw = np.random.default_rng(seed)
    people = with_places(original, seed=seed)
    assert people.places is not None
    try:
        release, linkage = METHODS[name]("leaves:2").anonymize(people, Randomness.for_research(seed))
    except NothingLeftError:
        return
    assert shoal.verify(people, release, linkage).holds
    broken = changed(release, draw)
    everyone = list(range(people.n_subjects))
    members: dict[bytes, list[int]] = {}
    for uid, pseudonym in zip(linkage.uids, linkage.trajectory_ids, strict=True):
        record = broken.record(list(broken.trajectory_ids).index(pseudonym))
        members.setdefault(np.stack(record.columns()).tobytes(), []).append(people.ids.index(uid))
    members_of = {
        pseudonym: everyone
        if name == "kte-hide"
        else members[np.stack(broken.record(number).columns()).tobytes()]
        for number, pseudonym in enumerate(broken.trajectory_ids)
    }
    leaves = leaves_of(people.places, HullRule(leaf_places=2))
    sound = boxes_are_hulls_of_leaves(people, broken, members_of, leaves)
    assert ("box-not-tight" not in shoal.verify(people, broken, linkage).kinds) == sound


def test_the_verifier_asks_for_the_list_and_knows_another_one() -> None:
    original = with_places(small_city())
    assert original.places is not None
    release, linkage = shoal.Glove(k=2, hull="leaves:4").anonymize(original, Randomness.from_system())
    with pytest.raises(MisuseError, match="read the raw data with its places"):
        shoal.verify(small_city(), release, linkage)
    other = replace(original, places=replace(original.places, sha256="0" * 64))
    assert shoal.verify(other, release, linkage).kinds == {"other-places"}
    few = replace(original, places=PublicPlaces(x=np.array([0.0, 1e3, 2e3]), y=np.zeros(3)))
    assert "no-leaves" in shoal.verify(few, release, linkage).kinds
    x, y = original.places.x, original.places.y
    here = (np.floor(x / 100) == original.x[0]) & (np.floor(y / 100) == original.y[0])
    without_one = replace(original, places=PublicPlaces(x=x[~here], y=y[~here]))
    assert "off-list" in shoal.verify(without_one, release, linkage).kinds


def test_a_list_made_from_the_data_is_asked_about(tmp_path: Path) -> None:
    rows = "uid,t,x,y\na,0,50,50\na,60,150,50\nb,0,50,50\nb,60,950,50\n"
    (tmp_path / "raw.csv").write_text(rows)
    (tmp_path / "own.csv").write_text("x,y\n10,20\n110,20\n910,20\n")
    (tmp_path / "all.csv").write_text("x,y\n10,20\n10,20\n110,20\n910,20\n555,555\n910,20\n")
    (tmp_path / "far.csv").write_text("x,y\n10,20\n5e5,5e5\n6e5,6e5\n")
    raw = tmp_path / "raw.csv"
    listed = shoal.read(raw, crs="local", places=str(tmp_path / "all.csv"))
    assert listed.n_samples == 4
    assert any(note.endswith("one place with it: 2") for note in listed.intake.notes)
    with pytest.raises(InputError, match="exactly the 3 cells that the data has"):
        shoal.read(raw, crs="local", places=str(tmp_path / "own.csv"))
    public = shoal.read(raw, crs="local", places=str(tmp_path / "own.csv"), places_are_public=True)
    assert any("is said to be public" in note for note in public.intake.notes)
    assert (public.intake.reading.places, public.places is not None) == ("own.csv", True)
    with pytest.raises(InputError, match="2 of 4 rows are at no place of"):
        shoal.read(raw, crs="local", places=str(tmp_path / "far.csv"))
    with pytest.raises(InputError, match="is not the list of places that was used before"):
        shoal.read(raw, crs="local", places=str(tmp_path / "all.csv"), places_sha256="0" * 64)
    with pytest.raises(MisuseError, match="needs boxes on cells"):
        shoal.read(raw, crs="local", places=str(tmp_path / "all.csv"), snap=False)
