"""The clock for hours of the day: of the zone named when reading, else UTC."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import MisuseError
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Numbers
from shoal.units import DAY_S, HOUR_S

MICROSECONDS: Final = 1_000_000
_QUARTER_S: Final = HOUR_S / 4
_UTC_NAMES: Final = frozenset({"UTC", "Z", "GMT"})


@dataclass(frozen=True)
class Clock:
    """The clock of a zone such as Europe/Paris."""

    zone: str = "UTC"

    def __post_init__(self) -> None:
        try:
            self.utc_offset_s(np.zeros(1))
        except pa.ArrowInvalid as error:
            raise MisuseError(
                f"time_zone = '{self.zone}' is not known; write it like Europe/Paris or Asia/Shanghai"
            ) from error

    def utc_offset_s(self, t_s: Numbers) -> Floats:
        """float64 [n]: seconds ahead of UTC at each moment, in seconds since 1970."""
        if self.zone.upper() in _UTC_NAMES:
            return np.zeros(len(t_s))
        ticks = np.rint(np.asarray(t_s, dtype=np.float64) * MICROSECONDS).astype(np.int64)
        moments = pa.array(ticks).cast(pa.timestamp("us", self.zone))
        local = pc.local_timestamp(moments).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return np.asarray((local - ticks) / MICROSECONDS, dtype=np.float64)

    def changes(self, first_s: float, last_s: float) -> tuple[Floats, Floats]:
        """[c] when the clock may change between two moments, and seconds ahead of UTC from then on.

        Exact for changes at quarters of an hour.
        """
        days_s = np.arange(np.floor(first_s / DAY_S), np.ceil(last_s / DAY_S) + 1) * DAY_S
        changing = days_s[:-1][np.diff(self.utc_offset_s(days_s)) != 0]
        quarters_s = changing[:, None] + np.arange(_QUARTER_S, DAY_S + 1, _QUARTER_S)
        moments_s = np.concatenate([days_s[:1], quarters_s.ravel()])
        return moments_s, self.utc_offset_s(moments_s)

    def hours(self, t_s: Numbers) -> Numbers:
        """int64 [n]: the hour of the day, 0 to 23, at each moment."""
        local_s = np.asarray(t_s, dtype=np.float64) + self.utc_offset_s(t_s)
        return np.asarray(np.floor(local_s / HOUR_S).astype(np.int64) % 24)


UTC_CLOCK: Final = Clock()


def clock_of(data: Trajectories) -> Clock:
    """The clock of the data; UTC without a zone, or where the input counts steps."""
    reading = data.intake.reading
    if reading.time_zone is None:
        return UTC_CLOCK
    some = data.t[:: max(1, len(data.t) // 1000)] * (data.grid.slot_s if data.grid else 1.0)
    return UTC_CLOCK if reading.counts_steps(some) else Clock(reading.time_zone)
