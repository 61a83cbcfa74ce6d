"""The table that ``shoal advise`` proposes: a command that runs as printed."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from command_line import Shoal
from shoal.comparison.advice import table_command
from shoal.model.trajectories import Trajectories


@pytest.mark.parametrize("use", ["flows", "areas"])
def test_the_command_is_one_that_tabulate_takes(
    use: str, shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("shoal_tables")
    pytest.importorskip("opendp", reason="the extra `noise` is not installed")
    monkeypatch.chdir(tmp_path)
    parquet.write_table(commuters(1_800), "my calls.parquet")
    command, _ = table_command(read(), "'my calls.parquet' --id uid", [use], 1_100.0)
    assert command is not None
    assert "--grid 1km --area=2,48,2.2,48.1 --period 2024-01-01,2024-01-02" in command
    done = shoal(*shlex.split(command)[1:], "--plan")
    assert done.code == 0, done.err


def commuters(every_s: int) -> pa.Table:
    """A hundred people who go from one to the other place at midnight and noon, for two days."""
    t = np.arange(0, 2 * 86_400, every_s) + 1_704_067_200
    lon = np.where(t // 43_200 % 2, 2.0, 2.1)
    return crowd(pa.table({"uid": ["a"] * len(t), "t": t, "lat": 48 + 0.0 * t, "lon": lon}))


def read() -> Trajectories:
    return shoal.read("my calls.parquet")


def test_gps_has_stays_and_calls_have_zones() -> None:
    def trips(every_s: int) -> str | None:
        return table_command(shoal.read(commuters(every_s)), "x.csv", ["flows"], 1_000.0)[0]

    assert "--trips stays" in str(trips(300))
    assert "--trips zones --longest-gap 12h" in str(trips(1_800))


def crowd(rows: pa.Table) -> pa.Table:
    """The rows of one person, of a hundred people."""
    return pa.concat_tables([rows.set_column(0, "uid", [[f"p{n}"] * len(rows)]) for n in range(100)])


def test_squares_grow_until_some_cell_counts_enough_people_to_be_shown() -> None:
    """Fifty people in twenty-five squares of 1 km, who are in one of 8 km."""
    at = np.arange(50)
    t = np.full(50, 1_700_000_000)
    lat, lon = 48 + 0.008 * (at % 5), 2 + 0.012 * (at // 5 % 5)
    rows = pa.table({"uid": [f"p{n}" for n in at], "t": t, "lat": lat, "lon": lon})
    (side,) = re.findall(r"--grid (\d+)km", str(table_command(shoal.read(rows), "x.csv", ["areas"], 1_000.0)))
    assert int(side) >= 4
    few = rows.slice(0, 49)
    command, why = table_command(shoal.read(few), "x.csv", ["areas"], 1_000.0)
    assert (command, why) == (
        None,
        "it would be noise: at best 0 % of what is counted is in cells of 50 or more a day (squares of "
        "1 km), and half should be",
    )


def test_trips_that_count_as_people_need_fewer_a_day() -> None:
    """Twenty trips a day between two squares, for ten days: each adds to the mean of the days once."""
    at = np.arange(200)
    start_s = 1_704_103_200 + 86_400 * (at // 20) + 60 * (at % 20)
    ends = {"start_lat": 48.0, "start_lng": 2.0, "end_lat": 48.05, "end_lng": 2.05}
    times = {"started_at": start_s, "ended_at": start_s + 600}
    rows = pa.table({**times, **{name: np.full(200, value) for name, value in ends.items()}})
    command, why = table_command(shoal.read(rows), "x.csv", ["flows"], 1_000.0)
    assert (command is None, why) == (False, "")
    named = rows.append_column("user_id", [[f"p{n}" for n in at]])
    command, why = table_command(shoal.read(named, id="user_id"), "x.csv", ["flows"], 1_000.0)
    assert (command, why.startswith("it would be noise: at best 0 %")) == (None, True)


def test_no_table_answers_routes_and_none_has_data_without_dates() -> None:
    people = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    assert table_command(people, "x.csv", ["routes"], 1_000.0) == (None, "")
    assert table_command(people, "x.csv", ["flows", "routes"], 1_000.0) == (None, "")
    t = np.arange(0, 86_400, 3_600)
    early = shoal.read(crowd(pa.table({"uid": ["a"] * 24, "t": t, "lat": 48 + 0.0 * t, "lon": 2 + 0.0 * t})))
    assert table_command(early, "x.csv", ["areas"], 1_000.0) == (None, "the times have no dates")


def test_days_are_those_of_the_zone() -> None:
    t = np.arange(0, 86_400, 3_600) + 1_704_067_200 - 3_600  # a day of Paris, which begins at 23:00 UTC
    rows = pa.table({"uid": ["a"] * len(t), "t": t, "lat": 48 + 0.0 * t, "lon": 2 + 0.0 * t})
    people = shoal.read(crowd(rows), time_zone="Europe/Paris")
    given = "x.csv --time-zone Europe/Paris"
    command = str(table_command(people, given, ["areas"], 1_000.0)[0])
    assert "--period 2024-01-01,2024-01-01" in command
    assert command.startswith(f"shoal tabulate {given} ")
