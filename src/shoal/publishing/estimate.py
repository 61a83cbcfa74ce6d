"""Extents of a release of everyone, from GLOVE on samples; they fall with the number of people."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from shoal.methods.glove.glove import Glove
from shoal.model.argument_checks import require_trajectories
from shoal.model.linkage_checks import match_records
from shoal.model.trajectories import Trajectories
from shoal.report.facts.curves import LEAST_PEOPLE
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.files import null_for_nan
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import DAY_S, counted, measured_m, measured_s
from shoal.utility.accuracy import extents_of_samples
from shoal.utility.facts import crowds_of

LARGEST_SAMPLE: Final = 1_000  # people in trials that are attacked, too
_MOST_SAMPLES: Final = 150_000  # raw samples of them: GLOVE takes time with their square
_LARGEST_ESTIMATED: Final = 2_000  # people in samples that are only anonymized
_MOST_ESTIMATED: Final = 500_000  # raw samples of them
_FEWEST_CROWDS: Final = 16  # in a sample: its halves tell how medians fall
_SEED: Final = 43
_Z_975: Final = 1.96
_SLOWER: Final = 0.6  # the fall beyond the sample, of that between its halves and itself (docs/exposure.md)
_UNSURE: Final = 0.4  # that share may be so much larger or smaller


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
            few = "people" if self.sampled == self.people else "people in a sample"
            return f"Too few {few} to say what a release with k = {self.k} would be."
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

    GLOVE runs on a sample of up to 2,000 people and 500,000 raw samples, and on its halves. Medians fall from
    halves to the whole sample; beyond it they are taken to fall 0.6 times as fast in the logarithms of
    medians and people. Nothing is capped. Fewer people are all anonymized.

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
    return _most_people(original, k, LARGEST_SAMPLE, _MOST_SAMPLES)


def draw_people(original: Trajectories, size: int, seed: int) -> Integers:
    """So many at random; of single days those of some dates, since crowds are of days near in time."""
    n, rng = original.n_subjects, np.random.default_rng(seed)
    if not original.intake.reading.per_day:
        return rng.choice(n, size, replace=False)
    dates = original.t[original.offsets[:-1]] * original.snapped_grid().slot_s // DAY_S
    _, date = np.unique(dates, return_inverse=True)
    return np.lexsort((rng.random(n), rng.permutation(n)[date]))[:size]


def _most_people(original: Trajectories, k: int, people: int, samples: int) -> int:
    n = original.n_subjects
    quick = round(samples / original.n_samples * n)
    return min(n, people, max(quick, _FEWEST_CROWDS * k))


def _estimate(original: Trajectories, k: int, run: Run) -> ReleaseEstimate:
    n = original.n_subjects
    largest = _most_people(original, k, _LARGEST_ESTIMATED, _MOST_ESTIMATED)
    if n < max(k, LEAST_PEOPLE) or largest < min(n, _FEWEST_CROWDS * k):
        space = time = (math.nan,) * 3
    elif largest == n:
        space, time = ((median,) * 3 for median, _ in _medians(original, k, run))
    else:
        drawn = draw_people(original, largest, _SEED)
        samples = [original.keep(np.sort(part)) for part in (drawn, *np.array_split(drawn, 2))]
        whole, *halves = run.map(lambda some: _medians(some, k, Run(threads=1)), samples, label="samples")
        grid, cells = original.snapped_grid(), np.ptp(original.x) + np.ptp(original.y) + 2
        slots = np.ptp(original.t) + 1
        largest_extents = (float(cells) * grid.cell_m, float(slots) * grid.slot_s)  # no box is larger
        space, time = (
            np.minimum(_extrapolate(*whole[of], [half[of][0] for half in halves], n / largest), most).tolist()
            for of, most in enumerate(largest_extents)
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


def _medians(people: Trajectories, k: int, run: Run) -> list[tuple[float, float]]:
    """In meters and in seconds, each with the standard error of its logarithm."""
    release, linkage = Glove(k=k).anonymize(people, Randomness.for_research(_SEED), run)
    crowds = np.repeat(crowds_of(release)[match_records(people, release, linkage)], people.lengths)
    grid, extents = people.snapped_grid(), extents_of_samples(people, release, linkage)
    medians = [_median(of_samples, crowds) for of_samples in extents]
    return [(m * unit, error) for (m, error), unit in zip(medians, (grid.cell_m, grid.slot_s), strict=True)]


def _median(extents: Integers, crowds: Integers) -> tuple[float, float]:
    """The lower median, and the standard error of its logarithm if crowds were drawn (Woodruff 1952)."""
    median = np.quantile(extents, 0.5, method="inverted_cdf")
    below = extents <= median
    error = np.linalg.norm(np.bincount(crowds, below - below.mean())) / len(extents)  # of the share below it
    reach = min(_Z_975 * float(error), 0.5)
    low, high = np.quantile(extents, (0.5 - reach, 0.5 + reach), method="inverted_cdf")
    return float(median), math.log(high / low) / (2 * _Z_975)


def _extrapolate(whole: float, noise: float, halves: Sequence[float], times: float) -> Floats:
    """The median of so many times more people, and its prediction interval; noise: the whole's error."""
    doublings = math.log2(times)
    fall = math.log(whole) - float(np.log(halves).mean())  # of one doubling
    weight = _SLOWER * doublings
    error = noise * math.hypot(1 + weight, weight)  # the mean of two halves has the variance of the whole
    reach = math.hypot(_Z_975 * error, _UNSURE * fall * doublings)
    return np.exp(math.log(whole) + weight * fall + np.array([0, -reach, reach]))


def _two_digits(show: Callable[[float], str], value: float) -> str:
    return show(float(f"{value:.2g}"))
