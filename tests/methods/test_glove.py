"""GLOVE against an independent naive implementation, merge by merge, and the promises its parameters make."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracles
import shoal
from shoal.errors import MisuseError, NothingLeftError
from shoal.measures.stretch import Caps
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.closest_pairs import BandedPairs
from shoal.methods.glove.glove import Glove
from shoal.methods.glove.greedy import (
    Finish,
    Merging,
    merge,
    merge_greedily,
    split_at_overlaps,
    unite_overlaps,
)
from shoal.methods.k_merge import merge_members
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_data import population, populations

pytestmark = pytest.mark.kernels


def rows(boxes: Boxes) -> tuple[oracles.Box, ...]:
    # six columns
    return tuple(tuple(int(value) for value in row) for row in zip(*boxes.columns(), strict=True))  # type: ignore[misc]


def as_boxes(boxes: tuple[oracles.Box, ...]) -> Boxes:
    t_start, t_end, x_min, y_min, x_max, y_max = np.array(boxes, dtype=np.int64).T.copy()
    return Boxes(t_start=t_start, t_end=t_end, x_min=x_min, y_min=y_min, x_max=x_max, y_max=y_max)


def singles(original: Trajectories) -> list[EquivalenceClass]:
    return [
        EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*own))
        for i, own in enumerate(original)
    ]


def merge_sequence(original: Trajectories, k: int) -> list[tuple[int, int]]:
    scale = Caps().scale_on(Grid())
    pairs = BandedPairs(original, Caps(), Run())
    return merge_greedily(original, pairs, k, lambda a, b: merge(a, b, scale), Run()).sequence


def assert_equals_oracle(original: Trajectories, k: int) -> None:
    sequence, groups = oracles.glove(original, k)
    assert merge_sequence(original, k) == sequence
    crowds = Glove(k=k, generalize="reshape-final").classes(original, Run())
    assert sorted((tuple(crowd.members.tolist()), rows(crowd.boxes)) for crowd in crowds) == sorted(
        (g.members, g.boxes) for g in groups
    )


@given(populations(most=9), st.integers(2, 4))
def test_merges_and_boxes_equal_the_naive_version(original: Trajectories, k: int) -> None:
    if original.n_subjects >= k:
        assert_equals_oracle(original, k)


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.jit_only), 5])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.jit_only)])
def test_forty_subjects_of_equal_and_unequal_lengths(k: int, seed: int) -> None:
    lengths = np.random.default_rng(seed).choice([1, 3, 3, 3, 7], 40).tolist()
    assert_equals_oracle(population(lengths, seed), k)


@pytest.mark.parametrize("k", [2, 3])
def test_sixty_subjects_with_many_ties(k: int) -> None:
    """Few places and few slots: many identical people and equal efforts, so only the tie rule decides."""
    assert_equals_oracle(population([2] * 60, seed=4, places=2, slots=3), k)


@given(populations(most=9), st.integers(2, 4))
def test_those_who_are_k_are_merged_in_the_end_as_in_their_turn(original: Trajectories, k: int) -> None:
    """Of the crowds that come to be k, some lose every box."""
    scale = Caps().scale_on(Grid())

    def whole(members: Integers) -> EquivalenceClass:
        boxes = merge_members(original, members)[0]
        return EquivalenceClass(members=members, boxes=boxes.take(slice(members.sum() % 3)))

    def join(a: EquivalenceClass, b: EquivalenceClass) -> EquivalenceClass:
        members = np.sort(np.concatenate([a.members, b.members]))
        return whole(members) if len(members) >= k else merge(a, b, scale)

    def merged(finish: Finish | None) -> Merging:
        pairs = BandedPairs(original, Caps(), Run(threads=2))
        return merge_greedily(original, pairs, k, join, Run(), finish)

    at_once, in_the_end = merged(None), merged(lambda crowds: map(whole, crowds))
    assert in_the_end.sequence == at_once.sequence
    for name in ("finished", "discarded", "short"):
        mine, same = getattr(in_the_end, name), getattr(at_once, name)
        assert [each.members.tolist() for each in mine] == [each.members.tolist() for each in same]
        assert [rows(each.boxes) for each in mine] == [rows(each.boxes) for each in same]


@given(populations(most=6), st.integers(2, 3))
def test_reshape_each_equals_the_naive_version(original: Trajectories, k: int) -> None:
    assume(original.n_subjects >= k)
    _, groups = oracles.glove(original, k, reshape_each=True)
    crowds = Glove(k=k, generalize="reshape-each").classes(original, Run())
    assert sorted((tuple(c.members.tolist()), rows(c.boxes)) for c in crowds) == sorted(
        (g.members, g.boxes) for g in groups
    )


@given(populations(most=7), st.integers(2, 3), st.sampled_from([(300, 1200), (900, 3600), (5000, 7200)]))
def test_suppression_by_samples_equals_the_naive_version(
    original: Trajectories, k: int, most: tuple[int, int]
) -> None:
    """A sample farther from its own partner than that is left out of the merge; the others stay."""
    assume(original.n_subjects >= k)
    space_m, time_s = most
    _, groups = oracles.glove(original, k, reshape_each=True, most=(space_m / 100, time_s / 60))
    method = Glove(
        k=k,
        generalize="reshape-each",
        suppress_by="samples",
        suppress_space_m=space_m,
        suppress_time_s=time_s,
    )
    crowds = method.classes(original, Run())
    assert sorted((tuple(c.members.tolist()), rows(c.boxes)) for c in crowds) == sorted(
        (g.members, g.boxes) for g in groups
    )


def test_what_samples_far_from_their_partners_lose_is_counted_and_verified() -> None:
    """Amy and bob are together at noon; at night amy calls twice from there, and bob once from elsewhere.

    Her calls at night are nearest to his at noon. A box over all of it is too long, so by boxes nothing is
    left. By samples her night and his are left out.
    """
    ids = ["amy"] * 3 + ["bob"] * 2
    t, x = np.array([0, 30, 720, 725, 1400]), np.array([50, 50, 50, 51, 900])
    people = Trajectories.from_rows(ids, t, x, np.zeros(5, dtype=np.int64), grid=Grid())
    given: dict[str, Any] = {
        "k": 2,
        "generalize": "reshape-each",
        "suppress_space_m": 2000,
        "suppress_time_s": 3600,
    }
    release, linkage = Glove(**given, suppress_by="samples").anonymize(people, Randomness.for_research(1))
    assert rows(release.record(0)) == ((720, 726, 50, 0, 52, 1),)
    assert release.losses.samples_suppressed == 3
    assert shoal.verify(people, release, linkage).holds
    with pytest.raises(NothingLeftError):
        Glove(**given).anonymize(people, Randomness.for_research(1))
    with pytest.raises(MisuseError, match="suppress_by = 'samples'"):
        Glove(k=2, suppress_by="samples")


@given(populations(least=4, most=8), st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_of_rows(original: Trajectories, random: object) -> None:
    order = np.arange(original.n_samples)
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis hands out random.Random
    ids = np.repeat(np.array(original.ids), original.lengths)
    shuffled = Trajectories.from_rows(
        ids[order].tolist(), original.t[order], original.x[order], original.y[order], grid=Grid()
    )
    made, again = (Glove(k=2).classes(people, Run()) for people in (original, shuffled))
    assert [each.members.tolist() for each in made] == [each.members.tolist() for each in again]
    assert [rows(each.boxes) for each in made] == [rows(each.boxes) for each in again]


interval_lists = st.lists(
    st.builds(
        lambda t, d, x, w, y, h: (t, t + d, x, y, x + w, y + h),
        st.integers(0, 20), st.integers(1, 8),
        st.integers(0, 9), st.integers(1, 5), st.integers(0, 9), st.integers(1, 5),
    ),
    min_size=1,
    max_size=9,
)  # fmt: skip


@given(interval_lists)
def test_uniting_overlaps_equals_pairwise_uniting(boxes: list[oracles.Box]) -> None:
    assert rows(unite_overlaps(as_boxes(tuple(boxes)))) == oracles.unite_overlaps(tuple(boxes))


@given(interval_lists)
def test_splitting_keeps_cover_and_is_disjoint(boxes: list[oracles.Box]) -> None:
    pieces = rows(split_at_overlaps(as_boxes(tuple(boxes))))
    assert all(a[1] <= b[0] for a, b in pairwise(pieces))
    for t in range(30):
        spanning = [box for box in boxes if box[0] <= t < box[1]]
        at_t = [piece for piece in pieces if piece[0] <= t < piece[1]]
        assert [piece[2:] for piece in at_t] == ([oracles.hull(spanning)[2:]] if spanning else [])


def test_touching_is_not_overlapping() -> None:
    boxes = ((0, 5, 0, 0, 1, 1), (5, 9, 7, 7, 8, 8))
    assert rows(unite_overlaps(as_boxes(boxes))) == boxes


@given(populations(least=3, most=8))
def test_suppression_leaves_no_box_beyond_the_thresholds(original: Trajectories) -> None:
    method = Glove(k=2, suppress_space_m=1500, suppress_time_s=3600)
    classes = method.classes(original, Run())
    assert all(len(each.boxes) for each in classes)
    published = Boxes.concatenate([each.boxes for each in classes])
    extents = published.x_max - published.x_min + published.y_max - published.y_min
    assert (extents * 100 <= 1500).all()
    assert ((published.t_end - published.t_start) * 60 <= 3600).all()
    if not classes:
        with pytest.raises(NothingLeftError, match="nothing to publish"):
            method.anonymize(original, Randomness.from_system())


def test_leftover_is_merged_or_suppressed_never_published_alone() -> None:
    original = population([4] * 7, seed=1)
    merged, linkage = Glove(k=2).anonymize(original, Randomness.from_system())
    assert (merged.n_records, merged.losses.subjects_suppressed, len(linkage.uids)) == (7, 0, 7)
    without, linkage = Glove(k=2, leftover="suppress").anonymize(original, Randomness.from_system())
    assert (without.n_records, without.losses.subjects_suppressed, len(linkage.uids)) == (6, 1, 6)
    assert without.losses.samples_suppressed == 4


@pytest.mark.jit_only
def test_release_is_fresh_each_time_and_repeatable_only_for_research() -> None:
    original = population([5] * 12, seed=2)
    first, second = (Glove(k=2).anonymize(original, Randomness.from_system())[0] for _ in range(2))
    assert not set(first.trajectory_ids) & set(second.trajectory_ids)
    assert first.publishable
    seeded = [Glove(k=2).anonymize(original, Randomness.for_research(7))[0] for _ in range(2)]
    assert seeded[0].trajectory_ids == seeded[1].trajectory_ids
    assert not seeded[0].publishable
    assert "7" not in repr(Randomness.for_research(7))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k = 1 hides nobody"),
        ({"generalize": "blur"}, "choose one of k-merge"),
        ({"leftover": "publish"}, "choose one of merge, suppress"),
        ({"suppress_space_m": 0}, "would drop every sample"),
        ({"space_cap_m": float("nan")}, "must be finite"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        Glove(**parameters)  # type: ignore[arg-type]  # wrong on purpose


def test_fewer_people_than_k_is_said() -> None:
    with pytest.raises(MisuseError, match="k = 5 needs at least 5 people, and the data has 3"):
        Glove(k=5).anonymize(population([2, 2, 2], seed=0), Randomness.from_system())
