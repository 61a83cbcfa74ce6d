"""The frame of every page: a template filled in, the drawing library, and a policy that allows no request.

A page is one self-contained HTML file. It states no time of making, no path, no seed, no raw identifier and
no pseudonym. Its content security policy allows the two scripts it carries, by their hashes, nothing else.
"""

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.model.plotting import Drawing
from shoal.release_folder.page_mark import PRIVATE, PUBLIC, drawing_library
from shoal.report.words import numbers, settings
from shoal.units import show_s

if TYPE_CHECKING:
    from jinja2 import Environment

DRAW = """
const draw = () => document.querySelectorAll('script[data-figure]').forEach(source => {
  const spec = JSON.parse(source.textContent);
  const settings = {responsive: true, displayModeBar: false, displaylogo: false};
  Plotly.newPlot(source.dataset.figure, spec.data, spec.layout, settings);
});
const fit = () => document.querySelectorAll('.plot').forEach(plot => Plotly.Plots.resize(plot));
window.addEventListener('beforeprint', fit);
window.addEventListener('afterprint', fit);
draw();
"""


def page(template: str, drawings: dict[str, Drawing], *, public: bool = False, **content: Any) -> str:
    """A template filled in, with the drawing library and the drawings as data beside it.

    public: whether it may lie in a release folder; the check of a folder refuses every other page there.
    """
    from markupsafe import Markup

    library = drawing_library()
    policy = (
        f"default-src 'none'; script-src '{_hash(library)}' '{_hash(DRAW)}'; style-src 'unsafe-inline'; "
        "img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    specs = {name: Markup(_script_of(one)) for name, one in drawings.items()}  # noqa: S704  (as JSON)
    # both are our own text, and must stay as they are
    mark = PUBLIC if public else PRIVATE
    trusted = {"library": Markup(library), "draw": Markup(DRAW), "mark": Markup(mark)}  # noqa: S704
    return _templates().get_template(template).render(policy=policy, drawings=specs, **trusted, **content)


def _script_of(drawing: Drawing) -> str:
    """A drawing as JSON in which no tag can end the script that holds it."""
    return drawing.to_json().replace("<", "\\u003c")


@cache
def _hash(script: str) -> str:
    """As a content security policy names a script it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown: tuple[Callable[..., Any], ...] = (
        show_s,
        numbers.count,
        numbers.exact,
        settings.method_name,
        numbers.meters,
        numbers.number,
        numbers.percent,
        numbers.seconds,
    )
    for function in shown:
        templates.filters[function.__name__] = function
    return templates
