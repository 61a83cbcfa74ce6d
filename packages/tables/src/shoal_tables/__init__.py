"""Tables of counts and flows under differential privacy, which a stranger can check.

Each public name is loaded when it is first used, so that commands start quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shoal_tables.making.calibration import Privacy
    from shoal_tables.making.ledger import Ledger
    from shoal_tables.making.rules import Rules, days_of, hours_of, read_calendar, slots_of
    from shoal_tables.making.tabulate import Tabulation, tabulate
    from shoal_tables.making.zones import cell_zones, grid_zones, h3_zones, polygon_zones

_HOMES: Final = ("calibration", "ledger", "rules", "tabulate", "zones")

__all__ = [
    "Ledger",
    "Privacy",
    "Rules",
    "Tabulation",
    "cell_zones",
    "days_of",
    "grid_zones",
    "h3_zones",
    "hours_of",
    "polygon_zones",
    "read_calendar",
    "slots_of",
    "tabulate",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"shoal_tables.making.{home}")
            if name in vars(module):
                return vars(module)[name]
    raise AttributeError(f"module 'shoal_tables' has no attribute '{name}'")
