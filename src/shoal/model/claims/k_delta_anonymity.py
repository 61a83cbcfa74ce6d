"""(k, delta)-co-location: k records that stay within delta of each other (NWA, W4M)."""

from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar, Final

from shoal.errors import MisuseError
from shoal.messages import Message, say
from shoal.model.claims.common import LESS, MORE, PayloadKind, for_pairs, require_k
from shoal.runtime.argument_types import typed
from shoal.units import is_number, show_m

_NAMED: Final = say(
    "claim.k_delta.named",
    "This is not k-anonymity of trajectories. Whoever knows some true points of a person can often tell "
    "which record was moved from them, although others are near (Trujillo-Rasua and Domingo-Ferrer, 2013). "
    "Neither a large k nor a small delta prevents that, since published points show where people were moved "
    "to; points known with errors, and whether somebody is in the data at all, are told in the same way. A "
    "record shows where its person returns to every night, often to a hundred meters.",
)  # of every k: the table of the strongest attacks has it at each k and on all data


@typed
@dataclass(frozen=True, kw_only=True)
class KDeltaAnonymity:
    """Every record is in a set of k records within delta_m of each other at every published time.

    With delta_m = 0 they are equal; else this is not k-anonymity of trajectories (Trujillo-Rasua and
    Domingo-Ferrer 2013).

    Parameters
    ----------
    k
        Records in a set, at least 2.
    delta_m
        Largest distance between any two of them, in meters, at least 0.

    Raises
    ------
    MisuseError
        For k below 2, or a delta_m that is negative or not finite.

    References
    ----------
    Abul, Bonchi and Nanni 2008, Def. 3 and 4.

    Examples
    --------
    >>> from shoal.model.claims import KDeltaAnonymity
    >>> KDeltaAnonymity(k=3, delta_m=500).name
    '(k, delta)-co-location, k = 3, delta = 500 m'
    """

    type: ClassVar[str] = "k-delta-anonymity"
    payload: ClassVar[PayloadKind] = "points"
    no_anonymity: ClassVar[str] = say(
        "claim.k_delta.no_anonymity",
        "others are near each record, but whoever knows some true points of a person often names the record "
        "that was moved from them",
    )
    in_classes: ClassVar[bool] = False
    privacy_model: ClassVar[str] = say(
        "claim.k_delta.model",
        "none of the standard's; records are near each other, not equal, so that nobody is one of k who are "
        "alike",
    )
    vanished: ClassVar[str] = (
        "A raw sample is suppressed when no published point stands for it: its crowd has no point for it, so "
        "that it was cut off or deleted, or its person was left out. One that was moved is not suppressed, "
        "however far it was moved, and points that were created make up for none."
    )
    truthful: ClassVar[bool] = False
    disjoint_in_time: ClassVar[bool] = False
    hull: ClassVar[str | None] = None
    diverse_places: ClassVar[int] = 1
    k: int = field(metadata=MORE)
    delta_m: float = field(metadata=LESS)

    def __post_init__(self) -> None:
        require_k(self.k)
        if not (is_number(self.delta_m) and isfinite(self.delta_m) and self.delta_m >= 0):
            raise MisuseError(f"delta = {self.delta_m!r} m must be finite and at least 0, for example 1000")

    @property
    def name(self) -> str:
        """Title with its numbers."""
        return f"(k, delta)-co-location, k = {self.k}, delta = {show_m(self.delta_m)}"

    @property
    def promise(self) -> Message:
        """The promise in a sentence."""
        if self.k == 2:
            return say(
                "claim.k_delta.pair",
                "Each record has at least one other that is within {delta} of it at every published time.",
                delta=show_m(self.delta_m),
            )
        return say(
            "claim.k_delta.promise",
            "Each record has at least {others} others that are within {delta} of it and of each other at "
            "every published time.",
            others=self.k - 1,
            delta=show_m(self.delta_m),
        )

    @property
    def cautions(self) -> tuple[Message, ...]:
        """Warnings for these numbers."""
        return (_NAMED, *self._between_two)

    @property
    def _between_two(self) -> tuple[Message, ...]:
        return for_pairs(
            self.k,
            say(
                "claim.k_delta.two",
                "Both were moved toward the middle of the two. Whoever was one of them works out from the "
                "own true points and the published ones where the other was.",
            ),
        )

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        return (
            _NAMED,
            say(
                "claim.k_delta.moved",
                "Points were moved, created and deleted: what is published did not happen so.",
            ),
            *self._between_two,
        )
