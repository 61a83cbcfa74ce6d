"""Measurements for a record, and the part that a public page may show.

A public figure can be computed from the release folder alone, or speaks of at least ten people. Where few
people may account for a figure (by area, by hour), it is a share in steps of 5 %, so that subtraction
reveals no count of single people. Counts are for the private page.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from shoal.attacks.attacking import LEAST_ON_STREETS, places_known
from shoal.attacks.place_lists import on_streets, positions_repeat
from shoal.attacks.questions import TRIES, Answer, Assessment, assess_release
from shoal.attacks.rate import Rate
from shoal.errors import MisuseError
from shoal.kernels.box_measures import grow_to_leaves
from shoal.measures.leaves import hull_of_leaves, part_places
from shoal.messages import Message, join, say
from shoal.model.claims.hull import parse_hull
from shoal.model.release import Boxes
from shoal.model.streets import StreetGraph
from shoal.report.facts.curves import LEAST_PEOPLE
from shoal.report.facts.omission import (
    OmissionFrontier,
    made_with_omission,
    omission_frontier,
    people_by_crowd,
)
from shoal.report.facts.release import ReleaseFacts, release_facts
from shoal.report.words.numbers import meters
from shoal.runtime.arrays import Floats, Integers, rows_of
from shoal.runtime.memory import release_idle_memory
from shoal.units import percent
from shoal.utility import METRICS, Facts, Measurement, measure_facts
from shoal.utility.measuring import people_behind
from shoal.utility.usefulness import Usefulness, usefulness_of
from shoal.utility.vanished import Presence, Vanished, vanished_of

PUBLIC_K: Final = 11  # precedents of public data ask for it: El Emam 2013, doi:10.1201/b14764
PLACES: Final = 10  # in each of the leaves whose cost is measured
READER: Final = "downcoding-place"
_MOST: Final = 0.05  # that a reader may gain over a blind guess before boxes tell places


def hour_cautions(notes: Sequence[str]) -> tuple[str, ...]:
    """What the reader noted if hours of the day are those of UTC, far from where the data is."""
    hours = ("reading.hours", "reading.hours_naive")
    return tuple(note for note in notes if getattr(note, "identifier", "") in hours)


def station_cautions(facts: Facts, rate: Mapping[str, Any] | None) -> tuple[Message, ...]:
    """What to know before boxes are published that are drawn around few public places.

    rate: of READER against the release, as in ``shoal attack --json``; None where it was not measured.
    """
    original, hull = facts.original, facts.release.claim.hull
    if original.grid is None or hull is None or parse_hull(hull).leaf_places:
        return ()
    if places_known(original) is None:
        text = (
            "Positions repeat as those of base stations do, and no list of places was given. With a public "
            "list, an attacker reads more out of boxes than these attacks do; how much was not measured."
        )
        return (say("stations.no_list", text),) if positions_repeat(original) else ()
    if rate is None or rate["rate"] - rate["baseline"] <= _MOST:
        return ()
    text = (
        "Boxes tell exact stations: a reader of all boxes with the list of places names one where a member "
        "of the crowd was in {rate} of the boxes, and a blind guess with the same list in {guess}."
    )
    told = say("stations.told", text, rate=percent(rate["rate"]), guess=percent(rate["baseline"]))
    now_m, leaves_m = extents_with_leaves(facts)
    if math.isnan(leaves_m):
        return (told,)
    text = (
        "Boxes of whole leaves (--leaves {places}) do not show which place of a leaf it was. Around these "
        "crowds they would extend {leaves} on average (dx + dy) instead of {now}."
    )
    cost = say("stations.cost", text, places=PLACES, leaves=meters(leaves_m), now=meters(now_m))
    return (join(told, cost),)


def extents_with_leaves(facts: Facts) -> tuple[float, float]:
    """Mean dx + dy of the boxes in meters, as published and around leaves; nan where leaves cannot be."""
    original, release = facts.original, facts.release
    places, cell_m = places_known(original), original.snapped_grid().cell_m
    if places is None or not release.claim.in_classes:
        return math.nan, math.nan
    try:
        leaves = part_places(places, cell_m, parse_hull(hull_of_leaves(PLACES, places)))
    except MisuseError:  # too few places, or one with most of the use
        return math.nan, math.nan
    n_boxes, now, wider = 0, 0, 0
    for members in people_by_crowd(facts):
        rows = rows_of(original.offsets, members)
        rows = rows[np.argsort(original.t[rows], kind="stable")]
        cells = np.column_stack([original.x[rows], original.y[rows]])
        bounds = leaves.bounds[leaves.at(original.x[rows], original.y[rows])]
        boxes = np.stack(release.record(int(facts.records[members[0]])).columns(), axis=1)
        n_boxes += len(members) * len(boxes)
        now += len(members) * int((boxes[:, 4:] - boxes[:, 2:4]).sum())
        grow_to_leaves(boxes, original.t[rows], np.arange(len(rows)), cells, bounds)
        wider += len(members) * int((boxes[:, 4:] - boxes[:, 2:4]).sum())
    return cell_m * now / n_boxes, cell_m * wider / n_boxes


STEPS: Final = 20  # of a share, so 5 % each
_PLACES_SHOWN: Final = 8


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """People measured, in whole crowds, and all."""

    people: int
    of: int


class Evidence:
    """All measurements of a record, at first use.

    tries: victims of each attack; 0 = no attacks. sampled: the facts are those of a sample. streets: a map
    that attackers have, if most people are on its streets.
    """

    def __init__(
        self,
        facts: Facts,
        *,
        tries: int = TRIES,
        sampled: Sampled | None = None,
        streets: StreetGraph | None = None,
    ) -> None:
        self.facts = facts
        self.sampled = sampled
        self._streets = streets
        self._tries = tries

    def measure_exposure(self) -> None:
        """Measure the k-gaps, and free their memory."""
        _ = self.facts.gaps
        release_idle_memory()

    def measure(self) -> None:
        """Measure everything but the attacks, which need the most memory."""
        _ = self.release_facts, self.vanished, self.omission, self.utility, self.usefulness
        self.facts.drop_on_grid()

    @cached_property
    def release_facts(self) -> ReleaseFacts:
        """The numbers of the release and its original."""
        with self.facts.run.stage("facts of the release"):
            return release_facts(self.facts)

    @cached_property
    def assessment(self) -> Assessment | None:
        """The three questions; None without attacks."""
        facts = self.facts
        if not self._tries:
            return None
        with facts.run.stage("attacks"):
            streets = self._streets and self._streets.on_plane(facts.original.crs)
            if streets is not None and on_streets(facts.original, streets) < LEAST_ON_STREETS:
                streets = None
            return assess_release(
                facts.original,
                facts.release,
                facts.linkage,
                tries=self._tries,
                run=facts.run,
                streets=streets,
            )

    @cached_property
    def stations(self) -> tuple[Message, ...]:
        """Cautions on what boxes tell of public places."""
        answers = () if self.assessment is None else self.assessment.strongest_first
        reader = (answer.release.to_json() for answer in answers if answer.release.name == READER)
        with self.facts.run.stage("stations"):
            return station_cautions(self.facts, next(reader, None))

    @cached_property
    def utility(self) -> tuple[Measurement, ...]:
        """The metrics that speak of at least ten people."""
        kind = self.facts.release.kind
        names = [name for name, metric in METRICS.items() if kind in metric.in_record_of]
        return tuple(
            measurement
            for measurement in measure_facts(self.facts, names)
            if people_behind(self.facts, measurement.metric) >= LEAST_PEOPLE
        )

    @cached_property
    def usefulness(self) -> Usefulness | None:
        """What the release is good for; None below ten people."""
        if self.facts.n_published < LEAST_PEOPLE:
            return None
        with self.facts.run.stage("usefulness"):
            return usefulness_of(self.facts, least_people=LEAST_PEOPLE)

    @cached_property
    def vanished(self) -> Vanished | None:
        """Where and when samples were lost; None if the linkage does not say."""
        with self.facts.run.stage("what was suppressed"):
            return vanished_of(self.facts)

    @cached_property
    def omission(self) -> OmissionFrontier | None:
        """The gain from omission, if any; None below ten people."""
        if not made_with_omission(self.facts.release):
            return None
        with self.facts.run.stage("omission"):
            frontier = omission_frontier(self.facts)
        return frontier if frontier is not None and frontier.people >= LEAST_PEOPLE else None


@dataclass(frozen=True, kw_only=True)
class VanishedPlace:
    """A zone: its center in meters, the share lost in steps of 5 %, and the counts."""

    east_m: float
    north_m: float
    share: float
    samples: int
    lost: int
    people: int
    losers: int


def is_publishable(answer: Answer) -> bool:
    """Whether a rate speaks of at least ten people."""
    return min(answer.release.tries, answer.raw.tries) >= LEAST_PEOPLE


def strongest_publishable(assessment: Assessment | None) -> Answer | None:
    """The strongest attack with a publishable rate, or None."""
    answers = () if assessment is None else assessment.strongest_first
    return next((answer for answer in answers if is_publishable(answer)), None)


def publishable_rate(assessment: Assessment | None) -> Rate | None:
    """The rate of that attack against the release."""
    strongest = strongest_publishable(assessment)
    return None if strongest is None else strongest.release


def publishable_shares(presence: Presence) -> Floats:
    """The share lost in each place or hour, in steps of 5 %; nan below ten people."""
    shares = np.full(len(presence.samples), np.nan)
    enough = presence.people >= LEAST_PEOPLE
    shares[enough] = np.rint(STEPS * presence.lost[enough] / presence.samples[enough]) / STEPS
    return shares


def hidden_places(vanished: Vanished) -> int:
    """Zones with some people, but fewer than ten."""
    presence = vanished.by_zone
    return int(np.count_nonzero((presence.people > 0) & np.isnan(publishable_shares(presence))))


def places_that_lost_most(vanished: Vanished) -> list[VanishedPlace]:
    """Up to eight zones with at least ten people, greatest shares first, none that rounds to 0."""
    shares, zones, presence = publishable_shares(vanished.by_zone), vanished.zones, vanished.by_zone
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


_MOST_BOXES: Final = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class Example:
    """One crowd, for the holder of the raw data alone: (t, x, y) in slots and cells by member."""

    members: tuple[tuple[Integers, Integers, Integers], ...]
    boxes: Boxes


def typical_crowd(facts: Facts) -> Example | None:
    """A crowd of the most frequent size with the median number of boxes, up to sixty."""
    original, release, records = facts.original, facts.release, facts.records
    linked = np.flatnonzero(records >= 0)
    if not len(linked):
        return None
    crowd = facts.crowds[records[linked]]
    size = np.bincount(crowd)
    candidates = np.flatnonzero(size == np.bincount(size[size > 0]).argmax())
    boxes_of = np.zeros(len(size), dtype=np.int64)
    boxes_of[crowd] = np.diff(release.offsets)[records[linked]]
    n_boxes = min(_MOST_BOXES, float(np.median(boxes_of[candidates])))
    chosen = candidates[np.argmin(np.abs(boxes_of[candidates] - n_boxes))]
    members = linked[crowd == chosen]
    return Example(
        members=tuple(original.samples_of(member) for member in members.tolist()),
        boxes=release.record(int(records[members[0]])),
    )
