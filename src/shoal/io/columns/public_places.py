"""Public lists of places, of which alone rows count, and of sensitive places, each of a kind."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError, MisuseError
from shoal.io.cleaning import OFF_LIST
from shoal.io.columns.cell_positions import layout_of, numbers_in, read_places
from shoal.io.columns.column_names import column_called, usual_columns
from shoal.io.sources.openers import openers
from shoal.io.toml_tables import TABLES
from shoal.messages import say
from shoal.model.intake import Reading
from shoal.model.places import PublicPlaces
from shoal.model.projection import WGS84
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.files import local_path
from shoal.units import show_share

MOST_KINDS: Final = 60
MOST_OFF_LIST: Final = 0.05  # of the rows; more, and the list is another one than that of the data


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
    usual = TABLES["column_names"]["places"]
    busy, radius, kind = (column_called(table.columns, usual[at]) for at in ("busyness", "radius", "kind"))
    wanted = [*(planar if layout is None else layout.wanted()), *filter(None, (busy, radius, kind))]
    x, y, busyness, radii, kinds = [np.empty(0)], [np.empty(0)], [np.empty(0)], [np.empty(0)], list[str]()
    for _, batch in table.batches(list(dict.fromkeys(wanted))):
        at = read_places(batch, layout, name) if layout else [numbers_in(batch, one, name) for one in planar]
        x.append(at[0])
        y.append(at[1])
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


@dataclass(frozen=True, eq=False, kw_only=True)
class ListedPlaces:
    """A list on the plane of the data, and the side of its cells."""

    places: PublicPlaces
    cell_m: float

    @cached_property
    def _keys(self) -> Numbers:
        x, y, _ = self.places.cells(self.cell_m)
        return _keys_of(x, y)

    def hold(self, x: Integers, y: Integers) -> Flags:
        """Which of these cells have a place."""
        return np.isin(_keys_of(x, y), self._keys)

    def require_most(self, dropped: Mapping[str, int], rows: int) -> None:
        """Raise InputError when more than MOST_OFF_LIST of the rows are at no place."""
        off = dropped.get(OFF_LIST, 0)
        if off > MOST_OFF_LIST * rows:
            raise InputError(
                f"{off:,} of {rows:,} rows are at no place of {self.places.name}, more than "
                f"{show_share(MOST_OFF_LIST)}: it lacks places, or is the list of another region; complete "
                "it, or leave out --places (and use --hull grid:LENGTH instead of leaves)"
            )

    def require_public(self, x: Integers, y: Integers, reading: Reading) -> list[str]:
        """Ask whether the list was made from the data, when its cells are exactly these; notes on it."""
        used, notes, doubles = np.unique(_keys_of(x, y)), list[str](), self.places.doubles
        if doubles:
            text = "rows of the list of places at the position of another row, and one place with it: {rows}"
            notes.append(say("reading.places_double", text, rows=f"{doubles:,}"))
        if len(used) != len(self._keys):
            return notes
        if not reading.places_are_public:
            raise InputError(
                f"{self.places.name} has exactly the {len(used):,} cells that the data has: a list made from "
                "the data is not public, and its leaves would show where people were; give a list from "
                "another source, or say with --places-are-public that this one is known to everybody"
            )
        text = "the list of places has exactly the {cells} cells of the data, and is said to be public"
        return [*notes, say("reading.places_public", text, cells=f"{len(used):,}")]


def read_listed(reading: Reading) -> tuple[PublicPlaces | None, PublicPlaces | None]:
    """The public list and the sensitive places, each of a kind, that a reading names."""
    listed = _read(reading.places, reading.places_sha256, "--places", reading)
    places = _read(reading.sensitive, reading.sensitive_sha256, "--sensitive", reading)
    if places is not None and (places.kinds is None or not all(kind.strip() for kind in places.kinds)):
        raise InputError(
            f"{places.name} does not say of which kind each place is; add a column kind, such as hospital, "
            "and fill it in each row"
        )
    if places is not None and len(set(places.kinds or ())) > MOST_KINDS:
        raise InputError(f"{places.name} has more than {MOST_KINDS} kinds of places; join some of them")
    return listed, places


def _read(file: str | None, sha256: str | None, option: str, reading: Reading) -> PublicPlaces | None:
    if file is None:
        return None
    if not reading.snap:
        raise MisuseError(f"a list of places needs boxes on cells; leave out {option} (or --no-snap)")
    places = read_public_places(Path(file), option)
    if sha256 not in (None, places.sha256):
        raise InputError(
            f"{places.name} is not the list of places that was used before: its SHA-256 is {places.sha256}, "
            f"expected {sha256}; give that list with {option}"
        )
    return places


def _keys_of(x: Integers, y: Integers) -> Numbers:
    return x + 1j * y  # exact below 2^53, and sorted by x, then y
