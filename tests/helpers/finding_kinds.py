"""The kinds of findings that docs/findings.md explains, one row each."""

import re
from pathlib import Path
from typing import Final

_PAGE: Final = Path(__file__).parents[2] / "docs" / "findings.md"
FINDING_KINDS: Final = frozenset(
    re.findall(r"^\| `([a-z]+(?:-[a-z]+)*)` \| [A-Z]", _PAGE.read_text(), re.MULTILINE)
)
