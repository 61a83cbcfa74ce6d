"""METRICS, and ``measure``, which computes them."""

from collections.abc import Iterable
from functools import partial
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.model.argument_checks import require_linkage, require_release, require_trajectories
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.memory import release_idle_memory
from shoal.runtime.registry import Registry, RowKind
from shoal.runtime.run import Run
from shoal.utility import mobility, samples
from shoal.utility.facts import Facts, Value
from shoal.utility.measuring import Better, Measurement, Measurements, Metric, require_complete

_BOTH: Final = ("boxes", "points")
_GLOVE: Final = "Gramaglia and Fiore 2015, Sec. 7"
_SWAP: Final = "Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 3.2 and 7.1.4"


_of_shoal: Final = partial(Metric, source="docs/utility.md", unit="share")


def _of_distortion(name: str, key: str, better: Better, question: str, *, recorded: bool = True) -> Metric:
    """A figure of ``PointUtility``; key: its name there. A whole number counts raw samples."""

    def figure(facts: Facts) -> Value:
        number = getattr(facts.distortion, key)
        if isinstance(number, int):
            return Value(value=number / facts.original.n_samples, count=number)
        return Value(value=number)

    return Metric(
        name=name,
        question=question,
        unit="m" if key.endswith("_m") else "share",
        better=better,
        source=_SWAP,
        function=figure,
        takes=("points",),
        as_given=True,
        in_record_of=("points",) if recorded else (),
        key=key,
    )


_ROWS: Final = (
    _of_distortion(
        "total-distortion",
        "total_distortion_m",
        "lower",
        "distance of raw samples from their own person's record, all together",
    ),
    _of_distortion("mean-distortion", "mean_distortion_m", "lower", "the same on average"),
    _of_distortion(
        "times-defined", "defined", "higher", "raw samples at whose time their person's record has a place"
    ),
    _of_distortion(
        "same-time-distortion",
        "total_at_same_times_m",
        "lower",
        "distance from what the own person's record shows at that very time, all together",
        recorded=False,
    ),
    _of_distortion(
        "same-times",
        "at_same_times",
        "higher",
        "raw samples at whose very time their person's record has a point",
        recorded=False,
    ),
    _of_distortion("removed-trajectories", "removed_trajectories", "lower", "people without a record"),
    _of_distortion(
        "removed-locations", "removed_locations", "lower", "points fewer than raw samples (below zero: more)"
    ),
    _of_shoal(
        name="samples-covered",
        question="raw samples that a box covers",
        question_of_points="raw samples whose cell and slot their own person's record has",
        better="higher",
        function=samples.covered,
        in_record_of=("points",),
    ),
    Metric(
        name="samples-untouched",
        question="raw samples kept in their cell and slot",
        unit="share",
        better="higher",
        source=_GLOVE,
        function=samples.untouched,
    ),
    _of_shoal(
        name="samples-created",
        question="boxes without a sample of their person",
        question_of_points="published cells and slots without a sample of their record's person",
        better="lower",
        function=samples.created,
        in_record_of=("points",),
    ),
    _of_shoal(
        name="people-suppressed",
        question="people left out",
        better="lower",
        function=lambda facts: Value(value=float(np.mean(facts.records < 0))),
    ),
    Metric(
        name="extent-space",
        question="median dx + dy of a raw sample's box",
        unit="m",
        better="lower",
        source=_GLOVE,
        function=lambda facts: Value(value=facts.accuracy.raw.median_space_m),
    ),
    Metric(
        name="extent-time",
        question="median duration of a raw sample's box",
        unit="s",
        better="lower",
        source=_GLOVE,
        function=lambda facts: Value(value=facts.accuracy.raw.median_time_s),
    ),
    Metric(
        name="within-2km-2h",
        question="raw samples in boxes within 2 km and 2 h",
        unit="share",
        better="higher",
        source=_GLOVE,
        function=partial(samples.within, space_m=2000, time_s=7200),
    ),
    _of_shoal(
        name="extents-above-least",
        question="times the extents that any crowds of this size would have at least",
        unit="1",
        better="lower",
        function=samples.above_least,
        takes=("boxes",),
        in_record_of=("boxes",),
    ),
    _of_shoal(
        name="od-similarity",
        question="common part of trips from zone to zone",
        better="higher",
        function=mobility.od_similarity,
        in_record_of=_BOTH,
        people_behind=lambda facts: facts.trips[0].people,
    ),
    _of_shoal(
        name="presence-similarity",
        question="common part of people by zone and hour of the day",
        better="higher",
        function=mobility.presence_similarity,
        in_record_of=_BOTH,
    ),
    _of_shoal(
        name="within-1km-30min",
        question="raw samples in boxes within 1 km and 30 min",
        better="higher",
        function=partial(samples.within, space_m=1000, time_s=1800),
    ),
    _of_shoal(
        name="visits-correlation",
        question="rank correlation of visitors of zones",
        unit="1",
        better="higher",
        function=mobility.visits_correlation,
        in_record_of=("points",),
    ),
    _of_shoal(
        name="visits-error",
        question="visitors of zones that are wrong, of all",
        better="lower",
        function=mobility.visits_error,
        in_record_of=("points",),
    ),
    _of_shoal(
        name="range-error",
        question="mean relative error of range queries",
        better="lower",
        function=mobility.range_error,
        in_record_of=_BOTH,
    ),
    _of_shoal(
        name="range-bounded",
        question="range queries whose bounds hold the truth",
        question_of_points="range queries answered exactly",
        better="higher",
        function=mobility.range_bounded,
        in_record_of=_BOTH,
    ),
    _of_shoal(
        name="gyration-error",
        question="median error of the radius of gyration",
        unit="m",
        better="lower",
        function=mobility.gyration_error,
        in_record_of=("points",),
        people_behind=lambda facts: facts.n_published // 2,  # as many lie on either side of a median
    ),
    _of_shoal(
        name="trip-length-error",
        question="distance of the distributions of trips",
        unit="m",
        better="lower",
        function=mobility.trip_length_error,
        in_record_of=_BOTH,
        people_behind=lambda facts: int(np.count_nonzero(facts.original.lengths[facts.records >= 0] > 1)),
    ),
    _of_shoal(
        name="time-profile-error",
        question="samples in the wrong hour of day",
        better="lower",
        function=mobility.time_profile_error,
        in_record_of=_BOTH,
    ),
    _of_shoal(
        name="home-kept",
        question="people whose home lies in their likeliest area",
        better="higher",
        function=mobility.home_kept,
    ),
)
METRICS: Final[Registry[Metric]] = Registry(
    RowKind(word="metric", name_of=lambda row: row.name, check=require_complete), _ROWS
)


def register_metric(row: Metric, *, replace: bool = False) -> Metric:
    """Add a metric, for ``measure``, comparisons and the reports of releases.

    Parameters
    ----------
    row
        The metric with its words.
    replace
        Take the place of a metric that was registered before under this name.

    Returns
    -------
    Metric
        The same row.

    Raises
    ------
    MisuseError
        When the row is incomplete, or its name is taken.
    """
    METRICS.register(row, replace=replace)
    return row


def metrics_of_every_release() -> tuple[str, ...]:
    """Metrics that compare releases of boxes and of points."""
    return tuple(name for name, metric in METRICS.items() if set(metric.takes) == set(_BOTH))


@typed
def measure(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    names: Iterable[str] | None = None,
    *,
    run: Run | None = None,
) -> Measurements:
    """Measure what a release is still good for, compared with its raw data.

    Parameters
    ----------
    original
        The raw data: on the release's grid for boxes, as given for points.
    release
        A release of boxes or of points. Points are also measured on cells of 100 m and slots of 60 s.
    linkage
        Who became which record.
    names
        Names of METRICS; None = every metric that takes the payload.
    run
        Progress and threads.

    Returns
    -------
    Measurements
        A measurement for each metric, with ``to_json()`` as ``shoal measure --json`` prints it.

    Raises
    ------
    InputError
        When the three do not belong together.
    MisuseError
        For a name that is no metric, or a metric that does not take the payload.

    Examples
    --------
    >>> import shoal
    >>> from shoal.utility import measure
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> release, linkage = shoal.Glove(k=2).anonymize(calls, shoal.Randomness.for_research(1))
    >>> for measurement in measure(calls, release, linkage, ["samples-covered", "people-suppressed"]):
    ...     print(measurement.name, measurement.result.value)
    samples-covered 1.0
    people-suppressed 0.0
    """
    require_trajectories(original)
    require_release(release)
    require_linkage(linkage, needed=True)
    return measure_facts(Facts(original, release, linkage, run=run), names)


def measure_facts(facts: Facts, names: Iterable[str] | None = None) -> Measurements:
    """As ``measure``, of facts; what they computed before is not computed again."""
    kind = facts.release.kind
    suited = [name for name, metric in METRICS.items() if kind in metric.takes]
    chosen = suited if names is None else list(names)
    for name in chosen:
        if name not in METRICS:
            raise MisuseError(f"'{name}' is no metric; choose from {', '.join(suited)}")
        if name not in suited:
            raise MisuseError(f"'{name}' cannot be asked of {kind}; choose from {', '.join(suited)}")
    return Measurements(measurements=tuple(_measurement(facts, name) for name in chosen))


def _measurement(facts: Facts, name: str) -> Measurement:
    metric = METRICS[name]
    if name not in facts.values:
        with facts.run.stage(name):
            facts.values[name] = metric.function(facts if metric.as_given else facts.on_grid)
        release_idle_memory()
    return Measurement(metric=metric, result=facts.values[name])
