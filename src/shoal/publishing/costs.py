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
        fixed_s=1.39,
        s_per_million=1.71,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=332,
        mb_per_million=160,
        disk_mb=0.03,
        disk_mb_per_million=0.0,
    ),
    "assess of drawn people": Growth(
        fixed_s=1.77,
        s_per_million=0.88,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=351,
        mb_per_million=128,
        disk_mb=0.03,
        disk_mb_per_million=0.0,
    ),
    "glove": Growth(
        fixed_s=1.93,
        s_per_million=4.88,
        by_people=0.0,
        by_k=0.25,
        fixed_mb=494,
        mb_per_million=281,
        disk_mb=0.07,
        disk_mb_per_million=5.76,
    ),
    "200 tries for the record of boxes": Growth(
        fixed_s=0.41,
        s_per_million=0.3,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "measure": Growth(
        fixed_s=1.4,
        s_per_million=0.99,
        by_people=0.15,
        by_k=0.0,
        fixed_mb=348,
        mb_per_million=230,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "attack": Growth(
        fixed_s=1.4,
        s_per_million=0.71,
        by_people=0.1,
        by_k=0.0,
        fixed_mb=380,
        mb_per_million=270,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "1000 tries of attack": Growth(
        fixed_s=1.48,
        s_per_million=1.23,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "w4m": Growth(
        fixed_s=1.87,
        s_per_million=7.4,
        by_people=0.0,
        by_k=0.1,
        fixed_mb=433,
        mb_per_million=549,
        disk_mb=3.63,
        disk_mb_per_million=8.81,
    ),
    "200 tries for the record of points": Growth(
        fixed_s=0.49,
        s_per_million=4.74,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "nwa": Growth(
        fixed_s=2.0,
        s_per_million=19.8,
        by_people=0.25,
        by_k=0.0,
        fixed_mb=459,
        mb_per_million=2812,
        disk_mb=0.76,
        disk_mb_per_million=154.38,
    ),
    "swap-locations": Growth(
        fixed_s=1.98,
        s_per_million=18.51,
        by_people=0.85,
        by_k=0.0,
        fixed_mb=373,
        mb_per_million=256,
        disk_mb=0.11,
        disk_mb_per_million=0.45,
    ),
    "kte-hide": Growth(
        fixed_s=2.78,
        s_per_million=29.36,
        by_people=0.6,
        by_k=1.0,
        fixed_mb=402,
        mb_per_million=609,
        disk_mb=0.16,
        disk_mb_per_million=22.41,
    ),
    "glove in blocks": Growth(
        fixed_s=0.15,
        s_per_million=1.33,
        by_people=0.1,
        by_k=0.55,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "k-gaps of drawn people": Growth(
        fixed_s=0.19,
        s_per_million=1.09,
        by_people=0.35,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
    "around the blocks": Growth(
        fixed_s=4.5,
        s_per_million=2.39,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.38,
        disk_mb_per_million=72.01,
    ),
    "start of a worker": Growth(
        fixed_s=3.82,
        s_per_million=0.0,
        by_people=0.0,
        by_k=0.0,
        fixed_mb=0,
        mb_per_million=0,
        disk_mb=0.0,
        disk_mb_per_million=0.0,
    ),
}
"""A row for each task; a contract test holds them to what the fit makes of ``bench/costs.csv``."""
