"""Areas across the 180th meridian and around a pole are cut as RFC 7946 says, and the verifier looks "
"at the cut."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from shoal.model.release import Boxes
from shoal.publishing.in_database import bounds_of
from shoal.release_folder.outlines import are_cut, cut_outline, heads_of, is_cut, polygons_of
from shoal.release_folder.tables import draw_outlines
from shoal.runtime.arrays import Floats

AT = np.array([[0, 1, 2, 3]])


def ring(*corners: tuple[float, float]) -> Floats:
    return np.array(corners)


def area(places: Floats) -> float:
    """Of a closed ring, positive counterclockwise."""
    x, y = places.T
    return float((x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2)


@pytest.mark.parametrize(
    "corners",
    [
        ring((179.0, 0.0), (-179.0, 0.1), (-179.2, 1.0), (178.9, 1.1)),
        ring((-179.9, -16.0), (-179.5, -16.1), (-179.6, -15.0), (179.9, -15.1)),
        ring((179.5, 60.0), (179.9, 59.9), (-179.9, 60.5), (179.6, 60.6)),
        ring((170.0, -80.0), (-160.0, -80.0), (-165.0, -79.0), (172.0, -79.5)),
    ],
)
def test_parts_stay_within_the_bounds_and_keep_the_area(corners: Floats) -> None:
    assert are_cut(corners, AT).all()
    parts = polygons_of(cut_outline(corners))
    unwrapped = corners.copy()
    unwrapped[:, 0] = np.where(unwrapped[:, 0] < 0, unwrapped[:, 0] + 360, unwrapped[:, 0])
    assert sum(map(area, parts)) == pytest.approx(area(unwrapped[[0, 1, 2, 3, 0]]))
    assert len(parts) == 2
    for part in parts:
        assert area(part) > 0
        assert (np.abs(part[:, 0]) <= 180).all()
        assert np.ptp(part[:, 0]) < 180
        assert (part[0] == part[-1]).all()


@pytest.mark.parametrize("pole", [90.0, -90.0])
@pytest.mark.parametrize("begin", [-170.0, -10.0, 44.0, 180.0])
def test_an_area_around_a_pole_reaches_it(pole: float, begin: float) -> None:
    lon = (begin + np.array([0.0, 90.0, 180.0, 270.0]) * np.sign(pole) + 180) % 360 - 180
    corners = np.stack([lon, np.full(4, pole * 0.99)], axis=1)
    (part,) = polygons_of(cut_outline(corners))
    assert area(part) == pytest.approx(360 * 0.9)
    assert (part[:, 0].min(), part[:, 0].max()) == (-180.0, 180.0)
    assert pole in part[:, 1]


def test_other_outlines_are_not_cut() -> None:
    near = ring((2.0, 48.0), (3.0, 48.0), (3.0, 49.0), (2.0, 49.0))
    assert not are_cut(near, AT).any()
    touching = ring((179.0, 0.0), (-180.0, 0.0), (-180.0, 1.0), (179.0, 1.0))
    (part,) = polygons_of(cut_outline(touching))
    assert part[:, 0].min() == 179.0
    assert is_cut(cut_outline(touching))
    assert heads_of(cut_outline(touching)) == heads_of(cut_outline(touching + [[-0.5, 0.0]] * 4))


def people_at_the_date_line(place: Path) -> Path:
    rows = ["uid,t,lat,lon"]
    for who in range(4):
        for step in range(5):
            lon = 179.97 + 0.02 * step + 0.004 * who
            rows.append(
                f"p{who},2024-05-01T1{step}:00:00Z,{-16.4 + who / 1000},{lon - 360 * (lon > 180):.6f}"
            )
    path = place / "fiji.csv"
    path.write_text("\n".join([*rows, ""]))
    return path


def shapes_of(release: Path) -> list[bytes]:
    return [bytes(drawn) for drawn in pq.read_table(release / "release.parquet")["geometry"].to_pylist()]


def test_a_release_across_the_date_line_in_every_export(tmp_path: Path, shoal: Shoal) -> None:
    calls, release, linkage = (
        people_at_the_date_line(tmp_path),
        tmp_path / "release",
        tmp_path / "linkage.parquet",
    )
    made = shoal("anonymize", calls, "--k", 2, "--output", release, "--linkage", linkage)
    assert made.code == 0, made.err
    drawn = shapes_of(release)
    assert 0 < sum(map(is_cut, drawn)) < len(drawn)
    for part in (part for wkb in drawn for part in polygons_of(wkb)):
        assert np.ptp(part[:, 0]) < 1
        assert (np.abs(part[:, 0]) <= 180).all()
    assert shoal("verify", calls, release, "--linkage", linkage, "--claim", "k-anonymity:2").code == 0
    for form in ("geojsonl", "parquet-by-day", "parquet-parts"):
        copy = tmp_path / form
        assert shoal("publish", release, "--to", copy, "--format", form).code == 0
        assert shoal("verify", calls, copy, "--linkage", linkage).code == 0
    kinds = [
        json.loads(line)["geometry"]["type"]
        for line in (tmp_path / "geojsonl/release.geojsonl").read_text().splitlines()
    ]
    assert set(kinds) == {"Polygon", "MultiPolygon"}
    refused = shoal("publish", release, "--to", tmp_path / "fgb", "--format", "flatgeobuf")
    assert refused.code == 2
    assert "cut into parts" in refused.err


@pytest.mark.parametrize("forged", ["moved", "not closed", "in one part"])
def test_the_verifier_refuses_other_cuts(tmp_path: Path, shoal: Shoal, forged: str) -> None:
    calls, release, linkage = (
        people_at_the_date_line(tmp_path),
        tmp_path / "release",
        tmp_path / "linkage.parquet",
    )
    assert shoal("anonymize", calls, "--k", 2, "--output", release, "--linkage", linkage).code == 0
    table = pq.read_table(release / "release.parquet")
    drawn = shapes_of(release)
    at = next(place for place, wkb in enumerate(drawn) if is_cut(wkb))
    last = np.frombuffer(drawn[at][-8:])[0]
    if forged == "moved":
        drawn[at] = drawn[at][:-8] + np.float64(-16.3).tobytes()
    elif forged == "not closed":  # by less than projections differ between machines
        drawn[at] = drawn[at][:-8] + np.float64(last + 5e-10).tobytes()
    else:  # around the earth the other way, as one polygon
        drawn[at] = next(wkb for wkb in drawn if not is_cut(wkb))
    place = table.column_names.index("geometry")
    field = table.schema.field("geometry")
    changed = table.set_column(place, field, pa.array(drawn, field.type))
    pq.write_table(changed, release / "release.parquet")
    found = shoal("verify", calls, release, "--linkage", linkage)
    assert found.code == 1
    assert "geometries are not the rectangle of their own box" in found.out


def spans(crs: str, west: int, south: int, east: int, north: int) -> list[tuple[float, float]]:
    """Longitudes of the parts of one box, in cells of 10 km."""
    sides = (np.array([side]) for side in (0, 1, west, east, south, north))
    names = ("t_start", "t_end", "x_min", "x_max", "y_min", "y_max")
    drawn, _ = draw_outlines(Boxes(**dict(zip(names, sides, strict=True))), 10_000.0, crs)
    parts = polygons_of(drawn[0].as_py())
    assert sum(map(area, parts)) > 0
    return sorted((round(float(x.min())), round(float(x.max()))) for x in (part[:, 0] for part in parts))


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        (0, [(-101, 101)]),
        (180, [(-180, -79), (79, 180)]),
        (100, [(-180, -159), (-1, 180)]),
        (-100, [(-180, 1), (159, 180)]),
    ],
)
def test_a_box_of_more_than_half_of_the_earth_is_not_drawn_around_the_other_half(
    middle: int, expected: list[tuple[float, float]]
) -> None:
    """An edge on the equator, 202 degrees long, whose corners are 158 degrees apart the other way."""
    crs = f"+proj=laea +lat_0=0 +lon_0={middle} +datum=WGS84 +units=m +no_defs"
    assert spans(crs, -984, -50, 984, 50) == expected


def test_a_wide_box_over_a_pole_and_one_beside_it() -> None:
    crs = "+proj=laea +lat_0=60 +lon_0=10 +datum=WGS84 +units=m +no_defs"
    assert spans(crs, -700, 0, 700, 600) == [(-180, 180)]
    (beside,) = spans(crs, -100, 0, 100, 300)
    assert -180 < beside[0] < 10 < beside[1] < 180


def test_bounds_of_a_box_wider_than_half_of_the_earth_go_on_beyond_180_degrees() -> None:
    corners = ring((100.0, 0.0), (60.0, 0.0), (60.0, 1.0), (100.0, 1.0))
    wkb = cut_outline(corners, np.array([320.0, 0.0, -320.0, 0.0]))
    assert bounds_of(wkb) == (100.0, 0.0, 420.0, 1.0)
    assert bounds_of(cut_outline(ring((179.0, 0.0), (-179.0, 0.0), (-179.0, 1.0), (179.0, 1.0)))) == (
        (179.0, 0.0, 181.0, 1.0)
    )
