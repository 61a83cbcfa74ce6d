"""Files whose readers give rows of text, one after the other: opening, damage, and what stores refuse."""

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Final, cast

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns.owners import owners_of_file
from shoal.io.formats.input_table import Account, Owner, Table
from shoal.io.toml_tables import TABLES

Row = Sequence[str | None]
TEXT_ROWS: Final = 1 << 16  # of a batch
# what reading a packed file raises where it is damaged or cut
BROKEN_GZIP: Final = (gzip.BadGzipFile, EOFError, zlib.error)
# what zipfile raises for damage, an unknown compression, a missing password, an early end and an empty name
BROKEN_ARCHIVE: Final = (*BROKEN_GZIP, zipfile.BadZipFile, NotImplementedError, RuntimeError, IndexError)
# what object stores answer
_CODE: Final = re.compile(r"AWS Error ([A-Z_]+)|google::cloud::Status\(([A-Z_]+)")
_WHY: Final = {code: words for words, codes in TABLES["facts"]["answers"].items() for code in codes}


def table_of_rows(
    path: Path,
    names: Sequence[str],
    read: Callable[[Account], Iterable[Row]],
    *,
    owners: tuple[Owner, ...] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Table:
    """The table of a file. read: gives its rows, with a text for each name.

    owners: None = the person is the file or its folder, in columns uid and folder that are added.
    """
    account = Account()  # apart from the table, which its own rows would keep alive, and with it its folder
    of_file = [] if owners is not None else [one for one in owners_of_file(path) if one.column not in names]
    person = tuple(owner.value for owner in of_file)
    columns = (*(owner.column for owner in of_file), *names)

    def batches(requested: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        places = [columns.index(name) for name in requested]
        rows = ((*person, *row) for row in read(account))
        return text_batches(([row[place] for place in places] for row in rows), requested)

    return Table(
        **vars(account),
        name=path.name,
        columns=columns,
        batches=batches,
        owners=tuple(of_file) if owners is None else owners,
        added=frozenset(owner.column for owner in of_file),
        settings=settings or {},
    )


def text_batches(rows: Iterable[Row], names: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
    """Rows with a text for each name, as batches."""
    stream = iter(rows)
    while some := list(islice(stream, TEXT_ROWS)):
        columns = [pa.array(values, pa.string()) for values in zip(*some, strict=True)]
        yield 0.0, pa.record_batch(columns, names=list(names))


@contextmanager
def explain_damage(message: str | Callable[[Exception], str], *errors: type[Exception]) -> Iterator[None]:
    """Raise InputError with the message for these errors, and those of damaged gzip data."""
    broken: tuple[type[Exception], ...] = (*errors, *BROKEN_GZIP)
    try:
        yield
    except broken as error:
        raise InputError(message if isinstance(message, str) else message(error)) from error


def open_bytes(path: Path) -> BufferedReader:
    """The bytes of a file, unpacked if it ends in .gz."""
    return cast(BufferedReader, gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def beginning_of(path: Path, size: int) -> bytes:
    """The first bytes of a file, unpacked; none if it is damaged, which its reader explains."""
    try:
        with open_bytes(path) as file:
            return file.read(size)
    except (OSError, *BROKEN_GZIP):
        return b""


def explain_store_error(error: BaseException) -> str | None:
    """An object store's refusal in words, without its addresses and keys; None for another error."""
    if isinstance(error, FileNotFoundError):
        return "nothing lies there"
    match = _CODE.search(str(error)) if isinstance(error, OSError) else None
    if match is None:
        return None
    code = match[1] or match[2]
    return str(_WHY.get(code, f"it answers '{code.lower().replace('_', ' ')}'"))
