"""METRICS, the one table of metrics, and ``measure``, which asks them of a release."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.measures.query import begins_a_day
from shoal.model.argument_checks import require_linkage, require_release, require_trajectories
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal.utility import distances, mobility, places, samples
from shoal.utility.facts import Facts
from shoal.utility.measuring import Measured, Measurement, Metric

_BOTH: Final = ("boxes", "points")
_GLOVE: Final = "Gramaglia and Fiore 2015, Sec. 7"
_SWAP: Final = "Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 3.2 and 7.1.4"
_SHOAL: Final = "docs/utility.md"


def _people_with_moves(facts: Facts) -> int:
    """How many published people have two samples."""
    return int(np.count_nonzero(facts.original.lengths[facts.records >= 0] > 1))


def _people_with_trips(facts: Facts) -> int:
    """How many published people have two samples in a row on one day (UTC)."""
    goes_on = ~begins_a_day(facts.original)
    has_trip = np.logical_or.reduceat(goes_on, facts.original.offsets[:-1])
    return int(np.count_nonzero(has_trip[facts.records >= 0]))


def _half_of_them(facts: Facts) -> int:
    """A median over people is the value of one of them: as many lie on either side."""
    return facts.n_published // 2


METRICS: Final[dict[str, Metric]] = {
    "total-distortion": Metric(
        question="distance of raw samples from their own person's record, all together",
        unit="m",
        better="lower",
        source=_SWAP,
        function=distances.total_distortion,
        takes=("points",),
        as_given=True,
        in_record_of=("points",),
        key="total_distortion_m",
    ),
    "mean-distortion": Metric(
        question="the same on average",
        unit="m",
        better="lower",
        source=_SWAP,
        function=distances.mean_distortion,
        takes=("points",),
        as_given=True,
        in_record_of=("points",),
        key="mean_distortion_m",
    ),
    "times-defined": Metric(
        question="raw samples at whose time their person's record has a place",
        unit="share",
        better="higher",
        source=_SWAP,
        function=distances.times_defined,
        takes=("points",),
        as_given=True,
        in_record_of=("points",),
        key="defined",
    ),
    "same-time-distortion": Metric(
        question="distance from what the own person's record shows at that very time, all together",
        unit="m",
        better="lower",
        source=_SWAP,
        function=distances.same_time_distortion,
        takes=("points",),
        as_given=True,
        key="total_at_same_times_m",
    ),
    "same-times": Metric(
        question="raw samples at whose very time their person's record has a point",
        unit="share",
        better="higher",
        source=_SWAP,
        function=distances.same_times,
        takes=("points",),
        as_given=True,
        key="at_same_times",
    ),
    "removed-trajectories": Metric(
        question="people without a record",
        unit="share",
        better="lower",
        source=_SWAP,
        function=distances.removed_trajectories,
        takes=("points",),
        as_given=True,
        in_record_of=("points",),
        key="removed_trajectories",
    ),
    "removed-locations": Metric(
        question="points fewer than raw samples (below zero: more)",
        unit="share",
        better="lower",
        source=_SWAP,
        function=distances.removed_locations,
        takes=("points",),
        as_given=True,
        in_record_of=("points",),
        key="removed_locations",
    ),
    "samples-covered": Metric(
        question="raw samples that a box covers",
        question_of_points="raw samples whose cell and slot their own person's record has",
        unit="share",
        better="higher",
        source=_SHOAL,
        function=samples.covered,
        in_record_of=("points",),
    ),
    "samples-untouched": Metric(
        question="raw samples kept in their cell and slot",
        unit="share",
        better="higher",
        source=_GLOVE,
        function=samples.untouched,
    ),
    "samples-created": Metric(
        question="boxes without a sample of their person",
        question_of_points="published cells and slots without a sample of their record's person",
        unit="share",
        better="lower",
        source=_SHOAL,
        function=samples.created,
        in_record_of=("points",),
    ),
    "people-suppressed": Metric(
        question="people left out",
        unit="share",
        better="lower",
        source=_SHOAL,
        function=samples.people_suppressed,
    ),
    "extent-space": Metric(
        question="median dx + dy of a raw sample's box",
        unit="m",
        better="lower",
        source=_GLOVE,
        function=samples.extent_space,
    ),
    "extent-time": Metric(
        question="median duration of a raw sample's box",
        unit="s",
        better="lower",
        source=_GLOVE,
        function=samples.extent_time,
    ),
    "within-2km-2h": Metric(
        question="raw samples in boxes within 2 km and 2 h",
        unit="share",
        better="higher",
        source=_GLOVE,
        function=samples.within,
    ),
    "extents-above-least": Metric(
        question="times the extents that any crowds of this size would have at least",
        unit="1",
        better="lower",
        source=_SHOAL,
        function=samples.above_least,
        takes=("boxes",),
        in_record_of=("boxes",),
    ),
    "od-similarity": Metric(
        question="common part of daily trips between zones",
        unit="share",
        better="higher",
        source=_SHOAL,
        function=places.od_similarity,
        in_record_of=_BOTH,
        people_behind=_people_with_trips,
    ),
    "visits-correlation": Metric(
        question="rank correlation of visitors of zones",
        unit="1",
        better="higher",
        source=_SHOAL,
        function=places.visits_correlation,
        in_record_of=("points",),
    ),
    "visits-error": Metric(
        question="visitors of zones that are wrong, of all",
        unit="share",
        better="lower",
        source=_SHOAL,
        function=places.visits_error,
        in_record_of=("points",),
    ),
    "range-error": Metric(
        question="mean relative error of range queries",
        unit="share",
        better="lower",
        source=_SHOAL,
        function=places.range_error,
        in_record_of=_BOTH,
    ),
    "range-bounded": Metric(
        question="range queries whose bounds hold the truth",
        question_of_points="range queries answered exactly",
        unit="share",
        better="higher",
        source=_SHOAL,
        function=places.range_bounded,
        in_record_of=_BOTH,
    ),
    "gyration-error": Metric(
        question="median error of the radius of gyration",
        unit="m",
        better="lower",
        source=_SHOAL,
        function=mobility.gyration_error,
        in_record_of=("points",),
        people_behind=_half_of_them,
    ),
    "trip-length-error": Metric(
        question="distance of the distributions of trips",
        unit="m",
        better="lower",
        source=_SHOAL,
        function=mobility.trip_length_error,
        in_record_of=_BOTH,
        people_behind=_people_with_moves,
    ),
    "time-profile-error": Metric(
        question="samples in the wrong hour of day",
        unit="share",
        better="lower",
        source=_SHOAL,
        function=mobility.time_profile_error,
        in_record_of=_BOTH,
    ),
    "home-kept": Metric(
        question="people whose home lies in their likeliest area",
        unit="share",
        better="higher",
        source=_SHOAL,
        function=mobility.home_kept,
    ),
}
OF_EVERY_RELEASE: Final = tuple(name for name, metric in METRICS.items() if set(metric.takes) == set(_BOTH))
"""The metrics by which releases of boxes and of points can be compared."""


def measure(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    names: Iterable[str] | None = None,
    *,
    run: Run | None = None,
) -> Measured:
    """Say what a release is still good for, compared with the raw data it was made from.

    Parameters
    ----------
    original
        The raw data: on the release's grid for boxes, as given for points.
    release
        A release of boxes or of points. Points are also measured on cells of 100 m and slots of 60 s.
    linkage
        Who became which record.
    names
        Names of METRICS; None asks every metric that takes the payload.
    run
        Where progress is reported and how many threads may work.

    Returns
    -------
    Measured
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
    >>> for one in measure(calls, release, linkage, ["samples-covered", "people-suppressed"]):
    ...     print(one.name, one.found.value)
    samples-covered 1.0
    people-suppressed 0.0
    """
    require_trajectories(original)
    require_release(release)
    require_linkage(linkage)
    if isinstance(names, str):
        raise MisuseError(f"names is a list; write ['{names}']")
    return measured(Facts(original, release, linkage, run=run), names)


def measured(facts: Facts, names: Iterable[str] | None = None) -> Measured:
    """The same from facts that are known already; raises MisuseError as ``measure`` does."""
    kind = facts.release.kind
    known = [name for name, metric in METRICS.items() if kind in metric.takes]
    wanted = known if names is None else list(names)
    for name in wanted:
        if name not in METRICS:
            raise MisuseError(f"'{name}' is no metric; choose from {', '.join(known)}")
        if name not in known:
            raise MisuseError(f"'{name}' cannot be asked of {kind}; choose from {', '.join(known)}")
    return Measured(measurements=tuple(_measurement(facts, name) for name in wanted))


def _measurement(facts: Facts, name: str) -> Measurement:
    """By this metric; computed once for the same facts."""
    if name not in facts.measurements:
        metric = METRICS[name]
        with facts.run.stage(name):
            found = metric.function(facts if metric.as_given else facts.on_grid)
        facts.measurements[name] = Measurement(name=name, metric=metric, found=found)
    return facts.measurements[name]
