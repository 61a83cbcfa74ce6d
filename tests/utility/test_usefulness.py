"""The verdict on usefulness: known answers at both ends, thresholds, and every row of USES."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import shoal
from naive_release import stating
from shoal.messages import say
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.model.claims import KAnonymity
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.report.pages.frame import page
from shoal.runtime.randomness import Randomness
from shoal.utility import METRICS, Facts
from shoal.utility.facts import _without_outliers
from shoal.utility.usefulness import USES, Answer, Usefulness, UseVerdict, usefulness_of


@pytest.fixture(scope="module")
def city() -> Trajectories:
    return shoal.read(shoal.synthesize(n_subjects=300, days=3, seed=1))


def released(city: Trajectories, crowds: list[EquivalenceClass]) -> tuple[Release, Linkage]:
    return assemble(city, crowds, stating(KAnonymity(k=2), "none"), Randomness.for_research(1))


def unchanged(city: Trajectories) -> tuple[Release, Linkage]:
    return released(
        city,
        [
            EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(*city.samples_of(i)))
            for i in range(city.n_subjects)
        ],
    )


def one_box_for_all(city: Trajectories) -> tuple[Release, Linkage]:
    """Everything that anyone did, somewhere in the whole area at some time."""
    box = Boxes(
        t_start=city.t.min()[None],
        t_end=city.t.max()[None] + 1,
        x_min=city.x.min()[None],
        y_min=city.y.min()[None],
        x_max=city.x.max()[None] + 1,
        y_max=city.y.max()[None] + 1,
    )
    return released(city, [EquivalenceClass(members=np.arange(city.n_subjects), boxes=box)])


def answers(useful: Usefulness) -> dict[str, str]:
    return {verdict.use.name: verdict.answer for verdict in useful.verdicts}


def test_unchanged_data_are_good_for_everything(city: Trajectories) -> None:
    useful = usefulness_of(Facts(city, *unchanged(city)))
    assert answers(useful) == {use.name: "yes" for use in USES}
    assert useful.is_useful
    assert not useful.cautions
    assert not useful.ways_out
    assert "good for: busy areas" in useful.summary


def test_one_box_for_everyone_is_good_for_nothing(city: Trajectories) -> None:
    useful = usefulness_of(Facts(city, *one_box_for_all(city)))
    found = answers(useful)
    assert set(found.values()) == {"no"}
    assert not useful.is_useful
    assert len(useful.cautions) == 1
    assert useful.cautions[0].startswith("OF NO USE")
    assert [way.option for way in useful.ways_out] == ["--per-day", "--refine", "shoal tabulate"]
    refined = replace(useful, made_with={"refine": True, "per_day": False})
    assert [way.option for way in refined.ways_out] == ["--per-day", "shoal tabulate"]
    assert "  each day of a person by itself: --per-day" in useful.lines()
    in_series = replace(useful, made_with={"series": True, "per_day": False})
    assert [way.option for way in in_series.ways_out] == ["shoal tabulate"]


@pytest.mark.parametrize(
    ("given", "css_class"),
    [
        (("yes",) * 5, "verdict"),
        (("yes", "no", "no", "no", "no"), "verdict bare"),
        (("yes", "yes", "yes", "yes", "roughly"), "verdict bare"),
        (("yes", "yes", "yes", "yes", "unknown"), "verdict bare"),
        (("no",) * 5, "verdict bare"),
    ],
)
def test_only_a_release_that_is_good_for_everything_is_green(
    given: tuple[Answer, ...], css_class: str
) -> None:
    verdicts = [
        UseVerdict(use=use, score=0.5, answer=answer, reason=say("test.reason", "a reason"))
        for use, answer in zip(USES, given, strict=True)
    ]
    useful = Usefulness(verdicts=tuple(verdicts), median_space_m=500.0, median_time_s=600.0, zone_m=1000.0)
    html = page("usefulness.html.j2", {}, usefulness=useful, sampled=None)
    assert re.findall(r'class="(verdict[^"]*)" id="usefulness"', html) == [css_class]


def test_places_of_others_are_good_for_no_use_of_places(city: Trajectories) -> None:
    """Each person's samples are thrown evenly over the area: hours and numbers stay, places say nothing."""
    rng = np.random.default_rng(3)
    crowds = []
    for i in range(city.n_subjects):
        t, x, _ = city.samples_of(i)
        thrown = (rng.integers(side.min(), side.max() + 1, len(x)) for side in (city.x, city.y))
        crowds.append(EquivalenceClass(members=np.array([i]), boxes=Boxes.of_samples(t, *thrown)))
    found = answers(usefulness_of(Facts(city, *released(city, crowds))))
    assert [found[name] for name in ("areas", "presence", "flows")] == ["no", "no", "no"]


def test_a_guess_has_no_skill_and_the_truth_has_all(city: Trajectories) -> None:
    facts = Facts(city, *unchanged(city))
    usefulness_of(facts)
    for use in USES[:3]:
        (name,) = use.metrics
        value = facts.values[name]
        assert value.baseline is not None
        assert 0 <= value.baseline < value.value == pytest.approx(1)
        assert use.score({name: value}) == pytest.approx(1)
        assert use.score({name: replace(value, value=value.baseline)}) == 0
    assert facts.guessed_shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("use", USES, ids=lambda use: use.name)
def test_each_use_has_metrics_and_ordered_thresholds(use: shoal.utility.usefulness.Use) -> None:
    assert set(use.metrics) <= set(METRICS)
    assert all(set(METRICS[name].takes) == {"boxes", "points"} for name in use.metrics)
    assert use.yes > use.roughly if use.better == "higher" else use.yes < use.roughly


def test_of_few_people_nothing_is_told(city: Trajectories) -> None:
    few = city.keep(np.arange(12))
    useful = usefulness_of(Facts(few, *unchanged(few)), least_people=10)
    assert answers(useful)["models"] == "unknown"  # a median of twelve people is the radius of one of them
    assert math.isnan(useful.verdicts[-1].score)
    assert useful.to_json()["uses"]["models"] == {"answer": "unknown", "score": None}
    assert answers(usefulness_of(Facts(few, *unchanged(few))))["models"] == "yes"


def test_places_beyond_outliers_do_not_widen_the_zones(city: Trajectories) -> None:
    near = Facts(city, *unchanged(city)).zones
    far = replace(city, x=np.where(np.arange(city.n_samples) == 0, city.x + 1_000_000, city.x))
    zones = Facts(far, *unchanged(far)).zones
    assert zones.x_m[1] - zones.x_m[0] == pytest.approx(near.x_m[1] - near.x_m[0], rel=0.1)


@pytest.mark.parametrize("away", [0, -(1 << 30), 1 << 31, 1 << 40])
def test_outliers_lie_beyond_numpys_quartiles_wherever_the_places_are(away: int) -> None:
    rng = np.random.default_rng(1)
    found, expected = [], []
    for n in range(1, 60):
        places = (rng.standard_cauchy(n) * 100).astype(np.int64) + away
        low, high = np.quantile(places, (0.25, 0.75))
        reach = 1.5 * (high - low)
        inside = places[(places >= low - reach) & (places <= high + reach)]
        expected.append((inside.min(), inside.max()))
        found.append(_without_outliers(places))
    assert found == expected
    assert sum(least < most for least, most in expected) > 50
