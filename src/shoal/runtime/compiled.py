"""The jit decorator.

Kernels are compiled on their first call and cached by ``runtime/kernel_cache.py``. Importing one imports no
compiler. With ``NUMBA_DISABLE_JIT=1`` they run as plain Python. So do those of ``compiled_for_many`` that are
not stored, as long as all their calls together, in this process and earlier ones, get few numbers: with small
data, compiling would take nearly all the time. Loops compile several times faster than numba's operations on
whole arrays and its sort.
"""

import atexit
import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial, update_wrapper
from itertools import combinations
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from shoal.runtime.arrays import Numbers

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

FLAGS: Final = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # no C program calls one
SWITCH: Final = "SHOAL_PLAIN_KERNELS"  # 0: none runs as plain Python
_FEW: Final = 1 << 18  # numbers in arrays
_FEW_SAMPLES: Final = 10_000  # all pairs take half a second
_FEW_PEOPLE: Final = 1_000
_SAFE_TYPES: Final = frozenset("ld?")  # int64, float64, bool
_NARROW_TYPES: Final = frozenset("bBhHiI")  # integers that compiled code widens, and NumPy does not
_PLAIN: Final = threading.local()  # runs: this thread runs a kernel as plain Python
_SWITCHED_OFF: Final = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


class CompiledKernel:
    """Compiled on its first call with each combination of types."""

    def __init__(self, function: Callable[..., Any], *, only_many: bool = False) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._only_many = only_many

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher that Python calls."""
        return self._dispatcher()

    @cached_property
    def inner_dispatcher(self) -> Any:
        """For other kernels, without the wrapper for Python, a tenth of all compiling."""
        dispatcher = self._dispatcher(no_cpython_wrapper=True)
        dispatcher.get_call_template = partial(_without_literals, dispatcher.get_call_template)
        return dispatcher

    def _dispatcher(self, **flags: bool) -> Any:
        from numba import njit

        from shoal.runtime.kernel_cache import KernelCache

        dispatcher = njit(**FLAGS, **flags)(self.py_func)
        dispatcher._cache = KernelCache(self.py_func, flags)  # where numba puts its own
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        return self.inner_dispatcher._numba_type_

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compile if needed, and call."""
        if getattr(_PLAIN, "runs", False):
            return self.py_func(*arguments, **named)
        if self._only_many:
            self._numbers_left -= _count_numbers((*arguments, *named.values()))
            if self._numbers_left >= 0:
                return self._call_plainly(arguments, named)
            self._only_many = False
        try:
            return self.dispatcher(*arguments, **named)
        except BaseException:
            from shoal.runtime.kernel_cache import abandon

            abandon()
            raise

    @cached_property
    def _numbers_left(self) -> float:
        from shoal.runtime.kernel_cache import count_file, is_stored

        name = self.py_func.__name__
        if os.environ.get(SWITCH) == "0" or is_stored(name):
            return 0.0
        file = count_file(name)
        atexit.register(self._keep_count, file)
        with suppress(OSError, ValueError):
            return _FEW - float(file.read_text())
        return float(_FEW)

    def _keep_count(self, file: Path) -> None:
        with suppress(OSError):
            file.write_text(str(_FEW - max(self._numbers_left, 0.0)))

    def _call_plainly(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        widened: list[tuple[Numbers, Numbers]] = []
        with plain_kernels():
            result = self.py_func(
                *_widen(arguments, widened),
                **dict(zip(named, _widen(tuple(named.values()), widened), strict=True)),
            )
        for narrow, wide in widened:
            if narrow.flags.writeable:
                narrow[...] = wide
        return result


@contextmanager
def plain_kernels() -> Iterator[None]:
    """Kernels run as plain Python in this thread."""
    before, _PLAIN.runs = getattr(_PLAIN, "runs", False), True
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _PLAIN.runs = before


def _count_numbers(values: tuple[Any, ...]) -> float:
    """In arrays; infinitely many if plain Python might compute otherwise."""
    arrays = list(_arrays_in(values))
    narrow = [array for array in arrays if array.dtype.char in _NARROW_TYPES]
    if any(array.dtype.char not in _SAFE_TYPES | _NARROW_TYPES for array in arrays) or any(
        np.may_share_memory(one, other)
        for one, other in combinations(narrow, 2)  # what is written to a copy
    ):
        return math.inf
    return sum(array.size for array in arrays)


def _arrays_in(values: tuple[Any, ...]) -> Iterator[Numbers]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays_in(value)


def _widen(values: tuple[Any, ...], widened: list[tuple[Numbers, Numbers]]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, np.ndarray) and value.dtype.char in _NARROW_TYPES:
            widened.append((value, value.astype(np.int64)))
            yield widened[-1][1]
        elif isinstance(value, tuple):
            parts = _widen(value, widened)
            yield value._make(parts) if hasattr(value, "_make") else tuple(parts)
        else:
            yield value


def _without_literals(resolve: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    # a literal number in a call needs no compiled form of its own
    from numba.core.types.misc import unliteral

    return resolve(tuple(map(unliteral, arguments)), {name: unliteral(kind) for name, kind in named.items()})


def are_few(samples: int, people: int) -> bool:
    """Whether NumPy compares so few samples, each with each: compiling would take longer."""
    few = samples <= _FEW_SAMPLES and people <= _FEW_PEOPLE
    return few and os.environ.get(SWITCH) != "0" and not _SWITCHED_OFF


def compiled(function: Kernel) -> Kernel:
    """Compile a function over plain arrays: cached, without the interpreter lock."""
    if _SWITCHED_OFF:
        return function
    wrapped: Any = CompiledKernel(function)
    return wrapped  # type: ignore[no-any-return]  # it is called as the function is


def compiled_for_many(function: Kernel) -> Kernel:
    """As ``compiled``, after a first few numbers; for kernels that take a small multiple of their input."""
    if _SWITCHED_OFF:
        return function
    wrapped: Any = CompiledKernel(function, only_many=True)
    return wrapped  # type: ignore[no-any-return]  # it is called as the function is
