"""Other devices in the house: a local address, TLS, and a code.

The certificate is made at each start and signed by no authority. Its digest is shown at the terminal;
accepting it unchecked means trusting the whole network.
"""

import datetime
import hashlib
import ipaddress
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from shoal.errors import InputError, MisuseError
from shoal.local_pages.guard import Guard, Headers, Receive, Scope, Send, Site, answer, reason_foreign
from shoal_collect.app.pages import templates

_DIGITS: Final = 8
_TRIES: Final = 5
_MOST_BYTES: Final = 200
_DAYS: Final = 30
_STYLE: Final[str] = "/desk.css"


def house_address(requested: str) -> str:
    """The requested address, or this machine's; an IPv4 address of a private network or loopback."""
    text = requested or _own_address()
    try:
        address = ipaddress.IPv4Address(text)
    except ValueError as error:
        raise MisuseError(f"'{text}' is not an IPv4 address of this machine, such as 192.168.1.5") from error
    if not address.is_private or address.is_unspecified:
        raise MisuseError(f"{text} is no address of a house; others than those in it would reach the app")
    return text


def _own_address() -> str:
    """Connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError as error:
            raise InputError("this machine is in no network; name its address with --house") from error


@contextmanager
def certificate(host: str) -> Iterator[tuple[Path, Path, str]]:
    """Yield a certificate and its key, in temporary files, and its SHA-256."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shoal in this house")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    with tempfile.TemporaryDirectory(prefix="shoal-house-") as place:  # for its owner alone
        cert_file, key_file = Path(place) / "cert.pem", Path(place) / "key.pem"
        cert_file.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        yield cert_file, key_file, shown_digest(signed.public_bytes(serialization.Encoding.DER))


def shown_digest(certificate_der: bytes) -> str:
    """A certificate's SHA-256 as browsers show it."""
    text = hashlib.sha256(certificate_der).hexdigest().upper()
    return ":".join(text[at : at + 2] for at in range(0, len(text), 2))


class Door:
    """Asks devices for the code, and lets them in to ``guard``.

    A code lets in one device; then ``show`` receives a new one. After a few wrong codes the door stays
    shut.
    """

    def __init__(self, guard: Guard, site: Site, show: Callable[[str], None]) -> None:
        self._guard, self._site, self._show = guard, site, show
        self._wrong = 0
        self._code = ""
        self._renew()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._guard(scope, receive, send)
            return
        if not _is_near(scope):
            await answer(send, 403, f"{self._site.name}: only devices in the same house come in")
            return
        asked: tuple[str, str] = (scope["method"], scope["path"])
        if asked not in (("GET", "/"), ("GET", _STYLE), ("POST", "/pair")):
            await self._guard(scope, receive, send)
            return
        why = reason_foreign(scope, Headers(scope), self._site)
        if why is not None:
            await answer(send, 403, f"{self._site.name}: {why}")
        elif asked[1] == _STYLE:
            await answer(send, 200, style(), {"content-type": "text/css; charset=utf-8"})
        elif asked[0] == "GET":
            await self._ask(send, 200, "")
        else:
            await self._take(receive, send)

    async def _take(self, receive: Receive, send: Send) -> None:
        code = "".join(parse_qs(await _short_body(receive)).get("code", [""])[0].split())
        if self._wrong >= _TRIES:
            await self._ask(
                send, 403, "Too many wrong codes. End the app on your machine, and start it again."
            )
        elif secrets.compare_digest(code.encode(), self._code.encode()):
            self._renew()
            await self._guard.admission(send)
        else:
            self._wrong += 1
            await self._ask(send, 403, "This is not the code that your machine shows now.")

    async def _ask(self, send: Send, status: int, complaint: str) -> None:
        page = templates().get_template("pair.html.j2").render(complaint=complaint, style=_STYLE)
        await answer(send, status, page, {"content-type": "text/html; charset=utf-8"})

    def _renew(self) -> None:
        self._code = "".join(secrets.choice("0123456789") for _ in range(_DIGITS))
        self._show(f"{self._code[:4]} {self._code[4:]}")


def style() -> str:
    """The style of every page."""
    from importlib.resources import files

    return files("shoal.local_pages").joinpath("static", "desk.css").read_text(encoding="utf-8")


def _is_near(scope: Scope) -> bool:
    """An unreadable address is not private."""
    try:
        return ipaddress.ip_address((scope.get("client") or ("",))[0]).is_private
    except ValueError:
        return False


async def _short_body(receive: Receive) -> str:
    """A longer body fits no code."""
    body, more = b"", True
    while more and len(body) <= _MOST_BYTES:
        message = await receive()
        if message["type"] != "http.request":
            return ""
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body[:_MOST_BYTES].decode("ascii", "replace")
