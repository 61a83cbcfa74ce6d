"""How much memory work takes, and the largest blocks that stay within a bound.

The figures are peaks of whole processes, as `bench/measure_memory.py` finds them for GLOVE, rounded up. Other
libraries or another system can take more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.runtime.arrays import Integers
from shoal.units import MIB, show_bytes

ALL_AT_ONCE: Final = "all at once"
A_BLOCK: Final = "a block"
AROUND_BLOCKS: Final = "around the blocks"


@dataclass(frozen=True, kw_only=True)
class Peak:
    """What a process takes at its peak: whatever it does, and for each person and each sample."""

    always_bytes: int
    person_bytes: int
    sample_bytes: int

    def of(self, people: int, samples: int) -> int:
        """Bytes for so many people and samples."""
        return self.always_bytes + self.person_bytes * people + self.sample_bytes * samples


PEAKS: Final[Mapping[str, Peak]] = {
    ALL_AT_ONCE: Peak(always_bytes=440 * MIB, person_bytes=1000, sample_bytes=300),
    A_BLOCK: Peak(always_bytes=300 * MIB, person_bytes=1000, sample_bytes=210),
    AROUND_BLOCKS: Peak(always_bytes=500 * MIB, person_bytes=1000, sample_bytes=14),
}


@dataclass(frozen=True, kw_only=True)
class MemoryBound:
    """What all processes of a command may take together: one around the blocks, and the workers.

    measured_people: how many people the record's attacks and uses are measured of, all at once.
    """

    total_bytes: int
    workers: int
    measured_people: int

    def people_in_a_block(self, samples: Integers, k: int) -> int:
        """The most people in a block, whoever they are.

        samples: [n] of each person. Raises MisuseError with what would be enough when blocks that could hold
        k people each do not fit.
        """
        n, least = len(samples), min(2 * k, len(samples))
        largest = np.cumsum(np.sort(samples)[::-1])  # of the one, two, three ... people with the most samples
        needs = [PEAKS[A_BLOCK].of(people, int(largest[people - 1])) for people in (least, n)]
        around = PEAKS[AROUND_BLOCKS].of(n, int(largest[-1])) + PEAKS[ALL_AT_ONCE].sample_bytes * int(
            largest[min(self.measured_people, n) - 1]
        )
        if around + self.workers * needs[0] > self.total_bytes:
            alone = around + needs[0]
            fewer = f" (with --engine local:1, {show_bytes(alone)})" if self.workers > 1 else ""
            enough = show_bytes(around + self.workers * needs[0])
            raise MisuseError(
                f"{n:,} people with {int(largest[-1]):,} samples need --memory {enough} at least with "
                f"{self.workers} worker{'s' if self.workers > 1 else ''}{fewer}; "
                f"{show_bytes(self.total_bytes)} is too little"
            )
        each = (self.total_bytes - around) // self.workers
        size = np.arange(1, n + 1)
        costs = (
            PEAKS[A_BLOCK].always_bytes
            + PEAKS[A_BLOCK].person_bytes * size
            + PEAKS[A_BLOCK].sample_bytes * largest
        )
        return max(int(np.searchsorted(costs, each, side="right")), 2 * k)
