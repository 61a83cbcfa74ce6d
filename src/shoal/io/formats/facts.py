"""What other programs write, from the table beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FACTS: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def recognize(table: str, content: bytes, *, anywhere: bool = False) -> str | None:
    """The kind of file, among those of a table, whose sign stands at the beginning, or anywhere."""
    for kind, sign in FACTS[table].items():
        if content.startswith(sign.encode("latin-1")) or (anywhere and sign.encode("latin-1") in content):
            return str(kind)
    return None
