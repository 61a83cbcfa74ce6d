"""The width of a grid that hides the places at the sides of boxes."""

from pathlib import Path

import numpy as np
import pytest

from command_line import Shoal
from shoal import Glove, SwapLocations, Trajectories, read
from shoal.comparison.grid_width import WIDTHS_M, choose_grid, try_grids
from shoal.errors import MisuseError
from shoal.release_folder.manifest import read_manifest
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic

K = 3


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 60, 1, 5)
    return path


def test_trials_end_at_the_first_grid_that_hides_the_sides(city: Path) -> None:
    trials = list(try_grids(read(city), Glove(k=K)))
    assert [trial.width_m for trial in trials] == list(WIDTHS_M[: len(trials)])
    gains = [trial.reading.rate - trial.reading.baseline for trial in trials]
    assert gains[0] > 0.2  # stations are few: whoever knows them names them with a grid of 500 m
    assert all(gain >= 0.05 for gain in gains[:-1])
    assert trials[-1].hides == (gains[-1] < 0.05)
    assert trials[-1].hides or len(trials) == len(WIDTHS_M)
    assert np.all(np.diff([trial.space_m for trial in trials]) >= 0)


def test_the_command_line_takes_the_grid_that_the_trials_end_with(
    city: Path, tmp_path: Path, shoal: Shoal
) -> None:
    words = (
        "anonymize",
        city,
        "--k",
        K,
        "--hull",
        "grid:auto",
        "--risk-tries",
        0,
        "--output",
        tmp_path / "out",
    )
    outcome = shoal(*words)
    shown = [
        line.partition(":")[2].partition("m:")[0] for line in outcome.err.splitlines() if "grid:" in line
    ]
    if outcome.code == 0:
        assert read_manifest(tmp_path / "out").parameters["hull"] == f"grid:{shown[-1]}m"
    else:
        assert "--hull leaves:10" in outcome.err
    assert shoal(*words, "--blocks", 20).code == 2


def test_only_methods_with_boxes_choose_a_grid() -> None:
    people = Trajectories.from_rows(["a"], [0], [0], [0])
    with pytest.raises(MisuseError, match="leave out hull"):
        choose_grid(people, SwapLocations(k=2, time_threshold_s=1, space_threshold_m=1), Run(), print)
