"""A file of public places: positions, and where known busyness and kinds."""

import hashlib
from pathlib import Path

import numpy as np

from shoal.errors import InputError
from shoal.io.columns.cell_positions import layout_of, numbers_in, read_places
from shoal.io.columns.column_names import column_called, usual_columns
from shoal.io.columns.tables import TABLES
from shoal.io.sources.openers import openers
from shoal.model.intake import Reading
from shoal.model.places import PublicPlaces
from shoal.model.projection import WGS84
from shoal.runtime.argument_types import typed
from shoal.runtime.files import local_path


@typed
def read_public_places(file: Path | str, option: str = "--places") -> PublicPlaces:
    """A public list of places from a file of any format that is read.

    Parameters
    ----------
    file
        A table with lat and lon (WGS 84), with footprints as tables of cells have them, or with x and y in
        meters of the data's plane; and if known a column ``busyness``, ``visits`` or ``weight``, a column
        ``kind``, ``type``, ``category`` or ``name``, and a ``radius`` in meters.
    option
        The option that errors name.

    Returns
    -------
    PublicPlaces
        In the order of the file.

    Raises
    ------
    InputError
        For a file that cannot be read, lacks positions, or holds no rows.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.csv, shoal
    >>> pyarrow.csv.write_csv(pa.table({"x": [0, 500], "y": [0, 0]}), "stations.csv")
    >>> shoal.read_public_places("stations.csv")
    PublicPlaces(2 places)
    """
    path = local_path(file, "a list of places")
    if not path.is_file():
        raise InputError(f"no list of places {path.name}; give its path with {option}")
    name, waiting = openers(path, Reading())
    if len(waiting) != 1:
        raise InputError(f"{name} holds {len(waiting)} files; give one list of places")
    table = waiting[0]()
    planar = [column for role in ("x", "y") for column in usual_columns(table, role)[:1]]
    degrees = all(usual_columns(table, role) for role in ("lat", "lon"))
    layout = None if len(planar) == len(("x", "y")) and not degrees else layout_of(table)
    busy, radius, kind = (
        column_called(table.columns, TABLES["column_names"]["places"][what])
        for what in ("busyness", "radius", "kind")
    )
    wanted = [*(planar if layout is None else layout.wanted()), *filter(None, (busy, radius, kind))]
    x, y, busyness, radii, kinds = [np.empty(0)], [np.empty(0)], [np.empty(0)], [np.empty(0)], list[str]()
    for _, batch in table.batches(list(dict.fromkeys(wanted))):
        places = (
            read_places(batch, layout, name) if layout else [numbers_in(batch, at, name) for at in planar]
        )
        x.append(places[0])
        y.append(places[1])
        if busy:
            busyness.append(numbers_in(batch, busy, name))
        if radius:
            radii.append(numbers_in(batch, radius, name))
        if kind:
            kinds += ["" if text is None else str(text) for text in batch.column(kind).to_pylist()]
    return PublicPlaces(
        x=np.concatenate(x),
        y=np.concatenate(y),
        busyness=np.concatenate(busyness) if busy else None,
        kinds=tuple(kinds) if kind else None,
        radius_m=np.concatenate(radii) if radius else None,
        crs=None if layout is None else WGS84,
        name=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
    )
