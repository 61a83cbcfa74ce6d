"""A file of public places: positions, and where known busyness and kinds."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.io.columns.cell_positions import layout_of, numbers_in, read_places
from shoal.io.columns.column_names import NAMES
from shoal.io.formats.input_table import Table
from shoal.io.sources.openers import openers
from shoal.model.intake import Reading
from shoal.model.places import PublicPlaces
from shoal.model.projection import WGS84
from shoal.runtime.argument_types import typed
from shoal.runtime.files import local_path

_BUSYNESS: Final = ("busyness", "visits", "weight")
_KINDS: Final = ("kind", "type", "category", "name")
_RADII: Final = ("radius_m", "radius")


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
    planar = [column for role in ("x", "y") for column in _named(table, NAMES[role])]
    degrees = all(_named(table, NAMES[role]) for role in ("lat", "lon"))
    layout = None if len(planar) == len(("x", "y")) and not degrees else layout_of(table)
    busy, radius, kind = (
        next((column for name in names for column in _named(table, [name])), "")
        for names in (_BUSYNESS, _RADII, _KINDS)
    )
    wanted = [*(planar if layout is None else layout.wanted()), *filter(None, (busy, radius, kind))]
    x, y, busyness, radii, kinds = [np.empty(0)], [np.empty(0)], [np.empty(0)], [np.empty(0)], list[str]()
    for _, batch in table.batches(list(dict.fromkeys(wanted))):
        if layout is None:
            for values, column in zip((x, y), planar, strict=True):
                values.append(numbers_in(batch, column, name))
        else:
            places = read_places(batch, layout, name)
            x.append(places.lon)
            y.append(places.lat)
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


def _named(table: Table, names: Sequence[str]) -> list[str]:
    return [column for column in table.columns if column.strip().lower() in names][:1]
