"""From epsilon to noise: OpenDP's own account, the distribution of both samplers, intervals."""

import numpy as np
import pytest
from scipy import stats

from shoal import Randomness
from shoal.errors import MisuseError
from shoal_tables.definition.manifest import EACH_TRIP, STAND_IN
from shoal_tables.making.calibration import add_noise, sampler_name, stand_in
from shoal_tables.making.promise import (
    epsilon_of,
    half_width,
    least_shown,
    promise_in_words,
    rho_of,
    sigma_for,
)
from shoal_tables.verification.statements import least_half_width

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
dp.enable_features("contrib")


@pytest.mark.parametrize("delta", [1e-5, 1e-8, 1e-12])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 10.0])
def test_the_noise_is_the_least_that_opendp_accepts(epsilon: float, delta: float) -> None:
    sigma = sigma_for(epsilon, delta, 1000)
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")

    def of_opendp(scale: float) -> float:
        return float(
            dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1000).epsilon(delta)
        )

    assert of_opendp(float(sigma)) <= epsilon * (1 + 1e-6)
    assert of_opendp(sigma * 0.99) > epsilon
    assert epsilon_of(rho_of(sigma, 1000), delta) == pytest.approx(of_opendp(float(sigma)), rel=1e-4)


@pytest.mark.parametrize("source", ["opendp", "stand-in"])
@pytest.mark.parametrize("sigma", [1, 3, 40])
def test_noise_is_a_discrete_gaussian(source: str, sigma: int) -> None:
    n = 20_000
    zeros = np.zeros(n, dtype=np.int64)
    noise = (
        add_noise(zeros, sigma, 1, Randomness.from_system())
        if source == "opendp"
        else stand_in(n, sigma, np.random.default_rng(3))
    )
    values = np.arange(-12 * sigma, 12 * sigma + 1)
    mass = np.exp(-0.5 * (values / sigma) ** 2)
    cuts = np.array([-2, -1.2, -0.6, -0.2, 0.2, 0.6, 1.2, 2]) * sigma
    expected = np.bincount(np.searchsorted(cuts, values), mass / mass.sum(), minlength=9) * n
    observed = np.bincount(np.searchsorted(cuts, noise), minlength=9)
    present = expected > 0
    assert observed[~present].sum() == 0
    assert (
        stats.chisquare(observed[present], expected[present] * (observed.sum() / expected.sum())).pvalue
        > 1e-6
    )
    assert abs(noise.mean()) < 6 * sigma / np.sqrt(n)


def test_seeded_noise_repeats_and_says_so() -> None:
    counts = np.arange(50)
    one, two = (add_noise(counts, 30, 1, Randomness.for_research(7)) for _ in range(2))
    assert (one == two).all()
    assert (one != add_noise(counts, 30, 1, Randomness.for_research(8))).any()
    assert sampler_name(Randomness.for_research(7)) == STAND_IN
    assert sampler_name(Randomness.from_system()).startswith("opendp 0.16")


@pytest.mark.parametrize("sigma", [1, 2, 7, 100, 5403])
def test_half_width_is_the_least_that_covers(sigma: int) -> None:
    h = half_width(sigma)
    n = np.arange(-40 * sigma, 40 * sigma + 1)
    mass = np.exp(-0.5 * (n / sigma) ** 2)
    covers = [mass[np.abs(n) <= width].sum() / mass.sum() for width in (h - 1, h)]
    assert covers[0] < 0.95 <= covers[1]


@pytest.mark.parametrize("sigma", [5, 300, 5403])
@pytest.mark.parametrize("n_cells", [1, 200, 500_000])
def test_noise_alone_is_seldom_shown(sigma: int, n_cells: int) -> None:
    least = least_shown(sigma, n_cells)
    n = np.arange(-40 * sigma, 40 * sigma + 1)
    mass = np.exp(-0.5 * (n / sigma) ** 2)
    assert mass[n >= least].sum() / mass.sum() * n_cells <= 0.05
    assert least >= 2 * half_width(sigma)
    assert least <= max(2 * half_width(sigma), 6 * sigma)


def test_half_width_has_no_step_between_its_two_ways() -> None:
    assert half_width(100_001) - half_width(100_000) in (1, 2)


@pytest.mark.parametrize("sigma", [1, 7, 5403, 100_000, 100_001, 987_654])
def test_the_verifier_allows_no_other_half_width(sigma: int) -> None:
    assert set(least_half_width(sigma, 0.95)) == {half_width(sigma)}


def test_intervals_cover_as_often_as_they_say() -> None:
    noise = stand_in(1_000_000, 5000, np.random.default_rng(1))
    assert 0.948 < (np.abs(noise) <= half_width(5000)).mean() < 0.952


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0, 1e-8), (-1, 1e-8), (100, 1e-8), (float("nan"), 1e-8), (1, 0), (1, 0.1)]
)
def test_what_promises_nothing_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(MisuseError, match="must be greater than 0"):
        sigma_for(epsilon, delta, 1000)


def test_the_promise_in_words_names_the_chance() -> None:
    assert promise_in_words(1.0, 1e-8, "person", "each distinct value of column 'uid'") == (
        "With everything known about all other units, at most 73.1 % of guesses whether one unit is in the "
        "data are right; by chance 50 % are. One unit is each distinct value of column 'uid'."
    )


def test_a_trip_is_not_told_to_be_a_person() -> None:
    assert promise_in_words(1.0, 1e-8, "person-day", EACH_TRIP).endswith(
        "whether one local day of one unit is in the data are right; by chance 50 % are. One unit is each "
        "trip, which counts as one person. A person with several trips is not protected as one."
    )
