"""The benches behind departures and what was tried: isolated samples, late suppression, stations beside."""

from dataclasses import replace

import numpy as np
import pytest

import measure_cylinders
import measure_isolation
import measure_stations
import measure_suppression
import measure_tails
import shoal
from shoal.measures.stretch import SPACE_CAP_M, TIME_CAP_S
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.omission import Budget
from shoal.synthetic.people import HABITS
from shoal_papers.data import TINY


@pytest.fixture(scope="module")
def city() -> shoal.Trajectories:
    return shoal.read(shoal.synthesize(24, 1, 3, layout="city"))


def test_around_the_pivot_its_own_points_stay_and_others_come_within_half_of_delta() -> None:
    people = shoal.read(shoal.synthesize(24, 1, 3, layout="city"), snap=False)
    clusters = list(W4m(k=3, delta_m=500.0).clusters(people, shoal.Run()))
    assert clusters
    for cluster in clusters:
        pivot = measure_cylinders.pivot_of(people, cluster)
        assert people.t[cluster.source[pivot]].tolist() == cluster.t.tolist()
        x, y = measure_cylinders.around(cluster.x, cluster.y, pivot, 500.0)
        assert x[pivot].tolist() == people.x[cluster.source[pivot]].tolist()
        away = np.hypot(x - x[pivot], y - y[pivot])
        assert (
            away.max()
            == pytest.approx(250.0)
            == away[np.hypot(cluster.x - x[pivot], cluster.y - y[pivot]) > 250].min()
        )


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_isolation_is_the_distance_to_the_others_and_the_budget_is_kept(city: shoal.Trajectories) -> None:
    k, owner = 3, np.repeat(np.arange(city.n_subjects), city.lengths)
    grid = city.snapped_grid()
    away = np.abs(np.subtract.outer(city.x, city.x)) + np.abs(np.subtract.outer(city.y, city.y))
    apart = away * grid.cell_m / SPACE_CAP_M
    apart = apart + np.abs(np.subtract.outer(city.t, city.t)) * grid.slot_s / TIME_CAP_S
    apart[owner[:, None] == owner] = np.inf
    of_each = np.array([apart[:, owner == one].min(axis=1) for one in range(city.n_subjects)])
    np.testing.assert_allclose(measure_isolation.isolation(city, k), np.sort(of_each, axis=0)[k - 2])
    part, kept = measure_isolation.without_the_isolated(city, k, Budget(of_all=0.1, of_one=0.3))
    assert part.n_samples == kept.sum() == city.n_samples - int(0.1 * city.n_samples)
    lost = np.bincount(owner[~kept], minlength=city.n_subjects)
    assert 0 < lost.max() <= (0.3 * city.lengths).max()
    assert (lost <= 0.3 * city.lengths).all()


def test_samples_are_left_out_before_crowds_or_after(city: shoal.Trajectories) -> None:
    told = [cells(line) for line in "\n".join(measure_isolation.lines(city, 3, 0.1)).splitlines()[3:]]
    names = ["nothing", "from finished crowds", "before crowds are formed", "half and half"]
    assert [row[0] for row in told] == names
    missing = [float(row[1].rstrip("%")) for row in told]
    assert missing[0] == 0
    assert all(0 < share <= 10 for share in missing[1:])


def test_who_is_left_out_late_takes_cover_from_others(city: shoal.Trajectories) -> None:
    told = "\n".join(measure_suppression.lines(city, 3)).splitlines()[2:]
    before, after = (cells(line) for line in told)
    assert before[0] == "before"
    assert before[2] == "0"
    assert after[0] == "after"
    assert int(after[2]) > 0


def test_habits_change_for_one_measurement_alone() -> None:
    told = [cells(line) for line in measure_stations.lines([0.5, 0.0], replace(TINY, seeds=1))]
    assert [row[0] for row in told[2:]] == ["50%", "0%"]
    assert told[2][1:] != told[3][1:]
    assert HABITS["civ"].handover == HABITS["abi"].handover == 0.45
    crowds = [
        cells(line)
        for line in measure_stations.lines([0.5, 0.0], replace(TINY, seeds=1), measure_stations.CROWDS)
    ]
    assert [len(row) for row in crowds] == [10] * 4
    assert crowds[2][1:] != crowds[3][1:]


def test_habits_of_the_nations_change_for_one_measurement_alone() -> None:
    changes: dict[str, dict[str, float]] = {
        "as it is": {},
        "alike": {"rate_sigma": 0.1},
        "stay": {"staying": 0.9},
    }
    before = HABITS["sen"]
    told = [cells(line) for line in measure_tails.lines(changes, replace(TINY, seeds=1))]
    assert [row[:2] for row in told[2:]] == [[name, layout] for name in changes for layout in ("civ", "sen")]
    assert len({tuple(row[1:]) for row in told[2:]}) == 6
    assert HABITS["sen"] == before
