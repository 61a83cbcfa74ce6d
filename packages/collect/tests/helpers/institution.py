"""A small OpenID provider, started in the test, that can lie in every way that a token can."""

import base64
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from fastapi import FastAPI, Request, Response

CLIENT, SECRET = "shoal-registrar", "the client's secret"


@dataclass
class Institution:
    """Who logs in next, and what is wrong with her token.

    subject: whom it says that is. claims: what is changed in tokens; None takes a claim out. key: which key
    signs, by its place in ``keys``; only the first is published.
    """

    subject: str = "ann"
    claims: dict[str, Any] = field(default_factory=dict)
    key: int = 0
    algorithm: str = "ES256"
    stated_issuer: str | None = None
    about: dict[str, Any] = field(default_factory=dict)
    issuer: str = ""
    ahead_s: float = 0.0
    requests: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        from joserfc.jwk import ECKey

        self.keys = [ECKey.generate_key("P-256", {"kid": name}) for name in ("one", "two")]
        self._codes: dict[str, dict[str, str]] = {}
        self._used: set[str] = set()

    @property
    def app(self) -> FastAPI:
        app = FastAPI()

        @app.get("/.well-known/openid-configuration")
        def configuration() -> dict[str, Any]:
            return {
                "issuer": self.stated_issuer or self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                **self.about,
            }

        @app.get("/keys")
        def keys() -> dict[str, Any]:
            return {"keys": [self.keys[0].as_dict(private=False)]}

        @app.post("/token")
        async def token(request: Request) -> Response:
            sent = dict(parse_qsl((await request.body()).decode()))
            self.requests.append(sent)
            begun = self._codes.get(sent["code"])
            made = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest())
            sound = (
                begun is not None
                and sent["code"] not in self._used
                and (sent["client_id"], sent["client_secret"]) == (CLIENT, SECRET)
                and sent["redirect_uri"] == begun["redirect_uri"]
                and made.rstrip(b"=").decode() == begun["code_challenge"]
            )
            if not sound or begun is None:
                return Response('{"error": "invalid_grant"}', 400, media_type="application/json")
            self._used.add(sent["code"])
            reply = {"id_token": self._token(begun["nonce"]), "access_token": "x", "token_type": "Bearer"}
            return Response(json.dumps(reply), media_type="application/json")

        return app

    def _token(self, nonce: str) -> str:
        from joserfc import jwt
        from joserfc.jwk import OctKey

        now = int(time.time() + self.ahead_s)
        claims: dict[str, Any] = {"iss": self.issuer, "aud": CLIENT, "sub": self.subject, "nonce": nonce}
        claims |= {"iat": now, "exp": now + 300}
        claims = {name: value for name, value in {**claims, **self.claims}.items() if value is not None}
        if self.algorithm == "none":
            parts = [json.dumps(one).encode() for one in ({"alg": "none"}, claims)]
            return ".".join([*(base64.urlsafe_b64encode(one).rstrip(b"=").decode() for one in parts), ""])
        if self.algorithm == "HS256":  # the public key as a shared secret
            public = json.dumps(self.keys[0].as_dict(private=False)).encode()
            return str(jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(public), algorithms=["HS256"]))
        key = self.keys[self.key]
        return str(jwt.encode({"alg": "ES256", "kid": self.keys[0].kid}, claims, key, algorithms=["ES256"]))

    def log_in(self, url: str) -> dict[str, str]:
        """Open the address and log in; what the browser brings back."""
        assert url.startswith(f"{self.issuer}/authorize?")
        begun = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert tuple(begun[name] for name in ("response_type", "scope", "code_challenge_method")) == (
            "code",
            "openid",
            "S256",
        )
        code = hashlib.sha256(urlencode(begun).encode() + str(len(self._codes)).encode()).hexdigest()
        self._codes[code] = begun
        return {"code": code, "state": begun["state"]}
