"""Numbers and settings as the reports write them.

With units, thousands separators and a line on what each setting means.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.model.claims import Claim, KDeltaAnonymity, KteAnonymity, LocationPrivacy, TrajectoryPrivacy
from shoal.model.release import Release
from shoal.units import SECONDS, show_m, show_s

METHODS: Final = {
    "glove": "GLOVE",
    "kte-hide": "kte-hide",
    "nwa": "Never Walk Alone",
    "reach-locations": "ReachLocations",
    "static": "static generalization",
    "swap-locations": "SwapLocations",
    "w4m": "Wait For Me",
}

_ALL_TOGETHER: Final = (
    "Untangling was not tested: who joins points of several records that make one "
    "plausible way may get back pieces of a true movement."
)
LIMITS_OF_POINTS: Final = {
    TrajectoryPrivacy.type: (
        "Every point is a true one of somebody, time and place together. Whoever was seen there is still "
        "seen there, under whatever name.",
        "The promise is about one record. The records of a cluster hold between them all places of its "
        "members that were not removed.",
        _ALL_TOGETHER,
    ),
    LocationPrivacy.type: (
        "This is not k-anonymity of trajectories: a record keeps true times of its person, and whoever "
        "knows some of them finds it.",
        "A place belongs to somebody who was there within the time threshold; that several people went to "
        "such places can be read off.",
        "The promise is about a place and its time together. Places alone, or places within the space "
        "threshold, may be guessed better.",
        _ALL_TOGETHER,
    ),
    KDeltaAnonymity.type: (
        "This is not k-anonymity of trajectories. Whoever knows some true points of a person can often tell "
        "the one record that was moved "
        "from them, although others are near (Trujillo-Rasua and Domingo-Ferrer, 2013).",
        "Points were moved, created and deleted: what is published did not happen so.",
    ),
}

VANISHED_OF_POINTS: Final = {
    TrajectoryPrivacy.type: (
        "A raw sample vanished when it stands in no record at all: it found no swap set, or its person was "
        "left out. One that stands in "
        "another person's record has not vanished."
    ),
    LocationPrivacy.type: (
        "A raw sample vanished when neither its time nor its place stands in a record: it lies too far from "
        "the streets, or found no swap "
        "set. One whose place stands in another person's record has not vanished."
    ),
    KDeltaAnonymity.type: (
        "A raw sample vanished when no published point stands for it: its crowd has no point for it, so "
        "that it was cut off or deleted, or "
        "its person was left out. One that was moved has not vanished, however far it was moved, and points "
        "that were created make up for "
        "none."
    ),
}

_NONE: Final = "\N{EN DASH}"

_MEANINGS: Final = {
    "k": "the fewest records that fit one person",
    "space_cap_m": "a merge that stretches a place by this much or more counts as a total loss of position",
    "time_cap_s": "a merge that stretches a time by this much or more counts as a total loss of time",
    "generalize": "how the samples of a crowd become boxes that do not overlap in time",
    "leftover": "what happens to the last people, too few for a crowd of their own",
    "tau_s": "how long an attacker may have followed somebody without a gap",
    "epsilon_s": "the length of an epoch, after which other people hide somebody",
    "hiding": "whether those who hide each other must share the clusters of all epochs, or are any neighbors",
    "neighborhood": "people in one area among whom those who hide each other are looked for at first",
    "space_weight_s": "wide pairs of people cost as if they lasted so long besides",
    "delta_m": "diameter of the cylinder into which a crowd is moved",
    "pi_s": "records begin and end at multiples of this, so that people have time spans in common",
    "step_s": "the clock at which everybody is published, on straight lines between raw samples",
    "distance": "which trajectories count as similar: lives at equal fractions (lst), or few edits (edr)",
    "speed_m_s": "meters that a second too early or too late counts as, when trajectories are compared",
    "trash": "the share of people that may be left out as too unlike others",
    "chunk": "people of one neighborhood who are clustered on their own; 0 = all together",
    "grid_m": "side of the coarse cells in which a crowd must agree",
    "slot_s": "length of the coarse slots in which a crowd must agree",
    "suppress_space_m": "boxes wider than this (dx + dy) are left out",
    "time_threshold_s": "how far in time a point may be from the one that leads its swap set",
    "space_threshold_m": "how far in space a point may be from the one that leads its swap set",
    "clustering": "how trajectories were brought together in groups of k",
    "paths": "between which trajectories the distance is a shortest path through others",
    "both_sides": "whether both who trade places stay within reach of their neighboring points, or the "
    "leading one alone",
    "most_off_street_m": "points farther from every street were left out",
    "streets": "the street graph that paths were measured on",
    "suppress_time_s": "boxes longer than this are left out",
}


@dataclass(frozen=True)
class Setting:
    """One row of the table of parameters."""

    name: str
    value: str
    meaning: str


def settings_of(release: Release) -> list[Setting]:
    """Every setting that shaped the release.

    How columns were named and when the file was read says nothing about it and is left out.
    """
    reading = release.reading
    rows = [
        Setting(name, _shown(name, value), _MEANINGS.get(name, f"a setting of {method_name(release.method)}"))
        for name, value in release.parameters.items()
    ]
    if release.kind == "boxes":
        rows += [
            Setting(
                "cell_m",
                show_m(release.snapped_grid().cell_m),
                "side of the square cells that positions were rounded to before anything else",
            ),
            Setting(
                "slot_s",
                show_s(release.snapped_grid().slot_s),
                "length of the slots that times were rounded to before anything else",
            ),
        ]
    rows.append(Setting("crs", release.crs or "none: local meters", "the plane of the published coordinates"))
    if reading.min_samples_per_day:
        rows.append(
            Setting(
                "min_samples_per_day",
                f"{reading.min_samples_per_day:g}",
                "people with fewer samples a day on average were left out",
            )
        )
    if reading.per_day:
        rows.append(Setting("per_day", "yes", "every day of a person is a subject of its own"))
    return rows


def method_name(method: str) -> str:
    """The method as its authors write it."""
    return METHODS.get(method, method)


def claim_in_words(claim: Claim) -> str:
    """What is promised, in a sentence."""
    if isinstance(claim, KteAnonymity):
        return (
            f"Whoever has followed a person for any {show_s(claim.tau_s)} finds at least {claim.k} records "
            "that fit; who hides whom "
            f"changes every {show_s(claim.epsilon_s)}."
        )
    if isinstance(claim, TrajectoryPrivacy):
        return (
            "Whoever knows some points of a person finds the person's record with a chance of 1 in "
            f"{claim.k} at most."
        )
    if isinstance(claim, LocationPrivacy):
        return (
            "Whoever knows some points of a person tells a further one, place and time, with a chance "
            f"of 1 in {claim.k} at most."
        )
    if isinstance(claim, KDeltaAnonymity):
        company = f"at least {claim.k - 1} others that are within {show_m(claim.delta_m)} of it"
        return f"Each record has {company} and of each other at every published time."
    others = "at least one other" if claim.k == 2 else f"at least {claim.k - 1} others"
    return f"Every published record is identical, sample for sample, to {others}."


def claim_name(claim: Claim) -> str:
    """The property and its numbers."""
    if isinstance(claim, KteAnonymity):
        return (
            f"k^(tau,epsilon)-anonymity, k = {claim.k}, tau = {show_s(claim.tau_s)}, epsilon = "
            f"{show_s(claim.epsilon_s)}"
        )
    if isinstance(claim, TrajectoryPrivacy):
        return f"trajectory p-privacy, p = 1/{claim.k}"
    if isinstance(claim, LocationPrivacy):
        return f"location p-privacy, p = 1/{claim.k}"
    if isinstance(claim, KDeltaAnonymity):
        return f"(k, delta)-co-location, k = {claim.k}, delta = {show_m(claim.delta_m)}"
    return f"k-anonymity, k = {claim.k}"


def count(number: float) -> str:
    """A whole number with thousands separators."""
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """A share as a percentage with one digit; 0 and 100 only when it is exactly that."""
    if math.isnan(share):
        return _NONE
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def meters(value: float) -> str:
    """A measured length to three digits."""
    return _NONE if math.isnan(value) else show_m(float(f"{value:.3g}"))


def seconds(value: float) -> str:
    """A measured duration to three digits, in the largest unit of which it is two or a whole number."""
    if math.isnan(value):
        return _NONE
    fitting = [
        (unit, size)
        for unit, size in SECONDS.items()
        if value >= 2 * size or (value >= size and value % size == 0)
    ]
    unit, size = fitting[-1] if fitting else ("s", 1.0)
    return f"{value / size:,.3g} {unit}"


def number(value: float | None) -> str:
    """A plain number to three digits; a dash when there is none to show."""
    return _NONE if value is None or math.isnan(value) else f"{value:.3g}"


def show(value: float | None, unit: str) -> str:
    """A value of a metric as people write it; a dash for one that is not known."""
    known = math.nan if value is None else value
    if unit in {"share", "m", "s"}:
        return {"share": percent, "m": meters, "s": seconds}[unit](known)
    return number(known)


def exact(value: float) -> str:
    """A number for programs: a count in full, anything else to four digits, since a median may be the value of one person."""
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def rows_by_reason(reasons: Mapping[str, int], rows_read: int) -> list[tuple[str, int, float]]:
    """(reason, rows, share of the rows read), most rows first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return [(reason, rows, rows / rows_read if rows_read else math.nan) for reason, rows in ordered]


def _shown(name: str, value: Any) -> str:
    """A parameter with the unit that its name carries."""
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{number:,} {what}" for what, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and name.endswith("_m"):
        return show_m(value)
    if isinstance(value, int | float) and name.endswith("_s"):
        return show_s(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
