"""What is measured for the record of a release, and what of it a public page may show.

The rule: a public figure can be computed from the release folder alone, or speaks of at least ten people.
Where few people may stand behind a figure (by area, by hour), it is a share in steps of 5 %, so that no count
of single people comes back by subtraction. Counts behind the steps are for the private page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from shoal.attacks.questions import TRIES, Answer, Assessment, assess_release
from shoal.model.linked import records_of
from shoal.model.release import AnyRelease, Linkage, PointRelease, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.report.facts.curves import LEAST_PEOPLE
from shoal.runtime.arrays import Floats
from shoal.runtime.run import Run
from shoal.units import DAY_S
from shoal.utility import Measurement, measure
from shoal.utility.points import measure_points
from shoal.utility.vanished import Presence, Vanished, measure_vanished, measure_vanished_points

UTILITY: Final = ("od-similarity", "range-error", "range-bounded", "trip-length-error", "time-profile-error")
UTILITY_OF_POINTS: Final = (
    "samples-covered",
    "samples-created",
    "visits-correlation",
    "visits-error",
    "gyration-error",
    *UTILITY,
)
STEPS: Final = 20  # of a share, so 5 % each
_PLACES_SHOWN: Final = 8
_WORDS_OF_POINTS: Final = {  # a published point is a single cell and slot
    "samples-covered": "raw samples whose cell and slot their own person's record has",
    "samples-created": "published cells and slots without a sample of their record's person",
    "range-bounded": "range queries answered exactly",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """assessment: the three questions, None when they were not asked.

    utility: only what speaks of at least ten people.

    vanished: None of points whose linkage does not know which raw samples they stand for.
    """

    assessment: Assessment | None
    utility: tuple[Measurement, ...]
    vanished: Vanished | None


@dataclass(frozen=True, kw_only=True)
class VanishedPlace:
    """A zone: its middle in meters of the plane, the share of raw samples lost there in steps of 5 %, and the counts behind it."""

    east_m: float
    north_m: float
    share: float
    samples: int
    lost: int
    people: int
    losers: int


def gather_evidence(
    original: Trajectories,
    release: AnyRelease,
    linkage: Linkage,
    *,
    tries: int = TRIES,
    run: Run | None = None,
) -> Evidence:
    """Everything that the record measures. tries: victims for each attack, 0 = none is played.

    original: as given for a release of points, which is put on a grid of 100 m and 60 s where cells and slots
    count. Raises InputError when the parts do not belong together.
    """
    assessment = assess_release(original, release, linkage, tries=tries, run=run) if tries else None
    if isinstance(release, Release):
        shown = _of_enough(measure(original, release, linkage, UTILITY), original, release, linkage)
        return Evidence(
            assessment=assessment, utility=shown, vanished=measure_vanished(original, release, linkage)
        )
    snapped = original.snapped_to(Grid())
    return Evidence(
        assessment=assessment,
        utility=_of_enough(
            _utility_of_points(original, snapped, release, linkage), snapped, release, linkage
        ),
        vanished=measure_vanished_points(original, snapped, release, linkage),
    )


def _utility_of_points(
    original: Trajectories, snapped: Trajectories, release: PointRelease, linkage: Linkage
) -> list[Measurement]:
    """Of points as given, and of the same points on a grid, where what is said of boxes is said of cells and slots."""
    on_grid = measure(snapped, release.as_boxes(snapped.snapped_grid()), linkage, UTILITY_OF_POINTS)
    reworded = [
        replace(one, metric=replace(one.metric, words=_WORDS_OF_POINTS.get(one.name, one.metric.words)))
        for one in on_grid
    ]
    return [*measure_points(original, release, linkage).measurements(original.n_samples), *reworded]


def _of_enough(
    found: Sequence[Measurement], snapped: Trajectories, release: AnyRelease, linkage: Linkage
) -> tuple[Measurement, ...]:
    """Those that speak of at least ten people who are in the release.

    Trips of so many who make some, a median over people of twenty.
    """
    people = snapped.keep(np.flatnonzero(records_of(snapped, release, linkage) >= 0))
    person = np.repeat(np.arange(people.n_subjects), people.lengths)
    day = np.floor(people.t * people.snapped_grid().slot_s / DAY_S)
    moves, same_day = np.diff(person) == 0, np.diff(day) == 0
    behind = {
        "od-similarity": len(np.unique(person[1:][moves & same_day])),
        "trip-length-error": len(np.unique(person[1:][moves])),
        "gyration-error": people.n_subjects // 2,
    }
    return tuple(one for one in found if behind.get(one.name, people.n_subjects) >= LEAST_PEOPLE)


def may_be_shown(answer: Answer) -> bool:
    """Whether a rate speaks of at least ten people."""
    return min(answer.release.tries, answer.raw.tries) >= LEAST_PEOPLE


def shown_shares(presence: Presence) -> Floats:
    """The share of raw samples lost in each place or hour, in steps of 5 %.

    Nan where fewer than ten people were.
    """
    shares = np.full(len(presence.samples), np.nan)
    enough = presence.people >= LEAST_PEOPLE
    shares[enough] = np.rint(STEPS * presence.lost[enough] / presence.samples[enough]) / STEPS
    return shares


def hidden_places(vanished: Vanished) -> int:
    """Zones that some people were in, but fewer than ten."""
    return int(np.count_nonzero((vanished.by_zone.people > 0) & np.isnan(shown_shares(vanished.by_zone))))


def places_that_lost_most(vanished: Vanished) -> list[VanishedPlace]:
    """Up to eight zones with at least ten people, those with the greatest shares first.

    None where the share rounds to nothing.
    """
    shares, zones, presence = shown_shares(vanished.by_zone), vanished.zones, vanished.by_zone
    order = [z for z in np.argsort(-shares, kind="stable").tolist() if shares[z] > 0][:_PLACES_SHOWN]
    columns = len(zones.x_m) - 1
    return [
        VanishedPlace(
            east_m=float(zones.x_m[z % columns] + zones.x_m[z % columns + 1]) / 2,
            north_m=float(zones.y_m[z // columns] + zones.y_m[z // columns + 1]) / 2,
            share=float(shares[z]),
            samples=int(presence.samples[z]),
            lost=int(presence.lost[z]),
            people=int(presence.people[z]),
            losers=int(presence.losers[z]),
        )
        for z in order
    ]
