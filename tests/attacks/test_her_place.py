"""Where else a person was, and home, by the sides of all boxes: known answers beside blind readers."""

from dataclasses import replace

import numpy as np
import pytest

from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
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


def rates(people: Trajectories, hull: str, places: PublicPlaces | None = None) -> dict[str, Rate]:
    release, linkage = Glove(k=2, hull=hull).anonymize(people, Randomness.for_research(1))
    found = attack(
        people,
        release,
        linkage,
        knowledge=["home-work", "her-place:2"],
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
    assert rates(read, "grid:500m")["her-place"].attacker.count("a public list of places") == 1
    assert rates(read, "grid:500m")["her-place"].rate > rates(people, "grid:500m")["her-place"].rate
