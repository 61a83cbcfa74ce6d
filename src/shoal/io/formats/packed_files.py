"""Files packed alone (Zstandard, bzip2, xz, LZ4): unpacked into a private folder to be read."""

import lzma
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy

PACKED: Final = (".zst", ".bz2", ".xz", ".lz4")
_BLOCK_BYTES: Final = 1 << 20
_KEEP_FREE_BYTES: Final = 1 << 28


def open_packed(path: Path, read: Callable[[Path], Table]) -> Table:
    """The table of the file inside, as ``read`` opens it."""
    with folder_for_a_copy() as folder:
        inner = folder / (path.resolve().parent.name or "input") / path.stem
        inner.parent.mkdir()
        try:
            with _unpacked(path) as packed, inner.open("wb") as file:
                while block := packed.read(_BLOCK_BYTES):
                    if shutil.disk_usage(folder).free < _KEEP_FREE_BYTES:
                        raise InputError(
                            f"{path.name} unpacks to more than the disk for temporary files holds; "
                            "unpack it to another disk, and name that file"
                        )
                    file.write(block)
        except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
            if isinstance(error, PermissionError):
                raise
            raise InputError(f"{path.name} is not whole {path.suffix} data; copy it again") from error
        return bind_folder(read(inner), folder)


def _unpacked(path: Path) -> "IO[bytes] | Any":
    ending = path.suffix.lower()
    if ending == ".xz":
        return lzma.open(path)
    return pa.CompressedInputStream(
        pa.OSFile(str(path)), {".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}[ending]
    )
