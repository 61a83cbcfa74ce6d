"""COSTS of commands on MACHINE (``bench/measure_costs.py``), for ``--plan``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MACHINE: Final = (
    "one thread of an AMD EPYC virtual machine with other work beside, Python 3.11, November 2026"
)
USUAL_EACH: Final = 250  # samples a person
FIRST_USE_CPU_S: Final = 75  # of compiling, once on a machine: docs/performance.md


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a task grows with the data."""

    fixed_s: float  # CPU seconds of any size, such as loading libraries
    s_per_million: float = 0.0  # CPU seconds for a million samples of 1,000 people at k = 2
    by_people: float = 0.0  # the exponent with which that grows with people, samples a person being the same
    by_fewer: float = 0.0  # the exponent with which it grows as a person has fewer than 250 samples
    by_k: float = 0.0  # the exponent with which it grows with k - 1
    fixed_mb: float = 0.0  # fixed_mb, mb_per_million: peak memory, of any size and for a million samples
    mb_per_million: float = 0.0
    disk_mb: float = 0.0  # disk_mb, disk_mb_per_million: what is written, in MB
    disk_mb_per_million: float = 0.0

    def cpu_s(self, people: int, samples: int, k: int = 2, each: float = USUAL_EACH) -> float:
        """CPU seconds. each: samples a person."""
        grown: float = (people / 1000) ** self.by_people * (k - 1) ** self.by_k
        grown *= max(USUAL_EACH / each, 1.0) ** self.by_fewer
        return self.fixed_s + self.s_per_million * samples / 1e6 * grown

    def memory_mb(self, samples: int) -> float:
        """Peak memory in MB."""
        return self.fixed_mb + self.mb_per_million * samples / 1e6

    def written_mb(self, samples: int) -> float:
        """What is written, in MB."""
        return self.disk_mb + self.disk_mb_per_million * samples / 1e6


COSTS: Final[Mapping[str, Growth]] = {
    "assess of everybody": Growth(
        fixed_s=1.7, s_per_million=0.98, by_people=0.85, fixed_mb=258, mb_per_million=120, disk_mb=0.03
    ),
    "assess of drawn people": Growth(
        fixed_s=1.88, s_per_million=1.25, fixed_mb=270, mb_per_million=89, disk_mb=0.03
    ),
    "glove": Growth(
        fixed_s=2.72,
        s_per_million=4.08,
        by_people=0.15,
        by_fewer=0.5,
        by_k=0.65,
        fixed_mb=368,
        mb_per_million=162,
        disk_mb=0.52,
        disk_mb_per_million=5.6,
    ),
    "200 tries for the record of boxes": Growth(fixed_s=0.53, s_per_million=0.36, by_fewer=0.5, by_k=0.6),
    "measure": Growth(
        fixed_s=1.78, s_per_million=0.55, by_people=0.45, by_fewer=0.5, fixed_mb=269, mb_per_million=111
    ),
    "attack": Growth(
        fixed_s=1.79, s_per_million=0.11, by_people=0.95, by_fewer=0.65, fixed_mb=305, mb_per_million=130
    ),
    "1000 tries of attack": Growth(fixed_s=1.5, s_per_million=2.41, by_fewer=1.0),
    "w4m": Growth(
        fixed_s=2.96,
        s_per_million=5.6,
        by_people=0.45,
        by_k=0.3,
        fixed_mb=322,
        mb_per_million=349,
        disk_mb=3.63,
        disk_mb_per_million=8.81,
    ),
    "200 tries for the record of points": Growth(fixed_s=0.81, s_per_million=6.86),
    "glove in blocks": Growth(fixed_s=0.55, s_per_million=1.38, by_people=0.05, by_fewer=1.0, by_k=0.75),
    "k-gaps of drawn people": Growth(fixed_s=0.19, s_per_million=1.13, by_people=0.05, by_fewer=0.25),
    "around the blocks": Growth(
        fixed_s=2.42, s_per_million=1.81, by_fewer=0.85, disk_mb=0.52, disk_mb_per_million=71.95
    ),
    "start of a worker": Growth(fixed_s=1.12),
    "nwa": Growth(
        fixed_s=1.94,
        s_per_million=26.36,
        by_people=0.15,
        fixed_mb=353,
        mb_per_million=1176,
        disk_mb=0.76,
        disk_mb_per_million=154.38,
    ),
    "swap-locations": Growth(
        fixed_s=2.14,
        s_per_million=26.42,
        by_people=0.65,
        fixed_mb=263,
        mb_per_million=285,
        disk_mb=0.11,
        disk_mb_per_million=0.45,
    ),
    "kte-hide": Growth(
        fixed_s=3.4,
        s_per_million=33.49,
        by_people=0.45,
        by_k=1.0,
        fixed_mb=295,
        mb_per_million=574,
        disk_mb=0.16,
        disk_mb_per_million=22.41,
    ),
}
"""A row for each task; a contract test holds them to what the fit makes of ``bench/costs.csv``."""
