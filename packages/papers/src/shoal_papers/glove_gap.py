"""Fig. 3 to 5 of Gramaglia and Fiore 2015: k-gaps and their causes."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.measures.k_gap import KGap, k_gaps, sample_for_k_gap
from shoal.methods.static import StaticGeneralization
from shoal.model.trajectories import Trajectories
from shoal.synthetic.stations import Layout
from shoal_papers.data import World
from shoal_papers.experiment import Experiment, Measured

NATIONS: Final[tuple[Layout, ...]] = ("civ", "sen")
KS: Final = (2, 5, 10, 25, 50, 100)
STEPS: Final = ((1_000, 1_800), (2_000, 3_600), (4_000, 7_200), (10_000, 14_400), (20_000, 28_800))  # m, s
_OFFSETS: Final = 4  # of a cell, along the diagonal, over which shares are averaged
_HEAVY: Final = 1.5


def _gaps(world: World, layout: Layout, ks: tuple[int, ...]) -> tuple[KGap, ...]:
    original = world.people(layout)
    asked = tuple(k for k in ks if k <= original.n_subjects)
    return world.once(
        ("gaps", layout, asked),
        lambda: tuple(k_gaps(original, asked, run=world.run, subjects=sample_for_k_gap(original.n_subjects))),
    )


def two_gap(world: World) -> Iterator[Measured]:
    """Fig. 3a."""
    for layout in NATIONS:
        (gaps,) = _gaps(world, layout, (2,))
        yield Measured(layout, "median", float(np.median(gaps.gap)))
        yield Measured(layout, "80 % quantile", float(np.quantile(gaps.gap, 0.8)))
        yield Measured(layout, "hidden already, %", 100 * float((gaps.gap == 0).mean()))


def gap_by_k(world: World) -> Iterator[Measured]:
    """Fig. 3b."""
    for gaps in _gaps(world, "sen", KS):
        yield Measured(f"k = {gaps.k}", "median", float(np.median(gaps.gap)))
        yield Measured(f"k = {gaps.k}", "80 % quantile", float(np.quantile(gaps.gap, 0.8)))


def hidden_by_one_grid(world: World) -> Iterator[Measured]:
    """Fig. 4, at a gap of 0, as the mean over offsets of the grid."""
    for layout in NATIONS:
        original = world.people(layout)
        for cell_m, slot_s in STEPS:
            shares = [
                _hidden(original, cell_m, slot_s, offset * cell_m // _OFFSETS // 100 * 100)
                for offset in range(_OFFSETS)
            ]
            row = f"{layout}, {cell_m / 1000:g} km and {slot_s / 60:g} min"
            yield Measured(row, "hidden, mean over offsets, %", 100 * float(np.mean(shares)))
            yield Measured(row, "least, %", 100 * min(shares))
            yield Measured(row, "most, %", 100 * max(shares))


def _hidden(original: Trajectories, cell_m: float, slot_s: float, offset_m: float) -> float:
    method = StaticGeneralization(k=2, grid_m=cell_m, slot_s=slot_s, grid_offset_m=offset_m)
    return method.share_hidden(original)


def why(world: World) -> Iterator[Measured]:
    """Fig. 5."""
    for layout in NATIONS:
        (gaps,) = _gaps(world, layout, (2,))
        share = gaps.time / np.maximum(gaps.gap, 1e-12)
        space, time = gaps.tail_weight_space, gaps.tail_weight_time
        defined = ~np.isnan(time)
        flat = np.isnan(space) | (space < _HEAVY)  # nan: the middle of the distribution is flat
        yield Measured(layout, "time above space, % of people", 100 * float((gaps.time > gaps.space).mean()))
        yield Measured(layout, "time share, median, %", 100 * float(np.median(share)))
        yield Measured(layout, "time alone, % of people", 100 * float((gaps.space == 0).mean()))
        yield Measured(
            layout, "tail of time >= 1.5, % of people", 100 * float((time[defined] >= _HEAVY).mean())
        )
        yield Measured(layout, "tail of space < 1.5, % of people", 100 * float(flat.mean()))
        both = gaps.tail_weight[~np.isnan(gaps.tail_weight)]
        yield Measured(layout, "tail of both >= 1.5, % of people", 100 * float((both >= _HEAVY).mean()))


EXPERIMENTS: Final = (
    Experiment(
        figure="figure-3a",
        title="Fig. 3a: the 2-gap",
        function=two_gap,
        printed={
            ("civ", "median"): 0.09,
            ("sen", "80 % quantile"): 0.17,
            ("civ", "hidden already, %"): 0,
            ("sen", "hidden already, %"): 0,
        },
    ),
    Experiment(
        figure="figure-3b",
        title="Fig. 3b: the k-gap for larger k (sen)",
        function=gap_by_k,
        note="The paper prints curves; in words the gap grows more slowly than k.",
    ),
    Experiment(
        figure="figure-4",
        title="Fig. 4: people 2-anonymous on one grid for all",
        function=hidden_by_one_grid,
        printed={
            **{(f"{one}, 20 km and 480 min", "hidden, mean over offsets, %"): 35 for one in ("civ", "sen")},
            **{(f"{one}, 2 km and 60 min", "hidden, mean over offsets, %"): 0 for one in ("civ", "sen")},
        },
        note="Where the grid's corner lies decides a lot, so least and most over four offsets stand beside.",
    ),
    Experiment(
        figure="figure-5",
        title="Fig. 5: the part of time, and heavy tails",
        function=why,
        printed={
            (one, column): value
            for one in ("civ", "sen")
            for column, value in (
                ("time above space, % of people", 95),
                ("time share, median, %", 80),
                ("time alone, % of people", 15),
                ("tail of time >= 1.5, % of people", 70),
                ("tail of space < 1.5, % of people", 85),
            )
        },
        note="The tails are printed for civ, and said to be the same for sen; that of both follows time's.",
    ),
)
