"""What is measured for the record of a release, and what of it a public page may show.

The rule: a public figure can be computed from the release folder alone, or speaks of at least ten people.
Where few people may stand behind a figure (by area, by hour), it is a share in steps of 5 %, so that no count
of single people comes back by subtraction. The counts behind the steps are for the private page.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from shoal.attacks.questions import TRIES, Answer, Assessment, assess_release
from shoal.attacks.rate import Rate
from shoal.report.facts.curves import LEAST_PEOPLE
from shoal.report.facts.omission import OmissionFrontier, made_with_omission, omission_frontier
from shoal.report.facts.release import ReleaseFacts, release_facts
from shoal.runtime.arrays import Floats
from shoal.runtime.memory import release_idle_memory
from shoal.utility import METRICS, Facts, Measurement, measure_facts
from shoal.utility.vanished import Presence, Vanished, vanished_of

STEPS: Final = 20  # of a share, so 5 % each
_PLACES_SHOWN: Final = 8


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Of how many people, in whole crowds, something was measured, and of how many they were drawn."""

    people: int
    of: int


class Evidence:
    """Everything that a record measures: facts, the three questions, utility, and who vanished.

    Each part is computed once, when it is first asked for.

    Parameters
    ----------
    facts
        The facts of the release.
    tries
        Victims of each attack; 0 = no attack is played.
    sampled
        Where the facts are those of a sample: of how many people.
    """

    def __init__(self, facts: Facts, *, tries: int = TRIES, sampled: Sampled | None = None) -> None:
        self.facts = facts
        self.sampled = sampled
        self._tries = tries

    def measure_exposure(self) -> None:
        """Measure the k-gaps, which take more memory than all else but the attacks, and give it back."""
        _ = self.facts.gaps
        release_idle_memory()

    def measure(self) -> None:
        """Measure all of it but the attacks, which take most memory."""
        _ = self.release_facts, self.vanished, self.omission, self.utility
        self.facts.drop_on_grid()

    @cached_property
    def release_facts(self) -> ReleaseFacts:
        """The numbers of the release and its original."""
        with self.facts.run.stage("facts of the release"):
            return release_facts(self.facts)

    @cached_property
    def assessment(self) -> Assessment | None:
        """The three questions, None when no attack is played."""
        facts = self.facts
        if not self._tries:
            return None
        with facts.run.stage("attacks"):
            return assess_release(
                facts.original, facts.release, facts.linkage, tries=self._tries, run=facts.run
            )

    @cached_property
    def utility(self) -> tuple[Measurement, ...]:
        """The metrics of a record of this payload, as far as they speak of at least ten people."""
        kind = self.facts.release.kind
        names = [name for name, metric in METRICS.items() if kind in metric.in_record_of]
        return tuple(
            one for one in measure_facts(self.facts, names) if self._people_behind(one) >= LEAST_PEOPLE
        )

    @cached_property
    def vanished(self) -> Vanished | None:
        """Where and when raw samples were lost; None where the linkage cannot tell."""
        with self.facts.run.stage("who vanished"):
            return vanished_of(self.facts)

    @cached_property
    def omission(self) -> OmissionFrontier | None:
        """What leaving samples out buys, where that was done; None for fewer than ten people."""
        if not made_with_omission(self.facts.release):
            return None
        with self.facts.run.stage("omission"):
            found = omission_frontier(self.facts)
        return found if found is not None and found.people >= LEAST_PEOPLE else None

    def _people_behind(self, one: Measurement) -> int:
        facts = self.facts if one.metric.as_given else self.facts.on_grid
        return facts.n_published if one.metric.people_behind is None else one.metric.people_behind(facts)


@dataclass(frozen=True, kw_only=True)
class VanishedPlace:
    """A zone: its middle in meters of the plane, the share lost in steps of 5 %, and the counts behind it."""

    east_m: float
    north_m: float
    share: float
    samples: int
    lost: int
    people: int
    losers: int


def may_be_shown(answer: Answer) -> bool:
    """Whether a rate speaks of at least ten people."""
    return min(answer.release.tries, answer.raw.tries) >= LEAST_PEOPLE


def strongest_shown(assessment: Assessment | None) -> Answer | None:
    """The strongest attack whose rate may be shown, None where there is none."""
    answers = () if assessment is None else assessment.strongest_first
    return next((answer for answer in answers if may_be_shown(answer)), None)


def rate_shown(assessment: Assessment | None) -> Rate | None:
    """How often that attack wins against the release."""
    strongest = strongest_shown(assessment)
    return None if strongest is None else strongest.release


def shown_shares(presence: Presence) -> Floats:
    """The share of raw samples lost in each place or hour, in steps of 5 %; nan below ten people."""
    shares = np.full(len(presence.samples), np.nan)
    enough = presence.people >= LEAST_PEOPLE
    shares[enough] = np.rint(STEPS * presence.lost[enough] / presence.samples[enough]) / STEPS
    return shares


def hidden_places(vanished: Vanished) -> int:
    """Zones that some people were in, but fewer than ten."""
    return int(np.count_nonzero((vanished.by_zone.people > 0) & np.isnan(shown_shares(vanished.by_zone))))


def places_that_lost_most(vanished: Vanished) -> list[VanishedPlace]:
    """Up to eight zones with at least ten people, the greatest shares first, none that rounds to 0."""
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
