"""Trips and people by hour against loops over samples, and by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.measures import trips
from shoal.measures.query import Zones
from shoal.measures.trips import common_part, count_trips, people_by_hour
from shoal.model.clocks import Clock
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from small_data import populations
from small_releases import naive_release, random_people

ZONES = Zones(x_m=np.arange(-20_000.0, 20_001, 8_000), y_m=np.arange(-20_000.0, 20_001, 10_000))


def zone_of(x_m: float, y_m: float, zones: Zones) -> int | None:
    for row in range(len(zones.y_m) - 1):
        for column in range(len(zones.x_m) - 1):
            if (
                zones.x_m[column] <= x_m < zones.x_m[column + 1]
                and zones.y_m[row] <= y_m < zones.y_m[row + 1]
            ):
                return row * (len(zones.x_m) - 1) + column
    return None


@given(populations(most=5), st.sampled_from([60.0, 3_000.0]), st.sampled_from([1, 3, 1 << 18]))
def test_trips_equal_a_loop(people: Trajectories, slot_s: float, at_once: int) -> None:
    people = replace(people, grid=Grid(cell_m=100, slot_s=slot_s))
    expected: Counter[int] = Counter()
    people_with_trips = set()
    for subject in range(people.n_subjects):
        t, x, y = (column.tolist() for column in people.samples_of(subject))
        for i in range(1, len(t)):
            origin, destination = (zone_of((x[j] + 0.5) * 100, (y[j] + 0.5) * 100, ZONES) for j in (i - 1, i))
            if origin is None or destination is None or origin == destination:
                continue
            if (t[i] - t[i - 1]) * slot_s <= 43_200:
                expected[origin * len(ZONES) + destination] += 1
                people_with_trips.add(subject)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trips, "_AT_ONCE", at_once)
        counted = count_trips(people, ZONES)
    assert dict(zip(counted.pairs.tolist(), counted.counts.tolist(), strict=True)) == expected
    assert counted.pairs.tolist() == sorted(expected)
    assert counted.people == len(people_with_trips)


def test_trips_of_boxes_join_their_middles_by_hand() -> None:
    release, _ = naive_release(random_people(2, 3, grid=Grid(cell_m=1, slot_s=3600)), boxes_per_record=1)
    rows = [
        (0, 2, 0, 0, 2, 2),  # middle at hour 1 in zone 0
        (10, 12, 8, 0, 12, 2),  # at hour 11 in zone 1: a trip
        (22, 26, 0, 0, 2, 2),  # 13 hours later: none
        (24, 27, 40, 0, 42, 2),  # outside the zones: none
    ]
    boxes = Boxes(**dict(zip(BOX_COLUMNS, np.array(rows).T, strict=True)))
    release = replace(release, trajectory_ids=("a",), offsets=np.array([0, 4]), payload=boxes)
    zones = Zones(x_m=np.array([0.0, 5, 15]), y_m=np.array([0.0, 5]))
    counted = count_trips(release, zones)
    assert (counted.pairs.tolist(), counted.counts.tolist()) == ([1], [1])


@given(
    populations(most=5),
    st.sampled_from(["UTC", "Asia/Kolkata", "America/New_York"]),
    st.sampled_from([1, 1 << 18]),
)
def test_people_by_hour_equal_a_loop(people: Trajectories, zone: str, at_once: int) -> None:
    clock = Clock(zone)
    expected = np.zeros((24, len(ZONES)))
    for subject in range(people.n_subjects):
        present = set()
        for t, x, y in zip(*(column.tolist() for column in people.samples_of(subject)), strict=True):
            place = zone_of((x + 0.5) * 100, (y + 0.5) * 100, ZONES)
            second = (t + 0.5) * 60
            hour = int((second + clock.utc_offset_s(np.array([second]))[0]) // 3600)
            if place is not None:
                present.add((hour, place))
        for hour, place in present:
            expected[hour % 24, place] += 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trips, "_AT_ONCE", at_once)
        assert people_by_hour(people, ZONES, clock, Run(threads=2)).tolist() == expected.tolist()


def test_a_box_is_spread_over_its_zones_and_hours() -> None:
    release, _ = naive_release(random_people(2, 3, grid=Grid(cell_m=1, slot_s=60)), boxes_per_record=1)
    # four hours, two zones, one record for each box
    rows = np.array([[0, 240, 0, i, 100, i + 10] for i in range(500)])
    boxes = Boxes(**dict(zip(BOX_COLUMNS, rows.T, strict=True)))
    release = replace(
        release,
        trajectory_ids=tuple(f"r{i}" for i in range(500)),
        offsets=np.arange(501),
        payload=boxes,
    )
    zones = Zones(x_m=np.array([0.0, 50, 100]), y_m=np.array([0.0, 1000]))
    people = people_by_hour(release, zones)
    assert people.sum() == pytest.approx(500)
    assert people[:4] == pytest.approx(np.full((4, 2), 500 / 8), rel=0.05)
    assert not people[4:].any()


def test_points_of_boxes_are_counted_as_a_loop_counts_them() -> None:
    release, _ = naive_release(random_people(2, 3, grid=Grid(cell_m=1, slot_s=60)), boxes_per_record=1)
    rng = np.random.default_rng(4)
    low, sizes = rng.integers(-50, 80_000, (300, 3)), rng.integers(1, 4_000, (300, 3))
    low[:, 0] += 28_480_000  # the clock changes on 31 March 2024
    columns = [edge for axis in range(3) for edge in (low[:, axis], (low + sizes)[:, axis])]
    t_start, t_end, x_min, x_max, y_min, y_max = columns
    boxes = Boxes(t_start=t_start, t_end=t_end, x_min=x_min, x_max=x_max, y_min=y_min, y_max=y_max)
    release = replace(release, trajectory_ids=("a",), offsets=np.array([0, 300]), payload=boxes)
    zones, clock = (
        Zones(x_m=np.arange(0.0, 90_001, 6_000), y_m=np.array([0.0, 70_000])),
        Clock("Europe/Paris"),
    )
    points = dict[tuple[int, int], int]()
    for (t0, x0, y0), (dt, dx, dy) in zip(low.tolist(), sizes.tolist(), strict=True):
        number = (t0 * 73_856_093 ^ x0 * 19_349_663 ^ y0 * 83_492_791) & 0xFFFF
        for n in range(16 * number, 16 * number + 16):
            x, y = x0 + (0.5 + 0.8191725134 * n) % 1 * dx, y0 + (0.5 + 0.6710436067 * n) % 1 * dy
            t = 60 * (t0 + (0.5 + 0.5497004779 * n) % 1 * dt)
            zone = zone_of(x, y, zones)
            if zone is not None:
                key = int((t + clock.utc_offset_s(np.array([t]))[0]) // 3600), zone
                points[key] = points.get(key, 0) + 1
    assert len(points) > 256  # the kernel's table grows
    expected = np.zeros((24, len(zones)))
    for (hour, zone), n in points.items():
        expected[hour % 24, zone] += min(1, n / 16)
    assert people_by_hour(release, zones, clock).tolist() == expected.tolist()


def test_a_record_stands_for_equal_ones() -> None:
    people = random_people(6, 40, grid=Grid(cell_m=1_000, slot_s=600))
    release, _ = naive_release(people, boxes_per_record=4)
    first, rows = release.record(0), np.tile(np.arange(len(release.record(0))), 3)
    equal = replace(
        release, trajectory_ids=("a", "b", "c"), offsets=np.arange(4) * len(first), payload=first.take(rows)
    )
    zones, each = Zones.over(equal, 2_000), people_by_hour(equal, Zones.over(equal, 2_000))
    assert each.any()
    assert people_by_hour(equal, zones, often=np.array([0, 3, 0])).tolist() == each.tolist()


@pytest.mark.parametrize("n", [1, 40, 5_000])  # looked up one by one, or where most middles repeat
def test_strips_of_middles_are_those_between_edges(n: int) -> None:
    doubled = np.random.default_rng(n).integers(-500, 500, n)
    strips = trips._strip_of(doubled, ZONES.x_m, Grid(cell_m=100, slot_s=60))
    expected = [int(np.count_nonzero(ZONES.x_m <= middle * 50)) - 1 for middle in doubled.tolist()]
    assert strips.tolist() == expected


def test_the_common_part_by_hand() -> None:
    assert common_part(np.array([1.0, 2]), np.array([1.0, 2])) == 1
    assert common_part(np.array([1.0, 0]), np.array([0.0, 3])) == 0
    assert common_part(np.array([2.0, 2]), np.array([1.0, 3])) == 2 * 3 / 8
    assert np.isnan(common_part(np.zeros(2), np.zeros(2)))
