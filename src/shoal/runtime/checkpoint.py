"""Finished parts of long work, for their owner only, never inside a release."""

import hashlib
import json
import os
import shutil
import stat
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from shoal.errors import InputError, InUseError, OtherJobError, OutputError
from shoal.runtime.arrays import Numbers
from shoal.runtime.staging import explain_write_errors, locked, partial_name
from shoal.version import __version__

Arrays = Mapping[str, Numbers]

_JOB_FILE: Final = "job.json"
_SUM: Final = "crc32"  # of what was put apart
_DIGITS: Final = 8  # of the CRC-32 behind each part, of all before it; a zip file sums up only some of itself
_AT_ONCE: Final = 1 << 24  # bytes
_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Checkpoint:
    """A folder of finished parts: the same data, parameters and version."""

    folder: Path

    @classmethod
    def open(cls, folder: Path, job: Mapping[str, Any]) -> "Checkpoint":
        """The folder; OtherJobError when it holds parts of another job."""
        # job: all that decides the result, as JSON: data (see ``digest_of``) and parameters
        job_bytes = json.dumps({"shoal_version": __version__, **job}, sort_keys=True, default=str).encode()
        _make_private_folder(folder)
        job_file = folder / _JOB_FILE
        if not job_file.exists():
            _write_atomically(job_file, lambda file: file.write(job_bytes))
        elif job_file.read_bytes() != job_bytes:
            raise OtherJobError(
                f"{folder} holds parts of a job with other data, parameters or version; remove it, or "
                "choose another --output"
            )
        return cls(folder)

    @classmethod
    @contextmanager
    def until_done(cls, folder: Path, job: Mapping[str, Any]) -> Iterator["Checkpoint"]:
        """A locked folder, removed at the end of the block.

        After an error it stays if it holds a part.
        """
        with locked_folder(folder, "or choose another --output"):
            with explain_write_errors(folder):
                opened = cls.open(folder, job)
            try:
                yield opened
            except BaseException:
                if {path.name for path in folder.glob("*")} <= {_JOB_FILE}:  # it may be gone
                    shutil.rmtree(folder, ignore_errors=True)
                raise
            shutil.rmtree(folder, ignore_errors=True)

    def load_or_make(self, part: str, make: Callable[[], Arrays], apart: str | None = None) -> Arrays:
        """The arrays of a part, read or made and written, complete or not at all.

        apart: an array in its own file, ``PART.bin``, for readers of a few rows; here only its checksum is
        checked.
        """
        with suppress(OSError, InputError):
            arrays = self.load(part)
            if apart is None or arrays.get(_SUM) == crc32_of(self.rows_path(part)):
                return arrays
        arrays = dict(make())
        if apart is not None:
            rows = np.ascontiguousarray(arrays.pop(apart)).data
            _write_atomically(self.rows_path(part), lambda file: file.write(rows))
            arrays[_SUM] = np.array(zlib.crc32(rows))
        _write_atomically(self.folder / f"{part}.npz", lambda file: _write_arrays_with_crc(file, arrays))
        return arrays

    def load(self, part: str, names: Collection[str] = ()) -> dict[str, Numbers]:
        """A finished part's arrays; FileNotFoundError, InputError if damaged."""
        path = self.folder / f"{part}.npz"
        with path.open("rb") as file:
            length = max(file.seek(0, os.SEEK_END) - _DIGITS, 0)
            file.seek(length)
            if file.read() != _in_digits(crc32_of(path, length)):
                raise InputError(f"{path} is damaged; run the same command again")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in names or stored.files}

    def rows_path(self, part: str) -> Path:
        """The file of the array apart."""
        return self.folder / f"{part}.bin"


@contextmanager
def locked_folder(folder: Path, remedy: str) -> Iterator[None]:
    """A folder for its owner that no other command may work in; InUseError names a remedy."""
    with explain_write_errors(folder):
        _make_private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY)
    with locked(descriptor) as is_free:
        if not is_free:
            raise InUseError(f"another command works in {folder}; wait until it has ended, {remedy}")
        yield


def _make_private_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        status = folder.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise
        if status.st_mode & _OF_OTHERS:
            try:
                folder.chmod(stat.S_IRWXU)
            except PermissionError:
                if status.st_uid != os.geteuid():  # else it is a file system that knows no rights
                    raise


def parts_folder(output: Path) -> Path:
    """The folder of a release's finished parts."""
    if not output.name:
        raise OutputError(f"'{output}' is no name for a new folder; give one with --output")
    return output.with_name(f"{output.name}.parts")


def digest_of(*columns: Numbers) -> str:
    """SHA-256 over arrays with types and shapes."""
    digest = hashlib.sha256()
    for column in columns:
        digest.update(f"{column.dtype.str}{column.shape}".encode())
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def crc32_of(path: Path, length: int | None = None, *, start: int = 0) -> int:
    """CRC-32 of a file, or of ``length`` bytes from ``start`` on."""
    checksum, remaining = 0, sys.maxsize if length is None else length
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while piece := file.read(min(_AT_ONCE, remaining)):
            checksum = zlib.crc32(piece, checksum)
            remaining -= len(piece)
    return checksum


def _in_digits(checksum: int) -> bytes:
    return f"{checksum:0{_DIGITS}x}".encode()


def _write_arrays_with_crc(file: BinaryIO, arrays: Arrays) -> None:
    np.savez(file, allow_pickle=False, **arrays)
    file.flush()
    file.write(_in_digits(crc32_of(Path(file.name))))


def _write_atomically(path: Path, fill: Callable[[BinaryIO], object]) -> None:
    partial = partial_name(path)
    try:
        with partial.open("xb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)  # on a full disk every try would leave another one
