"""Threads for what a server does at once, apart by what it costs: counting never holds up anything else."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from shoal_collect.faults import PeerError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_COUNTING, _MOST_WAITING = 2, 32
_QUICK: Final = 4
_LOOK_EVERY_S, _STALE_S, _FIRST_LOOK_S = 1.0, 10.0, 0.05


class Pools:
    """Threads for counting, for quick looks at the database, and one for /health."""

    def __init__(self) -> None:
        self._counting = anyio.CapacityLimiter(_COUNTING)
        self._quick = anyio.CapacityLimiter(_QUICK)
        self._health = anyio.CapacityLimiter(1)
        self._news = anyio.CapacityLimiter(1)
        self._looking: asyncio.Task[None] | None = None
        self._found, self._looked_s = "", -math.inf

    async def quick(
        self, work: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
    ) -> _Found:
        """Look something up."""
        return await anyio.to_thread.run_sync(lambda: work(*given, **named), limiter=self._quick)

    async def counting(
        self, work: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
    ) -> _Found:
        """Count; raise PeerError when too many wait already."""
        if self._counting.statistics().tasks_waiting >= _MOST_WAITING:
            raise PeerError("busy", "too many questions wait for their answers; try again")
        return await anyio.to_thread.run_sync(lambda: work(*given, **named), limiter=self._counting)

    async def news(self, look: Callable[[], _Found]) -> _Found:
        """Look for news."""
        return await anyio.to_thread.run_sync(look, limiter=self._news)

    async def health(self, look: Callable[[], str]) -> str:
        """Say what a look found at most a second ago; "busy" when none has come back for ten.

        Nobody waits for a look but the first who asks, and she not for long.
        """
        now_s = time.monotonic()
        if self._looking is None and now_s - self._looked_s > _LOOK_EVERY_S:
            self._looking = asyncio.create_task(self._look(look))
        if self._looked_s == -math.inf and self._looking is not None:
            await asyncio.wait({self._looking}, timeout=_FIRST_LOOK_S)
        return self._found if now_s - self._looked_s < _STALE_S or self._looking is None else "busy"

    async def _look(self, look: Callable[[], str]) -> None:
        try:
            self._found = await anyio.to_thread.run_sync(look, limiter=self._health)
            self._looked_s = time.monotonic()
        finally:
            self._looking = None
