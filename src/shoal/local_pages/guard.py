"""Access to local pages: one browser profile of one person on this machine.

- The server listens at 127.0.0.1 alone (the app, if asked, at an address of the house over TLS).
- ``Host`` must be that address, so that no name that points at it (DNS rebinding) reaches the desk.
- ``Origin`` must be the desk's own if a browser sends one, and every form must have it; ``Sec-Fetch-Site``
  must say "same-origin" or "none". So no other page can send a form or read an answer, not even one of
  another server on this machine.
- The printed address holds a token. It is exchanged for a cookie (HttpOnly, SameSite=Strict) for the desk's
  own secret path alone: cookies do not distinguish ports, but they do distinguish paths.
"""

import os
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from shoal.errors import InputError
from shoal.runtime.staging import write_private

HOST: Final = "127.0.0.1"
COOKIE: Final = "shoal-desk"
KEY_FILE: Final = "desk.key"
_MARK_BYTES: Final = 16
ELSEWHERE: Final = "the request came from another page"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # with none at all, browsers send no origin with a form
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, kw_only=True)
class Site:
    """The name of the pages, and their only address."""

    name: str = "shoal desk"
    cookie: str = COOKIE
    scheme: str = "http"
    host: str = HOST

    def authority(self, scope: "Scope") -> str:
        """The address as ``Host`` has to name it."""
        return f"{self.host}:{(scope.get('server') or (self.host, 0))[1]}"


DESK: Final = Site()


@dataclass(frozen=True)
class Keys:
    """A desk's secrets. Prefix and cookie outlive a restart."""

    prefix: str
    cookie: str
    token: str

    @classmethod
    def of(cls, folder: Path) -> "Keys":
        """Prefix and cookie from the case's folder, made and written there when absent; a fresh token."""
        file = folder / KEY_FILE
        if not file.exists():
            write_private(file, f"{secrets.token_hex(_MARK_BYTES)} {secrets.token_hex(_MARK_BYTES)}\n")
        try:
            prefix, cookie = file.read_text(encoding="ascii").split()
        except (OSError, ValueError) as error:
            raise InputError(f"{file} does not hold the keys of a desk; remove it") from error
        if file.stat().st_mode & 0o077:
            os.chmod(file, 0o600)  # noqa: PTH101  (as the rest of the case)
        return cls(prefix=prefix, cookie=cookie, token=secrets.token_urlsafe(_MARK_BYTES))

    @classmethod
    def fresh(cls) -> "Keys":
        """Keys that end with the server."""
        return cls(*(secrets.token_hex(_MARK_BYTES) for _ in range(3)))


class Guard:
    """Pass requests of the desk's pages to ``app``; refuse others.

    ``app`` sees paths without the prefix, its ``root_path``. by_token: whether the token gives access;
    otherwise only ``admission`` does.
    """

    def __init__(self, app: Application, keys: Keys, site: Site = DESK, *, by_token: bool = True) -> None:
        self._app, self._keys, self._site, self._by_token = app, keys, site, by_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no page of the desk opens a socket
            return
        prefix = f"/{self._keys.prefix}/"
        entering = self._by_token and scope["path"] == f"{prefix}enter" and scope["method"] == "GET"
        why = self._refusal(scope, prefix, entering=entering)
        if why is not None:
            await answer(send, 403, f"{self._site.name}: {why}")
        elif entering:
            await self._enter(scope, send)
        else:
            inner = {**scope, "root_path": prefix[:-1]}
            await self._app(inner, receive, _with_headers(send))

    def _refusal(self, scope: Scope, prefix: str, *, entering: bool) -> str | None:
        """Why a request is refused; None: it is not."""
        unknown = "open the address that it printed last"
        sites = _headers(scope, "sec-fetch-site")
        rules = (
            (not entering and any(site not in ("same-origin", "none") for site in sites), ELSEWHERE),
            (not scope["path"].startswith(prefix), unknown),
            (not entering and not self._knows(_headers(scope, "cookie")), unknown),
        )
        return reason_foreign(scope, self._site) or next((why for broken, why in rules if broken), None)

    def _knows(self, cookies: list[str]) -> bool:
        for text in cookies:
            try:
                morsel = SimpleCookie(text).get(self._site.cookie)
            except CookieError:
                continue
            if morsel is not None and secrets.compare_digest(
                morsel.value.encode(), self._keys.cookie.encode()
            ):
                return True
        return False

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Answer with a page that refreshes itself.

        After a redirect the browser would count the visit as cross-site and omit the cookie.
        """
        submitted = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(submitted.encode(), self._keys.token.encode()):
            await answer(
                send,
                403,
                f"{self._site.name}: this address is of an earlier start; open the one printed last",
            )
            return
        await self.admission(send)

    async def admission(self, send: Send) -> None:
        """Hand out the cookie."""
        prefix, name = f"/{self._keys.prefix}/", self._site.name
        secure = "; Secure" if self._site.scheme == "https" else ""
        cookie = f"{self._site.cookie}={self._keys.cookie}; Path={prefix}; HttpOnly; SameSite=Strict{secure}"
        page = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
            '<link rel="icon" href="data:,">'
            f'<meta http-equiv="refresh" content="0; url={prefix}"></head>'
            f'<body><p><a href="{prefix}">{name}</a></p></body></html>'
        )
        await answer(send, 200, page, {"set-cookie": cookie, "content-type": "text/html; charset=utf-8"})


def reason_foreign(scope: Scope, site: Site) -> str | None:
    """Why a request comes by another name, or from another page."""
    host, origins = site.authority(scope), _headers(scope, "origin")
    origin_here = f"{site.scheme}://{host}"
    rules = (
        (_headers(scope, "host") != [host], "this is not its address"),
        (len(origins) > 1 or any(origin != origin_here for origin in origins), ELSEWHERE),
        (scope["method"] not in ("GET", "HEAD") and not origins, "a form must come from its own pages"),
    )
    return next((why for broken, why in rules if broken), None)


def _headers(scope: Scope, name: str) -> list[str]:
    """Every value, in order. name: in lower case."""
    return [text.decode("latin-1") for header, text in scope["headers"] if header.lower() == name.encode()]


def _with_headers(send: Send) -> Send:
    async def add(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            present = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return add


async def answer(send: Send, status: int, text: str, more: dict[str, str] | None = None) -> None:
    """A text, under the headers of every page."""
    headers = {"content-type": "text/plain; charset=utf-8", **HEADERS, **(more or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": text.encode()})
