"""Which trial ``shoal advise`` proposes: the best answer among those that no attack beats."""

from dataclasses import replace

import pytest

import shoal
from shoal.attacks.questions import assess_release
from shoal.attacks.rate import Rate
from shoal.comparison.advice import SEED, TRIALS, Advice, Trial, Trials, advice_for, try_releases
from shoal.messages import Message
from shoal.report.facts.evidence import publishable_rate
from shoal.utility import Facts
from shoal.utility.usefulness import USES, Answer, Usefulness, UseVerdict, usefulness_of


def trial(answer: Answer, k: int, successes: float, *, baseline: float = 0.0, tries: int = 200) -> Trial:
    verdicts = tuple(UseVerdict(use=use, answer=answer, reason=Message(""), score=0.0) for use in USES)
    return Trial(
        options=(f"--k {k}", answer, str(successes)),
        k=k,
        people=1_000,
        left_out=0.0,
        usefulness=Usefulness(verdicts=verdicts, median_space_m=1.0, median_time_s=1.0, zone_m=1.0),
        strongest=Rate(
            name="linkage",
            knowledge="points",
            attacker="Somebody.",
            target="release",
            tries=tries,
            successes=successes,
            baseline=baseline,
        ),
    )


def chosen(*trials: Trial) -> Trial | None:
    of = Trials(trials=trials, failed=(), people=1_000, days=0)
    return advice_for(of, ["areas"]).trial


@pytest.mark.parametrize(("k", "successes", "baseline"), [(2, 192, 0.12), (5, 70, 0.02), (2, 190, 0.5)])
def test_what_an_attack_beats_is_not_proposed_however_useful(
    k: int, successes: float, baseline: float
) -> None:
    beaten = trial("yes", k, successes, baseline=baseline)
    roughly = trial("roughly", 5, 36)
    assert chosen(beaten, roughly) is roughly
    assert chosen(beaten) is None


def test_one_in_k_with_the_chance_of_two_hundred_tries_is_not_beaten() -> None:
    even = trial("yes", 2, 104)
    assert chosen(even, trial("roughly", 5, 36)) is even


def test_settings_that_fail_alike_are_named_with_one_reason() -> None:
    failed = (("--k 11", "too few"), ("--k 5", "nothing left"), ("--per-day --k 11", "too few"))
    rows = Trials(trials=(), failed=failed, people=8, days=0).lines()[1:]
    assert rows == ["no release: too few: --k 11, --per-day --k 11", "no release: nothing left: --k 5"]


def test_days_are_advised_only_where_they_answer_better() -> None:
    people, days = trial("roughly", 5, 40), trial("roughly", 5, 20)
    days = replace(days, options=("--per-day", *days.options))
    assert chosen(days, people) is people
    better = trial("yes", 5, 20)
    better = replace(better, options=("--per-day", *better.options))
    assert chosen(better, people) is better


def test_counts_are_proposed_or_refused_in_words() -> None:
    advice = Advice(uses=("areas",), trial=None)
    assert advice.lines("x.csv", "shoal tabulate x.csv")[-1] == "  shoal tabulate x.csv --plan"
    assert advice.lines("x.csv", None, "why")[-1] == "  no table of counts instead: why"
    assert "table" not in " ".join(Advice(uses=("routes",), trial=None).lines("x.csv"))


def test_what_is_for_named_recipients_says_what_anybody_may_get() -> None:
    pair, five, public = trial("yes", 2, 98), trial("yes", 5, 40), trial("roughly", 11, 18)
    for trials, last in [
        ((pair, five), "no trial release is good enough"),
        ((five, public), f"roughly good with {public.name}"),
    ]:
        of = Trials(trials=trials, failed=(), people=1_000, days=0)
        assert advice_for(of, ["areas"]).lines("x.csv")[-1] == (
            f"  for anybody (precedents ask for k = 11): {last}"
        )
    alone = advice_for(Trials(trials=(public,), failed=(), people=1_000, days=0), ["areas"])
    assert "for anybody" not in " ".join(alone.lines("x.csv"))


def test_of_equal_answers_the_weakest_attack() -> None:
    weak, strong = trial("yes", 5, 20), trial("yes", 5, 40)
    assert chosen(strong, weak) is weak


def test_trials_with_shared_crowds_are_the_releases_and_attacks_of_whole_commands() -> None:
    city = shoal.read(shoal.synthesize(n_subjects=60, days=2, seed=1))
    trials = try_releases(city, None).trials
    assert len(trials) == 9
    for settings, one in zip(TRIALS, trials, strict=False):
        release, linkage = settings.method().anonymize(city, shoal.Randomness.for_research(SEED))
        useful = usefulness_of(Facts(city, release, linkage))
        assert one.usefulness.to_json() == useful.to_json(), settings
        assert one.strongest == publishable_rate(assess_release(city, release, linkage)), settings
        assert one.left_out == release.losses.samples_suppressed / city.n_samples


def test_what_is_good_for_nothing_that_is_wanted_is_not_attacked() -> None:
    city = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    told: list[Trial] = []
    trials = try_releases(city, None, wanted=[["routes", "models"]], tell=told.append).trials
    assert tuple(told) == trials
    assert all((one.strongest is None) == (one.answer_for(["routes", "models"]) == 0) for one in trials)
    unattacked = next(one for one in trials if one.strongest is None)
    assert "not attacked" in unattacked.line(30)
