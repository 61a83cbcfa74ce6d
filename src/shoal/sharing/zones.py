"""Zones around hidden places, and the secret state that repeats them.

A stranger with many tracks sees the circle where they break off. Its center must not be the place (Hassan
et al. 2018), so a secret key puts it elsewhere, always at the same spot: new centers would average out. The
state reveals the places.
"""

import hmac
import json
import math
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.runtime.arrays import Flags, Floats
from shoal.runtime.staging import staged_file

SHIFT: Final = 1.5  # the center lies up to so many guaranteed distances from the place
REACH: Final = 2.5  # and the zone reaches so far, so that the guaranteed distance is always inside
_METERS_PER_DEGREE: Final = 111_195.0
_ONE: Final = 1 << 64


@dataclass(frozen=True, kw_only=True)
class HiddenPlace:
    """A place with everything within ``hidden_m``. Degrees."""

    lat: float
    lon: float
    hidden_m: float


@dataclass(frozen=True, kw_only=True)
class Zone:
    """A circle in which nothing is shown. Degrees and meters."""

    lat: float
    lon: float
    radius_m: float

    def holds(self, lat: Floats, lon: Floats) -> Flags:
        """Which positions lie inside."""
        return np.asarray(distances_m(self.lat, self.lon, lat, lon) <= self.radius_m)

    @property
    def farthest_m(self) -> float:
        """The place's greatest distance from the center: all that the circle reveals."""
        return self.radius_m * SHIFT / REACH


def zone_of(place: HiddenPlace, key: bytes) -> Zone:
    """A place's zone: the key draws its center evenly from a disc around the place."""
    text = f"{place.lat:.6f} {place.lon:.6f} {place.hidden_m:.1f}"
    digest = hmac.digest(key, text.encode(), "sha256")
    turn, share = (int.from_bytes(part) / _ONE for part in (digest[:8], digest[8:16]))
    away_m = SHIFT * place.hidden_m * math.sqrt(share)
    north_m, east_m = away_m * math.cos(2 * math.pi * turn), away_m * math.sin(2 * math.pi * turn)
    return Zone(
        lat=place.lat + north_m / _METERS_PER_DEGREE,
        lon=place.lon + east_m / (_METERS_PER_DEGREE * _longitude_scale(place.lat)),
        radius_m=REACH * place.hidden_m,
    )


def distances_m(lat: float, lon: float, lats: Floats, lons: Floats) -> Floats:
    """[n]: meters from a position, on the plane that touches the earth there."""
    distances: Floats = np.hypot(*offsets_m(lat, lon, lats, lons))
    return distances


def offsets_m(lat: float, lon: float, lats: Floats, lons: Floats) -> tuple[Floats, Floats]:
    """[n] each: meters to the east and to the north of a position."""
    east = ((lons - lon + 180) % 360 - 180) * _METERS_PER_DEGREE * _longitude_scale(lat)
    return east, (lats - lat) * _METERS_PER_DEGREE


def _longitude_scale(lat: float) -> float:
    """The length of a degree of longitude, as a share of one of latitude."""
    return max(math.cos(math.radians(lat)), 1e-6)


FORMAT: Final = 1
DEFAULT_M: Final = 300.0
_KEY_BYTES: Final = 32


@dataclass(frozen=True, kw_only=True, repr=False)
class State:
    """A key, and every place that it hid."""

    key: bytes
    places: tuple[HiddenPlace, ...] = ()

    def zones(self) -> tuple[Zone, ...]:
        """The zones, in order."""
        return tuple(zone_of(place, self.key) for place in self.places)

    def nearest(self, lat: float, lon: float) -> int | None:
        """The number of the place that hides this position, if any."""
        distances = [
            (float(distances_m(place.lat, place.lon, np.array([lat]), np.array([lon]))[0]), number)
            for number, place in enumerate(self.places)
        ]
        near = [entry for entry in distances if entry[0] <= self.places[entry[1]].hidden_m]
        return min(near)[1] if near else None

    def with_place(self, lat: float, lon: float, hidden_m: float | None) -> "State":
        """The state that hides this place, too.

        Two zones of one place would reveal it: InputError for another distance.
        """
        number = self.nearest(lat, lon)
        if number is None:
            place = HiddenPlace(lat=lat, lon=lon, hidden_m=DEFAULT_M if hidden_m is None else hidden_m)
            return State(key=self.key, places=(*self.places, place))
        hidden_before_m = self.places[number].hidden_m
        if hidden_m is not None and hidden_m != hidden_before_m:
            raise InputError(
                f"a place within {hidden_before_m:g} m of this one is hidden already, with "
                f"{hidden_before_m:g} m around it; two zones of one place would tell where it is: leave out "
                "the distance, or begin with a new --state if no track was shared yet"
            )
        return self


def state_file() -> Path:
    """The user's default file."""
    home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(home) / "shoal" / "share.json"


def load(path: Path) -> State:
    """The state in a file, or a new one with a fresh key."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if entries["format"] != FORMAT:
            raise InputError(
                f"{path} is a state of another version of shoal; use that one, or another --state"
            )
        key = bytes.fromhex(entries["key"])
        if len(key) != _KEY_BYTES:
            raise ValueError("a key of another length")
        places = ({name: float(value) for name, value in place.items()} for place in entries["places"])
        return State(key=key, places=tuple(HiddenPlace(**place) for place in places))
    except FileNotFoundError:
        return State(key=secrets.token_bytes(_KEY_BYTES))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no state of shoal share; without it, zones of tracks already shared cannot be "
            "repeated: restore it, or name another --state"
        ) from error


def save(state: State, path: Path) -> None:
    """Write the state for its owner alone."""
    entries = {"format": FORMAT, "key": state.key.hex(), "places": [asdict(place) for place in state.places]}
    text = json.dumps(entries, indent=2) + "\n"
    with staged_file(path, lambda file: file.write(text.encode())):
        pass
