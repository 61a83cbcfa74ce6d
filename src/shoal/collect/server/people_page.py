"""The collector's page for people: what it is, what is shared, its terms, the open round, how to take part.

It holds no script, asks for nothing, and says nothing of anybody but how many people have joined the open
round, which the collector tells everybody. Its sentences on the terms are those of the consent.
"""

import base64
import hashlib
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from fastapi import Response

from shoal.collect.roles.consent import OPEN, SHARED, stated, terms_in_words
from shoal.collect.roles.terms import Terms, read_terms

if TYPE_CHECKING:
    from jinja2 import Environment

_KEPT_S: Final = 5.0  # a page is drawn at most so often, whoever asks for it

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
.quiet { color: var(--quiet); font-size: 0.94rem; }
"""


class PeoplePage:
    """The page, drawn anew when it is older than a few seconds.

    Parameters
    ----------
    key
        The collector's public key, 32 bytes.
    open_round
        Says what anybody may know of the open round, at a time in seconds since 1970.
    round_size
        A roster freezes with so many members.
    authority
        The address of the authority; empty where it was not stated.
    down
        The errors of a database that does not answer.
    """

    def __init__(
        self,
        key: bytes,
        open_round: Callable[[float], dict[str, Any]],
        round_size: int,
        authority: str,
        down: tuple[type[Exception], ...],
    ) -> None:
        self._key, self._open_round, self._round_size = key, open_round, round_size
        self._authority, self._down = authority, down
        self._lock = threading.Lock()
        self._drawn: tuple[float, Terms, str] | None = None

    def at(self, now_s: float, terms: Terms) -> Response:
        """Return the page as it is now, with the terms of a round that opens now."""
        with self._lock:
            if self._drawn is None or not 0 <= now_s - self._drawn[0] < _KEPT_S or self._drawn[1] != terms:
                self._drawn = now_s, terms, self._draw(now_s, terms)
            html = self._drawn[2]
        return Response(html, media_type="text/html", headers=_HEADERS)

    def _draw(self, now_s: float, terms: Terms) -> str:
        standing: dict[str, Any] | None
        try:
            standing = self._open_round(now_s)
            terms = read_terms(standing["terms"])
        except self._down:
            standing = None
        return (
            _templates()
            .get_template("people.html.j2")
            .render(
                style=_STYLE,
                stated=stated(terms),
                shared=SHARED,
                terms=terms_in_words(terms),
                still_open=OPEN,
                round=None if standing is None else round_in_words(standing, self._round_size, terms.enough),
                key=self._key.hex(),
                authority=self._authority,
                registrar=terms.registrar,
            )
        )


def round_in_words(standing: dict[str, Any], round_size: int, enough: int) -> str:
    """Say how far the open round is, from what anybody may know of it."""
    joined, until = int(standing["members"]), np.datetime64(int(standing["deadline_s"]), "s")
    so_far = {0: "Nobody has joined it yet.", 1: "1 person has joined it."}.get(
        joined, f"{joined} people have joined it."
    )
    clock = str(until).replace("T", " ")[:16]
    return (
        f"A round is open. {so_far} It starts when {round_size} people have joined. From {clock} "
        f"(UTC) on it starts with {enough}."
    )


def _policy() -> str:
    """A page of its own, which loads and sends nothing."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


_HEADERS: Final = {
    "content-security-policy": _policy(),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("shoal.collect.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
