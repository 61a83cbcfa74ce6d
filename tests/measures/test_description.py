"""The description against plain counting, the cost of importing, progress, and real data."""

import json
import statistics
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import MultiPoint

from shoal.io import read
from shoal.measures.description import describe
from shoal.runtime.run import Run

rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 400_000), st.integers(0, 2000), st.integers(-900, 900)),
    min_size=1,
)


def table(drawn: list[tuple[str, int, int, int]]) -> pa.Table:
    who, t, x, y = zip(*drawn, strict=True)
    return pa.table({"id": who, "t": t, "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64())})


@pytest.mark.parametrize("snap", [True, False])
@given(drawn=rows)
def test_figures_equal_plain_counting(snap: bool, drawn: list[tuple[str, int, int, int]]) -> None:
    got = read(table(drawn), snap=snap, crs="local", time_unit="s")
    slot_s, cell_m = (60, 100) if snap else (1, 1)
    samples = sorted({(who, t // slot_s, x // cell_m, y // cell_m) for who, t, x, y in drawn})
    lengths = Counter(who for who, *_ in samples)
    gaps = [b[1] - a[1] for a, b in pairwise(samples) if a[0] == b[0]]
    times, xs = [t for _, t, _, _ in samples], [x for _, _, x, _ in samples]
    places = Counter((x, y) for _, _, x, y in samples)
    found = describe(got)
    assert (found.subjects, found.samples, found.places) == (len(lengths), len(samples), len(places))
    assert found.days == pytest.approx((max(times) - min(times)) * slot_s / 86400)
    assert found.extent_east_km == pytest.approx((max(xs) - min(xs) + snap) * cell_m / 1000)
    assert found.samples_per_subject == (
        min(lengths.values()),
        statistics.median(lengths.values()),
        max(lengths.values()),
    )
    assert found.samples_per_subject_and_day == pytest.approx(
        len(samples) / len(lengths) / max(found.days, 1)
    )
    hours = max((max(times) - min(times) + 1) * slot_s / 3600, 1)
    assert found.samples_per_subject_and_hour == pytest.approx(len(samples) / len(lengths) / hours)
    hull = MultiPoint(list(places)).convex_hull.area * (cell_m / 1000) ** 2
    assert found.surface_km2 == pytest.approx(hull, abs=1e-12)
    assert found.share_in_top_places == pytest.approx(
        sum(count for _, count in places.most_common(10)) / len(samples)
    )
    assert found.median_gap_s == (pytest.approx(statistics.median(gaps) * slot_s) if gaps else None)
    assert found.rows_read == len(drawn) == found.samples + sum(found.rows_dropped.values())
    assert json.loads(json.dumps(found.to_json()))["samples_per_subject"]["max"] == max(lengths.values())


MAP = ["  |*", *["  |"] * 22, "  |@"]


def test_the_map_the_places_and_the_area_against_plain_counting() -> None:
    """A square of four places, each a letter of its own corner, and one place far away that it leaves out."""
    east, north = 650_000.0, 6_860_000.0
    corners = {(east, north): 40, (east, north + 6400): 30, (east + 12800, north): 20}
    corners[east + 12800, north + 6400] = 10
    drawn = [(x, y) for (x, y), times in corners.items() for _ in range(times)]
    drawn += [(9e6, north)]
    got = read(
        pa.table({
            "id": [f"p{place % 3}" for place in range(len(drawn))], "t": range(0, 60 * len(drawn), 60),
            "x": [x for x, _ in drawn], "y": [y for _, y in drawn],
        }),
        crs="EPSG:2154", working_crs="EPSG:2154", snap=False,
    )  # fmt: skip
    found = describe(got)
    assert [place.samples for place in found.top_places] == [40, 30, 20, 10, 1]
    assert [(place.x, place.y) for place in found.top_places[:4]] == list(corners)
    assert [place.subjects for place in found.top_places] == [3, 3, 3, 3, 1]
    assert len(found.map) == 16
    assert (found.map[0][0], found.map[0][-1], found.map[-1][0], found.map[-1][-1]) == ("@", "*", "@", "#")
    assert (len(found.map[0]), len(found.map[-1])) == (64, 64)
    assert set("".join(found.map[1:-1])) <= {" "}
    assert found.area is not None
    lat = found.top_places[0].lat
    assert lat is not None
    assert found.area.south < lat < found.area.north


def test_lines_are_for_people() -> None:
    got = read(
        pa.table({
            "user_id": ["ann", "ann", "bob", ""], "t": [1_714_564_800, 1_714_568_400, 1_714_564_800, 1],
            "lat": [48.86, 48.87, 48.86, 1.0], "lon": [2.36] * 4,
        })
    )  # fmt: skip
    assert describe(got).lines() == [
        "people: 2 (each distinct value of column 'user_id')",
        "samples: 3, from 4 rows",
        "time: 2024-05-01T12:00:00Z to 2024-05-01T13:00:00Z (0.0417 days)",
        "area: 0.1 km east-west, 1.2 km north-south",
        "in degrees: latitude 48.8595 to 48.8703, longitude 2.3591 to 2.3605 (WGS 84)",
        "samples of one subject: 1 to 2, median 1.5; a day: 1.5",
        "time between samples of one subject: 1 h in the middle (median)",
        "rhythm: eight in ten follow after 1 h to 1 h; 100 % after 1 h, a regular clock",
        "places: 2 different; the 10 most frequent hold 100 % of all samples",
        "  48.8600, 2.3598: 66.7 % of the samples, 2 subjects",
        "  48.8699, 2.3598: 33.3 % of the samples, 1 subject",
        "samples of one subject an hour: 1.48",
        "grid: cells of 100 m, slots of 1 min",
        "plane: +proj=laea +lat_0=48.9 +lon_0=2.4 +datum=WGS84 +units=m +no_defs",
        "rows dropped: 1:",
        "  1 empty id",
        "note: 1 of 4 rows are dropped; rows without an id may be of other people: name another column with "
        "--id",
        "note: times are numbers, read as seconds since 1970 by their size; --time-unit overrides",
        "map (north up; the outermost hundredth of the samples on each side is left out):",
        *MAP,
    ]


def test_importing_is_cheap() -> None:
    code = (
        "import sys, shoal.io; print([name for name in ('numpy', 'pyarrow', 'pyproj', 'duckdb', "
        "'pandas', 'numba') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_reading_needs_no_heavy_library_but_arrow(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("id,t,x,y\na,1,5000,5000\n")
    seen = "print([name for name in ('duckdb', 'polars', 'numba') if name in sys.modules])"
    code = f"import sys, shoal.io; shoal.io.read({str(tmp_path)!r}); {seen}"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_progress_rises_to_its_end(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("id,t,x,y\na,1,5000,5000\n")
    seen: dict[str, list[tuple[int, int]]] = {}
    read(
        tmp_path,
        run=Run(
            progress=lambda label, done, total: seen.setdefault(label, []).append((done, total)), threads=1
        ),
    )
    assert list(seen) == ["reading 2 files", "placing on the grid", "sorting"]
    for steps in seen.values():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[0][0] == 0
        assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize(
    ("name", "subjects", "rows"),
    [
        ("sf_cabs_day_20080603", 494, 471_630),
        ("geolife_5min", 182, 325_724),
        ("oldenburg_brinkhoff_1000", 1000, 46_508),
    ],
)
def test_real_data_reads_without_options(shared_data: Path, name: str, subjects: int, rows: int) -> None:
    got = read(shared_data / f"{name}.parquet")
    assert got.n_subjects == subjects
    assert got.intake.rows_read == rows == got.n_samples + sum(got.intake.dropped.values())
    assert describe(got).lines()


def around(lat: float, lons: list[float]) -> pa.Table:
    return pa.table(
        {"id": ["ann"] * len(lons), "t": [1_714_564_800 + 600 * n for n in range(len(lons))],
         "lat": [lat] * len(lons), "lon": lons}
    )  # fmt: skip


@pytest.mark.parametrize("snap", [True, False])
def test_areas_over_the_antimeridian_and_a_pole(snap: bool) -> None:
    area = describe(read(around(-17.0, [179.95, -179.95]), snap=snap)).area
    assert area is not None
    assert [area.west, area.east] == pytest.approx([179.95, -179.95], abs=2e-3)
    for pole in (90, -90):
        area = describe(read(around(pole * 0.9999, [0.0, 90.0, 180.0, -90.0]), snap=snap)).area
        assert area is not None
        assert (area.west, area.east) == (-180, 180)
        assert pole in (area.south, area.north)
    area = describe(read(around(48.85, [2.3, 2.4]), snap=snap)).area
    assert area is not None
    assert [area.west, area.east] == pytest.approx([2.3, 2.4], abs=2e-3)


@pytest.mark.parametrize("snap", [True, False])
@pytest.mark.parametrize(
    ("lats", "lons", "note"),
    [
        ([], [], ""),
        ([40.7], [-74.0], "1 sample lies more than 1,000 km away from most others (of 1 of 5 subjects)"),
        (
            [-33.9, 40.7],
            [151.2, -74.0],
            "2 samples lie more than 1,000 km away from most others (of 2 of 5 subjects)",
        ),
        ([43.3, 52.5], [5.4, 13.4], ""),
        ([40.7] * 40, [-74.0] * 40, ""),
    ],
)
def test_a_few_samples_a_continent_away_are_noted(
    snap: bool, lats: list[float], lons: list[float], note: str
) -> None:
    usual = 60
    whole = [48.8 + row / 1000 for row in range(usual)] + lats, [2.3] * usual + lons
    n = usual + len(lats)
    people = pa.table(
        {"id": [f"p{row % 5}" for row in range(n)], "t": [1_714_564_800 + 600 * row for row in range(n)],
         "lat": whole[0], "lon": whole[1]}
    )  # fmt: skip
    found = describe(read(people, snap=snap))
    outlying = [line for line in found.notes if "away from most others" in line]
    assert [line.partition(";")[0] for line in outlying] == [note] * bool(note)
    assert all(f"note: {line}" in found.lines() for line in found.notes)


def of_taxis_with(far: int) -> pa.Table:
    """A day of ten taxis in a city, with so many positions 170 km away."""
    n = 20_000
    at = np.arange(n)
    lat, lon = 37.75 + at % 97 / 1000, -122.4 - at % 89 / 1000
    lat[:far] -= 1.5
    taxi = [f"taxi {row % 10}" for row in range(n)]
    return pa.table({"id": taxi, "t": 1_212_476_400 + 4 * at, "lat": lat, "lon": lon})


@pytest.mark.parametrize(("far", "note"), [(0, []), (12, ["12 samples lie more than 100 km"]), (200, [])])
def test_a_handful_of_positions_far_from_a_city_is_noted(far: int, note: list[str]) -> None:
    about = describe(read(of_taxis_with(far)))
    assert [line[:31] for line in about.notes if "away from most" in line] == note


def people_on(days_each: int, of_days: int, n: int = 40) -> pa.Table:
    """People with three samples on each of some days, spread over others' days."""
    rows = [
        (f"p{who}", 1_700_006_400 + 86_400 * ((who * 7 + day * 3) % of_days) + 3_600 * sample)
        for who in range(n)
        for day in range(days_each)
        for sample in range(3)
    ]
    who, t = zip(*rows, strict=True)
    return pa.table({"id": who, "t": t, "lat": [48.8] * len(t), "lon": [2.3] * len(t)})


@pytest.mark.parametrize(
    ("table", "per_day", "present"),
    [
        (people_on(5, 100), False, "40 people over 100 days, and on the day of a typical sample 2 of them"),
        (people_on(5, 100), True, None),  # days are what is hidden
        (people_on(1, 100), False, None),  # as trips
        (people_on(4, 7), False, None),  # more than half are there each day
        (people_on(5, 20, n=1000), False, None),  # many are there, though most are not
    ],
)
def test_people_of_whom_few_are_there_at_a_time_are_noted(
    table: pa.Table, per_day: bool, present: str | None
) -> None:
    about = describe(read(table, per_day=per_day))
    notes = [line.partition(":")[0] for line in about.notes if "typical sample" in line]
    assert notes == ([] if present is None else [present])
