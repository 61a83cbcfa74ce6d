"""What ``shoal assess`` says of a release before there is one, beside the release."""

import math

import numpy as np
import pytest

from shoal.io import read
from shoal.methods.glove.glove import Glove
from shoal.model.trajectories import Trajectories
from shoal.publishing import estimate as estimates
from shoal.publishing.estimate import estimate_releases
from shoal.runtime.randomness import Randomness
from shoal.synthetic import Layout, synthesize
from shoal.utility.accuracy import measure_accuracy


def released_medians(people: Trajectories, k: int) -> tuple[float, float]:
    extents = measure_accuracy(people, *Glove(k=k).anonymize(people, Randomness.for_research(5))).raw
    return extents.median_space_m, extents.median_time_s


def test_of_few_people_the_release_itself_is_made() -> None:
    people = read(synthesize(n_subjects=60, days=2, seed=3))
    (told,) = estimate_releases(people, [3])
    assert (told.space_m, told.time_s) == released_medians(people, 3)
    assert (told.space_low_m, told.space_high_m) == (told.space_m, told.space_m)
    assert (told.sampled, told.people) == (60, 60)


@pytest.mark.parametrize(("layout", "k"), [("city", 5), ("nation", 2), ("sen", 2)])
def test_a_sample_tells_the_release_of_everybody(layout: Layout, k: int) -> None:
    people = read(synthesize(n_subjects=5_000, days=1, seed=6, layout=layout))
    (told,) = estimate_releases(people, [k])
    space_m, time_s = released_medians(people, k)
    assert told.sampled == 2_000
    assert max(told.space_m / space_m, space_m / told.space_m) < 1.5
    assert max(told.time_s / time_s, time_s / told.time_s) < 1.5
    assert told.space_low_m < told.space_m < told.space_high_m


def test_medians_that_stay_the_same_are_those_of_everybody() -> None:
    assert estimates._extrapolate(700.0, 0.0, [700.0, 700.0], 50.0) == pytest.approx((700.0, 700.0, 700.0))


def test_what_falls_by_a_tenth_a_doubling_falls_on_more_slowly() -> None:
    middle, low, high = estimates._extrapolate(700.0, 0.0, [700.0 / 0.9] * 2, 8.0)
    assert 700.0 * 0.9**3 < middle < 700.0
    assert (low, high) == pytest.approx((700.0 * 0.9**3, 700.0 * 0.9**0.6))


def test_samples_that_spread_widen_the_interval() -> None:
    _, low, high = estimates._extrapolate(700.0, 0.1, [700.0, 700.0], 1.0)
    assert (low, high) == pytest.approx((700.0 * math.exp(-0.196), 700.0 * math.exp(0.196)))


def test_the_error_of_a_median_is_that_of_medians_of_drawn_crowds() -> None:
    draw = np.random.default_rng(8)
    crowds, size = 400, 50

    def drawn() -> np.ndarray:
        return np.exp(draw.normal(8, 1, crowds)[:, None] + draw.normal(0, 0.3, (crowds, size))).astype(
            np.int64
        )

    spread = np.std([np.log(np.median(drawn())) for _ in range(500)])
    errors = [estimates._median(drawn().ravel(), np.repeat(np.arange(crowds), size))[1] for _ in range(20)]
    assert np.mean(errors) == pytest.approx(spread, rel=0.15)


def test_single_days_are_drawn_by_whole_dates() -> None:
    days = read(synthesize(n_subjects=200, days=10, seed=3), per_day=True)
    dates = days.t[days.offsets[:-1]] // 1440
    drawn = estimates.draw_people(days, 450, seed=1)
    assert len(np.unique(drawn)) == 450
    _, of_date = np.unique(dates[drawn], return_counts=True)
    _, of_all = np.unique(dates[np.isin(dates, dates[drawn])], return_counts=True)
    assert len(of_date) == 3
    assert np.count_nonzero(of_date != of_all) == 1, "all days of every date but the last"
    assert len(np.unique(np.diff(drawn) > 0)) == 2, "and the days of a date in a random order"
    assert sorted(estimates.draw_people(days, days.n_subjects, seed=1)) == list(range(days.n_subjects))


def test_of_too_few_people_nothing_is_said() -> None:
    (told,) = estimate_releases(read(synthesize(n_subjects=6, days=2, seed=3)), [2])
    assert math.isnan(told.space_m)
    assert told.in_words() == "Too few people to say what a release with k = 2 would be."


def test_crowds_too_large_for_a_sample_are_said_to_be() -> None:
    people = read(synthesize(n_subjects=2_100, days=1, seed=6))
    (told,) = estimate_releases(people, [600])
    assert math.isnan(told.space_m)
    assert told.in_words() == "Too few people in a sample to say what a release with k = 600 would be."
