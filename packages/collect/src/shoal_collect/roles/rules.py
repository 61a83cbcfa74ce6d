"""Rules common to all members, so that no one stands out."""

from dataclasses import dataclass, field

from shoal.errors import MisuseError
from shoal_collect.crypto.group import FFDHE3072, Group
from shoal_collect.matching.contributors import Scoping
from shoal_collect.matching.records import pieces_needed
from shoal_collect.matching.similarity import Thresholds


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a round.

    ``group_size``: one group may have one more. ``n_real``, ``n_fake``: sub-trajectories per member: at
    most ``n_real`` real ones; decoys and canaries fill up. ``longest``: points of one. ``n_pieces``:
    records per release, padding included. ``period_days``: until a device draws new circles.
    ``proven_shuffle``: whether mixers prove the shuffle (docs/decisions/0171). ``scoping``: None for
    lasting tags.
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


def require_room(rules: Rules, n_points: int) -> None:
    """Raise MisuseError when ``n_points`` cannot be released."""
    if pieces_needed(n_points) > rules.n_pieces:
        raise MisuseError(
            f"{n_points} points need {pieces_needed(n_points)} records; the rules allow {rules.n_pieces}"
        )
