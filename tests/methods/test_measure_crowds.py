"""The benches of the refinement and of samples left out run, and play every attack of the lab unless told."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import measure_omission
import measure_refinement
import shoal
from shoal.methods.glove.glove import START, Start
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts

KNOWN = ["insider"]  # an attack that needs few kernels; the lab's own tests play the others


@pytest.fixture(scope="module")
def city() -> shoal.Trajectories:
    return shoal.read(shoal.synthesize(24, 2, 3, layout="city"))


def test_every_attack_is_asked_for_unless_some_are_named(
    city: shoal.Trajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def attack(*_: Any, knowledge: Any, **__: Any) -> Any:
        asked.append(knowledge)
        return SimpleNamespace(rates=[])

    monkeypatch.setattr(measure_refinement, "attack", attack)
    list(measure_refinement.lines(city, [3], 1, 8))
    list(measure_omission.lines(city, {"k": 3}, [], 8, 0.1))
    assert asked == [None] * 4  # what shoal.attack takes for everything


def test_the_refinement_and_attacks_before_and_after(city: shoal.Trajectories) -> None:
    told = list(measure_refinement.lines(city, [3], 1, 8, KNOWN))
    assert told[0].startswith("20 people, ")
    rows = [line.split("|")[1].strip() for line in told if line.startswith("| ")]
    assert rows[:2] == ["greedy", "refined, 1 rounds"]
    assert "insider-exact" in rows[2:]


@pytest.mark.parametrize("start", START)
def test_both_releases_are_those_of_anonymize(city: shoal.Trajectories, start: Start) -> None:
    methods = shoal.Glove(k=3), shoal.Glove(k=3, start=start, refine=True, refine_rounds=1)
    for one, method in zip(measure_refinement.both(city, 3, 1, start), methods, strict=True):
        expected, _ = method.anonymize(city, Randomness.for_research(1))
        assert one.release.parameters == expected.parameters
        assert one.release.trajectory_ids == expected.trajectory_ids
        assert np.array_equal(one.release.boxes.columns(), expected.boxes.columns())


def test_without_the_ramp_other_crowds_are_found(city: shoal.Trajectories) -> None:
    durations = [
        Facts(city, made.release, made.linkage).accuracy.raw.mean_time_s
        for ramp in (True, False)
        for made in measure_refinement.both(city, 3, 1, "greedy", ramp=ramp)[1:]
    ]
    assert durations[0] != durations[1]


def test_other_costs_stand_beside_those_that_are_built_in(city: shoal.Trajectories) -> None:
    published, _ = measure_refinement.parted(city)
    told = list(measure_refinement.lines_of_costs(city, [3], 1))
    rows = {
        row[0]: row for line in told[1:] for row in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    for name, ramp in (("root four times", False), ("root four times, ramp of 4 u² (built in)", True)):
        greedy, refined = (
            Facts(published, made.release, made.linkage).accuracy.raw
            for made in measure_refinement.both(published, 3, 1, "greedy", ramp=ramp)
        )
        assert rows[name][3] == f"{measure_refinement.geometric_ratio(refined, greedy):.3f}"
    assert len({tuple(row[1:4]) for row in rows.values()}) > 3


def test_the_frontier_and_attacks_before_and_after(city: shoal.Trajectories) -> None:
    told = list(measure_omission.lines(city, {"k": 3}, [], 8, 0.1, KNOWN))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told if line.startswith("| ")]
    frontier, attacks = rows[1:3], {row[0] for row in rows[3:]}
    assert [row[0] for row in frontier] == ["0%", "10%"]
    assert frontier[0][1] == "0.00%" != frontier[1][1]
    assert "insider-exact" in attacks
