"""The templates of the app's pages."""

from functools import cache
from typing import TYPE_CHECKING

from shoal.report.pages.frame import environment

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates() -> "Environment":
    """Templates, with a filter that passes SVG through."""
    from markupsafe import Markup

    loaded = environment("shoal_collect.app")
    loaded.filters["drawing"] = Markup  # SVG of drawing.py, whose texts are escaped there
    return loaded
