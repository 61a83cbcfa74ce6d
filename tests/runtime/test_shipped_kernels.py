"""Kernels that a wheel brings along: used where they run, and done without everywhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.codegen import JITCPUCodegen

from shoal.runtime.processor_levels import LEVELS, levels_of

MODULE = """
from shoal.runtime.compiled import compiled


@compiled
def inner(x: float) -> float:
    return x * 1.1 + 0.3


@compiled
def outer(values) -> float:
    total = 0.0
    for value in values:
        total += inner(value)
    return total
"""
CALL = """
import sys
from pathlib import Path

sys.path.insert(0, {folder!r})
import numpy as np
from shoal.runtime import kernel_cache, processor_levels
from shoal.runtime.compiling import COMPILING

kernel_cache.SHIPPED = Path({shipped!r})
{before}
import two_kernels

print(two_kernels.outer(np.linspace(0, 1, 1_001)).hex(), COMPILING.kernels)
"""
HOST: tuple[str, str, str] = JITCPUCodegen("host").magic_tuple()
LEVEL = next(levels_of(HOST))[1]  # the best that this machine has


def called(tmp_path: Path, kept: str, before: str = "", **environment: str) -> tuple[str, int]:
    """The result of a kernel in a process of its own, and how many it compiled."""
    (tmp_path / "two_kernels.py").write_text(MODULE)
    code = CALL.format(folder=str(tmp_path), shipped=str(tmp_path / "wheel" / "shoal"), before=before)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**plain, "NUMBA_CACHE_DIR": str(tmp_path / kept), **environment},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    value, compiled = done.stdout.split()
    return value, int(compiled)


@pytest.fixture
def value(tmp_path: Path) -> str:
    """What a kernel for this machine's best level gives, once it is shipped."""
    found, compiled = called(tmp_path, "wheel", NUMBA_CPU_NAME=LEVEL, NUMBA_CPU_FEATURES="")
    assert compiled == 2
    assert len(list((tmp_path / "wheel" / "shoal").iterdir())) == 2
    return found


def test_what_a_wheel_brings_is_used_and_gives_what_compiling_gives(tmp_path: Path, value: str) -> None:
    for path in (tmp_path / "wheel" / "shoal").iterdir():
        path.chmod(0o444)
    assert called(tmp_path, "own") == (value, 0)
    assert list((tmp_path / "own" / "shoal").iterdir()) == [], "nothing was compiled, nothing is kept"
    assert called(tmp_path, "other", "kernel_cache.SHIPPED = Path('nowhere')") == (value, 2)


def test_a_level_that_the_machine_lacks_is_not_used(tmp_path: Path, value: str) -> None:
    lacking = f"processor_levels.LEVELS[{LEVEL!r}] = frozenset({{'no-such-feature'}})"
    assert called(tmp_path, "own", lacking) == (value, 2)


@pytest.mark.skipif(LEVEL == "generic", reason="it needs no feature")
def test_a_feature_that_settings_switch_off_is_lacking(tmp_path: Path, value: str) -> None:
    assert called(tmp_path, "own", NUMBA_ENABLE_AVX="0") == (value, 2)


@pytest.mark.parametrize("version", range(5))
def test_other_versions_are_not_used(tmp_path: Path, value: str, version: int) -> None:
    other = (
        f"told = list(kernel_cache._VERSIONS); told[{version}] += '.1'; kernel_cache._VERSIONS = tuple(told)"
    )
    assert called(tmp_path, "own", other) == (value, 2)


def test_a_damaged_file_is_compiled(tmp_path: Path, value: str) -> None:
    for path in (tmp_path / "wheel" / "shoal").glob("outer*"):
        path.write_bytes(path.read_bytes()[:-100])
    assert called(tmp_path, "own") == (value, 1)
    assert called(tmp_path, "own") == (value, 0)


def test_levels_are_those_whose_every_feature_is_there() -> None:
    told = ",".join(f"+{one}" for one in sorted(LEVELS["x86-64-v4"]))
    system = "x86_64-unknown-linux-gnu"
    assert [name for _, name, _ in levels_of((system, "here", told))] == ["x86-64-v4", "x86-64-v3", "generic"]
    for missing, best in (("avx512vl", "x86-64-v3"), ("movbe", "generic")):
        less = told.replace(f"+{missing}", f"-{missing}")
        assert next(levels_of((system, "here", less))) == (system, best, "")
    assert list(levels_of(("aarch64-unknown-linux-gnu", "here", "+neon,-sve"))) == [
        ("aarch64-unknown-linux-gnu", "generic", "")
    ]
