"""A login with OpenID Connect (Core 1.0, the code flow with PKCE, RFC 7636); joserfc reads the tokens."""

import base64
import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx

from shoal.errors import InputError, MisuseError
from shoal_collect.faults import PeerError

_TIMEOUT_S: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_FRESH_S: Final = 3600.0
_LEEWAY_S: Final = 60
_ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_CLAIMS: Final[Mapping[str, tuple[Any, str]]] = {
    "iss": ("bad-answer", "the login is of another issuer"),
    "aud": ("wrong-receiver", "the login is for another client"),
    "nonce": ("bad-answer", "the login's token was made for another login"),
}
_OTHER: Final[tuple[Any, str]] = ("bad-answer", "the login's token does not say who has logged in, and when")

Fetch = Callable[[str, Mapping[str, str] | None], bytes]


def make_fetch(ca: Path | None = None) -> Fetch:
    """A function that sends GET, or POST with a form, without redirects; ``ca``: certificates to trust."""
    try:
        tls = ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise InputError(f"the certificates in {ca} cannot be read; give a file in PEM format") from error

    def fetch(url: str, form: Mapping[str, str] | None) -> bytes:
        content, method = bytearray(), "GET" if form is None else "POST"
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            with (
                httpx.Client(verify=tls, timeout=_TIMEOUT_S, trust_env=False) as client,
                client.stream(method, url, data=form, headers=headers) as reply,
            ):
                for part in reply.iter_raw():
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise PeerError("bad-answer", f"an answer of the login beyond {_MOST_BYTES} bytes")
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise PeerError("busy", f"the login does not answer ({type(error).__name__})") from error
        if reply.status_code != 200:
            raise PeerError(
                "bad-answer", f"the login refused with status {reply.status_code}; begin it again"
            )
        return bytes(content)

    return fetch


def require_private(url: str, what: str) -> str:
    """An address that is encrypted, or of this machine."""
    try:
        parts = urlsplit(url)
        sound = bool(parts.hostname) and parts.port != 0 and parts.username is None and url.isprintable()
    except ValueError:
        sound = False
    if not sound or not (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
        raise MisuseError(f"{url!r} is not {what}; write it like https://login.example.org")
    return url.rstrip("/")


@dataclass
class Provider:
    """An institution's login.

    ``issuer``: its address, exactly as it states it. ``client_id``, ``client_secret``: the registrar's
    registration there. ``return_to``: the registrar's own return address, as registered there.
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
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.return_to,
            "scope": "openid",
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        page = self._description()[0]["authorization_endpoint"]
        return f"{page}{'&' if '?' in page else '?'}{urlencode(query)}"

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
        reply = _read(self.fetch(self._description()[0]["token_endpoint"], form))
        return self._subject(str(reply.get("id_token", "")), nonce)

    def _subject(self, token: str, nonce: str) -> str:
        from joserfc import errors, jwt

        try:
            try:
                decoded = jwt.decode(token, self._description()[1], algorithms=list(_ALGORITHMS))
            except (errors.InvalidKeyIdError, errors.BadSignatureError):  # it may have new keys
                keys = self._description(refresh=True)[1]
                decoded = jwt.decode(token, keys, algorithms=list(_ALGORITHMS))
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
        audience, subject = decoded.claims["aud"], decoded.claims["sub"]
        several = isinstance(audience, list) and len(audience) > 1
        if several and decoded.claims.get("azp") != self.client_id:
            raise PeerError(*_CLAIMS["aud"])
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise PeerError(*_OTHER)
        return subject

    def _description(self, *, refresh: bool = False) -> tuple[dict[str, Any], Any]:
        """Its addresses and keys, an hour old at most."""
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        now_s = self.clock()
        if self._cached is None or refresh or not 0 <= now_s - self._cached[0] < _FRESH_S:
            about = _read(self.fetch(f"{self.issuer.rstrip('/')}/.well-known/openid-configuration", None))
            if about.get("issuer") != self.issuer:
                raise PeerError(*_CLAIMS["iss"])
            try:
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
                    require_private(str(about.get(name)), "the address of a login")
                keys = KeySet.import_key_set(_read(self.fetch(about["jwks_uri"], None)))
            except (MisuseError, JoseError, ValueError, TypeError, KeyError) as error:
                raise PeerError(
                    "bad-answer", "the login does not describe itself; ask its operator"
                ) from error
            self._cached = now_s, about, keys
        return self._cached[1:]


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
