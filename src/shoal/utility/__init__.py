"""What a release is still good for.

One literal table of metrics, each with its unit and the direction that is better.
"""

from collections.abc import Iterable
from typing import Final

from shoal.errors import MisuseError
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.utility import mobility, places, samples
from shoal.utility.measuring import Measurement, Metric, Pair, Value

__all__ = ["METRICS", "Measurement", "Metric", "Value", "measure"]

METRICS: Final[dict[str, Metric]] = {
    "samples-covered": Metric(
        words="raw samples that a box covers", unit="share", better="higher", function=samples.covered
    ),
    "samples-untouched": Metric(
        words="raw samples kept in their cell and slot",
        unit="share",
        better="higher",
        function=samples.untouched,
    ),
    "samples-created": Metric(
        words="boxes without a sample of their person", unit="share", better="lower", function=samples.created
    ),
    "people-suppressed": Metric(
        words="people left out", unit="share", better="lower", function=samples.people_suppressed
    ),
    "extent-space": Metric(
        words="median dx + dy of a raw sample's box", unit="m", better="lower", function=samples.extent_space
    ),
    "extent-time": Metric(
        words="median duration of a raw sample's box", unit="s", better="lower", function=samples.extent_time
    ),
    "within-2km-2h": Metric(
        words="raw samples in boxes within 2 km and 2 h",
        unit="share",
        better="higher",
        function=samples.within,
    ),
    "od-similarity": Metric(
        words="common part of daily trips between zones",
        unit="share",
        better="higher",
        function=places.od_similarity,
    ),
    "visits-correlation": Metric(
        words="rank correlation of visitors of zones",
        unit="1",
        better="higher",
        function=places.visits_correlation,
    ),
    "visits-error": Metric(
        words="visitors of zones that are wrong, of all",
        unit="share",
        better="lower",
        function=places.visits_error,
    ),
    "range-error": Metric(
        words="mean relative error of range queries",
        unit="share",
        better="lower",
        function=places.range_error,
    ),
    "range-bounded": Metric(
        words="range queries whose bounds hold the truth",
        unit="share",
        better="higher",
        function=places.range_bounded,
    ),
    "gyration-error": Metric(
        words="median error of the radius of gyration",
        unit="m",
        better="lower",
        function=mobility.gyration_error,
    ),
    "trip-length-error": Metric(
        words="distance of the distributions of trips",
        unit="m",
        better="lower",
        function=mobility.trip_length_error,
    ),
    "time-profile-error": Metric(
        words="samples in the wrong hour of day",
        unit="share",
        better="lower",
        function=mobility.time_profile_error,
    ),
    "home-kept": Metric(
        words="people whose home lies in their likeliest area",
        unit="share",
        better="higher",
        function=mobility.home_kept,
    ),
}


def measure(
    original: Trajectories, release: Release, linkage: Linkage, names: Iterable[str] = METRICS
) -> list[Measurement]:
    """Every metric, or those named.

    Raises InputError when the parts do not belong together, MisuseError for an unknown name.
    """
    wanted = list(names)
    unknown = [name for name in wanted if name not in METRICS]
    if unknown:
        raise MisuseError(f"'{unknown[0]}' is no metric; choose from {', '.join(METRICS)}")
    pair = Pair(original, release, linkage)
    return [
        Measurement(name=name, metric=METRICS[name], found=METRICS[name].function(pair)) for name in wanted
    ]
