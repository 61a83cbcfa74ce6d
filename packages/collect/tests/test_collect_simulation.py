"""The simulation: its counts against the protocol's own and brute force."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mix_runs import seed
from shoal.errors import MisuseError
from shoal.io import read
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic
from shoal_collect.crypto.chance import Chance
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.records import Release
from shoal_collect.matching.similarity import Thresholds
from shoal_collect.simulation.experiment import Setting, Trips, _Submissions, simulate, trips_of
from shoal_collect.simulation.paper import points_for
from shoal_collect.storage.phi import PhiStore
from test_collect_round import naive_count, naive_similar

START = 25_000_000.0


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("collect") / "city.parquet"
    write_synthetic(path, 12, 2, 3)
    return path


def towns(n: int, alike: int) -> list[Trips]:
    """``alike`` people who do the same, the others each in a town of her own."""
    return [
        [[Point(i if i >= alike else 0.0, 0.01 * step, START + 100 * step) for step in range(3)]]
        for i in range(n)
    ]


places = st.sampled_from([0, 9_000, 30_000])
cylinders = st.builds(
    Cylinder, st.integers(1000, 1100), st.integers(0, 40), places, places, st.integers(1, 900)
)
records = st.lists(cylinders, min_size=2, max_size=4).map(sorted)


@pytest.mark.kernels
@given(st.lists(st.lists(records, max_size=3), max_size=4), records, st.booleans(), st.booleans())
def test_counts_in_memory_are_those_of_brute_force(
    people: list[list[list[Cylinder]]], asked: list[Cylinder], literal: bool, by_people: bool
) -> None:
    thresholds = Thresholds(theta_m=333.3, theta_min=7)
    setting = Setting(thresholds=thresholds, literal=literal, by_people=by_people)
    pairs = list(itertools.combinations(range(len(asked)), 2))
    stored = _Submissions()
    for person, own in enumerate(people):
        stored.add(person, own)
    releases = [
        Release(bytes([person, n] * 8), bytes([person] * 16), bytes(32), tuple(record))
        for person, own in enumerate(people)
        for n, record in enumerate(own)
        if not (by_people and person == 0)  # who asks is not among the others
    ]

    def as_printed(a: Cylinder, b: Cylinder) -> bool:
        """Def. 2.5(b): the end of one, theta later, lies within the other."""
        ends = ((a.start_min, b.end_min + 7, a.end_min), (b.start_min, a.end_min + 7, b.end_min))
        return naive_similar(a, b, thresholds) and any(low <= end <= high for low, end, high in ends)

    counts = [
        naive_count(releases, [asked[i], asked[j]], thresholds, like=as_printed if literal else None)
        for i, j in pairs
    ]
    assert stored.counts(0, [(asked, pairs)], setting, Run(threads=1)) == [
        [n_people if by_people else occurrences for n_people, occurrences in counts]
    ]


@given(st.lists(st.lists(records, max_size=3), max_size=4), records)
def test_counts_in_memory_are_those_of_the_database(
    people: list[list[list[Cylinder]]], asked: list[Cylinder]
) -> None:
    setting = Setting(thresholds=Thresholds(theta_m=333.3, theta_min=7), by_people=True)
    pairs = list(itertools.combinations(range(len(asked)), 2))
    stored = _Submissions()
    with PhiStore() as store:
        for person, own in enumerate(people):
            stored.add(person, own)
            if person == 0:  # who asks is not among the others
                continue
            for n, record in enumerate(own):
                one = Release(bytes([person, n] * 8), bytes([person] * 16), bytes(32), tuple(record))
                store.add(one, 0)
        counts = [store.count([asked[i], asked[j]], setting.thresholds, 1) for i, j in pairs]
    assert stored.counts(0, [(asked, pairs)], setting, Run(threads=1)) == [counts]


def test_whoever_is_alone_submits_nothing_and_twins_everything() -> None:
    thresholds = Thresholds(theta_m=1000, theta_min=60)
    for number in range(12):
        result = simulate(
            towns(9, 3),
            Setting(bootstrap=2, thresholds=thresholds, by_people=True, k=1),
            Chance(seed(number)),
        )
        assert (result.people, result.subtrajectories_asked) == (7, 21)
        order = Chance(seed(number)).permutation(9)
        twins_left = sum(person < 3 for person in order[2:]) if min(order[:2]) < 3 else 0
        assert (result.users_with_at_least_one, result.subtrajectories_submitted) == (
            twins_left,
            3 * twins_left,
        )
        assert result.phi_share_of_zeros == 1 - 3 * twins_left / 21
    nobody = simulate(
        towns(9, 3),
        Setting(bootstrap=2, thresholds=thresholds, by_people=True, k=3),
        Chance(bytes(32)),
    )
    assert nobody.subtrajectories_submitted == 0


def test_trips_are_split_at_gaps_and_thinned(city: Path) -> None:
    trajectories = read(city, snap=False)
    people = trips_of(trajectories, 12, max_gap_s=3 * 3600.0, n_points=6, fold_dates=False)
    assert len(people) == 12
    for trip in itertools.chain.from_iterable(people):
        assert 2 <= len(trip) <= 6
        assert all(a.t_min <= b.t_min for a, b in itertools.pairwise(trip))
    first_t = trajectories.samples_of(0)[0]
    pieces = np.split(first_t, np.flatnonzero(np.diff(first_t) > 3 * 3600) + 1)
    assert len(people[0]) == sum(len(piece) > 1 for piece in pieces)
    folded = trips_of(trajectories, 12, max_gap_s=3 * 3600.0, n_points=6, fold_dates=True)
    assert all(1440 <= point.t_min < 2880 for own in folded for trip in own for point in trip)
    mixed = trips_of(trajectories, 12, max_gap_s=3 * 3600.0, n_points=3.25, fold_dates=False)
    pairs = [
        (len(whole), len(thinned))
        for own, others in zip(people, mixed, strict=True)
        for whole, thinned in zip(own, others, strict=True)
    ]
    assert all(thinned in (min(whole, 3), min(whole, 4)) for whole, thinned in pairs)
    longer = [thinned for whole, thinned in pairs if whole > 3]
    assert 0.1 < longer.count(4) / len(longer) < 0.4
    planar = Trajectories.from_rows(["a", "a"], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0])
    with pytest.raises(MisuseError, match="crs"):
        trips_of(planar, 1, max_gap_s=1, n_points=6, fold_dates=False)
    with pytest.raises(MisuseError, match="ask for fewer"):
        trips_of(trajectories, 13, max_gap_s=1, n_points=6, fold_dates=False)


def plt_folder(folder: Path) -> Path:
    """Three people, the first two together: two files each, with no pause between them."""
    for person, lat in (("000", 39.9), ("001", 39.9), ("002", 41.0)):
        for number in range(2):
            path = folder / person / "Trajectory" / f"2008102{number}000000.plt"
            path.parent.mkdir(parents=True, exist_ok=True)
            fixes = [
                f"{lat},{116.3 + 0.01 * step},0,0,39744.0,2008-10-23,{2 + number:02d}:{2 * step:02d}:00"
                for step in range(30)
            ]
            preamble = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255", "0"]
            path.write_text("\n".join([*preamble, *fixes]) + "\n")
    return folder


def test_a_trip_is_what_stands_in_one_file(tmp_path: Path) -> None:
    folder = plt_folder(tmp_path / "Data")
    by_file = read(folder, snap=False, person="track")
    assert by_file.ids[:2] == ("000/20081020000000", "000/20081021000000")
    people = trips_of(by_file, 3, max_gap_s=None, n_points=6, fold_dates=False)
    assert [[len(trip) for trip in own] for own in people] == [[6, 6]] * 3
    assert [trip[0].t_min % 1440 for trip in people[0]] == [120, 180]
    # by person, the same fixes are one trip: a file ends where no pause is
    assert [
        len(own)
        for own in trips_of(read(folder, snap=False), 3, max_gap_s=60 * 60, n_points=6, fold_dates=False)
    ] == [1] * 3
    assert points_for(by_file, 15.0) == pytest.approx(6, abs=0.01)
    assert points_for(by_file, 12.5) == pytest.approx(5.5, abs=0.1)

    slash = Trajectories.from_rows(["a", "a"], [0.0, 60.0], [0.0, 1.0], [0.0, 1.0], crs="EPSG:3857")
    with pytest.raises(MisuseError, match="PERSON/TRIP"):
        trips_of(replace(slash, intake=by_file.intake), 1, max_gap_s=None, n_points=6, fold_dates=False)


def test_who_has_nobody_beside_her_cannot_be_simulated() -> None:
    with pytest.raises(MisuseError, match="5 bootstrappers among 5"):
        simulate(towns(5, 3), Setting(bootstrap=5), Chance(bytes(32)))


def test_the_simulation_runs_on_the_real_data(shared_data: Path) -> None:
    data = read(shared_data / "geolife_5min.parquet", snap=False)
    people = trips_of(data, 20, max_gap_s=1800, n_points=6, fold_dates=False)
    row = vars(simulate(people, Setting(bootstrap=8, by_people=True), Chance(seed(1))))
    assert row["people"] == 12
    assert 0 <= row["share_submitted"] <= 1 - row["phi_share_of_zeros"]


def test_the_settings_of_the_paper_give_as_many_trips_and_pairs_as_it_has(shared_data: Path) -> None:
    """17,621 trips and 242,581 pairs.

    And by its own figures, phi >= 1 for k = 2 cannot be what it counted (docs/collect.md).
    """
    people = trips_of(
        read(shared_data / "geolife_5min.parquet", snap=False),
        182,
        max_gap_s=166 * 60,
        n_points=6.47,
        fold_dates=False,
    )
    trips = [trip for own in people for trip in own]
    assert abs(len(trips) - 17_621) < 50
    assert abs(sum(len(trip) * (len(trip) - 1) // 2 for trip in trips) - 242_581) < 500
