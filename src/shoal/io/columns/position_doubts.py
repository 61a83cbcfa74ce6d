"""What speaks against positions as given: people at sea, flat movement, numbers of several sizes or zones."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.io.columns.counting import Counting
from shoal.io.columns.land import neighbors, on_land, squares
from shoal.io.columns.values import Codes
from shoal.messages import Message, say
from shoal.model.projection import lies_far_from_use
from shoal.runtime.arrays import Flags, Floats, Integers
from shoal.units import percent

_LOOKED_AT: Final = 1 << 14  # positions of each batch
_MANY: Final = 0.9
_FEW: Final = 0.01
_APART_DEG: Final = 5.0  # a boat at the coast is at sea, too, and others are near
_NAMED: Final = 3  # files that a message names
_MOST_DOUBTS: Final = 1 << 20
_LARGEST, _FARTHEST_M = 8, 1e8  # digits of the meters around the earth
_DIGITS_APART: Final = 3
_NEAR_ZERO_DEG: Final = 1.0
_SOUTHERNMOST_DEG: Final = -60.0  # nobody lives farther south, though there is land
_ZONE_M, _EDGE_M, _MOST_ZONES = 1e6, 1e5, 60  # eastings with the number of their zone in front
_NOT_BY_CHANCE: Final = 10  # steps, or positions at sea
_RARE, _FEW_WHOLE = 0.001, 0.5  # of the positions are whole degrees by chance, or stand for none
_ALIKE: Final = 3.0  # times that people move farther on one axis than on the other, at most
# minutes and seconds behind the point have two digits each, below 60: nothing lies in the last two fifths of
# a hundredth of a degree, or of a degree
_IN_ONE_NUMBER: Final = {
    1e4: say("other.dms", "degrees, minutes and seconds in one number, as 48.5128 for 48 deg 51 min 28 s"),
    1e2: say("other.dm", "degrees and minutes in one number, as 48.5147 for 48 deg 51.47 min"),
}
_ENOUGH_FIFTHS, _ODD, _FEW_BEYOND = 40, 0.1, 0.02
_A_FIFTH, _DIGIT = 20, 1e-6


@dataclass(frozen=True, eq=False)
class Doubt:
    """Positions of people in a table who are at sea as given, and on land in another reading."""

    table: str
    reading: str  # its key in _READINGS
    person: Codes  # of each, [n]
    square: Integers  # there


_Turn = Callable[[Floats, Floats], tuple[Floats, Floats]]  # of longitudes and latitudes


def _times(east: float, north: float) -> _Turn:
    return lambda lon, lat: (east * lon, north * lat)


# readings of coordinates that part of a file's people may need, since theirs were written in another way
_RADIAN: Final = 180 / np.pi
_READINGS: Final[Mapping[str, tuple[Message, _Turn]]] = {
    "swapped": (say("other.swapped", "latitude and longitude swapped"), lambda lon, lat: (lat, lon)),
    "radians": (say("other.radians", "their numbers taken as radians"), _times(_RADIAN, _RADIAN)),
    "west": (say("other.west", "the longitude's sign turned"), _times(-1, 1)),
    "south": (say("other.south", "the latitude's sign turned"), _times(1, -1)),
    "both": (say("other.both", "both signs turned"), _times(-1, -1)),
    "ten": (say("other.ten", "their decimal points one digit on"), _times(10, 10)),
    "lon_rad": (say("other.lon_rad", "the longitude taken as radians"), _times(_RADIAN, 1)),
    "lat_rad": (say("other.lat_rad", "the latitude taken as radians"), _times(1, _RADIAN)),
    "grads": (say("other.grads", "their numbers taken as grads"), _times(0.9, 0.9)),
    "around": (
        say("other.around", "their numbers taken as grads from 0 to 400"),
        lambda lon, lat: (0.9 * (lon % 360) - 360, 0.9 * lat),
    ),
    "pole": (
        say("other.pole", "the latitude taken as the angle from the north pole"),
        lambda lon, lat: (lon, np.where(lat > 0, 90 - lat, np.nan)),
    ),
}
_OTHER_ANGLES: Final = ("grads", "around", "pole", "west", "south", "both")  # that a whole file may have


class PositionDoubts(Counting):
    """Counts, batch after batch, what makes other readings of positions likelier than the one as given."""

    def __init__(self, *, sure: bool = False) -> None:
        self._sure = sure  # angles are degrees, or of boats and the like: no other unit is looked for
        self._begin_counts()

    def _begin_counts(self) -> None:
        self._looked_at = self._whole = self._equal = self._near_zero = 0
        self._turned = Counter[str]()  # positions at sea, on land in each reading
        self.squares: Counter[int] = Counter()  # positions looked at in each square of the map
        self._doubts: list[Doubt] = []
        self._sizes = np.zeros(_LARGEST, dtype=np.int64)  # of planar positions, by their digits
        # of planar positions, by axis and millions; below 0: of no zone
        self._zones = Counter[tuple[int, int]]()
        self._far = 0  # of planar positions, from the area where the plane is used
        self._steps: list[list[float]] = []  # medians of each batch: north, east, and east if lat is radians
        self._moved = 0
        self._not_radians: set[str] = set()
        self._fifths = set[tuple[float, int, int]]()  # that hold positions, by scale and axis
        self._decimal: set[float] = set()

    def add_meters(self, x: Floats, y: Floats, good: Flags) -> None:
        """Look at some planar positions of a batch, of which some are usable."""
        step = slice(None, None, len(x) // _LOOKED_AT + 1)
        x, y = x[step][good[step]], y[step][good[step]]
        largest = np.maximum(np.abs(x), np.abs(y))
        digits = np.log10(largest[(largest >= 1) & (largest < _FARTHEST_M)]).astype(np.int64)
        self._sizes += np.bincount(digits, minlength=_LARGEST)
        for axis, values in enumerate((x, y)):
            zone, rest = np.divmod(values, _ZONE_M)
            inside = (rest >= _EDGE_M) & (rest <= _ZONE_M - _EDGE_M) & (zone >= 0) & (zone <= _MOST_ZONES)
            zone, count = np.unique(np.where(inside, zone, -1 - np.maximum(zone, 0)), return_counts=True)
            zones = [(axis, int(number)) for number in zone]
            self._zones.update(dict(zip(zones, count.tolist(), strict=True)))

    def add_places(
        self, lon: Floats, lat: Floats, people: Codes, table: str, *, wrapped: bool, crs: str | None
    ) -> None:
        """Look at some positions of a batch on the map. wrapped: some beyond 180. crs: of a planar file."""
        step = max(1, len(lon) // _LOOKED_AT)
        lon, lat, people = lon[::step], lat[::step], people[::step]
        square, count = np.unique(squares(lon, lat), return_counts=True)
        self.squares.update(dict(zip(square.tolist(), count.tolist(), strict=True)))
        self._whole += int(np.count_nonzero((lon == np.rint(lon)) & (lat == np.rint(lat))))
        self._equal += int(np.count_nonzero(lon == lat))
        self._near_zero += int(np.count_nonzero(np.maximum(np.abs(lon), np.abs(lat)) < _NEAR_ZERO_DEG))
        self._looked_at += len(lon)
        if crs is not None:
            self._far += int(np.count_nonzero(lies_far_from_use(crs, lon, lat, _APART_DEG)))
            return
        self._look_at_digits(lon, lat)
        at_sea = np.flatnonzero(~on_land(lon, lat))
        self._doubt(lon[at_sea], lat[at_sea], people, at_sea, table, wrapped=wrapped)
        north, east, middle = np.abs(np.diff(lat)), np.abs(np.diff(lon)), (lat[1:] + lat[:-1]) / 2
        moved = (north > 0) | (east > 0)
        if moved.any():
            ways = (north, east * np.cos(np.radians(middle)), east * np.abs(np.cos(middle)))
            self._steps.append([float(np.median(way[moved])) for way in ways])
            self._moved += int(np.count_nonzero(moved))
        for key, angles, most in (("lat_rad", lat, np.pi / 2), ("lon_rad", lon, np.pi)):
            if key not in self._not_radians:
                there = on_land(*_READINGS[key][1](lon, lat))
                if np.abs(angles).max() > most or there.mean() < _MANY:
                    self._not_radians.add(key)

    def _look_at_digits(self, lon: Floats, lat: Floats) -> None:
        """Remember the pairs of digits behind the point, until some show that they are decimals."""
        for scale in _IN_ONE_NUMBER.keys() - self._decimal:
            for axis, values in enumerate((lon, lat)):
                numbers = np.floor(np.abs(values) * scale + _DIGIT)
                numbers -= numbers % 100 == 60  # rounded up from 59.9
                fifths = np.unique(numbers // _A_FIFTH).astype(np.int64)
                self._fifths.update((scale, axis, fifth) for fifth in fifths.tolist())
                if _beyond_60(fifths) > max(1, _ODD * len(fifths)):
                    self._decimal.add(scale)

    def _are_digits_at(self, scale: float) -> bool:
        """Whether many numbers, all over the first 60 of a hundred, are never of the other 40."""
        of_scale = [(axis, fifth) for of, axis, fifth in self._fifths if of == scale]
        axes = [np.array([fifth for of, fifth in of_scale if of == axis]) for axis in (0, 1)]
        every = sum(map(len, axes))
        spread = all({0, 1, 2} <= {*(fifths % 5).tolist()} for fifths in axes)
        few = sum(map(_beyond_60, axes)) <= _FEW_BEYOND * every
        return scale not in self._decimal and every >= _ENOUGH_FIFTHS and spread and few

    def _doubt(
        self, lon: Floats, lat: Floats, people: Codes, at_sea: Integers, table: str, *, wrapped: bool
    ) -> None:
        """Remember whose positions, nearly all at sea, are on land in another reading."""
        for key, (_, turned) in _READINGS.items():
            if key == "around" and not wrapped:
                continue
            other_lon, other_lat = turned(lon, lat)
            rows = np.flatnonzero(on_land(other_lon, other_lat) & (other_lat > _SOUTHERNMOST_DEG))
            self._turned[key] += len(rows)
            far = np.hypot(other_lon[rows] - lon[rows], other_lat[rows] - lat[rows]) >= _APART_DEG
            rows = rows[far]
            if not rows.size or sum(len(doubt.person) for doubt in self._doubts) > _MOST_DOUBTS:
                continue
            person = people[at_sea[rows]]
            whole = np.bincount(person) >= _MANY * np.bincount(people, minlength=1)[: person.max() + 1]
            rows = rows[whole[person]]
            if rows.size:
                there = squares(other_lon[rows], other_lat[rows])
                self._doubts.append(Doubt(table, key, people[at_sea[rows]], there))

    def check_degrees(self, name: str, *, named: bool, fine: bool) -> list[Message]:
        """Ask where positions are likelier in another reading; a note if named. fine: most have decimals."""
        question = next(self._questions(name), None)
        if question is None:
            few = max(1.0, _RARE * self._looked_at) < self._whole < _FEW_WHOLE * self._looked_at
            text = (
                "{number} of the positions of {file} that were looked at are whole degrees, such as -1, 90 "
                "or 180, among finer ones; programs write these where they have none: remove them"
            )
            return [say("reading.whole", text, number=f"{self._whole:,}", file=name)] if fine and few else []
        seen, remedy = question
        if named:
            return [say("reading.check_axes", "{swapped}; check --lat and --lon", swapped=seen)]
        raise InputError(f"{seen}; {remedy}")

    def _questions(self, name: str) -> Iterator[tuple[Message, str]]:
        """What the positions show, and what to do; the likeliest first."""
        enough = _MANY * max(self._looked_at, 1)
        if key := self._radians():
            text = (
                "the positions of {file} may be right with {reading}: as degrees, all move some 57 times "
                "farther on one axis"
            )
            seen = say("reading.one_in_radians", text, file=name, reading=_READINGS[key][0])
            yield seen, f"convert it, or call the column {key}; give --lat and --lon if it is in degrees"
        if self._equal == self._looked_at >= _NOT_BY_CHANCE:
            text = "latitude and longitude of {file} are equal in all rows"
            yield say("reading.equal", text, file=name), "name the columns with --lat and --lon"
        if self._turned["radians"] >= enough:
            text = "the positions of {file} lie in the Gulf of Guinea as degrees, and on land as radians"
            remedy = "call the columns lat_rad and lon_rad; give --lat and --lon if this is the sea"
            yield say("reading.radians", text, file=name), f"convert radians, or {remedy}"
        if self._near_zero == self._looked_at >= _NOT_BY_CHANCE and not self._sure:
            text = "the positions of {file} all lie within a degree of 0 N 0 E, where there is only sea"
            seen = say("reading.near_zero", text, file=name)
            remedy = "write degrees, from (0, 0), or give --lat and --lon if this is the sea"
            yield seen, f"they may be counted from another place, or in another unit; {remedy}"
        if scale := next(filter(self._are_digits_at, _IN_ONE_NUMBER), 0.0):
            text = (
                "the positions of {file} may be {reading}: where minutes or seconds would be, nothing is "
                "above 59"
            )
            seen = say("reading.in_one_number", text, file=name, reading=_IN_ONE_NUMBER[scale])
            yield seen, "convert them, or give --lat and --lon if they are decimal degrees"
        swapped = self._turned["swapped"] >= enough  # the usual mistake
        fitting = ["swapped"] if swapped else [key for key in _OTHER_ANGLES if self._turned[key] >= enough]
        if swapped or (fitting and self._looked_at >= _NOT_BY_CHANCE and not self._sure):
            text = "{percent} % of the positions of {file} lie at sea as given, and on land with {reading}"
            percent = 100 * self._turned[fitting[0]] // self._looked_at
            readings = _READINGS[fitting[0]][0]
            for key in fitting[1:]:
                readings = say("other.or", "{one} or {other}", one=readings, other=_READINGS[key][0])
            seen = say("reading.swapped", text, percent=percent, file=name, reading=readings)
            remedy = (
                "write them as degrees to the north and east, call columns of grads lat_gon and lon_gon, or "
                "name the columns with --lat and --lon if this is the sea"
            )
            if swapped:
                remedy = (
                    "name the columns with --lat and --lon, the other way round if they are swapped, as "
                    "they are if this is the sea"
                )
            yield seen, remedy
        if doubts := [doubt for doubt in self._doubts if self._is_among_others(doubt)]:
            text = "people in {files} are at sea as given, and where others are with {reading}"
            names = list(dict.fromkeys(doubt.table for doubt in doubts))
            files = ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)
            seen = say("reading.other_reading", text, files=files, reading=_READINGS[doubts[0].reading][0])
            yield seen, "write all alike, or name the columns with --lat and --lon if this is the sea"

    def _radians(self) -> str:
        """The reading in which one axis alone is in radians, if steps are as long on both axes in it."""
        north, east, east_by_radians = np.median(self._steps or [[0.0] * 3], axis=0)
        if self._moved < _NOT_BY_CHANCE or not north or not east:
            return ""
        ratios = {"lat_rad": np.degrees(north) / east_by_radians, "lon_rad": north / np.degrees(east)}
        alike = (key for key, ratio in ratios.items() if 1 / _ALIKE <= ratio <= _ALIKE)
        return next((key for key in alike if key not in self._not_radians), "")

    def _is_among_others(self, doubt: Doubt) -> bool:
        """Whether somebody's positions, in the other reading, are nearly all where others are."""
        there, place = np.unique(doubt.square, return_inverse=True)
        among = np.isin(there, neighbors(np.fromiter(self.squares, np.int64, len(self.squares))))[place]
        whole = np.bincount(doubt.person)
        return bool((np.bincount(doubt.person, among)[whole > 0] >= _MANY * whole[whole > 0]).any())

    def check_meters(self, name: str, declared: str | None, crs: str | None) -> list[Message]:
        """Ask where planar numbers are of several sizes or zones, or not of the declared plane."""
        if declared == "local":
            return []
        if self._far > _FEW * self._looked_at:
            raise InputError(
                f"{percent(self._far / self._looked_at, 0)} of the positions of {name} lie more than "
                f"{_APART_DEG:g} degrees outside the area where the plane {crs} is used, as do numbers of "
                "another zone or plane; give the --crs that they are of, rows of each on their own, or --crs "
                "local"
            )
        zones = [{zone for at, zone in self._zones if at == axis} for axis in (0, 1)]
        axes = zones[:1] if {0, -1} & zones[0] else zones  # no easting without a zone has a million
        several = [zone for zone in axes if len(zone) > 1 and min(zone) >= 0 and max(zone) > 1]
        if declared is None and several:
            raise InputError(
                f"x or y of {name} begin with the numbers of several zones, as in 3,512,345 and 4,512,345 "
                "(Gauss-Krueger) or 32,512,345 and 33,412,345 (UTM), so that neighbors would be far apart; "
                "read the rows of each on their own with --crs, or give the one --crs, or --crs local, if "
                "all are of one plane"
            )
        filled = np.flatnonzero(self._sizes > _FEW * self._sizes.sum())
        if not (np.diff(filled) >= _DIGITS_APART).any():
            return []
        text = (
            "some x and y of {file} are more than a hundred times smaller than the others, as degrees or "
            "kilometers among meters are"
        )
        seen = say("reading.sizes", text, file=name)
        if declared is None:
            raise InputError(f"{seen}; write them alike, or give --crs local if all are meters")
        return [seen]


def _beyond_60(fifths: Integers) -> int:
    return int(np.count_nonzero(fifths % 5 > 2))
