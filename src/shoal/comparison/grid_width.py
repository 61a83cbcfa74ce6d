"""Trial releases with wider grids: lines so far apart that they hide the places at the sides of boxes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from shoal.attacks.attacking import AttackScope, attack
from shoal.attacks.questions import TRIES
from shoal.attacks.rate import Rate, TargetName
from shoal.comparison.advice import SEED, draw_sample
from shoal.errors import MisuseError
from shoal.methods.method import Method
from shoal.model.places import PublicPlaces
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import percent, show_m
from shoal.utility import Facts

WIDTHS_M: Final = (500, 1_000, 2_000, 4_000, 8_000)
_RELEASE: Final[tuple[TargetName, ...]] = ("release",)
MOST_ADVANTAGE: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class GridTrial:
    """A trial release with boxes on a grid, and the median of dx + dy of its boxes.

    reading: how often the reader of all boxes names a place where somebody of the crowd was; ``baseline``:
    by the best guess that reads no side.
    """

    width_m: float
    space_m: float
    reading: Rate

    @property
    def hides(self) -> bool:
        """Whether reading the sides gains less than 5 points over guessing."""
        return self.reading.rate - self.reading.baseline < MOST_ADVANTAGE

    def line(self) -> str:
        """For a terminal."""
        return (
            f"grid:{self.width_m:g}m: half of the samples within {show_m(self.space_m)}; one who knows all "
            f"places names a true one in {percent(self.reading.rate, 0)} of the boxes, and in "
            f"{percent(self.reading.baseline, 0)} without their sides"
        )


def try_grids(people: Trajectories, method: Method, run: Run | None = None) -> Iterator[GridTrial]:
    """Trial releases of a sample of people, with wider grids up to the first that hides the sides of boxes.

    The reader knows every cell that is used and how busy it is, so at least as much as any public list of
    places or streets tells. MisuseError for a method without the parameter ``hull``.

    >>> import shoal
    >>> from shoal.comparison.grid_width import try_grids
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> [trial.width_m for trial in try_grids(calls, shoal.Glove(k=2))][0]
    500
    """
    if not hasattr(method, "hull"):
        raise MisuseError(f"{method.about.name} has no boxes on a grid; leave out --hull")
    run, cell_m = run or Run(), people.snapped_grid().cell_m
    sample = draw_sample(people, getattr(method, "k", 2))
    used = np.unique(np.column_stack([people.x, people.y]), axis=0)
    places = PublicPlaces(x=(used[:, 0] + 0.5) * cell_m, y=(used[:, 1] + 0.5) * cell_m)
    for width_m in WIDTHS_M:
        if width_m % cell_m:
            continue
        changed: Any = replace(method, hull=f"grid:{width_m}m")
        release, linkage = changed.anonymize(sample, Randomness.for_research(SEED), run)
        scope = AttackScope(targets=_RELEASE, places=places)
        rng = Randomness.for_research(SEED)
        result = attack(
            sample, release, linkage, knowledge=["downcoding"], rng=rng, tries=TRIES, scope=scope, run=run
        )
        (reading,) = (rate for rate in result.rates if rate.name == "downcoding-place")
        space_m = Facts(sample, release, linkage, run=run).accuracy.raw.median_space_m
        trial = GridTrial(width_m=width_m, space_m=space_m, reading=reading)
        yield trial
        if trial.hides:
            return


def choose_grid(people: Trajectories, method: Method, run: Run, show: Callable[[str], None]) -> Method:
    """The method with the narrowest grid that hides the sides of boxes; each trial is shown.

    MisuseError for a method without boxes, or where no grid hides them.
    """
    for trial in try_grids(people, method, run):
        show(trial.line())
        if trial.hides:
            return replace(method, hull=f"grid:{trial.width_m:g}m")
    raise MisuseError(
        f"no grid of up to {show_m(WIDTHS_M[-1])} hides the sides of boxes here: places are few, as base "
        f"stations are. Give their public list with --places FILE, and take --hull leaves:10"
    )
