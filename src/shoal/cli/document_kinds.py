"""Closed documents, and growing ones that may have further entries."""

from typing import Final

from pydantic import ConfigDict, with_config

closed: Final = with_config(ConfigDict(extra="forbid", strict=True))
growing: Final = with_config(ConfigDict(extra="allow", strict=True))
Counts = dict[str, int]
