"""JSON without nan and duplicate keys."""

import math
from typing import Any


class NotJsonError(ValueError):
    """A text that lenient readers accept and interpret differently."""


def null_for_nan(value: Any) -> Any:
    """None for every nan, also inside."""
    if isinstance(value, dict):
        return {name: null_for_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [null_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """As ``object_pairs_hook``; raises NotJsonError for a duplicate key."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise NotJsonError("a key stands there twice")
    return entries
