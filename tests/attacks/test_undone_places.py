"""Places that moved points came from, beside plain loops, and what adversaries win by them."""

from dataclasses import replace
from math import floor, hypot

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.kernels import moved_inward
from shoal.kernels.moved_inward import sum_origin_evidence, undo_moves
from shoal.kernels.passing import Lines
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats
from shoal.runtime.randomness import Randomness

RADIUS_M = 300.0
Place = tuple[float, float]


def spoken(point: Place, middle: Place, place: Place) -> float:
    """How much a point speaks for a place: by where it would be moved to, and by how far it is."""
    away = hypot(place[0] - middle[0], place[1] - middle[1])
    share = min(1.0, RADIUS_M / away) if away else 1.0
    ends = [m + (p - m) * share for m, p in zip(middle, place, strict=True)]
    off = hypot(point[0] - ends[0], point[1] - ends[1]) / max(30.0 * share, 1.0)
    return float(1 / (1 + off**2) / (1 + hypot(point[0] - place[0], point[1] - place[1]) / 30.0) ** 0.25)


def lines_of(points: list[Place], middles: list[Place]) -> list[int]:
    """How many of the points stand in one square of 100 m with each, and their middles, too."""
    squares = [tuple(np.floor(np.array(both) / 100).ravel()) for both in zip(points, middles, strict=True)]
    return [squares.count(one) for one in squares]


def crossing(one: Place, one_middle: Place, other: Place, other_middle: Place) -> list[Place]:
    """Where the lines from the middles through the points cross beyond both, by two equations."""
    a, b = np.subtract(one, one_middle), np.subtract(other, other_middle)
    if abs(a[0] * b[1] - a[1] * b[0]) <= 0.01 * np.hypot(*a) * np.hypot(*b):
        return []
    ahead = np.linalg.solve(np.column_stack([a, -b]), np.subtract(other, one))
    if ahead.min() < 0 or ahead[0] * np.hypot(*a) > 50_000:
        return []
    at = np.asarray(one) + ahead[0] * a
    return [(float(at[0]), float(at[1]))]


def places_of(points: list[Place], middles: list[Place]) -> list[Place]:
    """Where each point of one record most likely came from, every candidate tried."""
    most = moved_inward.CANDIDATES
    moved = [n for n, p in enumerate(points) if np.hypot(*np.subtract(p, middles[n])) >= RADIUS_M - 0.01]
    candidates = points[:: max(-(-len(points) // most), 1)]
    if not candidates:
        return []
    for turn in range(1, most + 1) if len(moved) > 1 else ():
        shares = (turn * 0.7548776662466927 % 1, turn * 0.5698402909980532 % 1)
        i, j = (moved[floor(share * len(moved))] for share in shares)
        candidates = candidates + crossing(points[i], middles[i], points[j], middles[j])
    told = np.array([[spoken(p, m, c) for p, m in zip(points, middles, strict=True)] for c in candidates])
    for_each = (told / lines_of(points, middles)).sum(axis=1)
    best = np.argmax(for_each[:, None] ** 2 * told, axis=0)
    return [candidates[best[n]] if n in moved else point for n, point in enumerate(points)]


def into_cylinders(true: Floats, middles: Floats) -> Floats:
    """Whoever is farther from a middle than the radius, moved straight to it."""
    away = true - middles
    return np.asarray(middles + away * np.minimum(1, RADIUS_M / np.maximum(np.hypot(*away.T), 1e-9))[:, None])


def records(seed: int, lengths: list[int]) -> tuple[Lines, Floats, Floats]:
    """Records of people who are at one of three places each, where those are, and middles around them."""
    draw = np.random.default_rng(seed)
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    true = np.concatenate([draw.normal(0, 2000, (3, 2))[draw.integers(0, 3, n)] for n in lengths])
    middles = true + draw.normal(0, 600, true.shape)
    x, y = into_cylinders(true, middles).T
    t = np.concatenate([np.arange(n, dtype=np.float64) for n in lengths])
    return Lines(offsets, t, np.ascontiguousarray(x), np.ascontiguousarray(y)), middles, true


@pytest.mark.kernels
@given(seed=st.integers(0, 1000), lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4))
def test_places_are_those_of_brute_force(seed: int, lengths: list[int]) -> None:
    lines, middles, _ = records(seed, lengths)
    undone, told = np.full((len(lines.t), 2), np.nan), np.full(len(lines.t), np.nan)
    for first in range(len(lengths)):
        undo_moves(lines, middles, RADIUS_M, 0.01, first, first + 1, undone, told)
    assert (told > 0).all()
    points = [(float(a), float(b)) for a, b in zip(lines.x, lines.y, strict=True)]
    around = [(float(a), float(b)) for a, b in middles]
    expected = [
        place
        for begin, end in zip(lines.offsets[:-1], lines.offsets[1:], strict=True)
        for place in places_of(points[begin:end], around[begin:end])
    ]
    assert len(expected) == len(undone)
    np.testing.assert_allclose(undone, np.reshape(expected, (-1, 2)), atol=1e-6)


@pytest.mark.kernels
@given(seed=st.integers(0, 1000))
def test_visits_are_what_all_points_speak_for(seed: int) -> None:
    lines, middles, true = records(seed, [4, 7, 1])
    visits = np.full(3, np.nan)
    sum_origin_evidence(lines, middles, RADIUS_M, float(true[5, 0]), float(true[5, 1]), visits)
    told = [
        spoken((lines.x[n], lines.y[n]), (middles[n][0], middles[n][1]), (true[5][0], true[5][1]))
        for n in range(len(true))
    ]
    assert visits == pytest.approx([sum(told[:4]), sum(told[4:11]), told[11]])


def test_a_place_that_somebody_was_often_at_is_found_to_the_meter() -> None:
    """Middles differ, so that lines through the points cross there; who was not moved stays."""
    draw = np.random.default_rng(3)
    true = np.full((12, 2), 1500.0)
    middles = true + draw.normal(0, 900, true.shape)
    middles[4] = true[4] + 10.0
    x, y = np.ascontiguousarray(into_cylinders(true, middles).T)
    lines, undone = Lines(np.array([0, 12]), np.arange(12.0), x, y), np.empty((12, 2))
    undo_moves(lines, middles, RADIUS_M, 0.01, 0, 1, undone, np.empty(12))
    assert np.hypot(*(undone - true).T).max() < 1
    assert (np.hypot(x - 1500, y - 1500) > 100).sum() > 5


def residents(n: int = 80, days: int = 8, seed: int = 0) -> Trajectories:
    """People at home by night and at work by day, a few hundred meters from each other; at whole hours."""
    draw = np.random.default_rng(seed)
    rows = []
    for one in range(n):
        home, work = draw.uniform(0, 6000, (2, 2)).round()
        for hour in range(24 * days):
            inside = home if hour % 24 < 7 or hour % 24 > 19 else work
            there = inside if draw.random() < 0.7 else draw.uniform(0, 6000, 2).round()
            rows.append((f"{one:03d}", hour * 3600.0, float(there[0]), float(there[1])))
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y)


def test_who_asks_about_places_undoes_moves() -> None:
    """Far beyond what cells tell; of people who are not there no more than luck."""
    everybody = residents()
    original, control = everybody.keep(np.arange(60)), everybody.keep(np.arange(60, 80))
    method = shoal.Nwa(k=5, delta_m=1000, pi_s=24 * 3600, step_s=3600)
    release, linkage = method.anonymize(original, Randomness.for_research(0))
    middle = original.t.mean()
    ids = np.repeat(np.array(original.ids, dtype=object), original.lengths)
    halves = [
        Trajectories.from_rows(ids[kept].tolist(), original.t[kept], original.x[kept], original.y[kept])
        for kept in (original.t < middle, original.t > middle)
    ]
    earlier, later = (method.anonymize(half, Randomness.for_research(1)) for half in halves)
    found = attack(
        original,
        release,
        linkage,
        knowledge=["top:2", "period", "home-work"],
        rng=Randomness.for_research(1),
        scope=AttackScope(control=control, targets=["release", "control"]),
    )
    series = attack(
        halves[1],
        *later,
        knowledge=["series"],
        rng=Randomness.for_research(1),
        scope=AttackScope(earlier=earlier, targets=["release"]),
    )
    rates = {(one.name, one.target): one for one in (*found.rates, *series.rates)}
    for name in ("top-locations", "period-linkage", "home", "work", "series-linkage"):
        on_release = rates[name, "release"]
        assert on_release.rule is not None
        assert "move" in on_release.rule, name
        assert on_release.low > 1 / method.k, name
    for name in ("top-locations", "period-linkage", "home", "work"):
        assert rates[name, "control"].low <= 2 * rates[name, "control"].baseline


def test_who_knows_an_earlier_period_sees_nothing_that_records_show_of_it() -> None:
    """Moves are undone by what records show from the moment on; before it all may as well be in one place."""
    original = residents(60, 2)
    release, linkage = shoal.Nwa(k=5, delta_m=1000, pi_s=12 * 3600, step_s=3600).anonymize(
        original, Randomness.for_research(0)
    )
    points = release.points
    earlier = points.t < 60 * ((original.t.min() + original.t.max() + 60) // 120)
    assert 0.3 < earlier.mean() < 0.7
    blank = replace(points, x=np.where(earlier, 0.0, points.x), y=np.where(earlier, 0.0, points.y))
    found = [
        attack(
            original,
            replace(release, payload=shown),
            linkage,
            knowledge=["period"],
            rng=Randomness.for_research(1),
            scope=AttackScope(targets=["release"]),
        ).rates
        for shown in (points, blank)
    ]
    assert found[0] == found[1]
    assert "moves undone" in str(found[0][0].rule)


def couples(n: int = 40, days: int = 6, seed: int = 4) -> Trajectories:
    """People at home all night and most of the day, but for some hours of their own, each elsewhere."""
    draw = np.random.default_rng(seed)
    rows = []
    for one in range(n):
        home = draw.uniform(0, 20_000, 2).round()
        for hour in range(24 * days):
            away = 8 <= hour % 24 < 20 and draw.random() < 0.3
            there = home + draw.normal(0, 8000, 2).round() if away else home
            rows.append((f"{one:03d}", hour * 3600.0, float(there[0]), float(there[1])))
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y)


def test_the_same_line_all_night_does_not_hide_where_two_live() -> None:
    """At home both are on one line; those with one of them elsewhere cross it where the other lives."""
    original = couples()
    method = shoal.Nwa(k=2, delta_m=1000, pi_s=24 * 3600, step_s=3600)
    release, linkage = method.anonymize(original, Randomness.for_research(0))
    found = attack(
        original,
        release,
        linkage,
        knowledge=["home-work"],
        rng=Randomness.for_research(1),
        scope=AttackScope(targets=["release"]),
    )
    (home,) = (one for one in found.rates if one.name == "home")
    assert home.rule == "moves undone"
    assert home.low > 0.5
