"""Who was mixed with a person and takes the own points away: known answers for each way of mixing."""

import numpy as np
import pytest

import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.knowledge import default_knowledge
from shoal.methods.co_location.w4m import W4m
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_points import drivers, scattered, town, walkers

Made = tuple[shoal.Release, shoal.Linkage]


def told(original: Trajectories, made: Made, knowledge: str = "partner") -> dict[str, Rate]:
    found = attack(
        original,
        *made,
        knowledge=[knowledge],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"]),
    )
    assert {"partner", "partner:all"} <= set(default_knowledge(made[0]))
    return {one.name: one for one in found.rates}


@pytest.mark.parametrize(
    ("k", "members"), [(2, "partner"), (4, "partner"), (4, "partner:2"), (4, "partner:all")]
)
def test_of_a_cluster_what_is_not_ours_is_the_others(k: int, members: str) -> None:
    original = scattered(40, 30)
    made = shoal.SwapLocations(k=k).anonymize(original, Randomness.for_research(2))
    found = told(original, made, members)
    left = 1 / (k - {"partner": 1, "partner:2": 2, "partner:all": k - 1}[members])
    for name in ("partner-exact", "partner-points"):
        assert found[name].rate == pytest.approx(left, abs=0.02)
        assert found[name].baseline == pytest.approx(1 / k, abs=0.1)


def test_of_two_who_were_moved_together_each_knows_where_the_other_was() -> None:
    """The middle of two is half way, and the own step shows it."""
    original = walkers(40, 30, step_m=40)
    made = shoal.Nwa(k=2, delta_m=200, pi_s=600, step_s=60, trash=0.5).anonymize(
        original, Randomness.for_research(1)
    )
    every = told(original, made, "partner:all")["partner-exact"]
    assert every.rate > 0.99
    assert every.baseline < 0.5


def test_members_of_four_know_where_those_were_who_are_left() -> None:
    """Of two that are left both are told by the ways that they were moved; of three none, if all were."""
    original = walkers(40, 30, step_m=40)
    made = shoal.Nwa(k=4, delta_m=200, pi_s=600, step_s=60, trash=0.5).anonymize(
        original, Randomness.for_research(1)
    )
    one, two, every = (told(original, made, f"partner{who}")["partner-exact"] for who in ("", ":2", ":all"))
    assert one.rate < 0.4
    assert two.rate > 0.6
    assert every.rate > 0.99
    assert {rate.baseline < 0.2 for rate in (one, two, every)} == {True}


def test_members_find_which_of_their_samples_was_moved_in_time() -> None:
    """W4M: the place at the published time, on straight lines, is not what was moved."""
    draw = np.random.default_rng(0)
    still = walkers(40, 30, step_m=40)
    t = np.sort(still.t.reshape(40, 30) + draw.uniform(-10, 10, (40, 30)), axis=1).ravel()
    original = Trajectories.from_rows(np.repeat(still.ids, 30).tolist(), t, still.x, still.y)
    made = W4m(k=2, delta_m=100, trash=0.5).anonymize(original, Randomness.for_research(1))
    every = told(original, made, "partner:all")["partner-exact"]
    assert every.low > 0.3  # by straight lines alone 8 %
    assert every.baseline < 0.1


def test_in_one_place_two_are_told_by_the_mean() -> None:
    """delta = 0: everybody of a cluster is published at its middle."""
    original = walkers(40, 30, step_m=40)
    made = W4m(k=2, delta_m=0, trash=0.5).anonymize(original, Randomness.for_research(1))
    found = told(original, made, "partner:all")["partner-points"]
    assert found.rate > 0.9
    assert found.baseline < 0.1


def test_whoever_traded_places_undoes_the_trade() -> None:
    streets = town()
    original = drivers(streets, 20, 20)
    method = shoal.ReachLocations(k=2, time_threshold_s=60, space_threshold_m=400, streets=streets)
    found = told(original, method.anonymize(original, Randomness.for_research(2)))
    assert found["partner-exact"].rate == 1
    assert found["partner-exact"].baseline < 0.5


def test_people_outside_were_mixed_with_nobody_and_raw_data_with_no_one() -> None:
    everybody = scattered(40, 20)
    inside, outside = everybody.keep(np.arange(30)), everybody.keep(np.arange(30, 40))
    made = shoal.SwapLocations(k=3).anonymize(inside, Randomness.for_research(2))
    found = attack(
        inside,
        *made,
        knowledge=["partner"],
        scope=AttackScope(control=outside),
        rng=Randomness.for_research(1),
    )
    assert {one.rate for one in found.rates if one.target == "raw"} == {1}
    assert any("were mixed with nobody" in note for note in found.notes)
