"""EXPORTS, the formats of a release; geometry is not read back."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import InputError, MissingExtraError, MisuseError, OutputError
from shoal.release_folder.packing import GEOMETRY
from shoal.release_folder.tables import number_records
from shoal.units import DAY_S

_DIGITS: Final = 7
_DATA: Final = "data"  # folder of formats that need one


@dataclass(frozen=True, kw_only=True)
class Export:
    """A row of EXPORTS. where: the file or folder inside."""

    where: str
    mediatype: str


@dataclass(frozen=True, kw_only=True)
class RowsExport(Export):
    """A format whose rows are written and read."""

    write: Callable[[pa.Table, Path], None]
    read: Callable[[Path, pa.Schema], pa.Table]  # rows in the types of a schema, then all other columns
    text: bool = False  # the same rows always give the same bytes, so the files can hold nothing else
    arranged: Callable[[pa.Table], pa.Table] = lambda table: table  # the rows in the order of the format


def _write_csv(table: pa.Table, path: Path) -> None:
    rows = table.drop_columns([GEOMETRY]) if GEOMETRY in table.column_names else table
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows.column_names)
        for batch in rows.to_batches(1 << 16):
            writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _read_csv(path: Path, schema: pa.Schema) -> pa.Table:
    import pyarrow.csv as arrow_csv

    try:
        table = arrow_csv.read_csv(
            path,
            convert_options=arrow_csv.ConvertOptions(
                column_types={field.name: field.type for field in schema}
            ),
        )
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error
    return table


def _write_lines(table: pa.Table, path: Path) -> None:
    """RFC 8142 without record separators, degrees to seven decimals."""
    names = [name for name in table.column_names if name != GEOMETRY]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for batch in table.to_batches(1 << 14):
            columns = [batch.column(name).to_pylist() for name in names]
            shapes: Iterator[Any] = iter([None] * batch.num_rows)
            if GEOMETRY in table.column_names:
                shapes = map(_shape, batch.column(GEOMETRY).to_pylist())
            for values, shape in zip(zip(*columns, strict=True), shapes, strict=True):
                feature = {
                    "type": "Feature",
                    "geometry": shape,
                    "properties": dict(zip(names, values, strict=True)),
                }
                file.write(json.dumps(feature, separators=(",", ":"), ensure_ascii=False) + "\n")


def _shape(wkb: bytes) -> dict[str, Any]:
    kind = int.from_bytes(wkb[1:5], "little")
    start = 5 if kind == 1 else 13
    places = np.round(np.frombuffer(wkb[start:], dtype="<f8").reshape(-1, 2), _DIGITS).tolist()
    if kind == 1:
        return {"type": "Point", "coordinates": places[0]}
    return {"type": "Polygon", "coordinates": [places]}


def _read_lines(path: Path, schema: pa.Schema) -> pa.Table:
    try:
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line)["properties"] for line in file]
        return pa.Table.from_pylist(rows, schema)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error


def _write_days(table: pa.Table, folder: Path) -> None:
    for day, rows in _days(table):
        day_folder = folder / f"day={day}"
        day_folder.mkdir(parents=True)
        pq.write_table(rows, day_folder / "part-0.parquet", compression="zstd", store_schema=False)


def _days(table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Records that begin earlier first, so joined days keep the order."""
    start = table["t_start" if "t_start" in table.column_names else "t"].to_numpy()
    days = np.floor(start / DAY_S).astype(np.int64)
    record, ids = number_records(table["trajectory_id"])
    first = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first, record, days)
    order = np.argsort(first[record], kind="stable")
    table, days = table.take(order), days[order]
    for day in np.unique(days).tolist():
        yield str(np.datetime64(day, "D")), table.filter(pa.array(days == day))


def _in_days(table: pa.Table) -> pa.Table:
    return pa.concat_tables([rows for _, rows in _days(table)]) if len(table) else table


def _read_days(folder: Path, _schema: pa.Schema) -> pa.Table:
    files = sorted(folder.glob("day=*/part-0.parquet"))
    if not files:
        raise InputError(f"{folder} holds no day; fetch or write it again")
    try:
        return pa.concat_tables([_plain(pq.ParquetFile(file).read()) for file in files])
    except (pa.ArrowException, OSError, KeyError) as error:
        raise InputError(f"{folder} is not the table of a release; fetch or write it again") from error


def _plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


def _write_flatgeobuf(table: pa.Table, path: Path) -> None:
    pyogrio = _pyogrio()
    if GEOMETRY not in table.column_names:
        raise MisuseError("FlatGeobuf needs degrees, and this release is in local meters; choose csv")
    kind = "Point" if int.from_bytes(table[GEOMETRY][0].as_py()[1:5], "little") == 1 else "Polygon"
    pyogrio.raw.write_arrow(
        _plain(table), path, layer="release", driver="FlatGeobuf", geometry_name=GEOMETRY, geometry_type=kind,
        crs="EPSG:4326", SPATIAL_INDEX="NO",
    )  # fmt: skip


def _read_flatgeobuf(path: Path, schema: pa.Schema) -> pa.Table:
    pyogrio = _pyogrio()
    try:
        about, table = pyogrio.raw.read_arrow(path)
        drawn = about["geometry_name"] or "wkb_geometry"
        return _in_types(
            table.rename_columns([GEOMETRY if name == drawn else name for name in table.column_names]), schema
        )
    except (pyogrio.errors.DataSourceError, pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise InputError(f"{path.name} is not the table of a release; fetch or write it again") from error


def _pyogrio() -> Any:
    try:
        import pyogrio
        import pyogrio.raw
    except ImportError as error:
        raise MissingExtraError(
            "FlatGeobuf needs pyogrio; install it with: pip install 'shoal[geo]'"
        ) from error
    return pyogrio


def _write_delta(table: pa.Table, folder: Path) -> None:
    deltalake = _deltalake()
    try:
        deltalake.write_deltalake(str(folder), _plain(table))
    except deltalake.exceptions.DeltaError as error:  # deltalake wraps system errors
        raise OutputError(
            f"the Delta table cannot be written to {folder}; see whether the disk is full, or write elsewhere"
        ) from error


def _read_delta(folder: Path, schema: pa.Schema) -> pa.Table:
    deltalake = _deltalake()
    try:
        table = deltalake.DeltaTable(str(folder)).to_pyarrow_table()
        return _in_types(table, schema)
    except (deltalake.exceptions.DeltaError, OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise InputError(f"{folder} is not the Delta table of a release; fetch or write it again") from error


def _in_types(table: pa.Table, schema: pa.Schema) -> pa.Table:
    rows = _plain(table).select(schema.names).cast(schema)
    for name in table.column_names:
        if name not in schema.names:
            rows = rows.append_column(name, table[name])
    return rows


def _deltalake() -> Any:
    try:
        import deltalake
        import deltalake.exceptions
    except ImportError as error:
        raise MissingExtraError(
            "Delta tables need deltalake; install it with: pip install 'shoal[delta]'"
        ) from error
    return deltalake


EXPORTS: Final[Mapping[str, Export]] = {
    "csv": RowsExport(write=_write_csv, read=_read_csv, where="release.csv", mediatype="text/csv", text=True),
    "geojsonl": RowsExport(
        write=_write_lines,
        read=_read_lines,
        where="release.geojsonl",
        mediatype="application/geo+json-seq",
        text=True,
    ),
    "parquet-by-day": RowsExport(
        write=_write_days,
        read=_read_days,
        where=_DATA,
        mediatype="application/vnd.apache.parquet",
        arranged=_in_days,
    ),
    "parquet-parts": Export(where=_DATA, mediatype="application/vnd.apache.parquet"),
    "flatgeobuf": RowsExport(
        write=_write_flatgeobuf,
        read=_read_flatgeobuf,
        where="release.fgb",
        mediatype="application/flatgeobuf",
    ),
    "delta": RowsExport(
        write=_write_delta, read=_read_delta, where=_DATA, mediatype="application/vnd.apache.parquet"
    ),
}
"""The formats of ``shoal publish``; the checks of an exported folder follow from these rows."""
