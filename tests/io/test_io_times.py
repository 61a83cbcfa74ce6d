"""Times of every kind, against the standard library's datetime, one at a time."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError, MisuseError
from shoal.io import read
from shoal.io.columns.times import Times
from shoal.model.trajectories import Trajectories

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2200, 1, 1))
zones = st.none() | st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970; no zone is UTC."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - EPOCH) // timedelta(microseconds=1)


def got(column: pa.Array, unit: str | None = None) -> list[int | None]:
    ticks, readable = Times(unit).microseconds(column, "column 't'")
    return [tick if good else None for tick, good in zip(ticks.tolist(), readable.tolist(), strict=True)]


def styles(moment: datetime) -> list[str]:
    """The same moment as people and programs write it."""
    iso = moment.isoformat()
    written = [iso, iso.replace("T", " "), iso.replace("T", "t"), f"  {iso} "]
    if moment.tzinfo is None:
        written += [iso.replace("-", "/"), iso.replace("-", ".").replace("T", "  ")]
        written.append(moment.strftime("%Y%m%dT%H%M%S") + f".{moment.microsecond:06d}")
        written += [f"{iso}Z", f"{iso} UTC", iso.replace(".", ",")]
    return written


@given(st.lists(st.tuples(moments, zones, st.integers(0, 9)), min_size=1))
def test_text_reads_as_datetime_does(drawn: list[tuple[datetime, timezone | None, int]]) -> None:
    texts, expected = [], []
    for moment, zone, style in drawn:
        zoned = moment.replace(tzinfo=zone)
        written = styles(zoned)
        texts.append(written[style % len(written)])
        expected.append(micros(zoned))
    assert got(pa.array(texts)) == expected
    assert got(pa.array([*texts, "no time"])) == [
        *expected,
        None,
    ]  # the way through the patterns, not the fast one
    assert got(pa.array([*texts, None, ""]).dictionary_encode()) == [*expected, None, None]


@pytest.mark.parametrize(
    "text",
    ["2024-02-30", "2024-13-01", "2024-00-10", "2023-02-29T10:00", "2024-05-01T24:00", "2024-05-01T10:60",
     "2024-05-01 10:00+25:00", "01/05/2024", "May 1 2024", "10:00", "2024", "2024-05", "2024-05-01T", "-",
     "nan", "12 monkeys", "2024-05-01T10:00 Europe/Paris", "2024-05:01T10:00:00Z", "2024:05-01 10:00:00"],
)  # fmt: skip
def test_text_that_is_no_time(text: str) -> None:
    values = got(pa.array([text, "2024-05-01T10:00:00Z"]))
    assert values[1] == micros(datetime(2024, 5, 1, 10, tzinfo=UTC))
    assert values[0] is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01", datetime(2024, 5, 1)),
        ("2024-5-1 7:05", datetime(2024, 5, 1, 7, 5)),
        ("2024-05-01 10", datetime(2024, 5, 1, 10)),
        ("2024-05-01T10:00:00.123456789Z", datetime(2024, 5, 1, 10, 0, 0, 123456)),
        ("2024-05-01T10:00:00.5", datetime(2024, 5, 1, 10, 0, 0, 500000)),
        ("20240501T101530Z", datetime(2024, 5, 1, 10, 15, 30)),
        ("20240501T1015", datetime(2024, 5, 1, 10, 15)),
        ("2024:05:01 10:15:30", datetime(2024, 5, 1, 10, 15, 30)),
        ("2024:05:01 10:15:30+02:00", datetime(2024, 5, 1, 8, 15, 30)),
        ("2024-05-01T10:00:00+0530", datetime(2024, 5, 1, 4, 30)),
        ("2024-05-01T10:00:00-08", datetime(2024, 5, 1, 18)),
        ("2024-05-01 10:00:00 +02:00", datetime(2024, 5, 1, 8)),
        ("2024-02-29 23:59:60", datetime(2024, 3, 1)),
        ("0001-01-01", datetime(1, 1, 1)),
        ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59)),
    ],
)
@pytest.mark.parametrize("beside", [None, "unreadable"])
def test_text_layouts(text: str, expected: datetime, beside: str | None) -> None:
    assert got(pa.array([text, beside]))[0] == micros(expected)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo", "+05:30"])
@given(st.lists(st.integers(0, 4_000_000_000) | st.none()))
def test_arrow_timestamps(unit: str, zone: str | None, seconds: list[int | None]) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    column = pa.array([None if value is None else value * per_second for value in seconds], pa.int64()).cast(
        pa.timestamp(unit, zone)
    )
    assert got(column) == [None if value is None else value * 10**6 for value in seconds]


@given(
    st.lists(st.integers(1_000_000_000_000_000, 4_000_000_000_000_000), min_size=1),
    st.sampled_from(["s", "ms", "us", "ns"]),
)
def test_numbers_are_exact_whatever_their_unit(micros_since: list[int], unit: str) -> None:
    per_unit = {"s": 10**6, "ms": 10**3, "us": 1}
    whole = [value - value % per_unit.get(unit, 1) for value in micros_since]
    numbers = [value * 1000 if unit == "ns" else value // per_unit[unit] for value in whole]
    for column in (
        pa.array(numbers, pa.int64()),
        pa.array(numbers, pa.uint64()),
        pa.array([str(number) for number in numbers]),
    ):
        assert got(column) == got(column, unit) == whole
    if unit != "ns":  # whole numbers of up to 53 bits are exact as floating numbers too
        assert got(pa.array([float(number) for number in numbers])) == whole


def test_parts_of_seconds_and_numbers_among_dates() -> None:
    assert got(pa.array([1_212_476_400.1, 1_212_476_400.999_999])) == [
        1_212_476_400_100_000,
        1_212_476_400_999_999,
    ]
    assert got(pa.array(["1212476400", "1212476400.5", "2008-06-03T07:00:00Z", "never", None])) == [
        1_212_476_400_000_000, 1_212_476_400_500_000, 1_212_476_400_000_000, None, None,
    ]  # fmt: skip


def test_far_numbers_stay_far_without_overflow() -> None:
    values = got(pa.array([-(2**63), 2**63 - 1, 5], pa.int64()), "s")
    assert values[0] is not None
    assert values[1] is not None
    assert values[0] < 0
    assert values[1] > micros(datetime(9999, 12, 31))
    assert values[2] == 5_000_000
    assert got(pa.array([1e308, -1e308, 5.0]), "1min")[2] == 300_000_000
    assert got(pa.array([2**64 - 1], pa.uint64()), "ns")[0] is not None


@pytest.mark.parametrize("far", ["1e300", "-1e300", "1e999", "9" * 40])
def test_a_number_that_is_no_time_is_dropped_among_others(far: str, tmp_path: Path) -> None:
    rows = [f"{n % 3},{1_700_000_000 + 60 * n},48.{100 + n},2.{100 + n}" for n in range(30)]
    file = tmp_path / "far.csv"
    file.write_text("\n".join(["uid,t,lat,lon", *rows, f"1,{far},48.1,2.1"]) + "\n")
    people = read(file)
    assert (people.n_samples, sum(people.intake.dropped.values())) == (30, 1)


def test_dates_decimals_and_empty_columns() -> None:
    assert got(pa.array([date(2024, 5, 1), None])) == [micros(datetime(2024, 5, 1)), None]
    assert got(pa.array([1714521600], pa.decimal128(20, 0))) == [1_714_521_600_000_000]
    assert got(pa.nulls(2)) == [None, None]


def test_the_unit_is_decided_once_for_the_input() -> None:
    times = Times(None)
    times.microseconds(pa.array([1_714_564_800_000]), "t")
    ticks, _ = times.microseconds(pa.array([5, 6]), "t")
    assert times.unit == "ms"
    assert ticks.tolist() == [5000, 6000]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("other", ["s", "ms", "us", "ns"])
def test_numbers_of_several_units_are_not_read_as_one(unit: str, other: str) -> None:
    of = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    mixed = [1_714_564_800 * of[unit]] * 3 + [1_714_564_860 * of[other]]
    for column in (pa.array(mixed), pa.array([str(one) for one in mixed])):
        if other != unit:
            size = "smaller" if of[other] < of[unit] else "larger"
            with pytest.raises(InputError, match=rf"several units, .* and 1 {size} number like 99"):
                got(column)
        else:
            assert got(column)[:3] == [1_714_564_800_000_000] * 3
        assert None not in got(column, unit), "whoever names the unit has all read by it"


def test_a_later_file_of_another_unit_is_refused() -> None:
    times = Times(None)
    times.microseconds(pa.array([1_714_564_800_000] * 3), "t")
    with pytest.raises(InputError, match="2 smaller numbers like 99"):
        times.microseconds(pa.array([1_714_564_800, 1_714_564_860]), "t")


def trajectories(t: pa.Array, **settings: Any) -> Trajectories:
    """One person, a slot a second."""
    n = len(t)
    return read(pa.table({"id": ["a"] * n, "t": t, "x": [1e3] * n, "y": [1e3] * n}), slot_s=1, **settings)


def test_what_was_assumed_is_said() -> None:
    small = trajectories(pa.array([1, 2]))
    assert small.intake.notes == (
        "times are small numbers, read as steps of one second; --time-unit gives another length",
    )
    assert small.intake.reading.time_unit == "s"
    milliseconds = trajectories(pa.array([1_714_564_800_000]))
    assert "read as milliseconds since 1970 by their size" in milliseconds.intake.notes[0]
    assert milliseconds.intake.reading.time_unit == "ms"
    steps = trajectories(pa.array([1, 2]), time_unit="1min")
    assert steps.t.tolist() == [60, 120]
    assert steps.intake.notes == ()
    naive = trajectories(pa.array(["2024-05-01 10:00", "2024-05-01 11:00"]))
    assert naive.intake.notes == ("times without a zone are taken as UTC; --time-zone gives another",)
    assert naive.intake.repaired["time without a zone taken as UTC"] == 2
    assert naive.intake.reading.time_unit is None


@pytest.mark.parametrize("extra", [[], ["unreadable"]])
def test_mixed_zones_are_counted_as_repaired(extra: list[str]) -> None:
    got = trajectories(
        pa.array(
            [
                "2024-05-01 10:00",
                "2024-05-01T10:00:01Z",
                "2024-05-01T12:00:02+02:00",
                "2024/05/01 10:00:03",
                *extra,
            ]
        )
    )
    assert (got.t - got.t[0]).tolist() == [0, 1, 2, 3]
    assert dict(got.intake.repaired) == {
        "time without a zone taken as UTC": 2,
        "x and y without a reference system taken as meters": 4,
    }
    *notes, utc = got.intake.notes
    assert utc == "times without a zone are taken as UTC; --time-zone gives another"
    assert len(notes) == len(extra)
    assert all("give their --time-format" in note for note in notes)


def test_without_a_limit_the_future_begins_after_today() -> None:
    now = np.datetime64("now", "s").astype(np.int64)
    got = trajectories(pa.array([int(now), int(now) + 2 * 86400]))
    limit = got.intake.reading.not_after_s
    assert limit is not None
    assert limit % 86400 == 0
    assert 0 < limit - now <= 86400
    assert dict(got.intake.dropped) == {"time in the future": 1}


def test_slots_are_exact_for_whole_seconds() -> None:
    seconds = [59, 60, 61, 119, 120, 2**31, 10**9 + 1]
    got = trajectories(pa.array(seconds), time_unit="s", not_after_s=3e9)
    assert got.t.tolist() == sorted(seconds)
    table = pa.table({"id": ["a"] * 7, "t": seconds, "x": np.arange(7) * 1e3, "y": [0.0] * 7})
    for slot_s in (60.0, 7.0, 0.5, 1.1):
        slots = sorted(int(second * 10 // (slot_s * 10)) for second in seconds)
        assert read(table, slot_s=slot_s, not_after_s=3e9).t.tolist() == slots


def test_a_unit_that_is_none() -> None:
    with pytest.raises(MisuseError, match="'fortnight' is not a duration"):
        Times("fortnight")


@pytest.mark.parametrize(
    ("numbers", "form", "noon"),
    [
        ([240501, 240502, 240503, 240504], "%y%m%d", "2024-05-01T00"),
        ([2405011200, 2405011201], "%y%m%d%H%M", "2024-05-01T12"),
        ([240501120000, 240501120001], "%y%m%d%H%M%S", "2024-05-01T12"),
        ([20240501120000500], "%Y%m%d%H%M%S%f", "2024-05-01T12"),
        ([2024122, 2024123, 2024124, 2024125], "%Y%j", "2024-05-01T00"),
        ([1052024, 2052024], "%d%m%Y", "2024-05-01T00"), ([5012024, 12312024], "%m%d%Y", "2024-05-01T00"),
    ],
)  # fmt: skip
def test_numbers_that_are_dates_are_refused_with_the_form_that_reads_them(
    numbers: list[int], form: str, noon: str
) -> None:
    n = len(numbers)
    source = pa.table({"id": ["a"] * n, "t": numbers, "lat": [48.0] * n, "lon": [2.0] * n})
    with pytest.raises(InputError, match="dates without separators") as caught:
        read(source)
    assert f"give --time-format {form}" in caught.value.cli_message
    first = read(source, time_format=form, snap=False).t[0]
    assert np.datetime64(int(first), "s").astype(str).startswith(noon)


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([120000, 120001, 120100, 90059], "clock times without a date"),
        ([45413, 45414], "may be days of a spreadsheet (Excel); give --time-unit serial-days"),
        ([28576080, 28576090], "may be minutes since 1970; give --time-unit 1min"),
    ],
)
def test_numbers_that_may_count_in_a_longer_unit_are_asked_about(numbers: list[int], words: str) -> None:
    n = len(numbers)
    source = pa.table({"id": ["a"] * n, "t": numbers, "lat": [48.0] * n, "lon": [2.0] * n})
    with pytest.raises(InputError) as caught:
        read(source)
    assert words in caught.value.cli_message
    unit = words.rpartition(" ")[2] if "--time-unit" in words else "s"
    got = read(source, time_unit=unit, snap=False)
    assert got.t[0] > 1_714_000_000 if unit != "s" else got.t[0] == 90059


@pytest.mark.parametrize("clock", [[10005, 123456], ["10005", "123456"], [5, 3599]])
def test_zeros_that_a_clock_lost_in_front_are_added(clock: list[object]) -> None:
    """The advice is %H%M%S; 10005 is five seconds past one, not past ten."""
    columns = {"id": ["a", "b"], "date": ["20240501"] * 2, "time": clock, "lat": [48.0] * 2, "lon": [2.0] * 2}
    got = read(pa.table(columns), date="date", time_format="%Y%m%d %H%M%S", snap=False, lose_people=True)
    text = str(clock[0]).zfill(6)
    seconds = int(text[:2]) * 3600 + int(text[2:4]) * 60 + int(text[4:])
    assert got.t[0] == np.datetime64("2024-05-01", "s").astype(int) + seconds


@pytest.mark.parametrize(
    ("number", "unit"), [(13359038400000000, ""), (1714564800000000, "us"), (17145648000, "")]
)
def test_the_advice_for_times_of_the_future_names_the_unit_that_fits(number: int, unit: str) -> None:
    source = pa.table({"id": ["a"], "t": [number], "lat": [48.0], "lon": [2.0]})
    with pytest.raises(InputError) as caught:
        read(source, time_unit="ms" if unit else None)
    assert ("correct the years" if not unit else "give it with --time-unit") in caught.value.cli_message
