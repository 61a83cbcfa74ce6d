"""What a method says about one of its parameters, in the one place where it declares it.

A method is a frozen dataclass, and each of its fields is declared with ``parameter``: default, help, meaning,
unit and bound. The command line, settings files, the manifest, the record and the tables of the docs are
derived from these declarations or tested against them. None of them knows a parameter by its name alone, so
two methods may use one name for two things.
"""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from math import isfinite
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar

import numpy as np

from shoal.errors import MisuseError
from shoal.units import is_number, is_whole

Unit = Literal["m", "s", "m/s", "share", "people", "records", "rounds"]
Value = TypeVar("Value")

DEFAULT_K: Final = 5  # in a set of two, each who knows the own samples learns the other's
_KEY: Final = "shoal"  # of a field's metadata
_WHOLE: Final[tuple[Unit, ...]] = ("people", "records", "rounds")
_SUFFIXES: Final[Mapping[Unit | None, str]] = {"m": "_m", "s": "_s", "m/s": "_m_s"}


class Declares(Protocol):
    """A dataclass whose fields are declared with ``parameter``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class Bound:
    """What a number must be. words: what is wrong with another one; least: the bound of a whole number."""

    holds: Callable[[float], bool]
    words: str
    least: int | None = None


ABOVE_0: Final = Bound(lambda number: isfinite(number) and number > 0, "must be finite and greater than 0")
AT_LEAST_0: Final = Bound(lambda number: isfinite(number) and number >= 0, "must be finite and at least 0")
SHARE_ABOVE_0: Final = Bound(lambda number: 0 < number <= 1, "must be a share above 0 and of at most 1")
SHARE_BELOW_1: Final = Bound(lambda number: 0 <= number < 1, "must be a share of at least 0 and below 1")


def at_least(least: int) -> Bound:
    """The bound of a whole number."""
    return Bound(lambda number: number >= least, f"must be at least {least}", least)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """The declaration of one parameter.

    Parameters
    ----------
    default
        The value without a setting.
    help
        For the command line: one sentence, without the default.
    meaning
        For the record of a release, whose readers need not be programmers.
    unit
        Of the value: meters, seconds, meters per second, a share of 0 to 1, people, records or rounds. None
        for a choice.
    bound
        What a number must be. None = anything, or what the claim requires.
    choices
        The texts that are known.
    written
        The forms of a text that is none of a few choices; the claim checks it.
    spelled
        How the command line spells the two values of a switch.
    switch
        Whether the value is yes or no, which the command line takes as --NAME and --no-NAME.
    option
        The option's name, where it is not the parameter's name without its unit.
    unset
        What a default of None stands for, on the command line.
    zero
        Whether the command line takes a length or duration of 0.
    street_graph
        Whether the value is a StreetGraph, which the command line and a study read from files. A manifest
        then holds its size only.
    """

    default: Any
    help: str
    meaning: str
    unit: Unit | None = None
    bound: Bound | None = None
    choices: tuple[str, ...] = ()
    written: str = ""
    spelled: Mapping[str, bool] | None = None
    switch: bool = False
    option: str | None = None
    unset: str = "none"
    zero: bool = False
    street_graph: bool = False

    def __post_init__(self) -> None:
        said = (self.choices, self.written, self.spelled, self.switch, self.street_graph)
        if self.unit is None and not any(said):
            raise MisuseError(
                f"the parameter of '{self.help}' has neither a unit nor choices, so that its option would "
                "accept no value; declare unit=, choices=, written=, spelled= or switch="
            )

    def option_of(self, name: str) -> str:
        """The option for the parameter of this name, without its dashes in front."""
        return self.option or name.removesuffix(_SUFFIXES.get(self.unit, "")).replace("_", "-")

    def require(self, name: str, value: Any) -> None:
        """Raise MisuseError, with the value, the bound and the remedy, for a value that is not allowed."""
        if self.choices and value not in self.choices:
            raise MisuseError(f"{name} = '{value}' is not known; choose one of {', '.join(self.choices)}")
        number = self.unit is not None and not (value is None and self.default is None)
        if number and not (is_number(value) and (self.unit not in _WHOLE or is_whole(value))):
            kind = "a whole number" if self.unit in _WHOLE else "a number"
            example = "" if self.default is None else f", for example {self.default:g}"
            raise MisuseError(f"{name} = {value!r} is not {kind}{example}")
        if self.bound is not None and value is not None and not self.bound.holds(value):
            example = "" if self.default is None else f", for example {self.default:g}"
            raise MisuseError(f"{name} = {value} {self.bound.words}{example}")


def parameter(*, default: Value, **declaration: Any) -> Value:
    """A field of a method's dataclass with its declaration, whose other arguments are those of Parameter."""
    metadata = {_KEY: Parameter(default=default, **declaration)}
    return field(default=default, metadata=metadata)


def k_parameter(meaning: str, default: int = DEFAULT_K) -> int:
    """The parameter k, which every method has; meaning: what this method hides a person among k of."""
    return parameter(
        default=default, unit="records", help="The fewest records that fit one person.", meaning=meaning
    )


def declared(method: Declares | type[Declares]) -> dict[str, Parameter]:
    """Every parameter of a method by name, in the order of its fields; each must be declared."""
    return {each.name: each.metadata[_KEY] for each in fields(method)}


def require_declared(method: Declares) -> None:
    """Raise MisuseError for the first parameter whose value its own declaration does not allow."""
    for name, each in declared(method).items():
        value = getattr(method, name)
        if isinstance(value, np.generic):
            value = value.item()
            object.__setattr__(method, name, value)  # in a manifest it is a plain number
        each.require(name, value)


def stated(method: Declares) -> dict[str, Any]:
    """All parameters with their values, as a manifest holds them."""
    values = {name: (each, getattr(method, name)) for name, each in declared(method).items()}
    return {
        name: value.summary() if each.street_graph and value is not None else value
        for name, (each, value) in values.items()
    }
