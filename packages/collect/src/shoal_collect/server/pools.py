"""Threads by cost: counting never delays other work."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from shoal_collect.faults import PeerError

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_COUNTING, _MOST_WAITING = 2, 32
_QUICK: Final = 4
_LOOK_EVERY_S, _STALE_S, _WAIT_S, _LONG_WAIT_S = 1.0, 10.0, 0.05, 2.0


class Pools:
    """For counting, quick queries, news, and /health."""

    def __init__(self) -> None:
        self._counting = anyio.CapacityLimiter(_COUNTING)
        self._quick = anyio.CapacityLimiter(_QUICK)
        self._health = anyio.CapacityLimiter(1)
        self._news = anyio.CapacityLimiter(1)
        self._looking: asyncio.Task[None] | None = None
        self._trouble, self._looked_s = "", -math.inf

    async def quick(
        self, work: Callable[_Params, _Result], *positional: _Params.args, **keywords: _Params.kwargs
    ) -> _Result:
        """Run a quick query."""
        return await anyio.to_thread.run_sync(lambda: work(*positional, **keywords), limiter=self._quick)

    async def counting(
        self, work: Callable[_Params, _Result], *positional: _Params.args, **keywords: _Params.kwargs
    ) -> _Result:
        """Count; PeerError when the queue is full."""
        if self._counting.statistics().tasks_waiting >= _MOST_WAITING:
            raise PeerError("busy", "too many questions wait for their answers; try again")
        return await anyio.to_thread.run_sync(lambda: work(*positional, **keywords), limiter=self._counting)

    async def news(self, look: Callable[[], _Result]) -> _Result:
        """Look for news."""
        return await anyio.to_thread.run_sync(look, limiter=self._news)

    async def health(self, look: Callable[[], str]) -> str:
        """A check at most a second old, or ten while one runs; "busy" when none has ended for longer.

        It waits for a running check, briefly where the last one is not stale.
        """
        now_s = time.monotonic()
        if self._looking is None and now_s - self._looked_s > _LOOK_EVERY_S:
            self._looking = asyncio.create_task(self._look(look))
        if self._looking is not None:
            stale = now_s - self._looked_s >= _STALE_S
            await asyncio.wait({self._looking}, timeout=_LONG_WAIT_S if stale else _WAIT_S)
        return self._trouble if time.monotonic() - self._looked_s < _STALE_S else "busy"

    async def _look(self, look: Callable[[], str]) -> None:
        try:
            self._trouble = await anyio.to_thread.run_sync(look, limiter=self._health)
            self._looked_s = time.monotonic()
        finally:
            self._looking = None
