"""Signed requests and replies."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, Literal

from shoal_collect.crypto.signatures import require_signature, signature
from shoal_collect.faults import PeerError

SKEW_S: Final = 300.0  # a request signed longer ago, or in the future, is refused


@dataclass(frozen=True)
class Call:
    """One request, as in HTTP.

    ``to``: "collector", "authority", or "witness 1" and so on. ``poll``: only asks for news.
    """

    method: Literal["GET", "POST"]
    target: str
    body: bytes = b""
    to: str = "collector"
    poll: bool = False


@dataclass(frozen=True)
class Reply:
    """HTTP status, and body with a checked signature where required."""

    status: int
    body: bytes

    @property
    def refusal(self) -> tuple[str, str] | None:
        """Name and message of an error, if any."""
        if self.status < 400:
            return None
        try:
            document = json.loads(self.body)
            return str(document["error"]), str(document["message"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return "unavailable", f"status {self.status}"


def authorization(
    signing_seed: bytes, identity: bytes, audience: bytes, method: str, target: str, body: bytes, now_s: float
) -> str:
    """The header that signs a request for one server, ``audience``."""
    moment = f"{now_s:.3f}"
    signed = signature(
        signing_seed, b"request", _request(audience, method, target, moment, body_digest(body))
    )
    return f"Shoal {identity.hex()} {moment} {base64.b64encode(signed).decode()}"


def read_authorization(
    header: str | None, audience: bytes, method: str, target: str, digest: bytes, now_s: float
) -> bytes:
    """The sender's identity key, from the head and the body's digest.

    PeerError unless signed for this server within SKEW_S.
    """
    try:
        scheme, who, moment, signed = (header or "").split(" ")
        identity, at_s, proof = bytes.fromhex(who), float(moment), base64.b64decode(signed, validate=True)
        if scheme != "Shoal" or len(identity) != 32:
            raise ValueError(scheme)
    except (ValueError, binascii.Error) as error:
        raise PeerError(
            "bad-signature", "a request without the header 'Authorization: Shoal IDENTITY TIME SIGNATURE'"
        ) from error
    require_signature(identity, b"request", _request(audience, method, target, moment, digest), proof)
    if not abs(now_s - at_s) <= SKEW_S:
        raise PeerError(
            "clock-skew",
            f"a request signed {at_s - now_s:+.0f} s from the server's time; set the clock that is wrong",
        )
    return identity


def body_digest(body: bytes) -> bytes:
    """The signed digest; the header Shoal-Digest sends it first."""
    return hashlib.blake2b(body, digest_size=32).digest()


def answer_digest(answer: bytes) -> str:
    """By which a waiting client recognizes an answer: 32 hexadecimal digits."""
    return hashlib.blake2b(answer, digest_size=16).hexdigest()


def _request(audience: bytes, method: str, target: str, moment: str, digest: bytes) -> bytes:
    return audience + digest + f"{method} {target} {moment}".encode()


def head_digest(method: str, target: str, who: str, length: str, body: str) -> bytes:
    """What a reply signs: the head of its request, as the server read it.

    So a reply to another or changed request cannot be passed off as the reply to this one. ``who``,
    ``length``, ``body``: the headers Authorization, Content-Length ("0" without a body) and Shoal-Digest,
    or empty.
    """
    return hashlib.blake2b(json.dumps([method, target, who, length, body]).encode(), digest_size=32).digest()


def sign_reply(signing_seed: bytes, head: bytes, body: bytes) -> str:
    """The header that signs a reply to this request."""
    return signature(signing_seed, b"reply", head + body).hex()


def require_reply_signature(server_key: bytes, head: bytes, body: bytes, header: str | None) -> None:
    """Raise PeerError unless the server signed this reply to this request."""
    try:
        signed = bytes.fromhex(header or "")
    except ValueError as error:
        raise PeerError("bad-signature", "a reply whose signature is not hexadecimal") from error
    require_signature(server_key, b"reply", head + body, signed)


def read_json(body: bytes) -> Any:
    """A body as JSON; PeerError otherwise."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise PeerError("bad-frame", "a body that is not JSON") from error
