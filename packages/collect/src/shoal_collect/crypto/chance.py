"""Randomness that anyone with its seed can replay: a mixer whose seed is public can be recomputed."""

import hashlib
from collections.abc import Sequence
from typing import Final

from shoal.errors import MisuseError
from shoal_collect.crypto.hashing import hash_of

SEED_BYTES: Final = 32
_BLOCK_BYTES: Final = 4096


class Chance:
    """SHAKE256(seed, block number), in order."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise MisuseError(
                f"a seed of {len(seed)} bytes; draw {SEED_BYTES} bytes from the operating system"
            )
        self._seed = seed
        self._block = 0
        self._left = b""

    def take(self, n: int) -> bytes:
        """The next ``n`` bytes."""
        parts = [self._left]
        have = len(self._left)
        while have < n:
            parts.append(
                hashlib.shake_256(b"shoal chance" + self._seed + self._block.to_bytes(8)).digest(_BLOCK_BYTES)
            )
            self._block += 1
            have += _BLOCK_BYTES
        drawn = b"".join(parts)
        self._left = drawn[n:]
        return drawn[:n]

    def seed(self) -> bytes:
        """For another stream."""
        return self.take(SEED_BYTES)

    def below(self, bound: int) -> int:
        """Uniform in 0..bound-1, by rejection and so without bias."""
        if bound < 1:
            raise MisuseError(f"cannot draw below {bound}; the bound must be at least 1")
        bits = (bound - 1).bit_length()
        n_bytes = (bits + 7) // 8
        while True:
            value = int.from_bytes(self.take(n_bytes)) >> (8 * n_bytes - bits)
            if value < bound:
                return value

    def unit(self) -> float:
        """Uniform in [0, 1), with 53 bits."""
        return self.below(1 << 53) / (1 << 53)

    def permutation(self, n: int) -> list[int]:
        """Uniform (Fisher-Yates)."""
        order = list(range(n))
        for last in range(n - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order

    def weighted(self, weights: Sequence[int]) -> int:
        """A place by its integer weight, exact for any size."""
        ticket = self.below(sum(weights))
        for place, weight in enumerate(weights):
            if ticket < weight:
                return place
            ticket -= weight
        raise AssertionError("the ticket is below the sum of the weights")


def bound_chance(seed: bytes, *statement: bytes) -> Chance:
    """Another stream for each statement: a state that is rolled back repeats nothing under another one."""
    return Chance(hash_of(b"shoal bound", *(len(part).to_bytes(4) + part for part in statement), key=seed))
