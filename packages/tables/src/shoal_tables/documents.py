"""The shapes of what ``shoal tabulate --json`` prints."""

from typing import Any, Final

DOCUMENTS: Final[dict[str, Any]] = {}
