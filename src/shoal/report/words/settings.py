"""The settings of a release as the reports list them: name, value with its unit, and what it means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.methods import method_named
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
    """One row of the table of parameters."""

    name: str
    value: str
    meaning: str


def settings_of(release: Release) -> list[Setting]:
    """Every setting that shaped the release: its method's, and those of its reading that matter.

    Column names and the day of reading are left out. A parameter with the name of a setting of the reading
    stands under its path in the manifest. Raises MisuseError for a method or a parameter that no declaration
    explains.
    """
    read = _settings_of_reading(release)
    taken = {setting.name for setting in read}
    own = declared_parameters(method_named(release.method))
    rows = []
    for name, value in release.parameters.items():
        if name not in own:
            raise MisuseError(
                f"{method_name(release.method)} has no parameter '{name}', so nothing says what it means; "
                f"known: {', '.join(own)}"
            )
        shown_name = f"parameters.{name}" if name in taken else name
        rows.append(Setting(shown_name, _shown(own[name], value), own[name].meaning))
    return rows + read


def method_name(method: str) -> str:
    """The method as its authors write it; raises MisuseError when there is none of this name."""
    return method_named(method).about.title


def _settings_of_reading(release: Release) -> list[Setting]:
    """How the raw data was read, as far as it says something about the release."""
    rows = []
    if release.grid is not None:
        rows += [
            Setting(
                "cell_m",
                show_m(release.grid.cell_m),
                "side of the square cells that positions were rounded to before anything else",
            ),
            Setting(
                "slot_s",
                show_s(release.grid.slot_s),
                "length of the slots that times were rounded to before anything else",
            ),
        ]
    rows.append(Setting("crs", release.crs or "none: local meters", "the plane of the published coordinates"))
    least = release.reading.min_samples_per_day
    if least:
        rows.append(
            Setting(
                "min_samples_per_day",
                f"{least:g}",
                "people with fewer samples a day on average were left out",
            )
        )
    if release.reading.min_active_days:
        fewest = release.reading.min_active_days
        rows.append(
            Setting(
                "min_active_days",
                f"{fewest:,}" if fewest > 0 else "all",
                "people with samples on fewer days were left out",
            )
        )
    if release.reading.per_day:
        rows.append(Setting("per_day", "yes", "every day of a person is a subject of its own"))
    return rows


def _shown(parameter: Parameter, value: Any) -> str:
    """A value with the unit of its parameter."""
    if value is None:
        return "off"
    if isinstance(value, Mapping):
        return ", ".join(f"{number:,} {what}" for what, number in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if parameter.unit in _WITH_UNIT:
        return _WITH_UNIT[parameter.unit](value)
    return f"{value:,}" if isinstance(value, int) else str(value)
