"""The file that says what ``shoal compare`` compares: methods with lists of settings to sweep, attacks, and a budget."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, Final

from shoal.attacks import ATTACKS, DEFAULT_KNOWLEDGE
from shoal.errors import InputError, MisuseError
from shoal.io.street_files import read_streets
from shoal.methods import METHODS, Method
from shoal.runtime.settings_file import read_settings
from shoal.units import duration_s, length_m
from shoal.utility import METRICS
from shoal.utility.frontier import Budget

_WORDS: Final[dict[type | tuple[type, ...], str]] = {
    str: "text in quotes",
    int: "a whole number",
    (int, float): "a number",
    list: "a list",
    dict: "a table",
}
_KINDS: Final = {
    "knowledge": list,
    "tries": int,
    "hold_out": (int, float),
    "seed": int,
    "runs": list,
    "budget": dict,
}
_BUDGET_KINDS: Final = {"attack": str, "knowledge": str, "at_most": (int, float), "utility": str}
_KNOWN: Final = ("knowledge", "tries", "hold_out", "seed", "budget", "runs")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One release to make. label: the method and what was set, as a person would write it."""

    label: str
    name: str
    method: Method


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything to compare. hold_out: share of the people who are left out of every release, as control.

    seed: of who that is.
    """

    settings: tuple[Setting, ...]
    budget: Budget
    knowledge: tuple[str, ...] = DEFAULT_KNOWLEDGE
    tries: int = 1000
    hold_out: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.settings:
            raise MisuseError(
                'a study needs something to compare; add [[runs]] with method = "glove" and k = [2, 5]'
            )
        if not 0 <= self.hold_out <= 0.5:
            raise MisuseError(
                f"hold_out = {self.hold_out} must be a share of 0 to 0.5; 0.1 leaves a tenth of the people "
                "out as control"
            )
        if self.budget.utility not in METRICS:
            raise MisuseError(
                f"'{self.budget.utility}' is no metric for the budget; choose from {', '.join(METRICS)}"
            )
        for text in (*self.knowledge, self.budget.knowledge):
            if text.split(":")[0] not in ATTACKS:
                raise MisuseError(
                    f"'{text}' is not a knowledge that shoal can play; choose from "
                    f"{', '.join(a.form for a in ATTACKS.values())}"
                )


def read_study(path: Path) -> Study:
    """The study in a TOML file; raises InputError when it cannot be read or holds what no study has."""
    entries = read_settings(path)
    unknown = [name for name in entries if name not in _KNOWN]
    if unknown:
        raise InputError(f"{path} sets '{unknown[0]}', which no study has; known: {', '.join(_KNOWN)}")
    try:
        _insist_on_kinds(entries, _KINDS, "")
        _insist_on_kinds(entries.get("budget", {}), _BUDGET_KINDS, "budget.")
        for text in entries.get("knowledge", ()):
            _insist_on_kinds({"knowledge": text}, {"knowledge": str}, "an entry of ")
        given = {name: entries[name] for name in ("tries", "hold_out", "seed") if name in entries}
        budget = Budget(**entries.get("budget", {}))
        knowledge = tuple(dict.fromkeys([*entries.get("knowledge", DEFAULT_KNOWLEDGE), budget.knowledge]))
        settings = tuple(setting for run in entries.get("runs", []) for setting in _swept(dict(run)))
        return Study(settings=settings, budget=budget, knowledge=knowledge, **given)
    except (TypeError, MisuseError) as error:
        raise InputError(f"{path}: {error}") from error


def _insist_on_kinds(entries: Mapping[str, Any], kinds: Mapping[str, Any], where: str) -> None:
    """Raises MisuseError for the first entry of another kind than it must have."""
    for name, kind in kinds.items():
        if name in entries and not isinstance(entries[name], kind):
            raise MisuseError(f"{where}{name} = {entries[name]!r} must be {_WORDS[kind]}")


def _swept(run: dict[str, Any]) -> list[Setting]:
    """Every combination of the lists of one [[runs]] entry."""
    name = run.pop("method", None)
    if name not in METHODS:
        raise MisuseError(f"'{name}' is no method; choose from {', '.join(METHODS)}")
    names, values = list(run), [value if isinstance(value, list) else [value] for value in run.values()]
    return [_setting(name, dict(zip(names, chosen, strict=True))) for chosen in product(*values)]


def _setting(name: str, chosen: Mapping[str, Any]) -> Setting:
    known = {field.name for field in fields(METHODS[name])}
    parameters: dict[str, Any] = {}
    streets = [
        chosen[key] for key in ("streets-nodes", "streets-edges") if key in chosen and "streets" in known
    ]
    if streets:
        parameters["streets"] = read_streets(*streets)
    for key, value in chosen.items():
        plain = key.replace("-", "_")
        if streets and plain in ("streets_nodes", "streets_edges"):
            continue
        if plain in known:
            parameters[plain] = value
        elif f"{plain}_m" in known:
            parameters[f"{plain}_m"] = length_m(value)
        elif f"{plain}_s" in known:
            parameters[f"{plain}_s"] = duration_s(value)
        else:
            raise MisuseError(f"'{key}' is no setting of {name}; choose from {', '.join(sorted(known))}")
    label = " ".join([name, *(f"{key.replace('_', '-')}={value}" for key, value in chosen.items())])
    return Setting(label=label, name=name, method=METHODS[name](**parameters))
