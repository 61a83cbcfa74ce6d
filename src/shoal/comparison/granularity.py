"""Trial releases for several values of one setting: tau of kte-hide, or the width of a grid of boxes.

The precision of kte-hide is that of Gramaglia et al. 2017, Fig. 6, 8 and 9. A grid must be so wide that its
lines hide the places at the sides of boxes.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.attacks.attacking import AttackScope, attack
from shoal.attacks.rate import Rate, TargetName
from shoal.comparison.advice import SEED, draw_sample
from shoal.errors import ClaimError, MisuseError, NothingLeftError, OutputError
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.methods.method import Method
from shoal.model.clocks import clock_of
from shoal.model.places import PublicPlaces
from shoal.model.population import require_people
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.writing import write_page
from shoal.report.pages.comparison import granularity_page
from shoal.runtime.arrays import Integers
from shoal.runtime.json_values import null_for_nan
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_m, show_s
from shoal.utility import Facts
from shoal.utility.accuracy import extents_of_samples
from shoal.verification import verify

TAUS_S: Final = (600.0, 1800.0, 3600.0, 7200.0, 14400.0)  # the paper's range
_FEWEST_SAMPLES: Final = 10  # of an hour of which means are shown


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Extents of raw samples' boxes, meters or seconds; nan of none."""

    mean: float
    quarter: float
    median: float
    three_quarters: float


@dataclass(frozen=True, kw_only=True)
class Hour:
    """An hour: raw samples, share suppressed, mean extents (nan = too few)."""

    hour: int
    samples: int
    suppressed: float
    mean_space_m: float
    mean_time_s: float


@dataclass(frozen=True, kw_only=True)
class Granularity:
    """One release: the share suppressed, and extents, also by hour."""

    tau_s: float
    suppressed: float
    space_m: Spread
    time_s: Spread
    by_hour: tuple[Hour, ...]


@dataclass(frozen=True, kw_only=True)
class GranularityStudy:
    """Releases for several tau = epsilon. failed: tau with the reason."""

    k: int
    people: int
    samples: int
    settings: tuple[Granularity, ...]
    failed: dict[str, str]
    time_zone: str  # of the hours

    def to_json(self) -> dict[str, Any]:
        """All figures; null where there are too few samples for one."""
        return dict(null_for_nan(asdict(self)))


def study_granularity(
    original: Trajectories, k: int, taus_s: Sequence[float], run: Run, page: Path | None = None
) -> GranularityStudy:
    """Make, verify and measure a release for each tau = epsilon."""
    if page is not None and page.exists():
        raise OutputError(f"{page} exists; choose another --output or remove it first")
    require_people(original.n_subjects, k)
    settings: list[Granularity] = []
    failed: dict[str, str] = {}
    taus = sorted(set(taus_s))
    for done, tau_s in enumerate(taus):
        run.progress("releases", done, len(taus))
        try:
            method = KteHide(k=k, tau_s=tau_s, epsilon_s=tau_s)
            release, linkage = method.anonymize(original, Randomness.from_system(), run)
        except (NothingLeftError, MisuseError) as error:
            failed[show_s(tau_s)] = str(error)
            continue
        verdict = verify(original, release, linkage)
        if not verdict.holds:
            raise ClaimError(f"the release for tau = {show_s(tau_s)} does not hold: {verdict.why_not}")
        settings.append(_granularity(original, release, linkage, tau_s))
    run.progress("releases", len(taus), len(taus))
    if not settings:
        raise MisuseError(
            "no tau gave a release: " + "; ".join(f"{tau}: {reason}" for tau, reason in failed.items())
        )
    study = GranularityStudy(
        k=k,
        people=original.n_subjects,
        samples=original.n_samples,
        settings=tuple(settings),
        failed=failed,
        time_zone=clock_of(original).zone,
    )
    if page is not None:
        write_page(granularity_page(study.to_json()), page)
    return study


def _granularity(original: Trajectories, release: Release, linkage: Linkage, tau_s: float) -> Granularity:
    grid = original.snapped_grid()
    space_cells, time_slots = extents_of_samples(original, release, linkage)
    covered = time_slots > 0
    hour_of = clock_of(original).hours(original.t * grid.slot_s)
    hours = []
    for hour in range(24):
        inside = hour_of == hour
        covered_in_hour = inside & covered
        enough = covered_in_hour.sum() >= _FEWEST_SAMPLES
        hours.append(
            Hour(
                hour=hour,
                samples=int(inside.sum()),
                suppressed=float((~covered[inside]).mean()) if inside.sum() >= _FEWEST_SAMPLES else math.nan,
                mean_space_m=float(space_cells[covered_in_hour].mean()) * grid.cell_m if enough else math.nan,
                mean_time_s=float(time_slots[covered_in_hour].mean()) * grid.slot_s if enough else math.nan,
            )
        )
    return Granularity(
        tau_s=tau_s,
        suppressed=float((~covered).mean()),
        space_m=_spread(space_cells[covered], grid.cell_m),
        time_s=_spread(time_slots[covered], grid.slot_s),
        by_hour=tuple(hours),
    )


def _spread(extents: Integers, unit: float) -> Spread:
    if not len(extents):
        return Spread(mean=math.nan, quarter=math.nan, median=math.nan, three_quarters=math.nan)
    low, middle, high = np.quantile(extents, [0.25, 0.5, 0.75], method="inverted_cdf") * unit
    return Spread(
        mean=float(extents.mean()) * unit,
        quarter=float(low),
        median=float(middle),
        three_quarters=float(high),
    )


WIDTHS_M: Final = (500, 1_000, 2_000, 4_000, 8_000)
_RELEASE: Final[tuple[TargetName, ...]] = ("release",)
MOST_ADVANTAGE: Final = 0.05
TRIES: Final = 200


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
            f"places names a true one in {self.reading.rate:.0%} of the boxes, and in "
            f"{self.reading.baseline:.0%} without their sides"
        )


def try_grids(people: Trajectories, method: Method, run: Run | None = None) -> Iterator[GridTrial]:
    """Trial releases of a sample of people, with wider grids up to the first that hides the sides of boxes.

    The reader knows every cell that is used and how busy it is, so at least as much as any public list of
    places or streets tells. MisuseError for a method without the parameter ``hull``.

    >>> import shoal
    >>> from shoal.comparison.granularity import try_grids
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
