"""Somebody on the way between a device and a server: reads everything, and passes on what the test says."""

import http.client
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

_PASSED_ON = ("authorization", "shoal-digest", "shoal-signature", "content-type")


@dataclass(frozen=True)
class Sent:
    """A request, as a device or the one on the way sends it."""

    method: str
    target: str
    body: bytes
    headers: Mapping[str, str]

    def to(self, url: str) -> "Said":
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        try:
            connection.request(self.method, self.target, self.body or None, dict(self.headers))
            response = connection.getresponse()
            return Said(response.status, response.read(), _some(response.headers))
        finally:
            connection.close()

    def but(self, **changed: str) -> "Sent":
        """The same with other headers; an empty one is left out."""
        headers = {**self.headers, **{name.replace("_", "-"): text for name, text in changed.items()}}
        return replace(self, headers={name: text for name, text in headers.items() if text})


@dataclass(frozen=True)
class Said:
    """A reply."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def _some(headers: "Message[str, str]") -> dict[str, str]:
    return {name.lower(): text for name, text in headers.items() if name.lower() in _PASSED_ON}


@contextmanager
def on_the_way(passed_on: Callable[[Sent], Said]) -> Iterator[str]:
    """The address of somebody who answers with what the function returns."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            said = passed_on(Sent(self.command, self.path, body, _some(self.headers)))
            self.send_response(said.status)
            for name, text in said.headers.items():
                self.send_header(name, text)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
