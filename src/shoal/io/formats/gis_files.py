"""GeoPackage, FlatGeobuf and Shapefile through pyogrio (extra ``geo``): one layer of points."""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.errors import InputError
from shoal.io.columns.values import stored
from shoal.io.formats.database_files import read_only
from shoal.io.formats.input_table import Geometry, Table, choose_part
from shoal.io.formats.row_files import explain_damage
from shoal.messages import say
from shoal.model.intake import Reading
from shoal.runtime.gdal import one_driver

_GEOMETRY: Final = "geometry"
_BLOCK_BYTES: Final = 1 << 20


def open_table(path: Path, reading: Reading) -> Table:
    """Rows of one layer; InputError for another file, or several layers."""
    kind = path.suffix[1:]
    damaged = f"{path.name} is not a whole {kind} file; a Shapefile needs its .shx and .dbf beside it"
    # pyogrio's errors are RuntimeErrors
    with explain_damage(damaged, RuntimeError, ValueError), one_driver(path) as (pyogrio, place):
        layers = [str(name) for name, _ in pyogrio.list_layers(place)]
        layer = choose_part(path.name, "layer", reading.table, layers, layers)
        if path.suffix.lower() == ".gpkg":
            _require_no_view(path, layer)
        about = pyogrio.read_info(place, layer=layer)
    names = [str(name) for name in about["fields"]]
    encoding = about["encoding"]
    if encoding == "UTF-8" or _is_utf8(path.with_suffix(".dbf")):
        encoding = None
    text = "the text of {file} is taken as {encoding}; a .cpg file beside it names another encoding"
    notes: list[str] = [say("reading.encoding", text, file=path.name, encoding=encoding)] if encoding else []
    geometry = Geometry(column=_GEOMETRY, crs=about["crs"]) if about["geometry_type"] is not None else None

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        fields = [name for name in columns if name in names]
        damaged = f"{path.name} broke off while its rows were read; copy it again"
        with explain_damage(damaged, RuntimeError, pa.ArrowException, OSError), ExitStack() as layer_open:
            with one_driver(path) as (pyogrio, place):
                options = {"layer": layer, "columns": fields, "encoding": encoding, "use_pyarrow": True}
                opened = pyogrio.open_arrow(place, read_geometry=_GEOMETRY in columns, **options)
                meta, reader = layer_open.enter_context(opened)
            geometry_name = meta["geometry_name"] or "wkb_geometry"
            for batch in reader:
                batch.validate(full=True)  # text may be none
                renamed = [_GEOMETRY if name == geometry_name else name for name in batch.schema.names]
                arrays = dict(zip(renamed, map(stored, batch.columns), strict=True))
                yield 0.0, pa.record_batch({name: arrays[name] for name in columns})

    every = (*names, *([_GEOMETRY] if geometry else []))
    return Table(name=path.name, columns=every, batches=batches, geometry=geometry, notes=notes)


def _is_utf8(path: Path) -> bool:
    """Whether the records of a .dbf are UTF-8 text; programs write that without saying so."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as file:
            file.seek(int.from_bytes(file.read(10)[8:], "little"))
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
    except (UnicodeDecodeError, OSError):
        return False
    return True


def _require_no_view(path: Path, layer: str) -> None:
    """Raise InputError for a layer that is computed: it may have no end."""
    with read_only(path, "GeoPackage") as database:
        stored = database.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", [layer])
        if not (row := stored.fetchone()) or row[0].upper().startswith("CREATE VIRTUAL"):
            raise InputError(f"layer '{layer}' of {path.name} is a view; save its rows as a layer")
