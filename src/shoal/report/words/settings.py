"""The settings of a release as the reports list them: name, value with its unit, and what it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.model.release import Release
from shoal.units import show_m, show_s

METHODS: Final = {
    "glove": "GLOVE",
    "kte-hide": "kte-hide",
    "nwa": "Never Walk Alone",
    "reach-locations": "ReachLocations",
    "static": "static generalization",
    "swap-locations": "SwapLocations",
    "w4m": "Wait For Me",
}


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
