"""Sample and fingerprint stretch.

The closed form, the kernels and their bounds against the paper's equations, exactly.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
import shoal
from effort_matrix import all_efforts
from shoal.errors import MisuseError
from shoal.measures.nearest_pairs import NearPairs
from shoal.measures.stretch import Caps
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from small_data import population, populations

pytestmark = pytest.mark.kernels

whole = st.integers(-300, 300)
extent = st.integers(1, 40)


@st.composite
def boxes(draw: st.DrawFn) -> oracles.Box:
    t, x, y = draw(st.integers(0, 1000)), draw(whole), draw(whole)
    return (t, t + draw(extent), x, y, x + draw(extent), y + draw(extent))


def in_units(box: oracles.Box) -> list[int]:
    return [box[0] * 60, box[1] * 60, *(100 * bound for bound in box[2:])]


@given(boxes(), boxes(), st.integers(1, 5), st.integers(1, 5))
def test_stretch_of_samples_is_the_papers(a: oracles.Box, b: oracles.Box, n_a: int, n_b: int) -> None:
    expected = float(oracles.stretch(a, n_a, b, n_b))
    measured = shoal.fingerprint_stretch([in_units(a)], [in_units(b)], n_a=n_a, n_b=n_b)
    assert measured == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(boxes(), min_size=1, max_size=8),
    st.lists(boxes(), min_size=1, max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_fingerprint_stretch_of_boxes_is_the_papers(
    a: list[oracles.Box], b: list[oracles.Box], n_a: int, n_b: int
) -> None:
    expected = float(
        oracles.effort(
            oracles.Group(tuple(range(n_a)), tuple(sorted(a))),
            oracles.Group(tuple(range(n_b)), tuple(sorted(b))),
        )
    )
    measured = shoal.fingerprint_stretch(
        [in_units(box) for box in a], [in_units(box) for box in b], n_a=n_a, n_b=n_b
    )
    assert measured == pytest.approx(expected, abs=1e-12)
    swapped = shoal.fingerprint_stretch(
        [in_units(box) for box in b], [in_units(box) for box in a], n_a=n_b, n_b=n_a
    )
    assert swapped == pytest.approx(measured, abs=1e-12)


@given(populations())
def test_efforts_of_all_pairs_are_exact(original: Trajectories) -> None:
    efforts = all_efforts(original)
    groups = oracles.singles(original)
    assert len(groups) >= 2
    for i in range(len(groups)):
        for j in range(i + 1, len(groups)):
            exact = oracles.effort(groups[i], groups[j])
            assert efforts[i, j] == float(exact * 4800)
            assert shoal.fingerprint_stretch(plain(original, i), plain(original, j)) == pytest.approx(
                float(exact), abs=1e-12
            )


@pytest.mark.jit_only
def test_efforts_of_long_fingerprints_are_exact() -> None:
    """Long enough for every bound of the search to come into play.

    Far places, far times, many samples at one place.
    """
    original = population([60, 60, 35, 80, 1], seed=3, places=12, step_cells=25, slots=20000)
    found = NearPairs(original, Caps(), Run()).nearest(np.arange(5), 4, np.inf)
    by_boxes = all_efforts(original)
    groups = oracles.singles(original)
    assert found.partner.shape == (5, 4)
    for i in range(5):
        for j, effort in zip(found.partner[i], found.effort[i], strict=True):
            exact = float(oracles.effort(groups[i], groups[j]) * 4800)
            assert (effort, by_boxes[i, j]) == (exact, exact)


def plain(original: Trajectories, subject: int) -> list[tuple[int, int, int]]:
    t, x, y = original.samples_of(subject)
    return [(int(a) * 60, int(b) * 100, int(c) * 100) for a, b, c in zip(t, x, y, strict=True)]


def test_worked_example_of_the_weighting() -> None:
    """A group of three is stretched by a single one far more rarely than the other way round (Eq. 4)."""
    group = [0, 60, 0, 0, 400, 100]  # one minute, 400 m by 100 m
    lone = [0, 60, 0, 0, 100, 100]
    assert shoal.fingerprint_stretch([group], [lone], n_a=3, n_b=1) == pytest.approx(0.25 * 300 / 20_000 / 2)
    assert shoal.fingerprint_stretch([group], [lone], n_a=1, n_b=3) == pytest.approx(0.75 * 300 / 20_000 / 2)


def test_caps_bound_each_half() -> None:
    assert shoal.fingerprint_stretch([[0, 0, 0]], [[10**7, 0, 0]]) == 0.5
    assert shoal.fingerprint_stretch([[0, 0, 0]], [[0, 10**7, 0]]) == 0.5
    assert shoal.fingerprint_stretch([[0, 0, 0]], [[10**7, 10**7, 0]]) == 1.0


def test_integer_costs_are_those_of_the_caps() -> None:
    """12 and 5 in 4800ths for 100 m and a minute against 20 km and 8 h; other grids scale alike."""
    assert Caps().scale_on(Grid()) == (12, 5, 2400)
    per_cell, per_slot, half = Caps(space_cap_m=5000, time_cap_s=7200).scale_on(Grid(cell_m=250, slot_s=90))
    assert Fraction(int(per_cell), int(half)) == Fraction(250, 5000)
    assert Fraction(int(per_slot), int(half)) == Fraction(90, 7200)


@pytest.mark.parametrize(
    ("a", "problem"),
    [
        ([], "at least one row"),
        ([[1, 2]], r"\[m, 3\] or \[m, 6\]"),
        ([[0, 0, np.nan]], "not finite"),
    ],
)
def test_bad_fingerprints_are_named(a: list[list[float]], problem: str) -> None:
    with pytest.raises(MisuseError, match=problem):
        shoal.fingerprint_stretch(a, [[0, 0, 0]])


def test_bad_caps_and_groups_are_named() -> None:
    with pytest.raises(MisuseError, match="space_cap_m = -1"):
        Caps(space_cap_m=-1)
    with pytest.raises(MisuseError, match="choose rounder numbers"):
        Caps(space_cap_m=20000.000001).scale_on(Grid(cell_m=33.33333333))
    with pytest.raises(MisuseError, match="at least 1"):
        shoal.fingerprint_stretch([[0, 0, 0]], [[0, 0, 0]], n_a=0)
