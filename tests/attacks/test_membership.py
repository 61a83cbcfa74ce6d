"""Is somebody in the data: an oracle, a known answer, and people about whom the release tells nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.membership import best_bound, says_rightly
from shoal.attacks.target import index_over_time
from shoal.errors import MisuseError
from shoal.kernels.likelihood import strongest_evidence
from shoal.model.grid import Grid
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from small_releases import naive_release, random_people


def asked(inside: Trajectories, outside: Trajectories, p: int = 4, k: int = 2) -> dict[str, Rate]:
    release, linkage = naive_release(inside, k=k, boxes_per_record=12)
    found = attack(
        inside,
        release,
        linkage,
        knowledge=[f"membership:{p}"],
        scope=AttackScope(control=outside),
        rng=Randomness.for_research(1),
    )
    return {rate.target: rate for rate in found.rates}


@pytest.mark.kernels
@given(seed=st.integers(0, 1000))
def test_evidence_is_that_of_every_box(seed: int) -> None:
    draw = np.random.default_rng(seed)
    low, size = draw.integers(0, 6, (12, 3)), draw.integers(1, 5, (12, 3))
    boxes = np.column_stack([low[:, 0], (low + size)[:, 0], low[:, 1:], (low + size)[:, 1:]])
    record = np.sort(draw.integers(0, 4, 12))
    samples, offsets = draw.integers(0, 9, (5, 3)), np.array([0, 2, 2, 5])
    found = np.zeros(3)
    index = index_over_time(boxes, np.searchsorted(record, np.arange(5)))
    strongest_evidence(offsets, samples, index, 4, 200.0, found)
    for person in range(3):
        own = samples[offsets[person] : offsets[person + 1]]
        totals = []
        for one in range(4):
            worth = [
                max(
                    (
                        1 + np.log(200 / ((b[1] - b[0]) * (b[4] - b[2]) * (b[5] - b[3])))
                        for b in boxes[record == one].tolist()
                        if b[0] <= t < b[1] and b[2] <= x < b[4] and b[3] <= y < b[5]
                    ),
                    default=0.0,
                )
                for t, x, y in own.tolist()
            ]
            totals.append(sum(worth) / max(len(own), 1))
        assert found[person] == pytest.approx(max(totals))


def test_a_bound_parts_those_inside_from_those_outside() -> None:
    strengths = np.array([5.0, 4, 6, 1, 2, 0])
    member = np.array([True, True, True, False, False, False])
    assert best_bound(strengths, member) == 4
    assert says_rightly(np.repeat(strengths, 2), np.repeat(member, 2)).all()


def test_people_inside_are_told_from_people_outside_and_raw_data_tells_all() -> None:
    people = random_people(90, 20, seed=2)
    rates = asked(people.keep(np.arange(60)), people.keep(np.arange(60, 90)))
    assert rates["raw"].rate > 0.98
    assert rates["release"].low > 0.6
    assert rates["release"].tries == 60
    assert rates["control"].low <= 0.5 <= rates["control"].high
    assert {rate.baseline for rate in rates.values()} == {0.5}


def test_where_everybody_is_everywhere_nobody_can_tell() -> None:
    draw = np.random.default_rng(0)
    ids = [f"p{i:03d}" for i in range(200) for _ in range(20)]
    people = Trajectories.from_rows(
        ids, draw.integers(0, 5000, 4000), *draw.integers(0, 50, (2, 4000)), grid=Grid()
    )
    rates = asked(people.keep(np.arange(100)), people.keep(np.arange(100, 200)), p=1, k=50)
    assert rates["release"].low <= 0.5 <= rates["release"].high


def test_without_people_outside_there_is_nobody_to_ask_about() -> None:
    people = random_people(12, 8, seed=2)
    release, linkage = naive_release(people)
    with pytest.raises(MisuseError, match="4 who are not; give control"):
        attack(people, release, linkage, knowledge=["membership:2"], rng=Randomness.for_research(1))
    found = attack(people, release, linkage, rng=Randomness.for_research(1), tries=5)
    assert any("membership" in note for note in found.notes)
