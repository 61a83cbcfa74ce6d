"""Bounds in L2 for one unit's contribution, chosen without the user's data."""

from typing import Final

from shoal_tables.making.rules import Rules

MEASURED: Final = "table of bounds of shoal, measured on synthetic people (bench/tables.py bounds)"
CHOSEN: Final = "chosen by the publisher with --bound"
_TYPICAL: Final = {"presence": 3.0, "flows": 2.0, "dwell": 2.0, "homes": 1.0}


def default_bound(rules: Rules) -> float:
    """The bound for a table when the publisher names none, in people or trips a day."""
    return _TYPICAL[rules.table]
