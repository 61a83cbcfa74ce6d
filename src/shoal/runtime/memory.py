"""Free memory that allocators hold back."""

import ctypes
import os
import sys
from functools import cache
from typing import Any, Final

import pyarrow as pa

from shoal.units import MIB

_M_TRIM_THRESHOLD: Final = -1  # names and numbers of glibc's malloc.h
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_MAPPED_BYTES: Final = 16 * MIB
_SET_ELSEWHERE: Final = (
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "GLIBC_TUNABLES",
)


def limit_idle_memory() -> None:
    """Make glibc map arrays of 16 MiB or more separately: they return to the system."""
    # Otherwise it keeps arrays of up to 32 MiB per thread, between pieces that still live. All threads share
    # one heap, so that freed memory serves the others. It affects the whole process: only the command line
    # and the workers of ``local`` call it. The user's own settings for glibc stay.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None or any(name in os.environ for name in _SET_ELSEWHERE):
        return
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    mallopt(_M_TRIM_THRESHOLD, 2 * _MAPPED_BYTES)  # as glibc has it when it moves both by itself
    mallopt(_M_ARENA_MAX, 1)


def release_idle_memory() -> None:
    """Return freed memory to the system."""
    # only after large stages: the next stage must touch again what it needs
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    pa.default_memory_pool().release_unused()


@cache
def _malloc_trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
