"""Counts and times of requests, and the log: no address, no identity, no content."""

import json
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, Final

TEXT_TYPE: Final = "text/plain; version=0.0.4"  # of Prometheus' text format
_BUCKETS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Watch:
    """Counters and times by route, and one line a request on standard error.

    Parameters
    ----------
    gauges
        What else /metrics shows, asked for each time.
    quiet
        Whether to leave out the lines.
    """

    def __init__(self, gauges: Callable[[], dict[str, float]], *, quiet: bool = False) -> None:
        self._gauges, self._quiet = gauges, quiet
        self._requests: Counter[tuple[str, int]] = Counter()
        self._below: Counter[tuple[str, float]] = Counter()
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._more: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, n: int) -> None:
        """Count something other than requests."""
        with self._lock:
            self._more[name] += n

    def fault(self, error: Exception) -> None:
        """Note a fault of our own: its type and where it arose, but not what it says."""
        self.add("faults", 1)
        where = [
            f"{Path(one.filename).name}:{one.lineno}"
            for one in traceback.extract_tb(error.__traceback__)[-1:]
        ]
        line = {"at_s": round(time.time(), 3), "fault": type(error).__name__, "where": where}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201  (the log)

    def saw(self, route: str, status: int, took_s: float, bytes_in: int, bytes_out: int) -> None:
        """Note a request that was answered; times in seconds, sizes in bytes."""
        with self._lock:
            self._requests[route, status] += 1
            self._took_s[route] += took_s
            for bucket in _BUCKETS_S:
                self._below[route, bucket] += took_s <= bucket
        if not self._quiet:
            line = {
                "at_s": round(time.time(), 3),
                "route": route,
                "status": status,
                "ms": round(1000 * took_s, 1),
            }
            line |= {"bytes_in": bytes_in, "bytes_out": bytes_out}
            print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201  (the log)

    def text(self) -> str:
        """Write all counts in Prometheus' text format."""
        gauges = self._gauges()
        with self._lock:
            lines = ["# TYPE shoal_requests_total counter"]
            lines += [
                f'shoal_requests_total{{route="{r}",status="{s}"}} {n}'
                for (r, s), n in sorted(self._requests.items())
            ]
            lines.append("# TYPE shoal_request_seconds histogram")
            for route in sorted(self._took_s):
                total = sum(n for (one, _), n in self._requests.items() if one == route)
                lines += [
                    f'shoal_request_seconds_bucket{{route="{route}",le="{b}"}} {self._below[route, b]}'
                    for b in _BUCKETS_S
                ]
                lines.append(f'shoal_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}')
                lines.append(f'shoal_request_seconds_sum{{route="{route}"}} {self._took_s[route]:.6f}')
                lines.append(f'shoal_request_seconds_count{{route="{route}"}} {total}')
            for name, n in sorted(self._more.items()):
                lines += [f"# TYPE shoal_{name}_total counter", f"shoal_{name}_total {n}"]
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE shoal_{name} gauge", f"shoal_{name} {value:g}"]
        return "\n".join(lines) + "\n"


class Watched:
    """Tells the watch about every request, by the pattern of its route and never by its address."""

    def __init__(self, app: Application, watch: Watch) -> None:
        self._app, self._watch = app, watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, size = time.perf_counter(), 500, [0, 0]

        async def counted_receive() -> MutableMapping[str, Any]:
            message = await receive()
            size[0] += len(message.get("body", b""))
            return message

        async def counted_send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            size[1] += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, counted_receive, counted_send)
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            self._watch.saw(route, status, time.perf_counter() - began, *size)
