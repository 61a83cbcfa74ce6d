"""Bounds of one unit's contribution, from synthetic people: never from the user's data."""

import math
from typing import Final

from shoal_tables.definition.manifest import Kind
from shoal_tables.making.rules import Rules

MEASURED_DAYS: Final = 14

BOUNDS: Final[dict[tuple[Kind, str], float]] = {
    ("presence", "one"): 1.9,
    ("presence", "kinds"): 4.1,
    ("presence", "each"): 11.8,
    ("presence", "person-day"): 3.3,
    ("flows", "one"): 2.4,
    ("flows", "kinds"): 3.2,
    ("flows", "each"): 9.0,
    ("flows", "person-day"): 3.5,
    ("dwell", "one"): 1.0,
    ("dwell", "kinds"): 2.1,
    ("dwell", "each"): 5.2,
    ("dwell", "person-day"): 1.8,
    ("homes", "one"): 1.0,
}
"""By table and days: one typical day, kinds of days, each of 14 days; or for one day of a person."""

MOST: Final[dict[Kind, int]] = {"presence": 24, "flows": 20, "dwell": 5, "homes": 1}
"""On a day, 99 in 100 synthetic people contribute less than this in all."""


def most_of(rules: Rules) -> int:
    """The most that one unit adds to a total over all cells, in people or trips a day."""
    return MOST[rules.table] * (1 if rules.unit == "person-day" else max(len(rules.days), 1))


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
