"""Several releases together: the attack's own candidates against the verifier's, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from planted_people import bursts, hidden
from shoal.attacks.together import CANDIDATES, attack_together
from shoal.errors import InputError, ShoalError
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import TrajectoryPrivacy
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trace import Trace
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.verification.checks import CHECKS
from shoal.verification.composition.candidates import IssuedRelease
from shoal.verification.composition.several import reveal_together
from small_data import populations
from small_points import crowd, drivers, points_only, small_crowds, town

Case = tuple[Trajectories, Release, Linkage]


def verified(cases: list[Case], most: int) -> tuple[float, float]:
    """The successes of both rates as the verifier derives them."""
    issued = [
        IssuedRelease(label=f"release {i}", original=o, release=r, linkage=k)
        for i, (o, r, k) in enumerate(cases)
    ]
    told = reveal_together(issued[0], issued[1:], most=most)
    alone = told.right_alone / told.alone[:, 0].clip(1)
    return float(alone.sum()), float((told.right / told.remaining.clip(1)).sum())


def attacked(cases: list[Case], most: int) -> tuple[float, float]:
    alone, left = attack_together(cases, most=most)
    assert alone.tries == left.tries > 0
    assert (alone.name, left.name) == ("intersection", "intersection")
    return alone.successes, left.successes


def with_label(people: Trajectories, case: tuple[Release, Linkage]) -> Case:
    return people, *case


@examples(0.5)
@given(people=populations(least=6, most=9), seed=st.integers(0, 99))
def test_classes_are_those_of_the_verifier(people: Trajectories, seed: int) -> None:
    cases = [
        with_label(people, shoal.Glove(k=k).anonymize(people, Randomness.for_research(seed + k)))
        for k in (2, 3)
    ]
    assert attacked(cases, 50) == pytest.approx(verified(cases, 50))
    assert attacked(cases[::-1], 50) == pytest.approx(verified(cases[::-1], 50))


@pytest.mark.parametrize("seed", range(3))
def test_followers_are_those_of_the_verifier(seed: int) -> None:
    people = bursts(3, seed=seed)
    classes = shoal.Glove(k=2).anonymize(people, Randomness.for_research(seed))
    cases = [with_label(people, one) for one in (hidden(people), hidden(people), classes)]
    for order in (cases, cases[::-1]):
        assert attacked(order, 80) == pytest.approx(verified(order, 80))


MOVERS: dict[str, Callable[[Trajectories, Randomness], tuple[Release, Linkage]]] = {
    "swap": SwapLocations(k=2, space_threshold_m=300).anonymize,
    "nwa": shoal.Nwa(k=2, delta_m=200, pi_s=60, step_s=60, trash=0.2).anonymize,
    "w4m": shoal.W4m(k=3, delta_m=400, trash=0.1).anonymize,
}


@pytest.mark.parametrize("names", [("swap", "w4m"), ("nwa", "w4m"), ("w4m", "nwa", "swap"), ("nwa", "swap")])
@pytest.mark.parametrize("seed", range(2))
def test_partners_and_neighbors_are_those_of_the_verifier(names: tuple[str, ...], seed: int) -> None:
    people = crowd(18, seed=seed)
    cases = [
        with_label(people, MOVERS[name](people, Randomness.for_research(place + seed)))
        for place, name in enumerate(names)
    ]
    assert attacked(cases, 50) == pytest.approx(verified(cases, 50))


def test_boxes_and_points_are_put_together_as_the_verifier_does() -> None:
    people = crowd(20, seed=3)
    snapped = people.snapped_to(Grid())
    hiding = shoal.KteHide(k=2, tau_s=600, epsilon_s=600).anonymize(snapped, Randomness.for_research(1))
    moved = MOVERS["w4m"](people, Randomness.for_research(2))
    cases = [with_label(snapped, hiding), with_label(people, moved)]
    for order in (cases, cases[::-1]):
        assert attacked(order, 60) == pytest.approx(verified(order, 60))


@given(people=small_crowds(least=4, most=6), seed=st.integers(0, 50))
def test_small_swaps_are_those_of_the_verifier(people: Trajectories, seed: int) -> None:
    method = SwapLocations(k=2, time_threshold_s=100, space_threshold_m=100)
    try:
        made = [method.anonymize(people, Randomness.for_research(seed + i)) for i in (0, 1)]
    except ShoalError:  # too few of these people are near each other to swap anything
        assume(False)
    cases = [with_label(people, one) for one in made]
    assert attacked(cases, 50) == pytest.approx(verified(cases, 50))


def test_people_swapped_in_different_sets_are_those_who_were_in_all_of_them() -> None:
    """a and b gave a triple to both sets and c to one alone; d is alone in a third."""
    people = Trajectories.from_rows(list("aabbcd"), [0.0, 1, 0, 1, 0, 0], [0.0] * 6, np.arange(6.0))
    rows = np.array([0, 2, 4, 1, 3, 5])
    trace = Trace(
        time_from=rows,
        place_from=rows,
        swap_set=np.array([0, 0, 0, 1, 1, 2]),
        set_offsets=np.array([0, 3, 5, 6]),
        set_rows=rows,
        place_of=("a", "b", "c", "a", "b", "d"),
    )
    _, release = points_only([[(0.0, 0.0, 0.0)]] * 4, 2, 0)
    swapped = replace(release, claim=TrajectoryPrivacy(k=2, time_threshold_s=9, space_threshold_m=9))
    linkage = Linkage(tuple("abcd"), release.trajectory_ids, trace)
    alone, left = attack_together([(people, swapped, linkage)] * 2)
    assert alone.successes == left.successes == pytest.approx(1 / 2 + 1 / 2 + 1 / 3 + 1)


def test_the_claims_are_those_of_which_the_verifier_says_who_could_be_whom() -> None:
    assert set(CANDIDATES) == {claim for claim, row in CHECKS.items() if row.candidates.fitting is not None}


def test_what_cannot_be_put_together_is_refused() -> None:
    people = crowd(18)
    release, linkage = MOVERS["nwa"](people, Randomness.for_research(0))
    swapped, origin = MOVERS["swap"](people, Randomness.for_research(1))
    trace = origin.trace
    assert trace is not None
    beyond = replace(trace, set_rows=trace.set_rows + people.n_samples)
    streets = town()
    rides = drivers(streets)
    reached = ReachLocations(k=2, streets=streets).anonymize(rides, Randomness.for_research(2))
    sound = (people, release, linkage)
    cases: list[tuple[list[Case], str]] = [
        ([sound, (people, replace(release, unit_of_protection="each vehicle"), linkage)], "same unit"),
        ([sound, (people, release, Linkage(linkage.uids[1:], linkage.trajectory_ids[1:]))], "no subject"),
        ([sound, (people, swapped, replace(origin, trace=None))], r"only in origin\.parquet"),
        (
            [sound, (people, swapped, replace(origin, trace=beyond))],
            r"other raw samples than there are in origin",
        ),
        ([with_label(rides, reached)] * 2, "claims location-p-privacy, from which it does not follow"),
    ]
    for parts, message in cases:
        with pytest.raises(InputError, match=message):
            attack_together(parts)
    assert len(cases) == 5
    assert np.isfinite(attack_together([sound, sound])[1].rate)
