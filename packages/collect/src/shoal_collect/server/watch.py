"""Counts and times of requests, and the log: no address, no identity, no content."""

import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal_collect.roles.wire import ANSWER_BYTES, count_withheld

_BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no types


class Watch:
    """Counters and times by route, and a log; ``gauges``: read for each /metrics."""

    def __init__(self, gauges: Callable[[], dict[str, float]], *, quiet: bool = False) -> None:
        self._gauges, self._quiet = gauges, quiet
        self.registry = CollectorRegistry()
        self._requests = Counter("shoal_requests", "Requests.", ["route", "status"], registry=self.registry)
        self._seconds = Histogram(
            "shoal_request_seconds", "Durations.", ["route"], buckets=_BUCKETS_S, registry=self.registry
        )
        self._counters: dict[str, Counter] = {}
        self._lock = threading.Lock()
        self.registry.register(self)

    def add(self, name: str, n: int) -> None:
        """Count other events."""
        with self._lock:
            if name not in self._counters:
                self._counters[name] = Counter(f"shoal_{name}", f"Count of {name}.", registry=self.registry)
        self._counters[name].inc(n)

    def count_questions(self, answers: bytes) -> None:
        """Of signed answers; those that were withheld are logged."""
        n, withheld = len(answers) // ANSWER_BYTES, count_withheld(answers)
        self.add("phi_queries", n)
        self.add("withheld_answers", withheld)
        if withheld and not self._quiet:
            _log(questions=n, withheld=withheld)

    def fault(self, error: Exception) -> None:
        """Log a fault's type and place, but not its text."""
        self.add("faults", 1)
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames]
        _log(fault=type(error).__name__, where=where)

    def record_request(self, route: str, status: int, took_s: float, bytes_in: int, bytes_out: int) -> None:
        """Times in seconds, sizes in bytes."""
        self._requests.labels(route, status).inc()
        self._seconds.labels(route).observe(took_s)
        if not self._quiet:
            ms = round(1000 * took_s, 1)
            _log(route=route, status=status, ms=ms, bytes_in=bytes_in, bytes_out=bytes_out)

    def collect(self) -> Iterator[Metric]:
        """Read the gauges; none while the database is away, which is counted as a fault."""
        try:
            gauges = sorted(self._gauges().items())
        except Exception as error:  # whatever is wrong with the database, the other figures are still shown
            self.fault(error)
            return
        for name, value in gauges:
            yield GaugeMetricFamily(f"shoal_{name}", f"Number of {name}.", value)


def _log(**line: Any) -> None:
    text = json.dumps({"at_s": round(time.time(), 3), **line})
    print(text, file=sys.stderr, flush=True)  # noqa: T201  (the log)


class WatchMiddleware:
    """Reports requests by the pattern of the route, never by address."""

    def __init__(self, app: ASGIApp, watch: Watch) -> None:
        self._app, self._watch = app, watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, and count it.

        One with two lengths is refused and its connection closed: a proxy may have read the other one.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        names = [name for name, _ in scope["headers"]]
        if names.count(b"content-length") + names.count(b"transfer-encoding") > 1:
            self._watch.record_request("two lengths", 400, 0.0, 0, 0)
            head = {"type": "http.response.start", "status": 400, "headers": [(b"connection", b"close")]}
            await send(head)
            await send({"type": "http.response.body", "body": b"a request with two lengths\n"})
            return
        began, status, size = time.perf_counter(), 500, [0, 0]

        async def counted_receive() -> Message:
            message = await receive()
            size[0] += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            size[1] += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, counted_receive, counted_send)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            self._watch.record_request(route, status, time.perf_counter() - began, *size)
