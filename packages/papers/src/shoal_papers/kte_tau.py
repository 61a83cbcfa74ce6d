"""Fig. 6 to 9 of Gramaglia et al. 2017."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from shoal.errors import NothingLeftError
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.model.clocks import clock_of
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.synthetic.stations import Layout
from shoal.units import show_s
from shoal.utility.accuracy import extents_of_samples
from shoal_papers.data import World
from shoal_papers.experiment import Experiment, Measured

TAUS_S: Final = (600.0, 1800.0, 3600.0, 7200.0, 14400.0)
CITIES: Final[tuple[Layout, ...]] = ("abi", "dak", "shn")
NATIONS: Final[tuple[Layout, ...]] = ("civ", "sen")
_LONGEST_SHN_S: Final = 3600.0  # its single day is too short for more, as the paper says
_SMALL_DAYS: Final = 3


def _days(world: World, layout: Layout) -> int:
    few = min(_SMALL_DAYS, world.size.days)
    return 1 if layout == "shn" else world.size.days if world.size.thin == 1 else few


def _taus(world: World) -> tuple[float, ...]:
    return TAUS_S if world.size.thin == 1 else TAUS_S[1::2]


def _released(world: World, original: Trajectories, method: KteHide) -> tuple[Release, Linkage] | None:
    """None where no one can be hidden."""
    try:
        return method.anonymize(original, Randomness.for_research(world.seed), world.run)
    except NothingLeftError:
        return None


def _extents(
    original: Trajectories, released: tuple[Release, Linkage]
) -> tuple[Integers, Integers, np.ndarray]:
    """In cells and slots, and which samples were published."""
    space, time = extents_of_samples(original, *released)
    return space, time, time > 0


def _row(row: str, original: Trajectories, released: tuple[Release, Linkage] | None) -> Iterator[Measured]:
    if released is None:
        yield Measured(row, "suppressed, %", 100.0)
        return
    grid = original.snapped_grid()
    space, time, published = _extents(original, released)
    yield Measured(row, "suppressed, %", 100 * float((~published).mean()))
    if not published.any():
        return
    for name, values, unit in (("km", space, grid.cell_m / 1000), ("min", time, grid.slot_s / 60)):
        low, middle, high = np.quantile(values[published], (0.25, 0.5, 0.75)) * unit
        yield Measured(row, f"median, {name}", float(middle))
        yield Measured(row, f"quartile, {name}", float(low))
        yield Measured(row, f"upper quartile, {name}", float(high))
        yield Measured(row, f"mean, {name}", float(values[published].mean()) * unit)


def against_tau(world: World, layouts: tuple[Layout, ...]) -> Iterator[Measured]:
    """Fig. 6 to 8: k = 2, tau = epsilon."""
    for layout in layouts:
        original = world.people(layout, days=_days(world, layout))
        for tau_s in _taus(world):
            if layout == "shn" and tau_s > _LONGEST_SHN_S:
                continue
            released = _released(world, original, KteHide(k=2, tau_s=tau_s, epsilon_s=tau_s))
            yield from _row(f"{layout}, tau {show_s(tau_s)}", original, released)


def by_clusters(world: World) -> Iterator[Measured]:
    """Fig. 8 with the paper's clusters, greedy cycles and cost."""
    original = world.people("abi", days=min(_SMALL_DAYS, world.size.days))
    plain = KteHide(k=2, tau_s=1800, epsilon_s=1800, hiding="clusters", space_weight_s=0)
    for name, method in (
        ("clusters as large as shoal's rule says", plain),
        ("clusters three times larger", replace(plain, cluster_size=3 * _ruled_size(original, plain))),
        ("greedy cycles", replace(plain, assignment="cycles")),
        ("k-means before the spectral step", replace(plain, clustering_by="kasp")),
        ("neighbors, least cost (shoal's default)", KteHide(k=2, tau_s=1800, epsilon_s=1800)),
    ):
        yield from _row(name, original, _released(world, original, method))


def _ruled_size(original: Trajectories, method: KteHide) -> int:
    from shoal.methods.kte_hide.hiding_sets import cut_into_epochs
    from shoal.methods.kte_hide.spectral import cluster_size

    slots = round(method.epsilon_s / original.snapped_grid().slot_s)
    return cluster_size(cut_into_epochs(original, slots, 2), method.k)


def trade_off(world: World) -> Iterator[Measured]:
    """Settings beyond the paper: epsilon below tau, and k above 2."""
    original = world.people("abi", days=min(_SMALL_DAYS, world.size.days))
    for k in (2, 3):
        for tau_s, epsilon_s in ((3600.0, 3600.0), (3600.0, 1800.0), (3600.0, 900.0)):
            row = f"k = {k}, tau {show_s(tau_s)}, epsilon {show_s(epsilon_s)}"
            released = _released(world, original, KteHide(k=k, tau_s=tau_s, epsilon_s=epsilon_s))
            yield from _row(row, original, released)


def over_a_week(world: World) -> Iterator[Measured]:
    """Fig. 9: tau = 30 min, by the hours of the local clock."""
    for layout in ("abi", "dak"):
        original = world.people(layout, days=min(7 if world.size.thin == 1 else _SMALL_DAYS, world.size.days))
        grid = original.snapped_grid()
        released = _released(world, original, KteHide(k=2, tau_s=1800, epsilon_s=1800))
        if released is None:
            continue
        space, time, published = _extents(original, released)
        hour = clock_of(original).hours(original.t * grid.slot_s)
        for name, first, last in (
            ("0 to 6 h", 0, 6),
            ("6 to 12 h", 6, 12),
            ("12 to 18 h", 12, 18),
            ("18 to 24 h", 18, 24),
        ):
            inside = (hour >= first) & (hour < last)
            counted, row = inside & published, f"{layout}, {name}"
            if inside.any():
                yield Measured(row, "suppressed, %", 100 * float((~published[inside]).mean()))
            if counted.any():
                yield Measured(row, "mean, km", float(space[counted].mean()) * grid.cell_m / 1000)
                yield Measured(row, "mean, min", float(time[counted].mean()) * grid.slot_s / 60)


def _printed(
    layouts: tuple[Layout, ...], suppressed: tuple[float, float]
) -> dict[tuple[str, str], tuple[float, float]]:
    rows = [
        f"{layout}, tau {show_s(tau)}"
        for layout in layouts
        for tau in TAUS_S
        if layout != "shn" or tau <= _LONGEST_SHN_S
    ]
    return {
        (row, column): value
        for row in rows
        for column, value in (("median, km", (1, 3)), ("median, min", (0, 45)), ("suppressed, %", suppressed))
    }


EXPERIMENTS: Final = (
    Experiment(
        figure="figure-6",
        title="Fig. 6 and 8: granularity and suppression against tau in cities (k = 2, epsilon = tau)",
        function=lambda world: against_tau(world, CITIES),
        printed=_printed(CITIES, (0, 10)),
        note="The paper prints curves; in words medians of 1 to 3 km, below 45 min, below 10 % suppressed.",
    ),
    Experiment(
        figure="figure-7",
        title="Fig. 7 and 8: granularity and suppression against tau in nations (k = 2, epsilon = tau)",
        function=lambda world: against_tau(world, NATIONS),
        printed=_printed(NATIONS, (1, 7)),
        note="In words: medians comparable to those of cities, and 1 to 7 % suppressed.",
    ),
    Experiment(
        figure="figure-8",
        title="Fig. 8 by readings of Alg. 2: suppression with clusters and with neighbors (abi, tau 30 min)",
        function=by_clusters,
        printed={("clusters as large as shoal's rule says", "suppressed, %"): (1, 7)},
        note="The paper says neither how many clusters there are nor how cycles are built at what cost.",
    ),
    Experiment(
        figure="figure-9",
        title="Fig. 9: granularity and suppression over the hours of the local clock (tau 30 min)",
        function=over_a_week,
        note="In words: finer by day than by night in space, and most suppressed from midnight to morning.",
    ),
    Experiment(
        figure="trade-off",
        title="Not in the paper: epsilon below tau, and k = 3 (abi)",
        function=trade_off,
    ),
)
