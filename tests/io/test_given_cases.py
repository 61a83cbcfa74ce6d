"""Files of public bug reports that were once read wrong: what each gives now.

Others of them stand where their kind does: Shapefiles without .cpg and a far cell of .xlsx in
``test_no_crash.py``, years of KML in ``test_more_layouts.py``, areas over the antimeridian in
``tests/publishing/test_cut_outlines.py``.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import InputError
from shoal.io import read
from shoal.model.trajectories import Trajectories

Row = tuple[object, ...]
STEPS: Final = 10


def rows(line: Callable[[int, int], Row], header: str = "uid,t,lat,lon") -> bytes:
    """Six people with ten rows each. line: of a person and a step."""
    lines = [",".join(map(str, line(who, step))) for who in range(6) for step in range(STEPS)]
    return "\n".join([header, *lines, ""]).encode()


def at(step: int) -> str:
    return f"2024-05-01T06:{step:02d}:00Z"


def around(lat: float, lon: float, step: int) -> tuple[float, float]:
    return round(lat + step / 500, 6), round(lon + step / 500, 6)


def paris(
    uid: Callable[[int, int], object] = lambda who, _: f"u{who}",
    t: Callable[[int, int], object] = lambda _, step: at(step),
) -> bytes:
    return rows(lambda who, step: (uid(who, step), t(who, step), *around(48.85, 2.33, step)))


MAILS: Final = json.dumps(
    [
        {"mail": f"u{who}@x", "time": at(step), "lat": 48.8 + step / 500, "lon": 2.3}
        for who in range(6)
        for step in range(STEPS)
    ]
).encode()
RIO: Final = rows(
    lambda who, step: (who, at(step), round(22.9 + step / 500, 6), "S", round(43.2 + step / 500, 6), "W", 12),
    "ID,DATETIME,LATITUDE,N/S,LONGITUDE,E/W,HEIGHT",
)
REFUSED: Final[dict[str, tuple[str, bytes, tuple[str, ...]]]] = {
    "01 a list of JSON with another id": ("x.json", MAILS, ("mail looks like ids", "--id")),
    "04 ids as floats in part": (
        "x.csv",
        paris(lambda who, step: f"{100 + who}.0" if step % 2 else 100 + who),
        ("12 ids in column 'uid'", "6 people", "--ids-as-they-are"),
    ),
    "06 ids by case and with blanks": (
        "x.csv",
        paris(lambda who, step: ("anna", "Anna", "ANNA ", "bob", " bob", "cho")[who]),
        ("look like 1 person", "--ids-as-they-are"),
    ),
    "08 ids of a spreadsheet": (
        "x.csv",
        paris(lambda who, step: "3.56938E+14"),
        ("lost their last digits", "--ids-as-they-are"),
    ),
    "13 two zones of UTM": (
        "x.csv",
        rows(
            lambda who, step: (who, at(step), 290084 + step, 5416532, ("31T", "30T")[who % 2]),
            "uid,t,easting,northing,zone",
        ),
        ("30T and 31T", "--crs"),
    ),
    "18 millionths of a degree": (
        "x.csv",
        rows(lambda who, step: (who, at(step), 48866192 + step, 2337542 + step)),
        ("degrees times 1,000,000 (48.9 N 2.3 E)", "call them lat_e6 and lon_e6"),
    ),
    "20 radians": (
        "x.csv",
        rows(lambda who, step: (who, at(step), 0.85287594 + step / 1e5, 0.0407978)),
        ("as radians", "lat_rad"),
    ),
    "22 a clock beside a date": (
        "x.csv",
        rows(lambda who, step: (who, "010524", f"0600{step:02d}", 48.85, 2.35), "uid,date,time,lat,lon"),
        ("small numbers", "--date"),
    ),
    "25 epochs of a spreadsheet": (
        "x.csv",
        paris(t=lambda _, step: f"1.7145{4 + step // 5}E+12"),
        ("has lost digits", "steps of 10,000 s"),
    ),
    "28 dates in two layouts": (
        "x.csv",
        paris(t=lambda who, step: f"01/05/2024 06:{step:02d}" if who % 2 else at(step)),
        ("3 of 6 people have no usable row", "--lose-people"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_case_that_is_a_question_names_its_answer(case: str, tmp_path: Path) -> None:
    name, content, words = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(tmp_path / name)
    assert all(word in caught.value.cli_message for word in words)


TRIPS: Final = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"user": f"u{who}"},
                "geometry": {
                    "type": "LineString",
                    "coordinates": [[2.33, 48.86, 0, 1714543200.47 + 60 * step] for step in range(STEPS)],
                },
            }
            for who in range(6)
        ],
    }
).encode()
READ: Final[dict[str, tuple[str, bytes, Callable[[Trajectories], bool]]]] = {
    "10 hemispheres in columns": (
        "x.csv",
        RIO,
        lambda got: (
            got.lat is not None and got.lon is not None and max(got.lat.max(), got.lon.max() + 20) < -22
        ),
    ),
    "15 a plane of Great Britain": (
        "x.csv",
        rows(lambda who, step: (who, at(step), 530527 + step, 181619), "uid,t,easting,northing"),
        lambda got: any("EPSG:27700 (Great Britain" in note for note in got.intake.notes),
    ),
    "26 dates alone": (
        "x.csv",
        paris(t=lambda _, step: f"2024-05-0{1 + step % 3}"),
        lambda got: any("have no time of day and are taken as midnight" in note for note in got.intake.notes),
    ),
    "31 longitudes beyond 180": (
        "x.csv",
        rows(lambda who, step: (who, at(step), 48.86, 178 + step / 2)),
        lambda got: got.intake.repaired == {"longitude beyond 180, less 360": 30},
    ),
    "35 a line end in an id": (
        "x.csv",
        paris(lambda who, step: '"u\n3"' if who == 3 else f"u{who}"),
        lambda got: "u\n3" in got.ids,
    ),
    "41 trips of kepler.gl": (
        "x.geojson",
        TRIPS,
        lambda got: got.t.min() == 1714543200.47 and got.t.max() == 1714543740.47,
    ),
    "43 packed by Zstandard": (
        "ais.csv.zst",
        bytes(pa.compress(paris(), "zstd", asbytes=True)),
        lambda got: not got.intake.notes,
    ),
}


@pytest.mark.parametrize("case", READ)
def test_a_case_that_is_read_means_what_it_says(case: str, tmp_path: Path) -> None:
    name, content, is_right = READ[case]
    (tmp_path / name).write_bytes(content)
    got = read(tmp_path / name, snap=False)
    assert got.n_subjects == 6
    assert not got.intake.people_lost
    assert is_right(got)


def test_the_advice_about_millionths_leads_to_the_right_place(tmp_path: Path) -> None:
    content = REFUSED["18 millionths of a degree"][1].replace(b"lat,lon", b"lat_e6,lon_e6")
    (tmp_path / "x.csv").write_bytes(content)
    got = read(tmp_path / "x.csv", snap=False)
    assert np.allclose(np.asarray(got.lat), 48.8662, atol=1e-4)


def test_a_readme_beside_the_data_is_left_out_with_a_note(tmp_path: Path) -> None:
    """Case 39."""
    (tmp_path / "x.csv").write_bytes(paris())
    for name in ("README.txt", "metadata.json"):
        (tmp_path / name).write_text("{}")
    got = read(tmp_path)
    assert got.n_subjects == 6
    assert got.intake.notes == (
        "left out, since their names say that they describe data: README.txt, metadata.json",
    )
