"""Kernels that a wheel brings along: used where they run, and done without everywhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.codegen import JITCPUCodegen

from shoal.runtime import kernel_cache
from shoal.runtime.kernel_cache import LEVELS, levels_of

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
from shoal.runtime import kernel_cache
from shoal.runtime.compiling import COMPILING

kernel_cache.SHIPPED = Path({shipped!r})
{before}
import two_kernels

print(two_kernels.outer(np.linspace(0, 1, 1_001)).hex(), COMPILING.kernels)
"""
HOST: tuple[str, str, str] = JITCPUCodegen("host").magic_tuple()
LEVEL = next(levels_of(HOST))[1]  # the best that this machine has


class Wheel:
    """A folder of shipped kernels for this machine's best level, and what they give."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shipped = folder / "wheel" / "shoal"
        (folder / "two_kernels.py").write_text(MODULE)
        self.value, compiled = self.called("wheel", NUMBA_CPU_NAME=LEVEL, NUMBA_CPU_FEATURES="")
        names = sorted(path.name.partition("-")[0] for path in self.shipped.iterdir())
        assert (compiled, names) == (2, ["allocator", "inner", "outer"])

    def called(
        self, kept: str, before: str = "", shipped: Path | None = None, **environment: str
    ) -> tuple[str, int]:
        """The result of a kernel in a process of its own, and how many it compiled."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        code = CALL.format(folder=str(self.folder), shipped=str(shipped or self.shipped), before=before)
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**plain, "NUMBA_CACHE_DIR": str(self.folder / kept), **environment},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        value, compiled = done.stdout.split()
        return value, int(compiled)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    return Wheel(tmp_path_factory.mktemp("shipped"))


def test_what_a_wheel_brings_is_used_and_gives_what_compiling_gives(wheel: Wheel, tmp_path: Path) -> None:
    for path in wheel.shipped.iterdir():
        path.chmod(0o444)
    assert wheel.called("own") == (wheel.value, 0)
    assert list((wheel.folder / "own" / "shoal").iterdir()) == [], "nothing was compiled, nothing is kept"
    assert wheel.called("other", shipped=tmp_path) == (wheel.value, 2)


def test_a_level_that_the_machine_lacks_is_not_used(wheel: Wheel) -> None:
    lacking = f"kernel_cache.LEVELS[{LEVEL!r}] = frozenset({{'no-such-feature'}})"
    assert wheel.called("lacking", lacking) == (wheel.value, 2)


@pytest.mark.skipif(LEVEL == "generic", reason="it needs no feature")
def test_a_feature_that_settings_switch_off_is_lacking(wheel: Wheel) -> None:
    assert wheel.called("without", NUMBA_ENABLE_AVX="0") == (wheel.value, 2)


def test_other_versions_are_not_used(wheel: Wheel, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "kernel_cache._VERSIONS = ('0.0', *kernel_cache._VERSIONS[1:])"
    assert wheel.called("other-numba", other) == (wheel.value, 2)
    names = set()
    for place in range(6):  # numba, llvmlite, NumPy, Python, the system, and none of them
        versions = [f"{one}.1" if n == place else one for n, one in enumerate(kernel_cache._VERSIONS)]
        with monkeypatch.context() as patched:
            patched.setattr(kernel_cache, "_VERSIONS", tuple(versions))
            names.add(kernel_cache.KernelCache(_plain, {})._name((), HOST))
    assert len(names) == 6


def _plain() -> int:
    return 1


def test_a_damaged_file_is_compiled(wheel: Wheel, tmp_path: Path) -> None:
    for path in wheel.shipped.iterdir():
        content = path.read_bytes()
        (tmp_path / path.name).write_bytes(content[:-100] if path.name.startswith("outer") else content)
    assert wheel.called("mended", shipped=tmp_path) == (wheel.value, 1)
    assert wheel.called("mended", shipped=tmp_path) == (wheel.value, 0)


def test_levels_are_those_whose_every_feature_is_there() -> None:
    told = ",".join(f"+{one}" for one in sorted(LEVELS["x86-64-v3"]))
    system = "x86_64-unknown-linux-gnu"
    assert [name for _, name, _ in levels_of((system, "here", told))] == ["x86-64-v3", "generic"]
    for missing in LEVELS["x86-64-v3"]:
        less = f"{told},".replace(f"+{missing},", f"-{missing},")
        assert list(levels_of((system, "here", less))) == [(system, "generic", "")]
    system = "aarch64-unknown-linux-gnu"
    assert list(levels_of((system, "here", "+neon,-sve"))) == [(system, "generic", "")]
