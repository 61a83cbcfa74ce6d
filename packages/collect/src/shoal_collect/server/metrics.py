"""Figures at an address of their own, so that nobody who reaches the service can read them."""

import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Any

from fastapi import FastAPI

from shoal.errors import InputError
from shoal_collect.server.watch import TEXT_TYPE


class _Listening(socketserver.TCPServer):
    allow_reuse_address = True


@contextmanager
def metrics_at(app: FastAPI, host: str, port: int) -> Iterator[str]:
    """Answer /metrics at another address than the application's own, which no longer does.

    Parameters
    ----------
    app
        The application, from ``new_application``.
    host, port
        Where to listen; port 0 takes a free one.

    Yields
    ------
    str
        The address.

    Raises
    ------
    InputError
        If nothing can listen there.
    """
    text: Callable[[], str] = app.state.watch.text

    class Answering(BaseHTTPRequestHandler):
        timeout = 10.0

        def do_GET(self) -> None:
            """Answer with the figures, and nothing else."""
            found, body = self.path == "/metrics", b""
            status = 200 if found else 404
            if found:
                try:
                    body = text().encode()
                except (
                    Exception
                ) as error:  # whatever is wrong with the database, the next look may find it well
                    app.state.watch.fault(error)
                    status = 503
            self.send_response(status)
            self.send_header("Content-Type", TEXT_TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Keep addresses out of the log."""

    try:
        listening = _Listening((host, port), Answering)
    except OSError as error:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({error.strerror}); choose another with --metrics"
        ) from error
    app.state.has_metrics = False
    thread = Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{listening.server_address[1]}/metrics"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
