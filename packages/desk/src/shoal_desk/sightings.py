"""Find yourself: records that fit known times and places."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.model.projection import WGS84, transform
from shoal.model.release import Release
from shoal.runtime.arrays import Floats, Integers

_NEAR_M: Final = 200.0
_NEAR_S: Final = 600.0
_LATEST_S: Final = 1e11
_EXAMPLE: Final = "write for example 2026-03-02T08:10,48.85,2.35"


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """When and where a person was seen.

    t_s: since 1970, or step 0. lat and lon, or x and y in meters.
    """

    t_s: float
    lat: float | None = None
    lon: float | None = None
    x_m: float | None = None
    y_m: float | None = None

    @classmethod
    def of(cls, when: str, first: str, second: str, *, planar: bool) -> "Sighting":
        """An ISO 8601 time in UTC or seconds, then degrees, or meters where ``planar``."""
        try:
            t_s = float(np.datetime64(when, "ms").astype(np.int64)) / 1000 if "-" in when[1:] else float(when)
            place = float(first), float(second)
        except ValueError as error:
            raise MisuseError(
                f"'{when}', '{first}', '{second}' are not a time and a place; {_EXAMPLE}"
            ) from error
        if not np.isfinite([t_s, *place]).all() or abs(t_s) > _LATEST_S:
            raise MisuseError(f"'{when}', '{first}', '{second}' are not a time and a place; {_EXAMPLE}")
        if planar:
            return cls(t_s=t_s, x_m=place[0], y_m=place[1])
        if abs(place[0]) > 90 or abs(place[1]) > 360:
            raise MisuseError(f"'{first}', '{second}' are no latitude and longitude; {_EXAMPLE}")
        return cls(t_s=t_s, lat=place[0], lon=place[1])

    @classmethod
    def parse(cls, text: str, *, planar: bool) -> "Sighting":
        """From ``TIME,LAT,LON``."""
        parts = text.split(",")
        if len(parts) != 3:
            raise MisuseError(f"'{text}' is not a time and a place; {_EXAMPLE}")
        return cls.of(*(part.strip() for part in parts), planar=planar)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Records, matches of each sighting, and of all, in all and distinct."""

    records: int
    each: tuple[int, ...]
    together: int
    different: int


def records_that_fit(release: Release, sightings: Sequence[Sighting]) -> Fit:
    """Count the records that match known times and places; neither raw data nor linkage is needed.

    A box matches when it holds the place and the time, a point within 200 m and 10 min of them. Raises
    MisuseError without a sighting, and for degrees without a plane of the release or the reverse.

    Examples
    --------
    >>> import shoal
    >>> from shoal_desk.sightings import Sighting, records_that_fit
    >>> city = shoal.read(shoal.synthesize(30, 1, 1))
    >>> release, _ = shoal.Glove(k=3).anonymize(city, shoal.Randomness.from_system())
    >>> sighting = Sighting(t_s=city.t[0] * 60, x_m=city.x[0] * 100, y_m=city.y[0] * 100)
    >>> records_that_fit(release, [sighting]).together >= 3
    True
    """
    if not sightings:
        raise MisuseError("nothing is known; give at least one time with its place")
    x_m, y_m = _on_plane(release, sightings)
    fits = _in_boxes if release.kind == "boxes" else _near_points
    owner = np.repeat(np.arange(release.n_records), np.diff(release.offsets))
    fits_record = np.zeros((len(sightings), release.n_records), dtype=np.bool_)
    for row, sighting in enumerate(sightings):
        rows = fits(release, sighting.t_s, float(x_m[row]), float(y_m[row]))
        fits_record[row, owner[rows]] = True
    together = np.flatnonzero(fits_record.all(axis=0))
    return Fit(
        records=release.n_records,
        each=tuple(fits_record.sum(axis=1).tolist()),
        together=len(together),
        different=len(np.unique(_class_of(release)[together])),
    )


def _on_plane(release: Release, sightings: Sequence[Sighting]) -> tuple[Floats, Floats]:
    planar = [
        (sighting.x_m, sighting.y_m)
        for sighting in sightings
        if sighting.x_m is not None and sighting.y_m is not None
    ]
    degrees = [
        (sighting.lon, sighting.lat)
        for sighting in sightings
        if sighting.lon is not None and sighting.lat is not None
    ]
    if len(planar) == len(sightings):
        x, y = np.array(planar, dtype=np.float64).T
        return x, y
    if len(degrees) < len(sightings):
        raise MisuseError("a place is not complete; give latitude and longitude, or x and y in meters")
    if release.crs is None:
        raise MisuseError("this release has no known plane, so degrees say nothing; give x and y in meters")
    lon, lat = np.array(degrees, dtype=np.float64).T
    x, y = transform(WGS84, release.crs, lon, lat)
    return x, y


def _in_boxes(release: Release, t_s: float, x_m: float, y_m: float) -> npt.NDArray[np.bool_]:
    grid, boxes = release.snapped_grid(), release.boxes
    t, x, y = t_s / grid.slot_s, x_m / grid.cell_m, y_m / grid.cell_m
    inside = (boxes.t_start <= t) & (t < boxes.t_end) & (boxes.x_min <= x) & (x < boxes.x_max)
    return np.asarray(inside & (boxes.y_min <= y) & (y < boxes.y_max))


def _near_points(release: Release, t_s: float, x_m: float, y_m: float) -> npt.NDArray[np.bool_]:
    points = release.points
    return np.asarray(
        (np.abs(points.t - t_s) <= _NEAR_S) & (np.hypot(points.x - x_m, points.y - y_m) <= _NEAR_M)
    )


def _class_of(release: Release) -> Integers:
    if release.kind == "points":
        return np.arange(release.n_records)
    return BoxTarget.of_release(release).class_of
