"""Memory that was freed and that the allocators of this process keep."""

import ctypes
import sys
from functools import cache
from typing import Any

import pyarrow as pa


def give_back() -> None:
    """Hand freed memory to the system, where the allocators can (glibc's and Arrow's).

    They keep what arrays of up to 32 MiB took, between pieces that still live, and the next stage asks for
    other sizes. What it needs it then has to touch anew, so this is for ends of large stages alone.
    """
    trim = _trim()
    if trim is not None:
        trim(0)
    pa.default_memory_pool().release_unused()


@cache
def _trim() -> Any:
    """Glibc's malloc_trim, None in other libraries."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
