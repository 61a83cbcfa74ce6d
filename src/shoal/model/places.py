"""A public list of places: base stations, stops, crossings of streets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.model.projection import transform
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.units import counted

NEAR_M: Final = 500.0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PublicPlaces:
    """A public list of n places, such as ``read_public_places`` reads.

    Parameters
    ----------
    x, y
        float64 [n]. Meters of a plane, or longitude and latitude where ``crs`` is geographic.
    busyness
        float64 [n]. How often each place is used, as the public knows it, in any unit; None = not known.
    kinds
        The kind of each place, such as "hospital"; None = not known.
    radius_m
        float64 [n]. How far the neighborhood of each place reaches, in meters; nan or None = 500 m.
    crs
        The system of x and y; None for the plane of the data.
    name
        The file's name, for messages.
    sha256
        The SHA-256 of the file, in hexadecimal; empty without a file.

    Raises
    ------
    InputError
        For an empty list, or a position, busyness or radius that is no number.

    Examples
    --------
    >>> import numpy as np
    >>> import shoal
    >>> shoal.PublicPlaces(x=np.array([0.0, 500.0]), y=np.array([0.0, 0.0]))
    PublicPlaces(2 places)
    """

    x: Floats
    y: Floats
    busyness: Floats | None = None
    kinds: tuple[str, ...] | None = None
    radius_m: Floats | None = None
    crs: str | None = None
    name: str = "the list of places"
    sha256: str = ""

    def __post_init__(self) -> None:
        n = len(self.x)
        if not n:
            raise InputError(f"{self.name} holds no places; give a list of public places")
        if len(self.y) != n or any(
            len(column) != n for column in (self.busyness, self.kinds, self.radius_m) if column is not None
        ):
            raise InputError(f"the columns of {self.name} differ in length; give one value for each place")
        self._refuse(~(np.isfinite(self.x) & np.isfinite(self.y)), "no position that can be read")
        if self.busyness is not None:
            number = np.isfinite(self.busyness) & (self.busyness >= 0)
            self._refuse(~number, "a busyness that is no number of at least 0")

        self._refuse(
            ~(self.radii_m >= 0) | np.isinf(self.radii_m), "a radius that is no number of at least 0"
        )

    @property
    def radii_m(self) -> Floats:
        """How far each neighborhood reaches, float64 [n]."""
        if self.radius_m is None:
            return np.full(len(self), NEAR_M)
        return np.where(np.isnan(self.radius_m), NEAR_M, self.radius_m)

    @property
    def doubles(self) -> int:
        """How many places stand at the position of another one, such as sectors of a site."""
        return len(self) - len(np.unique(np.column_stack([self.x, self.y]), axis=0))

    def on_plane(self, crs: str | None) -> "PublicPlaces":
        """The places in meters of this plane; raises InputError where one cannot be placed on it."""
        if self.crs is None or self.crs == crs:
            return self
        if crs is None:
            raise InputError(
                f"{self.name} is in {self.crs} and the data in local meters; say the data's system with "
                "--crs, or give the list as x and y"
            )
        x, y = transform(self.crs, crs, self.x, self.y)
        return replace(self, x=x, y=y, crs=crs)

    def cells(self, cell_m: float) -> tuple[Integers, Integers, Floats | None]:
        """The different cells with places, int64 [c] columns and rows, ascending, and their busyness."""
        cells = np.floor(np.column_stack([self.x, self.y]) / cell_m).astype(np.int64)
        distinct, cell_of = np.unique(cells, axis=0, return_inverse=True)
        x, y = np.ascontiguousarray(distinct.T)
        use: Floats | None = None
        if self.busyness is not None:
            use = np.bincount(cell_of.ravel(), weights=self.busyness).astype(np.float64)
        return x, y, use

    def _refuse(self, bad: Flags, what: str) -> None:
        if bad.any():
            raise InputError(
                f"{self.name} has {counted(int(np.count_nonzero(bad)), 'place')} with {what}, the "
                f"first in row {int(np.argmax(bad)) + 1}; correct or remove these rows"
            )

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON has them."""
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> "PublicPlaces":
        """The list that ``to_json`` wrote."""
        arrays = {
            name: np.array(entries[name])
            for name in ("x", "y", "busyness", "radius_m")
            if entries[name] is not None
        }
        return cls(**{**entries, **arrays, "kinds": entries["kinds"] and tuple(entries["kinds"])})

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return f"PublicPlaces({counted(len(self), 'place')})"
