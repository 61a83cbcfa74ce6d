"""Templates filled in: every value is escaped, every sentence comes from a file of messages."""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from shoal.report.pages.frame import environment
from shoal.report.words.numbers import count, number, percent
from shoal_desk.library import translated
from shoal_desk.risk import band_of, question_of
from shoal_desk.steps.whom import adversary_words
from shoal_desk.words import LANGUAGES, Words, number_in

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
            says=lambda text: _said(adversary_words(text), words.language),
            said=lambda text: _said(text, words.language),
            **content,
        )
    )


def _said(text: str, language: str) -> "Markup":
    """What shoal printed, in the language of the page; where nobody said it so, in English and marked so."""
    from markupsafe import Markup, escape

    known = translated(text, language)
    return escape(known) if known is not None else Markup('<span lang="en">{}</span>').format(text)


@cache
def templates(language: str = "en") -> "Environment":
    """All templates of the desk and of the app of participants, with numbers as a language has them."""
    from markupsafe import Markup, escape

    found = environment("shoal_desk", question_of, band_of)

    def written(form: Callable[[float], str]) -> Callable[[float], str]:
        return lambda value: number_in(form(value), language)

    found.filters.update({each.__name__: written(each) for each in (count, number, percent)})

    def options_marked(text: str) -> Markup:
        """A complaint, its options kept in one piece each."""
        return Markup(_OPTION.sub(r'<code class="option">\g<0></code>', str(escape(text))))  # noqa: S704

    found.filters["options_marked"] = options_marked
    found.filters["options_named"] = _OPTION.findall
    found.filters["drawing"] = Markup  # SVG of desk/figures.py, whose texts are escaped there
    return found
