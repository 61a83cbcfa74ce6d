"""The largest extents of a published box, such as ``5km,2h``."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from shoal.errors import MisuseError
from shoal.units import duration_s, length_m

EXTENT_FORMS: Final = "LENGTH,DURATION"
_READERS: Final[Mapping[str, Callable[[str], float]]] = {"space_m": length_m, "time_s": duration_s}


@dataclass(frozen=True, kw_only=True)
class LargestExtents:
    """Of a box: dx + dy in meters, seconds; infinite = unbounded."""

    space_m: float = math.inf
    time_s: float = math.inf


def parse_extents(text: str) -> LargestExtents:
    """The extents for ``5km,2h``, or one of both."""
    parts = str(text).split(",")
    for names in (("space_m", "time_s"), ("space_m",), ("time_s",)):
        with suppress(MisuseError, ValueError):  # another form, or another number of parts
            read = {name: _READERS[name](part) for name, part in zip(names, parts, strict=True)}
            return LargestExtents(**read)
    raise MisuseError(
        f"--extent-at-most = '{text}' does not name the largest extents of a box; write a length and a "
        "duration, for example 5km,2h, or one of them"
    )
