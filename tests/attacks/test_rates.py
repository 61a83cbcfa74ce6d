"""Intervals against simulated truth, and rules that are judged by other victims than they were chosen on."""

from collections.abc import Callable

import numpy as np
import pytest

import shoal
from planted_people import bursts, hidden
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rule, interval_of, wilson
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from small_points import crowd
from small_releases import naive_release, random_people

RUNS = 1000


def parts(rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Chances of 1/c, as of somebody who names one of c records that fit."""
    return (1 / rng.integers(2, 30, 200)).astype(np.float64), np.arange(200)


def seldom(rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Wins of 1 in 33, whole."""
    return (rng.random(200) < 0.03).astype(np.float64), np.arange(200)


def shared(rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Classes of 5, of whom four in five are found all at once, with half a success each."""
    return np.repeat(rng.random(60) < 0.8, 5).astype(np.float64) / 2, np.arange(300) // 5


def mostly_shared(rng: np.random.Generator) -> tuple[Floats, Integers]:
    """Classes of 1 to 8 who win more or less together."""
    sizes = rng.integers(1, 9, 50)
    level = np.repeat(rng.beta(2, 3, 50), sizes)
    return (rng.random(sizes.sum()) < level).astype(np.float64), np.repeat(np.arange(50), sizes)


@pytest.mark.parametrize(
    ("draw", "truth", "most"),
    [
        (parts, float(np.mean(1 / np.arange(2, 30))), 1.0),
        (seldom, 0.03, 1.0),
        (shared, 0.4, 0.5),
        (mostly_shared, 0.4, 1.0),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(
    draw: Callable[[np.random.Generator], tuple[Floats, Integers]], truth: float, most: float
) -> None:
    """1,000 runs of 95 % hold it in 93 to 97 %, and miss these bounds once in 300 such experiments."""
    rng = np.random.default_rng(4)
    found = [interval_of(*draw(rng), most) for _ in range(RUNS)]
    held = np.mean([low <= truth <= high for low, high in found])
    assert 0.93 <= held <= 0.97


def test_without_shared_records_and_parts_it_is_about_wilsons_interval() -> None:
    won = np.repeat([1.0, 0.0], [61, 339])
    assert interval_of(won, np.arange(400)) == pytest.approx(wilson(61, 400), abs=2e-3)
    halves = interval_of(won / 2, np.arange(400), max_chance=0.5)
    assert halves == pytest.approx([end / 2 for end in wilson(61, 400)], abs=1e-3)


@pytest.mark.parametrize("won", [0.0, 0.2, 1.0])
def test_what_never_varied_is_not_certain(won: float) -> None:
    low, high = interval_of(np.full(50, won), np.arange(50))
    assert 0 <= low <= won <= high <= 1
    assert high - low > 0.01
    wider = interval_of(np.full(50, won), np.arange(50) // 10)
    assert wider[1] - wider[0] > high - low


def best_of(rules: list[Rule], clusters: Integers, parts: int = 2) -> Rate:
    return Rate.best_of(
        rules,
        name="x",
        knowledge="y",
        target="release",
        baseline=0.0,
        clusters=clusters,
        max_chance=1.0,
        parts=parts,
    )


def test_more_parts_choose_the_weaker_of_two_rules_more_seldom() -> None:
    """Rules that win 20 and 17 %, against different victims: what a choice by halves loses."""
    rng = np.random.default_rng(3)
    lost = {2: 0.0, 10: 0.0}
    for _ in range(200):
        luck = rng.random(300)
        rules = [Rule(name="a", does="", chances=luck < 0.2), Rule(name="b", does="", chances=luck > 0.83)]
        for parts in lost:
            lost[parts] += max(float(np.mean(np.asarray(rule.chances))) for rule in rules)
            lost[parts] -= best_of(rules, np.arange(300), parts).rate
    assert 0 < lost[10] < lost[2]


@pytest.mark.parametrize("parts", [2, 10])
def test_the_best_of_many_useless_rules_wins_no_more_than_one_does(parts: int) -> None:
    """The best of 50 rules that guess seems to win in 14 %; judged by other victims it wins in 10 %."""
    rng = np.random.default_rng(1)
    seeming, judged = [], []
    for _ in range(40):
        rules = [Rule(name=f"{n}", does="guesses", chances=rng.random(200) < 0.1) for n in range(50)]
        seeming.append(max(float(np.asarray(rule.chances).mean()) for rule in rules))
        judged.append(best_of(rules, np.arange(200), parts).rate)
    assert np.mean(seeming) > 0.13
    assert np.mean(judged) == pytest.approx(0.1, abs=0.012)  # four standard errors of 8,000 guesses are 0.013


@pytest.mark.parametrize("parts", [2, 10])
def test_members_of_a_class_do_not_judge_the_rule_that_was_chosen_on_them(parts: int) -> None:
    """Rules that win against whole classes by chance: members in both halves would make them look good."""
    rng = np.random.default_rng(2)
    clusters = np.arange(200) // 10
    judged = []
    for _ in range(60):
        rules = [
            Rule(name=f"{n}", does="guesses", chances=np.repeat(rng.random(20) < 0.2, 10)) for n in range(30)
        ]
        judged.append(best_of(rules, clusters, parts).rate)
    assert np.mean(judged) == pytest.approx(0.2, abs=0.05)


def test_a_better_rule_is_found_named_and_counted() -> None:
    good = Rule(name="good", does="knows and sees", chances=np.arange(100) % 4 > 0)
    bad = Rule(name="bad", does="knows and guesses", chances=np.arange(100) % 4 == 0)
    rate = best_of([bad, good], np.arange(100))
    assert (rate.rate, rate.rule) == (0.75, "good")
    assert rate.attacker == (
        "Someone who knows and sees; of 2 rules, this one wins most against other victims."
    )
    assert rate.to_json()["rule"] == "good"
    one_crowd = best_of([bad, good], np.zeros(100, dtype=np.int64))
    assert (one_crowd.rate, one_crowd.rule) == (0.75, "good")
    assert one_crowd.attacker == "Someone who knows and sees; of 2 rules, this one wins most."
    alone = best_of([bad], np.arange(100))
    assert (alone.rule, alone.attacker) == (None, "Someone who knows and guesses.")


NESTED = (
    ("linkage", "points:1", "linkage", "points:2"),
    ("linkage", "points:2", "linkage", "points:4"),
    ("linkage", "points:4", "linkage", "points:10"),
    ("noisy-linkage", "noisy:1:500m:30min", "linkage", "points:1"),
    ("noisy-linkage", "noisy:4:500m:30min", "linkage", "points:4"),
    ("noisy-linkage", "noisy:4:2km:2h", "noisy-linkage", "noisy:4:200m:10min"),
    ("noisy-linkage", "noisy:2:500m:30min", "noisy-linkage", "noisy:8:500m:30min"),
    ("linkage", "tau:5min", "linkage", "tau:20min"),
    ("linkage", "tau:10min", "linkage", "tau:10min:2"),
    ("linkage", "points:1", "linkage", "tau:10min"),
    ("attribution", "attribution:1", "attribution", "attribution:4"),
    ("top-locations", "top:1", "top-locations", "top:3"),
)
NESTED_POINTS = (
    *NESTED[:6],
    ("nearest-linkage", "nearest:1", "nearest-linkage", "nearest:4"),
    ("noisy-linkage", "noisy:4:500m:30min", "nearest-linkage", "nearest:4"),
    ("times-linkage", "times:4", "triples-linkage", "triples:4"),
    ("times-linkage", "times:1", "times-linkage", "times:4"),
)


def classes() -> tuple[Trajectories, Release, Linkage]:
    people = random_people(150, 15, seed=3)
    return people, *naive_release(people, k=3, boxes_per_record=6)


def hiding_sets() -> tuple[Trajectories, Release, Linkage]:
    people = bursts(7)
    return people, *hidden(people)


def swapped() -> tuple[Trajectories, Release, Linkage]:
    people = crowd(60, 30)
    method = SwapLocations(k=3, space_threshold_m=300)
    return people, *method.anonymize(people, Randomness.for_research(2))


def moved() -> tuple[Trajectories, Release, Linkage]:
    people = crowd(60, 30)
    return people, *shoal.W4m(k=2, trash=0).anonymize(people, Randomness.for_research(2))


@pytest.mark.parametrize("make", [classes, hiding_sets, swapped, moved])
def test_more_knowledge_never_does_worse_than_less(
    make: Callable[[], tuple[Trajectories, Release, Linkage]],
) -> None:
    people, release, linkage = make()
    pairs = NESTED if release.kind == "boxes" else NESTED_POINTS
    texts = sorted({text for _, less, _, more in pairs for text in (less, more)})
    found: dict[tuple[str, str], Rate] = {}
    for text in texts:
        rng = Randomness.for_research(6)
        rates = attack(
            people, release, linkage, knowledge=[text], rng=rng, scope=AttackScope(targets=["release"])
        ).rates
        found |= {(rate.name, text): rate for rate in rates}
    worse = [
        (less, more, found[name, less].rate, found[other, more].rate)
        for name, less, other, more in pairs
        if found[other, more].high < found[name, less].low
    ]
    assert len(found) >= len(texts) > 10
    assert worse == []
