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


COSTS: Final[Mapping[str, Growth]] = {
    "assess of everybody": Growth(
        fixed_s=4.65,
        s_per_million=3.06,
        by_people=0.85,
        by_k=0.0,
        fixed_mb=333,
        mb_per_million=171,
        disk_mb=0.03,
        disk_mb_per_million=0.0,
    ),
    "glove": Growth(
        fixed_s=6.41,
        s_per_million=7.45,
        by_people=0.0,
        by_k=0.45,
        fixed_mb=445,
        mb_per_million=237,
        disk_mb=0.0,
        disk_mb_per_million=4.09,
    ),
    "200 tries for the record of boxes": Growth(
        fixed_s=2.1,
        s_per_million=0.77,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "measure": Growth(
        fixed_s=3.98,
        s_per_million=3.01,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=345,
        mb_per_million=233,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "attack": Growth(
        fixed_s=4.0,
        s_per_million=0.0,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=385,
        mb_per_million=255,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "1000 tries of attack": Growth(
        fixed_s=9.2,
        s_per_million=9.77,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "kte-hide": Growth(
        fixed_s=9.52,
        s_per_million=65.17,
        by_people=0.25,
        by_k=1.0,
        fixed_mb=477,
        mb_per_million=351,
        disk_mb=4.02,
        disk_mb_per_million=24.13,
    ),
    "nwa": Growth(
        fixed_s=4.47,
        s_per_million=63.07,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=375,
        mb_per_million=3494,
        disk_mb=0.0,
        disk_mb_per_million=126.43,
    ),
    "200 tries for the record of points": Growth(
        fixed_s=1.72,
        s_per_million=9.73,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "swap-locations": Growth(
        fixed_s=5.01,
        s_per_million=26.45,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=394,
        mb_per_million=211,
        disk_mb=0.1,
        disk_mb_per_million=0.44,
    ),
    "w4m": Growth(
        fixed_s=5.29,
        s_per_million=15.44,
        by_people=0.0,
        by_k=0.15,
        fixed_mb=462,
        mb_per_million=602,
        disk_mb=0.39,
        disk_mb_per_million=9.76,
    ),
    "assess of drawn people": Growth(
        fixed_s=2.12,
        s_per_million=3.59,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=352,
        mb_per_million=116,
        disk_mb=0.03,
        disk_mb_per_million=0.0,
    ),
}
"""A row for each task; a contract test holds them to what the fit makes of ``bench/costs.csv``."""
