"""Packed files (gzip, Zstandard, bzip2, xz, LZ4), unpacked into a private folder; archives of tar."""

import gzip
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy
from shoal.io.formats.row_files import BROKEN_GZIP

PACKED: Final = (".zst", ".bz2", ".xz", ".lz4")
TAR: Final = (
    *(f".tar{ending}" for ending in ("", ".gz", *PACKED)), ".tgz", ".tbz2", ".tbz", ".txz", ".tzst",
)  # fmt: skip
BLOCK_BYTES: Final = 1 << 20
_KEEP_FREE_BYTES: Final = 1 << 28


def open_packed(path: Path, read: Callable[[Path], Table]) -> Table:
    """The table of the file inside, as ``read`` opens it."""
    with folder_for_a_copy() as folder:
        inner = folder / (path.resolve().parent.name or "input") / path.stem
        inner.parent.mkdir()
        _unpack(path, inner)
        return bind_folder(read(inner), folder)


def zip_of_tar(path: Path, folder: Path) -> Path:
    """The files of a tar archive in a zip archive of its name, whose members are found without a search."""
    plain, archive = folder / "plain.tar", folder / path.name
    _unpack(path, plain)
    try:
        with tarfile.open(plain, "r:") as tar, zipfile.ZipFile(archive, "w") as copy:
            for member in tar:
                if not (member.isfile() or member.isdir()):
                    raise InputError(
                        f"{path.name} holds a link or a device, {Path(member.name).name}, whose content "
                        "would be missing; pack the files themselves"
                    )
                if member.size + _KEEP_FREE_BYTES > shutil.disk_usage(folder).free:
                    raise _too_large(path)
                if (content := tar.extractfile(member)) is not None:
                    with copy.open(member.name, "w", force_zip64=True) as file:
                        shutil.copyfileobj(content, file, BLOCK_BYTES)
            if tar.offset + tarfile.BLOCKSIZE > plain.stat().st_size:  # blocks of zeros end an archive
                raise tarfile.ReadError("no end")
    except (tarfile.TarError, OSError, ValueError) as error:
        raise InputError(f"{path.name} is not a whole tar archive; copy it again") from error
    plain.unlink()
    return archive


def _unpack(path: Path, inner: Path) -> None:
    try:
        with _unpacked(path) as packed, inner.open("wb") as file:
            while block := packed.read(BLOCK_BYTES):
                if shutil.disk_usage(inner.parent).free < _KEEP_FREE_BYTES:
                    raise _too_large(path)
                file.write(block)
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException, *BROKEN_GZIP) as error:
        raise InputError(f"{path.name} is not whole {path.suffix} data; copy it again") from error


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path.name} unpacks to more than the disk for temporary files holds; unpack it to another disk, "
        "and name that file or folder"
    )


def _unpacked(path: Path) -> "IO[bytes] | Any":
    ending = path.suffix.lower()
    if ending == ".tar":
        return path.open("rb")
    if ending in {".gz", ".tgz"}:
        return gzip.open(path)
    if ending in {".xz", ".txz"}:
        return lzma.open(path)
    kind = "zstd" if "zst" in ending else "lz4" if ending == ".lz4" else "bz2"
    return pa.CompressedInputStream(pa.OSFile(str(path)), kind)
