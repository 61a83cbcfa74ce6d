"""Pages for people: no script, nothing loaded or stored."""

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fastapi import Response

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #ffffff; --ink: #1b2733; --quiet: #4d5a66; --line: #c3ccd4;
  --panel: #f3f6f8; --warn: #6f4400; --warn-bg: #fff4dc; }
@media (prefers-color-scheme: dark) { :root { --ground: #12181e; --ink: #e8edf2; --quiet: #b3bec8;
  --line: #3a4753; --panel: #1b242d; --warn: #ffd37a; --warn-bg: #33270f; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 17px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 16px 20px 40px; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 12px 0; }
h2 { font-size: 1.25rem; margin: 32px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
li { margin: 0 0 8px; }
.round { background: var(--panel); border-radius: 8px; padding: 4px 16px; }
.open { background: var(--warn-bg); color: var(--warn); border-radius: 8px; padding: 12px 16px 4px 34px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.9em; }
pre { background: var(--panel); border-radius: 8px; padding: 10px 14px; white-space: pre-wrap; }
input { font: inherit; padding: 8px 10px; min-height: 42px; max-width: 100%; }
button { font: inherit; font-weight: 600; padding: 8px 18px; min-height: 44px; }
.quiet { color: var(--quiet); font-size: 0.94rem; }
"""


def render(template: str, **content: Any) -> str:
    """Fill in a template."""
    return _templates().get_template(template).render(style=_STYLE, **content)


def page_response(html: str, status: int = 200, *, forms: bool = False) -> Response:
    """A page with the common headers; ``forms`` allows it to send one to this server."""
    policy = f"{_POLICY}; form-action '{'self' if forms else 'none'}'"
    headers = {"content-security-policy": policy, **_HEADERS}
    return Response(html, status, media_type="text/html", headers=headers)


_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; img-src data:; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS: Final = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader

    return Environment(
        loader=PackageLoader("shoal_collect.server"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
