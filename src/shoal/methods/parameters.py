"""Declarations of parameters, each next to its field in a method.

Command line, settings files, manifest, record and docs tables derive from them. They know no parameter by
its name alone.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from fractions import Fraction
from math import isfinite
from typing import Any, ClassVar, Final, Literal, Protocol, TypeVar

import numpy as np

from shoal.errors import MisuseError
from shoal.messages import say
from shoal.model.streets import StreetGraph
from shoal.runtime.argument_types import show_value
from shoal.units import duration_s, is_number, is_whole, length_m, parse_share

Unit = Literal["m", "s", "m/s", "share", "people", "records", "rounds", "kinds"]
Value = TypeVar("Value")

DEFAULT_K: Final = 5  # with k = 2, each of two people learns the other's samples
_KEY: Final = "shoal"  # of a field's metadata
_WHOLE: Final[tuple[Unit, ...]] = ("people", "records", "rounds", "kinds")
_SUFFIXES: Final[Mapping[Unit | None, str]] = {"m": "_m", "s": "_s", "m/s": "_m_s"}


class Declares(Protocol):
    """A dataclass whose fields are declared with ``parameter``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


@dataclass(frozen=True)
class Bound:
    """A condition on a number. words: the complaint; least: the bound."""

    holds: Callable[[float], bool]
    words: str
    least: int | None = None


ABOVE_0: Final = Bound(
    lambda number: isfinite(number) and number > 0, say("bound.above_0", "must be finite and greater than 0")
)
AT_LEAST_0: Final = Bound(
    lambda number: isfinite(number) and number >= 0, say("bound.at_least_0", "must be finite and at least 0")
)
SHARE_ABOVE_0: Final = Bound(
    lambda number: 0 < number <= 1, say("bound.share_above_0", "must be a share above 0 and of at most 1")
)
SHARE_BELOW_1: Final = Bound(
    lambda number: 0 <= number < 1, say("bound.share_below_1", "must be a share of at least 0 and below 1")
)


def at_least(least: int) -> Bound:
    """The lower bound of a whole number."""
    return Bound(
        lambda number: number >= least, say("bound.at_least", "must be at least {least}", least=least), least
    )


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """The declaration of one parameter."""

    default: Any  # value without a setting
    help: str  # for the command line: one sentence, without the default
    meaning: str  # for the report of a release, whose readers may not be programmers
    unit: Unit | None = None  # None for a choice
    bound: Bound | None = None  # condition on a number; None = anything, or what the claim requires
    choices: tuple[str, ...] = ()  # accepted texts
    written: str = ""  # forms of a free text, which the claim checks
    spelled: Mapping[str, bool] | None = None  # command line texts for the two values of a switch
    switch: bool = False  # yes or no, on the command line --NAME and --no-NAME
    option: str | None = None  # name of the option, if not the parameter's name without its unit
    unset: str = "none"  # what the command line shows for a default of None
    zero: bool = False  # whether a length or duration of 0 is accepted
    street_graph: bool = False  # a StreetGraph, read from files; a manifest holds its size only

    def __post_init__(self) -> None:
        forms = (self.choices, self.written, self.spelled, self.switch, self.street_graph)
        if self.unit is None and not any(forms):
            raise MisuseError(
                f"the parameter of '{self.help}' has neither a unit nor choices, so that its option would "
                "accept no value; declare unit=, choices=, written=, spelled= or switch="
            )

    def option_of(self, name: str) -> str:
        """The option for this parameter, without dashes."""
        return self.option or name.removesuffix(_SUFFIXES.get(self.unit, "")).replace("_", "-")

    def require(self, name: str, value: Any) -> None:
        """Raise MisuseError, with value, bound and remedy."""
        unset = value is None and self.default is None
        for declared, taken, words in (
            (self.switch or self.spelled, bool, "True or False"),
            (self.choices or self.written, str, "text, such as " + (self.written or ", ".join(self.choices))),
            (self.street_graph, StreetGraph, "a StreetGraph; shoal.read_streets reads one"),
        ):
            if declared and not (isinstance(value, taken) or unset):
                raise MisuseError(f"{name} = {show_value(value)} is not {words}")
        if self.choices and not unset and value not in self.choices:
            raise MisuseError(f"{name} = '{value}' is not known; choose one of {', '.join(self.choices)}")
        if (
            self.unit is not None
            and not unset
            and not (is_number(value) and (self.unit not in _WHOLE or is_whole(value)))
        ):
            kind = "a whole number" if self.unit in _WHOLE else "a number"
            example = "" if self.default is None else f", for example {self.default:g}"
            raise MisuseError(f"{name} = {show_value(value)} is not {kind}{example}")
        if self.bound is not None and value is not None and not self.bound.holds(value):
            example = "" if self.default is None else f", for example {self.default:g}"
            raise MisuseError(f"{name} = {value} {self.bound.words}{example}")


def parameter(*, default: Value, **declaration: Any) -> Value:
    """A dataclass field with its declaration; arguments as of Parameter."""
    metadata = {_KEY: Parameter(default=default, **declaration)}
    return field(default=default, metadata=metadata)


def k_parameter(meaning: str, default: int = DEFAULT_K) -> int:
    """Declare k; meaning: the k of this method."""
    return parameter(
        default=default,
        unit="records",
        help=say("parameter.k", "The fewest records that fit one person."),
        meaning=meaning,
    )


def declared_parameters(method: Declares | type[Declares]) -> dict[str, Parameter]:
    """The declarations by name, in the order of fields."""
    return {parameter_field.name: parameter_field.metadata[_KEY] for parameter_field in fields(method)}


def is_declared(entry: Field[Any]) -> bool:
    """Whether a field was declared."""
    return isinstance(entry.metadata.get(_KEY), Parameter)


def require_declared(method: Declares) -> None:
    """Raise MisuseError for the first value that is not allowed."""
    for name, declaration in declared_parameters(method).items():
        value = getattr(method, name)
        if isinstance(value, np.generic):
            value = value.item()
            object.__setattr__(method, name, value)  # in a manifest it is a plain number
        declaration.require(name, value)


def parameter_values(method: Declares) -> dict[str, Any]:
    """All parameters, as in the manifest."""
    values = {
        name: (declaration, getattr(method, name))
        for name, declaration in declared_parameters(method).items()
    }
    return {
        name: value.summary() if declaration.street_graph and value is not None else value
        for name, (declaration, value) in values.items()
    }


def whole_multiple(coarse: float, fine: float, name: str, of: str, show: Callable[[float], str]) -> int:
    """The number of fine steps in a coarse one; raises MisuseError unless whole."""
    ratio = Fraction(repr(float(coarse))) / Fraction(repr(float(fine)))
    if ratio.denominator != 1:
        valid = [show(fine * count) for count in (int(ratio), int(ratio) + 1) if count]
        raise MisuseError(
            f"{name} = {show(coarse)} is not a multiple of the data's {of} of {show(fine)}; use "
            f"{' or '.join(valid)}"
        )
    return int(ratio)


ON, OFF = "on", "off"
ZERO: Final[Mapping[str, tuple[str, ...]]] = {"m": ("0", "0m"), "s": ("0", "0s")}
_MOST_DIGITS: Final = 10
_STEPS: Final[Mapping[str | None, tuple[tuple[str, float], ...]]] = {
    "m": (("km", 1000.0), ("m", 1.0)),
    "s": (("h", 3600.0), ("min", 60.0), ("s", 1.0)),
}


def default_text(parameter: Parameter) -> str:
    """A default as on the command line."""
    default = parameter.default
    if default is None:
        return parameter.unset
    if parameter.switch:
        return ON if default else OFF
    if parameter.spelled is not None:
        return next(text for text, value in parameter.spelled.items() if value == default)
    for unit, step in _STEPS.get(parameter.unit, ()):
        if default % step == 0 and (default or step == 1):
            return f"{default / step:g}{unit}"
    return f"{default:g}" if isinstance(default, float) else str(default)


def choices_of(parameter: Parameter) -> tuple[str, ...]:
    """Accepted texts; none where values are free."""
    if parameter.switch:
        return (OFF, ON)
    return tuple(parameter.spelled) if parameter.spelled is not None else parameter.choices


def parse_value(parameter: Parameter, text: str) -> Any:
    """The value of a text; raises MisuseError with an example."""
    if parameter.default is None and text == parameter.unset:
        return None
    choices = choices_of(parameter)
    if choices and text not in choices:
        raise MisuseError(f"'{text}' is not known; choose one of {', '.join(choices)}")
    if parameter.switch:
        return text == ON
    if parameter.spelled is not None:
        return parameter.spelled[text]
    if parameter.zero and text in ZERO.get(str(parameter.unit), ()):
        return 0.0
    return text if parameter.unit is None else _NUMBERS[parameter.unit](text)


def with_option_names(message: str, parameters: Mapping[str, Parameter]) -> str:
    """A message with options for parameters: ``start = 'halves'`` is ``--start halves``."""
    options = {name: declaration.option_of(name) for name, declaration in parameters.items()}
    options |= {option.replace("-", "_"): option for option in options.values()}
    for name, option in options.items():
        message = re.sub(rf"(?<![\w-]){name} = (?:'([\w-]+)')?", rf"--{option} \1", message)
        if "_" in name:  # a plain word may be just that
            message = re.sub(rf"(?<![\w-]){name}(?![\w-])", f"--{option}", message)
    return message


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise MisuseError(f"'{text}' is not a number; write for example 1.5") from error


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _MOST_DIGITS):
        raise MisuseError(f"'{text}' is not a whole number; write for example 5")
    return int(text)


_NUMBERS: Final[Mapping[Unit, Callable[[str], float]]] = {
    "m": length_m,
    "s": duration_s,
    "m/s": _number,
    "share": parse_share,
    "people": _whole,
    "records": _whole,
    "rounds": _whole,
    "kinds": _whole,
}
