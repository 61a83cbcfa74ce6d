"""Part of the people written in another way than the others: read right, asked about, or told."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.io import read
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.runtime.run import Run

BEGIN: Final = datetime(2024, 5, 1, 6, tzinfo=UTC)
Write = Callable[[datetime], object]
Place = Callable[[float, float], tuple[object, ...]]


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(at: datetime) -> int:
    return int(at.timestamp())


def dated(form: str, days: int = 20) -> Write:
    """The n-th sample on the n-th of some days of May."""
    return lambda at: (at + timedelta(days=(at - BEGIN).seconds // 900 % days)).strftime(form)


def same(lat: float, lon: float) -> tuple[object, ...]:
    return lat, lon


def text_of(times: tuple[Write, Write], place: Place, usual: Place = same) -> str:
    """Six people of twenty samples around Paris. Every third is written in the second way."""
    rows = ["uid;t;lat;lon"]
    for who in range(6):
        other = who % 3 == 2
        for step in range(20):
            at = round(48.8 + step / 300, 6), round(2.3 + (step + who) / 300, 6)
            lat, lon = (place if other else usual)(*at)
            rows.append(f"u{who};{times[other](BEGIN + timedelta(minutes=15 * step))};{lat};{lon}")
    return "\n".join([*rows, ""])


TIMES: Final[dict[str, tuple[Write, Write, str]]] = {
    "seconds, milliseconds": (seconds, lambda at: seconds(at) * 1000, "40 larger numbers like 9999999999999"),
    "milliseconds, seconds": (lambda at: seconds(at) * 1000, seconds, "40 smaller numbers like 9999999999"),
    "dates, milliseconds, seconds": (
        lambda at: iso(at) if at.minute else seconds(at) * 1000, seconds, "several units",
    ),
    "seconds, a shortened number": (seconds, lambda at: f"{seconds(at):.5E}", "has lost digits"),
    "dates, a shortened number": (iso, lambda at: f"{seconds(at):.5E}", "has lost digits"),
    "seconds, days of a spreadsheet": (seconds, lambda at: 45413.25 + at.hour / 24, "numbers like 99999"),
    "seconds, dates as numbers": (seconds, lambda at: at.strftime("%Y%m%d"), "numbers like 99999999"),
    "seconds, years": (seconds, lambda at: at.year, "numbers like 9999"),
    "the day first, the month first": (
        dated("%d/%m/%Y %H:%M"), dated("%m/%d/%Y %H:%M"), "dates with the month",
    ),
    "the day first, the month first of few days": (
        dated("%d/%m/%Y %H:%M"), dated("%m/%d/%Y %H:%M", 9), "on one day of several months alone",
    ),
    "dates, days of a spreadsheet": (iso, lambda at: 45413.25 + at.hour / 24, "2 of 6 people have no usable"),
    "dates, dates with slashes": (iso, dated("%d/%m/%Y %H:%M"), "2 of 6 people have no usable"),
}  # fmt: skip


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_some_people_in_another_unit_or_order_are_a_question(kind: str, tmp_path: Path) -> None:
    usual, other, words = TIMES[kind]
    (tmp_path / "x.csv").write_text(text_of((usual, other), same))
    with pytest.raises(InputError, match=words) as caught:
        read(tmp_path / "x.csv")
    assert "--time-" in caught.value.cli_message


def test_an_order_that_later_rows_deny_is_a_question(tmp_path: Path) -> None:
    for name, form in (("a", "%d/%m/%Y"), ("b", "%m/%d/%Y")):
        (tmp_path / f"{name}.csv").write_text(
            text_of((dated(form), dated(form)), same).replace("\nu", f"\n{name}")
        )
    with pytest.raises(InputError, match=r"of b\.csv holds dates with the day first and"):
        read(tmp_path)


def test_times_with_a_zone_beside_times_without_one_are_told(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(text_of((iso, lambda at: at.strftime("%Y-%m-%d %H:%M")), same))
    got = read(tmp_path / "x.csv")
    assert got.intake.repaired == {"time without a zone taken as UTC": 40}
    assert "times without a zone are taken as UTC; --time-zone gives another" in got.intake.notes


PLACES: Final[dict[str, tuple[Place, str]]] = {
    "swapped": (lambda lat, lon: (lon, lat), "where others are with latitude and longitude swapped"),
    "radians": (lambda lat, lon: (np.radians(lat), np.radians(lon)), "their numbers taken as radians"),
    "the latitude in radians": (lambda lat, lon: (np.radians(lat), lon), "the latitude taken as radians"),
    "a decimal point too far left": (lambda lat, lon: (lat / 10, lon / 10), "decimal points one digit on"),
    "millionths of a degree": (lambda lat, lon: (int(lat * 1e6), int(lon * 1e6)), "call them lat_e6"),
    "degrees and minutes": (
        lambda lat, lon: (round(4800 + lat % 1 * 60, 4), round(200 + lon % 1 * 60, 4)),
        "degrees and minutes in one number",
    ),
    "letters of two axes": (lambda lat, lon: (f"{lat}E", f"{lon}N"), "coordinates are written like 9"),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", PLACES)
def test_places_of_some_people_in_another_writing_are_a_question(
    kind: str, streamed: bool, tmp_path: Path
) -> None:
    place, words = PLACES[kind]
    (tmp_path / "x.csv").write_text(text_of((iso, iso), place))
    reader = partial(store_people, reading=Reading(), folder=tmp_path / "people", run=Run(), engine=Run())
    with pytest.raises(InputError, match=words):
        (reader if streamed else read)(tmp_path / "x.csv")


def test_a_lost_sign_is_a_question_and_boats_are_none(tmp_path: Path) -> None:
    argentina = {f"u{who}": (-34.6, 58.4 if who == 3 else -58.4) for who in range(6)}
    boats = {"ann": (48.85, 2.35), "boat": (45.0, -20.0), "ferry": (50.0, -2.35)}
    for people, doubt in ((argentina, True), (boats, False)):
        rows = [f"{name},{seconds(BEGIN) + step * 600},{lat + step / 500},{lon}"
                for name, (lat, lon) in people.items() for step in range(20)]  # fmt: skip
        (tmp_path / "x.csv").write_text("\n".join(["uid,t,lat,lon", *rows]))
        if doubt:
            with pytest.raises(InputError, match="where others are with the longitude's sign turned"):
                read(tmp_path / "x.csv")
        notes = read(tmp_path / "x.csv", lat="lat", lon="lon").intake.notes
        assert doubt == any("check --lat and --lon" in note for note in notes)


def test_decimal_commas_of_some_people_are_read(tmp_path: Path) -> None:
    with_commas = text_of(
        (iso, iso), lambda lat, lon: (f"{lat}".replace(".", ","), f"{lon}".replace(".", ","))
    )
    (tmp_path / "a.csv").write_text(with_commas)
    (tmp_path / "b.csv").write_text(text_of((iso, iso), same))
    one, other = (read(tmp_path / name, snap=False) for name in ("a.csv", "b.csv"))
    assert one.lat is not None
    assert other.lat is not None
    assert np.array_equal(one.lat, other.lat)
    assert one.intake.repaired == {"coordinate with a decimal comma": 80}


@pytest.mark.parametrize(("factor", "crs"), [(100, None), (100, "EPSG:2154"), (1, None)])
def test_kilometers_or_degrees_among_meters(factor: float, crs: str | None, tmp_path: Path) -> None:
    meters = text_of((iso, iso), lambda y, x: (y * factor, x * factor), lambda y, x: (y + 6.8e6, x + 6.5e5))
    (tmp_path / "x.csv").write_text(meters.replace("lat;lon", "y;x"))
    words = "some x and y of x.csv are more than a hundred times smaller than the others"
    with pytest.raises(InputError, match=words if crs is None else "33 % of the positions of x.csv lie more"):
        read(tmp_path / "x.csv", crs=crs)
    assert read(tmp_path / "x.csv", crs="local").n_subjects == 6
