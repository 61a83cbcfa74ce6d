"""Parameter values as text, such as ``2km``, ``30min``, ``5%`` or ``on``, and back."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.methods.parameters import Parameter, Unit
from shoal.units import duration_s, length_m, parse_share

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
