"""Delta Lake and Apache Iceberg, through their own libraries.

Their folders also hold deleted or replaced rows, and only the log tells which files count: never read file
by file.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from shoal.errors import InputError, requiring_extra
from shoal.io.formats.input_table import BATCH_ROWS, Table, table_of_batches
from shoal.io.formats.row_files import explain_damage

_DELTA, _ICEBERG, _HUDI = "Delta Lake", "Iceberg", "Hudi"
_KINDS: Final = {"_delta_log": _DELTA, ".hoodie": _HUDI, "metadata": _ICEBERG}  # by a folder within
_METADATA: Final = "*.metadata.json"
_NEEDS: Final = "{} is {} table, whose folder also holds deleted rows; its current rows need {}"


def kind_of(folder: Path) -> str | None:
    """The kind of table, None for a plain folder."""
    for marker, kind in _KINDS.items():
        if (folder / marker).is_dir() and (kind != _ICEBERG or any((folder / marker).glob(_METADATA))):
            return kind
    return None


def require_no_lake_within(folder: Path) -> None:
    """Raise InputError when such a table lies in the folder."""
    for marker in _KINDS:
        for path in folder.rglob(marker):
            kind = kind_of(path.parent)
            if kind is not None:
                where = path.parent.relative_to(folder)
                if path.parent == folder:
                    raise InputError(
                        f"{folder.name} is a {kind} table, which is not read file by file; export its "
                        "current rows to Parquet first"
                    )
                raise InputError(
                    f"{folder.name}/{where} is a {kind} table, whose folder also holds deleted rows; read it "
                    "on its own: give its path"
                )


def open_table(folder: Path, kind: str) -> Table:
    """The rows of the current version."""
    if kind == _HUDI:
        raise InputError(
            f"{folder.name} is a Hudi table, whose folder also holds deleted rows; export its current rows "
            "to Parquet"
        )
    reader = _delta if kind == _DELTA else _iceberg
    return table_of_batches(folder.name, *reader(folder))


def _delta(folder: Path) -> tuple[pa.Schema, Any]:
    with requiring_extra(_NEEDS.format(folder.name, "a Delta Lake", "deltalake"), "delta"):
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    features: list[str] = []
    try:
        table = DeltaTable(str(folder))
        features = table.protocol().reader_features or []
        for path in map(Path, map(unquote, table.file_uris())):
            if not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
                raise InputError(
                    f"{folder.name} names a file outside its folder, or one that is missing; copy the whole "
                    "table"
                )
        if "deletionVectors" in features and hasattr(table, "scan"):
            return _scanned(folder, table)
        dataset = table.to_pyarrow_dataset()
    except (DeltaError, OSError, ValueError) as error:
        uses = f" (it uses {', '.join(sorted(features))})" if features else ""
        raise InputError(
            f"{folder.name} is a Delta Lake table that cannot be read here{uses}; update deltalake, or "
            "export the table's current rows to Parquet"
        ) from error

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from dataset.to_batches(columns=columns, batch_size=BATCH_ROWS)

    return dataset.schema, batches


def _scanned(folder: Path, table: Any) -> tuple[pa.Schema, Any]:
    """Where the files alone do not give the rows."""
    from deltalake.exceptions import DeltaError

    damaged = (
        f"{folder.name} is a Delta Lake table whose rows cannot be read; a file of it, or a deletion "
        "vector, is missing or damaged"
    )

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        with explain_damage(damaged, DeltaError, OSError, ValueError):  # ValueError: also what pyarrow raises
            yield from pa.RecordBatchReader.from_stream(table.scan(columns=columns))

    return pa.schema(table.schema().to_arrow()), batches


def _version(path: Path) -> tuple[int, str]:
    """v10.metadata.json comes after v2.metadata.json."""
    number = re.match(r"v?(\d+)", path.name)
    return (int(number[1]) if number else -1), path.name


def _iceberg(folder: Path) -> tuple[pa.Schema, Any]:
    with requiring_extra(_NEEDS.format(folder.name, "an Iceberg", "pyiceberg"), "iceberg"):
        from pyiceberg.exceptions import ValidationError
        from pyiceberg.table import StaticTable
    newest = max((folder / "metadata").glob(_METADATA), key=_version)
    damaged = f"{folder.name} is an Iceberg table that cannot be read here"
    with explain_damage(damaged, OSError, ValueError, ValidationError):
        scan = StaticTable.from_metadata(str(newest)).scan()
        schema = scan.projection().as_arrow()

    def batches(columns: list[str]) -> Iterator[pa.RecordBatch]:
        try:
            yield from scan.select(*columns).to_arrow_batch_reader()
        except (OSError, ValueError, NotImplementedError) as error:  # ValueError: also what pyarrow raises
            unread = "equality deletes" in str(error)
            cause = "it uses equality deletes" if unread else "a file of it is missing or damaged"
            raise InputError(
                f"{folder.name} is an Iceberg table whose rows cannot be read here ({cause}); compact it, or "
                "export its current rows to Parquet"
            ) from error

    return schema, batches
