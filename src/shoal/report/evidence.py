"""What is measured for the record of a release, and what of it a public page may show.

The rule: a public figure can be computed from the release folder alone, or speaks of at least ten people. Where few people may stand behind
a figure (by area, by hour), it is a share in steps of 5 %, so that no count of single people comes back by subtraction. Counts behind the
steps are for the private page.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.questions import TRIES, Answer, Assessment, assess_release
from shoal.release import Linkage, Release
from shoal.report.curves import LEAST_PEOPLE, Floats
from shoal.run import Run
from shoal.trajectories import Trajectories
from shoal.utility import Measurement, measure
from shoal.utility.vanished import Presence, Vanished, measure_vanished

UTILITY: Final = ("od-similarity", "range-error", "range-bounded", "trip-length-error", "time-profile-error")
STEPS: Final = 20  # of a share, so 5 % each
_PLACES_SHOWN: Final = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """assessment: the three questions, None when they were not asked."""

    assessment: Assessment | None
    utility: tuple[Measurement, ...]
    vanished: Vanished


@dataclass(frozen=True, kw_only=True)
class VanishedPlace:
    """A zone: its middle in metres of the plane, the share of raw samples lost there in steps of 5 %, and the counts behind it."""

    east_m: float
    north_m: float
    share: float
    samples: int
    lost: int
    people: int
    losers: int


def gather_evidence(original: Trajectories, release: Release, linkage: Linkage, *, tries: int = TRIES, run: Run | None = None) -> Evidence:
    """Everything that the record measures. tries: victims for each attack, 0 = none is played.

    Raises InputError when the parts do not belong together.
    """
    return Evidence(
        assessment=assess_release(original, release, linkage, tries=tries, run=run) if tries else None,
        utility=tuple(measure(original, release, linkage, UTILITY)),
        vanished=measure_vanished(original, release, linkage),
    )


def may_be_shown(answer: Answer) -> bool:
    """Whether a rate speaks of at least ten people."""
    return min(answer.release.tries, answer.raw.tries) >= LEAST_PEOPLE


def shown_shares(presence: Presence) -> Floats:
    """The share of raw samples lost in each place or hour, in steps of 5 %; nan where fewer than ten people were."""
    shares = np.full(len(presence.samples), np.nan)
    enough = presence.people >= LEAST_PEOPLE
    shares[enough] = np.rint(STEPS * presence.lost[enough] / presence.samples[enough]) / STEPS
    return shares


def hidden_places(vanished: Vanished) -> int:
    """Zones that some people were in, but fewer than ten."""
    return int(np.count_nonzero((vanished.by_zone.people > 0) & np.isnan(shown_shares(vanished.by_zone))))


def places_that_lost_most(vanished: Vanished) -> list[VanishedPlace]:
    """Up to eight zones with at least ten people, those with the greatest shares first; none where the share rounds to nothing."""
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
