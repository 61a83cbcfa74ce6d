"""A parameter's value as people write it: ``2km``, ``30min``, ``5%``, ``on``; and back."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.methods.parameters import Parameter, Unit
from shoal.units import duration_s, length_m, share_of

ON, OFF = "on", "off"
NO_LENGTH: Final = ("0", "0m")
_MOST_DIGITS: Final = 10
_STEPS: Final[Mapping[str | None, tuple[tuple[str, float], ...]]] = {
    "m": (("km", 1000.0), ("m", 1.0)),
    "s": (("h", 3600.0), ("min", 60.0), ("s", 1.0)),
}


def default_text(parameter: Parameter) -> str:
    """A default as somebody would write it on the command line."""
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


def texts_of(parameter: Parameter) -> tuple[str, ...]:
    """The texts among which one is chosen; none where a value is written."""
    if parameter.switch:
        return (OFF, ON)
    return tuple(parameter.spelled) if parameter.spelled is not None else parameter.choices


def value_of(parameter: Parameter, text: str) -> Any:
    """The value that a text stands for; raises MisuseError, with an example, where it stands for none."""
    if parameter.default is None and text == parameter.unset:
        return None
    known = texts_of(parameter)
    if known and text not in known:
        raise MisuseError(f"'{text}' is not known; choose one of {', '.join(known)}")
    if parameter.switch:
        return text == ON
    if parameter.spelled is not None:
        return parameter.spelled[text]
    if parameter.zero and text in NO_LENGTH:
        return 0.0
    return text if parameter.unit is None else _NUMBERS[parameter.unit](text)


def in_options(message: str, named: Mapping[str, Parameter]) -> str:
    """A complaint with the options of the command line in the place of the parameters of Python.

    named: the parameters of a method. ``start = 'halves'`` becomes ``--start halves``.
    """
    options = {name: each.option_of(name) for name, each in named.items()}
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
    "share": share_of,
    "people": _whole,
    "records": _whole,
    "rounds": _whole,
}
