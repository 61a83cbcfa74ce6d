"""Kernels that run as plain Python while they get few numbers."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from shoal.runtime import compiled, kernel_cache
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import CompiledKernel


class Columns(NamedTuple):
    """Two arrays."""

    a: Any
    b: Any


def _add(columns: Columns, sums: Floats) -> None:
    sums[:] = columns.a + columns.b


def _kernel(calls: list[str], *, only_many: bool = True) -> CompiledKernel:
    def plain(*arguments: Any) -> None:
        calls.append("plain")
        _add(*arguments)

    def dispatcher(*arguments: Any) -> None:
        calls.append("compiled")
        _add(*arguments)

    kernel = CompiledKernel(plain, only_many=only_many)
    kernel.__dict__["dispatcher"] = dispatcher
    return kernel


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(compiled.SWITCH)
    monkeypatch.setattr(compiled, "_FEW", 20)
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(kernel_cache, "SHIPPED", tmp_path)


@pytest.mark.usefixtures("few")
def test_a_kernel_is_compiled_once_all_its_calls_got_many_numbers() -> None:
    calls: list[str] = []
    kernel, sums = _kernel(calls), np.zeros(3)
    for _ in range(4):
        kernel(Columns(np.arange(3), np.arange(3)), sums)
    assert calls == ["plain", "plain", "compiled", "compiled"]
    assert sums.tolist() == [0, 2, 4]


_PROCESS = """
import numpy as np
from shoal.runtime import compiled
from shoal.runtime.compiled import CompiledKernel

compiled._FEW = 20
kernel = CompiledKernel(lambda numbers: print("plain"), only_many=True)
kernel.py_func.__name__ = "counted"
kernel.__dict__["dispatcher"] = lambda numbers: print("compiled")
kernel(np.arange(9))
"""


def test_the_numbers_of_earlier_processes_count(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), compiled.SWITCH: "1"}

    def said() -> str:
        command = [sys.executable, "-c", _PROCESS]
        done = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        return done.stdout.strip()

    assert [said() for _ in range(4)] == ["plain", "plain", "compiled", "compiled"]
    (tmp_path / "shoal/counted.plain").write_text("no number")
    assert said() == "plain"


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("narrow", [np.uint64, np.float32])
def test_types_that_numpy_does_not_widen_are_left_to_the_compiler(narrow: Any) -> None:
    calls: list[str] = []
    _kernel(calls)(Columns(np.arange(3), np.ones(3, dtype=narrow)), np.zeros(3))
    assert calls == ["compiled"]


@pytest.mark.usefixtures("few")
def test_narrow_integers_are_widened_and_what_is_written_comes_back() -> None:
    """As compiled code has it, a product of two does not overflow; arrays that overlap are left to it."""
    calls: list[str] = []

    def multiply(columns: Columns, products: Any, last: Integers) -> None:
        calls.append("plain")
        for place in range(len(products)):
            last[0] = columns.a[place] * columns.b[place]
            products[place] = last[0] >> 14

    kernel = CompiledKernel(multiply, only_many=True)
    kernel.__dict__["dispatcher"] = lambda *arguments: calls.append("compiled")
    a, products, last = (
        np.full(3, 1 << 14, dtype=np.int16),
        np.zeros(3, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )
    a.flags.writeable = False
    kernel(Columns(a, np.full(3, 200, dtype=np.uint8)), products, last)
    assert products.tolist() == [200] * 3
    assert last.tolist() == [200 << 14]
    kernel(Columns(products[1:], products[:-1]), products.copy(), last)
    assert calls == ["plain", "compiled"]


@pytest.mark.usefixtures("few")
def test_kernels_inside_a_plain_one_are_plain_in_its_thread_only() -> None:
    calls: list[str] = []
    inner = _kernel(calls, only_many=False)
    arguments = Columns(np.arange(3), np.arange(3)), np.zeros(3)

    def outer(numbers: Integers) -> None:
        inner(*arguments)
        other = threading.Thread(target=inner, args=arguments)
        other.start()
        other.join()

    CompiledKernel(outer, only_many=True)(np.arange(3))
    assert calls == ["plain", "compiled"]
    with pytest.raises(IndexError):
        CompiledKernel(lambda numbers: numbers[5], only_many=True)(np.arange(3))
    inner(*arguments)
    assert calls == ["plain", "compiled", "compiled"]


@pytest.mark.usefixtures("few")
def test_stored_kernels_and_all_of_these_tests_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    arguments = Columns(np.arange(3), np.arange(3)), np.zeros(3)
    with monkeypatch.context() as stored:
        stored.setattr(kernel_cache, "is_stored", lambda name: name == "plain")
        _kernel(calls)(*arguments)
    assert calls == ["compiled"]
    monkeypatch.setenv(compiled.SWITCH, "0")
    _kernel(calls)(*arguments)
    assert calls == ["compiled", "compiled"]


def test_kernels_are_stored_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    (tmp_path / "add-0123.kernel").touch()
    assert kernel_cache.is_stored("add")
    assert not kernel_cache.is_stored("ad")
