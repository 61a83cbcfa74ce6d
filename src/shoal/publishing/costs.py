"""COSTS, what the long commands took on one machine: the constants behind ``--plan``.

``bench/measure_costs.py`` measures them, fits these rows, and holds them against sizes that the fit has not
seen. They are figures of MACHINE and of synthetic people of a city; another machine and other data differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MACHINE: Final = (
    "one thread of an AMD EPYC virtual machine with other work beside, Python 3.11, November 2026"
)
FIRST_USE_CPU_S: Final = 75  # of compiling, once on a machine: docs/performance.md


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How one task grows with the data.

    Parameters
    ----------
    fixed_s
        CPU seconds of any size, such as loading libraries.
    s_per_million
        CPU seconds for a million samples of 1,000 people at k = 2.
    by_people
        The exponent with which that grows with people, samples a person being the same.
    by_k
        The exponent with which it grows with k - 1.
    fixed_mb, mb_per_million
        Peak memory in MB, of any size and for a million samples.
    disk_mb, disk_mb_per_million
        What is written, in MB.
    """

    fixed_s: float
    s_per_million: float
    by_people: float
    by_k: float
    fixed_mb: float
    mb_per_million: float
    disk_mb: float
    disk_mb_per_million: float

    def cpu_s(self, people: int, samples: int, k: int = 2) -> float:
        """CPU seconds for data of this size."""
        grown: float = (people / 1000) ** self.by_people * (k - 1) ** self.by_k
        return self.fixed_s + self.s_per_million * samples / 1e6 * grown

    def memory_mb(self, samples: int) -> float:
        """Peak memory in MB."""
        return self.fixed_mb + self.mb_per_million * samples / 1e6

    def written_mb(self, samples: int) -> float:
        """What is written, in MB."""
        return self.disk_mb + self.disk_mb_per_million * samples / 1e6


COSTS: Final[Mapping[str, Growth]] = {}
"""A row for each task; a contract test holds them to what the fit makes of ``bench/costs.csv``."""
