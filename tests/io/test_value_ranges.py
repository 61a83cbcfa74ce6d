"""Ranges as other tools write them: what their ends are, and what cannot be read."""

import math

import numpy as np
import pyarrow as pa
import pytest

from shoal.io.columns.cell_codes import cells_of, h3_numbers, system_of
from shoal.io.columns.times import Times
from shoal.io.columns.value_ranges import number_ranges, time_ranges

NUMBERS = {
    "[48.8, 48.9[": (48.8, 48.9),  # ARX
    "[48.8,48.9)": (48.8, 48.9),
    "[48.8, 48.9]": (48.8, math.nextafter(48.9, math.inf)),
    "(48.8, 48.9]": (math.nextafter(48.8, math.inf), math.nextafter(48.9, math.inf)),  # pandas.cut
    "]48.8, 48.9]": (math.nextafter(48.8, math.inf), math.nextafter(48.9, math.inf)),
    "48.8-48.9": (48.8, math.nextafter(48.9, math.inf)),
    "-3.5 - -3.25": (-3.5, math.nextafter(-3.25, math.inf)),
    "48.8..48.9": (48.8, math.nextafter(48.9, math.inf)),
    "{48.9, 48.7, 48.8}": (48.7, math.nextafter(48.9, math.inf)),
    "48.8*": (48.8, 48.9),
    "48.**": (48.0, 49.0),
    "-3.7*": (-3.8, -3.7),
    "4*": (40.0, 50.0),
    ">=48.8": (48.8, math.inf),
    "<48.9": (-math.inf, 48.9),
    "≤ 48.9": (-math.inf, math.nextafter(48.9, math.inf)),
    "*": (-math.inf, math.inf),
    "": (-math.inf, math.inf),
    "NULL": (-math.inf, math.inf),
    "48.8566": (48.8566, 48.8566),
}


@pytest.mark.parametrize("text", NUMBERS)
def test_a_range_of_numbers_is_read_as_it_is_meant(text: str) -> None:
    found = number_ranges(pa.array([text, "1"]), "lat")
    assert found.readable.all()
    assert (found.low[0], found.high[0]) == pytest.approx(NUMBERS[text], abs=1e-12)
    assert (found.low[0] == found.high[0]) == (text == "48.8566")


def test_what_is_no_range_is_not_readable() -> None:
    found = number_ranges(pa.array(["north", "[5, 3]", "[a, b[", "7"]), "lat")
    assert found.readable.tolist() == [False, False, False, True]


TIMES = {
    "2024-05-01 12": (0, 3600),
    "2024-05-01": (-43_200, 43_200),
    "2024-05": (-43_200, 43_200 + 30 * 86_400),
    "[2024-05-01 12:00, 2024-05-01 13:00[": (0, 3600),
    "2024-05-01T12:00:00Z/2024-05-01T12:30:00Z": (0, 1800),
    "2024-05-01T12:00:07Z": (7, 7),
}


@pytest.mark.parametrize("text", TIMES)
def test_a_range_of_times_is_read_as_it_is_meant(text: str) -> None:
    noon = 1_714_564_800
    found = time_ranges(pa.array([text, "2024-05-01T12:00:00Z"]), Times(None), "t")
    assert found.readable.all()
    assert found.low[0] - noon == pytest.approx(TIMES[text][0], abs=1e-5)
    assert found.high[0] - noon == pytest.approx(TIMES[text][1], abs=1e-5)


def test_empty_numbers_and_times_may_be_anything() -> None:
    assert np.isinf(number_ranges(pa.array([None, 1.5]), "lat").low).tolist() == [True, False]
    assert np.isinf(time_ranges(pa.array([None, 1.5e9]), Times("s"), "t").high).tolist() == [True, False]


def test_a_geohash_is_the_rectangle_that_its_definition_gives() -> None:
    # ezs42 is the example of Niemeyer's page: 42.583 to 42.627, -5.625 to -5.581
    found = cells_of("geohash", ["ezs42"])
    got = (found.south[0], found.north[0], found.west[0], found.east[0])
    assert got == pytest.approx((42.583, 42.627, -5.625, -5.581), abs=1e-3)
    assert system_of(["ezs42", "ezs4"]) == "geohash"
    assert system_of(["8928308280fffff"]) == "h3"
    assert system_of(["1014", "1015"]) is None
    assert system_of([]) is None


def test_a_position_has_a_number_in_the_range_of_its_h3_cell_and_of_no_other() -> None:
    h3 = pytest.importorskip("h3")
    rng = np.random.default_rng(1)
    lat, lon = 48 + rng.random(50), 2 + rng.random(50)
    numbers = h3_numbers(lat, lon, 8)
    cells = [h3.latlng_to_cell(*at, 8) for at in zip(lat.tolist(), lon.tolist(), strict=True)]
    found = cells_of("h3", cells)
    assert found.low is not None
    assert found.high is not None
    inside = (numbers[:, None] >= found.low) & (numbers[:, None] < found.high)
    assert (inside == (np.array(cells)[:, None] == np.array(cells))).all()
    parents = cells_of("h3", [h3.cell_to_parent(cell, 5) for cell in cells])
    assert parents.low is not None
    assert parents.high is not None
    assert ((numbers >= parents.low) & (numbers < parents.high)).all()
