"""Complete output or none: a hidden name, renamed last."""

import errno
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from shoal.errors import OutputError

LISTENERS: Final[list[Callable[[Sequence[Path]], object]]] = []  # to what stopped runs left
_RUN: Final = secrets.token_hex(6)  # in the names of this process, which are no leftovers


@contextmanager
def staged_folder(target: Path) -> Iterator[Path]:
    """A new folder that becomes ``target`` if the block succeeds."""
    # raises OutputError when the target exists, its parent cannot be written, or the disk is full
    require_absent(target)
    report_partials(target)
    staging = partial_name(target)  # named before it is made: an interrupt in between must find it, too
    try:
        with explain_write_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            staging.mkdir(mode=0o700)
            with locked(os.open(staging, os.O_RDONLY)):
                yield staging
                flush_to_disk(staging)
                staging.chmod(0o777 & ~_umask())
                staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


@contextmanager
def locked(descriptor: int) -> Iterator[bool]:
    """Lock an open file or folder, and close it at the end. False: another command holds the lock."""
    from filelock import lock_descriptor  # loads asyncio

    is_free = True  # where a file system has no locks, or none of folders: as if alone
    try:
        with suppress(OSError):
            is_free = lock_descriptor(descriptor, blocking=False)
        yield is_free
    finally:
        os.close(descriptor)


def is_in_use(path: Path) -> bool:
    """Whether a running command holds the lock of this file or folder."""
    with suppress(OSError), locked(os.open(path, os.O_RDONLY)) as is_free:
        return not is_free
    return False


def require_absent(target: Path) -> None:
    """Raise OutputError when this name exists."""
    with explain_write_errors(target):  # a name may be too long to ask for
        occupied = target.exists() or target.is_symlink()
    if occupied:
        raise OutputError(f"{target} exists; choose another --output or remove it first")


@contextmanager
def explain_write_errors(target: Path) -> Iterator[None]:
    """Turn a refused write into an OutputError."""
    try:
        yield
    except OSError as error:
        remedy = {
            errno.ENOSPC: "the disk is full; free some space or write elsewhere",
            errno.EDQUOT: "the disk quota is used up; free some space or write elsewhere",
            errno.EACCES: "no permission to write there; choose another place",
            errno.EPERM: "no permission to write there; choose another place",
            errno.EROFS: "the file system is read-only; choose another place",
            # where a folder is to be made
            errno.EEXIST: "a part of the path is a file, not a folder; choose another place",
            errno.ENOTDIR: "a part of the path is a file, not a folder; choose another place",
        }.get(error.errno or 0, error.strerror or "the write failed")
        raise OutputError(f"cannot write {target}: {remedy}") from error


@contextmanager
def staged_file(path: Path, write: Callable[[BinaryIO], object], *, mode: int = 0o600) -> Iterator[None]:
    """A file, renamed when the block succeeds."""
    # mode: by default only its owner may read it; raises OutputError when it cannot be written
    partial = partial_name(path)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with explain_write_errors(path):
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with locked(descriptor):
            with explain_write_errors(path), os.fdopen(os.dup(descriptor), "wb") as file:
                write(file)
            yield
            with explain_write_errors(path):
                partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def partial_name(target: Path) -> Path:
    """A fresh hidden name in the target's folder."""
    return target.with_name(f".{target.name}.partial-{_RUN}{secrets.token_hex(4)}")


def find_partials(target: Path) -> list[Path]:
    """Hidden incomplete outputs of this name that no running command writes."""
    return [path for path in _partials_of(glob.escape(target.name), target.parent) if not is_in_use(path)]


def _partials_of(names: str, folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob(f".{names}.partial-*"))
    except OSError:
        return []


def report_partials(*targets: Path, also: Sequence[Path] = ()) -> None:
    """Name the incomplete outputs beside these targets, of any name, and other parts, to all listeners."""
    folders = dict.fromkeys(target.parent for target in targets)
    beside = (path for folder in folders for path in _partials_of("*", folder))
    if old := [*(path for path in beside if f".partial-{_RUN}" not in path.name), *also]:
        for listener in LISTENERS:
            listener(old)


def flush_to_disk(folder: Path) -> None:
    """Wait until all files of a folder are on the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_private(path: Path, content: str | bytes) -> None:
    """A file for its owner, whole at every moment; replaces."""
    partial = partial_name(path)
    with explain_write_errors(path):
        try:
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
