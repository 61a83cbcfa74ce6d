"""A login with OpenID Connect (Core 1.0, the code flow with PKCE, RFC 7636); joserfc reads the tokens."""

import base64
import hashlib
import hmac
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from shoal.errors import InputError, MisuseError
from shoal_collect.faults import PeerError

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_FRESH_S: Final = 3600.0
_LEEWAY_S: Final = 60
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")

Fetch = Callable[[str, str, Mapping[str, str] | None, Mapping[str, str]], bytes]


def make_fetch(ca: Path | None = None) -> Fetch:
    """A function for requests: HTTPS except to this machine, no redirects."""

    def fetch(method: str, url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]) -> bytes:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        try:
            line: http.client.HTTPConnection
            if parts.scheme == "https":
                tls = ssl.create_default_context(cafile=ca)
                line = http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=tls)
            else:
                line = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S)
            body = None if form is None else urlencode(form)
            kind = {} if form is None else {"Content-Type": "application/x-www-form-urlencoded"}
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            try:
                line.request(method, target, body, {"Accept": "application/json", **kind, **headers})
                reply = line.getresponse()
                content = reply.read(_MOST_BYTES + 1)
            finally:
                line.close()
        except (OSError, http.client.HTTPException) as error:
            raise PeerError("busy", f"the login does not answer ({type(error).__name__})") from error
        if reply.status != 200 or len(content) > _MOST_BYTES:
            raise PeerError("bad-answer", f"the login refused with status {reply.status}; begin it again")
        return content

    return fetch


def require_private(url: str, what: str) -> str:
    """An address that is encrypted or here."""
    parts = urlsplit(url)
    encrypted = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not encrypted or not parts.hostname or not url.isprintable() or parts.username is not None:
        raise MisuseError(f"{url!r} is not {what}; write it like https://login.example.org")
    return url.rstrip("/")


@dataclass
class Provider:
    """An institution's login.

    Parameters
    ----------
    issuer
        Its address, exactly as it states it.
    client_id, client_secret
        The registrar's registration there.
    return_to
        The registrar's own return address, as registered there.
    fetch
        Makes requests.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    return_to: str
    fetch: Fetch = field(default_factory=make_fetch, repr=False)
    clock: Callable[[], float] = time.time
    _cached: tuple[float, dict[str, Any], Any] | None = field(default=None, repr=False)

    def address(self, state: str, nonce: str, verifier: str) -> str:
        """The login page."""
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.return_to,
            "scope": "openid",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        where = self._about()["authorization_endpoint"]
        return f"{where}{'&' if '?' in where else '?'}{urlencode(asked)}"

    def subject_of(self, code: str, nonce: str, verifier: str) -> str:
        """The institution's name of the person, for a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.return_to,
            "client_id": self.client_id,
            "client_secret": self.client_secret,
            "code_verifier": verifier,
        }
        reply = _read(self.fetch("POST", self._about()["token_endpoint"], form, {}))
        return self._subject(str(reply.get("id_token", "")), nonce)

    def _subject(self, token: str, nonce: str) -> str:
        from joserfc import errors, jwt

        try:
            try:
                decoded = jwt.decode(token, self._keys(), algorithms=list(_ALGORITHMS))
            except (errors.InvalidKeyIdError, errors.BadSignatureError):
                decoded = jwt.decode(token, self._keys(refresh=True), algorithms=list(_ALGORITHMS))
            jwt.JWTClaimsRegistry(
                now=int(self.clock()),
                leeway=_LEEWAY_S,
                iss={"essential": True, "value": self.issuer},
                aud={"essential": True, "value": self.client_id},
                nonce={"essential": True, "value": nonce},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
            ).validate(decoded.claims)
        except errors.ExpiredTokenError as error:
            raise PeerError("too-late", "the login's token is over; begin the login again") from error
        except (errors.MissingClaimError, errors.InvalidClaimError) as error:
            raise PeerError(*_CLAIMS.get(str(error.claim), _OTHER)) from error
        except (errors.JoseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise PeerError("bad-signature", "the login's token is not signed by its keys") from error
        claims = decoded.claims
        audience = claims["aud"]
        if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != self.client_id:
            raise PeerError(*_CLAIMS["aud"])
        subject = claims["sub"]
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise PeerError(*_OTHER)
        return subject

    def _about(self) -> dict[str, Any]:
        return self._state()[1]

    def _keys(self, *, refresh: bool = False) -> Any:
        return self._state(refresh=refresh)[2]

    def _state(self, *, refresh: bool = False) -> tuple[float, dict[str, Any], Any]:
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        now_s = self.clock()
        if self._cached is None or refresh or not 0 <= now_s - self._cached[0] < _FRESH_S:
            about = _read(self.fetch("GET", f"{self.issuer}/.well-known/openid-configuration", None, {}))
            if about.get("issuer") != self.issuer:
                raise PeerError(*_CLAIMS["iss"])
            try:
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    about[name] = require_private(str(about.get(name)), "the address of a login")
                keys = KeySet.import_key_set(_read(self.fetch("GET", about["jwks_uri"], None, {})))
            except (MisuseError, JoseError, ValueError, TypeError, KeyError) as error:
                raise PeerError(
                    "bad-answer", "the login does not describe itself; ask its operator"
                ) from error
            self._cached = now_s, about, keys
        return self._cached


_CLAIMS: Final[Mapping[str, tuple[Any, str]]] = {
    "iss": ("bad-answer", "the login is of another issuer"),
    "aud": ("wrong-receiver", "the login is for another client"),
    "nonce": ("bad-answer", "the login's token was made for another login"),
}
_OTHER: Final[tuple[Any, str]] = ("bad-answer", "the login's token does not say who has logged in, and when")


def _read(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PeerError("bad-answer", "the login's answer is no JSON") from error
    if not isinstance(document, dict):
        raise PeerError("bad-answer", "the login's answer is no JSON object")
    return document


@dataclass(frozen=True)
class LoginKeys:
    """A registrar's secrets for logins."""

    seed: bytes = field(repr=False)

    def nonce(self, state: str) -> str:
        """The nonce of this login's token."""
        return self._derive(b"nonce", state.encode()).hex()

    def verifier(self, state: str) -> str:
        """The secret of PKCE."""
        return self._derive(b"verifier", state.encode()).hex()

    def number(self, state: str) -> str:
        """The number on the device and for the registrar's page."""
        return f"{int.from_bytes(self._derive(b'number', state.encode())[:8]) % 10**6:06}"

    def person(self, issuer: str, subject: str) -> bytes:
        """A keyed digest that stands for a person."""
        return self._derive(b"person", json.dumps([issuer, subject]).encode())

    def _derive(self, what: bytes, text: bytes) -> bytes:
        return hmac.digest(self.seed, b"shoal login " + what + b"\0" + text, "sha256")


def secret_from(file: Path | None, environment: str | None) -> str:
    """The client's secret from a file or a variable."""
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read; give the file with the client's secret") from error
    else:
        text = (environment or "").strip()
    if not text:
        raise InputError("no secret of the client; give --login-secret FILE, or set SHOAL_LOGIN_SECRET")
    return text
