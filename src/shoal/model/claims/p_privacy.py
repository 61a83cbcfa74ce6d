"""p-privacy of points exchanged in sets of k: whole (SwapLocations) or place by place (ReachLocations)."""

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.messages import Message, say
from shoal.model.claims.common import (
    LESS,
    MORE,
    NO_ANONYMITY_OF_PATHS,
    UNTANGLING,
    PayloadKind,
    for_pairs,
    require_k,
    require_positive,
    require_thresholds,
)
from shoal.runtime.argument_types import typed


@dataclass(frozen=True, kw_only=True)
class _Exchange:
    payload: ClassVar[PayloadKind] = "points"
    no_anonymity: ClassVar[str] = NO_ANONYMITY_OF_PATHS
    in_classes: ClassVar[bool] = False
    truthful: ClassVar[bool] = False
    disjoint_in_time: ClassVar[bool] = False
    hull: ClassVar[str | None] = None
    diverse_places: ClassVar[int] = 1
    k: int = field(metadata=MORE)
    time_threshold_s: float = field(metadata=LESS)
    space_threshold_m: float = field(metadata=LESS)

    def __post_init__(self) -> None:
        require_k(self.k)
        require_thresholds(self.time_threshold_s, self.space_threshold_m)


@typed
@dataclass(frozen=True, kw_only=True)
class TrajectoryPrivacy(_Exchange):
    """An observer who knows some triples of a person links their record with probability at most 1 / k.

    Each triple is a true one of somebody, shuffled with those of at least k - 1 other trajectories within
    both thresholds of its set's leader.

    Parameters
    ----------
    k
        Trajectories in the smallest swap set, at least 2.
    time_threshold_s
        Largest time difference to the leader of a set, in seconds.
    space_threshold_m
        Largest distance to it, in meters.

    Raises
    ------
    MisuseError
        For k below 2, or a threshold that is not finite and positive.

    References
    ----------
    Domingo-Ferrer and Trujillo-Rasua 2012, Def. 6 and 7.

    Examples
    --------
    >>> from shoal.model.claims import TrajectoryPrivacy
    >>> TrajectoryPrivacy(k=4, time_threshold_s=100, space_threshold_m=5000).name
    'trajectory p-privacy, p = 1/4'
    """

    type: ClassVar[str] = "trajectory-p-privacy"
    privacy_model: ClassVar[str] = say(
        "claim.trajectory.model",
        "none of the standard's; a bound on the chance of linking a record, kept by permutation within sets "
        "of at least k people",
    )
    vanished: ClassVar[str] = (
        "A raw sample is suppressed when it stands in no record at all: it found no swap set, or its person "
        "has no record. One that stands in another person's record is not suppressed."
    )

    @property
    def name(self) -> str:
        """Title with its numbers."""
        return f"trajectory p-privacy, p = 1/{self.k}"

    @property
    def promise(self) -> Message:
        """The promise in a sentence."""
        return say(
            "claim.trajectory.promise",
            "By the exchange alone, whoever knows some points of a person finds the person's record with a "
            "chance of 1 in {k} at most; nothing is promised about the person's path.",
            k=self.k,
        )

    @property
    def cautions(self) -> tuple[Message, ...]:
        """Warnings for these numbers."""
        return for_pairs(
            self.k,
            say(
                "claim.trajectory.two",
                "Whoever exchanged points with one other person takes away the own ones: all others in the "
                "two records are the other's.",
            ),
        )

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        return (
            UNTANGLING,
            say(
                "claim.trajectory.true_points",
                "Every point is a true one of somebody, time and place together. Whoever was seen there is "
                "still seen there, under whatever name.",
            ),
            say(
                "claim.trajectory.one_record",
                "The promise is about one record. Together, the records of a cluster hold all places of its "
                "members that were not removed.",
            ),
            *self.cautions,
        )


@typed
@dataclass(frozen=True, kw_only=True)
class LocationPrivacy(_Exchange):
    """An observer who knows some triples of a person learns another one with probability at most 1 / k.

    Parameters
    ----------
    k
        Trajectories in a swap set, at least 2.
    time_threshold_s
        Largest time difference to the leader of a set, in seconds.
    space_threshold_m
        Longest path along the streets, in meters, between two points of a set, and to the neighbors of the
        point that takes them.
    most_off_street_m
        Largest distance of a swapped point from a street, in meters. The check finds no path from farther
        points.
    both_sides
        Whether the neighbors of both points that trade places stay within reach, not only the leader's.

    Raises
    ------
    MisuseError
        For k below 2, or a length that is not finite and positive.

    References
    ----------
    Domingo-Ferrer and Trujillo-Rasua 2012, Def. 8 and 9.

    Examples
    --------
    >>> from shoal.model.claims import LocationPrivacy
    >>> claim = LocationPrivacy(k=4, time_threshold_s=100, space_threshold_m=5000, most_off_street_m=100)
    >>> claim.name
    'location p-privacy, p = 1/4'
    """

    type: ClassVar[str] = "location-p-privacy"
    privacy_model: ClassVar[str] = say(
        "claim.location.model",
        "none of the standard's; a bound on the chance of learning a further place and its time, kept by "
        "permutation within sets of at least k people",
    )
    vanished: ClassVar[str] = (
        "A raw sample is suppressed when neither its time nor its place stands in a record: it lies too far "
        "from the streets, or found no swap set. One whose place stands in another person's record is not."
    )
    most_off_street_m: float = field(metadata=LESS)
    both_sides: bool = field(default=True, metadata=MORE)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive("the largest distance from a street", self.most_off_street_m, "m", "100 m")

    @property
    def name(self) -> str:
        """Title with its numbers."""
        return f"location p-privacy, p = 1/{self.k}"

    @property
    def promise(self) -> Message:
        """The promise in a sentence."""
        return say(
            "claim.location.promise",
            "By the exchange alone, whoever knows some points of a person learns a further one, place and "
            "time, with a chance of 1 in {k} at most; nothing is promised about the person's path.",
            k=self.k,
        )

    @property
    def cautions(self) -> tuple[Message, ...]:
        """Warnings for these numbers."""
        return for_pairs(
            self.k,
            say(
                "claim.location.two",
                "Whoever finds a strange place in the own record knows that it is the place of the one other "
                "person in the set.",
            ),
        )

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        return (
            say(
                "claim.location.true_times",
                "This is not k-anonymity of trajectories: a record keeps true times of its person, and "
                "whoever knows some of them finds it.",
            ),
            say(
                "claim.location.true_places",
                "A place belongs to somebody who was there within the time threshold; that several people "
                "went to such places can be read off.",
            ),
            say(
                "claim.location.together",
                "The promise is about a place and its time together. Places alone, or places within the "
                "space threshold, may be guessed better.",
            ),
            say(
                "claim.location.partners",
                "Two who traded places. Each finds the own place in the other's record, and so knows where "
                "the other was and when, whatever k is.",
            ),
            UNTANGLING,
            *self.cautions,
        )
