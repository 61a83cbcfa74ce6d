"""The synthetic people: repeatable in any order of work, with the habits that the docs promise."""

import errno
import re
from collections import Counter
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from example_counts import examples
from shoal.errors import MisuseError, OutputError
from shoal.measures.description import surface_of
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.synthetic import Layout, Stations, synthesize, write_synthetic
from shoal.synthetic.generator import World, event_minutes
from shoal.synthetic.people import NIGHT_MIN, Coverage, Habits, JumpLaw, _outings, simulate_stays
from shoal.synthetic.stations import DENSITIES, LAYOUTS, METERS_PER_DEGREE, lay_out_stations

EVENTS_PER_HOUR, RATE_SIGMA = Habits().events_per_hour, Habits().rate_sigma
BURST_SIZE = Habits().burst_size
OWN_LAYOUTS: tuple[Layout, ...] = ("nation", "city")
PAPERS_LAYOUTS = tuple(name for name in LAYOUTS if name in DENSITIES)
MONDAY_S = 1_704_067_200  # 2024-01-01T00:00:00Z


@pytest.fixture(scope="module", params=OWN_LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Layout:
    chosen: Layout = request.param
    return chosen


@pytest.fixture(scope="module")
def fortnight(layout: Layout) -> pa.Table:
    return synthesize(2_000, 14, 11, layout=layout)


def rows_of(table: pa.Table) -> list[tuple[str, int, float, float]]:
    return list(zip(*(table[name].to_pylist() for name in ("uid", "t", "lat", "lon")), strict=True))


# The same seed gives the same data


def test_the_same_seed_gives_the_same_rows_on_any_number_of_threads(layout: Layout) -> None:
    first = synthesize(300, 100, 5, layout=layout, run=Run(threads=1))
    assert World.of(300, 100, 5, layout, None).n_blocks > 2
    assert first.equals(synthesize(300, 100, 5, layout=layout, run=Run(threads=3)))


def test_another_seed_gives_other_rows_and_other_stations() -> None:
    one, other = (synthesize(50, 3, seed) for seed in (1, 2))
    assert not set(one["lat"].to_pylist()) & set(other["lat"].to_pylist())
    assert one["t"].to_pylist() != other["t"].to_pylist()


def test_blocks_made_alone_and_backwards_are_those_of_the_whole() -> None:
    world = World.of(450, 70, 3, "city", None)
    backwards = [world.block(index) for index in reversed(range(world.n_blocks))]
    assert world.n_blocks == 3
    assert pa.concat_tables(reversed(backwards)).equals(synthesize(450, 70, 3))


def test_full_blocks_stay_the_same_when_more_people_follow() -> None:
    few, many = (synthesize(n, 70, 3) for n in (200, 450))
    assert few.equals(many.slice(0, few.num_rows))


@pytest.mark.parametrize("n_subjects", [1, 100])
def test_the_written_file_holds_the_rows_of_the_table(tmp_path: Path, n_subjects: int) -> None:
    target = tmp_path / "new" / "people.parquet"
    counts = write_synthetic(target, n_subjects, 200, 4, run=Run(threads=2))
    table = synthesize(n_subjects, 200, 4)
    assert pq.read_table(target).equals(table)
    assert (counts.subjects, counts.rows, counts.stations) == (
        n_subjects,
        table.num_rows,
        len(World.of(1, 1, 4, "city", None).stations),
    )
    assert [path.name for path in target.parent.iterdir()] == ["people.parquet"]
    again = tmp_path / "again.parquet"
    write_synthetic(again, n_subjects, 200, 4, run=Run(threads=1))
    assert again.read_bytes() == target.read_bytes()


# The shape of the rows


@examples(0.25)
@given(
    n_subjects=st.integers(1, 40),
    days=st.integers(1, 20),
    seed=st.integers(0, 2**70),
    layout=st.sampled_from(LAYOUTS),
)
def test_rows_are_sorted_unique_whole_minutes_of_the_period_at_stations(
    n_subjects: int, days: int, seed: int, layout: Layout
) -> None:
    table = synthesize(n_subjects, days, seed, layout=layout)
    assert table.schema.types == [pa.string(), pa.int64(), pa.float64(), pa.float64()]
    rows = rows_of(table)
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    assert len(set(rows)) == len(rows)
    assert {uid for uid, *_ in rows} == {f"u{number:07d}" for number in range(n_subjects)}
    assert all(t % 60 == 0 and MONDAY_S <= t < MONDAY_S + days * 86_400 for _, t, _, _ in rows)
    stations = World.of(n_subjects, days, seed, layout, None).stations
    assert {row[2:] for row in rows} <= set(zip(stations.lat.tolist(), stations.lon.tolist(), strict=True))
    assert all(-90 <= lat <= 90 and -180 <= lon <= 180 for _, _, lat, lon in rows)


def test_ids_say_nothing_of_places(fortnight: pa.Table) -> None:
    rows = rows_of(fortnight)
    east: dict[str, list[float]] = {}
    for uid, _, _, lon in rows:
        east.setdefault(uid, []).append(lon)
    middle = [np.median(values) for _, values in sorted(east.items())]
    neighbors = np.corrcoef(middle[1:], middle[:-1])[0, 1]
    trend = np.corrcoef(np.arange(len(middle)), middle)[0, 1]
    assert max(abs(neighbors), abs(trend)) < 4 / np.sqrt(
        len(middle)
    )  # four standard errors of a correlation of nothing


# Habits


def test_the_rate_is_as_documented_within_four_standard_errors() -> None:
    """Variance of a person's count: of the lognormal rate, and of a sum of geometric bursts."""
    n, days = 20_000, 7
    person, minute = event_minutes(np.zeros(n, dtype=np.int64), days, Habits(), np.random.default_rng(8))
    expected = EVENTS_PER_HOUR * 24 * days
    burst_second_moment = 2 * BURST_SIZE**2 - BURST_SIZE
    variance = expected**2 * (np.exp(RATE_SIGMA**2) - 1) + expected / BURST_SIZE * burst_second_moment
    assert abs(person.size / n - expected) < 4 * np.sqrt(variance / n)
    assert minute.min() >= 0
    assert minute.max() < days * 1440


@pytest.mark.parametrize("sigma", [0.0, 0.5, 1.0])
def test_days_of_a_person_differ_and_the_rate_does_not(sigma: float) -> None:
    """How often two events of a person are of one day, beside what the factors say; weekdays are alike."""
    n, days = 4_000, 5
    habits = Habits(events_per_hour=4.0, rate_sigma=0.0, day_sigma=sigma, burst_size=1.0)
    person, minute = event_minutes(np.zeros(n, dtype=np.int64), days, habits, np.random.default_rng(8))
    assert person.size / n == pytest.approx(4.0 * 24 * days, rel=0.01)
    counts = np.bincount(person * days + minute // 1440, minlength=n * days).reshape(n, days)
    total = counts.sum(axis=1)
    alike = np.mean((counts * (counts - 1)).sum(axis=1) / (total * (total - 1)))
    factors = np.random.default_rng(9).lognormal(0.0, sigma, (50_000, days))
    shares = factors / factors.sum(axis=1, keepdims=True)
    assert alike == pytest.approx(np.mean((shares**2).sum(axis=1)), rel=0.02)
    night = np.mean(minute % 1440 < 5 * 60)
    assert night == pytest.approx(0.73 / 21.1, abs=0.001)  # of the weights of weekdays, whatever the days


def test_few_events_are_lost_as_repeats(fortnight: pa.Table) -> None:
    n, expected = 2_000, EVENTS_PER_HOUR * 24 * 14
    standard_error = expected * np.sqrt((np.exp(RATE_SIGMA**2) - 1) / n)
    assert 0.97 * expected - 4 * standard_error < fortnight.num_rows / n < expected + 4 * standard_error


def test_activity_per_person_has_a_heavy_tail(fortnight: pa.Table) -> None:
    counts = np.sort(list(Counter(fortnight["uid"].to_pylist()).values()))
    assert counts.mean() > 1.2 * np.median(counts)  # exp(sigma^2 / 2) = 1.38 for the lognormal
    assert counts[int(0.99 * counts.size)] > 4 * np.median(counts)


def test_evenings_are_busy_and_nights_are_quiet(fortnight: pa.Table) -> None:
    by_hour = np.bincount((fortnight["t"].to_numpy() % 86_400) // 3600, minlength=24)
    assert by_hour[1:5].max() < by_hour[8:22].min() / 2
    assert 17 <= by_hour.argmax() <= 20


def test_people_sleep_at_home_and_work_on_weekdays() -> None:
    world = World.of(3_000, 14, 2, "city", None)
    stays = simulate_stays(3_000, 14, world.stations, world.coverage, world.habits, np.random.default_rng(3))
    person = np.repeat(np.flatnonzero(stays.clock_min < NIGHT_MIN / 4), 14)
    day = np.tile(np.arange(14), person.size // 14)
    at_night, at_ten = (stays.place_of(person, day * 1440 + hour * 60) for hour in (2, 10))
    home = stays.home[person]
    assert (at_night == home).mean() > 0.85
    weekend = day % 7 >= 5
    assert (at_ten == home)[weekend].mean() > (at_ten == home)[~weekend].mean() + 0.2


def test_most_night_rows_are_at_one_place(fortnight: pa.Table) -> None:
    night: dict[str, Counter[tuple[float, float]]] = {}
    for uid, t, lat, lon in rows_of(fortnight):
        if t % 86_400 < 5 * 3600:
            night.setdefault(uid, Counter())[lat, lon] += 1
    often = [places for places in night.values() if places.total() >= 5]
    assert len(often) > 500
    assert sum(max(places.values()) for places in often) > 0.7 * sum(places.total() for places in often)


def test_visited_places_have_a_heavy_tail(fortnight: pa.Table) -> None:
    visited: dict[str, Counter[tuple[float, float]]] = {}
    for uid, _, lat, lon in rows_of(fortnight):
        visited.setdefault(uid, Counter())[lat, lon] += 1
    n_places = np.array([len(places) for places in visited.values()])
    assert np.quantile(n_places, 0.99) > 2 * np.median(n_places) > 4
    ranked = np.array(
        [[n for _, n in places.most_common(4)] for places in visited.values() if len(places) >= 4]
    ).sum(axis=0)
    assert ranked[0] > 2 * ranked[1] > 4 * ranked[3]


def test_a_nation_is_wide_and_its_people_stay_mostly_near() -> None:
    stations = lay_out_stations("nation", np.random.default_rng(1), 1)
    x, y = stations.on_plane()
    assert 3_000 <= len(stations) <= 6_000
    assert 300_000 < np.ptp(x) < 500_000
    assert 250_000 < np.ptp(y) < 450_000
    table = synthesize(500, 14, 1, layout="nation")
    gyration_km = []
    for uid in np.unique(table["uid"].to_pylist()):
        own = table.filter(pa.compute.equal(table["uid"], uid))
        km = np.column_stack([own["lat"].to_numpy(), 0.99 * own["lon"].to_numpy()]) * METERS_PER_DEGREE / 1000
        gyration_km.append(np.sqrt(((km - km.mean(axis=0)) ** 2).sum(axis=1).mean()))
    assert 1 < np.median(gyration_km) < 4 < np.mean(gyration_km) < 20


def test_a_city_is_dense_downtown() -> None:
    stations = lay_out_stations("city", np.random.default_rng(1), 1)
    x, y = stations.on_plane()
    spacing = Coverage.of(stations).neighbor_m[:, 0]
    r = np.hypot(x, y)
    assert 300 <= len(stations) <= 1_500
    assert 200 < np.median(spacing[r < 2_000]) < 500
    assert 1_000 < np.median(spacing[r > 11_000]) < 3_000


@examples(0.25)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 12), days=st.integers(1, 9))
def test_people_are_where_their_last_stay_began(seed: int, n: int, days: int) -> None:
    world = World.of(n, days, 1, "city", None)
    stays = simulate_stays(n, days, world.stations, world.coverage, world.habits, np.random.default_rng(seed))
    begins = stays.begin_key.reshape(n, -1) - np.arange(n)[:, None] * stays.minutes_per_person - 2 * 1440
    assert (np.diff(begins, axis=1) >= 0).all()
    rng = np.random.default_rng(seed)
    within = np.argwhere((begins >= 0) & (begins < days * 1440))[
        :50
    ]  # also at the very minute at which a stay begins
    person = np.concatenate([rng.integers(0, n, 50), within[:, 0]])
    minute = np.concatenate([rng.integers(0, days * 1440, 50), begins[tuple(within.T)]])
    for who, when, place in zip(person, minute, stays.place_of(person, minute), strict=True):
        own = [
            p
            for begin, p in zip(begins[who], stays.station.reshape(n, -1)[who], strict=True)
            if begin <= when
        ]
        assert place == own[-1]


class EndlessNewPlaces:
    """In the place of a coverage: every jump ends where nobody has been."""

    def __init__(self) -> None:
        self.next = 1_000

    def jump(self, origin: Integers, *_: object) -> Integers:
        self.next += origin.size
        return np.arange(self.next - origin.size, self.next)


def test_outings_explore_and_return_as_in_song_et_al() -> None:
    """Replayed person by person.

    Deviations from the stated chances add up to no more than four standard deviations.
    """
    n, days = 300, 30
    nowhere = np.zeros((n, days), dtype=np.int64)
    everywhere = np.ones((n, days, 3), dtype=np.bool_)
    coverage = cast(Coverage, EndlessNewPlaces())
    visited = _outings(nowhere, nowhere, nowhere > 0, everywhere, coverage, np.random.default_rng(6))
    surplus, variance = np.zeros(2), np.zeros(2)
    for own in visited.reshape(n, -1).tolist():
        history: list[int] = []
        for place in own:
            favorite = max(set(history), key=lambda seen: (history.count(seen), seen), default=0)
            if history:
                chance = 0.6 * (2 + len(set(history))) ** -0.21
                surplus[0] += (place not in history) - chance
                variance[0] += chance * (1 - chance)
            if place in history:
                chance = history.count(favorite) / len(history)
                surplus[1] += (place == favorite) - chance
                variance[1] += chance * (1 - chance)
            history.append(place)
    assert (np.abs(surplus) < 4 * np.sqrt(variance)).all()
    assert (variance > 1_000).all()


# Coverage and jumps


@examples(0.75)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 60))
def test_neighbors_and_raster_are_those_of_all_pairs(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    stations = Stations(
        lat=rng.uniform(-10, 10, n), lon=rng.uniform(-10, 10, n), population=np.full(n, 1 / n)
    )
    coverage = Coverage.of(stations)
    x, y = stations.on_plane()
    assert len(x) == len(coverage.neighbors) == n
    for i in range(n):
        distance = np.hypot(x - x[i], y - y[i])
        order = [j for j in np.argsort(distance) if j != i][: coverage.neighbors.shape[1]]
        assert np.allclose(distance[order], coverage.neighbor_m[i])
        assert np.allclose(distance[coverage.neighbors[i]], coverage.neighbor_m[i])
    rows, columns = coverage.raster.shape
    for row, column in rng.integers(0, [rows, columns], (40, 2)):
        middle_x = coverage.west_m + (column + 0.5) * coverage.cell_m
        middle_y = coverage.south_m + (row + 0.5) * coverage.cell_m
        distance = np.hypot(x - middle_x, y - middle_y)
        assert distance[coverage.raster[row, column]] == pytest.approx(distance.min())


def test_the_serving_station_is_the_nearest(layout: Layout) -> None:
    stations = lay_out_stations(layout, np.random.default_rng(4), 1)
    coverage = Coverage.of(stations)
    rng = np.random.default_rng(5)
    near = rng.integers(0, len(stations), 2_000)
    x, y = (axis[near] + rng.normal(0, 1_000, near.size) for axis in (coverage.x_m, coverage.y_m))
    station, distance = coverage.serving(x, y)
    every = np.hypot(x[:, None] - coverage.x_m, y[:, None] - coverage.y_m)
    assert np.allclose(every[np.arange(near.size), station], distance)
    assert (every.argmin(axis=1) == station).mean() > 0.97


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_jump_lengths_follow_the_truncated_power_law(at: float) -> None:
    """The integral of the density up to the quantile, by a plain sum, is the share asked for."""
    law = JumpLaw(alpha=1.75, offset_m=700.0, min_m=100.0, max_m=40_000.0)
    quantile = law.lengths_m(np.array([0.0, at, 1.0]))
    r = np.linspace(100.0, 40_000.0, 400_001)
    density = (r + 700.0) ** -1.75
    assert quantile[[0, 2]] == pytest.approx([100.0, 40_000.0])
    assert density[r <= quantile[1]].sum() / density.sum() == pytest.approx(at, abs=1e-3)


# The data sets of the papers


@pytest.mark.parametrize("name", PAPERS_LAYOUTS)
def test_a_papers_layout_has_its_densities_whatever_the_number_of_people(name: Layout) -> None:
    """Table I of the kte paper: people per station, the surface of a hull of all stations, and the rate."""
    density = DENSITIES[name]
    for part in (0.2, 1.0):
        n = round(part * density.people)
        stations = lay_out_stations(name, np.random.default_rng(1), n)
        assert n / len(stations) == pytest.approx(density.people / density.stations, rel=0.02)
        x, y = stations.on_plane()
        assert surface_of(x / 1000, y / 1000) == pytest.approx(part * density.surface_km2, rel=0.3)
    rate = {"abi": 0.90, "dak": 0.74, "shn": 1.00, "civ": 0.75, "sen": 0.45}[name]
    rows = synthesize(3_000, 2, 1, layout=name).num_rows
    assert rows / 3_000 / 48 == pytest.approx(rate, rel=0.05)


def test_some_people_of_a_papers_layout_are_recorded_at_one_station() -> None:
    table = synthesize(1_000, 7, 1, layout="abi")
    visited: dict[str, set[tuple[float, float]]] = {}
    for uid, _, lat, lon in rows_of(table):
        visited.setdefault(uid, set()).add((lat, lon))
    alone = np.mean([len(places) == 1 for places in visited.values()])
    assert 0.07 < alone < 0.2


def test_the_gaps_of_a_papers_layout_are_the_papers() -> None:
    """Ivory Coast, the acceptance of the calibration, on 800 people: wide bounds, for so few are rough."""
    people = shoal.read(synthesize(800, 14, 1, layout="civ"))
    gap = shoal.k_gap(people, 2)
    assert 0.06 < np.median(gap.gap) < 0.12  # 0.09
    assert np.mean(gap.time > gap.space) > 0.89  # 0.95
    assert 0.7 < np.median(gap.time / gap.gap) < 0.92  # 0.80
    assert 0.05 < np.mean(gap.space == 0) < 0.25  # 0.15


# Errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 7, 1), "n_subjects = 0 must be at least 1; choose for example n_subjects = 1000"),
        ((10, 0, 1), "days = 0 must be at least 1; choose for example days = 7"),
        ((10, 7, -4), "the seed is negative; choose a whole number of 0 or more"),
    ],
)
def test_impossible_numbers_are_refused(
    tmp_path: Path, arguments: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(MisuseError, match=re.escape(message)):
        synthesize(*arguments)
    with pytest.raises(MisuseError, match=re.escape(message)):
        write_synthetic(tmp_path / "x.parquet", *arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given_stations", [False, True])
def test_an_unknown_layout_is_refused(given_stations: bool) -> None:
    stations = lay_out_stations("city", np.random.default_rng(0), 1) if given_stations else None
    with pytest.raises(MisuseError, match="layout = 'village' is not known; choose one of nation, city, abi"):
        # the point of the test
        synthesize(10, 1, 1, layout="village", stations=stations)  # type: ignore[arg-type]


def test_an_existing_file_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "x.parquet"
    target.write_text("mine")
    with pytest.raises(OutputError, match="exists; choose another name or remove it first"):
        write_synthetic(target, 10, 1, 1)
    assert target.read_text() == "mine"


def test_a_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write .*x\.parquet"):
        write_synthetic(tmp_path / "file" / "x.parquet", 10, 1, 1)


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_nothing_is_left_behind_when_writing_stops(tmp_path: Path, failure: BaseException) -> None:
    def stop_later(label: str, done: int, total: int) -> None:
        if done == 2:
            raise failure

    expected = OutputError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_synthetic(tmp_path / "x.parquet", 450, 70, 1, run=Run(progress=stop_later, threads=1))
    assert not list(tmp_path.iterdir())


def test_progress_rises_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    synthesize(
        450, 200, 1, run=Run(progress=lambda label, done, total: seen.append((done, total)), threads=1)
    )
    assert seen == [(done, 7) for done in range(8)]
