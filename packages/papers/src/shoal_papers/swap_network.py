"""Tables 1 to 7 and Fig. 2 of Domingo-Ferrer and Trujillo-Rasua 2012: objects on streets.

The paper calibrates R^s to the distortion of (k, delta)-anonymity (Tables 2 and 3). Tables 4 to 7 use the
thresholds that it prints, so that a row depends on no earlier one.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.measures.trajectory_distance import Paths, Penalty, trajectory_distances
from shoal.methods.co_location.nwa import Nwa
from shoal.methods.swapping.exchange import Clustering
from shoal.methods.swapping.reach_locations import ReachLocations, SetMembers
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.utility.points import PointUtility, measure_points
from shoal_papers.clusters import clusters_of
from shoal_papers.data import World
from shoal_papers.experiment import Experiment, Measured, table
from shoal_papers.range_queries import RangeDistortion, calibrated_threshold, draw_queries, range_distortion

KS: Final = (2, 4, 6, 8, 10, 15)
DELTAS: Final = (0, 1000, 2000, 3000, 4000, 5000)
MOST: Final = 1e6  # the largest R^s that the paper tries
R_T: Final = 100.0
PI_S, LEAST_CLASS = 3.0, 5  # of NWA, Sec. 7.1.2
QUERY: Final = (10.0, 750.0)  # the longest and the widest range query
_SEARCH: Final = 10  # halvings of the ratio of the bounds

_DISTORTION: Final = (  # Table 1, in millions
    (48, 93, 120, 143, 165, 199), (19, 60, 86, 109, 131, 165), (4, 32, 56, 78, 99, 133),
    (0.9, 14, 32, 52, 71, 104), (0.2, 5, 16, 32, 48, 79), (0.03, 2, 7, 18, 31, 58),
)  # fmt: skip
SWAP_R_S: Final = (  # Table 2
    (1e6,) * 6, (1e6,) * 6, (899, *(1e6,) * 5), (257, *(1e6,) * 5), (86, 1390, *(1e6,) * 4),
    (19, 681, 2507, *(1e6,) * 3),
)  # fmt: skip
REACH_R_S: Final = (  # Table 3
    (499875, 1e6, 1e6, 1e6, 1e6, 1e6), (25090, 106126, 270157, 1e6, 1e6, 1e6),
    (4780, 52468, 93717, 151915, 249999, 1e6), (749, 37124, 64801, 95585, 132857, 238884),
    (136, 25540, 51089, 73088, 94465, 152862), (57, 18059, 39061, 58584, 79101, 113280),
)  # fmt: skip
_SWAP_REMOVED: Final = (  # Table 4: trajectories, locations
    (0, 34, 0, 58, 0, 69, 1, 75, 0, 79, 0, 84), (0, 34, 0, 58, 0, 69, 1, 75, 0, 79, 0, 84),
    (4, 45, 0, 58, 0, 69, 1, 75, 0, 79, 0, 84), (11, 62, 0, 58, 0, 69, 1, 75, 0, 79, 0, 84),
    (19, 68, 5, 66, 0, 69, 1, 75, 0, 79, 0, 84), (32, 78, 20, 73, 4, 72, 1, 75, 0, 79, 0, 84),
)  # fmt: skip
_REACH_REMOVED: Final = (  # Table 5
    (0, 1, 0, 3, 0, 3, 0, 4, 0, 4, 0, 3), (0, 2, 0, 3, 0, 3, 0, 4, 0, 5, 0, 3),
    (36, 27, 9, 18, 3, 11, 0, 5, 0, 6, 0, 4), (74, 38, 33, 39, 18, 28, 6, 21, 2, 13, 0, 7),
    (82, 43, 65, 49, 41, 40, 20, 34, 10, 27, 2, 16), (84, 60, 84, 53, 60, 52, 40, 44, 27, 35, 10, 27),
)  # fmt: skip
_SWAP_RANGES: Final = (  # Table 6: SID and AID of (k, delta)-anonymity less those of SwapLocations
    (34, 29, 31, 14, 36, 16, 36, 13, 37, 13, 43, 14), (24, 20, 24, 8, 28, 10, 27, 8, 28, 9, 41, 14),
    (18, 14, 18, 4, 20, 3, 20, 2, 27, 6, 39, 10), (8, 3, 11, -2, 13, 0, 16, -1, 21, 4, 36, 10),
    (-6, -7, 6, -6, 9, -5, 11, -4, 17, 2, 30, 5), (-22, -19, 1, -9, 3, -9, 7, -7, 14, -2, 27, 2),
)  # fmt: skip
_REACH_RANGES: Final = (  # Table 7
    (34, 25, 28, 12, 33, 10, 32, 5, 31, 5, 37, 6), (25, 19, 21, 6, 24, 4, 23, 1, 25, 2, 35, 5),
    (10, 10, 8, -7, 17, -3, 19, -3, 23, -3, 33, 4), (-4, 2, 0, -12, 9, -12, 13, -5, 19, -4, 29, 1),
    (-11, -6, -6, -18, -2, -17, 3, -16, 13, -6, 26, -3),
    (-14, -5, -10, -22, -8, -25, -4, -21, 8, -14, 20, -5),
)  # fmt: skip
_PAIRS: Final = {"removed": ("trajectories", "locations"), "ranges": ("SID", "AID")}


def _named(kind: str) -> list[str]:
    return [f"k = {k}, {part}, %" for k in KS for part in _PAIRS[kind]]


def _rows(values: Iterable[Iterable[float]]) -> dict[str, Iterable[float]]:
    return {f"delta {delta:,}": row for delta, row in zip(DELTAS, values, strict=True)}


def _settings(world: World) -> Iterator[tuple[int, int, int, int]]:
    """(index of delta, delta, index of k, k), or a few."""
    for row, delta in enumerate(DELTAS):
        for place, k in enumerate(KS):
            corner = row in (0, len(DELTAS) - 1) and place in (0, len(KS) - 1)
            if corner or (row % world.size.thin == 0 and place % world.size.thin == 0):
                yield row, delta, place, k


def _swap_clusters(
    world: World, k: int, penalty: Penalty, paths: Paths, clustering: Clustering
) -> list[Integers]:
    original = world.network()

    def distances() -> tuple[Integers, np.ndarray]:
        pairwise = trajectory_distances(original, paths=paths, penalty=penalty, run=world.run)
        return pairwise.kept, pairwise.matrix[np.ix_(pairwise.kept, pairwise.kept)]

    def clusters() -> list[Integers]:
        members, matrix = world.once_with("network", ("distances", penalty, paths), distances)
        return [members[group] for group in clusters_of(matrix, k, clustering)]

    return world.once_with("network", ("clusters", k, penalty, paths, clustering), clusters)


def _swapped(
    world: World, k: int, space: float, clusters: list[Integers] | None = None
) -> tuple[Release, Linkage] | None:
    """As published, without 1/p; None when nothing is left."""
    method = SwapLocations(
        k=k, time_threshold_s=R_T, space_threshold_m=space, clustering="mdav", paths="all", penalty="none"
    )
    if clusters is None:
        clusters = _swap_clusters(world, k, "none", "all", "mdav")
    try:
        return method.swap(world.network(), clusters, {}, {}, Randomness.for_research(world.seed))
    except NothingLeftError:
        return None


def _reached(
    world: World, k: int, space: float, members: SetMembers = "nearest"
) -> tuple[Release, Linkage] | None:
    """As the paper checks it; None when nothing is left."""
    streets = world.network_streets()
    longest = float(np.nansum(streets.on_plane(world.network().crs).length_m))
    method = ReachLocations(
        k=k,
        time_threshold_s=R_T,
        space_threshold_m=min(space, longest),
        both_sides=False,
        set_members=members,
        most_off_street_m=5.0,
        streets=streets,
    )
    try:
        return method.anonymize(world.network(), Randomness.for_research(world.seed), world.run)
    except NothingLeftError:
        return None


def _in_classes(world: World) -> Trajectories:
    """Classes of at least five, as in the paper; else all."""

    def make() -> Trajectories:
        original = world.network()
        classes = Nwa(pi_s=PI_S, step_s=1).classes(original)
        people = [one for members in classes.values() if len(members) >= LEAST_CLASS for one in members]
        return original.keep(np.sort(people)) if people else original

    return world.once_with("network", "classes", make)


def _walked(world: World, k: int, delta: float) -> tuple[Release, Linkage] | None:
    """The paper's pi of 3 steps, delta the radius."""
    try:
        return Nwa(k=k, delta_m=2 * delta, pi_s=PI_S, step_s=1).anonymize(
            _in_classes(world), Randomness.for_research(world.seed), world.run
        )
    except NothingLeftError:
        return None


def _distortion_of_walk(world: World, k: int, delta: float) -> float:
    """TotalSD; nan without a release."""
    released = world.once(("nwa", k, delta), partial(_walked, world, k, delta))
    if released is None:
        return float("nan")
    return measure_points(_in_classes(world), *released).total_at_same_times_m


def _utility(world: World, released: tuple[Release, Linkage] | None) -> PointUtility | None:
    return None if released is None else measure_points(world.network(), *released)


def _swap_utility(world: World, k: int, space: float) -> PointUtility | None:
    return _utility(world, _swapped(world, k, space))


def _ranges(world: World, released: tuple[Release, Linkage] | None) -> RangeDistortion | None:
    if released is None:
        return None
    original = world.network()
    queries = world.once(
        "queries",
        lambda: draw_queries(original, world.size.queries, *QUERY, np.random.default_rng(world.seed)),
    )
    return range_distortion(original, released[0], queries, world.run)


def distortion_of_walks(world: World) -> Iterator[Measured]:
    """Table 1."""
    for _, delta, _, k in _settings(world):
        yield Measured(f"delta {delta:,}", f"k = {k}", _distortion_of_walk(world, k, delta) / 1e6)


def _thresholds(
    world: World, name: str, make: Callable[[World, int, float], tuple[Release, Linkage] | None]
) -> Iterator[Measured]:
    """The R^s of NWA's distortion, or the largest."""
    for _, delta, _, k in _settings(world):
        wished = _distortion_of_walk(world, k, delta)
        if np.isnan(wished):
            continue

        def at(space: float, k: int = k) -> float:
            utility = world.once((name, k, space), lambda: _utility(world, make(world, k, space)))
            return 0.0 if utility is None else utility.total_at_same_times_m

        space = calibrated_threshold(at, wished, 1.0, MOST, steps=_SEARCH)
        yield Measured(f"delta {delta:,}", f"k = {k}", space)


def thresholds_of_swapping(world: World) -> Iterator[Measured]:
    """Table 2."""
    yield from _thresholds(world, "swap", _swapped)


def thresholds_of_reaching(world: World) -> Iterator[Measured]:
    """Table 3."""
    yield from _thresholds(world, "reach distortion", _reached)


def _removed(delta: int, k: int, utility: PointUtility | None) -> Iterator[Measured]:
    parts = (1.0, 1.0) if utility is None else (utility.removed_trajectories, utility.removed_locations)
    for part, share in zip(_PAIRS["removed"], parts, strict=True):
        yield Measured(f"delta {delta:,}", f"k = {k}, {part}, %", 100 * share)


def removed_by_swapping(world: World) -> Iterator[Measured]:
    """Table 4."""
    for row, delta, place, k in _settings(world):
        space = SWAP_R_S[row][place]
        utility = world.once(("swap", k, space), partial(_swap_utility, world, k, space))
        yield from _removed(delta, k, utility)


def distortion_less_that_of_walks(world: World, method: str) -> Iterator[Measured]:
    """Fig. 3, a half: TotalSD of our method at the paper's thresholds minus that of NWA."""
    for row, delta, place, k in _settings(world):
        if method == "swap":
            space = SWAP_R_S[row][place]
            utility = world.once(("swap", k, space), partial(_swap_utility, world, k, space))
        else:
            space = REACH_R_S[row][place]
            released = world.once(("reach", k, space), partial(_reached, world, k, space))
            utility = _utility(world, released)
        ours = 0.0 if utility is None else utility.total_at_same_times_m
        yield Measured(f"delta {delta:,}", f"k = {k}", (ours - _distortion_of_walk(world, k, delta)) / 1e6)


def removed_by_reaching(world: World) -> Iterator[Measured]:
    """Table 5."""
    for row, delta, place, k in _settings(world):
        space = REACH_R_S[row][place]
        released = world.once(("reach", k, space), partial(_reached, world, k, space))
        yield from _removed(delta, k, _utility(world, released))


def _gained(world: World, delta: int, k: int, released: tuple[Release, Linkage] | None) -> Iterator[Measured]:
    """SID and AID of NWA minus those of a release."""
    walked = world.once(("nwa", k, delta), partial(_walked, world, k, delta))
    theirs = world.once(("nwa ranges", k, delta), lambda: _ranges(world, walked))
    ours = _ranges(world, released)
    if theirs is not None and ours is not None:
        for part, gain in zip(_PAIRS["ranges"], (theirs.sid - ours.sid, theirs.aid - ours.aid), strict=True):
            yield Measured(f"delta {delta:,}", f"k = {k}, {part}, %", 100 * gain)


def ranges_after_swapping(world: World) -> Iterator[Measured]:
    """Table 6."""
    for row, delta, place, k in _settings(world):
        yield from _gained(world, delta, k, _swapped(world, k, SWAP_R_S[row][place]))


def ranges_after_reaching(world: World) -> Iterator[Measured]:
    """Table 7."""
    for row, delta, place, k in _settings(world):
        space = REACH_R_S[row][place]
        released = world.once(("reach", k, space), partial(_reached, world, k, space))
        yield from _gained(world, delta, k, released)


def sweep(world: World) -> Iterator[Measured]:
    """Fig. 2: k = 10, several R^s."""
    for space in (100.0, 1e3, 1e4, 1e5, 1e6):
        utility = _utility(world, _swapped(world, 10, space))
        row = f"SwapLocations, R^s = {space:,.0f}"
        shares = (1.0, 1.0) if utility is None else (utility.removed_trajectories, utility.removed_locations)
        yield Measured(row, "trajectories removed, %", 100 * shares[0])
        yield Measured(row, "locations removed, %", 100 * shares[1])
        total = 0.0 if utility is None else utility.total_at_same_times_m
        yield Measured(row, "TotalSD, millions", total / 1e6)


def least_sums(world: World) -> Iterator[Measured]:
    """Alg. 4, 8 (4), at k = 3: nearest points, and minimal sum."""
    kinds: dict[str, SetMembers] = {"the two nearest": "nearest", "the least sum": "least-sum"}
    for space in (1e3, 1e4):
        for name, members in kinds.items():
            utility = _utility(world, _reached(world, 3, space, members))
            row = f"{name}, R^s = {space:,.0f}"
            removed = 1.0 if utility is None else utility.removed_locations
            total = 0.0 if utility is None else utility.total_at_same_times_m
            yield Measured(row, "locations removed, %", 100 * removed)
            yield Measured(row, "TotalSD, millions", total / 1e6)


READINGS: Final[dict[str, tuple[Penalty, Paths, Clustering] | None]] = {
    "MDAV, no 1/p, shortest paths everywhere": ("none", "all", "mdav"),
    "greedy, no 1/p, shortest paths everywhere": ("none", "all", "greedy"),
    "MDAV, no 1/p, paths where disjoint": ("none", "disjoint", "mdav"),
    "MDAV, 1/p, shortest paths everywhere": ("inverse", "all", "mdav"),
    "greedy, Def. 12 as it stands": ("inverse", "disjoint", "greedy"),
    "clusters at random": None,
}


def readings(world: World) -> Iterator[Measured]:
    """Removed by each reading of distance and clustering: Table 4 at three R^s."""
    original = world.network()
    for name, reading in READINGS.items():
        for k, space in (*((k, MOST) for k in KS), (2, 899.0), (2, 257.0)):
            clusters = (
                _at_random(original, k, world.draw) if reading is None else _swap_clusters(world, k, *reading)
            )
            utility = _utility(world, _swapped(world, k, space, clusters))
            share = 1.0 if utility is None else utility.removed_locations
            yield Measured(name, f"R^s = {space:,.0f}, k = {k}, %", 100 * share)


def _at_random(original: Trajectories, k: int, draw: np.random.Generator) -> list[Integers]:
    lasting = np.flatnonzero(original.t[original.offsets[1:] - 1] > original.t[original.offsets[:-1]])
    return [np.sort(part) for part in np.array_split(draw.permutation(lasting), len(lasting) // k)]


_AT_MOST: Final = [f"R^s = 1,000,000, k = {k}, %" for k in KS]
_BELOW: Final = ["R^s = 899, k = 2, %", "R^s = 257, k = 2, %"]

EXPERIMENTS: Final = (
    Experiment(
        figure="table-1",
        title="Table 1: total space distortion of (k, delta)-anonymity, millions",
        function=distortion_of_walks,
        printed=table(_rows(_DISTORTION), [f"k = {k}" for k in KS]),
        note="TotalSD as Def. 3 has it, Omega = 0; own NWA, pi = 3 steps, delta the cylinder's radius.",
    ),
    Experiment(
        figure="table-2",
        title="Table 2: the R^s of SwapLocations with the distortion of Table 1",
        function=thresholds_of_swapping,
        printed=table(_rows(SWAP_R_S), [f"k = {k}" for k in KS]),
        note="Calibrated to our own Table 1, between 1 and 10^6.",
    ),
    Experiment(
        figure="table-3",
        title="Table 3: the R^s of ReachLocations with the distortion of Table 1",
        function=thresholds_of_reaching,
        printed=table(_rows(REACH_R_S), [f"k = {k}" for k in KS]),
        note="Calibrated to our own Table 1, between 1 and 10^6, in units of the map along the streets.",
    ),
    Experiment(
        figure="figure-3a",
        title="Fig. 3, top: TotalSD of SwapLocations less that of (k, delta)-anonymity, millions",
        function=partial(distortion_less_that_of_walks, method="swap"),
        note="The paper prints curves; in words nearly all below 0, SwapLocations far below.",
    ),
    Experiment(
        figure="figure-3b",
        title="Fig. 3, bottom: the same of ReachLocations, millions",
        function=partial(distortion_less_that_of_walks, method="reach"),
        note="The paper prints curves; in words nearly all below 0.",
    ),
    Experiment(
        figure="table-4",
        title="Table 4: removed by SwapLocations at the R^s of the paper's Table 2",
        function=removed_by_swapping,
        printed=table(_rows(_SWAP_REMOVED), _named("removed")),
        note="MDAV, shortest paths between any two trajectories, no 1/p.",
    ),
    Experiment(
        figure="table-5",
        title="Table 5: removed by ReachLocations at the R^s of the paper's Table 3",
        function=removed_by_reaching,
        printed=table(_rows(_REACH_REMOVED), _named("removed")),
        note="Reach of the leading trajectory alone, as the paper checks it.",
    ),
    Experiment(
        figure="least-sum",
        title="Alg. 4, line 8 (4): ReachLocations at k = 3 with the nearest points, and with the least sum",
        function=least_sums,
        note="Not in the paper, which says the least sum. At k = 2 both are the same set.",
    ),
    Experiment(
        figure="table-6",
        title="Table 6: SID and AID of (k, delta)-anonymity less those of SwapLocations",
        function=ranges_after_swapping,
        printed=table(_rows(_SWAP_RANGES), _named("ranges")),
    ),
    Experiment(
        figure="table-7",
        title="Table 7: SID and AID of (k, delta)-anonymity less those of ReachLocations",
        function=ranges_after_reaching,
        printed=table(_rows(_REACH_RANGES), _named("ranges")),
    ),
    Experiment(
        figure="figure-2",
        title="Fig. 2: removed, and total space distortion, against R^s (k = 10)",
        function=sweep,
        note="The paper prints curves; in words only that nothing changes above some R^s below 10^6.",
    ),
    Experiment(
        figure="readings",
        title="Table 4 by readings of the distance and the clustering: locations removed",
        function=readings,
        printed=table(dict.fromkeys(READINGS, (34, 58, 69, 75, 79, 84, 45, 62)), [*_AT_MOST, *_BELOW]),
        note="A reading must match the row at R^s = 10^6 and the two cells below it at once.",
    ),
)
