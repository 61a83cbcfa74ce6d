"""When people are recorded, in whole minutes: a heavy-tailed rate, rhythms, days that differ, and bursts."""

from typing import Final

import numpy as np

from shoal.runtime.arrays import Floats, Integers
from shoal.synthetic.habits import Habits
from shoal.synthetic.people import MINUTES_PER_DAY

BURST_GAP_MIN: Final = 4.0  # mean minutes between the events of a burst

# Relative activity in each hour from 00:00, for weekdays and for Saturday and Sunday.
_WEEKDAY: Final = (
    *(0.30, 0.16, 0.10, 0.08, 0.09, 0.16, 0.36, 0.68, 0.98, 1.14, 1.22, 1.25),
    *(1.25, 1.18, 1.15, 1.18, 1.26, 1.38, 1.50, 1.58, 1.50, 1.22, 0.86, 0.52),
)
_WEEKEND: Final = (
    *(0.40, 0.24, 0.15, 0.10, 0.09, 0.12, 0.24, 0.42, 0.68, 0.92, 1.08, 1.16),
    *(1.18, 1.12, 1.06, 1.06, 1.12, 1.24, 1.36, 1.42, 1.36, 1.16, 0.88, 0.60),
)


def event_minutes(
    clock_min: Integers, days: int, habits: Habits, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """(person, minute) of n people's events, since the first day's 00:00, in no order, with repeats.

    clock_min: int64 [n], by how much each person's rhythm is late. Everybody has at least one event.
    """
    n = clock_min.size
    sigma = habits.rate_sigma
    rate_h = habits.events_per_hour * rng.lognormal(-0.5 * sigma**2, sigma, n)
    n_bursts = np.maximum(rng.poisson(rate_h * 24 * days / habits.burst_size), 1)
    burst_person = np.repeat(np.arange(n), n_bursts)
    cumulative, hours = _rhythm(days)
    share = rng.random(burst_person.size)
    if habits.day_sigma:
        factors = rng.lognormal(0.0, habits.day_sigma, (n, days))
        share = _by_own_days(share, burst_person, cumulative[::24], factors)
    first = np.interp(share, cumulative, hours) * 60 + clock_min[burst_person]
    size = rng.geometric(1 / habits.burst_size, burst_person.size)
    burst = np.repeat(np.arange(size.size), size)
    gap = 1 + np.floor(rng.exponential(BURST_GAP_MIN - 0.5, burst.size))
    begins = np.cumsum(size) - size
    gap[begins] = 0
    since_first = np.cumsum(gap)
    since_first -= since_first[begins][burst]
    minute = np.floor(first[burst] + since_first).astype(np.int64) % (days * MINUTES_PER_DAY)
    return burst_person[burst], minute


def _rhythm(days: int) -> tuple[Floats, Floats]:
    """(cumulative share of activity, hours since then) at each hour of ``days`` days from a Monday on."""
    weight = np.concatenate([_WEEKEND if day % 7 >= 5 else _WEEKDAY for day in range(days)])
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    return cumulative / cumulative[-1], np.arange(cumulative.size, dtype=np.float64)


def _by_own_days(share: Floats, person: Integers, midnight: Floats, factors: Floats) -> Floats:
    """The share of everybody's activity until a moment, from the share of one's own until then.

    share: float64 [m] of the activity of these persons; midnight: float64 [d + 1] of everybody's until each
    midnight; factors: float64 [n, d] by which a person's day differs from everybody's.
    """
    own = np.cumsum(np.diff(midnight) * factors, axis=1)
    own /= own[:, -1:]
    n, days = own.shape
    at = np.searchsorted((own + np.arange(n)[:, None]).ravel(), person + share, side="right")
    day = np.clip(at - person * days, 0, days - 1)
    before = np.where(day > 0, own[person, day - 1], 0.0)
    part = np.clip((share - before) / (own[person, day] - before), 0.0, 1.0)
    moment: Floats = midnight[day] + part * (midnight[day + 1] - midnight[day])
    return moment
