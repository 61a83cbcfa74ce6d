"""Local hours: home, work, profiles and what vanished follow the zone, through daylight saving."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from shoal.errors import MisuseError
from shoal.io import read
from shoal.measures.description import describe
from shoal.measures.presence import clock_offsets_s, share_of_hours
from shoal.measures.query import time_profile
from shoal.model.clocks import UTC_CLOCK, Clock, clock_of
from shoal.model.trajectories import Trajectories

PARIS = "Europe/Paris"
SPRING_S = 1_711_846_800  # 2024-03-31T01:00:00Z: 2:00 becomes 3:00 in Paris
AUTUMN_S = 1_729_990_800  # 2024-10-27T01:00:00Z: 3:00 becomes 2:00 again


def people(time_zone: str | None) -> Trajectories:
    """Somebody with a sample at 21:30 and 12:30 of the local clock, every day of a year with both changes."""
    zone = ZoneInfo(PARIS)
    first = datetime(2024, 1, 1, tzinfo=zone)
    moments = [
        datetime.fromordinal(first.toordinal() + day).replace(hour=hour, minute=30, tzinfo=zone).timestamp()
        for day in range(366)
        for hour in (21, 12)
    ]
    night = [48.85, 48.95] * 366
    rows = pa.table({"id": ["ann"] * 732, "t": moments, "lat": night, "lon": [2.35] * 732})
    return read(rows, cell_m=100, time_zone=time_zone)


@pytest.mark.parametrize("moment_s", [SPRING_S, AUTUMN_S])
def test_a_clock_changes_at_the_second(moment_s: int) -> None:
    around = np.arange(moment_s - 7200, moment_s + 7200, 60)
    expected = [datetime.fromtimestamp(one, UTC).astimezone(ZoneInfo(PARIS)).hour for one in around.tolist()]
    assert Clock(PARIS).hours(around).tolist() == expected
    assert len(set(Clock(PARIS).utc_offset_s(around).tolist())) == 2


def test_hours_of_a_year_are_local_on_both_sides_of_daylight_saving() -> None:
    local, utc = people(PARIS), people(None)
    assert np.flatnonzero(describe(local).samples_by_hour).tolist() == [12, 21]
    assert np.flatnonzero(describe(utc).samples_by_hour).tolist() == [10, 11, 19, 20]
    assert (describe(local).time_zone, describe(utc).time_zone) == (PARIS, "UTC")
    assert np.flatnonzero(time_profile(local, clock_of(local)).expected).tolist() == [12, 21]
    assert np.flatnonzero(time_profile(utc).expected).tolist() == [10, 11, 19, 20]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
def test_changes_give_the_offset_of_every_moment_between(zone: str) -> None:
    first, last = 1_700_000_000.0, 1_740_000_000.0
    moments, offsets = Clock(zone).changes(first, last)
    times = np.arange(first, last, 900.0)
    assert (np.diff(moments) > 0).all()
    at = offsets[np.searchsorted(moments, times, side="right") - 1]
    assert at.tolist() == Clock(zone).utc_offset_s(times).tolist()


def test_nights_are_those_of_the_local_clock() -> None:
    """At 21:30 in summer it is 19:30 in UTC, which is no night."""
    data = people(PARIS)
    boxes = np.column_stack([data.t, data.t + 1, data.x, data.y, data.x + 1, data.y + 1])
    own = share_of_hours(boxes, 60.0, "home", clock_offsets_s(clock_of(data), boxes, 60.0))
    assert own.sum() == 366
    assert 100 < share_of_hours(boxes, 60.0, "home").sum() < 200


def test_steps_have_no_zone() -> None:
    rows = pa.table({"id": ["a"] * 30, "t": list(range(30)), "x": [0.0] * 30, "y": [0.0] * 30})
    assert clock_of(read(rows, time_zone=PARIS, time_unit="1min", crs="local")) == UTC_CLOCK


def test_days_of_a_spreadsheet_have_a_zone() -> None:
    rows = pa.table({"id": ["a"], "t": [45_413.5], "lat": [48.85], "lon": [2.35]})
    data = read(rows, time_zone=PARIS, time_unit="serial-days")
    assert clock_of(data) == Clock(PARIS)


def test_a_zone_that_does_not_exist_is_refused_also_where_every_time_has_its_own() -> None:
    rows = pa.table({"id": ["a"], "t": ["2024-05-01T12:00:00Z"], "lat": [48.85], "lon": [2.35]})
    with pytest.raises(MisuseError, match="time_zone = 'Europe/Pari' is not known"):
        read(rows, time_zone="Europe/Pari")
