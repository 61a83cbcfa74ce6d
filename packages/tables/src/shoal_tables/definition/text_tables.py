"""Small public tables that users give as CSV or Parquet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyarrow import csv, parquet

from shoal.errors import InputError
from shoal.io.columns.column_names import repeated

Key = TypeVar("Key")
Value = TypeVar("Value")


def read_two_columns(
    path: Path, names: tuple[str, str], example: str, key: Callable[[str], Key], value: Callable[[str], Value]
) -> dict[Key, Value]:
    """The value of each key; InputError for a row without both, and for a key that repeats."""
    table, usage = open_texts(path), f"write {','.join(names)}, e.g. {example}"
    absent = [name for name in names if name not in table.column_names]
    if absent:
        raise InputError(f"{path} has no column '{absent[0]}'; {usage}")
    values: dict[Key, Value] = {}
    for row, (first, second) in enumerate(zip(*(texts_of(table[name]) for name in names), strict=True), 1):
        try:
            if not second:
                raise ValueError("empty")
            this = key(first)
            if this in values:
                raise InputError(f"{path} names {first} twice; keep one row for each {names[0]}")
            values[this] = value(second)
        except ValueError as error:
            raise InputError(f"row {row} of {path} lacks a {names[0]} or a {names[1]}; {usage}") from error
    return values


def open_texts(path: Path) -> Any:
    """A CSV file, with its columns as text, or a Parquet file; InputError where a name stands twice."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check the path")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            table = parquet.ParquetFile(path).read()
        else:
            with path.open("rb") as file:
                names = file.readline().decode("utf-8-sig").rstrip("\r\n")
            separator = max(",;\t", key=names.count)
            as_text = {name.strip('"'): pa.string() for name in names.split(separator)}
            texts = csv.ConvertOptions(column_types=as_text, strings_can_be_null=False)
            parts = csv.ParseOptions(delimiter=separator)
            table = csv.read_csv(path, parse_options=parts, convert_options=texts)
    except (OSError, UnicodeDecodeError, pa.ArrowInvalid) as error:
        raise InputError(f"{path.name} cannot be read as a table in CSV or Parquet: {error}") from error
    if name := repeated([name for name in table.column_names if name]):
        raise InputError(f"{path} has two columns '{name}'; keep one of them")
    return table


def texts_of(column: Any) -> list[str]:
    """The values of a column as text without blanks around it."""
    return ["" if value is None else str(value).strip() for value in column.to_pylist()]


def read_parents(path: Path) -> dict[str, str]:
    """Read nested zones: a CSV or Parquet file with columns zone and parent."""
    table = open_texts(path)
    if not {"zone", "parent"} <= set(table.column_names):
        raise InputError(f"{path.name} needs the columns zone and parent")
    zones, parents = texts_of(table["zone"]), texts_of(table["parent"])
    parent_of = {zone: parent for zone, parent in zip(zones, parents, strict=True) if parent}
    if len(set(zones)) < len(zones):
        raise InputError(f"{path.name} names a zone twice; each zone has one parent")
    for zone in parent_of:
        above, steps = zone, 0
        while above in parent_of:
            above, steps = parent_of[above], steps + 1
            if steps > len(parent_of):
                raise InputError(f"{path.name}: zone '{zone}' lies in itself; parents must form a tree")
    return parent_of
