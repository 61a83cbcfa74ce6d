"""Search the columns of a published file that hold no place and time of its rows for what is raw.

A number or time that equals a raw one counts if far more do than the values one step beside it: so a
column of ages beside whole meters is no finding.
"""

import base64
import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, ShoalError
from shoal.io.columns.time_text import SECOND
from shoal.io.columns.times import Times
from shoal.io.foreign import Foreign
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Floats, Integers
from shoal.units import counted
from shoal.verification.leaks.digests import find_hashed_names, hash_like_words
from shoal.verification.leaks.identifiers import is_distinctive
from shoal.verification.leaks.raw_identifiers import RawIdentifiers

_MOST_VALUES: Final = 1 << 20
_FEWEST: Final = 3  # equal values that are a finding
_FAR_MORE: Final = 5  # times as many as beside them
_FEW_RARE: Final = 2  # as many are rare, or half of them, in columns of attributes, too
_NUMBER: Final = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]|:\d|-\d)")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_PARTS_OF_UNITS: Final = (1, 1e3, 1e6, 1e7, 1e9)  # milliseconds to nanoseconds, degrees times 10^6 or 10^7
_COUNTS: Final = re.compile(
    r"(?:n|nb|num|number|counts?|totals?|flows?|trips?|visits?|visitors?|people|persons|users|devices|subscribers"
    r"|travell?ers|population|anzahl|nombre)(?:_?(?:of_?)?(?:trips|visits|people|users|devices|subscribers))?"
)


def require_records(published: Foreign) -> None:
    """Raise InputError for a table of counts: no ids, a column of counts, and each place and time once."""
    if published.has_ids:
        return
    for name in published.rest.column_names:
        column = published.rest[name]
        if not _COUNTS.fullmatch(name.strip().lower()) or not _are_counts(column):
            continue
        axes = (published.t, published.first, published.second)
        cells = np.column_stack([end for axis in axes for end in (axis.low, axis.high)])
        if len(np.unique(cells, axis=0)) == len(cells):
            raise InputError(
                f"{published.name} is a table of counts, not of records: each place and time stands once, "
                f"with its '{name}'; use shoal check TABLE --kind flows, or presence, dwell, homes"
            )


def search_other_columns(
    published: Foreign, original: Trajectories, time_zone: str | None, units: Integers, k: int
) -> tuple[list[Finding], list[str]]:
    """Findings on raw identifiers, times and places in other columns, and what could not be told.

    units: int64 [rows], the person of each row, or its record. A column whose values stand, most of them, for
    fewer than k of them may be raw in any other form.
    """
    identifiers, raw = RawIdentifiers.of(original), _raw_values(original)
    findings: list[Finding] = []
    unchecked: list[str] = []
    for number, name in enumerate(published.rest.column_names, start=1):
        telling = _count_identifying(identifiers, [name])
        title = f"unused column {number}" if telling else f"column '{name}'"
        if telling:
            findings.append(Finding("raw-identifier", f"the name of {title} is or holds a raw identifier"))
        texts = _texts(published.rest[name])
        if texts is None:
            unchecked.append(f"{title}, which holds neither text nor numbers, times or shapes")
            continue
        if len(texts) > _MOST_VALUES:
            unchecked.append(f"{len(texts) - _MOST_VALUES:,} of the {len(texts):,} values of {title}")
        texts = texts[:_MOST_VALUES]
        if n := _count_identifying(identifiers, texts):
            message = f"{counted(n, 'value')} of {title} {'is' if n == 1 else 'are'} or hold a raw identifier"
            findings.append(Finding("raw-identifier", f"{message}, or a plain hash of one"))
        ids = 0 if n else len(set(texts).intersection(original.ids))
        if 2 * ids > len(texts):
            unchecked.append(f"whether {title} holds raw identifiers: {ids:,} of its values are some")
        equal = list(_equal_values(texts, raw, time_zone))
        for what, is_finding in equal:
            if is_finding:
                findings.append(Finding("raw-value", f"{title} holds exact raw {what}"))
            else:
                unchecked.append(
                    f"whether {title} holds exact raw {what}: some of its values are equal to some"
                )
        rare = _count_rare(published.rest[name], units, k)
        if rare > max(_FEW_RARE, len(texts) // 2) and not (n or ids or equal):
            unchecked.append(
                f"whether {title} is raw in another form: {rare:,} of its {len(texts):,} values stand for "
                f"fewer than {k} people or records"
            )
    return findings, unchecked


def _count_rare(column: pa.ChunkedArray, units: Integers, k: int) -> int:
    """How many values stand for fewer than k units; 0 where rows were left out, which is told elsewhere."""
    values = column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy()
    if len(values) != len(units):
        return 0
    pairs = np.unique(np.column_stack([values, units])[values >= 0], axis=0)
    return int(np.count_nonzero(np.unique(pairs[:, 0], return_counts=True)[1] < k))


def _are_counts(column: pa.ChunkedArray) -> bool:
    try:
        least = pc.min(column.cast(pa.int64())).as_py()
    except pa.ArrowException:
        return False
    return least is not None and least >= 0


def _texts(column: pa.ChunkedArray) -> list[str] | None:
    """The different values; of shapes their coordinates."""
    try:
        if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            import shapely  # an optional extra

            shapes = shapely.from_wkb(pc.unique(column).drop_null().to_pylist(), on_invalid="ignore")
            if any(shape is None for shape in shapes):
                return None
            return [repr(value) for value in np.unique(shapely.get_coordinates(shapes)).tolist()]
        return list(pc.unique(column.cast(pa.string())).drop_null().to_pylist())
    except (pa.ArrowException, ImportError, ValueError):
        return None


def _count_identifying(identifiers: RawIdentifiers, texts: list[str]) -> int:
    names = identifiers.relevant_names(texts, texts)
    encoded = {text.rstrip("=") for uid in identifiers.ids if is_distinctive(uid) for text in _encodings(uid)}
    words = {text: {text, *hash_like_words(text)} for text in texts}
    hashed = find_hashed_names(identifiers.digests, {word for some in words.values() for word in some})
    return sum(
        bool(
            (text in names.whole and is_distinctive(text))
            or text.rstrip("=") in encoded
            or names.in_text(text)
            or not hashed.isdisjoint(some)
        )
        for text, some in words.items()
    )


def _encodings(uid: str) -> Iterator[str]:
    content = uid.encode("utf-8", "surrogatepass")
    yield from (make(content).decode() for make in (base64.b64encode, base64.b32encode, base64.b85encode))
    yield from (content.hex(), uid[::-1], codecs.encode(uid, "rot13"))


def _raw_values(original: Trajectories) -> Mapping[str, list[Floats]]:
    in_plane = original.lat is None or original.lon is None
    places = (original.x, original.y) if in_plane else (original.lat, original.lon)
    return {
        "times": [np.unique(original.t)],
        "places": [np.unique(axis) for axis in places if axis is not None],
    }


def _equal_values(
    texts: list[str], raw: Mapping[str, list[Floats]], time_zone: str | None
) -> Iterator[tuple[str, bool]]:
    """Which raw values stand in the texts, and whether by far more than chance; doubts are False."""
    numbers = np.unique(np.array([float(number) for text in texts for number in _NUMBER.findall(text)]))
    times = np.unique(_seconds([time for text in texts for time in _TIME.findall(text)], time_zone))
    for what, values in raw.items():
        outcomes = [
            _compare(some / part, axis)
            for axis in values
            for some, parts in ((numbers, _PARTS_OF_UNITS), *([(times, (1,))] if what == "times" else []))
            for part in parts
        ]
        if any(outcome is not None for outcome in outcomes):
            yield what, True in outcomes


def _seconds(texts: list[str], time_zone: str | None) -> Floats:
    try:
        ticks, readable = Times(None, zone=time_zone).microseconds(pa.array(texts, pa.string()), "a column")
    except ShoalError:
        return np.empty(0)
    return np.asarray(ticks[readable] / SECOND)


def _compare(values: Floats, raw: Floats) -> bool | None:
    """Whether raw values are among them; None if none are, or no more than chance explains."""
    values = values[(values >= raw[0]) & (values <= raw[-1])]
    step = _step(values)
    if not len(values) or step > 1.5 * _step(raw):
        return None  # coarser than the raw values
    equal, *beside = (_count_equal(values + shift, raw) for shift in (0.0, step, -step))
    chance = sum(beside) / 2
    if equal >= _FEWEST and equal > _FAR_MORE * chance:
        return True
    return False if equal > 2 * chance or 2 * equal > len(values) else None


def _count_equal(values: Floats, raw: Floats) -> int:
    place = np.clip(np.searchsorted(raw, values), 1, max(1, len(raw) - 1))
    near = np.minimum(np.abs(raw[place - 1] - values), np.abs(raw[np.minimum(place, len(raw) - 1)] - values))
    return int(np.count_nonzero(near <= 4 * np.spacing(np.abs(values))))


def _step(values: Floats) -> float:
    """The decimal step that all values are multiples of, 1e-9 to 1; of whole numbers their divisor."""
    whole = values[np.isfinite(values)]
    for digits in range(10):
        scaled = whole * 10.0**digits
        if np.allclose(scaled, np.rint(scaled), rtol=1e-12, atol=1e-6):
            if digits:
                return float(10.0**-digits)
            return float(max(1, np.gcd.reduce(np.diff(np.rint(whole)).astype(np.int64), initial=0)))
    return 1e-9
