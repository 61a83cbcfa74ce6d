"""A round's terms."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from shoal.errors import MisuseError, mistake_in_words
from shoal_collect.crypto.group import FFDHE3072
from shoal_collect.crypto.hashing import hash_of
from shoal_collect.crypto.sealing import MAX_TEXT_BYTES, OVERHEAD_BYTES
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import MAX_GAP_MIN, MAX_RADIUS_M, Cylinder
from shoal_collect.matching.records import PROOF_RECORDS, RECORD_BYTES, pieces_needed
from shoal_collect.matching.similarity import CAP, Scoping, Thresholds
from shoal_collect.mix.messages import MAX_RECORDS, Session
from shoal_collect.roles.wire import DAY_S, LIFETIME_S

LAST_DAY: Final = 2_932_896  # 9999-12-31
# to check a mixer's proof and make the next, per record: over four times the measurement
_PROVEN_RECORD_S: Final = 0.07
# shown on a device, which no control character may steer
Statement = Annotated[str, Field(max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]


class OtherCollector(BaseModel):
    """A witness: address, and key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, max_length=200)
    key: str = Field(pattern="^[0-9a-f]{64}$")


class RegistrarTerms(BaseModel):
    """The registrar of a round.

    ``period``: its number since 1970 when the round opened; the collector fills it in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(min_length=1, max_length=200)
    key: str = Field(pattern="^[0-9a-f]{64}$")
    days: int = Field(default=1, ge=1, le=366)
    period: int = Field(default=0, ge=0, le=LAST_DAY)


class Terms(BaseModel):
    """The terms of a round, fixed at its opening; each joining member signs them.

    ``group_size``: one group may have one more. ``n_real``, ``n_fake``: sub-trajectories per member: at
    most ``n_real`` real ones; decoys and canaries fill up. ``longest``: points of one. ``n_pieces``:
    records per release, padding included. ``period_days``: until a device draws new circles. ``theta_m``,
    ``theta_min``, ``resolution_m``, ``resolution_min``: as in ``Thresholds``. ``area_km``: a person has
    one contributor tag in each area of this size and period. ``phase_limit_s``: time limit of a phase.
    ``witnesses``: collectors whose answers must agree. ``controller`` to ``contact``: the collector's
    unchecked statements for consent. ``least_roster``: the fewest people from whom groups are drawn.
    ``registrar``: admits people; None where anyone can join, under any number of names. ``kept_days``:
    days until a release is deleted; None until its owner withdraws it. ``least_k``: the least k of
    participating devices, which only they can enforce, since k stays with them. ``least_radius_m`` to
    ``most_gap_min``: bounds on circles and intervals, in meters and minutes. ``least_count``: smaller
    counts are answered as 0, as are those below ``least_k``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    group_size: int = Field(default=4, ge=3, le=24)
    n_real: int = Field(default=15, ge=1)
    n_fake: int = Field(default=46, ge=1)
    longest: int = Field(default=4, ge=2, le=8)
    n_pieces: int = Field(default=4, ge=1, le=33)
    theta_m: float = Field(default=1_000.0, ge=0, lt=1e7, allow_inf_nan=False)
    theta_min: float = Field(default=60.0, ge=0, lt=1e7, allow_inf_nan=False)
    period_days: int = Field(default=365, ge=365, le=36_500)  # fresh circles more often would average out
    area_km: int = Field(default=50, ge=20, le=5_000)
    phase_limit_s: float = Field(default=120.0, gt=0, le=DAY_S, allow_inf_nan=False)
    proven_shuffle: bool = False
    witnesses: tuple[OtherCollector, ...] = Field(default=(), max_length=4)
    least_roster: int = Field(default=0, ge=0, le=10_000)
    registrar: RegistrarTerms | None = None
    kept_days: int | None = Field(default=None, ge=1, le=36_500)
    least_k: int = Field(default=0, ge=0, lt=CAP)
    least_radius_m: int = Field(default=75, ge=1, le=MAX_RADIUS_M)
    most_radius_m: int = Field(default=2_000, ge=1, le=MAX_RADIUS_M)
    least_gap_min: int = Field(default=6, ge=1, le=MAX_GAP_MIN)
    most_gap_min: int = Field(default=720, ge=1, le=MAX_GAP_MIN)
    least_count: int = Field(default=2, ge=1, le=CAP)
    resolution_m: float = Field(default=250.0, ge=0, le=10_000, allow_inf_nan=False)
    resolution_min: int = Field(default=15, ge=0, le=1440)
    controller: Statement = ""
    purpose: Statement = ""
    recipients: Statement = ""
    retention: Statement = ""
    contact: Statement = ""

    @model_validator(mode="after")
    def _require_consistent(self) -> "Terms":
        if len({witness.key for witness in self.witnesses}) < len(self.witnesses):
            raise ValueError("two witnesses with one key; give each witness a key of its own")
        if self.least_radius_m > self.most_radius_m or self.least_gap_min > self.most_gap_min:
            raise ValueError("a least radius or gap above the greatest")
        if self.n_real + self.n_fake > MAX_RECORDS:
            raise ValueError(
                f"{self.n_real} real and {self.n_fake} fake sub-trajectories; at most {MAX_RECORDS} together"
            )
        if self._largest.frame_limit() >= MAX_TEXT_BYTES:
            longest_mib = self._largest.frame_limit() >> 20
            raise ValueError(
                f"messages of {longest_mib} MiB; make groups smaller or ask for fewer sub-trajectories"
            )
        hop_s = _PROVEN_RECORD_S * self._largest.n * self._largest.n_records
        if self.proven_shuffle and self.phase_limit_s < hop_s:
            raise ValueError(
                f"proofs of shuffles need about {hop_s:.0f} s a hop; allow a phase that long, or ask for "
                "fewer sub-trajectories"
            )
        return self

    @property
    def enough(self) -> int:
        """People that a roster needs."""
        return max(self.group_size, self.least_roster)

    @property
    def lifetime_s(self) -> float:
        """How long a group and its letters are kept, and a state answers it: a day or 24 phases."""
        return max(LIFETIME_S, 24 * self.phase_limit_s)

    @property
    def _largest(self) -> Session:
        members = tuple(bytes((i,)) for i in range(self.group_size + 1))
        n_records = max(self.n_real + self.n_fake, self.release_records)
        return Session(bytes(32), members, n_records, RECORD_BYTES, FFDHE3072, self.proven_shuffle)

    @property
    def letter_bytes(self) -> int:
        """Length of the longest valid letter."""
        return self._largest.frame_limit() + 1 + OVERHEAD_BYTES

    @property
    def release_records(self) -> int:
        """Records of a release, with room for the proof of its contributor where people are admitted."""
        return self.n_pieces + (PROOF_RECORDS if self.registrar is not None else 0)

    @property
    def n_questions(self) -> int:
        """Questions of each member."""
        return self.n_real + self.n_fake

    def require_bounds(self, points: Iterable[Cylinder]) -> None:
        """Raise PeerError for a circle or interval outside the bounds."""
        for point in points:
            if not self.least_radius_m <= point.radius_m <= self.most_radius_m:
                raise PeerError(
                    "out-of-range",
                    f"a circle of {point.radius_m} m; here {self.least_radius_m} to {self.most_radius_m} m",
                )
            if not self.least_gap_min <= point.gap_min <= self.most_gap_min:
                raise PeerError(
                    "out-of-range",
                    f"an interval of {point.gap_min} min; here {self.least_gap_min} to "
                    f"{self.most_gap_min} min",
                )

    def join_text(self, round_name: bytes) -> bytes:
        """What a member signs to join."""
        return round_name + hash_of(b"shoal terms", self.model_dump_json().encode())

    def require_room(self, n_points: int) -> None:
        """Raise MisuseError when so many points cannot be released."""
        if pieces_needed(n_points) > self.n_pieces:
            raise MisuseError(
                f"{n_points} points need {pieces_needed(n_points)} records; the terms allow {self.n_pieces}"
            )

    @property
    def thresholds(self) -> Thresholds:
        """When two circles count as shared."""
        return Thresholds(
            theta_m=self.theta_m,
            theta_min=self.theta_min,
            resolution_m=self.resolution_m,
            resolution_min=self.resolution_min,
        )

    @property
    def scoping(self) -> Scoping:
        """Areas and periods of tags."""
        return Scoping(self.area_km, self.period_days)


def read_terms(entries: Any) -> Terms:
    """A collector's terms; PeerError for ones that no honest collector sets."""
    try:
        return Terms.model_validate(entries)
    except ValidationError as error:
        raise PeerError(
            "out-of-range", f"terms that cannot be kept: {mistake_in_words(error.errors()[0])}"
        ) from error
