"""The parameters of the chosen method, as fields of a page: what each declares of itself and nothing else.

Shown first is what the promise names; the rest is folded away, as long as it has its default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from shoal.errors import ShoalError
from shoal.local_pages.forms import Form, RefusedError
from shoal.methods import method_named
from shoal.methods.parameter_text import OFF, ON, choices_of, default_text, parse_value, with_option_names
from shoal.methods.parameters import Parameter, declared_parameters

PREFIX: Final = "set-"
K: Final = "k"


@dataclass(frozen=True, kw_only=True)
class Field:
    """One parameter on the page.

    option: as on the command line, without dashes. bound: what a number must be, empty where its method says
    it only when asked. choices: empty where a value is written. text: what is chosen now. first: whether it
    stands outside the fold.
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
        """Of the field in forms."""
        return PREFIX + self.option


def fields_of(method: str, chosen: Mapping[str, str]) -> list[Field]:
    """Every parameter that is no street graph, which the first step names. chosen: texts by option."""
    promised = {each.name for each in fields(method_named(method).about.claim)}
    return [
        Field(
            option=option,
            help=each.help,
            bound="" if each.bound is None else each.bound.words,
            choices=choices_of(each),
            default=default_text(each),
            text=chosen.get(option, default_text(each)),
            first=name in promised or option in chosen,
        )
        for option, (name, each) in _written(method).items()
    ]


def settings_from(form: Form, method: str, chosen: Mapping[str, str]) -> dict[str, str]:
    """What a form says of the parameters, texts by option, without those that say their default.

    chosen: what holds for a parameter that the form does not have. Raises RefusedError, with a sentence for
    each field, for values that the method does not take.
    """
    own = _written(method)
    texts = {
        option: form.one(PREFIX + option) if PREFIX + option in form else chosen.get(option, "")
        for option in own
    }
    named = declared_parameters(method_named(method))
    values: dict[str, Any] = {}
    said: dict[str, str] = {}
    for option, (name, each) in own.items():
        if texts[option]:
            try:
                values[name] = parse_value(each, texts[option])
                each.require(name, values[name])
            except ShoalError as error:
                said[option] = with_option_names(error.cli_message, named)
    if not said:
        try:
            method_named(method)(**values)
        except ShoalError as error:
            sentence = with_option_names(error.cli_message, named)
            said[_named_first(sentence, own)] = sentence
    if said:
        shown = {PREFIX + option: sentence for option, sentence in said.items()}
        raise RefusedError("error.settings", field_messages=shown, n=len(shown))
    return {option: text for option, text in texts.items() if text and text != default_text(own[option][1])}


def options_of(method: str, settings: Mapping[str, str]) -> dict[str, str | bool]:
    """The same as options of the command line."""
    own = _written(method)
    return {
        option: text == ON if own[option][1].switch else text
        for option, text in settings.items()
        if not (own[option][1].switch and text not in (OFF, ON))
    }


def needs_streets(method: str) -> bool:
    """Whether a method works on a street graph."""
    return any(each.street_graph for each in declared_parameters(method_named(method)).values())


def _written(method: str) -> dict[str, tuple[str, Parameter]]:
    """Parameters that are written as text: name and declaration by option."""
    return {
        each.option_of(name): (name, each)
        for name, each in declared_parameters(method_named(method)).items()
        if not each.street_graph
    }


def _named_first(sentence: str, own: Mapping[str, tuple[str, Parameter]]) -> str:
    """The field that a complaint names first; the size of the crowd where it names none."""
    found = {option: re.search(rf"(?<![\w-])(--)?{option}(?![\w-])", sentence) for option in own}
    at = {option: match.start() for option, match in found.items() if match is not None}
    return min(at, key=lambda option: at[option]) if at else K
