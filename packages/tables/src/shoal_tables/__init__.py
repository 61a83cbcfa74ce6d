"""Tables of counts and flows under differential privacy, which a stranger can check."""

from shoal_tables.making.ledger import Ledger
from shoal_tables.making.rules import (
    Rules,
    each_day,
    hours_of,
    kinds_of_days,
    read_calendar,
    slots_of,
    typical_days,
    workdays,
)
from shoal_tables.making.tabulate import Privacy, Tabulation, tabulate
from shoal_tables.making.zones import cell_zones, grid_zones, h3_zones, polygon_zones

__all__ = [
    "Ledger",
    "Privacy",
    "Rules",
    "Tabulation",
    "cell_zones",
    "each_day",
    "grid_zones",
    "h3_zones",
    "hours_of",
    "kinds_of_days",
    "polygon_zones",
    "read_calendar",
    "slots_of",
    "tabulate",
    "typical_days",
    "workdays",
]
