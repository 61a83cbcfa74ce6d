"""k^(tau,epsilon)-anonymity: k records match what was observed in any interval of length tau (kte-hide)."""

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
    require_positive,
)
from shoal.model.claims.hull import TIGHT, hull_in_words, limits_of_sides, parse_hull
from shoal.runtime.argument_types import typed
from shoal.units import show_s


@typed
@dataclass(frozen=True, kw_only=True)
class KteAnonymity:
    """An observer who knows any tau_s seconds of a person's movement finds at least k matching records.

    Parameters
    ----------
    k
        Candidate records in every interval, at least 2.
    tau_s
        Length of the attacker's knowledge, in seconds; a multiple of epsilon_s.
    epsilon_s
        How much longer all candidates may stay together, in seconds.
    hiders_stay
        The k records hold the person over all the data, with a sample of the person in each box, and each
        could be the person's: people can be paired with records so that everybody has one that holds them
        (k-concealment). tau_s and epsilon_s then bound nothing further.
    hull
        How far in space a box may extend beyond its samples, as ``parse_hull`` reads it.

    Raises
    ------
    MisuseError
        For k below 2, a length that is not finite and positive, a tau_s that is no multiple of epsilon_s, or
        an unknown hull.

    References
    ----------
    Gramaglia et al. 2017, Sec. II-C; for hiders that stay Tassa, Mazza and Gionis 2012, "k-Concealment: An
    Alternative Model of k-Type Anonymity".

    Examples
    --------
    >>> from shoal.model.claims import KteAnonymity
    >>> KteAnonymity(k=2, tau_s=3600, epsilon_s=1800).name
    'k^(tau,epsilon)-anonymity, k = 2, tau = 1 h, epsilon = 30 min'
    """

    type: ClassVar[str] = "kte-anonymity"
    payload: ClassVar[PayloadKind] = "boxes"
    no_anonymity: ClassVar[str] = ""
    in_classes: ClassVar[bool] = False
    privacy_model: ClassVar[str] = say(
        "claim.kte.model",
        "none of the standard's; a form of the K-anonymity model in which the quasi-identifier is what was "
        "seen in one interval",
    )
    vanished: ClassVar[str] = VANISHED_FROM_BOXES
    truthful: ClassVar[bool] = True
    disjoint_in_time: ClassVar[bool] = True
    diverse_places: ClassVar[int] = 1
    k: int = field(metadata=MORE)
    tau_s: float = field(metadata=MORE)
    epsilon_s: float = field(metadata=LESS)
    hiders_stay: bool = field(default=False, metadata=MORE)
    hull: str = field(default=TIGHT, metadata=SAME)

    def __post_init__(self) -> None:
        require_k(self.k)
        parse_hull(self.hull)
        for name, value in (("tau", self.tau_s), ("epsilon", self.epsilon_s)):
            require_positive(f"{name} =", value, "s", "30 min")
        epochs = self.tau_s / self.epsilon_s
        if epochs != int(epochs):
            valid = [show_s(self.epsilon_s * count) for count in (int(epochs), int(epochs) + 1) if count]
            raise MisuseError(
                f"tau = {show_s(self.tau_s)} is not a multiple of epsilon = {show_s(self.epsilon_s)}; "
                f"use tau = {' or '.join(valid)}"
            )

    @property
    def name(self) -> str:
        """Title with its numbers."""
        if self.hiders_stay:
            return f"k-concealment, k = {self.k}"
        lengths = f"tau = {show_s(self.tau_s)}, epsilon = {show_s(self.epsilon_s)}"
        return f"k^(tau,epsilon)-anonymity, k = {self.k}, {lengths}"

    @property
    def promise(self) -> Message:
        """The promise in a sentence or two."""
        if self.hiders_stay:
            first = say(
                "claim.kte.concealment",
                "Whoever knows any part of a person's movement, even all of it, finds at least {k} records "
                "that hold it, each with a sample of the person in every box, and each could be the person's "
                "own.",
                k=self.k,
            )
        else:
            first = say(
                "claim.kte.promise",
                "Whoever has followed a person for any {tau} finds at least {k} records that fit; who hides "
                "whom changes every {epsilon}.",
                tau=show_s(self.tau_s),
                k=self.k,
                epsilon=show_s(self.epsilon_s),
            )
        return join(first, hull_in_words(self.hull))

    @property
    def cautions(self) -> tuple[Message, ...]:
        """Warnings for these numbers."""
        if self.hiders_stay:
            return for_pairs(
                self.k,
                say(
                    "claim.kte.two_always",
                    "A box holds samples of two people: each takes away the own ones and has the other's.",
                ),
            )
        return for_pairs(
            self.k,
            say(
                "claim.kte.two",
                "In the first and the last epoch, and in data of one window, a box holds samples of the "
                "person and of one other alone, who takes away the own ones and has the person's.",
            ),
        )

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        if self.hiders_stay:
            return (
                say(
                    "claim.kte.together",
                    "What all {k} records say together. The person was in a box of each of them at a time, "
                    "and where these overlap is smaller than any one.",
                    k=self.k,
                ),
                say(
                    "claim.kte.recognized",
                    "A record that is known to be somebody's. It can tell whose the others are that hide "
                    "each other.",
                ),
                SHARED_IN_A_CLASS,
                *limits_of_sides(self.hull),
                *self.cautions,
            )
        return (
            say(
                "claim.kte.longer",
                "Longer or interrupted knowledge. Whoever has followed a person for longer, or knows places "
                "from several days, may find the one record.",
            ),
            say(
                "claim.kte.neighbors",
                "Neighbors. People who move side by side can cover each other for longer than the claim "
                "says; the verdict's note has the shares.",
            ),
            say(
                "claim.kte.chances",
                "Equal chances. The records that fit are not equally likely: samples of the person lie in "
                "every box of the person's own record, and only in some boxes of the others.",
            ),
            SHARED_IN_A_CLASS,
            *limits_of_sides(self.hull),
            *self.cautions,
        )
