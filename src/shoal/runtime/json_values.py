"""What JSON has no word for, and what it lets pass."""

import math
from typing import Any


class NotJsonError(ValueError):
    """A text that a lenient reader of JSON would take, and two readers not alike."""


def null_for_nan(value: Any) -> Any:
    """The value with None for every float that is nan, also inside dictionaries, lists and tuples."""
    if isinstance(value, dict):
        return {name: null_for_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [null_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The entries of a JSON object, for ``json.loads``; raises NotJsonError for a key that comes twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotJsonError("a key stands there twice")
    return found
