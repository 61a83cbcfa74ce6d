"""Requests that wait for news: each is held until its answer has changed.

One query every fifth of a second finds news, from all processes of the collector. Nothing lasts: when a
process ends, its clients ask again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from shoal_collect.faults import PeerError
from shoal_collect.roles.wire import answer_digest
from shoal_collect.server.pools import Pools
from shoal_collect.server.rounds import Rounds
from shoal_collect.storage.database import Database

MOST_WAIT_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.2
_MOVE_EVERY_S: Final = 1.0
_LOTTERY: Final = "('joining', 'committing', 'revealing')"


class News:
    """Waiting requests by subject; on the event loop alone, except ``look``."""

    def __init__(self, database: Database, rounds: Rounds, pools: Pools, clock: Callable[[], float]) -> None:
        self._db, self._rounds, self._pools, self._clock = database, rounds, pools, clock
        self._waiting: defaultdict[bytes, set[asyncio.Event]] = defaultdict(set)
        self._watching: asyncio.Task[None] | None = None
        self._last: int | None = None  # the number of the newest letter that was seen
        self._phases: dict[bytes, tuple[str, int]] = {}
        self._moved_s = 0.0
        self._over = False

    @property
    def n_waiting(self) -> int:
        """The number of waiting requests."""
        return sum(map(len, self._waiting.values()))

    async def wait_for(
        self, about: bytes, wait_s: float, seen: str, answer: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """Answer as soon as the answer differs from the last one.

        ``about``: an identity whose letters, or the name of a round. ``seen``: the ``answer_digest`` of the
        last answer. PeerError for a wait beyond MOST_WAIT_S.
        """
        if not 0 <= wait_s <= MOST_WAIT_S:
            raise PeerError("out-of-range", f"a wait of another length than 0 to {MOST_WAIT_S:.0f} s")
        until_s = asyncio.get_running_loop().time() + (0.0 if self._over else wait_s)
        while True:
            bell = asyncio.Event()
            self._waiting[about].add(bell)  # before the look, so that nothing falls between them
            try:
                content = await answer()
                left_s = until_s - asyncio.get_running_loop().time()
                if self._over or left_s <= 0 or answer_digest(content) != seen:
                    return content
                if self._watching is None:
                    self._watching = asyncio.create_task(self._watch())
                try:
                    await asyncio.wait_for(bell.wait(), left_s)
                except TimeoutError:
                    return content
            finally:
                self._waiting[about].discard(bell)
                if not self._waiting[about]:
                    del self._waiting[about]

    def release(self) -> None:
        """Answer all: the server is about to stop."""
        self._over = True
        for bells in self._waiting.values():
            for bell in bells:
                bell.set()

    async def _watch(self) -> None:
        self._last = None
        try:
            while self._waiting:
                try:
                    news = await self._pools.news(self.look)
                except Exception:  # whoever waits is told by her own request what is wrong with the database
                    news = list(self._waiting)
                for about in news:
                    for bell in self._waiting.get(about, ()):
                        bell.set()
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            self._watching = None

    def look(self) -> Iterable[bytes]:
        """Subjects with news since the last look; at first all."""
        phases: dict[bytes, tuple[str, int]] = {}
        now_s = self._clock()
        is_due = abs(now_s - self._moved_s) >= _MOVE_EVERY_S
        with self._db.snapshot():
            newest = int(self._db.rows("SELECT COALESCE(MAX(id), 0) FROM letter")[0][0])
            is_new = self._last is not None and newest != self._last
            statement = "SELECT DISTINCT owner FROM letter WHERE id > ?"
            owners = self._db.rows(statement, (self._last,)) if is_new else []
            rounds = self._db.rows(
                f"SELECT name, phase, restarts, deadline_s FROM round WHERE phase IN {_LOTTERY}"  # noqa: S608  (names of ours)
            )
        for name, phase, restarts, deadline_s in rounds:
            phases[bytes(name)] = str(phase), int(restarts)
            if is_due and now_s > deadline_s:
                self._moved_s = now_s
                self._rounds.move_on(bytes(name), now_s)  # the next look sees what became of it
        if self._last is None:
            news = set(self._waiting)
        else:
            moved = {
                name for name in self._phases.keys() | phases if self._phases.get(name) != phases.get(name)
            }
            news = moved | {bytes(row[0]) for row in owners}
        self._last, self._phases = newest, phases
        return news
