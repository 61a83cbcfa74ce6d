"""Threads for what a server does at once, apart by what it costs: counting never holds up anything else."""

from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from shoal.collect.faults import PeerError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_COUNTING, _MOST_WAITING = 2, 32
_QUICK: Final = 4
HEALTH_S: Final = 0.05  # the rest of 100 ms is for the way


class Pools:
    """Threads for counting, for quick looks at the database, and one for /health."""

    def __init__(self) -> None:
        self._counting = anyio.CapacityLimiter(_COUNTING)
        self._quick = anyio.CapacityLimiter(_QUICK)
        self._health = anyio.CapacityLimiter(1)

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

    async def health(self, look: Callable[[], str]) -> str:
        """Look whether all is well; "busy" when that takes too long."""
        found = "busy"
        if self._health.available_tokens > 0:
            with anyio.move_on_after(HEALTH_S):
                found = await anyio.to_thread.run_sync(look, limiter=self._health, abandon_on_cancel=True)
        return found
