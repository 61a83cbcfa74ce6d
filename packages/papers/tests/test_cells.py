"""A cell of each experiment, computed by hand on a few people."""

from collections.abc import Sequence

import numpy as np
import pytest

from shoal.model.grid import Grid
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal_papers import swap_network
from shoal_papers.data import TINY, World
from shoal_papers.table import experiments_of

Sample = tuple[str, int, int, int]  # person, slot, cells east and north


def people(*samples: Sample) -> World:
    ids, t, x, y = (list(column) for column in zip(*samples, strict=True))
    grid = Grid(cell_m=100.0, slot_s=60.0)
    data = Trajectories.from_rows(ids, np.array(t), np.array(x), np.array(y), grid=grid)
    return World(size=TINY, seed=1, inputs={"people": data})


def points(kind: str, samples: Sequence[Sample], streets: StreetGraph | None = None) -> World:
    ids, t, x, y = (list(column) for column in zip(*samples, strict=True))
    columns = [np.array(column, dtype=np.float64) for column in (t, x, y)]
    return World(size=TINY, seed=1, inputs={kind: Trajectories.from_rows(ids, *columns)}, streets=streets)


def cell(paper: str, figure: str, world: World, *place: str) -> float:
    """What an experiment measures for a row and a column; those after it are not measured."""
    (experiment,) = experiments_of(paper, [figure])
    return next(value for *at, value in experiment.function(world) if tuple(at) == place)


FAR = [(who, t, 1000, 500) for who in "cd" for t in (0, 600)]  # both always at one place, at the same times
PAIR = [("a", 0, 0, 0), ("a", 600, 0, 0), ("b", 2, 30, 0), ("b", 610, 0, 0)]
# hulls: 3.2 km and 3 min of three samples and two records; 0.2 km and 11 min of two; 0.2 km and 1 min of four
THREE = [*PAIR, ("b", 1, 30, 0)]
RAW_KM, PUBLISHED_KM = (3 * 3.2 + 6 * 0.2) / 9 / 2, (2 * 3.2 + 6 * 0.2) / 8 / 2
GAP_AB = (30 / 200 / 2 + 2 / 480 / 2 + 10 / 480 / 2) / 2  # half of km / 20 km and of min / 8 h, mean of two


@pytest.mark.parametrize(
    ("figure", "samples", "row", "column", "value"),
    [
        ("figure-3a", [*PAIR, *FAR], "civ", "hidden already, %", 50),
        ("figure-3a", PAIR, "civ", "median", GAP_AB),
        ("figure-3b", PAIR, "k = 2", "median", GAP_AB),
        ("figure-4", [*PAIR, *FAR], "civ, 1 km and 30 min", "hidden, mean over offsets, %", 50),
        ("figure-4", [*PAIR, *FAR], "civ, 20 km and 480 min", "hidden, mean over offsets, %", 100),
        ("figure-5", PAIR, "civ", "time share, median, %", 100 * (12 / 480 / 4) / GAP_AB),
        ("figure-7", [*THREE, *FAR], "sen", "raw: kept place, %", 100 * 6 / 9),
        ("figure-7", [*THREE, *FAR], "sen", "published: kept place, %", 100 * 6 / 8),
        ("figure-8", [*THREE, *FAR], "k = 2", "raw: whole within 2 km, %", 100 * 6 / 9),
        ("figure-8-k-merge", [(who, 0, 10 * (who == "a"), 0) for who in "abcde"], "k = 5, k-merge",
         "raw: kept place, %", 0),
        ("figure-9", [*THREE, *FAR], "none", "raw: mean half, km", RAW_KM),
        ("figure-9", [*THREE, *FAR], "none", "published: mean half, km", PUBLISHED_KM),
        ("table-2", [*THREE, *FAR], "civ, k = 2, by samples", "published: mean half, km", PUBLISHED_KM),
        ("table-2-w4m", [*PAIR, *FAR], "civ, k = 2", "mean position error, km", (0.5 + 0.5) / 8),
        ("table-2-w4m", [*PAIR, *FAR], "civ, k = 2", "mean time error, min", (2 + 10) / 8),
        ("table-2-w4m-area", [*PAIR, *FAR], "civ, k = 2", "mean time error, min", (2 + 10) / 8),
        ("figure-10", [*THREE, *FAR], "civ, 1 day, raw", "mean half, km", RAW_KM),
        ("figure-11", [*THREE, *FAR], "sen, 100 % of the people, published", "mean half, km", PUBLISHED_KM),
        ("section-7.3", [*THREE, *FAR], "civ", "mean, km", 200**0.5 / 10 / 4),
    ],
)  # fmt: skip
def test_a_cell_of_glove(figure: str, samples: list[Sample], row: str, column: str, value: float) -> None:
    assert cell("glove", figure, people(*samples), row, column) == pytest.approx(value)


NEAR = [(who, t, who == "b", 0) for who in "ab" for t in (0, 60, 200)]  # a cell apart, at the same times


@pytest.mark.parametrize(
    ("figure", "samples", "row", "column", "value"),
    [
        ("table-1", [*THREE, *FAR], "civ", "people per station", 4 / 3),
        ("table-1", [*THREE, *FAR], "civ", "people per km2", 4 / (30 * 500 / 2 / 100)),
        ("table-2-abi", PAIR, "k = 2", "k-merge, min", (3 + 11) / 2),
        ("table-2-abi", PAIR, "k = 2", "k-merge, km", (3.2 + 0.2) / 2),
        ("table-2-abi", PAIR, "k = 2", "W4M, min", (2 + 10) / 4),
        ("table-2-dak", PAIR, "k = 2", "W4M, km", (0.5 + 0.5) / 4),
        ("table-2-dak", PAIR, "k = 2", "GLOVE, km", (3.2 + 0.2) / 2),
        ("figure-6", NEAR, "dak, tau 30 min", "median, km", 0.3),
        ("figure-7", NEAR, "sen, tau 30 min", "median, min", 1),
        ("figure-9", NEAR, "abi, 0 to 6 h", "mean, km", 0.3),
        ("trade-off", NEAR, "k = 2, tau 1 h, epsilon 1 h", "median, km", 0.3),
    ],
)
def test_a_cell_of_kte(figure: str, samples: list[Sample], row: str, column: str, value: float) -> None:
    assert cell("kte", figure, people(*samples), row, column) == pytest.approx(value)


def side_by_side(n: int, apart: int) -> list[Sample]:
    """n objects that stand still for four steps, and one of them is seen once more, alone."""
    return [(f"o{at:02d}", t, at * apart, 0) for at in range(n) for t in range(4)] + [("o00", 500, 0, 0)]


STREET = StreetGraph.straight(np.array([-1e3, 3e3]), np.zeros(2), np.array([0]), np.array([1]))


@pytest.mark.parametrize(
    ("figure", "samples", "row", "column", "value"),
    [
        ("table-1", side_by_side(2, 100)[:-1], "delta 0", "k = 2", 8 * 50 / 1e6),
        ("table-2", side_by_side(2, 100)[:-1], "delta 5,000", "k = 2", 1),
        ("table-3", side_by_side(2, 100)[:-1], "delta 5,000", "k = 2", 1),
        ("figure-3a", side_by_side(2, 0)[:-1], "delta 0", "k = 2", 0),
        ("table-4", side_by_side(2, 100), "delta 0", "k = 2, locations, %", 100 / 9),
        ("figure-3b", side_by_side(2, 100)[:-1], "delta 5,000", "k = 2", 0),
        ("least-sum", side_by_side(3, 1_100), "the least sum, R^s = 1,000", "locations removed, %", 100),
        ("table-5", side_by_side(2, 100), "delta 5,000", "k = 2, locations, %", 100),
        ("figure-2", side_by_side(10, 0), "SwapLocations, R^s = 100", "locations removed, %", 100 / 41),
        ("readings", side_by_side(15, 1), "clusters at random", "R^s = 1,000,000, k = 15, %", 100 / 61),
    ],
)
def test_a_cell_of_swapping(
    figure: str, samples: list[Sample], row: str, column: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "k = 2" in column:
        monkeypatch.setattr(swap_network, "KS", (2,))
    world = points("network", samples, STREET)
    assert cell("swap", figure, world, row, column) == pytest.approx(value)


def test_a_gain_is_the_distortion_of_walks_less_ours() -> None:
    """Two objects 9,000 apart: a cylinder of radius 5,000 leaves both; one of 0 takes both from queries."""
    world = points("network", side_by_side(2, 9_000)[:-1])
    moved = swap_network._walked(world, 2, 0)
    assert [one.value for one in swap_network._gained(world, 5_000, 2, moved)] == [-100, -100]


CABS = [(who, 60 * t, 10 * (who == "b"), 0) for who, last in (("a", 7), ("b", 5)) for t in range(last)]


@pytest.mark.parametrize(
    ("figure", "row", "column", "value"),
    [
        ("trips", "points of a trip, mean", "number", 6),
        ("table-8", "R^s = 1 km", "k = 2, locations, %", 100 * 2 / 12),
        ("table-8-definition", "R^s = 1 km", "k = 2, locations, %", 100 * 2 / 12),
        ("figure-6", "the paper's distance (Def. 12)", "common time, % of the longer", 100 * 4 / 6),
    ],
)
def test_a_cell_of_cabs(figure: str, row: str, column: str, value: float) -> None:
    assert cell("swap", figure, points("cabs", CABS), row, column) == pytest.approx(value)


def test_trips_of_cabs_that_agree_are_swapped_without_any_distortion() -> None:
    world = points("cabs", [(who, 60 * t, 100 * t, 0) for who in "ab" for t in range(5)])
    for figure in ("table-9", "table-9-definition"):
        assert cell("swap", figure, world, "R^s = 1 km", "k = 2, AID, %") == 0
    assert cell("swap", "figure-8", world, "R^s = 1 km", "k = 2, TotalSD, km") == 0
