"""Columns that change what others mean: hemispheres, zones of a plane, days beside clocks; units in names."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.io.columns.counting import Counting
from shoal.io.columns.values import is_text, plain
from shoal.io.toml_tables import TABLES, expressions
from shoal.runtime.arrays import Floats, Integers

_TABLES: Final = TABLES["meanings"]
_AXES: Final = {axis: _TABLES["hemispheres"][axis] for axis in ("lat", "lon")}
_MARK, _PART = (f"(?:{'|'.join(_TABLES['hemispheres'][kind])})" for kind in ("mark", "part"))
_EITHER_SIDE: Final = "o"  # east or west
_ODD: Final = 0.1  # of the values of a column of hemispheres, at most
_MOST_TRIED: Final = 4  # columns that may tell the hemisphere of a coordinate

_NAMES: Final = _TABLES["beside"] | {"parts": [f"{word}{_PART}" for word, *_ in _AXES.values()]}
_BESIDE: Final = {kind: re.compile("|".join(names)) for kind, names in _NAMES.items()}
_PATTERNS: Final = {name: re.compile(pattern) for name, pattern in expressions(_TABLES["patterns"]).items()}
_MOST_TEXTS: Final = 1000  # of which all are zones
_SOME: Final = 3  # dates beside the times

_TIME_UNITS: Final = {word: unit for unit, words in _TABLES["units_of_times"].items() for word in words}
E7: Final = 1e7
OVERFLOW_DEG: Final = 2**32 / E7
_PER_DEGREE: Final[Mapping[str, float]] = _TABLES["units"]["per_degree"]
_PER_METER: Final[Mapping[str, float]] = _TABLES["units"]["per_meter"]
_PLAIN, _UNREAD = (frozenset(_TABLES["units"][kind]) for kind in ("plain", "unread"))

UNITS: Final = {  # that a column's name may state, by its role
    "time": frozenset({*_TIME_UNITS, "utc"}),
    **dict.fromkeys(("lat", "lon"), frozenset({*_PER_DEGREE, *_PLAIN, "ddmm", "dms", "nmea"})),
    **dict.fromkeys(("x", "y"), frozenset({*_PER_METER, *_PLAIN, *_UNREAD})),
}


def split_unit(name: str) -> tuple[str, str]:
    """A column's name without its unit, and the unit, in lower case; no unit is empty."""
    name = name.strip()
    match = _PATTERNS["unit"].fullmatch(name)
    unit = (match[2] or match[3]).lower() if match else ""
    if match is None or unit not in {*_TIME_UNITS, *_PER_DEGREE, *_PER_METER, *_PLAIN, *_UNREAD}:
        return name.lower(), ""
    return match[1].lower(), unit


def unit_of_time(name: str) -> str | None:
    """The unit of numeric times that a column's name states, "gps" for its count; None without one."""
    if _is("gps", name) or (re.search("gps", name.lower()) and not re.search("utc|unix|iso", name.lower())):
        return "gps"
    return _TIME_UNITS.get(split_unit(name)[1] or name.strip().lower())


def zone_in_name(name: str) -> str:
    """The zone of times that a column's name states, such as CET; empty without one, and for UTC."""
    match = _PATTERNS["zone_of_name"].search(name)
    return match[1] if match else ""


def divisor(name: str, *, angle: bool) -> float:
    """What the numbers of a column are divided by to give degrees or meters, by the unit in its name."""
    unit = split_unit(name)[1] or ("e7" if name.strip().lower().endswith("e7") else "")
    if angle and _PATTERNS["turned"].search(name):
        raise InputError(
            f"the name of the column '{name}' says that its degrees count to the west or south, or from "
            "a pole; write them to the east and north of (0, 0), and rename the column"
        )
    if unit in _UNREAD:
        raise InputError(
            f"the name of the column '{name}' says that it counts in {unit}, which shoal does not "
            "read; convert it to decimal degrees or meters"
        )
    return (_PER_DEGREE if angle else _PER_METER).get(unit, 1.0)


def sign_columns(names: Sequence[str], axis: str, coordinate: str) -> tuple[str, ...]:
    """The columns that may tell the hemisphere of a coordinate, "lat" or "lon"; the likeliest first."""
    word = _AXES[axis][0]
    maybe = re.compile(
        rf"(?:gps)?{word}[a-z/]+|.*{word}|.*(?:nors|eorw|northsouth|eastwest|hemi|emisf).*|quadrant|"
        rf"[xy]{_MARK}|.*(?:ns|ew|eo|oe|ow)"
    )
    beside = names[names.index(coordinate) + 1 :][:1] if coordinate in names else ()
    chosen = [name for name in names if _is_sign(name, axis)]
    chosen += [name for name in beside if re.fullmatch(f"{_MARK}|[a-z]{{,2}}|unnamed", _compact(name))]
    twins = Counter(_compact(name) for name in names if re.fullmatch(_MARK, _compact(name)))
    chosen += [name for name in names if twins[_compact(name)] > 1]  # such as dir1 and dir2
    pairs = (pair for pair in pairwise(names) if all(len(name.strip()) == 1 for name in pair))
    chosen += chain(*pairs)  # such as A and B
    chosen += [name for name in names if maybe.fullmatch(_compact(name)) and not split_unit(name)[1]]
    chosen += [name for name in names if re.search(_TABLES["hemispheres"]["abroad"], name.lower())]
    once = (name for name in chosen if name and name != coordinate and names.count(name) == 1)
    return tuple(dict.fromkeys(once))[:_MOST_TRIED]


def _is_sign(name: str, axis: str) -> bool:
    """Whether a column's name is that of a hemisphere."""
    word, pair, side = _AXES[axis]
    full = rf"(?:gps)?(?:{word}(?:{_MARK}|{pair}|{side})|(?:{_MARK}|{pair}){word}|{side}{_MARK}?)"
    full += rf"|(?:hemisphere|dir(?:ection)?)?{pair}{_MARK}?|{word}.*hemi.*|.*hemi.*{word}"
    return bool(re.fullmatch(full + ("|hemisphere" if axis == "lat" else ""), _compact(name)))


def signs(column: pa.Array, axis: str, name: str) -> Integers | None:
    """1, -1 or 0 (unknown) for each row; None for a column without a hemisphere, such as an empty one."""
    if pa.types.is_nested(column.type):
        return None
    coded = plain(column).dictionary_encode()
    compact, sure = _compact(name), _is_sign(name, axis)
    turned, right = (bool(re.search(words, compact)) for words in ("neg|south|west", "positive|north|east"))
    flag = turned != right and sure
    words = {word: sign for sign, side in zip((1, -1), _TABLES["sides"][axis], strict=True) for word in side}
    if flag:
        words |= {word: -sign if right else sign for word, sign in _TABLES["flags"]["minus"].items()}
    elif sure and re.search("sign|sgn|mult|factor", compact):
        words |= _TABLES["signs"]
    texts = [str(value).strip(" .°").lower().removesuffix(".0") for value in coded.dictionary.to_pylist()]
    other = {*texts, *re.findall("e(?=/?o)|w(?=/?o)|(?<=o)[ew]", compact)} & {"e", "w"}
    if axis == "lon" and other:
        words[_EITHER_SIDE] = 1 if other == {"w"} else -1  # east beside west, west beside east
    if not (flag or sure or {*texts} - {""} <= words.keys() | {_EITHER_SIDE}):
        return None
    of_text = np.array([*(words.get(text, 0) for text in texts), 0])
    has_text = np.array([*(text != "" for text in texts), False])
    rows = pc.fill_null(coded.indices.cast(pa.int64()), len(texts)).to_numpy(zero_copy_only=False)
    known, filled = int(np.count_nonzero(of_text[rows])), int(np.count_nonzero(has_text[rows]))
    if not filled or (not known and flag):
        return None
    if filled - known > _ODD * filled:
        sides = "N and S" if axis == "lat" else "E and W"
        raise InputError(
            f"the column '{name}' should tell the hemisphere of its coordinate, but holds other values than "
            f"{sides}; write {sides} there, or rename the column if it means something else"
        )
    of_rows: Integers = of_text[rows]
    return of_rows


def signed(values: Floats, sign: Integers) -> Floats:
    """Coordinates with their sign, nan where it is unknown or contradicts one that is written."""
    return np.where((sign == 0) | ((sign > 0) & (values < 0)), np.nan, np.abs(values) * sign)


def zone_columns(names: Sequence[str], first: str) -> tuple[str, ...]:
    """The columns that name the plane of x and y, as a zone of UTM or a code, and the band of the zone."""
    zone = [name for name in columns_of(names, "plane") if name != first][:1]
    return columns_of(names, "square")[:1] or (*zone, *columns_of(names, "band")[: len(zone)])


def zones(batch: pa.RecordBatch, columns: Sequence[str], first: str) -> set[str]:
    """The different planes of some rows; empty when the columns name something else."""
    parts = [pc.fill_null(plain(batch.column(name)).cast(pa.string()), "") for name in columns]
    unique = pc.unique(pc.binary_join_element_wise(*parts, "")).to_pylist()
    texts = {text.strip().removesuffix(".0") for text in unique} - {""}
    if _is("square", columns[0]) and texts and all(map(_PATTERNS["of_square"].fullmatch, texts)):
        raise InputError(
            f"x and y count within the squares of a grid that the column '{columns[0]}' names, so that equal "
            "numbers mean different places; write whole eastings and northings, or give --crs local if the "
            "column means something else"
        )
    sure = len(columns) > 1 or bool(re.search("utm|epsg|srid|crs|easting", _compact(columns[0] + first)))
    found = [(_PATTERNS["of_epsg"].fullmatch(text), _PATTERNS["of_utm"].fullmatch(text)) for text in texts]
    sure = sure or all("utm" in text.lower() for text in texts)
    return texts if all(code or (zone and (zone[2] or sure)) for code, zone in found) else set()


def advise_crs(zone: str) -> str:
    """The option that names the plane of a zone such as 31T, or the two that it may be, of 31 alone."""
    if code := _PATTERNS["of_epsg"].fullmatch(zone):
        return f"--crs EPSG:{code[1]}"
    match = _PATTERNS["of_utm"].fullmatch(zone)
    number, letter = (int(match[1]), (match[2] or "S").upper()) if match else (0, "S")
    north, south = f"--crs EPSG:{32600 + number}", f"--crs EPSG:{32700 + number}"
    if letter == "S":  # the south, or the band from 32 to 40 degrees north
        return f"{north} (north of the equator) or {south} (south of it)"
    return north if letter >= "N" else south


def contradicts(zone: str, crs: str) -> bool:
    """Whether a system is of another zone of UTM."""
    match, code = _PATTERNS["of_utm"].fullmatch(zone), _PATTERNS["of_epsg_in_utm"].fullmatch(crs)
    return match is not None and code is not None and int(match[1]) != int(code[1])


class TimeNeighbors(Counting):
    """Columns beside the column of times that may change what it means, by their names."""

    def __init__(self, names: Sequence[str] = (), used: Sequence[str] = ()) -> None:
        free = [name for name in names if name not in used]
        self.named = {kind: columns_of(free, kind) for kind in _BESIDE}
        self._begin_counts()

    def _begin_counts(self) -> None:
        self.zones_by_value, self.halves_by_value = list[str](), list[str]()
        self.dates: list[str] = []  # some values of columns of dates

    def look(self, batch: pa.RecordBatch, columns: Sequence[str]) -> None:
        """Add the columns whose values in some rows are all zones other than UTC, or halves of the day."""
        for name in columns:
            column = plain(batch.column(name))
            if _is("dates", name):
                self.dates = self.dates or [str(value) for value in column.drop_null()[:_SOME].to_pylist()]
            if not is_text(column.type):
                continue
            texts = {*pc.unique(column).slice(0, _MOST_TEXTS).to_pylist()} - {"", None}
            halves = {re.sub(r"[.\s]", "", text).lower() for text in texts}
            if halves and (halves <= {*_TABLES["flags"]["halves_of_days"]} or halves == {"a", "p"}):
                self.halves_by_value.append(name)
            elif texts and all(map(_PATTERNS["zone"].fullmatch, texts)):
                self.zones_by_value.append(name)


def count_refusals(name: str, column: pa.Array) -> int:
    """The rows of such a column that say no; none where all do, or where its values are something else."""
    if pa.types.is_nested(column.type):
        return 0
    is_accuracy, flags = _is("accuracy", name), _TABLES["flags"]
    text = column.buffers()[2] if is_accuracy and is_text(column.type) else None
    if text is not None and b"-" not in text.to_pybytes():
        return 0  # as in most files, without a look at each value
    values = plain(column)
    if is_accuracy:
        is_number = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        number = values.cast(pa.float64(), safe=False) if is_number else None
        below = pc.starts_with(values.cast(pa.string()), "-") if number is None else pc.less(number, 0)
        no = pc.sum(below).as_py() or 0
        return no if no < len(values) else 0
    counts = pc.value_counts(pc.utf8_lower(values.cast(pa.string())))
    rows = {str(entry["values"].as_py()): entry["counts"].as_py() for entry in counts}
    no = sum(rows.get(text, 0) for text in flags["yes" if _is("untrue", name) else "no"])
    known = rows.keys() <= {*flags["no"], *flags["yes"], "", "None"}
    return no if known and no < len(column) else 0


def require_wgs84(name: str, column: pa.Array) -> None:
    """Refuse degrees that a column beside them says are not of WGS 84."""
    texts = pc.unique(plain(column)).to_pylist() if _is("datum", name) and is_text(plain(column).type) else []
    if datum := next((text for text in texts if text and _PATTERNS["other_datum"].fullmatch(text)), None):
        raise InputError(
            f"the column '{name}' says that positions are of {datum}, up to some hundred meters from "
            "WGS 84; convert them, or remove the column if it means something else"
        )


def columns_of(names: Sequence[str], *kinds: str) -> tuple[str, ...]:
    """The columns whose names are of one of these kinds in ``meanings.toml``; parts are those of degrees."""
    return tuple(name for name in names if any(_is(kind, name) for kind in kinds))


def _is(kind: str, name: str) -> bool:
    return _BESIDE[kind].fullmatch(_compact(name)) is not None


def _compact(name: str) -> str:
    return re.sub(r"[^\w/]|[\d_]", "", name.lower())
