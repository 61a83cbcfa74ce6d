"""Where drawn people stand for all, figures come with intervals that hold the figures of everybody."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shoal
from shoal.errors import MisuseError
from shoal.measures import k_gap
from shoal.measures.k_gap import KGap
from shoal.publishing.publish import assess
from shoal.report.facts import curves as gap_figures
from shoal.report.facts.curves import gap_facts
from shoal.report.pages.assessment import assessment_report
from shoal.report.words.exposure import gaps_in_numbers, gaps_in_words
from shoal.runtime.arrays import Integers
from small_releases import plausible_gap, random_people

ARRAYS = ("gap", "space", "time", "tail_weight", "tail_weight_space", "tail_weight_time")


def of_some(gap: KGap, some: Integers) -> KGap:
    return replace(gap, subjects=some, **{name: getattr(gap, name)[some] for name in ARRAYS})


def test_the_intervals_hold_the_figures_of_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gap_figures, "_RESAMPLES", 120)
    everybody = plausible_gap(20_000)
    everybody.gap[::9] = everybody.space[::9] = everybody.time[::9] = 0.0
    whole, draws = gap_facts(20_000, everybody), 25
    true = {name: getattr(whole, name) for name in ("median", "mean", "upper", "cost_space_m", "cost_time_s")}
    true["share_hidden"] = whole.hidden / whole.people
    assert whole.ranges == {}
    held = dict.fromkeys(true, 0)
    for seed in range(draws):
        some = np.sort(np.random.default_rng(seed).choice(20_000, 500, replace=False))
        facts = gap_facts(20_000, of_some(everybody, some))
        assert facts.ranges.keys() == true.keys()
        assert (facts.people, facts.of) == (500, 20_000)
        for name, (low, high) in facts.ranges.items():
            held[name] += low <= true[name] <= high
            assert 0 < high - low < 0.6 * true[name], "an interval that says nothing holds everything"
    # of 25 intervals of 95 %, fewer than 21 hold the truth once in 140 times
    assert min(held.values()) >= 21, held


@pytest.mark.parametrize("n", [1, 2, 9, 11, 57, 333, 1000])
def test_the_intervals_are_those_of_the_draws_one_by_one(n: int) -> None:
    gap = of_some(plausible_gap(4000), np.arange(n))
    rng, slowly = np.random.default_rng(95), []
    for _ in range(500):
        people = np.sort(rng.integers(0, n, n))
        size = min(n, max(10, round(n * 0.1)))
        start = (n - size) // 2
        middle = people[np.argsort(gap.gap[people], kind="stable")[start : start + size]]
        slowly.append(
            (
                np.median(gap.gap[people]),
                gap.gap[people].mean(),
                np.quantile(gap.gap[people], 0.95),
                gap.space[middle].mean() * 2 * gap.space_cap_m,
                gap.time[middle].mean() * 2 * gap.time_cap_s,
            )
        )
    ranges = gap_facts(4000, gap).ranges
    names = ("median", "mean", "upper", "cost_space_m", "cost_time_s")
    for name, figures in zip(names, np.transpose(slowly), strict=True):
        if name in ranges:  # few people have no 95th percentile
            assert ranges[name] == tuple(np.quantile(figures, [0.025, 0.975])), name
    assert len(ranges) == (6 if n >= 200 else 5)


def test_nobody_found_hidden_does_not_mean_that_nobody_is() -> None:
    some = np.arange(0, 4000, 4)
    facts = gap_facts(4000, of_some(plausible_gap(4000), some))
    assert facts.hidden == 0
    low, high = facts.ranges["share_hidden"]
    assert low == 0.0
    assert high == pytest.approx(0.0038, abs=1e-4)


def test_a_gap_of_drawn_people_of_other_data_is_refused() -> None:
    gap = of_some(plausible_gap(4000), np.array([0, 3999]))
    with pytest.raises(MisuseError, match="the same data"):
        gap_facts(3999, gap)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more than 100 people, 60 are drawn."""
    monkeypatch.setattr(k_gap, "_ALL_UP_TO", 100)
    monkeypatch.setattr(k_gap, "_DRAWN", 60)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("exact", [False, True])
def test_a_record_says_of_whom_its_figures_are(exact: bool, tmp_path: Path) -> None:
    people = random_people(120, 8, seed=2)
    shoal.publish(
        people,
        shoal.Glove(k=2),
        tmp_path / "release",
        rng=shoal.Randomness.for_research(1),
        tries=0,
        options=shoal.PublishOptions(exact_figures=exact),
    )
    html = (tmp_path / "release" / "report.html").read_text()
    assert ("drawn at random from all" in html) is not exact
    shown = dict(re.findall(r'id="fact-(gap-[a-z-]+[0-9]*)" value="([^"]*)"', html))
    of_all = shoal.k_gap(people, 2)
    if exact:
        assert float(shown["gap-median-2"]) == pytest.approx(float(np.median(of_all.gap)), rel=1e-3)
        assert not any("-low-" in name for name in shown)
        return
    drawn = k_gap.sample_for_k_gap(120)
    assert drawn is not None
    assert float(shown["gap-median-2"]) == pytest.approx(float(np.median(of_all.gap[drawn])), rel=1e-3)
    assert (shown["gap-people"], shown["gap-of"]) == ("60", "120")
    kinds = {name.removeprefix("gap-").partition("-low-")[0] for name in shown if "-low-" in name}
    assert kinds == {"median", "hidden", "space", "time"}, "60 people have no 95th percentile to show"


@pytest.mark.usefixtures("few")
def test_an_assessment_of_drawn_people_says_so_everywhere() -> None:
    people = random_people(300, 8, seed=3)
    gaps = assess(people, [2, 5], exact_figures=False)
    assert [len(gap.gap) for gap in gaps] == [60, 60]
    assert [len(gap.gap) for gap in assess(people, [2])] == [300]
    words = gaps_in_words(people, gaps)
    assert words[0].startswith("All figures of the k-gap are of 60 people, drawn at random from 300")
    assert "(of everybody 0 % to" in words[1]
    numbers = gaps_in_numbers(people, gaps)
    assert numbers["subjects"] == 300
    for told in numbers["gaps"]:
        assert told["people"] == 60
        low, high = told["ranges"]["median"]
        assert low <= told["median"] <= high
    assert all(told["ranges"] is None for told in gaps_in_numbers(people, assess(people, [2]))["gaps"])
    page = assessment_report(people, gaps)
    assert all(sentence in page for sentence in words)
