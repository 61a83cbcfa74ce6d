"""Distances of trajectories against literal ones, paths against Floyd-Warshall, and missing distances."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given

import shoal
from shoal.errors import MisuseError
from shoal.measures.trajectory_distance import Paths, shortest_paths, submatrix_in_place
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from small_points import crowd, small_crowds
from swap_oracles import floyd_warshall, synchronized_distance

pytestmark = pytest.mark.kernels


def literal(original: Trajectories) -> np.ndarray:
    n = original.n_subjects
    return np.array(
        [[0.0 if i == j else synchronized_distance(original, i, j) for j in range(n)] for i in range(n)]
    )


@given(small_crowds())
def test_distances_are_those_of_the_synchronized_trajectories(original: Trajectories) -> None:
    np.testing.assert_allclose(
        shoal.trajectory_distances(original).matrix, literal(original), rtol=1e-9, atol=1e-12
    )


@given(small_crowds())
def test_penalties_are_powers_of_the_common_time(original: Trajectories) -> None:
    """Def. 12 divides by the percentage of common time; the others divide by its square, and by nothing."""
    inverse, square, none = (
        shoal.trajectory_distances(original, penalty=penalty).matrix
        for penalty in ("inverse", "inverse-square", "none")
    )
    meets = np.isfinite(inverse) & (inverse > 0)
    percent = none[meets] / inverse[meets]
    assert (percent <= 100 * (1 + 1e-9)).all()
    np.testing.assert_allclose(square[meets], none[meets] / percent**2, rtol=1e-9)
    first, last = original.t[original.offsets[:-1]], original.t[original.offsets[1:] - 1]
    common = np.minimum.outer(last, last) - np.maximum.outer(first, first)
    spans = np.maximum.outer(last - first, last - first)
    np.testing.assert_allclose(percent, 100 * common[meets] / spans[meets], rtol=1e-9)


def test_distances_with_fractions_of_seconds_and_late_epochs() -> None:
    whole = crowd(8, 12, seed=3)
    late = Trajectories.from_rows(
        np.repeat(np.array(whole.ids), whole.lengths).tolist(), 1.7e9 + whole.t / 8, whole.x / 3, whole.y / 7
    )
    np.testing.assert_allclose(shoal.trajectory_distances(late).matrix, literal(late), rtol=1e-6)


def test_sums_over_years_of_milliseconds_do_not_overflow() -> None:
    """Two walkers meet at the ends of five years, in which a third one is seen 4,000 times.

    Prefix sums of squares leave 63 bits.
    """
    year_s = 365.25 * 86_400
    t = np.concatenate(
        [[0.001, 5 * year_s], [0.0, 5 * year_s], np.linspace(10, 5 * year_s - 10, 4000).round(3)]
    )
    x = np.concatenate([[0, 8000], [100, 0], np.zeros(4000)])
    ids = ["a"] * 2 + ["b"] * 2 + ["c"] * 4000
    original = Trajectories.from_rows(ids, t, x, np.zeros(len(t)))
    found = shoal.trajectory_distances(original).matrix
    assert found[0, 1] == pytest.approx(synchronized_distance(original, 0, 1), rel=1e-6)


@given(small_crowds(least=3))
def test_paths_are_shortest_paths(original: Trajectories) -> None:
    direct = shoal.trajectory_distances(original).matrix
    shortest = floyd_warshall(direct)
    np.testing.assert_allclose(shoal.trajectory_distances(original, paths="all").matrix, shortest, rtol=1e-9)
    kept = shoal.trajectory_distances(original, paths="disjoint").matrix
    np.testing.assert_allclose(kept, np.where(np.isfinite(direct), direct, shortest), rtol=1e-9)


def test_shortest_paths_over_several_blocks() -> None:
    draw = np.random.default_rng(5)
    lengths = np.full((150, 150), np.inf)
    for a, b in draw.integers(0, 150, (260, 2)):
        lengths[a, b] = lengths[b, a] = draw.random()
    np.fill_diagonal(lengths, 0)
    np.testing.assert_allclose(shortest_paths(lengths, Run()), floyd_warshall(lengths), rtol=1e-12)


@pytest.mark.jit_only
@pytest.mark.parametrize("paths", ["none", "disjoint", "all"])
def test_distances_take_the_memory_of_one_matrix(paths: Paths) -> None:
    n, draw = 640, np.random.default_rng(3)
    starts = np.repeat(draw.integers(0, 20_000, n), 2)
    t = starts + np.tile([0, 400], n)
    t[1::14] = t[::14]  # some last no time, and are left out of the paths
    walks = Trajectories.from_rows(
        [f"p{i // 2:03d}" for i in range(2 * n)], t, draw.random(2 * n), draw.random(2 * n)
    )
    shoal.trajectory_distances(crowd(5), paths=paths)  # what is compiled and loaded once does not count
    tracemalloc.start()
    found = shoal.trajectory_distances(walks, paths=paths, run=Run(threads=1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.not_comparable == 92
    assert np.array_equal(found.matrix, found.matrix.T)
    assert peak < 1.6 * 8 * n**2


def test_a_part_of_a_matrix_takes_its_place() -> None:
    draw = np.random.default_rng(4).random((9, 9))
    for members in ([0, 3, 4, 8], [8], list(range(9)), []):
        chosen = np.array(members, dtype=np.int64)
        expected = draw[np.ix_(chosen, chosen)]
        assert np.array_equal(submatrix_in_place(draw.copy(), chosen), expected)


def test_components_by_size_and_lone_samples_apart() -> None:
    rows = [
        ("a", 0),
        ("a", 9),
        ("b", 100),
        ("b", 109),
        ("c", 105),
        ("c", 120),
        ("d", 50),
        ("e", 110),
        ("e", 130),
    ]
    ids, t = zip(*rows, strict=True)
    found = shoal.trajectory_distances(Trajectories.from_rows(ids, t, np.zeros(9), np.zeros(9)))
    assert found.component.tolist() == [1, 0, 0, -1, 0]
    assert found.kept.tolist() == [1, 2, 4]
    assert (found.not_comparable, found.elsewhere) == (1, 1)
    assert np.isinf(found.matrix[3, [0, 1, 2, 4]]).all()


def test_touching_ends_are_no_overlap() -> None:
    original = Trajectories.from_rows(["a", "a", "b", "b"], [0, 5, 5, 9], np.zeros(4), np.zeros(4))
    assert np.isinf(shoal.trajectory_distances(original).matrix[0, 1])


def test_an_unknown_way_of_paths_is_refused() -> None:
    with pytest.raises(MisuseError, match="choose one of none, disjoint, all"):
        shoal.trajectory_distances(crowd(3), paths="some")  # type: ignore[arg-type]
    with pytest.raises(MisuseError, match="penalty = 'some' is not known; choose one of inverse"):
        shoal.trajectory_distances(crowd(3), penalty="some")  # type: ignore[arg-type]
