"""People on disk are the people that reading into memory gives, with the same account of every row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal
from shoal.errors import InputError, MisuseError
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.model.people_on_disk import PEOPLE_FILE, SAMPLES_FILE, SUMS_FILE, StoredPeople
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from stored import stored

ROWS = """uid,t,lat,lon
zoe,2024-05-01T10:00:00Z,45.1,5.1
amy,2024-05-01T11:00:00Z,45.2,5.2
zoe,2024-05-01T10:00:00Z,45.1,5.1
bob,2024-05-02T10:00:00Z,95.0,5.1
zoe,2024-05-01T09:00:00Z,45.1,5.3
,2024-05-01T10:00:00Z,45.1,5.1
amy,2024-05-03T11:00:00Z,45.2,5.2
bob,2024-05-02T12:00:00Z,45.0,5.1
eve,never,45.0,5.1
eve,2024-05-02T12:00:00Z,45.0,5.1
"""


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.csv"
    path.write_text(ROWS)
    return path


def assert_same(on_disk: StoredPeople, in_memory: Trajectories) -> None:
    loaded = on_disk.load(np.arange(on_disk.n_subjects))
    for each in (on_disk, loaded):
        assert (each.ids, each.crs, each.intake, each.n_samples) == (
            in_memory.ids,
            in_memory.crs,
            in_memory.intake,
            in_memory.n_samples,
        )
        assert each.snapped_grid() == in_memory.snapped_grid()
    for name in ("offsets", "t", "x", "y", "input_rank"):
        assert np.array_equal(getattr(loaded, name), getattr(in_memory, name)), name


@pytest.mark.parametrize(
    "settings", [{}, {"per_day": True}, {"min_samples_per_day": 0.6}, {"cell_m": 5000, "slot_s": 3600}]
)
def test_stored_is_what_reading_gives(calls: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    people = store_people(calls, Reading(not_after_s=2e9, **settings), tmp_path / "people", Run())
    in_memory = shoal.read(calls, not_after_s=2e9, **settings)
    assert in_memory.intake.dropped
    assert_same(people, in_memory)
    assert_same(StoredPeople.open(tmp_path / "people"), in_memory)
    assert sorted(path.name for path in (tmp_path / "people").iterdir()) == [
        PEOPLE_FILE,
        SAMPLES_FILE,
        SUMS_FILE,
    ]


def test_a_folder_of_parquet_files_in_random_order(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    table = shoal.synthesize(300, 2, 4)
    order = np.random.default_rng(0).permutation(table.num_rows)
    (tmp_path / "calls").mkdir()
    for part, rows in enumerate(np.array_split(order, 3)):
        pq.write_table(table.take(rows), tmp_path / "calls" / f"{part}.parquet", row_group_size=1000)
    assert_same(
        store_people(tmp_path / "calls", Reading(), tmp_path / "people", Run()),
        shoal.read(tmp_path / "calls"),
    )


def test_any_few_are_loaded_as_keep_gives_them(tmp_path: Path) -> None:
    original = shoal.read(shoal.synthesize(60, 2, 4))
    people = stored(original, tmp_path / "people")
    for chosen in ([3], [0, 1, 2], [5, 9, 10, 11, 59], []):
        few, wanted = people.load(np.array(chosen, dtype=np.int64)), original.keep(chosen)
        assert few.ids == wanted.ids
        for name in ("offsets", "t", "x", "y", "input_rank"):
            assert np.array_equal(getattr(few, name), getattr(wanted, name)), name


def test_what_is_complete_is_not_read_again_and_what_is_not_is_begun_anew(
    calls: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "people"
    store_people(calls, Reading(), folder, Run())
    (folder / PEOPLE_FILE).rename(tmp_path / "kept")
    (folder / "spill").mkdir()
    again = store_people(calls, Reading(), folder, Run())
    assert again.n_subjects == 4
    calls.unlink()
    assert store_people(calls, Reading(), folder, Run()).ids == again.ids


def test_damage_and_misuse_are_explained(calls: Path, tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="snap=False"):
        store_people(calls, Reading(snap=False), tmp_path / "points", Run())
    with pytest.raises(InputError, match="no row of calls"):
        store_people(calls, Reading(not_after_s=10.0), tmp_path / "early", Run())
    people = store_people(calls, Reading(), tmp_path / "people", Run())
    with (tmp_path / "people" / SAMPLES_FILE).open("r+b") as file:
        file.truncate(30)
    with pytest.raises(InputError, match="cut short"):
        people.load(np.arange(4))
    (tmp_path / "people" / PEOPLE_FILE).write_bytes(b"PAR1")
    with pytest.raises(InputError, match="no complete list"):
        StoredPeople.open(tmp_path / "people")
