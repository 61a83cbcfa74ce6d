"""Releases of points: read as given, written to the last digit, and disagreements in a folder are found."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive_release import stating
from shoal.errors import InputError, MisuseError
from shoal.methods.assembly import PointRecords, assemble_points
from shoal.model.claims import KDeltaAnonymity
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.report.facts.evidence import Evidence
from shoal.report.pages.record import record_page
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts
from shoal.verification.checks import CHECKS
from shoal.verification.examination import Examination
from shoal.verification.points.records import malformed_points, plane_mismatch
from written_folders import write_folder

CLAIM = KDeltaAnonymity(k=2, delta_m=1000)


def fleet(n: int = 12, seed: int = 3) -> Trajectories:
    """Points as given, in degrees with many digits and times with fractions of a second."""
    rng = np.random.default_rng(seed)
    rows = {
        "uid": np.repeat([f"person-{i:02}-of-many" for i in range(n)], 8),
        "t": 1_700_000_000 + np.round(rng.random(8 * n) * 5000, 3),
        "lat": 48.8 + rng.random(8 * n) / 10,
        "lon": 2.3 + rng.random(8 * n) / 10,
    }
    return shoal.read(pa.table(rows), snap=False)


def unmoved(original: Trajectories) -> tuple[Release, Linkage]:
    """A release of every point of everybody, with nobody protected."""
    release, linkage, rows = assemble_points(
        original,
        PointRecords(
            members=np.arange(original.n_subjects),
            offsets=original.offsets,
            points=Points(t=original.t, x=original.x, y=original.y, lat=original.lat, lon=original.lon),
            stands_for=np.arange(original.n_samples),
        ),
        stating(CLAIM, "w4m", shoal.W4m(k=2, delta_m=CLAIM.delta_m).parameters()),
        Randomness.from_system(),
    )
    np.testing.assert_array_equal(original.t[rows], release.points.t)
    return release, linkage


def only_what_all_share(_claim: KDeltaAnonymity, case: Examination[Trajectories], _run: Run) -> None:
    case.add(plane_mismatch(case.original, case.release))
    case.add(malformed_points(case.release))
    case.mark_checked("true-points")


@pytest.fixture(autouse=True)
def no_claim_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about what every release of points has in common, not about one claim."""
    check = replace(CHECKS[KDeltaAnonymity], parts=("true-points",), examine=only_what_all_share)
    monkeypatch.setitem(CHECKS, KDeltaAnonymity, check)


def written(original: Trajectories, folder: Path) -> tuple[Path, Release, Linkage]:
    release, linkage = unmoved(original)
    verdict = shoal.verify(original, release, linkage)
    page = record_page(Evidence(Facts(original, release, linkage, gaps=()), tries=0), verdict)
    return write_folder(folder, release, verdict, page), release, linkage


def test_degrees_stay_exactly_as_given() -> None:
    lat, lon = [48.123456789012345, 48.2, 48.3], [2.1, 2.234567890123456, 2.3]
    table = pa.table({"uid": ["a", "a", "b"], "t": [20, 10, 5], "lat": lat, "lon": lon})
    people = shoal.read(table, snap=False)
    assert people.lat is not None
    assert people.lon is not None
    assert people.lat.tolist() == [lat[1], lat[0], lat[2]]
    assert people.lon.tolist() == [lon[1], lon[0], lon[2]]
    kept = people.keep([1])
    assert kept.lat is not None
    assert kept.lat.tolist() == [lat[2]]
    assert shoal.read(table).lat is None


@pytest.mark.parametrize("crs", ["local", "EPSG:2154"])
def test_planar_coordinates_stay_exactly_as_given(crs: str) -> None:
    x, y = [652_381.123456789, 652_000.1], [6_862_047.987654321, 6_862_000.7]
    people = shoal.read(pa.table({"uid": ["a", "b"], "t": [1, 2], "x": x, "y": y}), snap=False, crs=crs)
    assert (people.x.tolist(), people.y.tolist()) == (x, y)
    assert people.crs == (None if crs == "local" else crs)
    assert people.lat is None


def test_feet_are_turned_into_meters() -> None:
    table = pa.table(
        {"uid": ["a", "b"], "t": [1, 2], "x": [988_000.0, 989_000.0], "y": [200_000.0, 201_000.0]}
    )
    people = shoal.read(table, snap=False, crs="EPSG:2263")  # New York, in feet
    assert people.x[1] - people.x[0] == pytest.approx(304.8, rel=1e-3)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 400), st.integers(-500, 500), st.integers(-500, 500)),
        min_size=1,
        max_size=40,
    )
)
def test_snapping_later_is_the_same_as_snapping_while_reading(rows: list[tuple[int, int, int, int]]) -> None:
    who, t, x, y = zip(*rows, strict=True)
    table = pa.table(
        {"uid": [f"u{i}" for i in who], "t": t, "x": [500.5 + v for v in x], "y": [0.5 + v for v in y]}
    )
    snapped = shoal.read(table, crs="local")
    later = shoal.read(table, crs="local", snap=False).snapped_to(Grid())
    assert (snapped.ids, snapped.grid) == (later.ids, later.grid)
    for name in ("offsets", "t", "x", "y", "input_rank"):
        np.testing.assert_array_equal(getattr(snapped, name), getattr(later, name))


def test_snapped_samples_are_refused_where_points_are_needed() -> None:
    with pytest.raises(MisuseError, match="as given"):
        fleet().snapped_to(Grid()).require_points_as_given()


def test_a_folder_gives_back_every_bit(tmp_path: Path) -> None:
    original = fleet()
    folder, release, linkage = written(original, tmp_path / "release")
    read = shoal.read_release(folder)
    assert read.kind == "points"
    assert read.trajectory_ids == release.trajectory_ids
    assert (read.claim, read.losses, read.crs) == (release.claim, release.losses, release.crs)
    for name, column in release.points.columns().items():
        np.testing.assert_array_equal(read.points.columns()[name], column)
    verdict = shoal.verify_folder(original, folder, linkage)
    assert verdict.holds, verdict.findings
    with pytest.raises(InputError, match="points, not of boxes"):
        shoal.read_release(folder, kind="boxes")


def test_the_order_of_the_records_tells_nothing() -> None:
    original = fleet(40)
    release, linkage = unmoved(original)
    assert shoal.verify(original, release, linkage).holds
    subject = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    assert [subject[name] for name in release.trajectory_ids] != list(original.ids)


def test_points_as_boxes_are_the_snapped_original() -> None:
    original = fleet()
    release, linkage = unmoved(original)
    boxes = release.as_boxes(Grid())
    snapped = original.snapped_to(Grid())
    subject = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    for position, name in enumerate(boxes.trajectory_ids):
        record = boxes.record(position)
        t, x, y = snapped.samples_of(original.ids.index(subject[name]))
        np.testing.assert_array_equal(
            np.column_stack([record.t_start, record.x_min, record.y_min]), np.column_stack([t, x, y])
        )


def change(column: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        values = value(table[column].to_numpy().copy())
        return table.set_column(table.column_names.index(column), column, pa.array(values))

    return changed


def first_moved(values: np.ndarray) -> np.ndarray:
    values[0] += 1e-4
    return values


def other_geometry(table: pa.Table) -> pa.Table:
    values: list[Any] = table["geometry"].to_pylist()
    values[0], values[-1] = values[-1], values[0]
    return table.set_column(
        table.column_names.index("geometry"), "geometry", pa.array(values, pa.large_binary())
    )


DAMAGES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "a latitude that is not that of x and y": (change("lat", first_moved), "finer-than-claim"),
    "a geometry of another point": (other_geometry, "finer-than-claim"),
    "rows in another order": (lambda table: table.take(list(range(len(table)))[::-1]), "row-order"),
    "a point twice": (lambda table: pa.concat_tables([table.slice(0, 1), table]), "malformed-point"),
    "a column too many": (
        lambda table: table.append_column("speed", pa.array(np.zeros(len(table)))),
        "unexpected-column",
    ),
    "a point less": (lambda table: table.slice(1), "wrong-count"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_disagreements_within_a_folder_are_found(damage: str, tmp_path: Path) -> None:
    original = fleet()
    folder, _, linkage = written(original, tmp_path / "release")
    break_it, kind = DAMAGES[damage]
    table = pq.read_table(folder / RELEASE_FILE)
    pq.write_table(break_it(table), folder / RELEASE_FILE)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(
        json.dumps({**manifest, "release_sha256": sha256_of(folder / RELEASE_FILE)})
    )
    assert kind in shoal.verify_folder(original, folder, linkage).kinds


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_an_error(value: float, tmp_path: Path) -> None:
    folder, _, _ = written(fleet(), tmp_path / "release")
    table = change("x", lambda values: np.where(np.arange(len(values)) == 3, value, values))(
        pq.read_table(folder / RELEASE_FILE)
    )
    pq.write_table(table, folder / RELEASE_FILE)
    with pytest.raises(InputError, match="the column x"):
        shoal.read_release(folder)


def test_another_plane_cannot_be_compared() -> None:
    original = fleet()
    release, _ = unmoved(original)
    assert [finding.kind for finding in plane_mismatch(original, replace(release, crs="EPSG:2154"))] == [
        "grid-mismatch"
    ]


def test_a_half_said_grid_is_no_manifest(tmp_path: Path) -> None:
    folder, _, _ = written(fleet(), tmp_path / "release")
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "cell_m": 100.0}))
    with pytest.raises(InputError, match="both null"):
        shoal.read_release(folder)
