"""What the search for near pairs knows about everybody, against loops over samples, on several threads."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.people import Hours, Places, least_costs_to_people
from shoal.kernels.stretch import CHUNK, Hulls
from shoal.measures import nearest_pairs
from shoal.measures.nearest_pairs import prepare_people
from shoal.measures.stretch import Caps
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from small_data import population, populations

pytestmark = pytest.mark.kernels


def counted(lists: Places | Hours, subject: int) -> dict[int, int]:
    own = slice(*lists.offsets[subject : subject + 2])
    return dict(zip(lists.distinct[own].tolist(), lists.weights[own].tolist(), strict=True))


def hull(rows: list[tuple[int, int]]) -> list[int]:
    x, y = zip(*rows, strict=True)
    return [min(x), max(x), min(y), max(y)]


def assert_hulls(found: Hulls, subject: int, rows: list[tuple[int, int]]) -> None:
    own = found.bounds[slice(*found.offsets[subject : subject + 2])].tolist()
    assert own == [hull(rows[first : first + CHUNK]) for first in range(0, len(rows), CHUNK)]


def assert_knows_everybody(original: Trajectories, threads: int) -> None:
    scale = Caps().scale_on(original.snapped_grid())
    raw, places, hours = prepare_people(original, scale, Run(threads=threads))
    squares = sorted({(x // places.side, y // places.side) for _, x, y in samples_of(original)})
    assert list(zip(places.x // places.side, places.y // places.side, strict=True)) == squares
    for i in range(original.n_subjects):
        rows = list(zip(*(column.tolist() for column in original.samples_of(i)), strict=True))
        cells = list(dict.fromkeys((x, y) for _, x, y in rows))
        own = slice(*raw.place_offsets[i : i + 2])
        assert list(zip(raw.place_x[own], raw.place_y[own], strict=True)) == cells
        where = slice(*original.offsets[i : i + 2])
        assert raw.place[where].tolist() == [cells.index((x, y)) for _, x, y in rows]
        assert raw.bounds[i].tolist() == hull(cells)
        assert_hulls(raw.chunks, i, [(x, y) for _, x, y in rows])
        assert_hulls(raw.place_chunks, i, cells)
        numbers = [squares.index((x // places.side, y // places.side)) for _, x, y in rows]
        assert places.of_sample[where].tolist() == numbers
        assert list(counted(places, i).items()) == Counter(numbers).most_common()  # equals as they first come
        slots = [t - hours.first_t for t, _, _ in rows]
        assert hours.slot[where].tolist() == slots
        assert counted(hours, i) == Counter(slot >> hours.shift for slot in slots)


def samples_of(original: Trajectories) -> list[tuple[int, int, int]]:
    return list(zip(original.t.tolist(), original.x.tolist(), original.y.tolist(), strict=True))


@given(populations(), st.integers(1, 4))
def test_everybody_is_known(original: Trajectories, threads: int) -> None:
    assert_knows_everybody(original, threads)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("most_places", [4096, 20, 1])
@pytest.mark.parametrize("map_cells", [1 << 26, 0])
def test_in_squares_and_without_a_map(
    most_places: int, map_cells: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest_pairs, "_MOST_PLACES", most_places)
    monkeypatch.setattr(nearest_pairs, "_MOST_CELLS_OF_A_MAP", map_cells)
    assert_knows_everybody(population([1, 70, 33, 5, 32], seed=5, places=9, step_cells=7), threads)


@pytest.mark.parametrize("lengths", [[100, 1, 1], [1, 100, 1], [1], [1, 1]])
def test_whose_samples_outweigh_all_others(lengths: list[int]) -> None:
    assert_knows_everybody(population(lengths, seed=2), 4)


@given(populations())
def test_least_costs_from_some_places(original: Trajectories) -> None:
    places = prepare_people(original, Caps().scale_on(original.snapped_grid()), Run(threads=1)).places
    offsets, own, costs = places.offsets, places.distinct, np.ascontiguousarray(places.costs[:, ::2])
    least = np.empty((original.n_subjects, costs.shape[1]), dtype=costs.dtype)
    least_costs_to_people(offsets, own, costs, least)
    mine = [own[offsets[i] : offsets[i + 1]].tolist() for i in range(original.n_subjects)]
    assert least.tolist() == [
        [min(int(costs[p, c]) for p in places_of) for c in range(costs.shape[1])] for places_of in mine
    ]
