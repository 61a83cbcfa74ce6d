"""What a caller handed over is what a function takes, or one sentence says what it is and what to do."""

from collections.abc import Iterable
from typing import Final

from shoal.errors import InputError, MisuseError
from shoal.model.intake import TOO_WIDE
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import require_randomness

_READ_FIRST: Final = "read it with shoal.read first, which also takes data frames and paths"


def require_trajectories(value: object) -> None:
    """Raise MisuseError unless the value is what ``shoal.read`` gives."""
    if not isinstance(value, (Trajectories, StoredPeople)):
        raise MisuseError(f"raw data is needed as Trajectories, not as {_kind(value)}; {_READ_FIRST}")


def require_given(original: object, rng: object) -> None:
    """Raise MisuseError unless these are what a method works on: raw data, and where chance comes from."""
    require_trajectories(original)
    require_randomness(rng)


def require_one_region(notes: Iterable[str]) -> None:
    """Raise InputError where these notes of the reading say that no length of a release would be right."""
    if any(note.startswith(TOO_WIDE) for note in notes):
        raise InputError(
            f"{TOO_WIDE} for one plane, so that no length would mean what it says; publish each region on "
            "its own, from a file that holds the rows of that region alone"
        )


def require_release(value: object) -> None:
    """Raise MisuseError unless the value is a release in memory."""
    if not isinstance(value, Release):
        raise MisuseError(
            f"a Release is needed, not {_kind(value)}; shoal.read_release reads one from its folder"
        )


def require_linkage(value: object) -> None:
    """Raise MisuseError unless the value is a linkage in memory, or None."""
    if not (value is None or isinstance(value, Linkage)):
        raise MisuseError(
            f"a Linkage is needed, not {_kind(value)}; shoal.read_linkage reads one from a file"
        )


def _kind(value: object) -> str:
    """What a value is, as a sentence names it."""
    if value is None or isinstance(value, type):
        return repr(value) if value is None else f"the class {value.__name__} itself"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
