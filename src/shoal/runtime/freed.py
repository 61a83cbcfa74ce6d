"""Memory that was freed and that the allocators of this process keep."""

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


def keep_little() -> None:
    """Have glibc map what takes 16 MiB or more by itself, so that it goes back as soon as it is freed.

    Else it keeps arrays of up to 32 MiB for each thread, between pieces that still live. All threads share
    one heap, so that what one of them has freed serves the others. For a whole process, so the command line
    and the workers of ``local`` ask for it. What the user has set for glibc stays.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None or any(name in os.environ for name in _SET_ELSEWHERE):
        return
    mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)
    mallopt(_M_TRIM_THRESHOLD, 2 * _MAPPED_BYTES)  # as glibc has it when it moves both by itself
    mallopt(_M_ARENA_MAX, 1)


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
