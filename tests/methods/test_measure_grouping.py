"""The bench that sets groupings beside each other: who is in which, and what its rows speak of."""

from typing import Any

import numpy as np
import pytest

import measure_grouping as bench
import shoal
from shoal.kernels.weighed_runs import Weights
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.refine import halved, weights_of
from shoal.runtime.run import Run


def test_groupings_keep_everybody_and_k_scales_records_hold_everybody_k_times() -> None:
    people = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    found = bench.near(people, 12)
    apart = bench.distances(people)
    assert np.allclose(apart, apart.T)
    assert np.allclose(np.diag(apart), -1 / 3)
    classes = bench.classes_of_neighbors(found, 3)
    assert sorted(np.concatenate(classes).tolist()) == list(range(24))
    assert min(len(own) for own in classes) >= 3
    records = bench.k_scale_records(found, 3)
    assert [p in own for p, own in enumerate(records)] == [True] * 24
    assert min(np.bincount(np.concatenate(records))) >= 3
    told = "\n".join(bench.lines(people, 3, [1], 4, 10)).splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in told if line.startswith("| 3")]
    names = ["GLOVE", "k-scale's neighbors, in classes", "halves"]
    wanted = [text for name in names for text in (name, f"{name}, 1 rounds")]
    assert [row[1] for row in rows] == [*wanted, "k-scale as published"]
    assert (rows[1][6], rows[1][7]) == ("1.00", "33.3 %")


def test_a_refinement_counts_in_the_units_that_were_named(monkeypatch: pytest.MonkeyPatch) -> None:
    people = shoal.read(shoal.synthesize(24, 2, 3, layout="city"))
    asked: list[Weights | None] = []

    def refined(_: Any, start: list[EquivalenceClass], *__: Any, weights: Weights | None) -> Any:
        asked.append(weights)
        return start

    monkeypatch.setattr(bench, "refined", refined)
    for units in (None, "GLOVE", "halves"):
        list(bench.lines(people, 3, [1], 4, 1, units))
    starts = shoal.Glove(k=3).classes(people, Run()), halved(people, 3, Run())
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
    same = [EquivalenceClass(members=np.array([p]), boxes=shared.boxes) for p in range(12)]
    assert bench.tightest(people, same, 12) == 1 / 12
