"""Tests of noise, arithmetic of the promise, and games of membership."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from math import comb, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

import plain_table as plain
from shoal_tables.attacks.attacking import Victims, play, play_all, shown_epsilon
from shoal_tables.definition.manifest import TableManifest, hour_label
from shoal_tables.making import promise
from shoal_tables.verification import noise
from shoal_tables.verification.noise import NoisyCells, noise_findings, normal_scores, outcomes
from shoal_tables.verification.statements import (
    delta_of_gaussian,
    epsilon_of,
    guessing_share,
    least_half_width,
    tails,
)


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (promise.epsilon_of, (1 / 72, 1e-8), 0.8937),
        (promise.epsilon_of_each, (8.0, 52, 1e-8), 0.953),
        (promise.sigma_for, (1.0, 1e-8, 1000), 5391),
        (promise.sigma_for, (1.0, 1e-8, 1000, 0.98), 5446),
        (promise.half_width, (1000,), 1960),
        (promise.least_shown, (1000, 10), 3920),
        (promise.least_shown, (1000, 1_000_000), 5328),
        (promise.granularity_for, (9,), 1008),
        (promise.guess_of, (1.0, 1e-8), 0.731),
        (epsilon_of, (0.5, 1e-6), 5.22),
        (delta_of_gaussian, (1.0, 1.0), 0.1269),
    ],
)
def test_the_arithmetic_of_the_promise_has_known_values(
    function: Callable[..., float], arguments: tuple[float, ...], expected: float
) -> None:
    digits = len(str(expected).partition(".")[2])
    assert round(function(*arguments), digits) == expected


def test_hours_and_errors_are_written_so() -> None:
    error = promise.ExpectedError(
        epsilon=1.0, delta=1e-8, half_width=10.57, least_shown=21.13, by_size=(0.073, 0.036, 0.012)
    )
    assert hour_label(360, 600) == "06:00-10:00"
    words = (
        "epsilon 1: 95 % of cells are off by at most 10.6; half of the cells of 50 by 7.3 %, of 100 by "
        "3.6 %, of 300 by 1.2 %; shown from an estimate of 21.1 on"
    )
    assert promise.error_in_words(error, "presence") == words
    assert promise.error_in_words(error, "flows") == f"{words}, or 14.9 where as many return"


def _cells(seed: int, sigma: int, shape: tuple[int, ...] = (7, 6, 3)) -> NoisyCells:
    rng = np.random.default_rng([seed, 1])  # apart from the draws of noise
    numbers = np.indices(shape).reshape(len(shape), -1)
    names: tuple[str, ...] = ("zone", "hour", "day")
    if len(shape) == 4:
        names, numbers = ("origin", "destination", "hour", "day"), numbers[:, numbers[0] != numbers[1]]
    keys, n = dict(zip(names, numbers, strict=True)), numbers.shape[1]
    counts = (rng.pareto(0.8, n) * rng.choice([0.3, 3, 100])).astype(np.int64)
    made = plain.true_noise(plain.Plan(sigma=sigma), n, seed)
    return NoisyCells(counts, made, keys, sigma, 60, least_half_width(sigma, 0.95)[1])


@pytest.mark.parametrize("sigma", [1, 2, 5, 40, 300])
def test_true_noise_has_no_findings(sigma: int) -> None:
    """Of fixed tables: one true table in 10,000 is refused by design."""
    shapes = ((7, 6, 3), (1, 1, 1), (2, 2, 1, 1), (2, 1, 1))
    assert [
        (seed, shape) for seed in range(30) for shape in shapes if noise_findings(_cells(seed, sigma, shape))
    ] == []


def test_probabilities_of_each_family_are_no_smaller_than_they_say() -> None:
    """Of 300 true tables, no more fall below 5 % than of 300 draws with a share of 5 %, once in 10,000."""
    below: dict[int, int] = {}
    for seed in range(300):
        for family, outcome in enumerate(outcomes(_cells(seed, 1 + seed % 60))):
            below[family] = below.get(family, 0) + (outcome.probability < 0.05)
    assert max(below.values()) <= stats.binom.isf(1e-4 / len(below), 300, 0.05)


@pytest.mark.parametrize("sigma", [1, 2, 40, 60_000])
def test_scores_of_true_noise_are_normal(sigma: int) -> None:
    n = 50_000
    made = plain.true_noise(plain.Plan(sigma=min(sigma, 40)), n, 5) if sigma < 50_000 else None
    if made is None:
        made = np.rint(np.random.default_rng(5).normal(0, sigma, n)).astype(np.int64)
    cells = NoisyCells(np.zeros(n, np.int64), made, {"zone": np.arange(n)}, sigma, 1, sigma)
    assert stats.kstest(normal_scores(cells), "norm").pvalue > 1e-4


def _like_another(cells: NoisyCells, key: str, own: float, rng: np.random.Generator) -> NoisyCells:
    """The noise of one day, hour or zone becomes that of another, but for a share of its own."""
    grid = np.zeros([int(codes.max()) + 1 for codes in cells.keys.values()])
    places = tuple(cells.keys.values())
    grid[places] = cells.noise
    slices = np.moveaxis(grid, list(cells.keys).index(key), 0)
    first, second = rng.choice(len(slices), 2, replace=False)
    shared = rng.choice([-1, 1]) * np.sqrt(1 - own**2) * slices[first]
    slices[second] = np.where(slices[first] == 0, slices[second], shared + own * slices[second])
    return replace(cells, noise=np.rint(grid[places]).astype(np.int64))


@pytest.mark.parametrize(
    ("shape", "key", "own"),
    [
        ((12, 24, 14), "day", 0.0),
        ((12, 24, 14), "day", 0.6),
        ((12, 24, 14), "hour", 0.0),
        ((12, 24, 14), "hour", 0.6),
        ((12, 24, 14), "zone", 0.6),
        ((300, 24, 1), "hour", 0.6),
        ((300, 24, 1), "zone", 0.0),
        ((20, 20, 1, 14), "day", 0.6),
        ((40, 40, 3, 1), "origin", 0.0),
        ((40, 40, 3, 1), "destination", 0.0),
        ((6, 4, 3), "day", 0.0),
    ],
)
def test_noise_that_two_parts_of_a_table_share_is_found(shape: tuple[int, ...], key: str, own: float) -> None:
    """Two of many days are the hardest: the rest of the table has the noise that it states."""
    found = [
        {one.kind for one in noise_findings(_like_another(cells, key, own, np.random.default_rng(seed)))}
        for seed in range(10)
        for cells in [_cells(seed, 300, shape)]
    ]
    assert all("noise-shared" in kinds for kinds in found)
    assert [seed for seed in range(10) if noise_findings(_cells(seed, 300, shape))] == []


def test_a_few_copied_cells_are_found_and_longest_repeats_are_right() -> None:
    cells = _cells(1, 300, (40, 24, 7))
    noise_of_few = cells.noise.copy()
    noise_of_few[1000:1008] = noise_of_few[17:25]
    assert {one.kind for one in noise_findings(replace(cells, noise=noise_of_few))} == {"noise-shared"}
    assert [
        noise._longest_repeat(np.array(one)) for one in ([1, 2, 3], [1, 2, 1], [1, 2, 1, 2], [0] * 9)
    ] == [
        0,
        1,
        2,
        8,
    ]


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95, 1.05, 1.2, 2.0])
def test_a_wrong_scale_is_found_as_far_as_the_number_of_cells_allows(share: float) -> None:
    cells = _cells(1, 300, (40, 24, 7))
    scaled = NoisyCells(
        cells.counts, np.rint(cells.noise * share).astype(np.int64), cells.keys, 300, 60, cells.half_width
    )
    kinds = {finding.kind for finding in noise_findings(scaled)}
    assert "noise-scale" in kinds


def test_bounds_of_repeated_noise_are_true() -> None:
    """Chernoff's bounds against 20,000 draws: lags, circles of two, and pairs."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(20_000, 24))
    for lag, cycle in ((1, 24), (12, 2), (8, 3)):
        sums = np.abs((z * np.roll(z, lag, axis=1)).sum(axis=1))
        for total in np.quantile(sums, [0.9, 0.99, 0.999]):
            assert (sums >= total).mean() <= noise._tail_of_circles(float(total), cycle, 24 // cycle) * 1.1
    pairs = np.abs((z[:, :12] * z[:, 12:]).sum(axis=1))
    for total in np.quantile(pairs, [0.9, 0.99, 0.999]):
        assert (pairs >= total).mean() <= noise._tail_of_pairs(float(total), 12) * 1.1


@given(st.floats(1e-4, 5), st.floats(1e-12, 1e-2))
def test_epsilon_is_the_least_over_all_orders(rho: float, delta: float) -> None:
    orders = 1 + np.geomspace(1e-4, 1e6, 20_000)
    all_epsilons = orders * rho + (orders * np.log1p(-1 / orders) - np.log((orders - 1) * delta)) / (
        orders - 1
    )
    assert epsilon_of(rho, delta) <= max(0.0, all_epsilons.min()) * (1 + 1e-9)
    assert epsilon_of(rho, delta) >= all_epsilons.min() * 0.99 - 1e-4


def test_the_gaussian_needs_less_delta_than_its_rho_promises() -> None:
    for ratio, epsilon in itertools.product((0.1, 0.5, 1, 2), (0.1, 1, 4)):
        delta = delta_of_gaussian(epsilon, ratio)
        if 1e-12 < delta < 0.5:
            assert epsilon_of(ratio**2 / 2, delta) >= epsilon


@pytest.mark.parametrize("sigma", [1, 3, 77])
def test_tails_and_half_widths_are_sums_of_probabilities(sigma: int) -> None:
    weights = {n: exp(-(n**2) / (2 * sigma**2)) for n in range(-20 * sigma, 20 * sigma + 1)}
    total = sum(weights.values())
    mass, tail = tails(sigma)
    assert mass[2] == pytest.approx(weights[2] / total, rel=1e-12)
    assert tail[3] == pytest.approx(sum(weight for n, weight in weights.items() if n >= 3) / total, rel=1e-12)
    half = next(h for h in itertools.count() if sum(weights[n] for n in range(-h, h + 1)) >= 0.95 * total)
    assert least_half_width(sigma, 0.95)[0] <= half <= least_half_width(sigma, 0.95)[1]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-8), (4.0, 1e-8)])
def test_the_best_adversary_stays_below_the_promise(epsilon: float, delta: float) -> None:
    """Twenty thousand tables, each with noise of its own, of a victim with the largest contribution."""
    sigma = promise.sigma_for(epsilon, delta, 60)
    assert (
        epsilon_of(60**2 / (2 * sigma**2), delta)
        <= epsilon
        < epsilon_of(60**2 / (2 * (sigma - 1) ** 2), delta)
    )
    gap = 60 / sigma
    made = plain.true_noise(plain.Plan(sigma=sigma), 20_000, 1) / sigma
    bound = guessing_share(epsilon, delta)
    game = play("everybody-else", "", made + gap / 2, made - gap / 2, bound, delta, 20_000)
    assert 0.5 < game.success < bound
    assert game.epsilon < epsilon
    assert not game.breaks_promise
    false = play("everybody-else", "", made / 10 + gap / 2, made / 10 - gap / 2, bound, delta, 20_000)
    assert false.breaks_promise
    assert false.epsilon > epsilon or epsilon == 4.0


@pytest.mark.parametrize(("table", "zones"), [("homes", 4), ("flows", 3), ("flows", 9), ("presence", 4)])
def test_attacks_on_true_tables_do_not_break_the_promise(table: str, zones: int) -> None:
    """Also where many victims share their only cell, and where the sums of a table are almost the table."""
    rng, hours = np.random.default_rng(1), 24 if table == "presence" else 1
    n_cells = {"homes": zones, "flows": zones * (zones - 1), "presence": zones * hours}[table]
    sigma = promise.sigma_for(1.0, 1e-8, 60)
    changed = {"sigma": sigma, "sensitivity": 60, "epsilon": 1.0, "delta": 1e-8}
    plan = plain.Plan(table=table, trips="zones", hours=tuple((60 * h, 60 * h + 60) for h in range(hours)))
    entries = plain.manifest_of(
        plan, promise=changed, day_of={"2024-03-29": "workday"}, counts_sha256="0" * 64
    )
    entries["zones"]["n_zones"] = zones
    manifest = TableManifest.model_validate(entries)
    cell = rng.choice(n_cells, 400, p=np.array([0.7, *[0.3 / (n_cells - 1)] * (n_cells - 1)]))
    counts = 60 * np.bincount(cell, minlength=n_cells)
    contributions = sparse.csr_array((np.full(400, 60), (np.arange(400), cell)), shape=(400, n_cells))
    victims = Victims(contributions, counts, counts, np.ones_like(counts), np.full(n_cells, -1))
    broken, shown = 0, []
    for _ in range(10):
        made = np.rint(rng.normal(0, sigma, n_cells)).astype(np.int64)
        games, _told = play_all(counts + made, victims, manifest, 10)
        broken += any(game.breaks_promise for game in games)
        shown.append(max(game.epsilon for game in games if game.bound is not None))
    assert broken == 0
    assert max(shown) < 1.0


def test_the_shown_epsilon_is_rarely_above_the_true_one() -> None:
    """Randomized response with a known epsilon: the bound exceeds it in at most 5 % of trials."""
    rng, epsilon = np.random.default_rng(2), 1.0
    truth = exp(epsilon) / (1 + exp(epsilon))
    above = 0
    for _ in range(200):
        present, absent = rng.random(400) < truth, rng.random(400) > truth
        above += shown_epsilon(present.mean(), absent.mean(), 400, 0.0) > epsilon
    assert above <= stats.binom.isf(1e-4, 200, 0.10)


def test_shown_epsilon_by_hand() -> None:
    """All of 10 victims seen, none of 10 others: both bounds from (1 - p)^10 = 2.5 %."""
    most = 1 - 0.025 ** (1 / 10)
    assert comb(10, 0) * (1 - most) ** 10 == pytest.approx(0.025)
    assert shown_epsilon(1.0, 0.0, 10, 0.0) == pytest.approx(log((1 - most) / most))
