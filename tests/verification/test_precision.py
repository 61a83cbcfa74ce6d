"""Numbers, outlines and bounds of a table: how far each may be from the right one, and what is said of it."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from naive_release import PLANE, boxes_from, rings_of
from shoal.errors import InputError
from shoal.model.grid import Grid
from shoal.model.projection import WGS84, transform
from shoal.model.release import BOX_COLUMNS, Points
from shoal.release_folder.tables import corner_places, lon_lat
from shoal.verification.files.precision import PointPrecision, PrecisionCheck, boxes_as_written

GRID = Grid()  # 100 m, 60 s
ROWS = [(10 + n, 12 + n, n, -n, n + 2, 3 - n) for n in range(6)]
CORNERS = rings_of(boxes_from(ROWS), GRID.cell_m, PLANE)
BOUNDS = [*CORNERS.reshape(-1, 2).min(axis=0), *CORNERS.reshape(-1, 2).max(axis=0)]


def polygon(corners: Any) -> bytes:
    return bytes([1, 3, 0, 0, 0, 1, 0, 0, 0, 5, 0, 0, 0]) + np.asarray(corners, dtype="<f8").tobytes()


def described(table: pa.Table, bounds: Any) -> pa.Table:
    about = {"columns": {"geometry": {"bbox": bounds} if bounds is not None else {}}}
    return table.replace_schema_metadata({"geo": json.dumps(about)})


def table_of(moved: dict[tuple[str, int], float] | None = None, *, corners: Any = None) -> pa.Table:
    """The table of these boxes; moved: what is added to a number, by its column and row."""
    numbers = np.array(ROWS, dtype=np.float64) * [60, 60, 100, 100, 100, 100]
    columns = dict(zip(BOX_COLUMNS, numbers.T.copy(), strict=True))
    for (name, row), more in (moved or {}).items():
        columns[name][row] += more
    if corners is not None:
        texts = [polygon(corners_of_one) for corners_of_one in corners]
        return described(pa.table({**columns, "geometry": pa.array(texts, pa.binary())}), BOUNDS)
    return pa.table(columns)


def check_of(table: pa.Table, parts: tuple[int, ...] = (), crs: str | None = PLANE) -> PrecisionCheck:
    """What a check gathers of a table that comes in parts."""
    whole: PrecisionCheck | None = None
    cuts = [0, *parts, len(table)]
    for start, end in pairwise(cuts):
        part = table.slice(start, end - start)
        check = PrecisionCheck(GRID, crs)
        check.add_rows(part, boxes_as_written(part, GRID))
        if whole is None:
            whole = check
        else:
            whole.merge(check)
    assert whole is not None
    return whole


def messages(check: PrecisionCheck) -> list[str]:
    findings = list(check.findings())
    assert {finding.kind for finding in findings} <= {"finer-than-claim"}
    return [finding.message for finding in findings]


ALL_PARTS = [(), (3,), (1, 2, 5), (0, 4), (6,)]


@pytest.mark.parametrize("parts", ALL_PARTS)
def test_numbers_off_the_grid_are_counted_and_the_first_is_named(parts: tuple[int, ...]) -> None:
    assert messages(check_of(table_of(), parts)) == []
    moved = {("t_end", 2): 1.0, ("t_end", 4): -0.5, ("x_min", 5): 1e-9, ("y_max", 0): 50.0}
    assert messages(check_of(table_of(moved), parts)) == [
        "2 values of t_end are not multiples of 60 s; the first stands in row 3",
        "1 values of x_min are not multiples of 100 m; the first stands in row 6",
        "1 values of y_max are not multiples of 100 m; the first stands in row 1",
    ]


def test_rows_looked_at_one_after_the_other_count_on() -> None:
    check = PrecisionCheck(GRID, None)
    for row in (0, 2):
        part = table_of({("x_min", 3): 1.0, ("t_start", 1): 1.0}).slice(row, 2)
        check.add_rows(part, boxes_as_written(part, GRID))
    assert messages(check) == [
        "1 values of t_start are not multiples of 60 s; the first stands in row 2",
        "1 values of x_min are not multiples of 100 m; the first stands in row 4",
    ]


@pytest.mark.parametrize("parts", ALL_PARTS)
def test_outlines_and_their_bounds_hold_in_any_parts(parts: tuple[int, ...]) -> None:
    check = check_of(table_of(corners=CORNERS), parts)
    assert messages(check) == []
    assert list(check.notes()) == []


WRONG = "of 6 geometries are not the rectangle of their own box"


@pytest.mark.parametrize("parts", ALL_PARTS)
@pytest.mark.parametrize(
    ("moved_deg", "expected", "n_notes"), [(0.0, [], 0), (0.9e-9, [], 1), (1.2e-9, [f"2 {WRONG}"], 0)]
)
def test_outlines_may_be_a_tenth_of_a_millimeter_off(
    moved_deg: float, expected: list[str], n_notes: int, parts: tuple[int, ...]
) -> None:
    corners = CORNERS.copy()
    corners[[1, 4], 2, 0] += moved_deg
    table = table_of(corners=corners)
    flat = corners.reshape(-1, 2)
    check = check_of(described(table, [*flat.min(axis=0), *flat.max(axis=0)]), parts)
    assert messages(check) == expected
    notes = list(check.notes())
    assert len(notes) == n_notes
    assert all(note.startswith("2 of 6 outlines have other last digits") for note in notes)


def moved_in(corner: int, axis: int) -> Any:
    corners = CORNERS.copy()
    corners[3, corner, axis] += 1e-6
    return corners


@pytest.mark.parametrize(("corner", "axis"), [(corner, axis) for corner in range(5) for axis in range(2)])
def test_each_corner_of_an_outline_counts(corner: int, axis: int) -> None:
    assert messages(check_of(table_of(corners=moved_in(corner, axis)))) == [f"1 {WRONG}"]


@pytest.mark.parametrize("place", range(13))
def test_each_byte_of_the_head_of_an_outline_counts(place: int) -> None:
    table = table_of(corners=CORNERS)
    texts = [bytearray(text) for text in table["geometry"].to_pylist()]
    texts[2][place] ^= 4
    changed = table.set_column(6, "geometry", pa.array([bytes(text) for text in texts], pa.binary()))
    assert messages(check_of(changed)) == [f"1 {WRONG}"]


@pytest.mark.parametrize(
    "texts",
    [
        [None, *(polygon(corners_of_one) for corners_of_one in CORNERS[1:])],
        [b"", *(polygon(corners_of_one) for corners_of_one in CORNERS[1:])],
        [polygon(CORNERS[0]) + b"\0", *(polygon(corners_of_one) for corners_of_one in CORNERS[1:])],
    ],
)
def test_what_is_no_outline_is_one_that_is_wrong(texts: list[bytes | None]) -> None:
    table = table_of(corners=CORNERS)
    changed = table.set_column(6, "geometry", pa.array(texts, pa.binary()))
    assert messages(check_of(changed)) == [f"1 {WRONG}"]


def test_columns_that_hold_no_bytes_or_no_outline_at_all_have_none_that_is_right() -> None:
    table = table_of(corners=CORNERS)
    empty = pa.array([b""] * 6, pa.binary())
    assert messages(check_of(table.set_column(6, "geometry", empty))) == [f"6 {WRONG}"]
    assert messages(check_of(table.set_column(6, "geometry", pa.array([1] * 6)))) == [f"6 {WRONG}"]


def named(table: pa.Table) -> pa.Table:
    return table.append_column("trajectory_id", pa.array(["0f"] * len(table)))


def test_what_says_no_more_than_its_boxes_is_told_from_what_could() -> None:
    """Only then are records of the same boxes not compared byte by byte."""
    sound = named(table_of(corners=CORNERS))
    last_digit = CORNERS.copy()
    last_digit[2, 1, 1] = np.nextafter(last_digit[2, 1, 1], 90)
    minus_zero = sound["x_min"].to_numpy().copy()
    assert minus_zero[0] == 0
    minus_zero[0] = -0.0
    as_bytes = sound["trajectory_id"].cast(pa.binary())
    as_floats = sound["t_start"].cast(pa.float32())
    others = {
        "a number in its last bit": named(table_of({("t_end", 5): 1e-9}, corners=CORNERS)),
        "a zero with a sign": sound.set_column(2, "x_min", pa.array(minus_zero)),
        "an outline in its last digit": named(table_of(corners=last_digit)),
        "an outline elsewhere": named(table_of(corners=moved_in(2, 1))),
        "one more column": sound.append_column("more", pa.array([1] * 6)),
        "names as bytes": sound.drop_columns(["trajectory_id"]).append_column("trajectory_id", as_bytes),
        "times in 32 bits": sound.set_column(0, "t_start", as_floats),
    }
    assert check_of(sound).says_no_more_than_boxes
    assert check_of(named(table_of()), crs=None).says_no_more_than_boxes
    assert not check_of(sound, crs=None).says_no_more_than_boxes
    assert [what for what, table in others.items() if check_of(table).says_no_more_than_boxes] == []
    for parts in ALL_PARTS:
        assert check_of(sound, parts).says_no_more_than_boxes
        assert not check_of(others["an outline in its last digit"], parts).says_no_more_than_boxes
    assert len(ALL_PARTS) > 1


@pytest.mark.parametrize("far", [0, 10**4])
def test_corners_are_numbered_alike_whether_or_not_each_place_has_a_number(far: int) -> None:
    """A rectangle around few boxes that lie far apart has too many places for a table."""
    boxes = boxes_from([*ROWS, (1, 2, far, far, far + 1, far + 2)])
    places, at = corner_places(boxes, GRID.cell_m, PLANE)
    x = np.stack([boxes.x_min, boxes.x_max, boxes.x_max, boxes.x_min], axis=1) * 100.0
    y = np.stack([boxes.y_min, boxes.y_min, boxes.y_max, boxes.y_max], axis=1) * 100.0
    lon, lat = transform(PLANE, WGS84, x.ravel().astype(np.float64), y.ravel().astype(np.float64))
    np.testing.assert_array_equal(places[at].reshape(-1, 2), np.stack([lon, lat], axis=1))
    assert len(np.unique(places, axis=0)) == len(places)


BAD_BOUNDS = "the bounds in the file's metadata are not those of the rectangles"


@pytest.mark.parametrize("parts", ALL_PARTS)
@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (None, []),
        (BOUNDS, []),
        *(([*BOUNDS[:n], np.nextafter(BOUNDS[n], 200), *BOUNDS[n + 1 :]], [BAD_BOUNDS]) for n in range(4)),
        (BOUNDS[:3], [BAD_BOUNDS]),
        ([*BOUNDS, 1.0], [BAD_BOUNDS]),
        ("four", [BAD_BOUNDS]),
    ],
)
def test_bounds_are_those_of_the_outlines_or_not_said(
    bounds: Any, expected: list[str], parts: tuple[int, ...]
) -> None:
    assert messages(check_of(described(table_of(corners=CORNERS), bounds), parts)) == expected


def test_bounds_without_a_plane_are_not_looked_at_here() -> None:
    assert messages(check_of(described(table_of(corners=CORNERS), [0.0] * 4), crs=None)) == []


# --- columns ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2.0**53, "missing, infinite or impossibly large"),
        (-(2.0**53), "missing, infinite or impossibly large"),
        (float("nan"), "missing, infinite or impossibly large"),
    ],
)
def test_values_that_cannot_be_are_refused(value: float, words: str) -> None:
    table = table_of()
    column = pa.array([value, *table["x_min"].to_pylist()[1:]])
    with pytest.raises(InputError, match=words):
        boxes_as_written(table.set_column(2, "x_min", column), GRID)
    with pytest.raises(InputError, match="lacks the column x_min"):
        boxes_as_written(table.drop_columns(["x_min"]), GRID)


def test_columns_that_are_no_numbers_are_refused() -> None:
    table = table_of()
    for column in (pa.array(["x"] * 6), pa.array([[1.0]] * 6)):
        with pytest.raises(InputError, match="is not made of numbers"):
            boxes_as_written(table.set_column(2, "x_min", column), GRID)


def test_cells_are_counted_up_to_what_a_float_tells_apart() -> None:
    fine = Grid(cell_m=0.5, slot_s=60.0)
    for value, fits in ((2.0**52 - 0.5, True), (2.0**52, False), (-(2.0**52), False)):
        table = pa.table({name: [value if name == "x_max" else 60.0] for name in BOX_COLUMNS})
        messages = ""
        try:
            boxes_as_written(table, fine)
        except InputError as error:
            messages = str(error)
        assert ("does not fit the manifest's cell and slot" in messages) is not fits


@pytest.mark.parametrize(("ulps", "n"), [(0, 0), (2, 0), (-2, 0), (3, 1), (-3, 1)])
def test_instants_are_told_apart_to_half_a_microsecond(ulps: int, n: int) -> None:
    """Seconds of an instant are found by a division; two steps of the last digit are its error."""
    start = 28_000_000 * 60.0
    table = pa.table(
        {
            name: pa.array([28_000_000 * 60_000_000], pa.timestamp("us", tz="UTC"))
            if name.startswith("t_")
            else pa.array([0.0])
            for name in BOX_COLUMNS
        }
    )
    written = boxes_as_written(table, GRID)
    assert written.exact["t_start"].tolist() == [start]
    moved = {**written.exact, "t_start": np.array([start + ulps * np.spacing(start)])}
    check = PrecisionCheck(GRID, None)
    check.add_rows(table, replace(written, exact=moved))
    assert len(messages(check)) == n


# --- points -------------------------------------------------------------------------------------------------

X, Y = np.array([0.0, 1500.0, -800.0]), np.array([20.0, -70.0, 900.0])


def points(**columns: Any) -> Points:
    return Points(**{"t": np.zeros(3), "x": X, "y": Y, **columns})


PLACES = lon_lat(points(), PLANE)
DEGREES = dict(zip(("lon", "lat"), transform(PLANE, WGS84, X, Y), strict=True))


GIVEN = np.column_stack([DEGREES["lon"], DEGREES["lat"]])


def seen_of_points(made: Points, drawn: Any, bounds: Any, crs: str | None) -> PointPrecision:
    table, seen = pa.table({"t": made.t}), PointPrecision(crs)
    if drawn is not None:
        texts = [bytes([1, 1, 0, 0, 0]) + np.asarray(item, dtype="<f8").tobytes() for item in drawn]
        table = table.append_column("geometry", pa.array(texts, pa.binary()))
        table = described(table, bounds)
    for rows in (slice(0, 2), slice(2, 3)):  # as they come, in pieces
        seen.add_rows(table.slice(rows.start, rows.stop - rows.start), made.take(rows))
    return seen


def told_of_points(made: Points, drawn: Any = None, bounds: Any = None, crs: str | None = PLANE) -> list[str]:
    return [finding.message for finding in seen_of_points(made, drawn, bounds, crs).findings()]


@pytest.mark.parametrize(
    ("moved_m", "expected"),
    [
        (0.0, []),
        (0.0009, []),
        (-0.0009, []),
        (0.0011, ["1 of 3 points have x and y that are not those of their degrees"]),
        (-0.0011, ["1 of 3 points have x and y that are not those of their degrees"]),
    ],
)
def test_degrees_and_meters_of_a_point_are_one_place_to_a_millimeter(
    moved_m: float, expected: list[str]
) -> None:
    moved = np.array([0.0, moved_m, 0.0])
    x, y = transform(WGS84, PLANE, DEGREES["lon"], DEGREES["lat"])
    assert told_of_points(points(**DEGREES, x=x + moved, y=y)) == expected
    assert told_of_points(points(**DEGREES, x=x, y=y + moved)) == expected


def test_local_meters_have_no_degrees_beside_them() -> None:
    assert told_of_points(points(), crs=None) == []
    assert told_of_points(points(**DEGREES), crs=None) == [
        "the points are in local meters and have degrees beside them"
    ]


NOT_ITS_PLACE = ["not every geometry is the place of its own point"]


@pytest.mark.parametrize(
    ("moved_deg", "of_plane", "of_degrees"),
    [(0.0, [], []), (0.9e-9, [], NOT_ITS_PLACE), (-1.1e-9, NOT_ITS_PLACE, NOT_ITS_PLACE)],
)
def test_geometries_are_the_places_of_their_points(
    moved_deg: float, of_plane: list[str], of_degrees: list[str]
) -> None:
    for axis in range(2):
        messages = []
        x, y = transform(WGS84, PLANE, DEGREES["lon"], DEGREES["lat"])
        for case, places in ((points(), PLACES), (points(**DEGREES, x=x, y=y), GIVEN)):
            drawn = places.copy()
            drawn[1, axis] += moved_deg
            messages.append(told_of_points(case, drawn, [*drawn.min(axis=0), *drawn.max(axis=0)]))
        assert messages == [of_plane, of_degrees]


def test_other_last_digits_of_places_are_noted() -> None:
    assert list(seen_of_points(points(), PLACES, None, PLANE).notes()) == []
    drawn = PLACES.copy()
    drawn[[0, 2], 1] = np.nextafter(drawn[[0, 2], 1], 90)
    seen = seen_of_points(points(), drawn, None, PLANE)
    assert list(seen.findings()) == []
    assert [note.partition(" than")[0] for note in seen.notes()] == [
        "2 of 3 geometries have other last digits"
    ]


def test_bounds_of_points_are_theirs() -> None:
    bounds = [*PLACES.min(axis=0), *PLACES.max(axis=0)]
    for place in range(4):
        other = [*bounds]
        other[place] = float(np.nextafter(other[place], 200))
        assert told_of_points(points(), PLACES, other) == [
            "the bounds in the file's metadata are not those of the points"
        ]
    assert told_of_points(points(), PLACES, bounds) == told_of_points(points(), PLACES) == []
