"""Compiled kernels on disk, a file for each kernel and types of its arguments, for all of a user's copies.

A kernel is found by what it computes: its own code, that of all kernels that it calls, their constants, the
types of its arguments, the versions of compiler and Python, and the processor. So copies of shoal share what
is alike in them, wherever they lie. Whoever edits a kernel compiles it again, and all that call it, and
nothing else.

A wheel may bring kernels along, compiled for a level of processors (``runtime/processor_levels.py``). They
are looked for where the user has none, and are of the same names and content: whoever compiles with
``NUMBA_CPU_NAME`` set to a level makes them.

Of several processes that need the same kernel one compiles it and the others wait. What cannot be read or
written is compiled again.
"""

import fcntl
import hashlib
import itertools
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
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
from numba.core.runtime.nrt import rtsys

from shoal.runtime.compiling import COMPILING
from shoal.runtime.processor_levels import levels_of

SHIPPED: Final = Path(__file__).with_name("shipped_kernels")
"""Those of the wheel. A folder of the package is as trustworthy as its code."""

_PATIENCE_S: Final = 300.0  # with another process that compiles
_LOOK_EVERY_S: Final = 0.02
_UNUSED_S: Final = 60 * 86_400.0  # after which a file is removed
_PACKAGE: Final = __name__.partition(".")[0]
_HELD: Final[dict[Path, BinaryIO]] = {}  # locks of kernels that this process compiles
_PYTHON: Final = f"{sys.implementation.cache_tag}{sys.abiflags}"  # what compiled code holds for
_FORM: Final = "names of one process, and no intermediate code"  # of what is kept
_VERSIONS: Final = (numba.__version__, llvmlite.__version__, np.__version__, _PYTHON, sys.platform, _FORM)


def _name_apart() -> None:
    """Number what this process compiles from a place of its own.

    Functions inside numba's own, such as a sort's, are told apart by a number that counts up in each process.
    Two processes gave the same number to different ones; who loaded kernels of both called one for the other.
    """
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(8), "little"))


_name_apart()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_name_apart)


class KernelCache:
    """The kept forms of one kernel, as numba's dispatchers ask for them."""

    def __init__(self, function: Callable[..., Any], flags: Mapping[str, bool]) -> None:
        self._function = function
        self._flags = repr(flags)
        self._inside = flags.get("no_cpython_wrapper", False)  # other kernels call it

    @property
    def cache_path(self) -> str:
        """Where they lie."""
        return str(folder())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The form for these types, None when the caller has to compile it."""
        rtsys.initialize(context)  # what kept code allocates with
        processor = context.codegen().magic_tuple()
        path = folder() / self._name(signature, processor)
        found = _read(path, context)
        for level in levels_of(processor) if found is None else ():
            found = found or _read(SHIPPED / self._name(signature, level), context)
        if found is None:
            lock = _waited_for(path.with_suffix(".lock"))
            found = _read(path, context)  # another process may have made it meanwhile
            if found is None:
                COMPILING.begin()
                context.refresh()  # all that compiling may meet; loading that takes a third of a second
                if lock is not None:
                    _HELD[path] = lock
            elif lock is not None:
                lock.close()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a form that was just compiled."""
        path = folder() / self._name(signature, result.codegen.magic_tuple())
        COMPILING.end()
        if not result.lifted and not result.library.has_dynamic_globals:
            _write(path, serialize.dumps(self._kept(result)))
        _let_go(path)

    def _kept(self, result: Any) -> tuple[Any, ...]:
        """What numba's own cache keeps, without what takes long to load and nobody asks for.

        The annotation is for people: a fifth of a file, with paths in it. Environments of numba's own
        functions without constants would have their modules imported. The intermediate code is for other
        kernels that call this one: of what Python calls its names are enough, beside the machine code.
        """
        plain = result._replace(type_annotation="")
        (name, kind, (machine_code, code)), *parts, environments = plain._reduce()
        if not self._inside:
            code = _names_alone(code, result.fndesc)
        needed = [one for one in environments if one.consts or not _is_of_numba(one.globals["__name__"])]
        return (name, kind, (machine_code, code)), *parts, tuple(needed)

    def flush(self) -> None:
        """Numba asks for it when a function is to be compiled anew; files of other content stay."""

    def _name(self, signature: Any, processor: tuple[str, str, str]) -> str:
        arguments, result = sigutils.normalize_signature(signature)
        types = [str(arguments), str(result), *(name for kind in arguments for name in _classes_in(kind))]
        key = _digest([digest_of(self._function), self._flags, *types, str(processor), *_VERSIONS])
        return f"{self._function.__name__}-{key.hex()[:32]}.kernel"


@cache
def folder() -> Path:
    """Where kernels are kept: a folder of the user, one of this process if that cannot be used."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        wanted = Path(named) / "shoal"
    else:
        home = "Library/Caches" if sys.platform == "darwin" else ".cache"
        wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / home) / "shoal" / "kernels"
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        # what lies there is run: it must be the user's own
        usable = os.access(wanted, os.W_OK) and wanted.stat().st_uid == os.getuid()
    except (OSError, RuntimeError):  # RuntimeError: no home
        usable = False
    return wanted if usable else Path(tempfile.mkdtemp(prefix="shoal-kernels-"))


@cache
def digest_of(function: Callable[..., Any]) -> bytes:
    """A digest of all that the machine code of a function follows from, but the types of its arguments.

    Neither names of files nor lines, comments and docstrings are in it.
    """
    waiting, reached = [function], dict[Any, bytes]()
    while waiting:
        one = _plain(waiting.pop())
        if one not in reached:
            reached[one], called = _described(one)
            waiting += called
    return _digest(sorted(reached.values()))


@cache
def _described(function: FunctionType) -> tuple[bytes, tuple[Any, ...]]:
    """A digest of a function and of the values that it names, and the functions that it calls."""
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
    called = tuple(value for value in values.values() if isinstance(_plain(value), FunctionType))
    parts += [f"{name}: " + _told(_plain(value)) for name, value in values.items()]
    return _digest(parts), called


def _plain(value: Any) -> Any:
    """A kernel's function in Python, and anything else as it is."""
    return getattr(value, "py_func", value)


def _told(value: Any) -> str:
    """What a value that a kernel names adds to its digest."""
    if isinstance(value, (FunctionType, type)):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{type(value).__name__} {value!r}"


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes_in(one)


def _classes_in(kind: Any) -> Iterator[str]:
    """The named tuples in a type, whose own names do not tell their fields."""
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


def _read(path: Path, context: Any) -> Any:
    """The kernel in a file, None where there is none that can be used."""
    try:
        content = path.read_bytes()
        with suppress(OSError):  # a wheel may be installed where the user cannot write
            os.utime(path)  # still in use
        return CompileResult._rebuild(context, *pickle.loads(content))  # noqa: S301  (the user's own file, or the package's)
    except FileNotFoundError:
        return None
    except Exception:  # it is damaged, or of a class that is gone, and is compiled again
        return None


def _is_of_numba(module: str) -> bool:
    return module.partition(".")[0] == "numba"


def _names_alone(code: bytes, told: Any) -> bytes:
    """Intermediate code in which the functions that Python asks for are defined, and do nothing.

    It is never compiled, because the machine code is there. Reading all of it took longer than loading that.
    """
    whole = binding.parse_bitcode(code)
    module = ir.Module(whole.name)
    module.triple, module.data_layout = whole.triple, whole.data_layout
    for name in (told.llvm_func_name, told.llvm_cpython_wrapper_name):
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), ()), name)
        ir.IRBuilder(function.append_basic_block()).ret_void()
    named: bytes = binding.parse_assembly(str(module)).as_bitcode()
    return named


def _write(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all; one that cannot be written is done without."""
    part = path.with_suffix(f".{os.getpid()}")
    try:
        _remove_unused(path.parent)
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)


@cache
def _remove_unused(kept: Path) -> None:
    """Remove what nobody has used for long; asked once by each process that compiles."""
    for path in kept.iterdir():
        if time.time() - path.stat().st_mtime > _UNUSED_S:
            path.unlink(missing_ok=True)


def give_up() -> None:
    """Let other processes compile what this one could not."""
    COMPILING.give_up()
    for path in list(_HELD):
        _let_go(path)


def _let_go(path: Path) -> None:
    lock = _HELD.pop(path, None)
    if lock is not None:
        path.with_suffix(".lock").unlink(missing_ok=True)
        lock.close()


def _waited_for(path: Path) -> BinaryIO | None:
    """A lock that other processes respect; None when it cannot be had, or not in time."""
    try:
        lock = path.open("wb")
    except OSError:
        return None
    ends = time.monotonic() + _PATIENCE_S
    while time.monotonic() < ends:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(_LOOK_EVERY_S)
        else:
            return lock
    lock.close()
    return None
