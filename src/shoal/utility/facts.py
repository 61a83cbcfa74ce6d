"""The facts of a release, each computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.k_gap import KGap, k_gaps, sample_for_k_gap
from shoal.measures.query import Estimate, Estimates, Region, Zones, people_in_each, people_in_zones
from shoal.measures.trips import Trips, count_trips
from shoal.model.grid import Grid
from shoal.model.linkage_checks import require_linked_records
from shoal.model.release import Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.runtime.run import Run
from shoal.units import states
from shoal.utility.accuracy import Accuracy, accuracy_of, covering_extents_of
from shoal.utility.points import PointUtility, space_distortion

KS: Final = (2, 5)
_AT_ONCE: Final = 1 << 18  # samples
_ZONES_ACROSS: Final = 16
_TUKEY: Final = 1.5  # interquartile ranges


@dataclass(frozen=True, kw_only=True)
class Value:
    """The result of one metric.

    low, high: the least and the greatest value that the boxes allow; None where the value is certain. raw,
    minimum, expected, maximum: the quantity itself, in the raw data and as the release lets it be estimated,
    where it is one number. drawn_low, drawn_high: the 95 % interval of the value, where only people drawn at
    random were asked; else None. baseline: the value of a guess without the release, where one exists.
    """

    value: float  # in the metric's unit; nan where it is unknown
    low: float | None = None
    high: float | None = None
    raw: float | None = None
    minimum: float | None = None
    expected: float | None = None
    maximum: float | None = None
    count: int | None = None  # the number of things a share counts, where the paper states the count
    drawn_low: float | None = None
    drawn_high: float | None = None
    baseline: float | None = None


class Facts:
    """Raw data (on the grid for boxes) and a release, with cached results."""

    def __init__(
        self,
        original: Trajectories,
        release: Release,
        linkage: Linkage,
        *,
        run: Run | None = None,
        gaps: Sequence[KGap] | None = None,
        exact: bool = False,
    ) -> None:
        self.original, self.release, self.linkage = original, release, linkage
        self.run = run or Run()
        self.exact = exact
        self.values: dict[str, Value] = {}
        self.records: Integers = require_linked_records(original, release, linkage)
        if gaps is not None:
            self.gaps = tuple(gaps)

    @property
    def both(self) -> tuple[Trajectories | Release, ...]:
        """Raw data and release, on two threads where there are two."""
        return self.original, self.release

    @cached_property
    def on_grid(self) -> "Facts":
        """On cells and slots: of 100 m and 60 s for points."""
        if self.release.payload.on_grid:
            return self
        snapped = self.original.snapped_to(Grid())
        boxes = self.release.as_boxes(snapped.snapped_grid())
        return Facts(snapped, boxes, self.linkage, run=self.run, exact=self.exact)

    def drop_on_grid(self) -> None:
        """Forget the points on a grid, which take twice the memory."""
        self.__dict__.pop("on_grid", None)

    @cached_property
    def gaps(self) -> tuple[KGap, ...]:
        """At k = 2, 5 and the claim's k; of many people drawn ones stand for all, unless exact."""
        raw = self.on_grid.original
        ks = [k for k in sorted({*KS, self.release.claim.k}) if 2 <= k <= raw.n_subjects]
        people = None if self.exact else sample_for_k_gap(raw.n_subjects)
        with self.run.stage("k-gaps"):
            return tuple(k_gaps(raw, ks, run=self.run, subjects=people))

    def extents_of(self, subjects: Integers | None = None) -> tuple[Integers, Integers]:
        """([m] cells, [m] slots) of the box over each sample; -1 = none."""
        if subjects is None:
            return covering_extents_of(self.original, self.release, self.records)
        return covering_extents_of(self.original.keep(subjects), self.release, self.records[subjects])

    @cached_property
    def _kept_and_lost(self) -> tuple[Accuracy, Flags]:
        """One pass over all extents, which are too large to cache."""
        with self.run.stage("accuracy"):
            return accuracy_of(self.original, self.release, self.records)

    @property
    def accuracy(self) -> Accuracy:
        """What the boxes keep of place and time."""
        return self._kept_and_lost[0]

    @cached_property
    def lost(self) -> Flags | None:
        """[m]: samples that the release lacks; None where the linkage cannot tell.

        Of boxes: no box of the person's record covers them. Of points: no point stands for them.
        """
        return self._kept_and_lost[1] if self.release.payload.on_grid else _without_a_point(self)

    @cached_property
    def distortion(self) -> PointUtility:
        """From raw samples to the person's published line; points alone."""
        return space_distortion(self.original, self.release, self.records)

    @cached_property
    def zones(self) -> Zones:
        """Square zones of whole cells, 16 on the longer side, over the raw samples that are no outliers.

        Outliers lie more than 1.5 interquartile ranges outside the quartiles (Tukey 1977).
        """
        grid = self.original.snapped_grid()
        (west, east), (south, north) = (
            _without_outliers(places) for places in (self.original.x, self.original.y)
        )
        side = -(-max(east - west + 1, north - south + 1) // _ZONES_ACROSS)
        return Zones.between((west, east + 1), (south, north + 1), grid.cell_m, side * grid.cell_m)

    @cached_property
    def guessed_shares(self) -> Floats:
        """[zones] shares of people that mean and covariance of the raw samples suggest: a normal density.

        A guess without any release would say this; it is the baseline of usefulness.
        """
        cell_m, zones = float(self.original.snapped_grid().cell_m), self.zones
        edges = zones.x_m, zones.y_m
        origin = np.array([[axis[0]] for axis in edges])
        n, total, squares = 0, np.zeros((2, 1)), np.zeros((2, 2))
        for begin in range(0, self.original.n_samples, _AT_ONCE):  # a copy of all would be the peak of memory
            part = slice(begin, begin + _AT_ONCE)
            places = np.stack([self.original.x[part], self.original.y[part]]) * cell_m - origin
            inside = ((places >= 0) & (places < [[axis[-1] - axis[0]] for axis in edges])).all(axis=0)
            places = places[:, inside]
            n, total = n + places.shape[1], total + places.sum(axis=1, keepdims=True)
            squares += places @ places.T
        spread = (squares - total @ total.T / n) / max(n - 1, 1) + np.eye(2) * cell_m**2
        columns, rows = np.meshgrid(*((axis[1:] + axis[:-1]) / 2 for axis in edges))
        away = np.stack([columns.ravel(), rows.ravel()]) - origin - total / n
        density = np.exp(-0.5 * (away * np.linalg.solve(spread, away)).sum(axis=0))
        return np.asarray(density / density.sum(), dtype=np.float64)

    @cached_property
    def trips(self) -> tuple[Trips, Trips]:
        """Trips between zones, of the raw data and of the release."""
        raw, released = self.run.map(lambda data: count_trips(data, self.zones), self.both)
        return raw, released

    @cached_property
    def visitors(self) -> tuple[Floats, Estimates]:
        """[zones] people, raw and as estimated."""
        true = people_in_zones(self.original, self.zones, self.run).expected
        return true, people_in_zones(self.release, self.zones, self.run)

    @cached_property
    def crowds(self) -> Integers:
        """int64 [records]: the crowd of each."""
        return crowds_of(self.release)

    @cached_property
    def range_counts(self) -> tuple[list[float], list[Estimate]]:
        """People in 200 random areas and intervals, raw and as estimated."""
        return ask(self.original, self.release, self.run)

    @cached_property
    def n_published(self) -> int:
        """People with a record."""
        return int(np.count_nonzero(self.records >= 0))

    def linked(self) -> list[tuple[int, Boxes]]:
        """(subject, boxes of the record) of all."""
        return [
            (subject, self.release.record(record))
            for subject, record in enumerate(self.records.tolist())
            if record >= 0
        ]


def crowds_of(release: Release) -> Integers:
    """int64 [records]: each record's crowd: those with the same boxes."""
    columns = list(map(np.ascontiguousarray, release.boxes.columns()))
    numbers: dict[bytes, int] = {}  # by digests: boxes themselves would fill the memory once more
    crowds = np.empty(release.n_records, dtype=np.int64)
    for record, (a, b) in enumerate(pairwise(release.offsets.tolist())):
        boxes = b"".join(column[a:b].data for column in columns)
        crowds[record] = numbers.setdefault(blake2b(boxes, digest_size=32).digest(), len(numbers))
    return crowds


def _without_outliers(places: Integers) -> tuple[int, int]:
    least, most = int(places.min()), int(places.max())
    kind = np.int32 if max(-least, most) <= np.iinfo(np.int32).max // 2 else np.int64
    low, high = np.quantile(places.astype(kind), (0.25, 0.75), overwrite_input=True)
    reach = _TUKEY * (high - low)
    inside = (places >= low - reach) & (places <= high + reach)
    return int(places.min(where=inside, initial=most)), int(places.max(where=inside, initial=least))


def _without_a_point(facts: Facts) -> Flags | None:
    """Swapping lists them in its trace; other methods know them while they run."""
    rows = facts.linkage.stands_for
    if rows is None and facts.linkage.trace is not None:
        rows = facts.linkage.trace.time_from
    if rows is None:
        return None
    published_rows = rows[rows >= 0]
    lost = np.ones(facts.original.n_samples, dtype=np.bool_)
    if len(rows) == facts.release.n_samples and published_rows.max(initial=0) < facts.original.n_samples:
        lost[published_rows] = False
    if not states(facts.release.losses.samples_suppressed, int(np.count_nonzero(lost))):
        raise MisuseError(
            "the linkage tells of other lost samples than the release counts; use the linkage that was made "
            "with this release"
        )
    return lost


_QUERIES: Final = 200
# The same questions to every release of the same data, so that figures can be compared.
_QUERY_SEED: Final = 20_889


def ask(original: Trajectories, release: Release, run: Run) -> tuple[list[float], list[Estimate]]:
    """[200] true answers (never 0) and estimates: queries around samples, 5 to 25 % of the extent wide."""
    rng = np.random.default_rng(_QUERY_SEED)
    grid = original.snapped_grid()
    side = max(int(np.ptp(original.x)), int(np.ptp(original.y)), 1)
    duration = max(int(np.ptp(original.t)), 1)
    regions = []
    for row in rng.integers(0, original.n_samples, _QUERIES):
        half, span = (max(1, int(extent * rng.uniform(0.05, 0.25) / 2)) for extent in (side, duration))
        t, x, y = int(original.t[row]), int(original.x[row]), int(original.y[row])
        regions.append(
            Region(
                x_min_m=(x - half) * grid.cell_m,
                x_max_m=(x + half + 1) * grid.cell_m,
                y_min_m=(y - half) * grid.cell_m,
                y_max_m=(y + half + 1) * grid.cell_m,
                t_start_s=(t - span) * grid.slot_s,
                t_end_s=(t + span + 1) * grid.slot_s,
            )
        )
    true = [estimate.expected for estimate in people_in_each(original, regions, run)]
    return true, people_in_each(release, regions, run)
