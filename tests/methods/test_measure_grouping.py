"""The bench that sets groupings beside each other: who is in which, and what its rows speak of."""

from typing import Any

import numpy as np
import pytest

import k_scale
import measure_grouping as bench
import shoal
from shoal.kernels.weighed_runs import Weights
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import halve_people, weights_of
from shoal.methods.k_merge import merge_members
from shoal.report.facts.omission import extents_of_classes
from shoal.runtime.run import Run
from shoal.synthetic import Layout

ALONE = Run(threads=1)


@pytest.mark.parametrize(("layout", "count"), [("city", 40), ("nation", 5), ("nation", 150), ("city", 399)])
def test_the_tree_finds_the_neighbors_that_a_matrix_of_all_pairs_finds(layout: Layout, count: int) -> None:
    people = shoal.read(shoal.synthesize(400, 1, 3, layout=layout))
    squares = k_scale.squares_of(people)
    apart = k_scale.distances(squares, squares)
    assert np.allclose(np.diag(apart), -1 / 3)
    np.fill_diagonal(apart, np.inf)
    assert 0 < np.count_nonzero(apart < 1) < apart.size - len(apart)
    wanted = np.argsort(apart, axis=1, kind="stable")[:, :count]
    assert np.array_equal(k_scale.nearest(squares, count, ALONE), wanted)


def test_equally_near_ones_stand_in_the_order_of_people() -> None:
    drawn = np.random.default_rng(5).integers(0, 4, (3, 300)).astype(np.float64)
    squares = k_scale.Squares(drawn[0], drawn[1], drawn[2] / 4 + 0.5)
    apart = k_scale.distances(squares, squares)
    np.fill_diagonal(apart, np.inf)
    wanted = np.argsort(apart, axis=1, kind="stable")[:, :20]
    assert np.array_equal(k_scale.nearest(squares, 20, ALONE), wanted)


def test_each_cost_is_that_of_k_merge() -> None:
    people = shoal.read(shoal.synthesize(40, 1, 3, layout="city"))
    others = k_scale.nearest(k_scale.squares_of(people), 6, ALONE)
    costs = k_scale.costs_beside(people, others, Run(threads=2))
    wanted = [[merge_members(people, np.array([p, q]))[1] for q in row] for p, row in enumerate(others)]
    assert costs.tolist() == wanted


def test_groupings_keep_everybody_and_k_scales_records_hold_everybody_k_times() -> None:
    people = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    others = k_scale.nearest(k_scale.squares_of(people), 12, ALONE)
    found = k_scale.Near(people=others, costs=k_scale.costs_beside(people, others, ALONE))
    classes = k_scale.classes_of_neighbors(found, 3)
    assert sorted(np.concatenate(classes).tolist()) == list(range(24))
    assert min(len(own) for own in classes) >= 3
    records = k_scale.records_of(found, 3)
    assert [p in own for p, own in enumerate(records)] == [True] * 24
    assert min(np.bincount(np.concatenate(records))) >= 3


def test_a_table_has_a_row_for_each_grouping_as_it_is_and_refined() -> None:
    people = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    told = "\n".join(bench.lines(people, 3, [1], 4, 10)).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told if line.startswith("| 3")]
    names = ["GLOVE", "k-scale's neighbors, in classes", "halves"]
    wanted = [text for name in names for text in (name, f"{name}, 1 rounds")]
    assert [row[1] for row in rows] == [*wanted, "k-scale as published"]
    assert [row[9] for row in rows[:2]] == ["", "1.00"]
    few = "\n".join(bench.lines(people, 3, [], 4, 10, ["halves"]))
    assert few.splitlines()[-1].startswith("| 3 | halves | ")


def test_in_blocks_everybody_is_in_one_class_of_k_with_the_own_samples() -> None:
    people = shoal.read(shoal.synthesize(50, 1, 3, layout="city"))
    classes = bench.in_blocks(people, 2, 20, ALONE)
    assert sorted(np.concatenate([each.members for each in classes]).tolist()) == list(range(50))
    assert min(len(each.members) for each in classes) >= 2
    assert extents_of_classes(people, classes).n_samples == people.n_samples


def test_extents_in_parts_are_those_of_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    people = shoal.read(shoal.synthesize(30, 1, 3, layout="city"))
    classes = shoal.Glove(k=2).classes(people, ALONE)
    monkeypatch.setattr(bench, "CLASSES_AT_ONCE", 4)
    parts, whole = bench.extents_of(people, classes), extents_of_classes(people, classes)
    for name in ("space_cells", "time_slots", "count"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name))


def test_a_refinement_counts_in_the_units_that_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    people = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    asked: list[Weights | None] = []

    def refined(_: Any, start: list[EquivalenceClass], *__: Any, weights: Weights | None) -> Any:
        asked.append(weights)
        return start

    monkeypatch.setattr(bench, "refine_classes", refined)
    for units in (None, "GLOVE", "halves"):
        list(bench.lines(people, 3, [1], 4, 1, units=units))
    starts = shoal.Glove(k=3).classes(people, ALONE), halve_people(people, 3, ALONE)
    greedy, halves = (weights_of(people, start, ramp=True).per_slot for start in starts)
    assert [None if one is None else one.per_slot for one in asked] == [
        *[None] * 3,
        *[greedy] * 3,
        *[halves] * 3,
    ]
    assert greedy != halves


def test_the_tightest_record_is_the_own_where_everybody_is_alone_and_a_guess_where_all_share_one() -> None:
    people = shoal.read(shoal.synthesize(12, 1, 3, layout="city"))
    alone = bench.published(people, [np.array([p]) for p in range(12)])
    assert bench.tightest(people, alone, 12) == 1.0
    (shared,) = bench.published(people, [np.arange(12)])
    assert bench.tightest(people, [shared], 12) == pytest.approx(1 / 12)
    same = [EquivalenceClass(members=np.array([p]), boxes=shared.boxes) for p in range(12)]
    assert bench.tightest(people, same, 12) == 1 / 12
