"""The method's parameters as fields.

Those of the promise come first; others are folded away by default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from shoal.errors import ShoalError
from shoal.local_pages.forms import Form, RefusedError
from shoal.messages import name_text
from shoal.methods import method_named
from shoal.methods.glove.glove import RECOMMENDED
from shoal.methods.parameters import (
    OFF,
    ON,
    Parameter,
    choices_of,
    declared_parameters,
    default_text,
    parse_value,
    with_option_names,
)
from shoal.model.claims.hull import parse_hull
from shoal.units import length_m

PREFIX: Final = "set-"
K: Final = "k"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A parameter.

    option: without dashes. bound: empty if checked on use. choices: empty for free text. first: outside the
    fold.
    """

    option: str
    help: str
    bound: str
    choices: tuple[str, ...]
    default: str
    text: str
    first: bool

    @property
    def name(self) -> str:
        """In forms."""
        return PREFIX + self.option


def recommended_settings(method: str, cell: str) -> dict[str, str]:
    """What to propose beyond the defaults. cell: the side of a cell as typed, empty for the usual one."""
    if method != "glove":
        return {}
    settings = dict(RECOMMENDED)
    grid_m = parse_hull(settings["hull"]).grid_m or 0.0
    if cell and grid_m % length_m(cell):  # no grid of whole cells
        del settings["hull"]
    return settings


def fields_of(method: str, chosen: Mapping[str, str]) -> list[Field]:
    """Every parameter except street graphs. chosen: texts by option."""
    promised = {parameter.name for parameter in fields(method_named(method).about.claim)}
    return [
        Field(
            option=option,
            help=name_text(f"method.{method}.{name}.help", parameter.help),
            bound="" if parameter.bound is None else parameter.bound.words,
            choices=choices_of(parameter),
            default=name_text(f"method.{method}.{name}.default", default_text(parameter)),
            text=chosen.get(option, default_text(parameter)),
            first=name in promised or option in chosen,
        )
        for option, (name, parameter) in _text_parameters(method).items()
    ]


def settings_from(form: Form, method: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """The parameters in a form, without defaults.

    chosen: for others. RefusedError has a sentence per field.
    """
    parameters = _text_parameters(method)
    texts = {
        option: form.one(PREFIX + option) if PREFIX + option in form else chosen.get(option, "")
        for option in parameters
    }
    named = declared_parameters(method_named(method))
    values: dict[str, Any] = {}
    complaints: dict[str, str] = {}
    for option, (name, parameter) in parameters.items():
        if texts[option]:
            try:
                values[name] = parse_value(parameter, texts[option])
                parameter.require(name, values[name])
            except ShoalError as error:
                complaints[option] = with_option_names(error.cli_message, named)
    if not complaints:
        try:
            method_named(method)(**values)
        except ShoalError as error:
            sentence = with_option_names(error.cli_message, named)
            complaints[_first_named(sentence, parameters)] = sentence
    if complaints:
        messages = {PREFIX + option: sentence for option, sentence in complaints.items()}
        raise RefusedError("error.settings", field_messages=messages, n=len(messages))
    return {
        option: text for option, text in texts.items() if text and text != default_text(parameters[option][1])
    }


def options_of(method: str, settings: Mapping[str, str]) -> dict[str, str | bool]:
    """As options."""
    parameters = _text_parameters(method)
    return {
        option: text == ON if parameters[option][1].switch else text
        for option, text in settings.items()
        if not (parameters[option][1].switch and text not in (OFF, ON))
    }


def needs_streets(method: str) -> bool:
    """Whether it works on streets."""
    return any(parameter.street_graph for parameter in declared_parameters(method_named(method)).values())


def _text_parameters(method: str) -> dict[str, tuple[str, Parameter]]:
    """By option."""
    return {
        parameter.option_of(name): (name, parameter)
        for name, parameter in declared_parameters(method_named(method)).items()
        if not parameter.street_graph
    }


def _first_named(sentence: str, parameters: Mapping[str, tuple[str, Parameter]]) -> str:
    """The size of the crowd if none."""
    matches = {option: re.search(rf"(?<![\w-])(--)?{option}(?![\w-])", sentence) for option in parameters}
    at = {option: match.start() for option, match in matches.items() if match is not None}
    return min(at, key=lambda option: at[option]) if at else K
