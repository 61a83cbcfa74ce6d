"""Compiled kernels on disk, shared by a user's installations.

A kernel is found by what it computes: its code, that of all kernels it calls, their constants, argument
types, the versions of compiler and Python, and the processor. Editing one recompiles it and its callers,
and nothing else.

A wheel may ship kernels, compiled with ``NUMBA_CPU_NAME`` set to a level of processors. They are used where
the user has none.

Of several processes, one compiles a kernel and the others wait. What cannot be read or written is compiled
again.
"""

import hashlib
import itertools
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, BinaryIO, Final

import llvmlite
import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import serialize, sigutils
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.runtime import nrtdynmod
from numba.core.runtime.nrt import rtsys

from shoal.runtime.compiling import COMPILING

SHIPPED: Final = Path(__file__).with_name("shipped_kernels")
"""Those of the wheel. A folder of the package is as trustworthy as its code."""

_PATIENCE_S: Final = 300.0  # with another process that compiles
_LOOK_EVERY_S: Final = 0.02
_UNUSED_S: Final = 60 * 86_400.0  # after which a file is removed
_PACKAGE: Final = __name__.partition(".")[0]
_LOCKS: Final[dict[Path, BinaryIO]] = {}  # locks of kernels that this process compiles
_PYTHON: Final = f"{sys.implementation.cache_tag}{sys.abiflags}"  # what compiled code holds for
_FORM: Final = "names of one process, no intermediate code, behind a checksum"  # of stored kernels
_CHECKSUM_BYTES: Final = 32
_VERSIONS: Final = (numba.__version__, llvmlite.__version__, np.__version__, _PYTHON, sys.platform, _FORM)

_V2: Final = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3: Final = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}

LEVELS: Final = {"x86-64-v3": _V3, "generic": frozenset[str]()}
"""Best first, with what each needs. Generic code runs on every processor of its architecture.

x86-64-v4, with AVX-512, is none of them: it made nothing faster.
"""


def _randomize_numba_ids() -> None:
    # Numba distinguishes its inner functions, such as a sort's, by a number that counts up in each process.
    # Two processes gave the same number to different ones, and a process that loaded kernels of both called
    # the wrong one.
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(8), "little"))


_randomize_numba_ids()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_randomize_numba_ids)


class KernelCache:
    """A kernel's stored forms, for numba's dispatchers."""

    def __init__(self, function: Callable[..., Any], flags: Mapping[str, bool]) -> None:
        self._function = function
        self._flags = repr(flags)
        self._inside = flags.get("no_cpython_wrapper", False)  # other kernels call it

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(folder())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The form for these types; None: compile it."""
        rtsys.initialize(context)  # what kept code allocates with
        name, rebuild = partial(self._name, signature), partial(CompileResult._rebuild, context)
        kernel = _find(name, context, rebuild)
        if kernel is None:
            path = folder() / name(context.codegen().magic_tuple())
            lock = _acquire_lock(path.with_suffix(".lock"))
            kernel = _read(path, rebuild)  # another process may have made it meanwhile
            if kernel is None:
                COMPILING.begin()
                context.refresh()  # all that compiling may meet; loading that takes a third of a second
                if lock is not None:
                    _LOCKS[path] = lock
            elif lock is not None:
                lock.close()
        return kernel

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled form."""
        path = folder() / self._name(signature, result.codegen.magic_tuple())
        COMPILING.end()
        if not result.lifted and not result.library.has_dynamic_globals:
            _write(path, serialize.dumps(self._reduce(result)))
        _release_lock(path)

    def _reduce(self, result: Any) -> tuple[Any, ...]:
        # The annotation is for people: a fifth of a file, with paths in it. Environments of numba's own
        # functions without constants would import their modules. Intermediate code is for kernels that call
        # this one; for those that Python calls, its names are enough.
        plain = result._replace(type_annotation="")
        (name, kind, (machine_code, code)), *parts, environments = plain._reduce()
        if not self._inside:
            code = _stub_code(code, result.fndesc)
        modules = (one.globals["__name__"].partition(".")[0] for one in environments)
        needed = [one for one, of in zip(environments, modules, strict=True) if one.consts or of != "numba"]
        return (name, kind, (machine_code, code)), *parts, tuple(needed)

    def flush(self) -> None:
        """Numba calls it before it recompiles; other files stay."""

    def _name(self, signature: Any, processor: tuple[str, str, str]) -> str:
        arguments, result = sigutils.normalize_signature(signature)
        types = [str(arguments), str(result), *(name for kind in arguments for name in _classes_in(kind))]
        key = _digest([digest_of(self._function), self._flags, *types, str(processor), *_VERSIONS])
        return f"{self._function.__name__}-{key.hex()[:32]}.kernel"


def levels_of(processor: tuple[str, str, str]) -> Iterator[tuple[str, str, str]]:
    """Levels that run on this processor, best first."""
    # as numba describes it: system, name, features such as "+avx2,-sse4a", without those switched off
    system, _, flags = processor
    features = {flag[1:] for flag in flags.split(",") if flag.startswith("+")}
    for name, needed in LEVELS.items():
        if needed <= features:
            yield system, name, ""


@cache
def folder() -> Path:
    """The user's folder, or a temporary one."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        path = Path(named) / "shoal"
    else:
        home = "Library/Caches" if sys.platform == "darwin" else ".cache"
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / home) / "shoal" / "kernels"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        # what lies there is run: it must be the user's own
        usable = os.access(path, os.W_OK) and path.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):  # RuntimeError: no home
        usable = False
    return path if usable else Path(tempfile.mkdtemp(prefix="shoal-kernels-"))


def is_stored(name: str) -> bool:
    """Whether a form of a kernel of this name is stored, perhaps of another version."""
    return any(any(place.glob(f"{name}-*.kernel")) for place in (folder(), SHIPPED))


def count_file(name: str) -> Path:
    """Where processes keep how many numbers a kernel that is not stored got as plain Python."""
    return folder() / f"{name}.plain"


@cache
def digest_of(function: Callable[..., Any]) -> bytes:
    """A digest of what machine code depends on, except argument types."""
    waiting, reached = [function], dict[Any, bytes]()
    while waiting:
        one = _python_function(waiting.pop())
        if one not in reached:
            reached[one], called = _describe(one)
            waiting += called
    return _digest(sorted(reached.values()))


@cache
def _describe(function: FunctionType) -> tuple[bytes, tuple[Any, ...]]:
    parts: list[bytes | str] = [f"{function.__module__}.{function.__qualname__} {function.__defaults__!r}"]
    names: set[str] = set()
    for code in _codes_in(function.__code__):
        parts += [code.co_code, repr((code.co_argcount, code.co_flags, code.co_varnames, code.co_freevars))]
        parts += [repr(code.co_names)]
        parts += [
            repr(one) for one in code.co_consts if one != function.__doc__ and not isinstance(one, CodeType)
        ]
        names |= set(code.co_names)
    values = {name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())}
    values |= {f"cell {place}": cell.cell_contents for place, cell in enumerate(function.__closure__ or ())}
    for name, value in list(values.items()):
        if isinstance(value, ModuleType) and value.__name__.startswith(_PACKAGE):
            values |= {f"{name}.{one}": vars(value)[one] for one in sorted(names & vars(value).keys())}
    called = tuple(value for value in values.values() if isinstance(_python_function(value), FunctionType))
    parts += [f"{name}: " + _describe_value(_python_function(value)) for name, value in values.items()]
    return _digest(parts), called


def _python_function(value: Any) -> Any:
    return getattr(value, "py_func", value)


def _describe_value(value: Any) -> str:
    if isinstance(value, (FunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {value!r}"


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes_in(one)


def _classes_in(kind: Any) -> Iterator[str]:
    named = getattr(kind, "instance_class", None)
    if named is not None:
        yield f"{named.__module__}.{named.__qualname__}{named._fields}"
    for inner in getattr(kind, "types", ()):
        yield from _classes_in(inner)


def _digest(parts: Sequence[bytes | str]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.digest()


def _allocator(context: Any) -> Any:
    """Numba's functions for memory, kept as kernels are: to compile them takes 30 MiB of LLVM's code."""
    library = _find(_allocator_name, context, context.codegen().unserialize_library)
    if library is None:
        module, library = nrtdynmod.create_nrt_module(context)
        library.enable_object_caching()
        library.add_ir_module(module)
        library.finalize()
        library.get_pointer_to_function("NRT_incref")  # now there is machine code
        content = serialize.dumps((library.serialize_using_object_code(),))
        _write(folder() / _allocator_name(context.codegen().magic_tuple()), content)
    return library


nrtdynmod.compile_nrt_functions = _allocator


def _allocator_name(processor: tuple[str, str, str]) -> str:
    return f"allocator-{_digest([str(processor), *_VERSIONS]).hex()[:32]}.kernel"


def _find(name: Callable[[tuple[str, str, str]], str], context: Any, rebuild: Callable[..., Any]) -> Any:
    """The user's own, or the best of the wheel; None without one."""
    processor = context.codegen().magic_tuple()
    found = _read(folder() / name(processor), rebuild)
    for level in levels_of(processor) if found is None else ():
        found = found or _read(SHIPPED / name(level), rebuild)
    return found


def _read(path: Path, rebuild: Callable[..., Any]) -> Any:
    try:
        content = path.read_bytes()
        with suppress(OSError):  # a wheel may be installed where the user cannot write
            os.utime(path)  # still in use
        checksum, kernel = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if hashlib.sha256(kernel).digest() != checksum:  # damaged machine code would end the process
            return None
        return rebuild(*pickle.loads(kernel))  # noqa: S301  (the user's own file, or the package's)
    except FileNotFoundError:
        return None
    except Exception:  # it is damaged, or of a class that is gone, and is compiled again
        return None


def _stub_code(code: bytes, descriptor: Any) -> bytes:
    # It is never compiled, because the machine code exists; reading the full code took longer than loading
    # that.
    whole = binding.parse_bitcode(code)
    module = ir.Module(whole.name)
    module.triple, module.data_layout = whole.triple, whole.data_layout
    for name in (descriptor.llvm_func_name, descriptor.llvm_cpython_wrapper_name):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), ()), name)
        ir.IRBuilder(function.append_basic_block()).ret_void()
    named: bytes = binding.parse_assembly(str(module)).as_bitcode()
    return named


def _write(path: Path, content: bytes) -> None:
    part = path.with_suffix(f".{os.getpid()}")
    try:
        _remove_unused(path.parent)
        part.write_bytes(hashlib.sha256(content).digest() + content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)


@cache
def _remove_unused(folder_path: Path) -> None:
    for path in folder_path.iterdir():
        if time.time() - path.stat().st_mtime > _UNUSED_S:
            path.unlink(missing_ok=True)


def abandon() -> None:
    """Let other processes compile what this one could not."""
    COMPILING.abandon()
    for path in list(_LOCKS):
        _release_lock(path)


def _release_lock(path: Path) -> None:
    lock = _LOCKS.pop(path, None)
    if lock is not None:
        path.with_suffix(".lock").unlink(missing_ok=True)
        lock.close()


def _acquire_lock(path: Path) -> BinaryIO | None:
    from filelock import lock_descriptor  # loads asyncio, which no kept kernel needs

    try:
        lock = path.open("wb")
    except OSError:
        return None
    ends = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends:
        with suppress(OSError):
            if lock_descriptor(lock.fileno(), blocking=False):
                return lock
        time.sleep(_LOOK_EVERY_S)
    lock.close()
    return None
