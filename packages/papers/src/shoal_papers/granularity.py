"""The precision of kte-hide for several tau, as in Gramaglia et al. 2017, Fig. 6, 8 and 9."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.errors import ClaimError, MisuseError, NothingLeftError, OutputError
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.model.argument_checks import require_people
from shoal.model.clocks import clock_of
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.writing import write_page
from shoal.report.figures import axes
from shoal.report.figures.axes import Axis
from shoal.report.figures.drawing import Drawing, Line
from shoal.report.pages.frame import page
from shoal.runtime.arrays import Integers
from shoal.runtime.files import null_for_nan
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_s
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
    original: Trajectories, k: int, taus_s: Sequence[float], run: Run, page_file: Path | None = None
) -> GranularityStudy:
    """Make, verify and measure a release for each tau = epsilon."""
    if page_file is not None and page_file.exists():
        raise OutputError(f"{page_file} exists; choose another --output or remove it first")
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
    if page_file is not None:
        write_page(granularity_page(study.to_json()), page_file)
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


_SPREADS: Final = (
    ("three_quarters", "three quarters"),
    ("mean", "mean"),
    ("median", "median"),
    ("quarter", "a quarter"),
)


def granularity_page(study: Mapping[str, Any]) -> str:
    """The page of a study (JSON)."""
    settings = study["settings"]
    drawings = {
        "space": _against_tau(settings, "space_m", "dx + dy", "m"),
        "time": _against_tau(settings, "time_s", "duration", "s"),
        "suppressed": _suppressed(settings),
        "hour-space": _by_hour(study, "mean_space_m", "mean dx + dy", "m"),
        "hour-time": _by_hour(study, "mean_time_s", "mean duration", "s"),
        "hour-suppressed": _by_hour(study, "suppressed", "samples suppressed", "share"),
    }
    return page("granularity.html.j2", drawings, package="shoal_papers", found=study, settings=settings)


def _against_tau(settings: Sequence[Mapping[str, Any]], name: str, title: str, unit: str) -> Drawing:
    """Mean, median and quartiles (Fig. 6)."""
    lines = [
        Line(
            name=words,
            x=range(len(settings)),
            y=[setting[name][part] for setting in settings],
            number=number,
            marked=True,
        )
        for number, (part, words) in enumerate(_SPREADS)
    ]
    return _drawing(axes.of_names("tau = epsilon", _taus(settings)), title, unit, lines)


def _suppressed(settings: Sequence[Mapping[str, Any]]) -> Drawing:
    """Fig. 8."""
    shares = [setting["suppressed"] for setting in settings]
    lines = [Line(name="suppressed", x=range(len(settings)), y=shares, number=0, marked=True)]
    return _drawing(axes.of_names("tau = epsilon", _taus(settings)), "samples suppressed", "share", lines)


def _by_hour(study: Mapping[str, Any], name: str, title: str, unit: str) -> Drawing:
    """Fig. 9."""
    lines = [
        Line(
            name=show_s(setting["tau_s"]),
            x=[hour["hour"] for hour in setting["by_hour"]],
            y=[hour[name] for hour in setting["by_hour"]],
            number=number,
        )
        for number, setting in enumerate(study["settings"])
    ]
    return _drawing(axes.of_hours(f"hour of the day ({study['time_zone']})"), title, unit, lines)


def _drawing(x: Axis, title: str, unit: str, lines: Sequence[Line]) -> Drawing:
    y = axes.from_zero(title, [value for line in lines for value in line.y], unit=unit)
    return Drawing(x=x, y=y, layers=lines, legend=len(lines) > 1, numbers="each")


def _taus(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    return [show_s(setting["tau_s"]) for setting in settings]
