"""The clock by which hours of the day are told: of the zone that the reading named, else UTC.

Samples are kept in UTC. A zone moves its clock during the year, so hours are looked up for each moment.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.model.frames import counts_steps
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Numbers
from shoal.units import HOUR_S

MICROSECONDS: Final = 1_000_000
_UTC_NAMES: Final = frozenset({"UTC", "Z", "GMT"})


@dataclass(frozen=True)
class Clock:
    """The clock of a zone.

    Parameters
    ----------
    zone : str
        Its name, such as Europe/Paris.

    Raises
    ------
    MisuseError
        For a zone that is not known.

    Examples
    --------
    >>> Clock("Europe/Paris").ahead_s(np.array([1711846740.0, 1711846860.0]))  # around 2024-03-31, 1:00 UTC
    array([3600., 7200.])
    """

    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            self.ahead_s(np.zeros(1))
        except pa.ArrowInvalid as error:
            raise MisuseError(
                f"time_zone = '{self.zone}' is not known; write it like Europe/Paris or Asia/Shanghai"
            ) from error

    def ahead_s(self, t_s: Numbers) -> Floats:
        """float64 [n]: how many seconds the clock is ahead of UTC at each moment, in seconds since 1970."""
        if self.zone.upper() in _UTC_NAMES:
            return np.zeros(len(t_s))
        ticks = np.rint(np.asarray(t_s, dtype=np.float64) * MICROSECONDS).astype(np.int64)
        moments = pa.array(ticks).cast(pa.timestamp("us", self.zone))
        local = pc.local_timestamp(moments).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.asarray((local - ticks) / MICROSECONDS, dtype=np.float64)

    def hours(self, t_s: Numbers) -> Numbers:
        """int64 [n]: the hour of the day, 0 to 23, at each moment."""
        local_s = np.asarray(t_s, dtype=np.float64) + self.ahead_s(t_s)
        return np.asarray(np.floor(local_s / HOUR_S).astype(np.int64) % 24)


UTC_CLOCK: Final = Clock()


def clock_of(data: Trajectories) -> Clock:
    """The clock of the zone that the reading named; UTC without one, and where the input counts steps."""
    reading = data.intake.reading
    if reading.time_zone is None:
        return UTC_CLOCK
    some = data.t[:: max(1, len(data.t) // 1000)] * (data.grid.slot_s if data.grid else 1.0)
    return UTC_CLOCK if counts_steps(some, reading) else Clock(reading.time_zone)
