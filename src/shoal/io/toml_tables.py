"""Facts about what other programs write: names, words, units, forms and signs, in the TOML files below."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

TABLES: Final[Mapping[str, Any]] = {
    path.stem: tomllib.loads(path.read_text("utf-8")) for path in Path(__file__).parent.glob("*/*.toml")
}


def expressions(rows: Mapping[str, str], pieces: Mapping[str, str] | None = None) -> dict[str, str]:
    """Regular expressions by name, in which {name} stands for a piece or an earlier one."""
    known = dict(pieces or {})
    for name, text in rows.items():
        known[name] = re.sub(r"\{([a-z_]+)\}", lambda piece: known[piece[1]], text)
    return {name: known[name] for name in rows}


def recognize(table: str, content: bytes, *, anywhere: bool = False) -> str | None:
    """The kind of file, among those of a table of facts, whose sign is at the beginning, or anywhere."""
    for kind, sign in TABLES["facts"][table].items():
        if content.startswith(sign.encode("latin-1")) or (anywhere and sign.encode("latin-1") in content):
            return str(kind)
    return None
