"""The check of a folder holds the manifest's plane against the earth."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from naive_release import PLANE, naive_release, small_city
from shoal.model.grid import Grid
from shoal.model.intake import DEGREES_IGNORED, Intake
from shoal.model.release import Boxes, Linkage, Points
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal.verification import verify, verify_files
from shoal.verification.files.plane import LOCAL_METERS, PlaneCheck, _different
from shoal.verification.files.streamed import verify_streamed_folder
from small_points import crowd
from stored import stored
from written_folders import write_folder

FALSE = [
    PLANE.replace("+units=m", "+units=km"),
    PLANE.replace("+units=m", "+to_meter=0.001"),
    "+proj=tmerc +lat_0=37.8 +lon_0=-122.4 +k_0=0.001 +datum=WGS84 +units=m +no_defs",
]


def written(original: Trajectories, folder: Path) -> Linkage:
    """A release of these people, verified in memory and written as it is."""
    release, linkage = naive_release(original, n_boxes=3)
    verdict = verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    write_folder(folder, release, verdict)
    return linkage


@pytest.mark.parametrize("crs", FALSE)
def test_a_false_plane_is_found_in_memory_and_streamed(crs: str, tmp_path: Path) -> None:
    original = small_city(crs=crs)
    linkage = written(original, tmp_path / "release")
    assert verify_files(original, tmp_path / "release", linkage).kinds == {"plane-not-in-meters"}
    (tmp_path / "scratch").mkdir()
    people = stored(original, tmp_path / "people")
    streamed = verify_streamed_folder(people, tmp_path / "release", linkage, tmp_path / "scratch", Run())
    assert streamed.kinds == {"plane-not-in-meters"}


def test_a_true_plane_holds(tmp_path: Path) -> None:
    original = small_city(crs=PLANE)
    linkage = written(original, tmp_path / "release")
    assert verify_files(original, tmp_path / "release", linkage) == replace(
        verify_files(original, tmp_path / "release", linkage), findings=(), notes=()
    )


def test_points_in_a_false_plane_are_found(tmp_path: Path) -> None:
    from shoal.methods.swapping.swap_locations import SwapLocations
    from shoal.runtime.randomness import Randomness

    original = replace(crowd(), crs=FALSE[0])
    release, linkage = SwapLocations(k=3).anonymize(original, Randomness.for_research(1))
    folder = write_folder(tmp_path / "release", release, verify(original, release, linkage))
    assert "plane-not-in-meters" in verify_files(original, folder, linkage).kinds


def test_local_meters_are_noted_loudly(tmp_path: Path) -> None:
    original = small_city()
    linkage = written(original, tmp_path / "release")
    assert verify_files(original, tmp_path / "release", linkage).notes == (LOCAL_METERS,)
    suffix = f"{DEGREES_IGNORED}: nothing shows it"
    original_read = replace(original, intake=Intake(notes=(suffix,)))
    assert verify_files(original_read, tmp_path / "release", linkage).notes[-2:] == (LOCAL_METERS, suffix)


@pytest.mark.parametrize(
    ("crs", "n"), [(PLANE, 0), ("EPSG:32610", 0), (PLANE + " 37.774929", 1), (PLANE + " +x=" + "7" * 99, 1)]
)
def test_a_plane_that_is_told_with_more_than_parameters_is_noted(crs: str, n: int) -> None:
    notes = list(PlaneCheck(crs).notes(small_city(crs=PLANE)))
    assert len(notes) == n
    assert all(f"describes the plane in {len(crs)} characters" in note for note in notes)


@pytest.mark.parametrize(
    "cells",
    [
        [(5, 7)],
        [(-3, 2), (-3, 2), (-3, 3), (-2, 2), (0, 0), (-2, 2), (4, -9)],
        [(x, y) for x in range(-4, 5) for y in range(-3, 4)] * 2,
        [(0, 0), (1 << 40, 1 << 20), (0, 1 << 20), (0, 0)],
    ],
)
def test_each_different_cell_is_looked_at_once(cells: list[tuple[int, int]]) -> None:
    x, y = np.array(cells, dtype=np.int64).T
    for parts in (((x,), (y,)), ((x, x[::-1]), (y, y[::-1]))):
        result = list(zip(*(column.tolist() for column in _different(*parts)), strict=True))
        assert sorted(result) == sorted(set(cells))


def test_a_table_without_boxes_has_no_cells() -> None:
    none = np.empty(0, dtype=np.int64)
    plane = PlaneCheck("EPSG:3035")
    plane.add_boxes(Boxes.of_samples(none, none, none), Grid())
    assert list(plane.findings()) == []


@pytest.mark.parametrize(("columns", "n"), [((1 << 31) - 1, 2), (1 << 31, 3)])
def test_cells_that_one_number_cannot_tell_apart_are_all_looked_at(columns: int, n: int) -> None:
    """Of 2^63 places and more; below, two that are one are looked at once."""
    x, y = (np.array([0, columns - 1, 0]),), (np.array([0, (1 << 32) - 1, 0]),)
    result = set(zip(*(column.tolist() for column in _different(x, y)), strict=True))
    assert result == {(0, 0), (columns - 1, (1 << 32) - 1)}
    assert len(_different(x, y)[0]) == n


def boxes_of(x: list[int], y: list[int]) -> Boxes:
    """Boxes of one cell and slot at these cells."""
    west, south = np.array(x), np.array(y)
    nought = np.zeros(len(x), dtype=np.int64)
    return Boxes(t_start=nought, t_end=nought + 1, x_min=west, y_min=south, x_max=west + 1, y_max=south + 1)


def test_both_corners_of_each_box_and_all_points_are_looked_at() -> None:
    """Around the middle of the plane; four corners, and then three points."""
    check, later = PlaneCheck(FALSE[0]), PlaneCheck(FALSE[0])
    check.add_boxes(boxes_of([0, 1], [0, 5]), Grid(cell_m=0.1, slot_s=1.0))
    check.add_boxes(boxes_of([], []), Grid(cell_m=0.1, slot_s=1.0))
    (finding,) = check.findings()
    assert finding.message.startswith("at 4 of 4 places of the release, distances in the manifest's plane")
    assert finding.message.endswith(", by a factor of 1e+03 at worst; 1 % is allowed")
    x, y = np.array([0.5, 0.6, 0.7]), np.zeros(3)
    later.add_points(Points(t=x, x=x, y=y))
    check.merge(later)
    (finding,) = check.findings()
    assert finding.message.startswith("at 7 of 7 places")
    alone = PlaneCheck(None)
    alone.add_points(Points(t=x, x=x, y=y))
    alone.add_boxes(boxes_of([0], [0]), Grid(cell_m=0.1, slot_s=1.0))
    alone.merge(later)
    later.merge(alone)
    assert [list(alone.findings()), len(list(later.findings()))] == [[], 1]


def test_cells_far_from_the_middle_are_noted() -> None:
    """Cells of 100 m, one of three boxes 3,000 km away."""
    check = PlaneCheck(PLANE)
    check.add_boxes(boxes_of([0, 10, 30_000], [0, 0, 0]), Grid(cell_m=100.0, slot_s=1.0))
    assert list(check.findings()) == []
    (note,) = check.notes(small_city(crs=PLANE))
    assert note.startswith("2 of 6 places of the release lie so far from its middle")
