"""What a release promises: frozen data, no computation.

Who makes a claim and who checks it live elsewhere.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, ClassVar, Final

from shoal.errors import InputError, MisuseError
from shoal.model.intake import require_types
from shoal.units import show_s


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every record equals at least k - 1 others, sample for sample (glove.txt, Sec. 2.4; semantics 1).

    k: members of the smallest crowd. truthful: every published box holds a raw sample of each member and is
    the exact hull of the members' samples in it. disjoint_in_time: no two boxes of one record share a moment.
    """

    type: ClassVar[str] = "k-anonymity"
    k: int
    truthful: bool = True
    disjoint_in_time: bool = True

    def __post_init__(self) -> None:
        _insist_on_a_crowd(self.k)


@dataclass(frozen=True, kw_only=True)
class KteAnonymity:
    """Who knows any tau_s seconds of somebody's movement finds at least k records that fit (kte-anonymity.txt, Sec. II-C; semantics 2).

    k: candidate records in every interval. tau_s: length of what the attacker knows. epsilon_s: how much further the candidates may
    go on together. Boxes are always truthful and disjoint in time. Raises MisuseError unless tau_s is a multiple of epsilon_s.
    """

    type: ClassVar[str] = "kte-anonymity"
    truthful: ClassVar[bool] = True
    disjoint_in_time: ClassVar[bool] = True
    k: int
    tau_s: float
    epsilon_s: float

    def __post_init__(self) -> None:
        _insist_on_a_crowd(self.k)
        for name, value in (("tau", self.tau_s), ("epsilon", self.epsilon_s)):
            if not (isfinite(value) and value > 0):
                raise MisuseError(f"{name} = {value} s must be finite and greater than 0, for example 30 min")
        epochs = self.tau_s / self.epsilon_s
        if epochs != int(epochs):
            valid = [show_s(self.epsilon_s * count) for count in (int(epochs), int(epochs) + 1) if count]
            raise MisuseError(
                f"tau = {show_s(self.tau_s)} is not a multiple of epsilon = {show_s(self.epsilon_s)}; use "
                f"tau = {' or '.join(valid)}"
            )


@dataclass(frozen=True, kw_only=True)
class KDeltaAnonymity:
    """Each record has at least k - 1 others that are within delta_m of it and of each other at every published time.

    They have points at the same times (Abul, Bonchi, Nanni 2008; semantics 3.9); with delta_m = 0 they are equal.
    Not trajectory k-anonymity when delta_m > 0 (Trujillo-Rasua and Domingo-Ferrer 2013).
    """

    type: ClassVar[str] = "k-delta-anonymity"
    k: int
    delta_m: float

    def __post_init__(self) -> None:
        _insist_on_a_crowd(self.k)
        if not (isfinite(self.delta_m) and self.delta_m >= 0):
            raise MisuseError(f"delta = {self.delta_m} m must be finite and at least 0, for example 1000")


@dataclass(frozen=True, kw_only=True)
class TrajectoryPrivacy:
    """Who knows some triples of a person links the person's record with probability 1 / k at most (swap-reach-locations.txt, Def. 6 and 7).

    Kept by whole triples that change places: each is a true triple of somebody, and was shuffled with those of at least k - 1 other
    trajectories, no farther than the thresholds from the one that led its set.
    """

    type: ClassVar[str] = "trajectory-p-privacy"
    k: int
    time_threshold_s: float
    space_threshold_m: float

    def __post_init__(self) -> None:
        _insist_on_a_crowd(self.k)
        _insist_on_thresholds(self.time_threshold_s, self.space_threshold_m)


@dataclass(frozen=True, kw_only=True)
class LocationPrivacy:
    """Who knows some triples of a person learns another one with probability 1 / k at most (swap-reach-locations.txt, Def. 8 and 9).

    Kept by places that change hands while times stay. space_threshold_m bounds paths along streets. both_sides: the neighbors of either
    of the two that trade stay within reach, not those of the leading one alone.
    """

    type: ClassVar[str] = "location-p-privacy"
    k: int
    time_threshold_s: float
    space_threshold_m: float
    both_sides: bool = True

    def __post_init__(self) -> None:
        _insist_on_a_crowd(self.k)
        _insist_on_thresholds(self.time_threshold_s, self.space_threshold_m)


BoxClaim = KAnonymity | KteAnonymity
PointClaim = KDeltaAnonymity | TrajectoryPrivacy | LocationPrivacy
Claim = BoxClaim | PointClaim

CLAIMS: Final[dict[str, type[Claim]]] = {
    claim.type: claim
    for claim in (KAnonymity, KteAnonymity, KDeltaAnonymity, TrajectoryPrivacy, LocationPrivacy)
}


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """The claim as the manifest holds it: its type and its numbers."""
    return {"type": claim.type, **asdict(claim)}


def claim_from_json(fields: Mapping[str, Any]) -> Claim:
    """The claim a manifest holds; raises InputError when its type or its numbers are unknown."""
    numbers = {name: value for name, value in fields.items() if name != "type"}
    kind = CLAIMS.get(str(fields.get("type")))
    if kind is None:
        raise InputError(
            f"the manifest claims '{fields.get('type')}', which this version cannot check; known: "
            f"{', '.join(CLAIMS)}"
        )
    try:
        require_types(kind, numbers)
        return kind(**numbers)
    except (TypeError, MisuseError) as error:
        raise InputError(f"the manifest's claim cannot be read: {error}") from error


def _insist_on_a_crowd(k: int) -> None:
    if k < 2:
        raise MisuseError(f"k = {k} hides nobody; choose k >= 2")


def _insist_on_thresholds(time_threshold_s: float, space_threshold_m: float) -> None:
    for name, value, unit, example in (
        ("time", time_threshold_s, "s", "100 s"),
        ("space", space_threshold_m, "m", "5 km"),
    ):
        if not (isfinite(value) and value > 0):
            raise MisuseError(
                f"the {name} threshold {value} {unit} must be finite and greater than 0, for example "
                f"{example}"
            )
