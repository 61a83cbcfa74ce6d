"""The collector's page: purpose, terms, the open round, how to take part.

No script, and nothing of members. Its sentences on terms are those of the consent.
"""

import base64
import hashlib
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from fastapi import Response

from shoal_collect.roles.consent import OPEN, SHARED, describe_collector, describe_terms
from shoal_collect.roles.terms import Terms, read_terms

_KEPT_S: Final = 5.0  # a page is drawn at most so often, whoever asks for it


class PeoplePage:
    """The page, rendered every few seconds.

    ``open_round``: the public state at a time; ``down``: errors of a database that is away.
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
        """The page at this time."""
        drawn = self._drawn
        fresh = drawn is not None and 0 <= now_s - drawn[0] < _KEPT_S and drawn[1] == terms
        # while somebody else draws it anew, the last page does: a slow database holds up one visitor
        if not fresh and self._lock.acquire(blocking=drawn is None):
            try:
                if self._drawn is drawn:
                    self._drawn = now_s, terms, self._draw(now_s, terms)
            finally:
                self._lock.release()
        if self._drawn is None:
            raise AssertionError("somebody has drawn it")
        return Response(self._drawn[2], media_type="text/html", headers=_look()[1])

    def _draw(self, now_s: float, terms: Terms) -> str:
        standing: dict[str, Any] | None
        try:
            standing = self._open_round(now_s)
            terms = read_terms(standing["terms"])
        except self._down:
            standing = None
        return str(
            _look()[0].render(
                stated=describe_collector(terms),
                shared=SHARED,
                terms=describe_terms(terms),
                still_open=OPEN,
                round=None if standing is None else round_in_words(standing, self._round_size, terms.enough),
                key=self._key.hex(),
                authority=self._authority,
                registrar=terms.registrar,
            )
        )


def round_in_words(standing: dict[str, Any], round_size: int, enough: int) -> str:
    """The open round; how many have joined it is for its members."""
    until = np.datetime64(int(standing["deadline_s"]), "s")
    clock = str(until).replace("T", " ")[:16]
    return (
        f"A round is open. It starts when {round_size} people have joined. From {clock} (UTC) on it starts "
        f"with {enough}."
    )


@cache
def _look() -> tuple[Any, dict[str, str]]:
    """The template with its style, and the headers: no script, nothing loaded, stored or sent."""
    from jinja2 import Environment, PackageLoader

    files = Environment(
        loader=PackageLoader("shoal_collect.server"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    style = files.get_template("people.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    headers = {
        "content-security-policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cache-control": "no-store",
    }
    return files.get_template("people.html.j2", globals={"style": style}), headers
