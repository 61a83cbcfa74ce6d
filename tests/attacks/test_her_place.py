"""Where else a person was, and home, by the sides of all boxes: known answers beside blind readers."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.errors import MisuseError
from shoal.kernels.joint_reading import PlaceList
from shoal.kernels.noisy_likelihood import Noise, Visits, read_observations
from shoal.methods.glove.glove import Glove
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

pytestmark = [pytest.mark.kernels, pytest.mark.jit_only]
DAY = 1440


def commuters(seed: int = 1, n: int = 40) -> Trajectories:
    """People between a home by night and a work by day, at stations of which neighbors share columns."""
    rng = np.random.default_rng(seed)
    stations = np.column_stack([rng.integers(0, 12, 60) * 10, rng.integers(0, 300, 60)])
    rows = []
    for person in range(n):
        home, work = stations[rng.integers(0, 60, 2)]
        for day in range(5):
            for hour, place in ((1, home), (4, home), (11, work), (15, work), (22, home)):
                rows.append((f"p{person:02}", day * DAY + hour * 60 + int(rng.integers(0, 60)), *place))
    ids, t, x, y = zip(*rows, strict=True)
    monday = 1_704_067_200 // 60
    return Trajectories.from_rows(list(ids), [monday + one for one in t], list(x), list(y), grid=Grid())


EXACT = ("home-work", "her-place:2")


def rates(
    people: Trajectories, hull: str, places: PublicPlaces | None = None, knowledge: Sequence[str] = EXACT
) -> dict[str, Rate]:
    release, linkage = Glove(k=2, hull=hull).anonymize(people, Randomness.for_research(1))
    found = attack(
        people,
        release,
        linkage,
        knowledge=knowledge,
        rng=Randomness.for_research(1),
        scope=AttackScope(places=places),
    )
    return {one.name if one.target == "release" else f"{one.target} {one.name}": one for one in found.rates}


def test_a_list_shows_under_a_grid_what_hulls_show_alone() -> None:
    people = commuters()
    cells = np.unique(np.column_stack([people.x, people.y]), axis=0)
    x, y = cells.T * 100.0
    tight, grid, listed = (
        rates(people, "tight"),
        rates(people, "grid:500m"),
        rates(people, "grid:500m", PublicPlaces(x=x, y=y)),
    )
    for name in ("home", "her-place"):
        assert tight[f"raw {name}"].rate == 1
        assert grid[name].rate < listed[name].rate
        assert listed[name].rate > listed[name].baseline > (listed[name].chance or 0)
    assert listed["home"].rule == "all boxes"
    assert tight["her-place"].rate > 0.6


def test_data_that_was_read_with_a_table_of_cells_has_a_list() -> None:
    people = commuters()
    read = replace(people, intake=replace(people.intake, reading=Reading(cells="cells.csv")))
    assert "a public list of places" in rates(read, "grid:500m")["her-place"].attacker
    assert "a public list of places" not in rates(people, "grid:500m")["her-place"].attacker
    assert rates(read, "grid:500m")["her-place"].rate > rates(people, "grid:500m")["her-place"].rate


def test_boxes_say_exactly_where_a_person_was_that_is_known_with_errors() -> None:
    people = commuters()
    cells = np.unique(np.column_stack([people.x, people.y]), axis=0)
    x, y = (cells.T + 0.5) * 100.0
    places = PublicPlaces(x=x, y=y)
    noisy = ("noisy:3:400m:30min", "her-place:3:400m:30min")
    listed, alone = rates(people, "tight", places, noisy), rates(people, "tight", None, noisy)
    exact = rates(people, "tight", places, ("her-place:3",))
    for name in ("her-place", "noisy-place"):
        assert listed[name].low > listed[name].baseline > alone[name].baseline
        assert listed[name].knowledge == "3 points with noise of 400 m and 30 min"
    assert listed["her-place"].rate < exact["her-place"].rate
    assert listed["noisy-linkage"].rate > alone["noisy-linkage"].rate
    assert (listed["noisy-linkage"].rule, listed["noisy-linkage"].worst) == ("sides of all boxes", 0.5)
    assert "noisy-place" not in exact


def test_habits_of_one_of_two_name_more_than_known_places_and_sides_alone() -> None:
    people = commuters(n=120)
    x, y = (np.unique(np.column_stack([people.x, people.y]), axis=0).T + 0.5) * 100.0
    found = rates(people, "tight", PublicPlaces(x=x, y=y), ("her-place:2",))["her-place"]
    assert found.rule == "own habits"
    assert found.rate > 0.9  # 0.867 by the most usual known place, else the surest


def test_exact_points_lead_to_more_records_by_all_sides_of_their_boxes() -> None:
    people = commuters(n=120)
    x, y = (np.unique(np.column_stack([people.x, people.y]), axis=0).T + 0.5) * 100.0
    listed, alone = (
        rates(people, "grid:500m", places, ("points:1",))["linkage"]
        for places in (PublicPlaces(x=x, y=y), None)
    )
    assert alone.rate < listed.rate <= 0.5
    assert listed.rule == "sides of all boxes"
    assert "a public list of places" in listed.attacker


def test_an_error_in_place_alone_comes_with_the_usual_one_in_time() -> None:
    found = rates(commuters(), "tight", None, ("her-place:1:500m",))
    assert found["noisy-place"].knowledge == "1 point with noise of 500 m and 30 min"
    with pytest.raises(MisuseError, match="write for example her-place:4"):
        rates(commuters(), "tight", None, ("her-place:1:500m:30min:2",))


def test_observations_are_read_as_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    n, records = 30, 4
    x, y = np.sort(rng.integers(0, 40, n)), rng.integers(0, 40, n)
    places = PlaceList(x, y, np.column_stack([x, y, x + 1, y + 1]), np.ones(n), True, *[np.ones((1, 1))] * 2)
    place, record = np.sort(rng.integers(0, n, 200)), rng.integers(0, records, 200)
    starts, shares = rng.integers(0, 90, 200), rng.random(200)
    ends = starts + rng.integers(1, 30, 200)
    visits = Visits(np.searchsorted(place, np.arange(n + 1)), record, starts, ends, shares)
    offsets, seen = np.array([0, 3, 4]), rng.random((4, 3)) * [90, 40, 40]
    noise, boxes, sizes = Noise(5.0, 3.0, 1e6, 0.0), np.array([50, 60, 70, 20]), np.array([2, 2, 3, 5])
    named, place_of = read_observations(offsets, seen, noise, places, visits, boxes, sizes)

    def until(slot: int, t: float) -> float:
        return math.erf((slot - t) / 5 / math.sqrt(2)) / 2

    now, ever = np.zeros((4, records, n)), np.zeros((4, records, n))
    for row, (t, east, north) in enumerate(seen.tolist()):
        for v in range(200):
            near = math.exp(-((x[place[v]] + 0.5 - east) ** 2 + (y[place[v]] + 0.5 - north) ** 2) / 18)
            start, end, size = starts[v], ends[v], sizes[record[v]]
            then = (until(end, t) - until(start, t)) / (end - start)
            if end - start > 2:  # one of so many samples or more lies at either end
                edges = until(start + 1, t) - until(start, t) + until(end, t) - until(end - 1, t)
                middle = (until(end - 1, t) - until(start + 1, t)) / (end - start - 2)
                then = edges / (size + 1) + middle * (size - 1) / (size + 1)
            ever[row, record[v], place[v]] += near * shares[v]
            now[row, record[v], place[v]] += near * shares[v] * then
    scores = sum(np.log(cue.sum(axis=2) / boxes + 1e-12) for cue in (now, ever))
    expected = [scores[begin:end].sum(axis=0).argmax() for begin, end in ((0, 3), (3, 4))]
    assert named.tolist() == expected
    assert place_of.tolist() == [now[row, expected[row // 3]].argmax() for row in range(4)]
