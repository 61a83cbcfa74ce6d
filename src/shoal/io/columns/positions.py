"""From coordinates to one plane in meters: degrees, a declared plane, or local meters."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, MisuseError
from shoal.io.cleaning import BAD_COORDINATE, NOT_FINITE, OUTSIDE, ZERO, Sieve
from shoal.io.columns import meanings
from shoal.io.columns.advice import advise_degrees, likely_planes
from shoal.io.columns.column_names import NAMES, Columns
from shoal.io.columns.counting import Counting
from shoal.io.columns.land import middles
from shoal.io.columns.place_text import angles
from shoal.io.columns.position_doubts import PositionDoubts
from shoal.io.columns.time_text import shape_of
from shoal.io.columns.values import Codes, DecimalCommas, is_text, may_be_thousands, numbers, plain, points
from shoal.messages import say
from shoal.model import projection
from shoal.model.intake import TOO_WIDE, Reading
from shoal.model.projection import WGS84, equal_area_plane, is_geographic, transform
from shoal.runtime.arrays import Flags, Floats
from shoal.units import percent

LONGITUDE_LATITUDE: Final = frozenset({"EPSG:4326", "OGC:CRS84", "WGS84"})
FINE: Final = 1 << 30
DEGREES: Final = frozenset({*NAMES["lat"], *NAMES["lon"]})
_SUMMED: Final = 1 << 14  # positions at once
_MEASURED: Final = 500  # places of a batch whose distances are held against geodesic ones
_NAMED: Final = 3  # files that a message names
_STEPS_KM: Final = (("whole degrees", 111), ("tenths of degrees", 11), ("hundredths of degrees", 1))
_FINE_DECIMALS, _NOT_BY_CHANCE, _ROUNDED = 3, 10, 1e-4  # of degrees; positions; numbers of 32 bits, too


class Positions(Counting):
    """Reads and checks positions, batch after batch, and decides their plane."""

    def __init__(
        self, columns: Columns, reading: Reading, name: str, *, named: bool = False, sure: bool = False
    ) -> None:
        stored = columns.geometry.crs if columns.geometry else None
        # None = local meters
        self.crs = WGS84 if columns.angles else None if reading.crs == "local" else reading.crs or stored
        self.degrees = self.crs is not None and _is_wgs84(self.crs)
        self.notes: list[str] = []
        self.middle_lon_deg: float | None = None
        self._middle_lat_deg = 0.0
        if self.crs is not None:
            is_geographic(self.crs)
        if columns.angles and reading.crs is not None and not _is_wgs84(reading.crs):
            text = "the declared crs is of planar input; latitude and longitude are taken as WGS 84"
            self.notes.append(say("reading.crs_unused", text))
        if self.crs is None and reading.working_crs is not None:
            raise MisuseError(
                "local meters cannot be projected; leave out working_crs, or say with --crs which plane x "
                "and y are of"
            )
        if reading.working_crs is not None and is_geographic(reading.working_crs):
            raise MisuseError(
                f"working_crs = '{reading.working_crs}' counts in degrees; give a plane in meters, for "
                "example EPSG:3035"
            )
        if self.crs is None and {columns.first.casefold(), columns.second.casefold()} & DEGREES:
            raise InputError(
                f"{columns.first} and {columns.second} of {name} are named as degrees are, and would be read "
                "as local meters; name them with --lon and --lat"
            )
        self._name = name
        # points as given keep their coordinates to the last digit
        keeps_plane = not reading.snap and self.crs is not None and projection.is_plane_in_meters(self.crs)
        self._working_crs = reading.working_crs or (self.crs if keeps_plane else None)
        # whether read() gives (longitude, latitude), to be projected into plane()
        self.keeps_degrees = self.crs is not None and (self.degrees or self._working_crs != self.crs)
        self.commas = DecimalCommas()
        self._named, self._doubts = named, PositionDoubts(sure=sure)
        self._parts = columns.parts
        self._declared = reading.crs
        self._divisors: dict[str, float] = {}
        self._signed: dict[tuple[str, str], bool] = {}  # hemispheres by axis and column
        self._wraps: bool | None = None
        self._begin_counts()

    def _begin_counts(self) -> None:
        self._zones: set[str] = set()
        self._sums = np.zeros(3, dtype=object)  # of whole numbers that may not fit 64 bits
        self._some: list[Floats] = []  # places of each batch on the working plane, [2, n]
        self._rows = 0
        self._decimals = {(0, 0), (1, 0)}  # of the degrees so far, by axis, at most 3
        self.unread = ""  # the shape of a coordinate that cannot be read
        self._refused: Counter[str] = Counter()  # rows by the column that says they have no position
        self._may_group = False  # thousands of planar numbers, by points
        self.wrapped = 0  # longitudes from 180 to 360
        self._off: list[Floats] = []  # some positions [2, n] off the globe
        # of local meters in each batch: west and south with the sign turned, east, north
        self._bounds: list[Floats] = []

    @property
    def decided(self) -> tuple[dict[str, bool], dict[tuple[str, str], bool], bool | None]:
        """Decisions that hold for all later rows: decimal commas, hemispheres, longitudes above 180."""
        return self.commas.decided, dict(self._signed), self._wraps

    def join(self, later: Self) -> None:
        """Add the counts of later rows."""
        super().join(later)
        self._require_one_zone()

    def read(
        self, batch: pa.RecordBatch, columns: Columns, sieve: Sieve, people: Codes, table: str
    ) -> tuple[Floats, Floats]:
        """Coordinates, float64 [n] twice; unusable rows may hold any value. people: of the rows, [n]."""
        if columns.geometry is not None:
            first, second, readable = points(batch.column(columns.geometry.column))
        else:
            first, known_first = self._values(batch, columns.first, columns.signs[0], "lon")
            second, known_second = self._values(batch, columns.second, columns.signs[1], "lat")
            readable = known_first & known_second
        if columns.zone and self._declared != "local":
            self._zones |= meanings.zones(batch, columns.zone, columns.first)
            self._require_one_zone()
        for name in columns.flags:
            meanings.require_wgs84(name, batch.column(name))
            if rows := meanings.count_refusals(name, batch.column(name)):
                self._refused[name] += rows
        sieve.drop(BAD_COORDINATE, ~readable)
        sieve.drop(NOT_FINITE, ~(np.isfinite(first) & np.isfinite(second)))
        if self.degrees:
            first = self._wrapped(first, sieve.good & (np.abs(second) <= 90))
            if len(self._off) < _NAMED:
                off = sieve.good & ~((np.abs(first) <= 180) & (np.abs(second) <= 90))
                self._off += [np.stack([first[off], second[off]])[:, :_MEASURED]] if off.any() else []
            sieve.drop_angles(first, second)
            sieve.drop(ZERO, (first == 0) & (second == 0))
        else:
            self._doubts.add_meters(first, second, sieve.good)
        if self.crs is not None and not self.degrees:
            places = (np.where(sieve.good, axis, np.nan) for axis in (first, second))
            lon, lat = transform(self.crs, WGS84, *places)
            sieve.drop(OUTSIDE, ~(np.isfinite(lon) & np.isfinite(lat)))
            sieve.drop_angles(lon, lat)
            if self.keeps_degrees:
                first, second = lon, lat
        usable = slice(None) if sieve.good.all() else sieve.good
        self._remember(first[usable], second[usable], people[usable], table)
        return first, second

    def _values(
        self, batch: pa.RecordBatch, name: str, tried: Sequence[str], axis: str
    ) -> tuple[Floats, Flags]:
        per_unit = self._divisors.setdefault(name, meanings.divisor(name, angle=self.degrees))
        where, decimal = f"column '{name}' of {self._name}", self.degrees and per_unit == 1.0
        column = batch.column(name) if decimal else self.commas.replaced(batch, name, angle=False)
        values, readable = numbers(column, where)
        self._may_group = self._may_group or (not self.degrees and may_be_thousands(column))
        if decimal and not readable.all():
            column = self.commas.replaced(batch, name, angle=True)
            values, readable = numbers(column, where)
        if decimal and is_text(column.type) and not readable.all():
            degrees, written = angles(plain(column), axis)
            values, readable = np.where(written, degrees, values), readable | written
        if not self.unread and is_text(column.type) and not readable.all():
            written = column.filter(pa.array(~readable)).drop_null()
            self.unread = shape_of(next(filter(None, written.to_pylist()), ""))
        values = values if per_unit == 1.0 else values / per_unit
        if per_unit == meanings.E7:  # Google wrote negative numbers of 32 bits without their sign
            turned = (values > 180) & (values < meanings.OVERFLOW_DEG)
            values = np.where(turned, values - meanings.OVERFLOW_DEG, values)
        for sign in tried:
            if self._signed.get((axis, sign)) is False:
                continue
            side = meanings.signs(batch.column(sign), axis, sign)
            if side is None:
                self._signed[axis, sign] = self._signed.get((axis, sign), False) and not batch.num_rows
                continue
            if (axis, sign) not in self._signed:
                text = "the hemisphere of {name} comes from the column '{column}'"
                self.notes.append(say("reading.hemisphere", text, name=name, column=sign))
            self._signed.update({(axis, other): other == sign for other in tried})
            values = meanings.signed(values, side)
            readable = readable & np.isfinite(values)
            break
        return values, readable

    def _wrapped(self, lon: Floats, good: Flags) -> Floats:
        """Longitudes from 0 to 360, or on past the 180th meridian: only where all are on one side of 0."""
        over = good & (np.abs(lon) > 180) & (np.abs(lon) <= 360)
        if not over.any():
            return lon
        if self._wraps is None:
            self._wraps = not ((lon[good] < 0).any() and (lon[good] > 0).any())
        if not self._wraps:
            return lon
        self.wrapped += int(np.count_nonzero(over))
        return np.where(over, lon - np.sign(lon) * 360, lon)

    def advice(self) -> str:
        """What the positions off the globe may be; empty without a guess."""
        return advise_degrees(*np.concatenate(self._off, axis=1)) if self._off else ""

    def _require_one_zone(self) -> None:
        if len(self._zones) > 1:
            some = " and ".join(sorted(self._zones)[:_NAMED])
            raise InputError(
                f"x and y of {self._name} are of several planes, {some}, so that equal numbers mean "
                "different places; read the rows of each on their own with --crs, or give --crs local "
                "if the column means something else"
            )

    def _remember(self, first: Floats, second: Floats, people: Codes, table: str) -> None:
        """Sums of whole numbers do not depend on the order of rows."""
        self._rows += len(first)
        for axis, values in enumerate((first, second) if self.degrees else ()):
            while (decimals := self._decimals_of(axis)) < _FINE_DECIMALS:
                tenths = values * 10**decimals
                if np.abs(tenths - np.rint(tenths)).max(initial=0) < _ROUNDED:
                    break
                self._decimals.add((axis, decimals + 1))
        if self._working_crs is not None and first.size:
            some = slice(None, None, len(first) // _MEASURED + 1)
            plane = first[some], second[some]
            if self.keeps_degrees:
                plane = transform(WGS84, self._working_crs, *plane)
            self._some.append(np.stack(plane))
        if self.keeps_degrees:
            for begin in range(0, len(first), _SUMMED):  # few enough for a processor's cache
                part = slice(begin, begin + _SUMMED)
                angle = np.radians(first[part])
                for place, values in enumerate((np.sin(angle), np.cos(angle), second[part] / 90)):
                    self._sums[place] += int(np.rint(values * FINE).astype(np.int64).sum())
            if first.size:
                wrapped, crs = bool(self._wraps), None if self.degrees else self.crs
                self._doubts.add_places(first, second, people, table, wrapped=wrapped, crs=crs)
        if self.crs is None and first.size:
            self._bounds.append(np.array([-first.min(), -second.min(), first.max(), second.max()]))

    def _decimals_of(self, axis: int) -> int:
        return max(decimals for of, decimals in self._decimals if of == axis)

    def plane(self) -> str | None:
        """The plane after all rows, None for local meters; questions about what the numbers may be."""
        farthest = np.max(self._bounds or [np.full(4, np.inf)], axis=0)
        if self._declared != "local" and (farthest <= [180, 90, 180, 90]).all():
            raise InputError(
                f"x and y of {self._name} lie within -180..180 and -90..90, as degrees do; name them with "
                "--lon and --lat, or give --crs EPSG:4326 for a geometry, or --crs local if they are meters"
            )
        if self._may_group and not self._named:
            raise InputError(
                f"points in x or y of {self._name} may part thousands, as in 652.000 beside 652100; write "
                "them without, or name the columns with --x and --y if they are decimal points"
            )
        zone = next(iter(self._zones), "")
        if zone and (self._declared is None or meanings.contradicts(zone, self._declared)):
            raise InputError(
                f"x and y of {self._name} are of the plane {zone}, as a column beside them says: give "
                f"{meanings.advise_crs(zone)}, or --crs local to keep them as meters without a place"
            )
        equal_area = None
        if self.keeps_degrees and self._rows:
            sine, cosine, latitude = self._sums
            self.middle_lon_deg = float(np.degrees(np.arctan2(sine, cosine)))
            self._middle_lat_deg = 90 * latitude / FINE / self._rows
            equal_area = equal_area_plane(np.array([self.middle_lon_deg]), np.array([self._middle_lat_deg]))
        if self._working_crs is not None and self._rows and self._working_crs != equal_area:
            lengths = projection.PlaneLengths(self._working_crs)
            for some in self._some:
                lengths.measure(*some)
            places, wrong, worst, _ = lengths.errors()
            if 2 * wrong > places:  # fewer are outliers, which the check of a release tells
                raise InputError(
                    f"distances in the plane '{self._working_crs}' differ from true ones at the places of "
                    f"{self._name}, {projection.error_in_words(worst)} at worst; name another with "
                    "working_crs, one in meters around the data, or read longitude and latitude"
                )
        fine = self.degrees and max(self._decimals_of(axis) for axis in (0, 1)) > 1
        self.notes += self._doubts.check_degrees(self._name, named=self._named, fine=fine)
        for column, rows in self._refused.items():
            text = (
                "rows that the column '{column}' marks as without a position, and that are read all the "
                "same: {rows}"
            )
            self.notes.append(say("reading.refused", text, column=column, rows=f"{rows:,}"))
        self.notes += self._doubts.check_meters(self._name, self._declared, self.crs)
        self._note_national(*farthest)
        self._note_coarse()
        if self.crs is None or self._working_crs is not None or not self._rows:
            return self._working_crs
        self._note_wide()
        return equal_area

    def _note_wide(self) -> None:
        if self.middle_lon_deg is None or not self._doubts.squares:
            return
        square, count = np.array(list(self._doubts.squares.items())).T
        far = projection.is_far_from_center(self.middle_lon_deg, self._middle_lat_deg, *middles(square))
        share = count[far].sum() / count.sum()
        if min(share, far.mean()) > 0.5:  # of fewer, the check of a release tells
            text = (
                f"{TOO_WIDE}: {{share}} of the positions of {{file}} lie so far from the middle of all that "
                "lengths in a plane around them are wrong by more than {wrong}; publish each region on its "
                "own, from a file that holds the rows of that region alone"
            )
            shares = {"share": percent(share, 0), "wrong": percent(projection.MOST_WRONG, 0)}
            self.notes.append(say("reading.too_wide", text, file=self._name, **shares))

    def _note_coarse(self) -> None:
        decimals, most = sorted(self._decimals_of(axis) for axis in (0, 1))
        if self.degrees and self._rows and not most and self._parts:
            raise InputError(
                f"the degrees of {self._name} are whole, and {', '.join(self._parts)} may hold "
                "their minutes, seconds or decimals; write each coordinate as one decimal number, or remove "
                "these columns"
            )
        if not self.degrees or decimals >= _FINE_DECIMALS or self._rows < _NOT_BY_CHANCE:
            return
        text = "the positions of {file} are {steps}, precise to about {km} km; a smaller --cell adds nothing"
        steps, km = _STEPS_KM[decimals]
        self.notes.append(say("reading.coarse", text, file=self._name, steps=steps, km=km))

    def _note_national(self, west: float, south: float, east: float, north: float) -> None:
        """West and south with the sign turned."""
        if planes := likely_planes(-west, -south, east, north):
            text = (
                "x and y of {file} were taken as local meters; if one of these places is right, give "
                "{planes}, else the plane that is (zones of UTM have the same numbers)"
            )
            planes_in_words = " or ".join(planes.values())
            self.notes.append(say("reading.local_meters", text, file=self._name, planes=planes_in_words))


def _is_wgs84(crs: str) -> bool:
    return crs.upper() in LONGITUDE_LATITUDE
