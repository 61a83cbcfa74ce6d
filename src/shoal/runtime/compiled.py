"""The jit decorator.

Kernels are compiled on their first call and cached by ``runtime/kernel_cache.py``. Importing one imports no
compiler. With ``NUMBA_DISABLE_JIT=1`` they run as plain Python.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, update_wrapper
from typing import Any, Final, TypeVar

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

FLAGS: Final = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}  # no C program calls one
_SWITCHED_OFF: Final = os.environ.get("NUMBA_DISABLE_JIT", "0").strip() not in ("", "0")


class CompiledKernel:
    """Compiled on its first call with each combination of types."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function

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
        try:
            return self.dispatcher(*arguments, **named)
        except BaseException:
            from shoal.runtime.kernel_cache import abandon

            abandon()
            raise


def _without_literals(resolve: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
    # a literal number in a call needs no compiled form of its own
    from numba.core.types.misc import unliteral

    return resolve(tuple(map(unliteral, arguments)), {name: unliteral(kind) for name, kind in named.items()})


def compiled(function: Kernel) -> Kernel:
    """Compile a function over plain arrays: cached, without the interpreter lock."""
    if _SWITCHED_OFF:
        return function
    wrapped: Any = CompiledKernel(function)
    return wrapped  # type: ignore[no-any-return]  # it is called as the function is
