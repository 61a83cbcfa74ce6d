"""The tracker and who belongs together: oracles, known answers, and data that tells nothing."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacks import Rate, attack, clusters
from shoal.attacks.attacking import AttackScope
from shoal.attacks.clusters import bending, restored_tracks, smoothest_tracks
from shoal.attacks.knowledge import record_knowledge
from shoal.attacks.target import PointTarget
from shoal.kernels.kalman import join_with_filter
from shoal.kernels.tracking import (
    FAR,
    assign_followers,
    find_most_similar,
    join_points,
    make_outlines,
    outline_difference,
)
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, read_only
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import drivers, scattered, town, walkers

ASKED = ["track", "track:4", "cluster"]


def by_name(original: Trajectories, k: int, target: str = "release") -> dict[str, Rate]:
    """The rates of tracker and cluster on a release of swapped points."""
    release, linkage = shoal.SwapLocations(k=k).anonymize(original, Randomness.for_research(2))
    found = attack(original, release, linkage, knowledge=ASKED, rng=Randomness.for_research(1))
    return {f"{one.name}, {one.knowledge[:1]}": one for one in found.rates if one.target == target}


def least_sum(cost: Floats, tracks: int) -> float:
    """The least cost of followers by trying every order of columns."""
    n, band = cost.shape
    table = np.full((n, n + tracks + n), np.inf)
    dear = 1 + cost[cost < FAR].sum()
    for i in range(n):
        for column in range(min(band, n - 1 - i)):
            table[i, i + 1 + column] = cost[i, column] if cost[i, column] < FAR else np.inf
        table[i, n : n + tracks], table[i, n + tracks + i] = 0, dear
    return float(
        min(
            sum(table[row, column] for row, column in enumerate(chosen))
            for chosen in permutations(range(n + tracks + n), n)
        )
    )


@pytest.mark.kernels
@given(n=st.integers(1, 3), tracks=st.integers(1, 2), seed=st.integers(0, 10_000))
def test_followers_cost_as_little_as_any(n: int, tracks: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    cost = np.where(draw.random((n, n)) < 0.3, FAR, draw.integers(0, 9, (n, n)).astype(np.float64))
    for i in range(n):
        cost[i, n - 1 - i :] = FAR
    following = assign_followers(cost, tracks)
    taken = following[following >= 0].tolist()
    assert len(set(taken)) == len(taken), "no point follows two"
    ends = int((following < 0).sum())
    dear = 1 + cost[cost < FAR].sum()
    links = sum(cost[i, j - i - 1] for i, j in enumerate(following.tolist()) if j >= 0)
    assert links + max(ends - tracks, 0) * dear == pytest.approx(least_sum(cost, tracks))


@pytest.mark.kernels
def test_two_who_cross_are_told_apart_by_their_heading() -> None:
    at = np.arange(-5, 6.0)
    t, x = np.repeat(at, 2), np.repeat(at * 10, 2)
    y = np.where(np.arange(22) % 2 == 0, 8 * x / 10 + 3, -8 * x / 10)  # nearest after the crossing: the other
    order = np.lexsort((y, x, t))
    first = np.arange(22)[order] % 2
    tracks = join_points(t[order], x[order], y[order], 2, 2)
    assert sorted(tracks.tolist()) == [0] * 11 + [1] * 11
    assert len(set(zip(first.tolist(), tracks.tolist(), strict=True))) == 2
    distance_alone = join_points(t[order], x[order], y[order], 2, 0)
    assert len(set(zip(first.tolist(), distance_alone.tolist(), strict=True))) > 2


@pytest.mark.kernels
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 30),
    most=st.integers(1, 4),
    span=st.sampled_from([2, 99]),
    scales=st.sampled_from([(0.5, 0.1), (1.0, 0.0), (0.0, 1.0)]),
)
def test_the_most_like_records_are_those_of_brute_force(
    seed: int, n: int, most: int, span: int, scales: tuple[float, float]
) -> None:
    draw = np.random.default_rng(seed)
    lengths = draw.integers(1, 6, n)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    t, x, y = draw.integers(0, span, (3, offsets[-1])).astype(float)  # so that many are equally like another
    t = np.sort(t) + 1.7e9
    outlines = make_outlines(read_only(offsets), read_only(t), read_only(x), read_only(y), 5)
    for record in range(n):
        own = slice(offsets[record], offsets[record + 1])
        at = np.linspace(0, lengths[record] - 1, 5)
        for axis, column in enumerate((t, x, y)):
            told = np.interp(at, np.arange(lengths[record]), column[own])
            np.testing.assert_allclose(outlines[record, :, axis], told)
    kind = draw.integers(0, 2, n)
    names, values = np.empty((n, most), dtype=np.int64), np.empty((n, most))
    find_most_similar(outlines, kind, *scales, names, values)
    for a in range(n):
        others = [
            (outline_difference(outlines, a, b, np.inf, *scales), b)
            for b in range(n)
            if b != a and kind[a] == kind[b]
        ]
        expected = [b for _, b in sorted(others)[:most]]
        assert names[a].tolist() == expected + [-1] * (most - len(expected))
        assert np.isinf(values[a, len(expected) :]).all()
    mean = np.abs(outlines[0, :, 0] - outlines[1, :, 0]).mean() * scales[0]
    mean += np.hypot(*(outlines[0, :, 1:] - outlines[1, :, 1:]).T).mean() * scales[1]
    assert outline_difference(outlines, 0, 1, np.inf, *scales) == pytest.approx(mean)


def test_swapped_walkers_come_back_whole() -> None:
    found = by_name(walkers(60, 20, step_m=40), 3)
    assert found["track-whole, 1"].rate > 0.9
    assert found["track-rejoined, 1"].rate > 0.95
    assert found["track-disclosure, 4"].rate > 0.95
    assert found["cluster-pairs, t"].rate > 0.7
    assert found["track-rejoined, 1"].baseline < 0.1
    raw = by_name(walkers(60, 20, step_m=40), 3, target="raw")
    assert raw["track-whole, 1"].rate == 1
    assert raw["cluster-pairs, t"].rate == 0, "no record of raw data is mixed with another"


def test_where_movement_tells_nothing_the_tracker_wins_no_more_than_one_in_k() -> None:
    found = by_name(scattered(80, 25), 4)
    assert found["track-whole, 1"].rate < 0.02
    assert found["track-disclosure, 1"].low < 0.25


def test_clusters_drawn_by_lot_among_people_who_are_anywhere_stay_hidden() -> None:
    original = scattered(80, 25)
    lots = np.array_split(np.random.default_rng(5).permutation(80), 20)
    release, linkage = shoal.SwapLocations(k=4).swap(original, lots, {}, {}, Randomness.for_research(2))
    (raw, rate) = attack(
        original, release, linkage, knowledge=["cluster"], rng=Randomness.for_research(1)
    ).rates
    assert raw.rate == 0
    assert rate.baseline == pytest.approx(3 / 79)
    assert rate.low <= rate.baseline <= rate.high


def test_people_who_are_not_in_the_release_are_not_found_in_it() -> None:
    everybody = walkers(60, 20, step_m=40)
    inside, outside = everybody.keep(np.arange(45)), everybody.keep(np.arange(45, 60))
    release, linkage = shoal.SwapLocations(k=3).anonymize(inside, Randomness.for_research(2))
    found = attack(
        inside,
        release,
        linkage,
        knowledge=ASKED,
        scope=AttackScope(control=outside),
        rng=Randomness.for_research(1),
    )
    rates = {(one.name, one.target): one.rate for one in found.rates}
    assert rates["track-rejoined", "control"] == rates["track-disclosure", "control"] == 0
    assert any("cluster was not played against control" in note for note in found.notes)


def test_clusters_and_tracks_need_no_equal_lengths() -> None:
    """Records that lost points at random still show who was mixed with whom."""
    original = walkers(60, 30, step_m=40, spread_m=6000)
    release, _ = shoal.SwapLocations(k=3).anonymize(original, Randomness.for_research(2))
    kept = np.sort(np.random.default_rng(0).permutation(release.n_samples)[: release.n_samples * 4 // 5])
    record = np.repeat(np.arange(release.n_records), np.diff(release.offsets))[kept]
    points = release.points.take(kept)
    target = PointTarget(
        offsets=np.searchsorted(record, np.arange(release.n_records + 1)), t=points.t, x=points.x, y=points.y
    )
    tracks = smoothest_tracks(target, 3, Run(), "release")
    people = {
        point: i
        for i, own in enumerate(original)
        for point in zip(*(column.tolist() for column in own), strict=True)
    }
    who = np.array(
        [people[point] for point in zip(target.t.tolist(), target.x.tolist(), target.y.tolist(), strict=True)]
    )
    alone = [len(np.unique(who[tracks == one])) == 1 for one in range(int(tracks.max()) + 1)]
    assert np.mean(alone) > 0.7
    assert smoothest_tracks(target, 3, Run(), "control") is tracks  # they are joined once for a target


def test_the_gathering_is_chosen_by_last_steps_and_the_filter_runs_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, _ = shoal.SwapLocations(k=3).anonymize(walkers(60, 20, step_m=40), Randomness.for_research(2))
    target = PointTarget.of_release(release)
    found: list[tuple[Integers, Integers]] = []
    filtered: list[int] = []

    def restored(target: PointTarget, cluster: Integers, *words: Any) -> Integers:
        found.append((cluster, restored_tracks(target, cluster, *words)))
        return found[-1][1]

    def join(t: Floats, *words: Any) -> Integers:
        filtered.append(len(t))
        return np.asarray(join_with_filter(t, *words))

    monkeypatch.setattr(clusters, "restored_tracks", restored)
    monkeypatch.setattr(clusters, "join_with_filter", join)
    tracks = smoothest_tracks(target, 3, Run(), "release")
    *by_steps, (chosen, last) = found
    assert tracks is last
    assert sum(filtered) == release.n_samples
    cluster, _ = min(by_steps, key=lambda one: bending(target.t, target.x, target.y, one[1]))
    assert chosen is cluster


def test_places_that_moved_between_people_are_joined_again() -> None:
    """In ReachLocations times stay and places move: walkers along streets come back by their places."""
    streets = town()
    original = drivers(streets, 20, 20)
    method = shoal.ReachLocations(k=2, time_threshold_s=60, space_threshold_m=400, streets=streets)
    release, linkage = method.anonymize(original, Randomness.for_research(2))
    found = attack(
        original,
        release,
        linkage,
        knowledge=["track:4"],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"]),
    )
    told = {one.name: one for one in found.rates}
    assert told["track-rejoined"].low > told["track-rejoined"].baseline
    assert told["track-disclosure"].low > told["track-disclosure"].baseline
    assert "the person was there." in told["track-disclosure"].attacker
    assert "track:4" in record_knowledge(release, 40)


def test_usual_places_lead_to_the_points_of_a_person() -> None:
    """Pairs far from each other; the two of a pair live 3 km apart, with one more place 300 m from home."""
    rows: list[tuple[str, float, float, float]] = []
    for person in range(20):
        home_x = 50_000.0 * (person // 2) + 3_000.0 * (person % 2)
        for day in range(10):
            start = day * 86_400.0 + 60 * (person % 2)
            places = [(home_x, 0.0), (home_x + 900, 0.0), (home_x, 0.0), (home_x + 900, 0.0), (home_x, 300.0)]
            rows += [(f"p{person:02d}", start + 3_600 * hour, *place) for hour, place in enumerate(places)]
    people = Trajectories.from_rows(*map(list, zip(*rows, strict=True)))
    method = shoal.SwapLocations(k=2, time_threshold_s=1_800, space_threshold_m=5_000)
    release, linkage = method.anonymize(people, Randomness.for_research(1))
    asked = attack(people, release, linkage, knowledge=["cluster:2"], rng=Randomness.for_research(1)).rates
    rates = {rate.name: rate for rate in asked if rate.target == "release"}
    assert rates["cluster-points"].rate == rates["cluster-away"].rate == 1
    assert rates["cluster-points"].baseline == 1  # nobody else is there
    assert rates["cluster-away"].baseline == pytest.approx(1 / 6)  # of 5 + 1 other places' points, a day's 1
