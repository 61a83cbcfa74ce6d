"""Real movement in the layouts that its sets are published in: the same samples as from the table itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import shoal
from foreign_writers import NOON_S
from shoal.model.trajectories import Trajectories

PEOPLE: Final = 4


def some(shared_data: Path, name: str, column: str) -> pa.Table:
    """The rows of the first people of a set."""
    table = pq.read_table(shared_data / f"{name}.parquet")
    first = pc.unique(table[column]).slice(0, PEOPLE)
    return table.filter(pc.is_in(table[column], first))


def require_same(got: Trajectories, expected: Trajectories) -> None:
    """The same people with the same samples."""
    assert got.n_subjects == expected.n_subjects == PEOPLE
    assert all((getattr(got, axis) == getattr(expected, axis)).all() for axis in ("offsets", "t", "x", "y"))


def crawdad(rows: list[dict[str, Any]], place: Path) -> Path:
    """A file for each cab, the newest fix first."""
    for cab in {row["user_id"] for row in rows}:
        own = sorted((row for row in rows if row["user_id"] == cab), key=lambda row: -row["t"])
        lines = [f"{row['lat']:.5f} {row['lon']:.5f} {row['occ']} {row['t']}\n" for row in own]
        (place / f"new_{cab}.txt").write_text("".join(lines))
    return place


def test_cabs_of_san_francisco_as_crawdad_has_them(shared_data: Path, tmp_path: Path) -> None:
    table = some(shared_data, "sf_cabs_day_20080603", "user_id")
    got = shoal.read(crawdad(table.to_pylist(), tmp_path))
    assert got.intake.reading.preset == "crawdad-cabs"
    require_same(got, shoal.read(table))


def test_people_of_geolife_as_their_folders_have_them(shared_data: Path, tmp_path: Path) -> None:
    table = some(shared_data, "geolife_5min", "user_id")
    for person in pc.unique(table["user_id"]).to_pylist():
        rows = table.filter(pc.equal(table["user_id"], person)).slice(0, 500).to_pylist()
        folder = tmp_path / "Data" / str(person) / "Trajectory"
        folder.mkdir(parents=True)
        lines = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track", "0"]
        for row in rows:
            when = datetime.fromtimestamp(row["t"], UTC)
            days = (when - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1)
            lines.append(f"{row['lat']},{row['lon']},0,492,{days:.10f},{when:%Y-%m-%d},{when:%H:%M:%S}")
        (folder / "1.plt").write_text("\n".join(lines) + "\n")
    kept = pa.concat_tables(
        table.filter(pc.equal(table["user_id"], one)).slice(0, 500)
        for one in pc.unique(table["user_id"]).to_pylist()
    )
    require_same(shoal.read(tmp_path), shoal.read(kept))


@pytest.mark.parametrize("ending", ["csv", "feather", "jsonl"])
def test_cabs_of_san_francisco_in_tables(ending: str, shared_data: Path, tmp_path: Path) -> None:
    import pyarrow.csv
    import pyarrow.feather

    table = some(shared_data, "sf_cabs_day_20080603", "user_id")
    path = tmp_path / f"cabs.{ending}"
    if ending == "csv":
        pyarrow.csv.write_csv(table, path)
    elif ending == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        import json

        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    require_same(shoal.read(path), shoal.read(table))


def test_records_of_real_base_stations(shared_data: Path, tmp_path: Path) -> None:
    stations = pq.read_table(shared_data / "shanghai_base_stations.parquet").slice(0, 50)
    cells = pa.table(
        {"cell_id": [str(one) for one in range(50)], "lat": stations["lat"], "lon": stations["lon"]}
    )
    pq.write_table(cells, tmp_path / "cells.parquet")
    calls = pa.table(
        {"id": ["ann"] * 50, "t": [NOON_S + 60 * one for one in range(50)], "cell_id": cells["cell_id"]}
    )
    got = shoal.read(calls, cells=str(tmp_path / "cells.parquet"), snap=False)
    assert got.lat is not None
    assert got.lat.tolist() == pytest.approx(stations["lat"].to_pylist())
