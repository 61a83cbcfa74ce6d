"""Templates filled in: every value is escaped, every sentence comes from a file of messages."""

from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.desk.risk import band_of, question_of
from shoal.desk.steps.whom import adversary_words
from shoal.desk.words import LANGUAGES, Words
from shoal.report.words.numbers import count, meters, percent, seconds

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, words: Words, **content: Any) -> str:
    """A template in one language."""
    return (
        _templates()
        .get_template(template)
        .render(t=words, languages=LANGUAGES, says=lambda text: adversary_words(text, words), **content)
    )


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    templates = Environment(
        loader=PackageLoader("shoal.desk"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for function in (count, percent, meters, seconds, question_of, band_of):
        templates.filters[function.__name__] = function
    templates.filters["drawing"] = Markup  # SVG of desk/figures.py, whose texts are escaped there
    return templates
