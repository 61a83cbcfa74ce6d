"""A network of messages inside one process.

It is perfect, unless a subclass loses, copies, delays or damages messages. Time is a number that the network
counts; nothing waits.
"""

import heapq
import itertools
import math
from collections.abc import Sequence
from typing import Final

from shoal_collect.mix.member import PHASE_LIMIT_S, AbortedRun, Broadcast, Member, OpenedRecords, Output

SERVER: Final = b"server"


class Network:
    """A perfect network; parties are identified by their identity keys, and the server has none.

    ``limit_s``: the time limit for a message, in seconds.
    """

    def __init__(self, limit_s: float = PHASE_LIMIT_S) -> None:
        self.now_s, self.limit_s = 0.0, limit_s

    def copies(self, sender: bytes, receiver: bytes, text: bytes) -> Sequence[tuple[float, bytes]]:
        """Return delay in seconds and bytes of each arriving copy of one message."""
        del sender, receiver
        return [(0.0, text)]

    def alive(self, party: bytes) -> bool:
        """Check whether a party still takes part."""
        del party
        return True

    def arrivals(self, sender: bytes, receiver: bytes, text: bytes) -> int:
        """Count the copies of a signed message that arrive in time and undamaged."""
        if not (self.alive(sender) and self.alive(receiver)):
            return 0
        return sum(
            delay_s <= self.limit_s and arrived == text
            for delay_s, arrived in self.copies(sender, receiver, text)
        )

    def run(self, machines: Sequence[Member]) -> list[OpenedRecords | AbortedRun | None]:
        """Carry the messages of one mix run; it ends at the latest when each phase has timed out.

        Returns each member's outcome; None for a vanished one.
        """
        run = _Run(self, machines)
        run.start()
        while waiting := run.waiting():
            run.step(waiting)
        return run.outcomes


class _Run:
    """The messages of one mix run in transit."""

    def __init__(self, network: Network, machines: Sequence[Member]) -> None:
        self.outcomes: list[OpenedRecords | AbortedRun | None] = [None] * len(machines)
        self._network, self._machines, self._identities = network, machines, machines[0].session.identities
        self._on_the_way: list[tuple[float, int, int, bytes]] = []
        self._numbers = itertools.count()

    def start(self) -> None:
        for place, machine in enumerate(self._machines):
            if self._network.alive(self._identities[place]):
                self._took(place, machine.start(self._network.now_s))

    def waiting(self) -> list[int]:
        """Present members without an outcome yet."""
        return [
            i
            for i, outcome in enumerate(self.outcomes)
            if outcome is None and self._network.alive(self._identities[i])
        ]

    def step(self, waiting: Sequence[int]) -> None:
        """The next message arrives, or else the next time limit passes."""
        limit_s = min(self._machines[place].deadline_s for place in waiting)
        if self._on_the_way and self._on_the_way[0][0] <= limit_s:
            arrives_s, _, place, frame = heapq.heappop(self._on_the_way)
            self._network.now_s = max(self._network.now_s, arrives_s)
            if self._network.alive(self._identities[place]):
                self._took(place, self._machines[place].receive(frame, self._network.now_s))
            return
        self._network.now_s = math.nextafter(max(self._network.now_s, limit_s), math.inf)
        for place in waiting:
            if self._network.alive(self._identities[place]):
                self._took(place, self._machines[place].tick(self._network.now_s))

    def _took(self, place: int, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if isinstance(output, Broadcast):
                self._send(place, output.frame)
            elif isinstance(output, OpenedRecords | AbortedRun):
                self.outcomes[place] = output

    def _send(self, place: int, frame: bytes) -> None:
        now_s, sender = self._network.now_s, self._identities[place]
        for other, identity in enumerate(self._identities):
            if other != place:
                for delay_s, arrived in self._network.copies(sender, identity, frame):
                    heapq.heappush(self._on_the_way, (now_s + delay_s, next(self._numbers), other, arrived))
