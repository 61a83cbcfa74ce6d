"""The kernels of presence against tables of every box and place, for boxes in any order and of any width."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import presence_oracle as oracle
from shoal.measures import query
from shoal.measures.query import (
    Estimates,
    Region,
    Zones,
    people_in,
    people_in_each,
    people_in_zones,
    time_profile,
)
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Release
from shoal.runtime.run import Run
from small_releases import naive_release, random_people

pytestmark = pytest.mark.kernels

DAYS = 3


def release_of(lengths: list[int], seed: int, *, in_order: bool, cell_m: float = 100.0) -> Release:
    """Records of random boxes, some of them in the order of time and not overlapping, some of no box."""
    rng = np.random.default_rng(seed)
    rows, n = [], sum(lengths)
    for length in lengths:
        if in_order:
            edges = np.sort(rng.choice(DAYS * 1440, 2 * length, replace=False))
            start, end = edges[::2], edges[1::2]
        else:
            start = rng.integers(0, DAYS * 1440, length)
            end = start + rng.choice([1, 1, 50, 3000], length)
        low = rng.integers(-40, 40, (2, length))
        high = low + rng.choice([1, 1, 7, 60], (2, length))
        rows.append(np.stack([start, end, low[0], low[1], high[0], high[1]]))
    columns = np.concatenate(rows, axis=1) if n else np.empty((6, 0))
    people = random_people(2, 3, grid=Grid(cell_m=cell_m, slot_s=60))
    release, _ = naive_release(people, boxes_per_record=1)
    return replace(
        release,
        trajectory_ids=tuple(f"r{i}" for i in range(len(lengths))),
        offsets=np.cumsum([0, *lengths]),
        payload=Boxes(**dict(zip(BOX_COLUMNS, columns.astype(np.int64), strict=True))),
    )


releases = st.builds(
    release_of,
    st.lists(st.integers(0, 8), min_size=1, max_size=6),
    st.integers(0, 10_000),
    in_order=st.booleans(),
    cell_m=st.sampled_from([100.0, 0.1, 1 / 3]),
)


def regions(release: Release, seed: int, n: int) -> list[Region]:
    """Random ones, some of all times, some that end exactly where boxes do."""
    rng, cell_m, found = np.random.default_rng(seed), release.snapped_grid().cell_m, []
    for _ in range(n):
        x, y = np.sort(rng.choice(np.arange(-50, 110), (2, 2), replace=False)) * cell_m
        t = np.sort(rng.choice(DAYS * 1440, 2, replace=False)) * 60.0 + rng.choice([0, 7])
        if rng.random() < 0.2:
            t = np.array([-np.inf, np.inf])
        found.append(
            Region(x_min_m=x[0], x_max_m=x[1], y_min_m=y[0], y_max_m=y[1], t_start_s=t[0], t_end_s=t[1])
        )
    return found


def same(found: Estimates, expected: Estimates) -> None:
    assert found.minimum.tolist() == expected.minimum.tolist()
    assert found.maximum.tolist() == expected.maximum.tolist()
    np.testing.assert_allclose(found.expected, expected.expected, rtol=1e-12, atol=1e-15)


@given(releases, st.integers(0, 10_000))
def test_people_in_regions(release: Release, seed: int) -> None:
    asked = regions(release, seed, 8)
    answers = people_in_each(release, asked, Run(threads=2))
    assert len(answers) == 8
    for region, found in zip(asked, answers, strict=True):
        assert found == people_in(release, region)
        minimum, expected, maximum = oracle.people_in(release, region)
        assert (found.minimum, found.maximum) == (minimum, maximum)
        assert found.expected == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_many_regions_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of([3, 0, 5, 4], 7, in_order=True)
    asked = regions(release, 3, 7)
    together = people_in_each(release, asked)
    monkeypatch.setattr(query, "_CHANCES", 2 * release.n_records)
    assert people_in_each(release, asked) == together
    assert any(one.expected > 0 for one in together)


@given(releases, st.sampled_from([13, 20, 41]))
def test_people_in_zones(release: Release, cells: int) -> None:
    grid = release.snapped_grid()
    edges = (
        np.arange(-48, 112, cells).astype(np.float64) * grid.cell_m
    )  # some boxes lie partly or wholly outside
    zones = Zones(x_m=edges, y_m=edges[1:-1])
    same(people_in_zones(release, zones), oracle.people_in_zones(release, zones))
    same(people_in_zones(release, zones, Run(threads=2)), oracle.people_in_zones(release, zones))


@given(releases, st.sampled_from([60.0, 600.0, 1800.0]))
def test_hours_of_the_day(release: Release, slot_s: float) -> None:
    coarse = replace(release, grid=Grid(cell_m=100, slot_s=slot_s))
    same(time_profile(coarse), oracle.time_profile(coarse))


def test_before_1970_hours_are_those_of_the_clock() -> None:
    release = release_of([3], 1, in_order=True)
    boxes = Boxes(**dict(zip(BOX_COLUMNS, np.array([[-61, -1, 0, 0, 1, 1]]).T, strict=True)))
    early = replace(release, offsets=np.array([0, 1]), payload=boxes)
    found = time_profile(early)
    assert found.expected[22] == pytest.approx(1 / 60)
    assert found.expected[23] == pytest.approx(59 / 60)
    assert found.minimum.sum() == 0
    assert np.flatnonzero(found.maximum).tolist() == [22, 23]


@pytest.mark.jit_only
def test_the_number_of_threads_changes_no_digit() -> None:
    people = random_people(900, 15, seed=4)
    release, _ = naive_release(people)
    zones = Zones.over(people, 3000.0)
    asked = regions(release, 5, 20)
    one, two = (people_in_zones(release, zones, Run(threads=n)) for n in (1, 2))
    assert one.expected.tolist() == two.expected.tolist()
    assert people_in_each(release, asked, Run(threads=1)) == people_in_each(release, asked, Run(threads=2))
