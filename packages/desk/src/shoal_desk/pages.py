"""Rendered templates: every value is escaped."""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from shoal.report.pages.frame import environment, whole_options
from shoal.report.words.numbers import count, number
from shoal.units import percent
from shoal_desk.risk import band_of, question_of
from shoal_desk.steps.whom import adversary_words
from shoal_desk.words import LANGUAGES, Words, number_in, translate

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z](?:[a-z-]*[a-z])?")


def render(template: str, words: Words, **content: Any) -> str:
    """A template in one language."""
    return (
        templates(words.language)
        .get_template(template)
        .render(
            t=words,
            languages=LANGUAGES,
            says=lambda text: _translate_output(adversary_words(text), words.language),
            said=lambda text: _translate_output(text, words.language),
            **content,
        )
    )


def _translate_output(text: str, language: str) -> "Markup":
    """Else English, marked as such."""
    from markupsafe import Markup, escape

    translation = translate(text, language)
    return (
        escape(translation) if translation is not None else Markup('<span lang="en">{}</span>').format(text)
    )


@cache
def templates(language: str = "en") -> "Environment":
    """With the numbers of a language."""
    from markupsafe import Markup, escape

    page_templates = environment("shoal_desk", question_of, band_of, whole_options)

    def written(form: Callable[[float], str]) -> Callable[[float], str]:
        return lambda value: number_in(form(value), language)

    page_templates.filters.update(
        {function.__name__: written(function) for function in (count, number, percent)}
    )

    words = Words(language)

    def field_of(option: re.Match[str]) -> str:
        label = f"reading.{option[0][2:]}"
        name = f"\u201c{escape(words(label))}\u201d" if words.has(label) else option[0]
        return f'<strong class="option">{name}</strong>'

    def options_marked(text: str) -> Markup:
        return Markup(_OPTION.sub(field_of, str(escape(text))))  # noqa: S704  (escaped before)

    page_templates.filters["options_marked"] = options_marked
    page_templates.filters["options_named"] = _OPTION.findall
    page_templates.filters["drawing"] = Markup  # SVG of desk/figures.py, whose texts are escaped there
    return page_templates
