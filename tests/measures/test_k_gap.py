"""k-gap, its parts and the Tail Weight Index.

Against the naive definition and the known answers of the paper.
"""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracles
import shoal
from shoal.errors import MisuseError
from shoal.measures.k_gap import k_gaps, sample_for_k_gap, tail_weight_index
from shoal.model.trajectories import Trajectories
from shoal.runtime.compiled import SWITCH
from small_data import population, populations

pytestmark = pytest.mark.kernels


@given(populations(least=3, most=7), st.integers(2, 3))
def test_k_gap_is_the_mean_effort_to_the_nearest_others(original: Trajectories, k: int) -> None:
    groups = oracles.singles(original)
    measured = shoal.k_gap(original, k)
    for i, group in enumerate(groups):
        others = sorted(oracles.effort(group, other) for j, other in enumerate(groups) if j != i)
        assert measured.gap[i] == pytest.approx(float(sum(others[: k - 1]) / (k - 1)), abs=1e-12)
    assert measured.space + measured.time == pytest.approx(measured.gap)


@given(populations(least=4, most=8))
def test_one_search_for_several_k_gives_what_each_alone_and_plain_numpy_give(original: Trajectories) -> None:
    """Ties are common here, so the nearest others of a small k must be the first of those of a larger one."""
    measured = k_gaps(original, [2, 4, 3])
    assert [together.k for together in measured] == [2, 4, 3]
    with pytest.MonkeyPatch.context() as few:
        few.setenv(SWITCH, "1")
        plain = k_gaps(original, [2, 4, 3])
    for together, as_plain in zip(measured, plain, strict=True):
        alone = shoal.k_gap(original, together.k)
        for name in ("gap", "space", "time", "tail_weight", "tail_weight_space", "tail_weight_time"):
            assert np.array_equal(getattr(together, name), getattr(alone, name), equal_nan=True)
            assert np.array_equal(getattr(together, name), getattr(as_plain, name), equal_nan=True)


def test_parts_separate_space_from_time() -> None:
    here, there, later = [[0, 0, 0]], [[0, 3000, 0]], [[5400, 0, 0]]
    in_space, in_time = shoal.k_gap([here, there], 2), shoal.k_gap([here, later], 2)
    assert (in_space.space[0], in_space.time[0]) == (pytest.approx(3000 / 20_000 / 2), 0)
    assert (in_time.space[0], in_time.time[0]) == (0, pytest.approx(1.5 / 8 / 2))


def test_of_equal_stretches_the_first_counts_also_beyond_the_cap_in_time() -> None:
    """4 h and 10 km weigh as much as any time and no way at all; what comes first is the nearest."""
    hour, far = 3600, 10_000
    asked, near = [100 * hour, 0, 0], [104 * hour, far, 0]
    for same_place, in_space, in_time in (([0, 0, 0], 0.0, 0.5), ([300 * hour, 0, 0], 0.25, 0.25)):
        few = sorted([same_place, near])
        found = shoal.k_gap([sorted([asked, *few]), few], 2)
        assert found.gap[0] == pytest.approx(0.5 / 3)
        assert (found.space[0], found.time[0]) == (pytest.approx(in_space / 3), pytest.approx(in_time / 3))


def test_identical_people_are_hidden_and_isolated_people_are_not() -> None:
    crowd = [[[0, 0, 0], [600, 500, 0]]] * 2
    hermit = [[10**7, 10**6, 10**6]]
    assert shoal.k_gap([*crowd, hermit], 2).gap.tolist() == [0, 0, 1]


@pytest.mark.jit_only
def test_k_gap_grows_with_k() -> None:
    original = population([6] * 20, seed=5)
    gaps = np.array([shoal.k_gap(original, k).gap for k in (2, 3, 5, 10)])
    assert gaps.shape == (4, 20)
    assert (np.diff(gaps, axis=0) >= -1e-12).all()


def test_known_tail_weights_of_the_paper() -> None:
    """Footnote 5: exponential 1.6, Pareto of shape one 14; and 1 for a normal distribution, by definition."""
    u = (np.arange(1_000_000) + 0.5) / 1_000_000
    assert round(tail_weight_index(-np.log1p(-u)), 1) == 1.6
    assert round(tail_weight_index(1 / (1 - u))) == 14
    assert tail_weight_index(np.random.default_rng(0).normal(size=1_000_000)) == pytest.approx(1, abs=0.02)


@given(st.lists(st.floats(0, 1, allow_nan=False), min_size=5, max_size=60))
@example([0.0, 0.0, 0.0, 1.0, 5e-324])
def test_tail_weight_equals_its_definition(values: list[float]) -> None:
    measured = tail_weight_index(values)
    middle, upper = np.quantile(values, [0.5, 0.75])
    assert np.isnan(measured) == (upper == middle)
    if upper - middle > 1e-6:
        assert measured == pytest.approx(oracles.tail_weight_index(values), rel=1e-6)


def test_per_subject_tails_are_those_of_the_sample_stretches() -> None:
    original = population([40, 40], seed=8, slots=9000)
    measured = shoal.k_gap(original, 2)
    a, b = oracles.singles(original)
    longer, shorter = (a, b) if oracles.directed_effort(a, b) >= oracles.directed_effort(b, a) else (b, a)
    least = [float(min(oracles.stretch(p, 1, q, 1) for q in shorter.boxes)) for p in longer.boxes]
    assert measured.tail_weight[0] == pytest.approx(oracles.tail_weight_index(least))


@pytest.mark.jit_only
def test_parts_of_long_trajectories_are_those_of_the_first_nearest_sample() -> None:
    """Many chunks of samples and of places, with gaps beyond the cap in time, and many equal costs."""
    rng = np.random.default_rng(3)
    days = np.sort(rng.choice(40, (2, 12), replace=True), axis=1) * 1440
    people = []
    for own, count in zip(days, (700, 650), strict=True):
        t = np.sort(np.repeat(own, 60)[:count] + rng.integers(0, 300, count)) * 60
        x, y = np.cumsum(rng.integers(-9, 10, (2, count)), axis=1) * 100
        people.append(np.unique(np.column_stack([t, x, y]), axis=0))
    longer, shorter = people
    apart = np.abs(longer[:, None] - shorter[None])
    space, time = (
        np.minimum((apart[..., 1] + apart[..., 2]) / 20_000, 1),
        np.minimum(apart[..., 0] / 28_800, 1),
    )
    nearest = np.argmin(np.rint((space + time) * 2400), axis=1)
    rows = np.arange(len(longer))
    in_space, in_time = space[rows, nearest] / 2, time[rows, nearest] / 2
    measured = shoal.k_gap(people, 2)
    assert (time[rows, nearest] == 1).any()
    assert (time[rows, nearest] < 1).any()
    assert measured.space == pytest.approx(in_space.mean())
    assert measured.time == pytest.approx(in_time.mean())
    assert measured.tail_weight_time[0] == pytest.approx(tail_weight_index(in_time), nan_ok=True)
    assert measured.tail_weight_space[0] == pytest.approx(tail_weight_index(in_space), nan_ok=True)


def test_too_few_people_or_too_small_k() -> None:
    original = population([2, 2], seed=0)
    with pytest.raises(MisuseError, match="k = 1 hides nobody"):
        shoal.k_gap(original, 1)
    with pytest.raises(MisuseError, match="needs at least 5 people, and the data has 2"):
        shoal.k_gap(original, 5)
    for subjects, words in (("ann", "a list of positions"), ([0.5], "a list of positions"), ([2], "0 to 1")):
        with pytest.raises(MisuseError, match=words):
            k_gaps(original, [2], subjects=subjects)  # type: ignore[arg-type]  # the mistake


@given(populations(least=4, most=9), st.data())
def test_the_gaps_of_some_are_their_gaps_among_all(original: Trajectories, data: st.DataObject) -> None:
    everybody = st.lists(st.integers(0, original.n_subjects - 1), min_size=1, unique=True)
    some = np.sort(np.array(data.draw(everybody), dtype=np.int64))
    gaps_of_some, gaps_of_all = k_gaps(original, [2, 4], subjects=some), k_gaps(original, [2, 4])
    assert [gap.k for gap in gaps_of_some] == [2, 4]
    for of_some, of_all in zip(gaps_of_some, gaps_of_all, strict=True):
        assert of_all.subjects is None
        assert of_some.subjects is not None
        assert of_some.subjects.tolist() == some.tolist()
        for name in ("gap", "space", "time", "tail_weight", "tail_weight_space", "tail_weight_time"):
            assert np.array_equal(getattr(of_some, name), getattr(of_all, name)[some], equal_nan=True)


def test_few_are_drawn_from_many_and_always_the_same() -> None:
    assert sample_for_k_gap(2_000) is None
    few = sample_for_k_gap(50_000)
    assert few is not None
    assert len(np.unique(few)) == len(few) == 1_000
    assert few.tolist() == sorted(few.tolist())
    assert (few.min() >= 0) & (few.max() < 50_000)
    again = sample_for_k_gap(50_000)
    assert again is not None
    assert again.tolist() == few.tolist()
    assert abs(few.mean() - 25_000) < 4 * 50_000 / 12**0.5 / 1_000**0.5
