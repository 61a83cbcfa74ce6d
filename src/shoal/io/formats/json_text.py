"""Values of JSON as text, and objects as flat rows."""

import json
from collections.abc import Mapping
from typing import Any


def text_of(value: Any) -> str | None:
    """A value of JSON as text; nothing stays nothing."""
    if value is None or isinstance(value, str):
        return value
    return (
        repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else json.dumps(value)
    )


def flat(found: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The values of an object by their names, those of objects inside it as ``outer.inner``."""
    values: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            values.update(flat(value, f"{before}{name}."))
        else:
            values[f"{before}{name}"] = value
    return values
