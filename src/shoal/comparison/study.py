"""The file of ``shoal compare``: methods, settings, attacks, a budget."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, get_args

from shoal.attacks import default_knowledge
from shoal.attacks.knowledge import require_boxes, require_rate
from shoal.errors import InputError, MisuseError
from shoal.io.formats.street_files import read_streets
from shoal.methods import Method, method_named
from shoal.methods.parameters import declared_parameters, parse_value
from shoal.runtime.argument_types import typed
from shoal.runtime.files import read_settings
from shoal.utility import metrics_of_every_release
from shoal.utility.frontier import STRONGEST, Budget

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
    "people": int,
    "frontier": str,
    "runs": list,
    "budget": dict,
}
_BUDGET_KINDS: Final = {"attack": str, "knowledge": str, "at_most": (int, float), "utility": str}
DEFAULT_STUDY: Final = """\
# The study of `shoal compare` without --config. Change it and name it with --config.
people = {people}
tries = 200
hold_out = 0

[budget]
at_most = 0.2

[[runs]]
method = "glove"
k = [2, 5, 11]
refine = true
omit-at-most = [0, 0.05]

[[runs]]
method = "glove"
k = [2, 5, 11]
refine = true
hull = "grid:500m"
"""
Frontier = Literal["omit-at-most"]
FRONTIERS: Final[tuple[str, ...]] = get_args(Frontier)
_STREET_FILES: Final = ("streets-nodes", "streets-edges")
_KNOWN: Final = ("knowledge", "tries", "hold_out", "people", "seed", "frontier", "budget", "runs")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One release. label: method and settings."""

    label: str
    name: str
    method: Method


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything to compare.

    Parameters
    ----------
    settings
        The releases to make, at least one.
    budget
        The accepted risk, and the metric that chooses among releases within it.
    knowledge
        What adversaries know, such as ``points:4``.
    tries
        Victims of each attack.
    hold_out
        Share of people left out of every release, as control: 0 to 0.5.
    seed
        Of all that is drawn.
    people
        This many, drawn at random, stand for all; None = all.
    frontier
        "omit-at-most" = measure what omission would gain in the crowds of each release; None = do not.

    Raises
    ------
    MisuseError
        When a value is out of its range, or an attack or metric is unknown.
    """

    settings: tuple[Setting, ...]
    budget: Budget
    knowledge: tuple[str, ...] = field(default_factory=lambda: default_knowledge(None))
    tries: int = 1000
    hold_out: float = 0.1
    seed: int = 0
    people: int | None = None
    frontier: Frontier | None = None

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
        if self.frontier is not None and self.frontier not in FRONTIERS:
            raise MisuseError(f"frontier = '{self.frontier}' is not known; choose {', '.join(FRONTIERS)}")
        if self.people is not None and self.people < 2:
            raise MisuseError(
                f"people = {self.people} hides nobody among others; take at least 2, for example 200"
            )
        suited = metrics_of_every_release()
        if self.budget.utility not in suited:
            raise MisuseError(
                f"'{self.budget.utility}' is no metric for the budget; choose from {', '.join(suited)}"
            )
        require_boxes([*self.knowledge, self.budget.knowledge])
        if self.budget.attack != STRONGEST:
            require_rate(self.budget.knowledge, self.budget.attack, or_else=STRONGEST)

    @classmethod
    def of_methods(cls, methods: Mapping[str, Method]) -> "Study":
        """A study of these methods by their labels, with the default budget and attacks."""
        settings = [
            Setting(label=label, name=method.about.name, method=method) for label, method in methods.items()
        ]
        return cls(settings=tuple(settings), budget=Budget())

    def held_out(self, n_subjects: int) -> tuple[int, int]:
        """People to publish, and to hold out."""
        everybody = min(n_subjects, self.people or n_subjects)
        size = round(everybody * self.hold_out)
        return everybody - size, size


@typed
def read_study(path: Path | str) -> Study:
    r"""Read a study from a TOML file.

    Parameters
    ----------
    path
        The file; settings of ``[[runs]]`` are named and written as on the command line.

    Returns
    -------
    Study
        A setting for each combination of the values of a run.

    Raises
    ------
    InputError
        When the file cannot be read, or has an unknown or wrong setting.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> _ = Path("study.toml").write_text('[[runs]]\nmethod = "glove"\nk = [2, 5]')
    >>> [setting.label for setting in shoal.read_study("study.toml").settings]
    ['glove k=2', 'glove k=5']
    """
    return _study(read_settings(path), path)


def default_study(people: int) -> tuple[Study, str]:
    """A study of so many people drawn at random, as ``shoal advise`` tries releases, and its text."""
    text = DEFAULT_STUDY.format(people=people)
    return _study(tomllib.loads(text), "the default study"), text


def _study(entries: dict[str, Any], path: Path | str) -> Study:
    unknown = [name for name in entries if name not in _KNOWN]
    if unknown:
        raise InputError(f"{path} sets '{unknown[0]}', which no study has; known: {', '.join(_KNOWN)}")
    try:
        _require_kinds(entries, _KINDS, "")
        wish = next((name for name in entries.get("budget", {}) if name not in _BUDGET_KINDS), None)
        if wish is not None:
            raise MisuseError(f"no budget has '{wish}'; known: {', '.join(_BUDGET_KINDS)}")
        _require_kinds(entries.get("budget", {}), _BUDGET_KINDS, "budget.")
        for run in entries.get("runs", ()):
            _require_kinds({"runs": run}, {"runs": dict}, "an entry of ")
        for text in entries.get("knowledge", ()):
            _require_kinds({"knowledge": text}, {"knowledge": str}, "an entry of ")
        plain_settings = ("tries", "hold_out", "people", "seed", "frontier")
        settings_read = {name: entries[name] for name in plain_settings if name in entries}
        budget = Budget(**entries.get("budget", {}))
        knowledge = tuple(
            dict.fromkeys([*entries.get("knowledge", default_knowledge(None)), budget.knowledge])
        )
        settings = tuple(setting for run in entries.get("runs", []) for setting in _swept(dict(run)))
        return Study(settings=settings, budget=budget, knowledge=knowledge, **settings_read)
    except (TypeError, MisuseError) as error:
        raise InputError(f"{path}: {error}") from error


def _require_kinds(entries: Mapping[str, Any], kinds: Mapping[str, Any], where: str) -> None:
    for name, kind in kinds.items():
        if name in entries and not isinstance(entries[name], kind):
            raise MisuseError(f"{where}{name} = {entries[name]!r} must be {_WORDS[kind]}")


def _swept(run: dict[str, Any]) -> list[Setting]:
    kind = method_named(run.pop("method", None))
    names, values = list(run), [value if isinstance(value, list) else [value] for value in run.values()]
    return [_setting(kind, dict(zip(names, chosen, strict=True))) for chosen in product(*values)]


def _setting(kind: type[Method], chosen: Mapping[str, Any]) -> Setting:
    declared = declared_parameters(kind)
    options = {parameter.option_of(name): name for name, parameter in declared.items()}
    names = options | {name.replace("_", "-"): name for name in declared}
    graphs = [name for name, parameter in declared.items() if parameter.street_graph]
    files = [chosen[key] for key in _STREET_FILES if key in chosen and graphs]
    values: dict[str, Any] = dict.fromkeys(graphs, read_streets(*files)) if files else {}
    for key, value in chosen.items():
        if files and key in _STREET_FILES:
            continue
        name = names.get(key.replace("_", "-"))
        if name is None:
            of_files = _STREET_FILES if graphs else ()
            known = sorted([*of_files, *(option for option, name in options.items() if name not in graphs)])
            raise MisuseError(f"'{key}' is no setting of {kind.about.name}; choose from {', '.join(known)}")
        values[name] = parse_value(declared[name], value) if isinstance(value, str) else value
    label = " ".join(
        [kind.about.name, *(f"{key.replace('_', '-')}={value}" for key, value in chosen.items())]
    )
    return Setting(label=label, name=kind.about.name, method=kind(**values))
