"""The frame of every page: one HTML file without date, path, seed, raw identifier, pseudonym or script.

Its content security policy allows no request.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from shoal.release_folder.files import PRIVATE, PUBLIC
from shoal.report.figures.drawing import Drawing
from shoal.report.figures.svg import draw_svg
from shoal.report.words import numbers, settings
from shoal.units import percent, rounded_up, show_s

if TYPE_CHECKING:
    from jinja2 import Environment

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z](?:[a-z-]*[a-z])?")

_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
)


def page(
    template: str, drawings: Mapping[str, Drawing], *, public: bool = False, package: str = "", **content: Any
) -> str:
    """Fill a template, which places drawings by name.

    public: whether it may lie in a release folder; the check of a folder refuses every other page there.
    """
    from markupsafe import Markup

    mark = Markup(PUBLIC if public else PRIVATE)  # noqa: S704  (our own text)
    return (
        _templates(package)
        .get_template(template)
        .render(policy=_POLICY, drawings=drawings, mark=mark, **content)
    )


def environment(package: str, *filters: Callable[..., Any]) -> "Environment":
    """A package's templates: every value is escaped, a missing one is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update({function.__name__: function for function in filters})
    return templates


def whole_options(text: Any) -> Any:
    """No line breaks after the hyphens of an option."""
    from markupsafe import Markup, escape

    return Markup(_OPTION.sub(r'<span class="whole">\g<0></span>', str(escape(text))))  # noqa: S704  (escaped)


@cache
def _templates(package: str) -> "Environment":
    from jinja2 import ChoiceLoader, PackageLoader

    templates = environment(
        "shoal.report",
        draw_svg,
        rounded_up,
        show_s,
        numbers.count,
        numbers.exact,
        settings.method_name,
        numbers.meters,
        numbers.number,
        percent,
        numbers.seconds,
        numbers.two_digits,
        whole_options,
    )
    if package:
        templates.loader = ChoiceLoader([PackageLoader(package), PackageLoader("shoal.report")])
    return templates
