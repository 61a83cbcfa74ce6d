"""The table that ``shoal advise`` proposes: a command that runs as printed."""

import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import shoal
from command_line import Shoal
from shoal.comparison.table_instead import table_command
from shoal.model.trajectories import Trajectories
from shoal.synthetic import write_synthetic


@pytest.mark.parametrize("use", ["flows", "areas"])
def test_the_command_is_one_that_tabulate_takes(
    use: str, shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("shoal_tables")
    pytest.importorskip("opendp", reason="the extra `noise` is not installed")
    monkeypatch.chdir(tmp_path)
    write_synthetic(tmp_path / "my calls.parquet", 60, 2, 1)
    command = table_command(read(), "'my calls.parquet' --id uid", [use], 11_000.0)
    assert command is not None
    assert "--grid 10km --area=-5.2,6.9,-4.8,7.2 --period 2024-01-01,2024-01-02" in command
    done = shoal(*shlex.split(command)[1:], "--plan")
    assert done.code == 0, done.err


def read() -> Trajectories:
    return shoal.read("my calls.parquet")


def test_gps_has_stays_and_calls_have_zones() -> None:
    def trips(every_s: int) -> str | None:
        t = np.arange(0, 86_400, every_s) + 1_700_000_000
        rows = pa.table({"uid": ["a"] * len(t), "t": t, "lat": 48 + 0.0 * t, "lon": 2 + 1e-6 * (t - t[0])})
        return table_command(shoal.read(rows), "x.csv", ["flows"], 1_000.0)

    assert "--trips stays" in str(trips(300))
    assert "--trips zones --longest-gap 12h" in str(trips(1_800))


def test_no_table_answers_routes_and_none_has_data_without_dates() -> None:
    people = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    assert table_command(people, "x.csv", ["routes"], 1_000.0) is None
    assert table_command(people, "x.csv", ["flows", "routes"], 1_000.0) is None


def test_days_are_those_of_the_zone() -> None:
    t = np.arange(0, 86_400, 3_600) + 1_704_067_200 - 3_600  # a day of Paris, which begins at 23:00 UTC
    rows = pa.table({"uid": ["a"] * len(t), "t": t, "lat": 48 + 0.0 * t, "lon": 2 + 0.0 * t})
    people = shoal.read(rows, time_zone="Europe/Paris")
    given = "x.csv --time-zone Europe/Paris"
    command = str(table_command(people, given, ["areas"], 1_000.0))
    assert "--period 2024-01-01,2024-01-01" in command
    assert command.startswith(f"shoal tabulate {given} ")
