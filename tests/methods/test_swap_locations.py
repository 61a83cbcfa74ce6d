"""SwapLocations: clusters, swap sets against the literal algorithm, what is published, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from shoal.errors import MisuseError, NothingLeftError
from shoal.kernels.passing import Lines
from shoal.kernels.swap_sets import form_swap_sets
from shoal.measures.trajectory_distance import Paths, matrix_of, submatrix_in_place, trajectory_graph
from shoal.methods.swapping.exchange import (
    distances_within,
    distances_within_graph,
    microaggregate,
    microaggregate_graph,
)
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import crowd, small_crowds
from swap_oracles import greedy_groups, mdav_groups, swap_sets

pytestmark = pytest.mark.kernels


@given(n=st.integers(2, 23), k=st.integers(2, 5), seed=st.integers(0, 99))
def test_clusters_take_everybody_in_groups_of_k_and_little_more(n: int, k: int, seed: int) -> None:
    assume(n >= k)
    place = np.random.default_rng(seed).random((n, 2))
    distances = np.hypot(*(place[:, None] - place[None]).transpose(2, 0, 1))
    groups = microaggregate(distances, k)
    assert sorted(np.concatenate(groups).tolist()) == list(range(n))
    assert len(groups) == n // k
    assert all(k <= len(group) < 2 * k for group in groups)


@given(n=st.integers(2, 23), k=st.integers(2, 5), seed=st.integers(0, 99), far=st.integers(1, 40))
def test_clusters_of_mdav_are_those_of_its_definition(n: int, k: int, seed: int, far: int) -> None:
    """Whole numbers, so that ties are exact; few of them, so that there are many ties."""
    assume(n >= k)
    distances = np.triu(np.random.default_rng(seed).integers(1, far + 1, (n, n)), 1).astype(float)
    distances += distances.T
    groups = microaggregate(distances, k)
    assert [group.tolist() for group in groups] == mdav_groups(distances, k)


def test_clusters_find_what_is_plainly_together() -> None:
    place = np.array([0.0, 0.1, 0.2, 10, 10.1, 10.2, 20, 20.1, 20.2])
    order = np.random.default_rng(1).permutation(9)
    distances = np.abs(place[order][:, None] - place[order][None])
    groups = microaggregate(distances, 3)
    assert sorted(sorted((order[group] // 3).tolist()) for group in groups) == [
        [0, 0, 0],
        [1, 1, 1],
        [2, 2, 2],
    ]
    assert distances_within(distances, groups) == pytest.approx(3 * 0.4)


@pytest.mark.parametrize("paths", ["disjoint", "all"])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_searches_that_end_early_find_the_groups_of_the_matrix(paths: Paths, k: int) -> None:
    n, draw = 120, np.random.default_rng(k)
    t = np.repeat(draw.uniform(0, 2_000, n), 4) + np.tile([0, 30, 50, 90], n)
    x, y = draw.uniform(0, 1_000, (2, 4 * n))
    t[:4], t[4:8] = 50_000 + t[:4] - t[0], 7_000  # one of them meets nobody, one lasts no time
    original = Trajectories.from_rows(np.repeat([f"p{i:03d}" for i in range(n)], 4).tolist(), t, x, y)
    found, component = trajectory_graph(original, paths=paths, penalty="inverse", run=Run())
    kept = np.flatnonzero(component == 0)
    matrix = submatrix_in_place(matrix_of(found, Run()), kept)
    expected = [np.array(group) for group in greedy_groups(matrix, k)]
    groups = microaggregate_graph(found, kept, k)
    assert [group.tolist() for group in groups] == [kept[group].tolist() for group in expected]
    assert distances_within_graph(found, groups) == pytest.approx(distances_within(matrix, expected))


@given(
    original=small_crowds(least=3),
    seed=st.integers(0, 9),
    time_threshold=st.sampled_from([2.0, 5.0, 40.0]),
    space=st.sampled_from([4.0, 30.0]),
)
def test_swap_sets_are_those_of_the_algorithm(
    original: Trajectories, seed: int, time_threshold: float, space: float
) -> None:
    members = np.random.default_rng(seed).permutation(original.n_subjects)
    room = np.empty((int(original.lengths[members[0]]), len(members)), dtype=np.int64)
    used = np.zeros(original.n_samples, dtype=np.bool_)
    n = form_swap_sets(
        Lines(original.offsets, original.t, original.x, original.y),
        members,
        time_threshold,
        space,
        used,
        room,
    )
    expected = swap_sets(original, members.tolist(), time_threshold, space)
    assert room[:n].tolist() == expected
    assert np.flatnonzero(used).tolist() == sorted(row for chosen in expected for row in chosen)


@pytest.mark.parametrize("clustering", ["greedy", "mdav"])
def test_every_published_triple_is_true_and_nobody_has_two_of_one_set(clustering: str) -> None:
    original = crowd()
    release, linkage = SwapLocations(k=3, clustering=clustering).anonymize(original, Randomness.from_system())  # type: ignore[arg-type]
    raw = sorted(zip(original.t, original.x, original.y, strict=True))
    shown = sorted(zip(release.points.t, release.points.x, release.points.y, strict=True))
    assert set(shown) <= set(raw)
    assert linkage.trace is not None
    assert len(set(linkage.trace.place_from.tolist())) == release.n_samples
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    assert len(set(zip(record.tolist(), linkage.trace.swap_set.tolist(), strict=True))) == release.n_samples
    assert shoal.verify(original, release, linkage).holds
    assert release.losses.samples_suppressed == original.n_samples - release.n_samples


def test_degrees_are_published_to_the_last_digit() -> None:
    plain = crowd()
    draw = np.random.default_rng(1)
    original = replace(plain, lat=37 + draw.random(plain.n_samples), lon=-122 + draw.random(plain.n_samples))
    release, linkage = SwapLocations(k=2).anonymize(original, Randomness.from_system())
    assert linkage.trace is not None
    assert release.points.lat is not None
    assert original.lat is not None
    assert np.array_equal(release.points.lat, original.lat[linkage.trace.place_from])
    assert shoal.verify(original, release, linkage).holds


def test_the_order_of_the_input_changes_nothing_but_chance() -> None:
    original = crowd()
    rows = np.random.default_rng(2).permutation(original.n_samples)
    ids = np.repeat(np.array(original.ids), original.lengths)
    other = Trajectories.from_rows(ids[rows].tolist(), original.t[rows], original.x[rows], original.y[rows])
    method = SwapLocations(k=3)
    first, second = (method.anonymize(data, Randomness.for_research(5))[0] for data in (original, other))
    assert sorted(first.points.t.tolist()) == sorted(second.points.t.tolist())


def test_lone_and_distant_trajectories_are_counted_by_reason() -> None:
    near = crowd(6)
    ids = [*np.repeat(np.array(near.ids), near.lengths).tolist(), "lone", "late", "late"]
    original = Trajectories.from_rows(ids, [*near.t, 5, 1e6, 2e6], [*near.x, 1, 2, 3], [*near.y, 1, 2, 3])
    release, linkage = SwapLocations(k=2).anonymize(original, Randomness.from_system())
    reasons = release.losses.subjects_by_reason
    assert reasons["fewer than two different times"] == 1
    assert reasons["no overlap in time with the largest group"] == 1
    assert sum(reasons.values()) == release.losses.subjects_suppressed
    assert shoal.verify(original, release, linkage).holds


def test_too_few_that_overlap_is_an_error_with_the_count() -> None:
    near = crowd(3)
    ids = [*np.repeat(np.array(near.ids), near.lengths).tolist(), "late", "late"]
    original = Trajectories.from_rows(ids, [*near.t, 1e6, 2e6], [*near.x, 1, 2], [*near.y, 1, 2])
    with pytest.raises(MisuseError, match="largest group here has 3 of 4"):
        SwapLocations(k=4).anonymize(original, Randomness.from_system())
    with pytest.raises(MisuseError, match="k = 5 needs at least 5 people"):
        SwapLocations(k=5).anonymize(original, Randomness.from_system())


def test_nobody_near_enough_leaves_nothing() -> None:
    original = Trajectories.from_rows(["a", "a", "b", "b"], [0, 9, 0, 9], [0, 0, 500, 500], [0, 1, 2, 3])
    with pytest.raises(NothingLeftError, match="relax the thresholds"):
        SwapLocations(k=2, space_threshold_m=10).anonymize(original, Randomness.from_system())


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 1},
        {"time_threshold_s": 0},
        {"space_threshold_m": 0},
        {"space_threshold_m": np.inf},
        {"clustering": "x"},
    ],
)
def test_parameters_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(MisuseError):
        SwapLocations(**wrong)  # type: ignore[arg-type]


def test_snapped_samples_are_refused() -> None:
    with pytest.raises(MisuseError, match="as given"):
        SwapLocations(k=2).clusters(crowd().snapped_to(shoal.Grid()), Run())


def test_draws_are_uniform() -> None:
    """Chi-squared of 6 orders in 6,000 draws, or 7 numbers in 7,000, passes 35 once in 500,000."""
    rng = Randomness.for_research(11)
    orders = rng.permutations(6000, 3)
    code = orders @ np.array([9, 3, 1])
    assert ((np.unique(code, return_counts=True)[1] - 1000) ** 2 / 1000).sum() < 35
    assert len(np.unique(code)) == 6
    assert ((np.bincount(rng.below(7, 7000), minlength=7) - 1000) ** 2 / 1000).sum() < 35


@pytest.mark.jit_only
def test_a_share_of_the_swap_sets_is_published_whole_or_not_at_all() -> None:
    """Which sets are formed does not depend on the share; each is then kept by its own draw."""
    original = crowd(60, 40)
    everything, _ = SwapLocations(k=3).anonymize(original, Randomness.for_research(1))
    method = SwapLocations(k=3, publish_share=0.25)
    release, linkage = method.anonymize(original, Randomness.for_research(1))
    assert shoal.verify(original, release, linkage).holds
    trace = linkage.trace
    assert trace is not None
    sizes = np.diff(trace.set_offsets)
    assert sizes.min() >= 3
    assert np.array_equal(np.sort(np.bincount(trace.swap_set, minlength=len(sizes))), np.sort(sizes))
    share = release.n_samples / everything.n_samples
    spread = (0.25 * 0.75 / (everything.n_samples / 3)) ** 0.5
    assert abs(share - 0.25) < 4 * spread
    assert release.losses.samples_suppressed == original.n_samples - release.n_samples
    assert SwapLocations(k=3).parameters()["publish_share"] == 1
    assert method.parameters()["publish_share"] == 0.25


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(MisuseError, match="publish_share"):
        SwapLocations(k=3, publish_share=share)
