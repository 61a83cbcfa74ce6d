"""Metrics at a separate address."""

import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Thread
from typing import Any

from fastapi import FastAPI

from shoal.errors import InputError
from shoal_collect.server.watch import TEXT_TYPE


class _MetricsServer(socketserver.TCPServer):
    allow_reuse_address = True


@contextmanager
def metrics_at(app: FastAPI, host: str, port: int) -> Iterator[str]:
    """Serve /metrics of ``app`` at this address; yield its URL (port 0: any free one)."""
    text: Callable[[], str] = app.state.watch.text

    class MetricsHandler(BaseHTTPRequestHandler):
        timeout = 10.0

        def do_GET(self) -> None:
            is_metrics, body = self.path == "/metrics", b""
            status = 200 if is_metrics else 404
            if is_metrics:
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
        listening = _MetricsServer((host, port), MetricsHandler)
    except OSError as error:
        raise InputError(
            f"nothing can listen at {host}, port {port} ({error.strerror}); choose another with --metrics"
        ) from error
    thread = Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{listening.server_address[1]}/metrics"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()
