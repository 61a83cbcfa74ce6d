"""The jit decorator and its flags, once.

Kernels are compiled on first use and kept beside the package, or where ``NUMBA_CACHE_DIR`` says. With
``NUMBA_DISABLE_JIT=1`` they run as plain Python, which the test suite does too.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _ensure_writable_cache() -> None:
    """Point numba at a temporary folder when neither the package nor the user's cache is writable."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser())
    if not (os.access(Path(__file__).parents[1], os.W_OK) or os.access(home, os.W_OK)):
        os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="shoal-kernels-")


_ensure_writable_cache()

from numba import njit  # noqa: E402  (numba reads its cache folder from the environment when it is imported)


def compiled(function: Kernel) -> Kernel:
    """Compile a function over plain arrays: cached, without the interpreter lock, 1 / 0 as in NumPy."""
    wrapped: Kernel = njit(cache=True, nogil=True, error_model="numpy")(function)
    return wrapped
