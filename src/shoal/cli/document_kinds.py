"""The two kinds of documents: closed ones hold what their type says, growing ones may hold more."""

from typing import Final

from pydantic import ConfigDict, with_config

closed: Final = with_config(ConfigDict(extra="forbid", strict=True))
growing: Final = with_config(ConfigDict(extra="allow", strict=True))
Counts = dict[str, int]
