"""Pieces of an input read as tasks give the people, the account and the errors of one reading in a row."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.errors import InputError, ShoalError
from shoal.io import read_tables
from shoal.io.disk import spilling
from shoal.io.disk.storing import store_people
from shoal.io.formats import parquet_files
from shoal.io.sources import object_stores, openers
from shoal.model.intake import Reading
from shoal.model.people_on_disk import StoredPeople
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run

NOT_AFTER_S = 2e9


class Counting:
    """An engine that counts what it is given; the last task comes first, so nothing may depend on order."""

    def __init__(self) -> None:
        self.tasks = 0

    def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        self.tasks += len(parts) * (fn is spilling.run_task)
        yield from [fn(part) for part in reversed(parts)][::-1]


class Pickling(Counting):
    """The same; tasks and what they give pass from process to process."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""

    def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        texts = [pickle.dumps(part) for part in parts]
        self.sent += b"".join(texts)
        for result in super().map(fn, [pickle.loads(text) for text in texts]):
            yield pickle.loads(pickle.dumps(result))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a few kilobytes fall into pieces, and so do their row groups."""
    monkeypatch.setattr(read_tables, "_APART_BYTES", 2000)
    monkeypatch.setattr(parquet_files, "_RUN_ROWS", 50)


def assert_same(on_disk: StoredPeople, in_memory: Trajectories) -> None:
    loaded = on_disk.load(np.arange(on_disk.n_subjects))
    assert (loaded.ids, loaded.crs, loaded.grid) == (in_memory.ids, in_memory.crs, in_memory.grid)
    notes = [note for note in in_memory.intake.notes if "a clock jumped" not in note]  # told in memory alone
    assert on_disk.intake == replace(in_memory.intake, notes=tuple(notes))
    assert list(on_disk.intake.dropped.items()) == list(in_memory.intake.dropped.items())
    assert list(on_disk.intake.repaired.items()) == list(in_memory.intake.repaired.items())
    for name in ("offsets", "t", "x", "y", "input_rank"):
        assert np.array_equal(getattr(loaded, name), getattr(in_memory, name)), name


def both(source: object, folder: Path, **settings: Any) -> Counting:
    """Reads in pieces and in memory, compares, and says how many tasks there were."""
    engine = Counting()
    settings = {"not_after_s": NOT_AFTER_S, **settings}
    people = store_people(source, Reading(**settings), folder, Run(), engine=engine)
    assert_same(people, shoal.read(source, **settings))
    return engine


def shuffled(seed: int = 0) -> pa.Table:
    """Calls in random order: everybody is in every piece, late and early, and some rows come twice."""
    table = shoal.synthesize(40, 2, 4)
    rng = np.random.default_rng(seed)
    return table.take(rng.integers(0, table.num_rows, table.num_rows))


def spoilt(table: pa.Table) -> pa.Table:
    """The same with rows of every kind that is dropped, not the same ones in each piece."""
    lat, lon = (table[name].to_numpy().copy() for name in ("lat", "lon"))
    t, uid = table["t"].to_numpy().copy(), table["uid"].to_pylist()
    half = len(t) // 2
    lat[half::97], lon[::89], t[half + 5 :: 83] = 95.0, np.nan, -5
    uid[7::101] = [None] * len(uid[7::101])
    lat[3::211], lon[3::211] = 0.0, 0.0
    return pa.table({"uid": uid, "t": t, "lat": lat, "lon": lon})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_samples_per_day": 14.0},
        {"min_active_days": 2},
        {"cell_m": 5000, "slot_s": 3600},
        {"working_crs": "EPSG:3857", "crs": None},
    ],
)
def test_row_groups_of_one_file(tmp_path: Path, settings: dict[str, Any]) -> None:
    pq.write_table(spoilt(shuffled()), tmp_path / "calls.parquet", row_group_size=80)
    if settings.get("working_crs"):
        settings["working_crs"] = shoal.read(shuffled()).crs
    assert both(tmp_path / "calls.parquet", tmp_path / "people", **settings).tasks > 10


def test_files_of_a_folder_with_days_in_their_names(tmp_path: Path) -> None:
    table = spoilt(shuffled())
    for day, rows in enumerate(np.array_split(np.arange(table.num_rows), 6)):
        folder = tmp_path / "calls" / f"site={day % 2}" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(table.take(rows), folder / "part-0.parquet", row_group_size=60)
    assert both(tmp_path / "calls", tmp_path / "people").tasks > 6
    assert both(tmp_path / "calls", tmp_path / "sites", person="site").tasks > 6


def test_objects_of_a_store_are_read_by_tasks_that_know_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As files of a folder are; pyarrow's file system of the disk stands in for the store's."""
    table = spoilt(shuffled())
    for day, rows in enumerate(np.array_split(np.arange(table.num_rows), 6)):
        folder = tmp_path / "calls" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(table.take(rows), folder / "part-0.parquet", row_group_size=60)
    (tmp_path / "calls" / "late.csv").write_text("uid,t,lat,lon\ncho,1714564800,48.85,2.35\n" * 90)
    system = pafs.LocalFileSystem()
    monkeypatch.setattr(object_stores, "_opened", lambda address: (system, address.removeprefix("s3:/")))
    engine = Pickling()
    address = f"s3:/{tmp_path}/calls"
    people = store_people(
        address,
        Reading(not_after_s=NOT_AFTER_S, lose_people=True),
        tmp_path / "people",
        Run(),
        engine=engine,
    )
    assert_same(people, shoal.read(tmp_path / "calls", not_after_s=NOT_AFTER_S, lose_people=True))
    assert engine.tasks > 6
    assert b"s3:" not in engine.sent
    asked: list[str] = []
    monkeypatch.setattr(object_stores, "open_object", lambda _, path, __: asked.append(path))
    late = openers.openers(address, Reading())[1][-1]
    assert isinstance(late, openers.FileOpener)
    assert (late.name, late.parts(), asked) == ("late.csv", [], [])  # it would have to be copied


def test_files_of_other_formats_and_ids_as_numbers_and_text(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    for part in range(4):
        rows = [
            f"{part + row % 3},2024-05-0{1 + row % 5}T10:0{row % 7}:00,48.{row},2.{row}" for row in range(60)
        ]
        (tmp_path / "calls" / f"{part}.csv").write_text("\n".join(["uid,t,lat,lon", *rows]))
    days = pa.array([1714557600 + 60 * row for row in range(50)])
    numbers = {"uid": [row % 4 for row in range(50)], "t": days, "lat": [48.5] * 50, "lon": [2.5] * 50}
    pq.write_table(pa.table(numbers), tmp_path / "calls" / "4.parquet")
    assert both(tmp_path / "calls", tmp_path / "people").tasks > 2


def test_what_is_recognized_in_a_later_piece_holds_from_there_on(tmp_path: Path) -> None:
    """The order of day and month, the unit of numbers and decimal commas."""
    (tmp_path / "calls").mkdir()
    times = [
        ["2024-05-01T10:00:00"] * 40,
        [f"0{1 + row % 9}/05/2024 10:00" for row in range(5)] + ["2024-05-01T10:00:00"] * 35,
        [f"{13 + row % 9}/05/2024 10:{row}" for row in range(10, 50)],
        [f"0{1 + row % 9}/05/2024 10:00" for row in range(40)],
        [str(1714557600000 + 1000 * row) for row in range(40)],
        [str(row) for row in range(40)],  # by themselves these were steps of a second
    ]
    for part, column in enumerate(times):
        point = "," if part > 2 else ""
        rows = [f"p{row % 3};{t};48{point and ',5'};2{point and f',{row}'}" for row, t in enumerate(column)]
        (tmp_path / "calls" / f"{part}.csv").write_text("\n".join(["uid;t;lat;lon", *rows]))
    in_a_row = shoal.read(tmp_path / "calls", not_after_s=NOT_AFTER_S).intake
    assert in_a_row.reading.time_unit == "ms"
    assert any("begin with the day" in note for note in in_a_row.notes)
    assert in_a_row.dropped
    assert both(tmp_path / "calls", tmp_path / "people").tasks > 5


def test_a_later_piece_of_another_unit_is_refused_in_the_same_words(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    for part, per_s in enumerate((1000, 1000, 1, 1000)):
        rows = [f"p{row % 3},{(1714557600 + row) * per_s},48,2.{row}" for row in range(40)]
        (tmp_path / "calls" / f"{part}.csv").write_text("\n".join(["uid,t,lat,lon", *rows]))
    words = "2.csv holds numbers of several units, milliseconds since 1970 and 40 smaller numbers"
    assert words in same_error(tmp_path / "calls", tmp_path)


def test_the_cells_of_records_may_stand_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "calls").mkdir()
    for person in range(5):
        rows = [f"p{person},{1714557600 + 60 * row},c{row % 7}" for row in range(100 + person)]
        (tmp_path / "calls" / f"{person}.csv").write_text("\n".join(["uid,t,cell", *rows]))
    (tmp_path / "cells.csv").write_text(
        "cell,lat,lon\n" + "\n".join(f"c{cell},48.{cell},2.{cell}" for cell in range(6))
    )
    cells = str(tmp_path / "cells.csv")
    assert both(tmp_path / "calls", tmp_path / "people", cells=cells).tasks > 1


def told(read: Callable[[], object]) -> str:
    with pytest.raises(ShoalError) as told:
        read()
    return f"{type(told.value).__name__}: {told.value}"


def same_error(source: object, folder: Path, **settings: Any) -> str:
    """Compares the errors of pieces, of one process and of memory."""
    settings = {"not_after_s": NOT_AFTER_S, **settings}
    errors = [
        told(lambda: store_people(source, Reading(**settings), folder / "pieces", Run(), engine=Counting())),
        told(lambda: store_people(source, Reading(**settings), folder / "row", Run())),
        told(lambda: shoal.read(source, **settings)),
    ]
    assert errors[0] == errors[1] == errors[2]
    return errors[0]


@pytest.fixture
def days(tmp_path: Path) -> Path:
    table = shuffled()
    (tmp_path / "calls").mkdir()
    for day, rows in enumerate(np.array_split(np.arange(table.num_rows), 5)):
        pq.write_table(table.take(rows), tmp_path / "calls" / f"day{day}.parquet", row_group_size=60)
    return tmp_path / "calls"


def test_a_damaged_file_and_a_damaged_group_are_named(days: Path, tmp_path: Path) -> None:
    path = days / "day3.parquet"
    whole = path.read_bytes()
    column = pq.ParquetFile(path).metadata.row_group(2).column(0)
    at = column.dictionary_page_offset or column.data_page_offset
    path.write_bytes(whole[:at] + b"\xff" * 60 + whole[at + 60 :])
    assert "day3.parquet is not a whole Parquet file" in same_error(days, tmp_path)
    path.write_bytes(whole[: len(whole) // 2])
    assert "day3.parquet is not a whole Parquet file" in same_error(days, tmp_path)
    path.write_bytes(b"")
    assert "day3.parquet is empty" in same_error(days, tmp_path)


def test_other_columns_and_ids_of_another_type_in_a_later_file_are_refused(
    days: Path, tmp_path: Path
) -> None:
    path = days / "day4.parquet"
    table = pq.read_table(path)
    pq.write_table(table.rename_columns(["uid", "t", "north", "east"]), path)
    assert "no column 'lat' in day4.parquet" in same_error(days, tmp_path)
    pq.write_table(table.set_column(0, "uid", pa.array([[1]] * table.num_rows)), path)
    assert "not ids" in same_error(days, tmp_path)


def test_the_first_of_two_errors_is_told(days: Path, tmp_path: Path) -> None:
    table = pq.read_table(days / "day2.parquet")
    pq.write_table(table.set_column(1, "t", pa.array([True] * table.num_rows)), days / "day2.parquet")
    (days / "day4.parquet").write_bytes(b"")
    assert "column 't' of day2.parquet" in same_error(days, tmp_path)


def test_who_is_swapped_everywhere_is_told_as_in_a_row(days: Path, tmp_path: Path) -> None:
    names = {"lat": "lon", "lon": "lat"}
    for path in days.iterdir():
        table = pq.read_table(path)
        pq.write_table(table.rename_columns([names.get(name, name) for name in table.column_names]), path)
    same_error(days, tmp_path)


def test_two_files_that_would_become_one_person_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / "tracks" / folder).mkdir(parents=True)
        for name in ("x", "z" if folder == "a" else "y"):
            points = "".join(
                f'<trkpt lat="48.{row}" lon="2.{row}"><time>2024-05-01T10:{row}:00Z</time></trkpt>'
                for row in range(10, 50)
            )
            (tmp_path / "tracks" / folder / f"{name}.gpx").write_text(
                f'<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>{points}</trkseg></trk></gpx>'
            )
    assert "different folders" in same_error(tmp_path / "tracks", tmp_path)


def test_nothing_that_can_be_used_is_told_with_all_reasons(days: Path, tmp_path: Path) -> None:
    assert "time in the future" in same_error(days, tmp_path, not_after_s=10.0)


def test_progress_rises_to_its_end(days: Path, tmp_path: Path) -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    run = Run(progress=lambda label, done, total: seen.setdefault(label, []).append((done, total)))
    store_people(days, Reading(), tmp_path / "people", run, engine=Counting())
    steps = seen["reading 5 files"]
    assert steps == sorted(steps)
    assert (steps[0][0], steps[-1]) == (0, (read_tables.STEPS, read_tables.STEPS))


def test_workers_that_do_not_reach_the_input_are_not_asked_for_ever(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster, where the input lies on one machine."""

    class Blind(Counting):
        def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
            done = super().map(fn, parts)
            return (None for _ in done) if fn is spilling.run_task else done

    monkeypatch.setattr(read_tables, "_MOST_FAILURES", 2)
    engine = Blind()
    people = store_people(days, Reading(not_after_s=NOT_AFTER_S), tmp_path / "stored", Run(), engine=engine)
    assert_same(people, shoal.read(days, not_after_s=NOT_AFTER_S))
    after_the_first = both(days, tmp_path / "seeing").tasks
    assert engine.tasks == after_the_first + (after_the_first - 1)


def test_what_has_no_pieces_is_read_here(tmp_path: Path) -> None:
    pq.write_table(shuffled(), tmp_path / "calls.parquet", row_group_size=80)
    engine = Counting()
    store_people(tmp_path / "calls.parquet", Reading(per_day=True), tmp_path / "days", Run(), engine=engine)
    store_people(shuffled(), Reading(), tmp_path / "frame", Run(), engine=engine)
    assert engine.tasks == 0


class Twice(Counting):
    """Each piece is read, and another worker has begun to read it once more, as where one is thought lost."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[spilling._Part] = []

    def map(self, fn: Callable[[Any], Any], parts: Sequence[Any]) -> Iterator[Any]:
        found = list(super().map(fn, parts))
        if fn is spilling.run_task:
            self.begun += [spilling._Part(part.folder, part.number) for part in parts]
        yield from found


def test_a_part_that_somebody_writes_once_more_is_whole_meanwhile(days: Path, tmp_path: Path) -> None:
    engine = Twice()
    people = store_people(days, Reading(not_after_s=NOT_AFTER_S), tmp_path / "people", Run(), engine=engine)
    assert len(engine.begun) > 1
    for part in engine.begun:
        part.close()
    assert_same(people, shoal.read(days, not_after_s=NOT_AFTER_S))


def test_rows_that_got_lost_are_not_passed_over(
    days: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the folder of one machine is not that of the others."""
    honest = spilling.run_task

    def lost(task: spilling.ReadTask) -> Any:
        found = honest(task)
        (task.folder / f"{task.number}.index").write_bytes(b"")
        return found

    monkeypatch.setattr(spilling, "run_task", lost)
    with pytest.raises(InputError, match=r"rows were read and [\d,]+ are there"):
        store_people(days, Reading(), tmp_path / "people", Run(), engine=Counting())


def test_a_part_that_is_cut_short_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = spilling.Spill.end

    def cut(self: spilling.Spill, taken: Any) -> None:
        end(self, taken)
        with (self.folder / "0.rows").open("r+b") as file:
            file.truncate(10)

    monkeypatch.setattr(spilling.Spill, "end", cut)
    with pytest.raises(InputError, match="cut short"):
        store_people(shuffled(), Reading(), tmp_path / "people", Run())
