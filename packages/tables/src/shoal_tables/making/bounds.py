"""Bounds in L2 for one unit's contribution, from synthetic people: never from the user's data."""

import math
from typing import Final

from shoal_tables.definition.manifest import Kind
from shoal_tables.making.rules import Rules

MEASURED: Final = (
    "shoal's table of bounds: nine in ten of 20,000 synthetic people contribute less in 14 days "
    "(bench_tables.py bounds)"
)
CHOSEN: Final = "chosen by the publisher with --bound"
MEASURED_DAYS: Final = 14

BOUNDS: Final[dict[tuple[Kind, str], float]] = {
    ("presence", "one"): 2.8,
    ("presence", "kinds"): 5.4,
    ("presence", "each"): 14.5,
    ("presence", "person-day"): 4.0,
    ("flows", "one"): 1.8,
    ("flows", "kinds"): 3.6,
    ("flows", "each"): 10.2,
    ("flows", "person-day"): 3.3,
    ("dwell", "one"): 1.2,
    ("dwell", "kinds"): 2.3,
    ("dwell", "each"): 6.2,
    ("dwell", "person-day"): 1.8,
    ("homes", "one"): 1.0,
}
"""By table and days: one typical day, kinds of days, each of 14 days; or for one day of a person."""


def default_bound(rules: Rules) -> float:
    """The bound for a table when the publisher names none, in people or trips a day.

    Parameters
    ----------
    rules : Rules
        What is counted.

    Returns
    -------
    float
        In L2; for tables of each day it grows with the square root of their number.
    """
    dates, days = len(rules.day_of), len(rules.days)
    if rules.unit == "person-day":
        most = float(rules.dates_per_day.min())
        return BOUNDS[rules.table, "person-day"] / most
    if rules.table == "homes" or (days == 1 and dates > 1):
        return BOUNDS[rules.table, "one"]
    if days == dates:
        return max(
            BOUNDS[rules.table, "each"] * math.sqrt(dates / MEASURED_DAYS), BOUNDS[rules.table, "person-day"]
        )
    return BOUNDS[rules.table, "kinds"]
