"""Tables I and II of Gramaglia et al. 2017."""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.measures.description import describe
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.glove import Glove
from shoal.methods.k_merge import merge_members
from shoal.model.grid import Grid
from shoal.model.release import Boxes
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.synthetic.stations import LAYOUTS, Layout
from shoal_papers.data import World, as_points, mean_move
from shoal_papers.experiment import Experiment, Measured, table

PAPERS_LAYOUTS: Final = tuple(name for name in LAYOUTS if name not in ("nation", "city"))
_FEATURES: Final = ("stations per km2", "people per km2", "samples per person and hour", "people per station")
_TABLE_ONE: Final = {  # surface km2, stations, people, samples per person and hour
    "abi": (2_731, 400, 29_191, 0.90),
    "dak": (1_024, 457, 71_146, 0.74),
    "shn": (3_329, 2_961, 50_000, 1.00),
    "civ": (322_463, 1_238, 82_728, 0.75),
    "sen": (196_712, 1_666, 286_926, 0.45),
}
GRIDS: Final = {"2 h, 4 km": (7_200, 4_000), "4 h, 10 km": (14_400, 10_000), "8 h, 20 km": (28_800, 20_000)}
KS: Final = (2, 5, 8)
_DELTA_M: Final = 2_000.0


def features(world: World) -> Iterator[Measured]:
    """Table I."""
    for layout in ("abi", "dak", "shn", "civ", "sen"):
        days = 1 if layout == "shn" else None
        original = world.people(layout, days=days)
        description = describe(original)
        yield Measured(layout, _FEATURES[0], description.places / description.surface_km2)
        yield Measured(layout, _FEATURES[1], description.subjects / description.surface_km2)
        yield Measured(layout, _FEATURES[2], description.samples_per_subject_and_hour)
        yield Measured(layout, _FEATURES[3], description.subjects / description.places)


def _home_tuples(original: Trajectories, k: int, count: int, draw: np.random.Generator) -> list[Trajectories]:
    """Random k people who share their most frequent place."""
    home = np.empty((original.n_subjects, 2), dtype=np.int64)
    for subject, (_, x, y) in enumerate(original):
        places, visits = np.unique(np.stack([x, y], axis=1), axis=0, return_counts=True)
        home[subject] = places[np.argmax(visits)]
    station = np.unique(home, axis=0, return_inverse=True)[1].reshape(-1)
    people = np.bincount(station)
    many = np.flatnonzero(people[station] >= k)
    if not len(many):
        return []
    chosen = []
    for first in draw.choice(many, count):
        others = np.flatnonzero((station == station[first]) & (np.arange(len(station)) != first))
        chosen.append(original.keep(np.sort([first, *draw.choice(others, k - 1, replace=False)])))
    return chosen


def _random_tuples(
    original: Trajectories, k: int, count: int, draw: np.random.Generator
) -> list[Trajectories]:
    return [original.keep(np.sort(draw.choice(original.n_subjects, k, replace=False))) for _ in range(count)]


def _extents(boxes: Boxes, grid: Grid) -> tuple[float, float]:
    """In minutes and km."""
    space = (boxes.x_max - boxes.x_min + boxes.y_max - boxes.y_min) * grid.cell_m / 1000
    return float(np.median(boxes.t_end - boxes.t_start)) * grid.slot_s / 60, float(np.median(space))


def _static_share(tuples: list[Trajectories], slot_s: float, cell_m: float) -> tuple[float, float]:
    """Of samples, and of tuples, in a coarse cell and slot of all members."""
    shared = total = identical = 0
    for people in tuples:
        grid = people.snapped_grid()
        step = np.array([slot_s / grid.slot_s, cell_m / grid.cell_m, cell_m / grid.cell_m])
        coarse = [
            list(map(tuple, (np.stack(samples, axis=1) // step).astype(np.int64).tolist()))
            for samples in people
        ]
        everywhere = set.intersection(*map(set, coarse))
        shared += sum(cell in everywhere for member in coarse for cell in member)
        total += people.n_samples
        identical += all(set(member) == everywhere for member in coarse)
    return shared / total, identical / len(tuples)


def _glove(people: Trajectories) -> Boxes:
    (merged,) = Glove(k=people.n_subjects, generalize="reshape-each").classes(people, Run(threads=1))
    return merged.boxes


def _w4m(tuples: list[Trajectories], seed: int) -> tuple[float, float, float, float]:
    """Deleted, created, and mean meters and seconds by tuple, when a tuple is a cluster."""
    deleted = created = total = 0
    moves = []
    for number, people in enumerate(tuples):
        points = as_points(people)
        try:
            method = W4m(k=people.n_subjects, delta_m=_DELTA_M, trash=0.0)
            release, linkage = method.anonymize(
                points, Randomness.for_research(seed + number), Run(threads=1)
            )
        except NothingLeftError:
            deleted, total = deleted + people.n_samples, total + people.n_samples
            continue
        deleted += release.losses.samples_suppressed
        created += release.n_samples - (people.n_samples - release.losses.samples_suppressed)
        total += people.n_samples
        moves.append(mean_move(points, release, linkage))
    meters, seconds = np.nanmean(moves, axis=0).tolist() if moves else (math.nan, math.nan)
    return deleted / total, created / total, meters, seconds


def compare_on_home_tuples(world: World, layout: Layout) -> Iterator[Measured]:
    """Table II of one data set: tuples of one home station, and random ones."""
    original = world.people(layout)
    grid = original.snapped_grid()
    for k in KS:
        draw = np.random.default_rng([world.seed, k])
        tuples = _home_tuples(original, k, world.size.tuples, draw)
        if not tuples:
            continue
        row = f"k = {k}"
        boxes = Boxes.concatenate([merge_members(one, np.arange(k))[0] for one in tuples])
        minutes, km = _extents(boxes, grid)
        yield Measured(row, "k-merge, min", minutes)
        yield Measured(row, "k-merge, km", km)
        for name, (slot_s, cell_m) in GRIDS.items():
            yield Measured(row, f"static {name}, %", 100 * _static_share(tuples, slot_s, cell_m)[0])
        deleted, created, meters, seconds = _w4m(tuples[: max(world.size.tuples // 4, 2)], world.seed)
        yield Measured(row, "W4M deleted, %", 100 * deleted)
        yield Measured(row, "W4M created, %", 100 * created)
        yield Measured(row, "W4M, min", seconds / 60)
        yield Measured(row, "W4M, km", meters / 1000)
        if k < 8:  # the paper's GLOVE did not end at k = 8
            minutes, km = _extents(Boxes.concatenate([_glove(one) for one in tuples]), grid)
            yield Measured(row, "GLOVE, min", minutes)
            yield Measured(row, "GLOVE, km", km)
        anybody = _random_tuples(original, k, world.size.tuples, draw)
        boxes = Boxes.concatenate([merge_members(one, np.arange(k))[0] for one in anybody])
        yield Measured(row, "k-merge of random tuples, km", _extents(boxes, grid)[1])


_COLUMNS: Final = (
    "k-merge, min", "k-merge, km", *(f"static {name}, %" for name in GRIDS),
    "W4M deleted, %", "W4M created, %", "W4M, min", "W4M, km", "GLOVE, min", "GLOVE, km",
)  # fmt: skip
_NAN: Final = float("nan")
_ABI: Final = {
    "k = 2": (51, 0.624, 27.2, 56.7, 80.3, 9.6, 22.0, 57, 1.166, 114, 2.626),
    "k = 5": (228, 3.423, 0.7, 11.0, 40.5, 31.9, 31.2, 185, 3.809, 292, 3.740),
    "k = 8": (349, 5.720, 0.1, 5.1, 22.6, 23.9, 36.7, 198, 6.163, _NAN, _NAN),
}
_DAK: Final = {
    "k = 2": (47, 0.701, 43.2, 68.7, 93.3, 5.9, 11.4, 39, 1.466, 116, 2.498),
    "k = 5": (220, 5.286, 2.2, 14.0, 67.0, 20.3, 21.2, 172, 5.807, 294, 3.192),
    "k = 8": (377, 7.794, 0.1, 8.6, 50.7, 22.0, 18.6, 189, 8.477, _NAN, _NAN),
}
_READING: Final = (
    "A reading: tuples drawn among users of one home station, medians over boxes, success of static "
    "generalization as a share of samples, mean moves of W4M. The paper says neither how tuples were drawn "
    "nor what success or the granularity of W4M is."
)

EXPERIMENTS: Final = (
    Experiment(
        figure="table-1",
        title="Table I: features of the data sets",
        function=features,
        printed={
            (name, column): value
            for name, (surface, stations, people, rate) in _TABLE_ONE.items()
            for column, value in zip(
                _FEATURES, (stations / surface, people / surface, rate, people / stations), strict=True
            )
        },
        note="Layouts are laid out by this table; places that nobody visited are not among those counted.",
    ),
    Experiment(
        figure="table-2-abi",
        title="Table II, abi: k-merge, static generalization, W4M and GLOVE on k-tuples",
        function=lambda world: compare_on_home_tuples(world, "abi"),
        printed=table(_ABI, _COLUMNS),
        note=_READING,
    ),
    Experiment(
        figure="table-2-dak",
        title="Table II, dak: k-merge, static generalization, W4M and GLOVE on k-tuples",
        function=lambda world: compare_on_home_tuples(world, "dak"),
        printed=table(_DAK, _COLUMNS),
        note=_READING,
    ),
)
