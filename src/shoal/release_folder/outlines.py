"""Outlines of boxes across the 180th meridian or a pole, cut as RFC 7946 says (section 3.1.9)."""

import struct
from collections.abc import Iterator
from typing import Final

import numpy as np

from shoal.runtime.arrays import Flags, Floats, Integers

_POINT, _MULTIPOLYGON = 1, 6
_HALF, _WHOLE, _POLE = 180.0, 360.0, 90.0
_MULTI_HEAD: Final = struct.Struct("<BII")
_POLYGON_HEAD: Final = struct.Struct("<BIII")
_Path = list[tuple[float, float]]


def are_cut(places: Floats, at: Integers) -> Flags:
    """Which boxes [m] need a cut, where each edge goes the shorter way.

    places: longitude and latitude [p, 2], at: of each box's corners [m, 4].
    """
    lon = places[:, 0]
    known = lon[np.isfinite(lon)]  # places that have no degrees are infinite
    if not len(known) or np.ptp(known) <= _HALF:
        return np.zeros(len(at), dtype=np.bool_)
    of_corners = lon[at]
    with np.errstate(invalid="ignore"):
        apart = np.abs(of_corners - np.roll(of_corners, 1, axis=1)) > _HALF
    return np.asarray(apart.any(axis=1) & np.isfinite(of_corners).all(axis=1))


def cut_outline(corners: Floats, turns: Floats | None = None) -> bytes:
    """Well-known binary of several polygons within -180 to 180, from four corners, counterclockwise.

    turns: degrees to the east along each edge [4]; None = the shorter way.

    >>> import numpy as np
    >>> ring = np.array([[179.0, 0.0], [-179.0, 0.0], [-179.0, 1.0], [179.0, 1.0]])
    >>> [part.tolist() for part in polygons_of(cut_outline(ring))]  # doctest: +NORMALIZE_WHITESPACE
    [[[179.0, 0.0], [180.0, 0.0], [180.0, 1.0], [179.0, 1.0], [179.0, 0.0]],
     [[-180.0, 0.0], [-179.0, 0.0], [-179.0, 1.0], [-180.0, 1.0], [-180.0, 0.0]]]
    """
    if turns is None:
        turns = shorter_way(np.diff(corners[[0, 1, 2, 3, 0], 0]))
    lon = corners[0, 0] + np.concatenate([[0.0], np.cumsum(turns)])
    lat = corners[[0, 1, 2, 3, 0], 1]
    if abs(lon[4] - lon[0]) > _HALF:
        parts = [_around_pole(lon, lat)]
    else:
        shifted = (list(zip(lon[:4] + turn, lat[:4], strict=True)) for turn in (0.0, -_WHOLE, _WHOLE))
        clipped = (_clip(_clip(part, 1.0), -1.0) for part in shifted)
        parts = [part for part in clipped if part and min(part)[0] < max(part)[0]]
    wkb = _MULTI_HEAD.pack(1, _MULTIPOLYGON, len(parts))
    for part in parts:
        ring = np.array([*part, part[0]], dtype="<f8")
        wkb += _POLYGON_HEAD.pack(1, 3, 1, len(ring)) + ring.tobytes()
    return wkb


def shorter_way(degrees: Floats) -> Floats:
    """The same turns to the east, within -180 to 180."""
    return (degrees + _HALF) % _WHOLE - _HALF


def polygons_of(wkb: bytes) -> list[Floats]:
    """The coordinates [n, 2] of each part of an outline, or of the one point."""
    return [np.frombuffer(wkb, dtype="<f8", count=2 * n, offset=at).reshape(-1, 2) for at, n in _parts(wkb)]


def heads_of(wkb: bytes) -> bytes:
    """All of an outline but its coordinates."""
    heads, end = b"", 0
    for at, n in _parts(wkb):
        heads, end = heads + wkb[end:at], at + 16 * n
    return heads + wkb[end:]


def is_cut(wkb: bytes) -> bool:
    """Whether an outline is of several polygons."""
    return int.from_bytes(wkb[1:5], "little") == _MULTIPOLYGON


def _parts(wkb: bytes) -> Iterator[tuple[int, int]]:
    """Where the coordinates of each part begin, and their number."""
    if int.from_bytes(wkb[1:5], "little") == _POINT:
        yield 5, 1
        return
    at = _MULTI_HEAD.size if is_cut(wkb) else 0
    while at + _POLYGON_HEAD.size <= len(wkb):
        n = min(int.from_bytes(wkb[at + 9 : at + 13], "little"), (len(wkb) - at - _POLYGON_HEAD.size) // 16)
        yield at + _POLYGON_HEAD.size, n
        at += _POLYGON_HEAD.size + 16 * n


def _clip(path: _Path, side: float) -> _Path:
    """The part of a convex polygon on this side of +180 (1) or -180 (-1)."""
    inside: _Path = []
    for (x, y), (next_x, next_y) in zip(path, [*path[1:], *path[:1]], strict=True):
        if side * x <= _HALF:
            inside.append((float(x), float(y)))
        if (side * x - _HALF) * (side * next_x - _HALF) < 0:
            share = (side * _HALF - x) / (next_x - x)
            inside.append((side * _HALF, float(y + share * (next_y - y))))
    return inside


def _around_pole(lon: Floats, lat: Floats) -> _Path:
    """A polygon from -180 to 180 between the corners [5] and the pole that they go around."""
    pole = float(np.copysign(_POLE, lat.mean()))
    if lon[4] < lon[0]:
        lon, lat = lon[::-1], lat[::-1]
    cut = _HALF + _WHOLE * np.ceil((lon[0] - _HALF) / _WHOLE)
    at_cut = float(np.interp(cut, lon, lat))
    corners = list(zip(lon.tolist(), lat.tolist(), strict=True))[1:]
    east = [(x - cut - _HALF, y) for x, y in corners if x > cut]
    west = [(x - cut + _HALF, y) for x, y in corners if x < cut]
    path = [(-_HALF, at_cut), *east, *west, (_HALF, at_cut), (_HALF, pole), (-_HALF, pole)]
    return path if pole > 0 else path[::-1]
