"""Readers of boxes who know a map of the streets."""

from dataclasses import replace

import numpy as np
import pytest

from shoal.attacks import AttackScope, Rate, attack
from shoal.attacks.questions import assess_release
from shoal.errors import InputError
from shoal.methods.glove.glove import Glove
from shoal.model.grid import Grid
from shoal.model.places import PublicPlaces
from shoal.model.projection import WGS84, transform
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.report.facts.evidence import Evidence
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.utility import Facts

pytestmark = pytest.mark.kernels

APART, LINES, MINUTES = 6, 10, 40  # cells between streets, streets each way, slots
UTM = "EPSG:32632"


def streets() -> StreetGraph:
    """Streets in the middle of cells, south to north and west to east."""
    at = (np.arange(LINES) * APART + 0.5) * 100
    low, high = np.full(LINES, at[0]), np.full(LINES, at[-1])
    x, y = np.concatenate([at, at, low, high]), np.concatenate([low, high, at, at])
    n = np.arange(LINES)
    return StreetGraph.straight(
        x, y, np.concatenate([n, n + 2 * LINES]), np.concatenate([n + LINES, n + 3 * LINES])
    )


def ends_of(graph: StreetGraph) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    return (graph.x, graph.y), (graph.shape_x, graph.shape_y)


def drivers(people: int, seed: int) -> Trajectories:
    """People who drive along the streets, a cell a minute, and turn at crossings."""
    rng = np.random.default_rng(seed)
    at, way = APART * rng.integers(0, LINES, (people, 2)), np.zeros((people, 2), dtype=np.int64)
    ways = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]])
    cells = np.empty((people, MINUTES, 2), dtype=np.int64)
    for minute in range(MINUTES):
        cells[:, minute] = at
        crossing = (at % APART == 0).all(axis=1)
        way[crossing] = ways[rng.integers(0, len(ways), crossing.sum())]
        at = np.clip(at + way, 0, APART * (LINES - 1))
    ids = [f"p{person}" for person in range(people) for _ in range(MINUTES)]
    t = np.tile(np.arange(MINUTES), people)
    x, y = cells.reshape(-1, 2).T
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


def rates(people: Trajectories, scope: AttackScope, knowledge: str = "downcoding") -> dict[str, Rate]:
    release, linkage = Glove(k=5).anonymize(people, Randomness.for_research(1))
    found = attack(
        people, release, linkage, knowledge=[knowledge], rng=Randomness.for_research(1), scope=scope
    )
    return {one.name: one for one in found.rates}


def test_cells_of_streets_are_those_that_they_run_through() -> None:
    slanted = StreetGraph.straight(
        np.array([50.0, 350.0, -50.0]),
        np.array([50.0, 150.0, 50.0]),
        np.array([0, 0, 0]),
        np.array([1, 2, 0]),
    )
    cells, lengths = slanted.cells(100.0)
    assert cells.tolist() == [[-1, 0], [0, 0], [1, 0], [2, 1], [3, 1]]
    slant = np.hypot(1, 1 / 3)  # for a cell eastward
    assert lengths == pytest.approx([0.5, 0.5 + slant / 2, slant, slant, slant / 2], abs=0.15)
    assert lengths.sum() == pytest.approx(1 + 3 * slant)
    n = APART * (LINES - 1) + 1
    assert len(streets().cells(100.0)[0]) == 2 * LINES * n - LINES**2


@pytest.mark.jit_only
def test_a_reader_with_a_street_map_names_more_places() -> None:
    people = drivers(200, seed=1)
    alone = rates(people, AttackScope(targets=["release"]))["downcoding-place"]
    mapped = rates(people, AttackScope(targets=["release"], streets=streets()))["downcoding-place"]
    assert mapped.gain > alone.gain + 0.1
    assert mapped.baseline > alone.baseline  # who reads no side has the same map
    assert mapped.rule == "followed sides"
    assert "a map of the streets" in mapped.attacker
    assert mapped.knowledge == "the release and a map of the streets"


@pytest.mark.jit_only
def test_people_beside_the_streets_are_read_by_corners_too() -> None:
    people = drivers(200, seed=3)
    half = np.repeat(np.arange(200) % 3 == 0, MINUTES)
    people = replace(people, x=people.x + 200 * half)  # these are where no street is
    alone = rates(people, AttackScope(targets=["release"]))["downcoding-place"]
    mapped = rates(people, AttackScope(targets=["release"], streets=streets()))["downcoding-place"]
    assert mapped.rate > alone.rate


@pytest.mark.jit_only
def test_a_known_list_of_places_counts_before_streets() -> None:
    people = drivers(60, seed=1)
    cells = np.unique(np.column_stack([people.x, people.y]), axis=0) * 100.0
    listed = PublicPlaces(x=cells[:, 0], y=cells[:, 1])
    both = AttackScope(targets=["release"], places=listed, streets=streets())
    assert rates(people, both) == rates(people, replace(both, streets=None))


@pytest.mark.jit_only
def test_which_samples_are_on_streets_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    people, asked, find = drivers(60, seed=1), list[float](), StreetGraph.cells

    def cells(graph: StreetGraph, cell_m: float) -> tuple[Integers, Floats]:
        asked.append(cell_m)
        return find(graph, cell_m)

    monkeypatch.setattr(StreetGraph, "cells", cells)
    facts = Facts(people, *Glove(k=5).anonymize(people, Randomness.for_research(1)))
    assert Evidence(facts, tries=60, streets=streets()).assessment
    assert asked == [100.0, 100.0]  # for the share of the samples, and as a list of places


def test_streets_elsewhere_are_refused() -> None:
    people = drivers(20, seed=1)
    far = replace(people, x=people.x + 10_000)
    with pytest.raises(InputError, match="in no cell of these streets"):
        rates(far, AttackScope(targets=["release"], streets=streets()))


@pytest.mark.jit_only
def test_the_report_plays_who_knows_the_streets_of_the_publisher() -> None:
    people = replace(drivers(60, seed=1), crs=UTM)
    at, corners = (transform(UTM, WGS84, *ends) for ends in ends_of(streets()))
    placed = replace(streets(), x=at[0], y=at[1], shape_x=corners[0], shape_y=corners[1], crs=WGS84)
    facts = Facts(people, *Glove(k=5).anonymize(people, Randomness.for_research(1)))
    far = streets()
    far = StreetGraph.straight(far.x + 1e6, far.y, far.u, far.v)
    told = {
        name: {answer.release.knowledge for answer in found.strongest_first}
        for name, known in (("none", None), ("far", far), ("here", placed))
        if (found := Evidence(facts, tries=60, streets=known).assessment)
    }
    assert told["none"] == told["far"]
    assert "the release and a map of the streets" in told["here"] - told["none"]
    assert assess_release(people, facts.release, facts.linkage, tries=60).tries == 60
