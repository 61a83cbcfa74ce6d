"""What all members of a round do alike, so that nobody stands out."""

from dataclasses import dataclass, field

from shoal.errors import MisuseError
from shoal_collect.crypto.group import FFDHE3072, Group
from shoal_collect.matching.contributors import Scoping
from shoal_collect.matching.records import pieces_needed
from shoal_collect.matching.similarity import Thresholds


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a round.

    Parameters
    ----------
    group_size
        How many people meet in a group; one group may have one more.
    n_real, n_fake
        How many sub-trajectories each member asks about: at most so many real ones, and decoys and canaries
        to fill up.
    longest
        The most points of a sub-trajectory.
    n_pieces
        How many records each member's release takes, padding included.
    group
        Where the arithmetic of the mix takes place.
    thresholds
        When two uncertain points count as similar.
    period_days
        After how many days a device draws new circles.
    proven_shuffle
        Whether every mixer proves her shuffle (docs/decisions/0171 says what that costs).
    scoping
        How far and how long a contributor's tag lasts; the collector must count by the same. None for tags
        that last for ever.
    bootstrap_until
        A day since 1970. What is released before it is a record of nobody, deleted on that day
        (docs/decisions/0071). None after the bootstrapping phase.
    """

    group_size: int = 4
    n_real: int = 15
    n_fake: int = 46
    longest: int = 4
    n_pieces: int = 4
    group: Group = FFDHE3072
    thresholds: Thresholds = field(default_factory=Thresholds)
    period_days: int = 365
    proven_shuffle: bool = False
    scoping: Scoping | None = None
    bootstrap_until: int | None = None

    def until(self, day: int) -> int | None:
        """Return the day on which records of nobody are deleted that are released on this day, else None."""
        return None if self.bootstrap_until is None or day >= self.bootstrap_until else self.bootstrap_until


def require_room(rules: Rules, n_points: int) -> None:
    """Raise MisuseError when a trajectory of so many points cannot be released within the rules."""
    if pieces_needed(n_points) > rules.n_pieces:
        raise MisuseError(
            f"{n_points} points need {pieces_needed(n_points)} records; the rules allow {rules.n_pieces}"
        )
