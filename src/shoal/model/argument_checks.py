"""Checks of arguments from callers."""

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
    """Raise MisuseError unless the value is what ``shoal.read`` returns."""
    if not isinstance(value, (Trajectories, StoredPeople)):
        raise MisuseError(f"raw data is needed as Trajectories, not as {_type_name(value)}; {_READ_FIRST}")


def require_method_inputs(original: object, rng: object) -> None:
    """Raise MisuseError unless these are raw data and a source of randomness."""
    require_trajectories(original)
    require_randomness(rng)


def require_people(n: int, k: int) -> None:
    """Raise MisuseError when n people are fewer than k."""
    if n < 2 <= k:
        raise MisuseError(f"no k hides a person without others, and the data has {n}; add people")
    if n < k:
        raise MisuseError(
            f"k = {k} needs at least {k} people, and the data has {n}; choose a smaller k or add people"
        )


def require_one_region(notes: Iterable[str]) -> None:
    """Raise InputError when notes say that the data is too wide for correct lengths."""
    if any(note.startswith(TOO_WIDE) for note in notes):
        raise InputError(
            f"{TOO_WIDE} for one plane, so that no length would mean what it says; publish each region on "
            "its own, from a file that holds the rows of that region alone"
        )


def require_release(value: object) -> None:
    """Raise MisuseError unless the value is a release."""
    if not isinstance(value, Release):
        raise MisuseError(
            f"a Release is needed, not {_type_name(value)}; shoal.read_release reads one from its folder"
        )


def require_linkage(value: object, *, needed: bool = False) -> None:
    """Raise MisuseError unless the value is a linkage, or None where it is not needed."""
    if not (isinstance(value, Linkage) or (value is None and not needed)):
        raise MisuseError(
            f"a Linkage is needed, not {_type_name(value)}; shoal.read_linkage reads one from a file"
        )


def _type_name(value: object) -> str:
    if value is None or isinstance(value, type):
        return repr(value) if value is None else f"the class {value.__name__} itself"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
