"""NWA and W4M: kernels against oracles, small examples by hand, counts, input that leaves nothing."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import comparator_oracles as oracles
import shoal
from shoal.attacks import attack
from shoal.errors import MisuseError, NothingLeftError
from shoal.kernels.co_location import TimedPath, Tolerance, align, cluster_within, edit_distances
from shoal.methods.co_location.clusters import greedy_clusters, move_into_cylinder, rms_distances
from shoal.methods.co_location.nwa import Nwa
from shoal.methods.co_location.w4m import DISTANCE, Distance, W4m
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, read_only

pytestmark = pytest.mark.kernels

Sample = tuple[float, float, float]
small = st.integers(0, 6).map(float)
walks = st.lists(st.tuples(small, small, small), min_size=1, max_size=5).map(sorted)


def columns(samples: Sequence[Sample]) -> tuple[Floats, Floats, Floats]:
    t, x, y = np.array(samples, dtype=np.float64).T
    return read_only(t), read_only(x), read_only(y)


def people(*walks: Sequence[Sample]) -> Trajectories:
    """Subjects a, b, c ... with these samples, as given."""
    rows = [(chr(97 + i) if i < 26 else f"p{i}", *sample) for i, walk in enumerate(walks) for sample in walk]
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y)


@given(some=st.lists(walks, min_size=2, max_size=4), match_m=st.integers(0, 2), match_s=st.integers(0, 2))
def test_edits_are_those_of_the_definition(some: list[list[Sample]], match_m: int, match_s: int) -> None:
    original = people(*some)
    found = np.zeros(original.n_subjects, dtype=np.int64)
    edit_distances(
        original.t, original.x, original.y, original.offsets, 0, float(match_m), float(match_s), found
    )
    samples = [list(zip(*(column.tolist() for column in own), strict=True)) for own in original]
    assert found[1:].tolist() == [oracles.edits(samples[0], other, match_m, match_s) for other in samples[1:]]


@pytest.mark.parametrize("lengths", [(1, 200), (61, 62), (62, 63), (124, 125), (130, 40)])
def test_edits_of_long_trajectories(lengths: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(lengths))
    walk = [sorted(map(tuple, rng.integers(0, 12, (length, 3)).astype(float).tolist())) for length in lengths]
    original = people(*walk)
    samples = [list(zip(*(column.tolist() for column in own), strict=True)) for own in original]
    found = np.zeros(2, dtype=np.int64)
    edit_distances(original.t, original.x, original.y, original.offsets, 0, 3.0, 2.0, found)
    assert found[1] == oracles.edits(samples[0], samples[1], 3, 2)


@given(a=walks, b=walks, match_m=st.integers(0, 2), match_s=st.integers(0, 2))
def test_an_alignment_edits_and_moves_least(
    a: list[Sample], b: list[Sample], match_m: int, match_s: int
) -> None:
    at_t, at_x, at_y = (column.copy() for column in columns(b))  # places at a pivot's times, made anew
    taken = align(
        TimedPath(*columns(a)), TimedPath(at_t, at_x, at_y), Tolerance(float(match_m), float(match_s)), 0.5
    )
    pairs = [(i, j) for j, i in enumerate(taken.tolist()) if i >= 0]
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len(pairs)
    replaced = sum(not oracles.matches(a[i], b[j], match_m, match_s) for i, j in pairs)
    moved = sum(
        math.hypot(a[i][1] - b[j][1], a[i][2] - b[j][2]) + 0.5 * abs(a[i][0] - b[j][0]) for i, j in pairs
    )
    least = oracles.best_alignment(a, b, match_m, match_s, 0.5)
    assert len(a) + len(b) - 2 * len(pairs) + replaced == least[0]
    assert moved == pytest.approx(least[1])


@pytest.mark.parametrize("lengths", [(1, 70), (61, 62), (63, 124), (130, 40)])
@pytest.mark.parametrize(("span", "match_s"), [(12, 2), (200, 9), (200, 0)])  # wide and narrow choices
def test_alignments_of_long_trajectories(lengths: tuple[int, int], span: int, match_s: int) -> None:
    rng = np.random.default_rng(sum(lengths))
    a, b = (
        sorted(map(tuple, rng.integers(0, (span, 12, 12), (n, 3)).astype(float).tolist())) for n in lengths
    )
    at_t, at_x, at_y = (column.copy() for column in columns(b))
    taken = align(TimedPath(*columns(a)), TimedPath(at_t, at_x, at_y), Tolerance(3.0, float(match_s)), 0.5)
    assert taken.tolist() == oracles.alignment(a, b, 3, match_s, 0.5)


def test_alignments_with_nothing() -> None:
    some, none = TimedPath(*[np.arange(9.0)] * 3), TimedPath(*[np.empty(0)] * 3)
    assert align(some, none, Tolerance(1.0, 1.0), 0.5).tolist() == []
    assert align(none, some, Tolerance(1.0, 1.0), 0.5).tolist() == [-1] * 9


@example(
    places=[(0, 0), (0, 0), (0, 1), (0, 1), (0, 2), (2, 0)], k=2, radius=1, trash=0.0
)  # as near to one pivot as to another
@given(
    places=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=12),
    k=st.integers(2, 4),
    radius=st.integers(0, 8),
    trash=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_clusters_are_those_of_the_oracle(
    places: list[tuple[int, int]], k: int, radius: int, trash: float
) -> None:
    distances = np.array(
        [[abs(a[0] - b[0]) + abs(a[1] - b[1]) for b in places] for a in places], dtype=np.float64
    )  # sums are exact
    assume(len(places) >= k)
    assert cluster_within(distances, k, float(radius)).tolist() == oracles.clusters_within(
        distances.tolist(), k, radius
    )
    pivot_of = greedy_clusters(distances, k, trash)
    assert np.count_nonzero(pivot_of < 0) <= trash * len(places)
    assert all(np.count_nonzero(pivot_of == pivot) >= k for pivot in np.unique(pivot_of[pivot_of >= 0]))


def test_distances_are_root_mean_squares() -> None:
    rng = np.random.default_rng(0)
    points = 5e6 + rng.normal(0, 1000, (6, 4, 3))
    expected = [[math.sqrt(np.mean(np.sum((a - b) ** 2, axis=1))) for b in points] for a in points]
    np.testing.assert_allclose(rms_distances(points), expected, atol=1e-3)


@given(
    shape=st.tuples(st.integers(2, 5), st.integers(1, 4)),
    far=st.sampled_from([1e-3, 1.0, 1e3, 1e7]),
    delta=st.sampled_from([0.0, 1e-3, 1.0, 2000.0]),
    seed=st.integers(0, 99),
)
def test_nobody_in_a_cylinder_is_farther_than_delta_from_another(
    shape: tuple[int, int], far: float, delta: float, seed: int
) -> None:
    x, y = np.random.default_rng(seed).normal(far, far, (2, *shape))
    moved_x, moved_y = move_into_cylinder(x, y, delta)
    apart = np.hypot(moved_x[:, None] - moved_x[None], moved_y[:, None] - moved_y[None])
    assert apart.max() <= delta
    inside = np.hypot(x - x.mean(axis=0), y - y.mean(axis=0)) <= delta / 2 - 16 * np.spacing(10 * far)
    np.testing.assert_array_equal(moved_x[inside], x[inside])


def records(release: Release, linkage: Linkage) -> dict[str, list[Sample]]:
    """What each subject became."""
    place = {name: position for position, name in enumerate(release.trajectory_ids)}
    points = {
        uid: release.record(place[name])
        for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True)
    }
    return {
        uid: list(zip(own.t.tolist(), own.x.tolist(), own.y.tolist(), strict=True))
        for uid, own in points.items()
    }


def test_nwa_by_hand() -> None:
    """Clock of 1 s, pi of 2 s: a is cut to 2..4, where b is.

    C has no other with its span, d ends before it begins.
    """
    original = people(
        [(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 8)],
        [(2, 6, 0), (4, 10, 0), (5, 9, 9)],
        [(0, 0, 0), (6, 0, 0)],
        [(1, 5, 5)],
    )
    release, linkage = Nwa(k=2, delta_m=6, pi_s=2, step_s=1).anonymize(
        original, shoal.Randomness.from_system()
    )
    found = records(release, linkage)
    assert set(found) == {"a", "b"}
    np.testing.assert_allclose(
        found["a"],
        [(2, 0, 0), (3, 1, 0), (4, 5 - 3 * 5 / math.hypot(5, 4), 4 + 3 * 4 / math.hypot(5, 4))],
        atol=1e-9,
    )
    np.testing.assert_allclose(
        found["b"],
        [(2, 6, 0), (3, 7, 0), (4, 5 + 3 * 5 / math.hypot(5, 4), 4 - 3 * 4 / math.hypot(5, 4))],
        atol=1e-9,
    )
    assert release.losses.subjects_suppressed == 2
    assert release.losses.samples_created == 1  # b at 3
    assert release.losses.samples_suppressed == 5  # a at 1, b at 5, both of c, the one of d
    assert shoal.verify(original, release, linkage).holds


def test_nwa_with_delta_0_publishes_the_average() -> None:
    original = people([(0, 0, 0), (1, 0, 4)], [(0, 2, 0), (1, 8, 0)])
    found = records(
        *Nwa(k=2, delta_m=0, pi_s=1, step_s=1).anonymize(original, shoal.Randomness.from_system())
    )
    assert found["a"] == found["b"] == [(0, 1, 0), (1, 4, 2)]


@pytest.mark.parametrize(("delta", "rate"), [(0.0, 0.5), (2.0, 1.0)])
def test_the_nearest_record_is_named_and_ties_are_shared(delta: float, rate: float) -> None:
    """With delta = 0 both members are equal.

    With 2 each is nearest to where it was, although both were moved.
    """
    original = people(
        [(0, 0, 0), (1, 0, 0)],
        [(0, 10, 0), (1, 10, 0)],
        [(0, 900, 0), (1, 900, 0)],
        [(0, 900, 5), (1, 900, 5)],
    )
    method = Nwa(k=2, delta_m=delta, pi_s=1, step_s=1, trash=0)
    case = method.anonymize(original, shoal.Randomness.from_system())
    raw, found = attack(original, *case, knowledge=["nearest:2"], rng=shoal.Randomness.for_research(0)).rates
    assert (raw.target, raw.rate, found.name, found.target) == ("raw", 1.0, "nearest-linkage", "release")
    assert (found.worst, found.to_json()["worst"]) == (rate, rate)
    assert (found.rate, found.tries, found.baseline) == (rate, 4, 0.25)


@pytest.mark.parametrize("distance", ["lst", "edr"])
def test_w4m_by_hand(distance: str) -> None:
    """a and b go together, c and d as well.

    Who is the pivot loses nothing; the other's samples move to its times, or go, or are made.
    """
    original = people(
        [(0, 0, 0), (10, 10, 0), (20, 20, 0)],
        [(1, 0, 2), (21, 20, 2)],
        [(0, 900, 0), (10, 900, 0), (20, 900, 0)],
        [(0, 904, 0), (10, 902, 0), (11, 904, 0), (20, 904, 0)],
    )
    method = W4m(k=2, delta_m=4, distance=distance, trash=0)  # type: ignore[arg-type]
    clusters = {
        tuple(cluster.members.tolist()): cluster for cluster in method.clusters(original, shoal.Run())
    }
    assert set(clusters) == {(0, 1), (2, 3)}
    release, linkage = method.anonymize(original, shoal.Randomness.from_system())
    found = records(release, linkage)
    assert [t for t, _, _ in found["a"]] == [t for t, _, _ in found["b"]]
    if (
        len(found["a"]) == 3
    ):  # a is the pivot: b's two samples become a's first and last, one is made on its line at 10 s
        np.testing.assert_allclose(found["b"], [(0, 0, 2), (10, 9, 2), (20, 20, 2)])
    else:
        np.testing.assert_allclose(found["a"], [(1, 0, 0), (21, 20, 0)])
    lengths = {uid: len(own) for uid, own in found.items()}
    created = max(0, lengths["b"] - 2) + max(0, lengths["c"] - 3)
    deleted = max(0, 3 - lengths["a"]) + max(0, 4 - lengths["d"])
    assert (release.losses.samples_created, release.losses.samples_suppressed) == (created, deleted)
    assert shoal.verify(original, release, linkage).holds


@pytest.mark.parametrize("distance", DISTANCE)
def test_w4m_in_chunks_keeps_its_claim(distance: Distance) -> None:
    rng = np.random.default_rng(5)
    walks = [
        sorted(map(tuple, (rng.random((rng.integers(1, 9), 3)) * [5000, 9000, 9000]).tolist()))
        for _ in range(37)
    ]
    original = people(*walks)
    release, linkage = W4m(k=3, chunk=8, distance=distance).anonymize(
        original, shoal.Randomness.from_system()
    )
    assert shoal.verify(original, release, linkage).holds
    assert release.losses.subjects_suppressed <= 0.1 * 37
    assert (
        release.n_samples
        == original.n_samples - release.losses.samples_suppressed + release.losses.samples_created
    )


def test_what_leaves_nothing_is_said() -> None:
    rng = shoal.Randomness.from_system()
    apart = people([(1, 0, 0), (9, 0, 0)], [(3, 0, 0), (22, 0, 0)])
    with pytest.raises(NothingLeftError, match="no 2 people begin and end at the same multiples of 5 s"):
        Nwa(k=2, pi_s=5, step_s=1).anonymize(apart, rng)
    with pytest.raises(MisuseError, match="needs at least 3 people, and the data has 2"):
        W4m(k=3).anonymize(apart, rng)
    with pytest.raises(MisuseError, match="trash = 1 must be a share"):
        W4m(trash=1)
    with pytest.raises(MisuseError, match=r"delta = -1 m must be finite and at least 0"):
        Nwa(delta_m=-1)
    with pytest.raises(
        MisuseError, match=r"pi = 1.5 min is not a multiple of step = 1 min; use 1 min or 2 min"
    ):
        Nwa(pi_s=90, step_s=60)
    with pytest.raises(MisuseError, match="leaves no choice among 3 people; choose at least 6"):
        W4m(k=3, chunk=4)
    with pytest.raises(MisuseError, match="distance = 'dtw' is not known"):
        W4m(distance="dtw")  # type: ignore[arg-type]


def test_one_point_per_person_is_enough() -> None:
    original = people([(5, 0, 0)], [(9, 100, 0)], [(5, 50, 50)], [(7, 0, 80)])
    for method in (W4m(k=2, trash=0), W4m(k=4, distance="edr", trash=0), Nwa(k=2, pi_s=5, step_s=5)):
        release, linkage = method.anonymize(original, shoal.Randomness.from_system())
        assert shoal.verify(original, release, linkage).holds
    assert release.losses.subjects_suppressed == 2
