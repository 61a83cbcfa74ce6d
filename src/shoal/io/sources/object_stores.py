"""Files in object stores (``s3://``, ``gs://``, ``abfs://``), through pyarrow.

Parquet is read in place, other formats from a local copy. Credentials come from the store's own tools.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.fs as pafs
from pyarrow.fs import LocalFileSystem, copy_files

from shoal.errors import InputError, OutputError
from shoal.io.formats.input_table import Table, bind_folder, folder_for_a_copy
from shoal.io.formats.parquet_files import open_source
from shoal.io.formats.row_files import explain_damage, explain_store_error
from shoal.io.toml_tables import TABLES

SCHEMES: Final = ("s3://", "gs://", "gcs://", "abfs://", "abfss://")
_GOOGLE: Final = ("gs://", "gcs://")
_WRITTEN_AS_THEY_ARE: Final = "%/:?&=@+,;~!$'()*[]"
_PATIENCE_S: Final = 20  # with a store of Google's, of which pyarrow's own is 15 minutes
_SILENCE_S: Final = 6  # of a store of S3's after which it is asked again
_ASKED: Final = 3  # times at the most
_SILENT: Final = "Timeout was reached"
_ANSWERED: Final[set[str]] = set()  # addresses whose store has said something
_LOCAL: Final = LocalFileSystem()
_DEEPEST: Final = 16  # folders within one another
PARQUET: Final = (".parquet", ".pq", ".geoparquet")


def is_address(source: str) -> bool:
    """Whether a text names a place in an object store."""
    return source.startswith(SCHEMES)


def files(
    address: str, reads: Callable[[PurePosixPath], bool], *, with_rows_of_others: bool = False
) -> tuple[Any, str, list[Any]]:
    """The file system, the folder's path, and the files to read (path, size, time).

    with_rows_of_others: also of tables with deleted rows. No message repeats the address, which may contain
    a key.
    """
    with _reading(address):
        system, root = _opened(address)
        info = system.get_file_info(root)
        if info.type == pafs.FileType.File:
            return system, str(PurePosixPath(root).parent), [info]
        listed = system.get_file_info(pafs.FileSelector(root, recursive=True))
    objects = [entry for entry in listed if entry.type == pafs.FileType.File]
    inside = [PurePosixPath(entry.path).relative_to(root) for entry in objects]
    if not with_rows_of_others and any({"_delta_log", ".hoodie"} & {*path.parts} for path in inside):
        raise InputError(
            "this is the folder of a Delta Lake or Hudi table, which also holds deleted rows; copy it, "
            "and read the copy"
        )
    selected = [entry for entry, within in zip(objects, inside, strict=True) if reads(within)]
    if not selected:
        raise InputError("the object store holds no file there that shoal reads")
    return system, root, sorted(selected, key=lambda entry: entry.path)


def open_object(system: Any, path: str, open_local: Callable[[Path], Table]) -> Table:
    """The table of one object."""
    name = PurePosixPath(path).name
    if name.lower().endswith(PARQUET):
        return open_source(name, lambda: system.open_input_file(path), far=True)
    with folder_for_a_copy() as folder:
        _copy(system, path, folder / name)
        return bind_folder(open_local(folder / name), folder)


def _opened(address: str) -> tuple[Any, str]:
    """The file system of a store that is not silent, and the path in it."""
    address = quote(address, safe=_WRITTEN_AS_THEY_ARE)  # "#" is part of a name
    if address.startswith(_GOOGLE) and "retry_limit_seconds=" not in address:
        address += f"{'&' if '?' in address else '?'}retry_limit_seconds={_PATIENCE_S}"
    system, root = pafs.FileSystem.from_uri(address)
    if system.type_name == "s3" and address not in _ANSWERED:
        _require_answer(system, root)
        _ANSWERED.add(address)
    return system, root


def _require_answer(system: Any, root: str) -> None:
    """By itself, pyarrow waits 106 s for an S3 store that accepts connections and stays silent."""
    _, (settings,) = system.__reduce__()  # as it is sent to other processes: an address cannot say these
    settings |= {"request_timeout": _SILENCE_S, "connect_timeout": _SILENCE_S}
    settings |= {"retry_strategy": pafs.AwsStandardS3RetryStrategy(max_attempts=_ASKED)}
    try:
        pafs.S3FileSystem(**settings).get_file_info(root)
    except OSError as error:
        if _SILENT in str(error):  # a busy store is asked as often as ever
            raise


@contextmanager
def _explained(
    failed: str, remedy: str, *, reason: str = " ({})", kind: type[InputError | OutputError] = InputError
) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        why = explain_store_error(error)
        raise kind(f"{failed}{'' if why is None else reason.format(why)}; {remedy}") from error


@contextmanager
def _reading(address: str) -> Iterator[None]:
    nothing = (
        "nothing lies at that address in the object store; check the bucket and the folder, and write a "
    )
    schemes = (scheme for scheme in TABLES["facts"]["credentials"] if address.startswith(scheme))
    credentials = TABLES["facts"]["credentials"][next(schemes, "s3")]
    remedy = f"check the address and the credentials (for {credentials})"
    unread = _explained("the object store cannot be read", remedy)
    with unread, explain_damage(f"{nothing}% of a name as %25", FileNotFoundError):
        yield


def _copy(system: Any, path: str, target: Path) -> None:
    remedy = "try again, or copy it by other means"
    with _explained(f"{target.name} cannot be copied from the object store", remedy, reason=": {}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_files(path, str(target), system, _LOCAL)


def _writing(also: str = "") -> AbstractContextManager[None]:
    remedy = f"check the address and the credentials{also}"
    return _explained("the object store cannot be written", remedy, kind=OutputError)


def holds(address: str, name: str) -> bool:
    """Whether such a file lies at an address."""
    with _reading(address):
        system, root = _opened(address)
        return bool(system.get_file_info(f"{root}/{name}").type == pafs.FileType.File)


def fetch(address: str, folder: Path) -> None:
    """Copy all files below an address into a folder; InputError when a name leads out of it."""
    system, root, objects = files(address, lambda _: True, with_rows_of_others=True)
    for path in (entry.path for entry in objects):
        inside = PurePosixPath(path).relative_to(root)
        if inside.is_absolute() or ".." in inside.parts or len(inside.parts) > _DEEPEST:
            raise InputError("the object store holds a file there whose name leads out of the folder")
        _copy(system, path, folder.joinpath(*inside.parts))


def store(folder: Path, address: str, *, last: str) -> None:
    """Copy a folder into a new one of a store, ``last`` at the end; on an error, files copied so far stay."""
    require_free(address, "--to")
    with _writing(f", and remove what was copied, if anything: without {last} it is no release"):
        system, root = _opened(address)
        files = (path for path in folder.rglob("*") if path.is_file())
        for path in sorted(files, key=lambda path: (path.name == last, path)):
            target = f"{root}/{path.relative_to(folder).as_posix()}"
            copy_files(str(path), target, _LOCAL, system)


def require_free(address: str, option: str) -> None:
    """Raise OutputError unless the address is empty and the store answers."""
    with _writing():
        system, root = _opened(address)
        entries = system.get_file_info(pafs.FileSelector(root, recursive=True, allow_not_found=True))
    if any(entry.type == pafs.FileType.File for entry in entries):
        raise OutputError(
            f"there are files at that address already; choose another {option} or remove them first"
        )
