"""What JSON has no word for."""

import math
from typing import Any


def null_for_nan(value: Any) -> Any:
    """The value with None for every float that is nan, also inside dictionaries, lists and tuples."""
    if isinstance(value, dict):
        return {name: null_for_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [null_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value
