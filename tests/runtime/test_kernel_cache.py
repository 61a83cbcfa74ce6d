"""Compiled kernels are kept by what they compute, shared, and never stale."""

import gc
import importlib.util
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from llvmlite import binding
from numba.core.bytecode import FunctionIdentity
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

from shoal.cli import terminal
from shoal.runtime import kernel_cache
from shoal.runtime.compiling import COMPILING, CompileTimer
from shoal.runtime.kernel_cache import digest_of

INNER = """
from shoal.runtime.compiled import compiled

STEP = 1


@compiled
def inner(x: int) -> int:
    return x + STEP
"""
OUTER = """
from {inner} import STEP, inner
from shoal.runtime.compiled import compiled


@compiled
def outer(x: int) -> int:
    return 10 * inner(x)


@compiled
def other(x: int) -> int:
    return x - STEP
"""
CHANGED = INNER.replace("x + STEP", "x + 2 * STEP")


@pytest.fixture(autouse=True)
def without_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would take a file for unchanged that was written twice in a second, with as many bytes."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, of a process that has what kernels allocate with."""
    rtsys.initialize(cpu_target.target_context)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    kernel_cache.folder.cache_clear()
    yield tmp_path / "kept" / "shoal"
    kernel_cache.folder.cache_clear()


def kernels(folder: Path, inner: str = INNER) -> ModuleType:
    """Both modules from this folder, as a new process would load them."""
    folder.mkdir(exist_ok=True)
    modules = []
    for name, text in (("kernel_inner", inner), ("kernel_outer", OUTER.format(inner="kernel_inner"))):
        path = folder / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        modules.append(module)
    del sys.modules["kernel_inner"], sys.modules["kernel_outer"]
    return modules[1]


def test_a_kernel_whose_callee_in_another_file_changes_is_compiled_again(kept: Path, tmp_path: Path) -> None:
    assert kernels(tmp_path / "one").outer(1) == 20
    assert kernels(tmp_path / "one", CHANGED).outer(1) == 30
    assert kernels(tmp_path / "one").outer(1) == 20


def test_a_constant_of_another_file_counts_and_comments_and_lines_do_not(tmp_path: Path) -> None:
    first = kernels(tmp_path / "one")
    moved = kernels(
        tmp_path / "two", "# a comment\n\n" + INNER.replace("-> int:", '-> int:\n    """Words."""')
    )
    other_step = kernels(tmp_path / "one", INNER.replace("STEP = 1", "STEP = 2"))
    changed = kernels(tmp_path / "one", CHANGED)
    assert digest_of(first.outer) == digest_of(moved.outer) != digest_of(changed.outer)
    assert digest_of(first.outer) != digest_of(other_step.outer)
    assert digest_of(first.other) == digest_of(changed.other) != digest_of(other_step.other)


def test_copies_in_other_places_share_what_is_compiled(kept: Path, tmp_path: Path) -> None:
    assert kernels(tmp_path / "one").outer(1) == 20
    before, files = COMPILING.kernels, sorted(kept.iterdir())
    assert len(files) == 2
    assert kernels(tmp_path / "two").outer(2) == 30
    assert COMPILING.kernels == before
    assert sorted(kept.iterdir()) == files
    assert kernels(tmp_path / "two").outer(2.0) == 30.0
    assert COMPILING.kernels == before + 2


def test_a_kept_kernel_loads_no_library_of_numbas(tmp_path: Path) -> None:
    """What compiling alone needs is loaded when a kernel is compiled, and only then."""
    program = """
import sys
import numpy as np
from shoal.runtime.compiled import compiled

@compiled
def found(values):
    return np.sort(np.unique(values[values > 0])), np.zeros(3), values.mean()

results = [np.asarray(one).tolist() for one in found(np.array([3, 0, 2, 3]))]
print(results, "numba.np.arraymath" in sys.modules)
"""
    (tmp_path / "program.py").write_text(program)  # numba asks for the text of a function

    def told() -> str:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        done = subprocess.run(
            [sys.executable, str(tmp_path / "program.py")],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    expected = "[[2, 3], [0.0, 0.0, 0.0], 2.0]"
    assert told() == f"{expected} True"
    assert told() == f"{expected} False"


SORTING = """
import sys
import numpy as np
from shoal.runtime.compiled import compiled


@compiled
def ascending(values):
    return np.sort(values)


@compiled
def places(values):
    return np.argsort(values)


@compiled
def one(value):
    return value


values = np.random.default_rng(1).permutation(200)
known = {"ascending": (ascending, np.sort), "places": (places, np.argsort)}
for name in sys.argv[1:]:
    if name in known:
        kernel, same = known[name]
        print(kernel(values).tolist() == same(values).tolist())
    else:
        one({"int": 1, "float": 1.0, "complex": 1j}[name])
"""


def sorted_by(program: Path, kept: Path, *names: str) -> list[str]:
    """Whether each kernel of SORTING that a process of its own calls, in this order, does what NumPy does."""
    done = subprocess.run(
        [sys.executable, str(program), *names],
        env=os.environ | {"NUMBA_CACHE_DIR": str(kept)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def functions_in(kept: Path) -> set[str]:
    """All that the kernels in a folder define, without numba's functions that they allocate with."""
    kernels = [
        pickle.loads(file.read_bytes()[kernel_cache._CHECKSUM_BYTES :])
        for file in (kept / "shoal").glob("*.kernel")
        if not file.name.startswith("allocator-")
    ]
    return {
        function.name
        for kernel in kernels
        for function in binding.parse_bitcode(kernel[0][2][1]).functions
        if not function.is_declaration
    }


def test_kernels_of_two_processes_are_not_taken_for_each_other(tmp_path: Path) -> None:
    """Both sort, each in a way of its own: numba numbered their inner functions alike after three kernels."""
    program, kept = tmp_path / "program.py", tmp_path / "kept"
    program.write_text(SORTING)
    assert sorted_by(program, kept, "ascending") == ["True"]
    assert sorted_by(program, kept, "int", "float", "complex", "places") == ["True"]
    assert sorted_by(program, kept, "ascending", "places") == ["True", "True"]
    assert sorted_by(program, kept, "places", "ascending") == ["True", "True"]


def test_what_two_processes_compile_has_no_name_in_common(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SORTING)
    for folder in ("one", "two"):
        assert sorted_by(program, tmp_path / folder, "ascending") == ["True"]
    one, two = functions_in(tmp_path / "one"), functions_in(tmp_path / "two")
    assert one
    assert two
    assert not one & two


def test_what_kernels_allocate_with_is_kept_and_mended(tmp_path: Path) -> None:
    program, kept = tmp_path / "program.py", tmp_path / "kept"
    program.write_text(SORTING)
    assert sorted_by(program, kept, "ascending") == ["True"]
    (file,) = (kept / "shoal").glob("allocator-*.kernel")
    os.utime(file, (0, 0))
    content = file.read_bytes()
    assert sorted_by(program, kept, "ascending") == ["True"]
    assert file.stat().st_mtime > 0, "it was used"
    assert file.read_bytes() == content, "and not made again"
    file.write_bytes(damaged := content[:-1] + bytes([content[-1] ^ 1]))
    assert sorted_by(program, kept, "ascending", "places") == ["True", "True"]
    assert file.read_bytes() != damaged


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="there is no fork here")
def test_a_forked_process_numbers_from_a_place_of_its_own() -> None:
    first = next(FunctionIdentity._unique_ids)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of libraries do not matter here
        child = os.fork()
    if not child:
        os.write(writing, str(next(FunctionIdentity._unique_ids)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = int(os.read(reading, 100))
    os.close(reading)
    os.close(writing)
    assert abs(told - first) > 1_000_000


@pytest.mark.parametrize("damage", [b"", b"no pickle", b"\x80\x04cno_module\nno_name\n."])
def test_a_damaged_file_is_compiled_again(kept: Path, tmp_path: Path, damage: bytes) -> None:
    assert kernels(tmp_path / "one").outer(1) == 20
    for path in kept.iterdir():
        path.write_bytes(damage)
    before = COMPILING.kernels
    assert kernels(tmp_path / "one").outer(1) == 20
    assert COMPILING.kernels == before + 2
    assert all(path.read_bytes() != damage for path in kept.iterdir())


@pytest.mark.parametrize("place", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_bit_that_flipped_on_disk_is_compiled_again(kept: Path, tmp_path: Path, place: float) -> None:
    """It may stand in machine code, which would end the process by a signal."""
    assert kernels(tmp_path / "one").outer(1) == 20
    whole = {path: path.read_bytes() for path in kept.iterdir()}
    for path, content in whole.items():
        at = int(len(content) * place)
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    before = COMPILING.kernels
    assert kernels(tmp_path / "one").outer(1) == 20
    assert COMPILING.kernels == before + 2


def test_nothing_can_be_kept_and_all_works(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert kernels(tmp_path / "one").outer(1) == 20
    assert list(kept.iterdir()) == []


def test_a_folder_of_somebody_else_is_not_used(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_cache.folder() == kept
    kernel_cache.folder.cache_clear()
    monkeypatch.setattr(os, "getuid", lambda: kept.stat().st_uid + 1)
    assert kernel_cache.folder() != kept
    kernel_cache.folder().rmdir()


def test_what_nobody_has_used_for_long_is_removed(kept: Path, tmp_path: Path) -> None:
    kept.mkdir(parents=True)
    for name, days in (("old", 61), ("young", 59)):
        (kept / name).touch()
        os.utime(kept / name, (time.time() - 86_400 * days,) * 2)
    assert kernels(tmp_path / "one").outer(1) == 20
    assert not (kept / "old").exists()
    assert (kept / "young").exists()


def test_two_processes_compile_a_kernel_once(kept: Path, tmp_path: Path) -> None:
    kernels(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import kernel_outer; "
        "from shoal.runtime.compiling import COMPILING; print(kernel_outer.outer(1), COMPILING.kernels)"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate()[0].split() for process in running]
    assert [each[0] for each in said] == ["20", "20"]
    assert sum(int(each[1]) for each in said) == 2
    assert {path.suffix for path in kept.iterdir()} == {".kernel"}


def test_a_kernel_that_cannot_be_compiled_blocks_nobody(kept: Path, tmp_path: Path) -> None:
    module = kernels(tmp_path / "one", INNER.replace("x + STEP", "x.no_such_thing"))
    with pytest.raises(Exception, match="no_such_thing"):
        module.outer(1)
    assert kernels(tmp_path / "one").outer(1) == 20
    assert {path.suffix for path in kept.iterdir()} == {".kernel"}


def test_seconds_of_kernels_inside_others_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    spent = CompileTimer()
    collecting = []
    for step in (spent.begin, spent.begin, spent.end, spent.end, spent.end):
        step()
        collecting.append(gc.isenabled())
        now[0] += 1
    assert collecting == [False, False, False, True, True], "no garbage is looked for meanwhile"
    assert (spent.kernels, spent.seconds) == (2, 3.0)
    spent.begin()
    now[0] += 1
    assert spent.seconds == 4.0
    spent.abandon()
    now[0] += 1
    assert spent.seconds == 4.0


def test_compiling_is_said_once_and_is_no_work_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a first use, 60 s of compiling before the first of 100 parts once made "about 1 h 39 min left"."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(terminal, "COMPILING", spent := CompileTimer())
    with terminal.Bars(quiet=False) as bars:
        bars("looking", 0, 100)
        for _ in range(3):
            spent.begin()
            now[0] += 20
            spent.end()
        now[0] += 11
        bars("looking", 50, 100)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].startswith("compiling for this processor")
    assert said[1] == "looking: 50 %, about 11 s left"
    spent.begin()
    assert capsys.readouterr().err == ""
    spent.end()  # or no garbage would be looked for in what follows
