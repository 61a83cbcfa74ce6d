"""Extents of a release of everyone, from GLOVE on samples; they fall as a power of the number of people."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from shoal.methods.glove.glove import Glove
from shoal.model.argument_checks import require_trajectories
from shoal.model.trajectories import Trajectories
from shoal.report.facts.curves import LEAST_PEOPLE
from shoal.runtime.arrays import Floats
from shoal.runtime.files import null_for_nan
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import counted, measured_m, measured_s
from shoal.utility.accuracy import measure_accuracy

LARGEST_SAMPLE: Final = 1_000  # people in the largest sample
_MOST_SAMPLES: Final = 150_000  # raw samples in it: GLOVE takes time with their square
_LEAST_CROWDS: Final = 4  # in the smallest sample
_DRAWS: Final = (4, 4, 2, 2, 1)  # of a quarter, a third, half, three quarters and all of the largest sample
_SHARES: Final = (0.25, 0.35, 0.5, 0.75, 1.0)
_SEED: Final = 43
_T_975: Final = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20)  # Student, freedom from 1


@dataclass(frozen=True, kw_only=True)
class ReleaseEstimate:
    """The extents that half of the raw samples would not exceed in a release by GLOVE.

    Medians of dx + dy in meters and of durations in seconds with 95 % intervals, which are those of the
    whole if everyone was anonymized; nan where the people are too few to say. sampled: people in the largest
    sample.
    """

    k: int
    space_m: float
    space_low_m: float
    space_high_m: float
    time_s: float
    time_low_s: float
    time_high_s: float
    sampled: int
    people: int

    def in_words(self) -> str:
        """The estimate in a sentence."""
        if math.isnan(self.space_m):
            return f"Too few people to say what a release with k = {self.k} would be."
        known = (
            f"A release by glove with k = {self.k} would tell half of the samples to about "
            f"{_two_digits(measured_m, self.space_m)} and {_two_digits(measured_s, self.time_s)}"
        )
        if self.sampled == self.people:
            return f"{known}."
        return (
            f"{known} ({_two_digits(measured_m, self.space_low_m)} to "
            f"{_two_digits(measured_m, self.space_high_m)}, {_two_digits(measured_s, self.time_low_s)} to "
            f"{_two_digits(measured_s, self.time_high_s)}; from samples of up to "
            f"{counted(self.sampled, 'person', 'people')})."
        )

    def to_json(self) -> dict[str, Any]:
        """All fields; null for unknown ones."""
        return dict(null_for_nan(asdict(self)))


def estimate_releases(
    original: Trajectories, ks: Sequence[int], run: Run | None = None
) -> list[ReleaseEstimate]:
    """Estimate the extents of a release of everyone by GLOVE with its default settings.

    GLOVE runs on samples of up to 1,000 people and 150,000 raw samples; a line through the logarithms of
    medians and sizes gives the medians of everyone. Nothing is capped. Fewer people are all anonymized.

    >>> import shoal
    >>> from shoal.publishing.estimate import estimate_releases
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> [estimate.sampled for estimate in estimate_releases(calls, [2])]
    [40]
    """
    require_trajectories(original)
    return [_estimate(original, k, run or Run()) for k in ks]


def size_of_sample(original: Trajectories, k: int) -> int:
    """The number of people on whom GLOVE is tried: enough to judge crowds of k, few enough to be quick."""
    n = original.n_subjects
    quick = round(_MOST_SAMPLES / original.n_samples * n)
    return min(n, LARGEST_SAMPLE, max(quick, 4 * _LEAST_CROWDS * k))


def _estimate(original: Trajectories, k: int, run: Run) -> ReleaseEstimate:
    n = original.n_subjects
    largest = size_of_sample(original, k)
    rng = np.random.default_rng(_SEED)
    shares = [
        (share, draws)
        for share, draws in zip(_SHARES, _DRAWS, strict=True)
        if share * largest >= _LEAST_CROWDS * k
    ]
    if n < max(k, LEAST_PEOPLE) or not (shares or largest == n):
        nothing = dict.fromkeys(
            ("space_m", "space_low_m", "space_high_m", "time_s", "time_low_s", "time_high_s"), math.nan
        )
        return ReleaseEstimate(k=k, sampled=largest, people=n, **nothing)
    if largest == n:
        space, time = ((median,) * 3 for median in _medians(original, k, run))
    else:
        sizes = [round(share * largest) for share, draws in shares for _ in range(draws)]
        medians = np.array(
            [_medians(original.keep(np.sort(rng.choice(n, size, replace=False))), k, run) for size in sizes]
        )
        grid, cells = original.snapped_grid(), np.ptp(original.x) + np.ptp(original.y) + 2
        slots = np.ptp(original.t) + 1
        largest_extents = (float(cells) * grid.cell_m, float(slots) * grid.slot_s)  # no box is larger
        space, time = (
            np.minimum(_extrapolate(np.array(sizes), medians[:, column], n), most).tolist()
            for column, most in enumerate(largest_extents)
        )
    return ReleaseEstimate(
        k=k,
        space_m=space[0],
        space_low_m=space[1],
        space_high_m=space[2],
        time_s=time[0],
        time_low_s=time[1],
        time_high_s=time[2],
        sampled=largest,
        people=n,
    )


def _medians(people: Trajectories, k: int, run: Run) -> tuple[float, float]:
    released = Glove(k=k).anonymize(people, Randomness.for_research(_SEED), run)
    extents = measure_accuracy(people, *released).raw
    return extents.median_space_m, extents.median_time_s


def _extrapolate(sizes: Floats, medians: Floats, n: int) -> tuple[float, float, float]:
    """The median of n people and its prediction interval, from a line through the logarithms."""
    x, y = np.log(sizes), np.log(medians)
    freedom = len(x) - 2
    slope, level = np.polyfit(x, y, 1)
    rest = y - (slope * x + level)
    away = (math.log(n) - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    error = math.sqrt((rest**2).sum() / freedom * (1 + 1 / len(x) + away))
    middle, reach = slope * math.log(n) + level, _T_975[min(freedom, len(_T_975)) - 1] * error
    return float(np.exp(middle)), float(np.exp(middle - reach)), float(np.exp(middle + reach))


def _two_digits(show: Callable[[float], str], value: float) -> str:
    return show(float(f"{value:.2g}"))
