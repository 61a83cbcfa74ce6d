"""Every damage to a swapped release that the checks must find, and a biased shuffle against a fair one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.errors import InputError, MisuseError
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import LocationPrivacy, claim_from_json, claim_to_json
from shoal.model.release import Linkage, Release
from shoal.model.trace import TRACE_FILES, Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.linking import link_records
from shoal.verification.points.draws import read_draws
from shoal.verification.points.shuffle import judge_places
from shoal.verification.points.tails import chi_squared_tail
from small_points import crowd, drivers, town

Case = tuple[Trajectories, Release, Linkage]


def swapped(k: int = 3, **settings: float) -> Case:
    original = crowd()
    method = SwapLocations(k=k, **settings)  # type: ignore[arg-type]
    return original, *method.anonymize(original, Randomness.for_research(1))


def reached(k: int = 3, **settings: float) -> Case:
    streets = town()
    original = drivers(streets, 24)
    lengths = {"space_threshold_m": 400.0, **settings}
    method = ReachLocations(k=k, streets=streets, **lengths)  # type: ignore[arg-type]
    return original, *method.anonymize(original, Randomness.for_research(1))


def trace_of(case: Case) -> Trace:
    assert case[2].trace is not None
    return case[2].trace


def with_points(case: Case, **columns: np.ndarray) -> Case:
    return case[0], replace(case[1], payload=replace(case[1].points, **columns)), case[2]


def with_trace(case: Case, **columns: Any) -> Case:
    return case[0], case[1], replace(case[2], trace=replace(trace_of(case), **columns))


def invented(case: Case) -> Case:
    x = case[1].points.x.copy()
    x[len(x) // 2] += 0.25
    return with_points(case, x=x)


def moved_in_time(case: Case) -> Case:
    """The first point of a record a little earlier: still in order, at a time that its subject never had."""
    t = case[1].points.t.copy()
    t[case[1].offsets[1]] -= 0.5
    return with_points(case, t=t)


def doubled(case: Case) -> Case:
    """The last point of a record once more in place of the one before: still in order."""
    columns = {name: column.copy() for name, column in case[1].points.columns().items()}
    last = int(case[1].offsets[1]) - 1
    for column in columns.values():
        column[last - 1] = column[last]
    return with_points(case, **columns)


def small_set(case: Case) -> Case:
    """One member of the first set is taken out of the trace and, with it, nothing else."""
    trace = trace_of(case)
    rows = np.delete(trace.set_rows, 1)
    offsets = trace.set_offsets.copy()
    offsets[1:] -= 1
    return with_trace(case, set_rows=rows, set_offsets=offsets)


def unswapped(case: Case) -> Case:
    number = trace_of(case).swap_set.copy()
    number[0] = -1
    return with_trace(case, swap_set=number)


def tighter(name: str) -> Callable[[Case], Case]:
    """The claim says less than half of what was used."""

    def damage(case: Case) -> Case:
        claim: Any = case[1].claim
        return case[0], replace(case[1], claim=replace(claim, **{name: 0.4 * widest(case, name)})), case[2]

    return damage


def widest(case: Case, name: str) -> float:
    original, _, linkage = case
    trace = linkage.trace
    assert trace is not None
    leader = np.repeat(trace.leaders, np.diff(trace.set_offsets))
    late = np.abs(original.t[trace.set_rows] - original.t[leader])
    far = np.hypot(
        original.x[trace.set_rows] - original.x[leader], original.y[trace.set_rows] - original.y[leader]
    )
    return float((late if name == "time_threshold_s" else far).max())


def handed_on(case: Case) -> Case:
    """Two records change their first points' places in the trace and the release.

    Each gets what was not exchanged with it.
    """
    original, release, linkage = case
    trace = trace_of(case)
    a, b = (
        0,
        next(
            i
            for i in range(int(release.offsets[1]), release.n_samples)
            if trace.swap_set[i] != trace.swap_set[0]
        ),
    )
    order = np.arange(release.n_samples)
    order[[a, b]] = b, a
    points, record = (
        release.points.take(order),
        np.repeat(np.arange(release.n_records), np.diff(release.offsets)),
    )
    rows = np.lexsort((points.y, points.x, points.t, record))
    changed = replace(
        trace, **{name: getattr(trace, name)[order][rows] for name in ("time_from", "place_from", "swap_set")}
    )
    return original, replace(release, payload=points.take(rows)), replace(linkage, trace=changed)


def miscounted(case: Case) -> Case:
    losses = replace(case[1].losses, samples_suppressed=case[1].losses.samples_suppressed + 1)
    return case[0], replace(case[1], losses=losses), case[2]


def of_another_run(case: Case) -> Case:
    return with_trace(case, time_from=trace_of(case).time_from[:-1])


def longer_claim(case: Case) -> Case:
    claim: Any = case[1].claim
    return case[0], replace(case[1], claim=replace(claim, space_threshold_m=60.0)), case[2]


DAMAGES = {
    "swap: a triple invented": (swapped, invented, "invented-point"),
    "swap: a triple moved in time": (swapped, moved_in_time, "invented-point"),
    "swap: a triple doubled": (swapped, doubled, "doubled-point"),
    "swap: fewer than k in a set": (swapped, small_set, "small-swap-set"),
    "swap: a survivor never swapped": (swapped, unswapped, "unswapped-point"),
    "swap: beyond R^t": (swapped, tighter("time_threshold_s"), "beyond-threshold"),
    "swap: beyond R^s": (swapped, tighter("space_threshold_m"), "beyond-threshold"),
    "swap: handed to a stranger": (swapped, handed_on, "wrong-exchange"),
    "swap: losses miscounted": (swapped, miscounted, "lost-samples-not-counted"),
    "swap: another run's trace": (swapped, of_another_run, "trace-mismatch"),
    "reach: a place invented": (reached, invented, "invented-point"),
    "reach: a place doubled": (reached, doubled, "doubled-point"),
    "reach: times changed": (reached, moved_in_time, "time-changed"),
    "reach: fewer than k in a set": (reached, small_set, "small-swap-set"),
    "reach: a survivor never swapped": (reached, unswapped, "unswapped-point"),
    "reach: beyond R^t": (reached, tighter("time_threshold_s"), "beyond-threshold"),
    "reach: a path longer than R^s": (reached, longer_claim, "path-too-long"),
    "reach: losses miscounted": (reached, miscounted, "lost-samples-not-counted"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damage_is_found(name: str) -> None:
    make, damage, kind = DAMAGES[name]
    case = make()
    assert shoal.verify(*case).holds
    verdict = shoal.verify(*damage(case))
    assert kind in verdict.kinds, verdict.findings


def beside_the_streets() -> Case:
    """Everybody 30 m from the nearest street, in a release that claims 50 m at most."""
    streets = town()
    on_street = drivers(streets, 24)
    original = replace(on_street, x=on_street.x + 30.0, y=on_street.y + 30.0)
    method = ReachLocations(k=3, streets=streets, space_threshold_m=400.0, most_off_street_m=50.0)
    return original, *method.anonymize(original, Randomness.for_research(1))


@pytest.mark.parametrize("expected", [{"most_off_street_m": 1e9}, {}])
def test_how_far_off_the_streets_points_may_lie_stands_in_the_claim_alone(expected: dict[str, float]) -> None:
    """The verifier once took it from the release's own parameters, and without them took any distance."""
    original, release, linkage = beside_the_streets()
    assert shoal.verify(original, release, linkage).holds
    assert isinstance(release.claim, LocationPrivacy)
    assert release.claim.most_off_street_m == 50.0
    lenient = replace(release, parameters=expected, claim=replace(release.claim, most_off_street_m=10.0))
    verdict = shoal.verify(original, lenient, linkage)
    assert verdict.kinds == {"off-street"}
    assert "farther from every street than the 10 m claimed" in verdict.findings[0].message


def test_a_claim_about_streets_that_does_not_bound_the_distance_is_refused() -> None:
    claim = reached()[1].claim
    assert isinstance(claim, LocationPrivacy)
    older = claim_to_json(claim)
    del older["most_off_street_m"]
    with pytest.raises(InputError, match=r"'most_off_street_m' is missing; .* make the release again"):
        claim_from_json(older)
    for distance in (np.inf, np.nan, 0.0, -1.0):
        with pytest.raises(MisuseError, match="the largest distance from a street"):
            replace(claim, most_off_street_m=distance)


@pytest.mark.parametrize("make", [swapped, reached])
@pytest.mark.parametrize("damage", [invented, doubled])
def test_untrue_points_are_found_without_linkage(
    make: Callable[[], Case], damage: Callable[[Case], Case]
) -> None:
    original, release, _ = damage(make())
    assert shoal.verify(original, release).kinds & {"invented-point", "doubled-point"}


def claiming(case: Case, **numbers: Any) -> Case:
    """The same release under a claim with other numbers."""
    claim: Any = case[1].claim
    return case[0], replace(case[1], claim=replace(claim, **numbers)), case[2]


@pytest.mark.parametrize("make", [swapped, reached])
def test_without_its_trace_a_swapped_release_is_not_checked_whatever_k_it_claims(
    make: Callable[[], Case],
) -> None:
    """It once held at k = 50, with 2 in each swap set."""
    original, release, linkage = claiming(make(), k=50)
    verdict = shoal.verify(original, release, replace(linkage, trace=None))
    assert (verdict.holds, verdict.word, verdict.findings) == (False, "NOT CHECKED", ())
    messages = " ".join(verdict.unchecked)
    assert f"its swap set and the thresholds (needs {TRACE_FILES})" in messages
    assert "whether the shuffle was fair" in messages
    without = shoal.verify(original, release)
    assert without.word == "NOT CHECKED"
    assert set(verdict.unchecked) < set(without.unchecked)


def test_without_streets_no_bound_on_paths_is_checked() -> None:
    """A claim of paths of 1 m at most once held."""
    original, release, linkage = claiming(reached(), space_threshold_m=1.0)
    assert shoal.verify(original, release, linkage).kinds == {"path-too-long"}
    bare = replace(linkage, trace=replace(trace_of((original, release, linkage)), streets=None))
    verdict = shoal.verify(original, release, bare)
    assert (verdict.holds, verdict.word, verdict.findings) == (False, "NOT CHECKED", ())
    (part,) = verdict.unchecked
    assert part.startswith("the length of the paths along the streets (needs ")


class Biased(Randomness):
    """Draws permutations as a wrong shuffle does: every place in turn trades with any place."""

    def permutations(self, rows: int, n: int) -> np.ndarray:
        draw = np.random.default_rng(4)
        orders = np.tile(np.arange(n), (rows, 1))
        for place in range(n):
            other = draw.integers(0, n, rows)
            everywhere = np.arange(rows)
            orders[everywhere, place], orders[everywhere, other] = (
                orders[everywhere, other].copy(),
                orders[everywhere, place].copy(),
            )
        return orders


class NeverAtHome(Randomness):
    """Sends every point one place on: nobody keeps a point."""

    def permutations(self, rows: int, n: int) -> np.ndarray:
        return (np.tile(np.arange(n), (rows, 1)) + 1) % n


def shuffle_with(kind: type[Randomness], k: int = 3) -> float:
    """p value over 10,000 triples and more."""
    original = crowd(120, 160, spread_s=20)
    rng = Randomness.for_research(9)
    rng.__class__ = kind
    release, linkage = SwapLocations(k=k).anonymize(original, rng)
    trace = linkage.trace
    assert trace is not None
    shuffle = judge_places(
        read_draws(
            original, release, link_records(original, release, linkage).subject_of, trace, times_stay=False
        )
    )
    assert shuffle.points >= 10_000
    return shuffle.p_value


def test_a_biased_shuffle_is_caught_and_a_fair_one_passes() -> None:
    """Level 0.001 for all: the fair stream is fixed, and passes as 999 of 1,000 do."""
    assert shuffle_with(Randomness) > 0.001
    assert shuffle_with(Biased) < 0.001
    assert shuffle_with(NeverAtHome) < 1e-12


def test_a_release_with_a_biased_shuffle_does_not_hold() -> None:
    original = crowd(60, 60, spread_s=20)
    rng = Randomness.for_research(9)
    rng.__class__ = NeverAtHome
    assert "biased-shuffle" in shoal.verify(original, *SwapLocations(k=3).anonymize(original, rng)).kinds


def test_reach_leaders_that_stay_too_often_do_not_hold() -> None:
    class Homely(Randomness):
        def below(self, limit: int, count: int) -> np.ndarray:
            return np.where(np.random.default_rng(2).random(count) < 0.75, 0, super().below(limit, count))

    streets = town()
    original = drivers(streets, 60, 40)
    rng = Randomness.for_research(3)
    rng.__class__ = Homely
    case = ReachLocations(k=3, space_threshold_m=800, streets=streets).anonymize(original, rng)
    assert "biased-shuffle" in shoal.verify(original, *case).kinds


def test_p_values_of_fair_shuffles_are_spread_evenly() -> None:
    """40 fair releases, fixed: the smallest p above 1e-4, the middle between 0.2 and 0.8.

    A fair test fails in 1 of 200 streams.
    """
    original = crowd(30, 40, spread_s=20)
    shuffle = []
    for seed in range(40):
        release, linkage = SwapLocations(k=3).anonymize(original, Randomness.for_research(seed))
        assert linkage.trace is not None
        shuffle.append(
            judge_places(
                read_draws(
                    original,
                    release,
                    link_records(original, release, linkage).subject_of,
                    linkage.trace,
                    times_stay=False,
                )
            ).p_value
        )
    assert min(shuffle) > 1e-4
    assert 0.2 < float(np.median(shuffle)) < 0.8


@pytest.mark.parametrize(
    ("square", "freedom", "tail"),
    [(10.828, 1, 0.001), (13.816, 2, 0.001), (29.588, 10, 0.001), (18.307, 10, 0.05), (0, 4, 1)],
)
def test_chi_squared_tails(square: float, freedom: int, tail: float) -> None:
    assert chi_squared_tail(square, freedom) == pytest.approx(tail, rel=1e-3)
