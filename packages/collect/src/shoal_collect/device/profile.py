"""A person's wishes: crowd, blur, rules for places.

Home and work are found on her device, and never leave it.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from shoal.errors import InputError, MisuseError, mistake_in_words
from shoal.measures.presence import HomeOrWork as Found
from shoal.measures.presence import share_of_hours
from shoal.runtime.files import read_settings
from shoal.units import duration_s, length_m, show_m, show_s
from shoal_collect.matching.cylinders import EARTH_M, MAX_GAP_MIN, MAX_RADIUS_M, Blur, Point, distance_m
from shoal_collect.matching.similarity import CAP
from shoal_collect.matching.subtrajectories import DEFAULT, Trimming

SMALLEST_RADIUS_M: Final = 75  # a circle must hold a public cell of 100 m, with 71 m to its corners
SMALLEST_GAP_MIN: Final = 6  # and an interval a public slot of 5 min
ELSEWHERE: Final = "elsewhere"
_FOUND: Final[tuple[Found, ...]] = get_args(Found)
_NEAR_M: Final = 200.0
_STAY_MIN: Final = 60.0  # a point stands for the time until the next one, at most an hour


def _meters(text: str | float) -> int:
    return math.ceil(length_m(_with_unit(text, "500m")))


def _minutes(text: str | float) -> int:
    return math.ceil(duration_s(_with_unit(text, "30min")) / 60)


def _with_unit(text: str | float, example: str) -> str:
    if not isinstance(text, str):
        raise MisuseError(f"{text} has no unit; write it as text, for example '{example}'")
    return text


_Radius = Annotated[int, BeforeValidator(_meters), Field(ge=SMALLEST_RADIUS_M, le=MAX_RADIUS_M)]
_Gap = Annotated[int, BeforeValidator(_minutes), Field(ge=SMALLEST_GAP_MIN, le=MAX_GAP_MIN)]
_Within = Annotated[int, BeforeValidator(_meters)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Blurring(_Part):
    """In meters and minutes."""

    radius: _Radius
    gap: _Gap


class Handling(_Part):
    """A rule for points at a place: they are left out, or blurred by another radius or gap.

    ``drop``: whether they are left out. ``radius``, ``gap``: their blur, in meters and minutes. ``within``:
    how far from the place this holds, in meters.
    """

    drop: bool = False
    radius: _Radius | None = None
    gap: _Gap | None = None
    within: _Within = 200

    @property
    def says_something(self) -> bool:
        """Whether this is a rule."""
        return self.drop or self.radius is not None or self.gap is not None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "Handling":
        if self.drop and (self.radius is not None or self.gap is not None):
            raise ValueError("points that are dropped have no radius or gap; keep one or the other")
        return self


class Bounds(_Part):
    """Limits of the terms that she accepts.

    ``theta_space``, ``theta_time``: the farthest, in meters and minutes, that two points may lie apart and
    still count as shared. ``group``: the least members of a group, without those who fall silent. ``k``: the
    least k; a safeguard where a profile is made from another one. ``repeated``: the greatest share of a
    trip's circles that stood in her releases before.
    """

    theta_space: _Within = 5_000
    theta_time: _Gap = 180
    group: int = Field(default=3, ge=3, le=24)
    k: int = Field(default=0, ge=0, lt=CAP, strict=True)
    repeated: float = Field(default=0.5, ge=0, le=1)


class Place(Handling):
    """A circle with a name; its own rule, or its kind's."""

    name: str = Field(min_length=1)
    lat: float = Field(ge=-90, le=90, allow_inf_nan=False)
    lon: float = Field(ge=-180, le=180, allow_inf_nan=False)
    kind: str | None = None


class Profile(_Part):
    """A person's wishes.

    ``k``: how many other people must share a released part; 0 for no crowd. ``trimming``: which points go
    when a sub-trajectory is rare. ``blur``: the default blur. ``bounds``: limits of the terms that she
    accepts. ``kinds``: rules for all places of a kind. ``places``: places with names. ``utc_offset_h``: her
    clock, in hours from UTC; by default that of each point's longitude.
    """

    k: int = Field(ge=0, lt=CAP, strict=True)
    trimming: Trimming = DEFAULT
    blur: Blurring
    bounds: Bounds = Field(default_factory=Bounds)
    kinds: Mapping[str, Handling] = Field(default_factory=dict)
    places: tuple[Place, ...] = ()
    utc_offset_h: float | None = Field(default=None, ge=-12, le=14)

    @model_validator(mode="after")
    def _rules_that_apply(self) -> "Profile":
        names = Counter(place.name for place in self.places)
        for place in self.places:
            if names[place.name] > 1 or place.name in (*self.kinds, ELSEWHERE):
                raise ValueError(
                    f"'{place.name}' also names something else; give each place a name of its own"
                )
            if place.kind is not None and place.kind not in self.kinds:
                raise ValueError(
                    f"the place '{place.name}' is of the kind '{place.kind}', which has no rule; add "
                    f"[kinds.{place.kind}]"
                )
            if place.kind is None and not place.says_something:
                raise ValueError(
                    f"nothing is said for the place '{place.name}'; write drop = true, a radius, a gap, or "
                    "its kind"
                )
        for kind, rule in self.kinds.items():
            if not rule.says_something:
                raise ValueError(f"kinds.{kind} says nothing; write drop = true, or a radius or gap")
            if kind not in _FOUND and not any(place.kind == kind for place in self.places):
                raise ValueError(
                    f"no place is of the kind '{kind}', and only {' and '.join(_FOUND)} are found "
                    "automatically; add [[places]]"
                )
        return self

    def rule_at(self, place: Place) -> Handling:
        """The place's rule, else its kind's."""
        return place if place.says_something or place.kind is None else self.kinds[place.kind]


def read_profile(path: Path) -> Profile:
    """A profile from a TOML file; InputError names mistake and place."""
    entries = read_settings(path)
    try:
        return profile_of(entries)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def profile_of(entries: Mapping[str, Any]) -> Profile:
    """A profile of entries; InputError names mistake and place."""
    try:
        return Profile.model_validate(entries)
    except ValidationError as error:
        raise InputError("; ".join(_in_words(mistake, entries) for mistake in error.errors())) from error


_TOO_SMALL: Final = {
    "radius": f"a circle of less than {SMALLEST_RADIUS_M} m cannot hide a public cell of 100 m; choose a "
    "larger one",
    "gap": f"an interval of less than {SMALLEST_GAP_MIN} min cannot hide a public slot of 5 min; choose a "
    "longer one",
}


def _in_words(error: Any, entries: Mapping[str, Any]) -> str:
    where = list(error["loc"])
    if len(where) > 1 and where[0] == "places":
        place = entries["places"][where[1]]
        where[:2] = [
            f"the place '{place['name']}'"
            if isinstance(place, dict) and "name" in place
            else f"place number {where[1] + 1}"
        ]
    remedy = {
        "missing": "is missing",
        "extra_forbidden": "is not a setting of a profile",
    }.get(error["type"], mistake_in_words(error))
    if where and error["type"] == "greater_than_equal":
        remedy = _TOO_SMALL.get(where[-1], remedy)
    return f"{'.'.join(map(str, where))}: {remedy}" if where else remedy


@dataclass(frozen=True)
class Circle:
    """Where a rule holds, named after its place or kind."""

    name: str
    lat_deg: float
    lon_deg: float
    within_m: float


@dataclass(frozen=True)
class Fate:
    """A point's rules, and its blur (None: left out)."""

    rules: tuple[str, ...]
    blur: Blur | None


@dataclass(frozen=True)
class Applied:
    """A profile applied to a person's points.

    ``original``: her points. ``fates``: the outcome for each of them. ``not_found``: "home" or "work", when
    there is a rule but no such place was found.
    """

    original: tuple[Point, ...]
    fates: tuple[Fate, ...]
    not_found: tuple[str, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The remaining points."""
        return tuple(
            point for point, fate in zip(self.original, self.fates, strict=True) if fate.blur is not None
        )

    @property
    def blurs(self) -> tuple[Blur, ...]:
        """Of each remaining point."""
        return tuple(fate.blur for fate in self.fates if fate.blur is not None)

    @property
    def dropped(self) -> dict[str, int]:
        """Left out, by the first rule."""
        return dict(Counter(fate.rules[0] for fate in self.fates if fate.blur is None))

    @property
    def by_rule(self) -> dict[str, int]:
        """Met by each rule."""
        return dict(Counter(rule for fate in self.fates for rule in fate.rules or (ELSEWHERE,)))


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """A rule: points met, left out, and in words."""

    name: str
    n_met: int
    left_out: int
    says: str


def rule_rows(profile: Profile, applied: Applied) -> list[RuleRow]:
    """Every rule, and last the blur of all other places."""
    rules: dict[str, Handling] = {kind: profile.kinds[kind] for kind in _FOUND if kind in profile.kinds}
    within = {kind: rule.within for kind, rule in rules.items()}
    rules |= {place.name: profile.rule_at(place) for place in profile.places}
    within |= {place.name: place.within for place in profile.places}
    n_met, dropped = applied.by_rule, applied.dropped
    rows = []
    for name, rule in rules.items():
        blur = (show_m(rule.radius or profile.blur.radius), show_s((rule.gap or profile.blur.gap) * 60))
        says = "left out" if rule.drop else f"circles of {blur[0]}, intervals of {blur[1]}"
        says = f"within {show_m(within[name])}: {says}"
        if name in applied.not_found:
            says = "not found in your data, so nothing was done"
        rows.append(RuleRow(name=name, n_met=n_met.get(name, 0), left_out=dropped.get(name, 0), says=says))
    usual = f"circles of {show_m(profile.blur.radius)}, intervals of {show_s(profile.blur.gap * 60)}"
    return [*rows, RuleRow(name=ELSEWHERE, n_met=n_met.get(ELSEWHERE, 0), left_out=0, says=usual)]


def apply(profile: Profile, points: Sequence[Point]) -> Applied:
    """Where rules meet, drop wins, then the largest radius and gap."""
    rules: list[tuple[Circle, Handling]] = []
    not_found: list[str] = []
    for kind in _FOUND:
        if kind in profile.kinds:
            rule, middle = profile.kinds[kind], likeliest_place(points, kind, profile.utc_offset_h)
            if middle is None:
                not_found.append(kind)
            else:
                rules.append((Circle(kind, *middle, rule.within), rule))
    rules += [
        (Circle(place.name, place.lat, place.lon, place.within), profile.rule_at(place))
        for place in profile.places
    ]
    rules.sort(key=lambda one: not one[1].drop)  # those that leave out first
    fates = tuple(_fate(point, rules, profile.blur) for point in points)
    return Applied(tuple(points), fates, tuple(not_found))


def _fate(point: Point, rules: Sequence[tuple[Circle, Handling]], blur: Blurring) -> Fate:
    matching = [
        (circle.name, rule)
        for circle, rule in rules
        if distance_m(point.lat_deg, point.lon_deg, circle.lat_deg, circle.lon_deg) <= circle.within_m
    ]
    names = tuple(name for name, _ in matching)
    if any(rule.drop for _, rule in matching):
        return Fate(names, None)
    radius = max((rule.radius for _, rule in matching if rule.radius is not None), default=blur.radius)
    gap = max((rule.gap for _, rule in matching if rule.gap is not None), default=blur.gap)
    return Fate(names, Blur(radius_m=radius, gap_min=gap))


def likeliest_place(
    points: Sequence[Point], kind: Found, utc_offset_h: float | None
) -> tuple[float, float] | None:
    """Where a person most likely lives (20 to 6 h) or works (9 to 17 h, Monday to Friday).

    Each point stands for the time until the next, at most an hour. ``kind``: "home" or "work";
    ``utc_offset_h`` None: by longitude. The middle, in degrees, of the points within 200 m of the busiest
    cell.
    """
    if not points:
        return None
    lat, lon, t_min = (
        np.array(column) for column in zip(*((p.lat_deg, p.lon_deg, p.t_min) for p in points), strict=True)
    )
    order = np.argsort(t_min, kind="stable")
    lat, lon, t_min = lat[order], lon[order], t_min[order]
    stay = np.clip(np.diff(t_min, append=t_min[-1] + 1.0), 1.0, _STAY_MIN)
    offset_min = (np.round(lon / 15) if utc_offset_h is None else np.full(len(lon), utc_offset_h)) * 60
    seconds = np.column_stack([t_min + offset_min, t_min + offset_min + stay]) * 60
    weight = stay * share_of_hours(seconds.astype(np.int64), 1.0, kind)
    if not weight.any():
        return None
    return _busiest(lat, lon, weight)


def _busiest(
    lat: npt.NDArray[np.float64], lon: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]
) -> tuple[float, float]:
    step = math.degrees(_NEAR_M / EARTH_M)
    row = np.floor(lat / step).astype(np.int64)
    column = np.floor(lon * np.cos(np.radians((row + 0.5) * step)) / step).astype(np.int64)
    _, cell = np.unique(np.column_stack([row, column]), axis=0, return_inverse=True)
    inside = cell.ravel() == np.bincount(cell.ravel(), weights=weight).argmax()

    def middle_of(rows: npt.NDArray[np.bool_]) -> tuple[float, float]:
        lat_deg, lon_deg = (np.average(side[rows], weights=weight[rows]) for side in (lat, lon))
        return float(lat_deg), float(lon_deg)

    middle = middle_of(inside)
    near = np.array(
        [distance_m(*middle, a, b) <= _NEAR_M for a, b in zip(lat.tolist(), lon.tolist(), strict=True)]
    )
    return middle_of(near)
