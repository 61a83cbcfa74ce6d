"""The settings of a release, and its techniques in terms of ISO/IEC 20889:2018."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.methods import method_named
from shoal.methods.method import Technique, rounding
from shoal.methods.parameters import Parameter, declared_parameters
from shoal.model.release import Release
from shoal.units import show_m, show_s

_WITH_UNIT: Final[Mapping[str | None, Callable[[float], str]]] = {
    "m": show_m,
    "s": show_s,
    "m/s": lambda speed: f"{speed:g} m/s",
}


@dataclass(frozen=True)
class Setting:
    """A row of the table of parameters."""

    name: str
    value: str
    meaning: str


def settings_of(release: Release) -> list[Setting]:
    """Parameters, and settings of the reading that shaped the release, by their options."""
    declared = declared_parameters(method_named(release.method))
    rows = []
    for name, value in release.parameters.items():
        if name not in declared:
            raise MisuseError(
                f"{method_name(release.method)} has no parameter '{name}', so nothing says what it means; "
                f"known: {', '.join(declared)}"
            )
        rows.append(
            Setting(
                f"--{declared[name].option_of(name)}", _shown(declared[name], value), declared[name].meaning
            )
        )
    taken = {row.name for row in rows}
    read = _settings_of_reading(release)
    return rows + [
        replace(row, name=f"--reading-{row.name[2:]}") if row.name in taken else row for row in read
    ]


def method_name(method: str) -> str:
    """The method's title."""
    return method_named(method).about.title


def _settings_of_reading(release: Release) -> list[Setting]:
    grid, reading = release.grid, release.reading
    fewest = reading.min_active_days
    rows: list[tuple[str, object, str]] = [  # without what is not set
        (
            "--cell",
            grid and show_m(grid.cell_m),
            "side of the square cells that positions were rounded to before anything else",
        ),
        (
            "--slot",
            grid and show_s(grid.slot_s),
            "length of the slots that times were rounded to before anything else",
        ),
        ("--crs", release.crs or "none: local meters", "the plane of the published coordinates"),
        (
            "--min-samples-per-day",
            reading.min_samples_per_day and f"{reading.min_samples_per_day:g}",
            "people with fewer samples a day on average were left out",
        ),
        (
            "--min-active-days",
            fewest and (f"{fewest:,}" if fewest > 0 else "all"),
            "people with samples on fewer days were left out",
        ),
        (
            "--places",
            reading.places is not None and f"{reading.places}, SHA-256 {reading.places_sha256}",
            "the public list of places; samples at other places were left out",
        ),
        (
            "--places-are-public",
            reading.places_are_public and "yes",
            "the list has exactly the places of the data and is public",
        ),
        (
            "--sensitive",
            reading.sensitive is not None and f"{reading.sensitive}, SHA-256 {reading.sensitive_sha256}",
            "the list of sensitive places, each of a kind",
        ),
        ("--per-day", reading.per_day and "yes", "every day of a person is a subject of its own"),
        (
            "--ids-as-they-are",
            reading.ids_as_they_are and "yes",
            "ids that look alike count as different people, and one such as guest or -1 as one person",
        ),
        ("--lose-people", reading.lose_people and "yes", "people without a usable row may be more than 1 %"),
    ]
    return [Setting(name, str(value), meaning) for name, value, meaning in rows if value]


def _shown(parameter: Parameter, value: Any) -> str:
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{number:,} {what}" for what, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if parameter.unit in _WITH_UNIT:
        return _WITH_UNIT[parameter.unit](value)
    return f"{value:,}" if isinstance(value, int) else str(value)


_PSEUDONYMS: Final = Technique(
    "pseudonymization techniques",
    "pseudonymization",
    "identifiers are replaced by random ones, in random order",
)
_ROUNDING: Final = rounding("places are rounded to cells and times to slots")
_RECORDS: Final = Technique("suppression techniques", "record suppression", "people are left out whole")
_VALUES: Final = Technique("suppression techniques", "local suppression", "single samples are left out")


def techniques_of(release: Release) -> list[Technique]:
    """Rounding if on a grid, suppression if something was suppressed."""
    lost = release.losses
    return [
        _PSEUDONYMS,
        *([] if release.grid is None else [_ROUNDING]),
        *method_named(release.method).about.techniques,
        *([_VALUES] if lost.samples_suppressed else []),
        *([_RECORDS] if lost.subjects_suppressed else []),
    ]
