"""What must stay the same from one shared track to the next: a secret key, and the places it was used for.

One file, for its owner alone. Whoever has it knows the places.
"""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from shoal.errors import InputError
from shoal.runtime.staging import staged_file
from shoal.sharing.zones import Place, Zone, distances_m, zone_of

FORMAT: Final = 1
DEFAULT_M: Final = 300.0
_KEY_BYTES: Final = 32


@dataclass(frozen=True, kw_only=True, repr=False)
class State:
    """A key, and every place that was ever hidden by it."""

    key: bytes
    places: tuple[Place, ...] = ()

    def zones(self) -> tuple[Zone, ...]:
        """The zones of all places, in the order in which they came."""
        return tuple(zone_of(place, self.key) for place in self.places)

    def nearest(self, lat: float, lon: float) -> int | None:
        """Which known place hides this position, within its guaranteed distance; None = none."""
        found = [
            (float(distances_m(place.lat, place.lon, np.array([lat]), np.array([lon]))[0]), number)
            for number, place in enumerate(self.places)
        ]
        near = [each for each in found if each[0] <= self.places[each[1]].hidden_m]
        return min(near)[1] if near else None

    def with_place(self, lat: float, lon: float, hidden_m: float | None) -> "State":
        """The state that hides this place, too.

        A place that it knows keeps its zone. Raises InputError when another distance is asked for: two zones
        of one place would tell it.
        """
        known = self.nearest(lat, lon)
        if known is None:
            place = Place(lat=lat, lon=lon, hidden_m=DEFAULT_M if hidden_m is None else hidden_m)
            return State(key=self.key, places=(*self.places, place))
        held = self.places[known].hidden_m
        if hidden_m is not None and hidden_m != held:
            raise InputError(
                f"a place within {held:g} m of this one is hidden already, with {held:g} m around it; "
                "two zones of "
                "one place would tell where it is: leave out the distance, or begin with a new --state "
                "if no track was shared yet"
            )
        return self


def state_file() -> Path:
    """Where the state of this user lies."""
    home = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(home) / "shoal" / "share.json"


def load(path: Path) -> State:
    """The state in a file, or a new one with a fresh key. Raises InputError for a file that is none."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        if entries["format"] != FORMAT:
            raise InputError(
                f"{path} is a state of another version of shoal; use that one, or another --state"
            )
        key = bytes.fromhex(entries["key"])
        if len(key) != _KEY_BYTES:
            raise ValueError("a key of another length")
        return State(key=key, places=tuple(Place(**_numbers(place)) for place in entries["places"]))
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
    """Write the state, whole or not at all, for its owner alone."""
    entries = {"format": FORMAT, "key": state.key.hex(), "places": [asdict(place) for place in state.places]}
    text = json.dumps(entries, indent=2) + "\n"
    with staged_file(path, lambda file: file.write(text.encode())):
        pass


def _numbers(place: dict[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in place.items()}
