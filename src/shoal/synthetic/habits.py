"""Habits of layouts, after the papers' data sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shoal.synthetic.stations import Layout


@dataclass(frozen=True, kw_only=True)
class Habits:
    """Parameters that may differ between layouts."""

    events_per_hour: float = 0.75  # mean over people and hours
    rate_sigma: float = 0.8  # standard deviation of the logarithm of a person's rate
    day_sigma: float = 0.0  # the same for the factors by which a person's days differ
    burst_size: float = 1.6  # mean number of events in a burst
    staying: float = 0.0  # share of people who are always recorded at one station
    outgoing: float = 1.0  # factor on the chances of outings
    handover: float = 0.08  # share of events recorded by a neighboring station, where stations are dense
    working_near: float = 0.0  # share of workers whose workplace is served by the station of their home
    working_anywhere: float = 0.0  # share of workers whose workplace is wherever people live, however far
    errands: float = 0.0  # share of events on extra trips, as far away as an outing leads


# The rates are those of Table I of Gramaglia et al. 2017, a little more for events that fall together. The
# other knobs were calibrated on the gaps of Fig. 3a and 5b of Gramaglia and Fiore 2015 (docs/synthetic.md).
_CALIBRATED: Final = {
    "rate_sigma": 0.9,
    "day_sigma": 0.85,
    "burst_size": 1.0,
    "staying": 0.15,
    "outgoing": 0.7,
    "handover": 0.45,
    "working_near": 0.3,
    "working_anywhere": 0.15,
    "errands": 0.05,
}
HABITS: Final[Mapping[Layout, Habits]] = {
    "nation": Habits(),
    "city": Habits(),
    "abi": Habits(events_per_hour=0.91, **_CALIBRATED),
    "dak": Habits(events_per_hour=0.75, **_CALIBRATED),
    "shn": Habits(events_per_hour=1.01, **_CALIBRATED),
    "civ": Habits(events_per_hour=0.76, **_CALIBRATED),
    "sen": Habits(events_per_hour=0.455, **_CALIBRATED),
}
