"""Kernels that run as plain Python while they get few numbers."""

import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

from shoal.runtime import compiled
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import CompiledKernel, compiled_for_many


class Columns(NamedTuple):
    """Two arrays."""

    a: Any
    b: Any


def _add(columns: Columns, sums: Floats) -> None:
    sums[:] = columns.a + columns.b


def _kernel(few: int, calls: list[str]) -> CompiledKernel:
    def plain(*arguments: Any) -> None:
        calls.append("plain")
        _add(*arguments)

    def dispatcher(*arguments: Any) -> None:
        calls.append("compiled")
        _add(*arguments)

    kernel = CompiledKernel(plain, few)
    kernel.__dict__["dispatcher"] = dispatcher
    return kernel


def test_a_kernel_is_compiled_once_all_its_calls_got_many_numbers() -> None:
    calls: list[str] = []
    kernel, sums = _kernel(20, calls), np.zeros(3)
    for _ in range(4):
        kernel(Columns(np.arange(3), np.arange(3)), sums)
    assert calls == ["plain", "plain", "compiled", "compiled"]
    assert sums.tolist() == [0, 2, 4]


@pytest.mark.parametrize("narrow", [np.int32, np.uint8, np.uint64, np.float32])
def test_types_that_numpy_does_not_widen_are_left_to_the_compiler(narrow: Any) -> None:
    calls: list[str] = []
    _kernel(1000, calls)(Columns(np.arange(3), np.ones(3, dtype=narrow)), np.zeros(3))
    assert calls == ["compiled"]


def test_kernels_inside_a_plain_one_are_plain_in_its_thread_only() -> None:
    calls: list[str] = []
    inner = _kernel(0, calls)
    arguments = Columns(np.arange(3), np.arange(3)), np.zeros(3)

    def outer(numbers: Integers) -> None:
        inner(*arguments)
        other = threading.Thread(target=inner, args=arguments)
        other.start()
        other.join()

    CompiledKernel(outer, 10)(np.arange(3))
    assert calls == ["plain", "compiled"]
    with pytest.raises(ZeroDivisionError):
        CompiledKernel(lambda numbers: numbers.size / 0, 10)(np.arange(3))
    inner(*arguments)
    assert calls == ["plain", "compiled", "compiled"]


def test_tests_compile_all() -> None:
    assert compiled._FEW == 0
    if not compiled._SWITCHED_OFF:
        kernel: Any = compiled_for_many(_add)
        assert kernel._numbers_left == 0
