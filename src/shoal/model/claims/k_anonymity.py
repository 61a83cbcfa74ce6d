"""k-anonymity: every record equals at least k - 1 others (GLOVE, static generalization)."""

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.errors import MisuseError
from shoal.messages import Message, join, say
from shoal.model.claims.common import (
    LESS,
    MORE,
    SAME,
    SHARED_IN_A_CLASS,
    VANISHED_FROM_BOXES,
    PayloadKind,
    for_pairs,
    require_k,
)
from shoal.model.claims.hull import TIGHT, hull_in_words, limits_of_sides, parse_hull
from shoal.model.omission import ANY_SHARE, missing_in_words, require_shares
from shoal.runtime.argument_types import typed


@typed
@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every record equals at least k - 1 others, sample for sample.

    Parameters
    ----------
    k
        Size of the smallest equivalence class, at least 2.
    truthful
        Every box holds a raw sample of each member and is the exact hull of the members' samples inside it.
    disjoint_in_time
        No two boxes of a record share a moment.
    hull
        How far in space a truthful box may extend beyond that hull, as ``parse_hull`` reads it.
    missing_at_most
        Largest share of all raw samples, and of all people, that may be missing. 1 bounds nothing.
    missing_of_one_at_most
        The same for the samples of a person with a record.
    diverse_places
        Kinds of places, an ordinary one among them, in each box that is near a listed sensitive place, as
        ``measures/near_places.py`` says; 1 promises nothing.

    Raises
    ------
    MisuseError
        For k below 2, an unknown hull, a share outside 0 to 1, or fewer kinds of places than 1.

    References
    ----------
    Gramaglia and Fiore 2015, Sec. 2.4.

    Examples
    --------
    >>> from shoal.model.claims import KAnonymity
    >>> KAnonymity(k=5, truthful=False).promise
    'Every published record is identical, sample for sample, to at least 4 others.'
    """

    type: ClassVar[str] = "k-anonymity"
    payload: ClassVar[PayloadKind] = "boxes"
    no_anonymity: ClassVar[str] = ""
    in_classes: ClassVar[bool] = True
    privacy_model: ClassVar[str] = say(
        "claim.k_anonymity.model", "K-anonymity model; the quasi-identifier is a person's whole movement"
    )
    vanished: ClassVar[str] = VANISHED_FROM_BOXES
    k: int = field(metadata=MORE)
    truthful: bool = field(default=True, metadata=MORE)
    disjoint_in_time: bool = field(default=True, metadata=MORE)
    hull: str = field(default=TIGHT, metadata=SAME)
    missing_at_most: float = field(default=ANY_SHARE, metadata=LESS)
    missing_of_one_at_most: float = field(default=ANY_SHARE, metadata=LESS)
    diverse_places: int = field(default=1, metadata=MORE)

    def __post_init__(self) -> None:
        require_k(self.k)
        parse_hull(self.hull)
        require_shares(self.missing_at_most, self.missing_of_one_at_most)
        if self.diverse_places < 1:
            raise MisuseError(f"diverse_places = {self.diverse_places} must be at least 1")

    @property
    def name(self) -> str:
        """Title with its numbers."""
        return f"k-anonymity, k = {self.k}"

    @property
    def promise(self) -> Message:
        """The promise in a sentence or several."""
        if self.truthful and self.k == 2:
            first = say(
                "claim.k_anonymity.true_pair",
                "Every published record is identical, sample for sample, to at least one other; every "
                "published sample holds a true sample of each member of its crowd.",
            )
        elif self.truthful:
            first = say(
                "claim.k_anonymity.true",
                "Every published record is identical, sample for sample, to at least {others} others; every "
                "published sample holds a true sample of each member of its crowd.",
                others=self.k - 1,
            )
        elif self.k == 2:
            first = say(
                "claim.k_anonymity.pair",
                "Every published record is identical, sample for sample, to at least one other.",
            )
        else:
            first = say(
                "claim.k_anonymity.promise",
                "Every published record is identical, sample for sample, to at least {others} others.",
                others=self.k - 1,
            )
        missing = missing_in_words(self.missing_at_most, self.missing_of_one_at_most)
        return join(first, hull_in_words(self.hull), missing, self._diverse)

    @property
    def _diverse(self) -> str:
        if self.diverse_places == 1:
            return ""
        if self.diverse_places == 2:
            return say(
                "claim.k_anonymity.diverse",
                "A box near listed sensitive places (500 m, or as far as the list says) also holds an "
                "ordinary place.",
            )
        return say(
            "claim.k_anonymity.kinds",
            "A box near listed sensitive places (500 m, or as far as the list says) also holds an ordinary "
            "place, and in all places of at least {kinds} kinds.",
            kinds=self.diverse_places,
        )

    @property
    def cautions(self) -> tuple[Message, ...]:
        """Warnings for these numbers."""
        return for_pairs(
            self.k,
            say(
                "claim.k_anonymity.two",
                "The boxes of a crowd of two are spanned by the samples of both. Each of the two can take "
                "their samples away and read much of the other's movement.",
            ),
        )

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        sides = limits_of_sides(self.hull) if self.truthful else ()
        return (SHARED_IN_A_CLASS, *sides, *self.cautions)
