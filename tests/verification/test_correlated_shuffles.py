"""Shuffles whose draws depend on each other, each fair by itself: found. Independent draws: left alone."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from fair_shuffles import fair_draws, fair_runs
from shoal.methods.swapping.exchange import Exchange, publish_exchange
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.verification.points.correlation import Correlation, compare_draws
from shoal.verification.points.draws import Draws
from shoal.verification.points.tails import agreement_moments, both_tails, bound_tails, log_mgf
from small_points import crowd, drivers, town

Case = tuple[Trajectories, Release, Linkage]


# --- ways to draw that are fair in each set and not independent between sets --------------------------------


def one_for_all(fresh: Integers) -> Integers:
    """One permutation for all swap sets of a cluster."""
    return np.repeat(fresh[:1], len(fresh), axis=0)


def one_for_two(fresh: Integers) -> Integers:
    return np.repeat(fresh, 2, axis=0)[: len(fresh)]


def every_second(fresh: Integers) -> Integers:
    """The first draw again in every second set; fresh draws between."""
    orders = fresh.copy()
    orders[::2] = fresh[0]
    return orders


def second_half_repeats(fresh: Integers) -> Integers:
    half = -(-len(fresh) // 2)
    return np.concatenate([fresh[:half], fresh[: len(fresh) - half]])


def shifted(fresh: Integers) -> Integers:
    """Each draw is the one before, one place on."""
    c = fresh.shape[1]
    return np.asarray((fresh[:1] + np.arange(len(fresh))[:, None]) % c)


def reversed_in_turn(fresh: Integers) -> Integers:
    """Each second draw takes back the one before."""
    orders = fresh.copy()
    orders[1::2] = np.argsort(fresh[: len(fresh) // 2 * 2 : 2], axis=1)
    return orders


def of_a_pool(fresh: Integers) -> Integers:
    """A few permutations, drawn again and again in random order."""
    return fresh[np.random.default_rng(1).integers(0, min(3, len(fresh)), len(fresh))]


def mostly_the_same(fresh: Integers) -> Integers:
    orders = fresh.copy()
    orders[np.random.default_rng(1).random(len(fresh)) < 0.5] = fresh[0]
    return orders


def never_as_before(fresh: Integers) -> Integers:
    """No point goes where the one before went: too little alike, not too much."""
    c = fresh.shape[1]
    steps = np.random.default_rng(1).integers(1, c, len(fresh)).cumsum()
    return np.asarray((fresh[:1] + steps[:, None]) % c)


def shared(fresh: Integers) -> Integers:
    """The same draws in all clusters: independent in each."""
    return np.argsort(np.random.default_rng(7).random((10_000, fresh.shape[1])), axis=1)[: len(fresh)]


CORRELATED = (
    one_for_all,
    one_for_two,
    every_second,
    second_half_repeats,
    shifted,
    reversed_in_turn,
    of_a_pool,
    mostly_the_same,
    never_as_before,
    shared,
)


def drawing(how: Callable[[Integers], Integers]) -> Randomness:
    """A stream whose permutations, cluster by cluster, are changed after they were drawn."""

    class Correlated(Randomness):
        def permutations(self, rows: int, n: int) -> Integers:
            return how(super().permutations(rows, n)) if rows else super().permutations(rows, n)

    rng = Randomness.for_research(9)
    rng.__class__ = Correlated
    return rng


CROWD = crowd(60, 60, spread_s=20)


def test_the_same_crowd_with_a_fair_shuffle_holds() -> None:
    verdict = shoal.verify(CROWD, *SwapLocations(k=3).anonymize(CROWD, Randomness.for_research(9)))
    assert verdict.holds, verdict
    assert any("compared with the exchange before of its cluster" in note for note in verdict.notes)


@pytest.mark.parametrize("how", CORRELATED, ids=lambda how: how.__name__)
def test_correlated_permutations_do_not_hold(how: Callable[[Integers], Integers]) -> None:
    verdict = shoal.verify(CROWD, *SwapLocations(k=3).anonymize(CROWD, drawing(how)))
    assert "correlated-shuffle" in verdict.kinds, verdict
    assert verdict.kinds <= {"correlated-shuffle", "biased-shuffle"}
    assert not verdict.holds


def test_sets_in_another_order_of_the_trace_are_still_compared_in_time() -> None:
    """Who draws once for two sets may write them down apart: the time of a set stands in the raw data."""
    release, linkage = SwapLocations(k=3).anonymize(CROWD, drawing(one_for_two))
    trace = linkage.trace
    assert trace is not None
    order = np.random.default_rng(2).permutation(trace.n_sets)
    sizes = np.diff(trace.set_offsets)[order]
    parts = [trace.set_rows[trace.set_offsets[s] : trace.set_offsets[s + 1]] for s in order.tolist()]
    elsewhere = replace(
        trace,
        set_rows=np.concatenate(parts),
        set_offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        swap_set=np.argsort(order)[trace.swap_set],
    )
    verdict = shoal.verify(CROWD, release, replace(linkage, trace=elsewhere))
    assert verdict.kinds == {"correlated-shuffle"}
    assert "compared with the exchange before of its cluster" in verdict.findings[0].message


def reached(how: Callable[[Trajectories, Integers], Integers] | None) -> Case:
    streets = town()
    original = drivers(streets, 60, 40)

    class Correlated(Randomness):
        def below(self, limit: int, count: int) -> Integers:
            fresh = super().below(limit, count)
            return fresh if how is None else how(original, fresh) % limit

    rng = Randomness.for_research(3)
    rng.__class__ = Correlated
    method = ReachLocations(k=3, space_threshold_m=800, streets=streets)
    return original, *method.anonymize(original, rng)


def one_a_person(original: Trajectories, fresh: Integers) -> Integers:
    return np.repeat(fresh[: original.n_subjects], original.lengths)


def one_on_from_the_last(_original: Trajectories, fresh: Integers) -> Integers:
    return np.asarray(fresh[0] + np.arange(len(fresh)))


@pytest.mark.parametrize("how", [one_a_person, one_on_from_the_last], ids=lambda how: how.__name__)
def test_correlated_choices_of_leaders_do_not_hold(
    how: Callable[[Trajectories, Integers], Integers],
) -> None:
    verdict = shoal.verify(*reached(how))
    assert "correlated-shuffle" in verdict.kinds, verdict
    assert verdict.kinds <= {"correlated-shuffle", "biased-shuffle"}


def test_fair_choices_of_leaders_hold() -> None:
    verdict = shoal.verify(*reached(None))
    assert verdict.holds, verdict
    assert any("compared with the exchange before of its leader" in note for note in verdict.notes)


# --- companions that change ---------------------------------------------------------------------------------


def with_changing_companions(n: int = 8, times: int = 200) -> Case:
    """Pairs that swap fairly, with another partner at every time."""
    draw = np.random.default_rng(5)
    ids = np.repeat([f"p{i}" for i in range(n)], times).tolist()
    places = draw.normal(0, 100, (n * times, 2))
    original = Trajectories.from_rows(ids, np.tile(np.arange(times) * 10.0, n), *places.T)
    row = np.arange(n * times).reshape(n, times)
    sets, record_of = [], np.empty(n * times, dtype=np.int64)
    for t in range(times):
        partner = np.arange(n) ^ draw.integers(1, n)
        for a in np.flatnonzero(np.arange(n) < partner).tolist():
            b = int(partner[a])
            sets.append((row[a, t], row[b, t]))
            record_of[row[a, t]], record_of[row[b, t]] = (a, b) if draw.random() < 0.5 else (b, a)
    by_record = np.argsort(record_of, kind="stable")
    set_rows = np.array(sets)
    swap_set = np.empty(n * times, dtype=np.int64)
    swap_set[set_rows] = np.arange(len(sets))[:, None]
    exchange = Exchange(
        record_of=record_of[by_record],
        time_from=by_record,
        place_from=by_record,
        swap_set=swap_set,
        set_offsets=2 * np.arange(len(sets) + 1),
        set_rows=set_rows.ravel(),
        facts={},
        left_out={},
    )
    return original, *publish_exchange(
        SwapLocations(k=2, time_threshold_s=1.0, space_threshold_m=1e6),
        original,
        exchange,
        Randomness.from_system(),
    )


def test_companions_that_change_leave_everybody_in_the_own_record() -> None:
    """Every set is fair, and yet whoever knows a person's points finds most of them in one record."""
    original, release, linkage = with_changing_companions()
    verdict = shoal.verify(original, release, linkage)
    assert verdict.kinds == {"mixed-clusters"}
    trace = linkage.trace
    assert trace is not None
    owner = trace.place_from // 200
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    named = [
        int(np.bincount(owner[release.offsets[r] : release.offsets[r + 1]]).argmax())
        for r in range(release.n_records)
    ]
    uids_linked = [original.ids.index(uid_of[name]) for name in release.trajectory_ids]
    assert named == uids_linked  # not 1 in 2: all of them


# --- few sets -----------------------------------------------------------------------------------------------


def test_too_few_swap_sets_to_tell_any_shuffle_are_not_checked() -> None:
    few = crowd(6, 4, spread_s=20)
    release, linkage = SwapLocations(k=2).anonymize(few, Randomness.for_research(1))
    assert linkage.trace is not None
    assert linkage.trace.n_sets < 20
    verdict = shoal.verify(few, release, linkage)
    assert (verdict.word, verdict.findings) == ("NOT CHECKED", ())
    (part,) = verdict.unchecked
    assert part.startswith("whether the shuffle was fair (needs ")


@pytest.mark.parametrize(
    ("c", "permutes", "fewest"), [(2, True, 26), (3, True, 10), (4, True, 6), (2, False, 26)]
)
def test_how_few_are_too_few(c: int, permutes: bool, fewest: int) -> None:
    """A release in which nothing moved is refused from so many sets on, and with fewer nothing is said."""

    def still(n: int) -> Correlation:
        rows = c if permutes else 1
        places = np.tile(np.arange(rows), (n, 1))
        group = np.arange(n)  # nothing to compare but where each point came from
        return compare_draws(
            [Draws(c=c, by_place=places, by_person=places, group=group, t_s=group.astype(np.float64))]
        )

    level = 5e-7
    assert next(n for n in range(1, 40) if still(n).enough(level)) == fewest
    assert still(fewest + 2).stayed.p_value < level  # the bound is looked for up to 3,000-fold odds


# --- the statistics themselves ------------------------------------------------------------------------------


@examples(0.75)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.lists(
        st.tuples(st.integers(2, 4), st.lists(st.integers(1, 9), min_size=1, max_size=4)),
        min_size=1,
        max_size=2,
    ),
    permutes=st.booleans(),
)
def test_the_counts_are_those_of_all_pairs_one_by_one(
    seed: int, sizes: list[tuple[int, list[int]]], permutes: bool
) -> None:
    rng = np.random.default_rng(seed)
    runs = [fair_draws(rng, c, lengths, permutes=permutes) for c, lengths in sizes]
    told = {comparison.words: comparison for comparison in compare_draws(runs).comparisons}
    lagged = pairs = pairs_of_cluster = expected = 0.0
    for draws in runs:
        for a in range(len(draws)):
            for b in range(a):
                same = int((draws.by_person[a] == draws.by_person[b]).sum())
                pairs += same
                if draws.group[a] == draws.group[b]:
                    pairs_of_cluster += same
                    if a == b + 1:
                        lagged += same
                        expected += 1 if permutes else 1 / draws.c
    group = "its cluster" if permutes else "its leader"
    before = compare_draws(runs).before
    assert before.same == lagged
    assert before.expected == pytest.approx(expected)
    if told["every other exchange"].expected:
        assert told["every other exchange"].same == pairs
    if told[f"every other exchange of {group}"].expected:
        assert told[f"every other exchange of {group}"].same == pairs_of_cluster


@pytest.mark.parametrize("permutes", [True, False])
@pytest.mark.parametrize("c", [2, 3, 4])
def test_moments_are_those_of_all_draws(c: int, permutes: bool) -> None:
    """By counting every pair and every three of draws."""
    every = list(permutations(range(c))) if permutes else [(i,) for i in range(c)]
    table = np.array([[sum(x == y for x, y in zip(a, b, strict=True)) for b in every] for a in every])
    mean, variance, third, of_three = agreement_moments(c, permutes=permutes)
    away = table - mean
    assert away.mean() == pytest.approx(0, abs=1e-12)
    assert (away**2).mean() == pytest.approx(variance)
    assert (away**3).mean() == pytest.approx(third, abs=1e-12)
    product = np.einsum("ab,bc,ac->", away, away, away) / len(every) ** 3
    assert product == pytest.approx(of_three)
    theta = np.array([-3.0, -0.5, 0.0, 0.7, 4.0])
    by_hand = [math.log(np.exp(item * table).mean()) for item in theta]
    np.testing.assert_allclose(log_mgf(c, theta, permutes=permutes), by_hand, atol=1e-9)


def test_the_bound_is_never_below_the_true_chance() -> None:
    """Of up to 30 independent pairs of choices among 3, whose number of agreements is binomial."""
    n, p = 30, 1 / 3
    chance = np.array([math.comb(n, a) * p**a * (1 - p) ** (n - a) for a in range(n + 1)])
    upper, lower = chance[::-1].cumsum()[::-1], chance.cumsum()
    bounds = bound_tails(
        np.arange(n + 1), [(np.full(n + 1, n), lambda theta: log_mgf(3, theta, permutes=False))]
    )
    both = np.minimum(1.0, 2 * np.minimum(upper, lower))
    assert (bounds >= both * (1 - 1e-9)).all()
    far = both < 1e-4
    assert far.sum() > 5
    assert (bounds[far] < 30 * both[far]).all()  # it refuses little later than the true chance would


@pytest.mark.parametrize(
    ("z", "skew", "p"),
    [
        (1.96, 0.0, 0.05),
        (0.0, 0.0, 1.0),
        (0.0, 1.0, 1.0),
        (3.29, 1e-5, 0.001),
        (-3.29, 1e-5, 0.001),
        (4.0, 8**0.5, 0.0098 * 2),
    ],
)
def test_tails_by_the_gamma_law(z: float, skew: float, p: float) -> None:
    """The last: a chi-squared value of one degree of freedom, 1 + 4 sqrt(2), which is exceeded in 0.0098."""
    assert both_tails(z, skew) == pytest.approx(p, rel=0.01)


def test_fair_runs_stay_within_bounds_as_often_as_said() -> None:
    """150 fair runs, fixed; ``lab/calibrate_shuffles.py`` makes thousands."""
    z, worst = fair_runs(150, seed=11, sizes=[(3, [12] * 8), (4, [20, 20])])
    scale = len(z) ** -0.5
    assert abs(z.mean()) < 4 * scale
    assert abs(z.std() - 1) < 4 * scale
    assert (np.abs(z) > 3.3).sum() <= 2
    assert (
        worst < 0.05
    ).mean() < 0.05 + 4 * scale * 0.22  # a bound: seldom below its level, never more often
    assert worst.min() > 5e-7
