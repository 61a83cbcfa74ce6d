"""How much memory work takes (`lab/measure_memory.py`, GLOVE), and blocks within a bound."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import MisuseError
from shoal.io.disk.spilling import BUCKETS
from shoal.io.disk.storing import TASK_ROWS
from shoal.runtime.arrays import Integers
from shoal.units import MIB, show_bytes

ALL_AT_ONCE: Final = "all at once"
A_BLOCK: Final = "a block"
OTHER_TASKS: Final = "any other task"
AROUND_BLOCKS: Final = "around the blocks"


@dataclass(frozen=True, kw_only=True)
class Peak:
    """A fixed part, and a part for each person and sample."""

    always_bytes: int
    person_bytes: int
    sample_bytes: int
    samples_at_once: int | None = None  # the most samples in memory together; None: all

    def of(self, people: int, samples: int) -> int:
        """Bytes for people and samples."""
        together = samples if self.samples_at_once is None else min(samples, self.samples_at_once)
        return self.always_bytes + self.person_bytes * people + self.sample_bytes * together


PEAKS: Final[Mapping[str, Peak]] = {
    ALL_AT_ONCE: Peak(always_bytes=480 * MIB, person_bytes=1000, sample_bytes=140),
    A_BLOCK: Peak(always_bytes=290 * MIB, person_bytes=2500, sample_bytes=140),
    OTHER_TASKS: Peak(always_bytes=330 * MIB, person_bytes=0, sample_bytes=160),
    AROUND_BLOCKS: Peak(always_bytes=360 * MIB, person_bytes=400, sample_bytes=440, samples_at_once=1 << 20),
}


def most_samples(samples: Integers) -> Integers:
    """[n] samples of the one, two, three ... people with the most."""
    return np.cumsum(np.sort(samples)[::-1])


def bytes_around(largest: Integers, measured_people: int) -> int:
    """Memory of the process that hands out blocks; ``measured_people``: the report's sample."""
    n = len(largest)
    measured = int(largest[min(measured_people, n) - 1])
    return max(  # one after the other
        PEAKS[AROUND_BLOCKS].of(n, int(largest[-1])),
        PEAKS[AROUND_BLOCKS].of(n, 0) + PEAKS[ALL_AT_ONCE].sample_bytes * measured,
    )


def bytes_of_worker(largest: Integers, size: int, *, only_blocks: bool) -> int:
    """A worker's memory, for all tasks; ``only_blocks``: for the worst block."""
    if only_blocks:
        return PEAKS[A_BLOCK].of(size, int(largest[min(size, len(largest)) - 1]))
    whole = int(largest[-1])
    block = PEAKS[A_BLOCK].of(size, whole * size // len(largest))
    return max(block, PEAKS[OTHER_TASKS].of(0, min(whole, max(TASK_ROWS, whole // BUCKETS))))


@dataclass(frozen=True, kw_only=True)
class MemoryBound:
    """The memory of all processes together."""

    total_bytes: int
    workers: int
    measured_people: int  # people in the report's sample for attacks and uses, in memory together

    def people_in_a_block(self, samples: Integers, k: int) -> int:
        """The most people that any block may have. samples: [n], of each person."""
        n, least = len(samples), min(2 * k, len(samples))
        largest = most_samples(samples)
        whole, around = int(largest[-1]), bytes_around(largest, self.measured_people)
        need, at_once = PEAKS[A_BLOCK].of(least, int(largest[least - 1])), PEAKS[ALL_AT_ONCE].of(n, whole)
        if around + self.workers * need > self.total_bytes:
            enough = min(around + self.workers * need, at_once)
            fewer = around + need < enough
            raise MisuseError(
                f"{n:,} people with {whole:,} samples need --memory {show_bytes(enough)} at least with "
                f"{self.workers} worker{'s' if self.workers > 1 else ''}"
                f"{f' (with --engine local:1, {show_bytes(around + need)})' if fewer else ''}; "
                f"{show_bytes(self.total_bytes)} is too little"
            )
        bytes_per_worker = (self.total_bytes - around) // self.workers
        size = np.arange(1, n + 1)
        costs = (
            PEAKS[A_BLOCK].always_bytes
            + PEAKS[A_BLOCK].person_bytes * size
            + PEAKS[A_BLOCK].sample_bytes * largest
        )
        return max(int(np.searchsorted(costs, bytes_per_worker, side="right")), 2 * k)
